//! How far a setting may go, in one picture: above, what live traffic meets, with the target; below, what the background
//! pays. One column for each weather, on common scales; the safe region is shaded, and the setting of the file and the
//! bound of arithmetic are marked in every panel.

use super::curve::{self, Across, Curve, Dot};
use super::font::Face;
use super::form::Form;
use super::paragraph;
use super::picture::Picture;
use super::sheet::{Frame, Phrase, Sheet};
use super::steps::Column;
use super::theme::Theme;
use crate::experiment::Quantity;
use crate::experiment::axis::{Axis, Value};
use crate::experiment::compare::Cell;
use crate::experiment::headroom::{Case, Cost, Met, Standing};
use crate::experiment::measure::Kind;
use crate::report::comparison::{cell, unit};
use crate::report::headroom::{Asked, Over, cautions, findings, seeds, share, title};
use crate::report::words::{capitalised, readable};

/// The room left of a panel for the marks of its value axis.
const LEFT: f64 = 62.0;

/// The room between two columns.
const GAP: f64 = 44.0;

/// The heights of the rate's panel and of the others.
const HEIGHTS: [f64; 2] = [210.0, 140.0];

/// From a panel to the next: foot, title, air.
const BELOW: f64 = 84.0;

/// The most classes whose price is drawn.
const MOST: usize = 2;

/// A panel before it is drawn, with one curve for each case.
struct Row {
    curves: Vec<Curve>,
    height: f64,
    /// What is said where a time is never.
    never: Option<String>,
}

/// The picture.
pub fn headroom(asked: &Asked<'_>, command: &str, theme: &Theme) -> Picture {
    let form = Form::WIDE;
    let mut sheet = Sheet::default();
    let title = title(asked).replace('`', "");
    let mut top = head(&mut sheet, asked, &title, theme) + 66.0;
    let cases = asked.found.cases.len();
    let width = (form.width - 2.0 * form.margin - (cases - 1) as f64 * GAP) / cases as f64;
    let place = |case: usize| {
        let from = form.margin + case as f64 * (width + GAP);
        (from + LEFT, from + width)
    };
    for (case, weather) in asked.found.cases.iter().enumerate() {
        let word = match weather {
            Case::Storm => "Through the storm",
            Case::Calm if cases == 1 => "All days",
            Case::Calm => "On calm days",
        };
        sheet.write(place(case).0 - 40.0, top - 38.0, &Phrase::new(word, Face::Bold, form.heading + 2.0, theme.ink));
    }
    let mut lowest = top;
    for (at, row) in rows(asked, theme).into_iter().enumerate() {
        let reach = row.curves.iter().flat_map(|curve| &curve.dots).filter_map(highest).fold(0.0, f64::max);
        for (case, curve) in row.curves.iter().enumerate() {
            let (left, right) = place(case);
            let frame = Frame { left, right, top, bottom: top + row.height };
            let mut across = across(asked, case);
            if at > 0 {
                // Said once, above.
                across.noted = across.noted.map(|(at, _)| (at, String::new()));
                across.shaded = across.shaded.map(|(from, to, _)| (from, to, String::new()));
            }
            lowest = lowest.max(curve::reaching(&mut sheet, frame, &across, (curve, reach), theme, &form));
            never(&mut sheet, frame, &across, curve, row.never.as_deref(), theme);
            bound(&mut sheet, asked, frame, &across, at == 0, theme);
        }
        top += row.height + BELOW;
    }
    let height = foot(&mut sheet, asked, command, lowest, theme);
    Picture {
        width: form.width as u32,
        height: height.ceil() as u32,
        title,
        description: description(asked),
        ground: theme.page,
        marks: sheet.marks,
    }
}

fn highest(dot: &Dot) -> Option<f64> {
    [dot.mean, dot.band.map(|(_, high)| high)].into_iter().flatten().reduce(f64::max)
}

/// The axis of the setting, with the safe region of a case.
fn across(asked: &Asked<'_>, case: usize) -> Across {
    let found = asked.found;
    let value =
        |point: &crate::experiment::headroom::Point| Value { text: point.text.clone(), number: Some(point.number) };
    let name = match &asked.over {
        Over::Budget => format!("the background's share of {}", readable(asked.limit())),
        Over::Live => format!("what {} need of {}", asked.live(), readable(asked.limit())),
        Over::Workers => "workers".to_owned(),
        Over::Limit => format!("{}, {}", asked.limit(), asked.scale.as_ref().map_or("", |scale| scale.unit.as_str())),
        Over::Setting(path) => path.clone(),
    };
    let axis = Axis {
        paths: vec![name],
        quantity: Quantity::Number,
        values: found.points.iter().map(value).collect(),
        span: None,
    };
    let texts: Vec<String> = found.points.iter().map(|point| point.text.clone()).collect();
    let mut across = Across::of(&axis, &texts, found.present().map(value).as_ref());
    if let Some(edge) = found.edges.get(case)
        && let Some(safe) = edge.safe
    {
        let end = if found.low_is_safe { found.points.first() } else { found.points.last() };
        let (safe, end) = (&found.points[safe], end.map_or(0.0, |point| point.number));
        let side = if found.low_is_safe { "to" } else { "from" };
        across.shaded = Some((end.min(safe.number), end.max(safe.number), format!("safe {side} {}", safe.text)));
    }
    across
}

/// All panels: the live 429 rate, then what each background class pays.
fn rows(asked: &Asked<'_>, theme: &Theme) -> Vec<Row> {
    let found = asked.found;
    let of = |one: &dyn Fn(usize) -> Curve| (0..found.cases.len()).map(one).collect::<Vec<Curve>>();
    let mut rows = vec![Row { curves: of(&|case| rate(asked, case, theme)), height: HEIGHTS[0], never: None }];
    for (at, name) in found.question.background.iter().enumerate().take(MOST) {
        let class = asked.scenario.traffic.iter().find(|class| class.name == *name);
        let tasks = class.map_or_else(|| name.clone(), crate::report::words::tasks);
        let price = |title: String, how: &str, kind: Kind, of_cost: fn(&Cost) -> &Cell| {
            let dots = |case: usize| {
                dots(asked, kind, &|index| {
                    let met = &found.points[index].cases[case];
                    (of_cost(&met.costs[at]), met)
                })
            };
            of(&|case| Curve {
                title: title.clone(),
                how: how.to_owned(),
                kind,
                ink: theme.ink,
                text: theme.ink,
                dots: dots(case),
                goal: None,
            })
        };
        let latency = price(
            format!("{}, 95 % arrive within", capitalised(&tasks)),
            "of all that arrived: what fails or does not finish comes never",
            Kind::Seconds,
            |cost| &cost.latency,
        );
        let said = ">\u{a0}5\u{a0}% never arrive".to_owned();
        rows.push(Row { curves: latency, height: HEIGHTS[1], never: Some(said) });
        let queue = price(format!("{} in the queue", capitalised(&tasks)), "at most", Kind::Count, |cost| &cost.queue);
        rows.push(Row { curves: queue, height: HEIGHTS[1], never: None });
    }
    rows
}

fn rate(asked: &Asked<'_>, case: usize, theme: &Theme) -> Curve {
    let goal = asked.goal();
    let how =
        asked.within().map_or_else(|| "in the run".to_owned(), |within| format!("in the worst {within} of the day"));
    let met = |index: usize| &asked.found.points[index].cases[case];
    Curve {
        title: format!("{} that met a 429", capitalised(&asked.live())),
        how: format!("{how}; line: mean, grey: 5 – 95\u{a0}% of the days"),
        kind: Kind::Share,
        ink: theme.throttled.fill,
        text: theme.throttled.text,
        dots: dots(asked, Kind::Share, &|index| (&met(index).rate, met(index))),
        goal: Some((goal.target, format!("target: {} in {} of days", share(goal.target), share(goal.days)))),
    }
}

/// One dot for each value: filled where it is safe, with its number at the file's setting and at the last safe one.
fn dots<'a>(asked: &Asked<'a>, kind: Kind, of: &dyn Fn(usize) -> (&'a Cell, &'a Met)) -> Vec<Dot> {
    let found = asked.found;
    let is_noted = |index: usize| {
        let ends = index == 0 || index + 1 == found.points.len();
        ends || found.present == Some(index) || found.edge().safe == Some(index)
    };
    let dot = |index: usize| {
        let (own, met) = of(index);
        let mean = own.mean();
        let statistic = own.statistic.as_ref().filter(|_| mean.is_some());
        Dot {
            at: found.points[index].number,
            mean,
            ci95: None,
            band: statistic.map(|statistic| (statistic.p5, statistic.p95)),
            is_never: own.is_never(),
            is_sometimes_never: own.never > 0 && !own.is_never(),
            is_filled: met.standing == Standing::Safe,
            note: (is_noted(index) && mean.is_some_and(|mean| mean > 0.0))
                .then(|| cell(own, unit(kind, mean.unwrap_or(0.0)))),
        }
    };
    (0..found.points.len()).map(dot).collect()
}

/// Hatches the values at which a time is never, and says so.
fn never(sheet: &mut Sheet, frame: Frame, across: &Across, curve: &Curve, said: Option<&str>, theme: &Theme) {
    let Some(said) = said else { return };
    let form = Form::WIDE;
    let places: Vec<f64> = curve.dots.iter().map(|dot| across.x(&frame, dot.at)).collect();
    let mut at = 0;
    while at < curve.dots.len() {
        if !curve.dots[at].is_never {
            at += 1;
            continue;
        }
        let first = at;
        while at < curve.dots.len() && curve.dots[at].is_never {
            at += 1;
        }
        let left = if first == 0 { frame.left } else { f64::midpoint(places[first - 1], places[first]) };
        let right = if at == places.len() { frame.right } else { f64::midpoint(places[at - 1], places[at]) };
        let column = Column { left, right, top: frame.top, bottom: frame.bottom };
        sheet.hatch(&[column], theme.grid, theme.page);
        let phrase = Phrase::new(said, Face::Bold, form.tick, theme.ink);
        let (x, y) = (left + 9.0, frame.top + 0.5 * frame.height());
        if phrase.width() + 16.0 <= right - left {
            sheet.block(phrase.frame(x, y).grown(5.0), theme.page);
            sheet.write(x, y, &phrase);
        }
    }
}

/// Marks where arithmetic ends the safe region.
fn bound(sheet: &mut Sheet, asked: &Asked<'_>, frame: Frame, across: &Across, is_first: bool, theme: &Theme) {
    let Some((number, text)) = asked.found.bound.chance.as_ref().or(asked.found.bound.fluid.as_ref()) else { return };
    let form = Form::WIDE;
    let x = across.x(&frame, *number);
    let mut from = frame.top;
    while from < frame.bottom {
        sheet.upright(x, from, (from + 4.0).min(frame.bottom), theme.second);
        from += 8.0;
    }
    let phrase = Phrase::new(format!("by arithmetic {text}"), Face::Regular, form.tick, theme.second);
    let sides = [x - 5.0 - phrase.width(), x + 5.0];
    let places = [18.0, 36.0, 56.0].into_iter().flat_map(|down| sides.map(|left| (left, frame.top + down)));
    let fits = |(left, baseline): &(f64, f64)| {
        let room = phrase.frame(*left, *baseline);
        frame.holds(&room) && sheet.is_free(&room)
    };
    if is_first && let Some((left, baseline)) = places.into_iter().find(fits) {
        sheet.write(left, baseline, &phrase);
    }
}

/// Title and subtitle; returns the lowest base line.
fn head(sheet: &mut Sheet, asked: &Asked<'_>, title: &str, theme: &Theme) -> f64 {
    const SIZE: f64 = 15.0;
    let form = Form::WIDE;
    let width = form.width - 2.0 * form.margin;
    let mut y = 10.0;
    for line in paragraph::title(title, width, Face::Bold, 0.8 * form.title) {
        y += form.title;
        sheet.write(form.margin, y, &Phrase::new(line, Face::Bold, 0.8 * form.title, theme.ink));
    }
    y += 26.0;
    let line = Phrase::new(&asked.scenario.name, Face::Bold, SIZE, theme.second);
    let need = asked.found.pressure.as_ref().map_or_else(String::new, |pressure| {
        let need = share((pressure.live / pressure.flow * 1e3).round() / 1e3);
        format!(" · {} need {need} of {}", asked.live(), asked.limit())
    });
    let days = seeds(asked, "days");
    let rest = format!(" · variant {} · {days} each, the same for all values{need}", asked.scenario.variant);
    sheet.write(form.margin, y, &line.and(rest, Face::Regular, SIZE, theme.second).fitted(width));
    y
}

/// Where the file stands, what the marks mean, and the command; returns the height of the picture.
fn foot(sheet: &mut Sheet, asked: &Asked<'_>, command: &str, y: f64, theme: &Theme) -> f64 {
    const NOTE: f64 = 13.0;
    const LEADING: f64 = 19.0;
    let form = Form::WIDE;
    let room = form.width - 2.0 * form.margin;
    let shaded = if asked.found.cases.len() > 1 { "Shaded: safe in this weather." } else { "Shaded: safe." };
    let marks = format!("Filled dots are shown to be safe, open ones are not. {shaded}");
    let warning = cautions(asked).first().map(|caution| format!("{}.", capitalised(&caution.seen)));
    let said: Vec<String> = findings(asked)
        .into_iter()
        .skip(1)
        .take(2)
        .chain(warning)
        .chain([marks])
        .map(|said| said.replace('`', ""))
        .collect();
    let mut last = y + 12.0;
    for line in paragraph::wrap(&said.join(" "), room, Face::Regular, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Regular, NOTE, theme.second));
    }
    for line in paragraph::wrap(command, room, Face::Mono, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Mono, NOTE, theme.second));
    }
    last + form.margin
}

fn description(asked: &Asked<'_>) -> String {
    format!(
        "The live 429 rate with its target and what the background pays, over {} values; the safe ones are shaded.",
        asked.found.points.len()
    )
}
