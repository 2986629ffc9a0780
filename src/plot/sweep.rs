//! A sweep in one picture: small multiples over one setting, or heat maps over two.

use super::curve::{self, Across, Curve, Dot};
use super::font::Face;
use super::form::Form;
use super::heat;
use super::number;
use super::paragraph;
use super::picture::Picture;
use super::sheet::{Frame, Phrase, Sheet};
use super::theme::Theme;
use crate::experiment::compare::Cell;
use crate::experiment::measure::Kind;
use crate::report::comparison::{cell, label};
use crate::report::sweep::text::has_dagger;
use crate::report::sweep::{Shape, Swept, cautions, findings};
use crate::report::words::{capitalised, tasks};

/// The room left of a panel for the marks of its value axis.
const LEFT: f64 = 62.0;

/// The room between two columns of panels.
const GAP: f64 = 30.0;

/// The height of a panel of a curve.
const HEIGHT: f64 = 210.0;

/// The picture of a sweep.
pub fn sweep(swept: &Swept<'_>, command: &str, theme: &Theme) -> Picture {
    let form = Form::WIDE;
    let mut sheet = Sheet::default();
    let said = findings(swept);
    let title = said.first().map_or_else(|| "Nothing was measured.".to_owned(), |said| said.replace('`', ""));
    let top = head(&mut sheet, swept, &title, theme) + 46.0;
    let bottom = match swept.sweep.axes.as_slice() {
        [_] => curves(&mut sheet, swept, top, theme),
        _ => heat::maps(&mut sheet, swept, top, theme),
    };
    let height = foot(&mut sheet, swept, command, bottom, theme);
    Picture {
        width: form.width as u32,
        height: height.ceil() as u32,
        title,
        description: description(swept),
        ground: theme.page,
        marks: sheet.marks,
    }
}

/// What the values of each axis are called: themselves, or letters where they are too long for a mark.
pub(super) struct Names {
    /// For each axis, the names of its values.
    pub(super) of: Vec<Vec<String>>,
    /// What each letter stands for.
    key: Vec<String>,
}

impl Names {
    pub(super) fn of(swept: &Swept<'_>) -> Names {
        const WIDEST: f64 = 110.0;
        let mut names = Names { of: Vec::new(), key: Vec::new() };
        for (at, axis) in swept.sweep.axes.iter().enumerate() {
            let texts: Vec<String> =
                axis.values.iter().map(|value| value.text.trim_matches('"').replace(['\n', '\t'], " ")).collect();
            let is_long = texts.iter().any(|text| Face::Regular.width(text, Form::WIDE.tick) > WIDEST);
            if axis.is_scale() || !is_long {
                names.of.push(texts);
                continue;
            }
            let first = if at == 0 { 'A' } else { 'a' };
            let letter = |at: usize| match u8::try_from(at) {
                Ok(at) if at < 26 => char::from(first as u8 + at).to_string(),
                Ok(_) | Err(_) => (at + 1).to_string(),
            };
            names.key.extend(texts.iter().enumerate().map(|(at, text)| format!("{}: {text}", letter(at))));
            names.of.push((0..texts.len()).map(letter).collect());
        }
        names
    }
}

/// How many columns of panels, and where each begins and ends, the room for marks left out.
pub(super) fn columns(panels: usize) -> Vec<(f64, f64)> {
    let form = Form::WIDE;
    let n = match panels {
        0..=1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let width = (form.width - 2.0 * form.margin - (n - 1) as f64 * GAP) / n as f64;
    let from = |at: usize| form.margin + at as f64 * (width + GAP);
    (0..n).map(|at| ((from(at) + LEFT).round(), (from(at) + width).round())).collect()
}

/// One panel for each number; returns the lowest base line.
fn curves(sheet: &mut Sheet, swept: &Swept<'_>, top: f64, theme: &Theme) -> f64 {
    let form = Form::WIDE;
    let names = Names::of(swept);
    let across = Across::of(&swept.sweep.axes[0], &names.of[0], swept.current[0].as_ref());
    let columns = columns(swept.shown.len());
    let mut lowest = top;
    for (at, row) in swept.shown.iter().enumerate() {
        let (left, right) = columns[at % columns.len()];
        let y = top + (at / columns.len()) as f64 * (HEIGHT + 96.0);
        let frame = Frame { left, right, top: y, bottom: y + HEIGHT };
        lowest = lowest.max(curve::draw(sheet, frame, &across, &of_row(swept, *row, &across, theme), theme, &form));
    }
    lowest
}

/// The heading of a panel: what, in bold, and whose, in grey.
pub(super) fn heading(swept: &Swept<'_>, row: usize) -> (String, String) {
    let measure = &swept.sweep.measures[row];
    let class = swept.scenario.traffic.iter().find(|class| measure.class() == Some(class.name.as_str()));
    let title = capitalised(&label(measure).replace('`', ""));
    (title, class.map_or_else(String::new, |class| format!("of {}", tasks(class))))
}

/// Whether a number counts 429s, whose hue it then has.
pub(super) fn is_of_429(swept: &Swept<'_>, row: usize) -> bool {
    swept.sweep.measures[row].key.contains("429")
}

fn of_row(swept: &Swept<'_>, row: usize, across: &Across, theme: &Theme) -> Curve {
    let sweep = swept.sweep;
    let measure = &sweep.measures[row];
    let shape = swept.shape(row);
    let is_best = |point: usize| shape.is_some_and(|shape| shape.ties.get(point) == Some(&true));
    let is_fooled = swept.is_fooled(row);
    let is_noted = |point: usize| {
        shape.is_some_and(|shape| {
            point == shape.least || !shape.is_flat() && point == shape.most || point + 1 == sweep.grid || point == 0
        }) || point == sweep.reference
    };
    let dot = |point: usize, at: f64| {
        let own: &Cell = &sweep.points[point].cells[row];
        let mean = own.mean();
        let statistic = own.statistic.as_ref().filter(|_| mean.is_some());
        Dot {
            at,
            mean,
            ci95: statistic.and_then(|s| s.ci95),
            band: statistic.filter(|s| s.n > 1).map(|s| (s.p5, s.p95)),
            is_never: own.is_never(),
            is_sometimes_never: own.never > 0 && mean.is_some(),
            is_filled: is_best(point) && !is_fooled || shape.is_none_or(Shape::is_flat),
            note: is_noted(point).then(|| cell(own, swept.unit(row))),
        }
    };
    let mut dots: Vec<Dot> = (0..sweep.grid).map(|point| dot(point, across.marks[point].0)).collect();
    // The file as it stands between two values of the grid.
    if let (false, true, Some((at, _))) = (sweep.has_reference(), across.is_scale, &across.noted) {
        dots.push(dot(sweep.reference, *at));
    }
    if across.is_scale {
        dots.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    let (title, how) = heading(swept, row);
    let hue = if is_of_429(swept, row) { Some(theme.throttled) } else { None };
    Curve {
        title,
        how,
        kind: measure.kind,
        ink: hue.map_or(theme.ink, |hue| hue.fill),
        text: hue.map_or(theme.ink, |hue| hue.text),
        dots,
        goal: None,
    }
}

/// Title and subtitle; returns the lowest base line.
fn head(sheet: &mut Sheet, swept: &Swept<'_>, title: &str, theme: &Theme) -> f64 {
    const SIZE: f64 = 15.0;
    let form = Form::WIDE;
    let width = form.width - 2.0 * form.margin;
    let mut y = 10.0;
    for line in paragraph::title(title, width, Face::Bold, 0.8 * form.title) {
        y += form.title;
        sheet.write(form.margin, y, &Phrase::new(line, Face::Bold, 0.8 * form.title, theme.ink));
    }
    y += 28.0;
    let n = swept.sweep.replicates;
    let line = Phrase::new(&swept.scenario.name, Face::Bold, SIZE, theme.second);
    let rest = format!(
        " · variant {} · {} · {} that every point met",
        swept.scenario.variant,
        number::of(swept.sweep.grid as f64, "point"),
        number::of(n as f64, "seed")
    );
    sheet.write(form.margin, y, &line.and(rest, Face::Regular, SIZE, theme.second).fitted(width));
    y
}

/// What the marks mean, warnings, and the command; returns the height of the picture.
fn foot(sheet: &mut Sheet, swept: &Swept<'_>, command: &str, y: f64, theme: &Theme) -> f64 {
    const NOTE: f64 = 12.5;
    const LEADING: f64 = 18.0;
    let form = Form::WIDE;
    let room = form.width - 2.0 * form.margin;
    let mut text = match swept.sweep.axes.as_slice() {
        [_] => "Dots are means; filled ones cannot be told from the least by paired differences. Dark: the 95\u{a0}% interval \
                of the mean; pale: 5 – 95\u{a0}% of the seeds."
            .to_owned(),
        _ => "Numbers are means. Outlined: what cannot be told from the least by paired differences.".to_owned(),
    };
    if swept.sweep.axes.len() > 1 && swept.sweep.has_reference() {
        text += " A corner marks the file as it stands.";
    }
    if has_dagger(swept) {
        text += " †: never in some seeds, and the mean is of the others.";
    }
    if swept.shown.iter().any(|row| swept.sweep.points.iter().any(|point| point.cells[*row].is_never())) {
        text += " Never: not within the run in half of the seeds or more";
        text += if swept.sweep.axes.len() == 1 { " (a cross; a small one: in some)." } else { "." };
    }
    if swept.shown.iter().any(|row| swept.sweep.measures[*row].kind == Kind::Seconds && is_of_survivors(swept, *row)) {
        text += " The slowest is of those that were delivered.";
    }
    let warning = cautions(swept).into_iter().find(|caution| caution.kind == "survivors");
    let warning = warning.map(|caution| format!("{}.", capitalised(&caution.seen.replace('`', ""))));
    let mut last = y + 16.0;
    let key = Names::of(swept).key;
    let key = (!key.is_empty()).then(|| format!("{}.", key.join("; ")));
    let text = [key, Some(text), warning].into_iter().flatten().collect::<Vec<_>>().join(" ");
    for line in paragraph::wrap(&text, room, Face::Regular, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Regular, NOTE, theme.third));
    }
    for line in paragraph::wrap(command, room, Face::Mono, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Mono, NOTE, theme.second));
    }
    last + form.margin
}

fn is_of_survivors(swept: &Swept<'_>, row: usize) -> bool {
    swept.sweep.measures[row].key == "latency_s.max"
}

fn description(swept: &Swept<'_>) -> String {
    let titles: Vec<String> = swept.shown.iter().map(|row| crate::report::sweep::subject(swept, *row)).collect();
    let names: Vec<String> = swept.sweep.axes.iter().map(crate::experiment::Axis::name).collect();
    let kind = if names.len() == 1 { "Curves" } else { "Heat maps" };
    format!("{kind} over {}: {}.", names.join(" and "), titles.join("; ")).replace('`', "")
}
