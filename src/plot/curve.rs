//! A panel with one number over a setting: a line with dots through the means, behind it the band in which 5 % to 95 %
//! of the seeds lie and, darker, the 95 % interval of each mean. Values without a scale stand side by side and are not
//! joined.

use plotters::style::RGBColor;

use super::font::Face;
use super::form::Form;
use super::number;
use super::scale::Scale;
use super::sheet::{Frame, Phrase, Sheet};
use super::theme::Theme;
use crate::experiment::Axis;
use crate::experiment::axis::Value;
use crate::experiment::measure::Kind;
use crate::random::math;

/// The room left and right of the outermost values.
const INSET: f64 = 16.0;

/// Half the width of a band that belongs to one value alone.
const HALF: f64 = 9.0;

/// A setting from left to right.
#[derive(Clone, Debug)]
pub(super) struct Across {
    /// What it is called below the axis.
    pub(super) name: String,
    /// Where marks stand, and their text, with its unit.
    pub(super) marks: Vec<(f64, String)>,
    /// Whether its places lie on a scale, so that what lies between two of them means something.
    pub(super) is_scale: bool,
    /// A place that is marked in every panel, such as the value in the file, and what it is called.
    pub(super) noted: Option<(f64, String)>,
    /// A stretch that is shaded, such as the values that meet all goals, and what it is called.
    pub(super) shaded: Option<(f64, f64, String)>,
    from: f64,
    to: f64,
    log: bool,
}

/// One value of the setting.
#[derive(Clone, Debug, Default)]
pub(super) struct Dot {
    /// Its place on the setting's axis.
    pub(super) at: f64,
    /// The mean; `None` where it is not defined or never.
    pub(super) mean: Option<f64>,
    /// The 95 % interval of the mean.
    pub(super) ci95: Option<(f64, f64)>,
    /// The 5 % and 95 % quantiles over the seeds.
    pub(super) band: Option<(f64, f64)>,
    /// Whether it is a time that is never.
    pub(super) is_never: bool,
    /// Whether it is so in some seeds, of which the mean is not.
    pub(super) is_sometimes_never: bool,
    /// Whether the dot is filled; an open one recedes.
    pub(super) is_filled: bool,
    /// What is written at it, if there is room.
    pub(super) note: Option<String>,
}

/// One number over the setting.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// What it is.
    pub(super) title: String,
    /// How it was counted, in grey behind the title.
    pub(super) how: String,
    /// What it counts.
    pub(super) kind: Kind,
    /// The colour of line and dots: ink, or the hue of the answer that it counts.
    pub(super) ink: RGBColor,
    /// The colour of what is written at a dot.
    pub(super) text: RGBColor,
    /// The values, from left to right.
    pub(super) dots: Vec<Dot>,
    /// A level that is to be kept below, and what it is called.
    pub(super) goal: Option<(f64, String)>,
}

impl Across {
    /// The axis of a setting with these names of its values; values without a scale take the places 0, 1, 2 and so on.
    pub(super) fn of(axis: &Axis, names: &[String], current: Option<&Value>) -> Across {
        let is_scale = axis.is_scale() && axis.values.iter().all(|value| value.number.is_some());
        let place = |at: usize, value: &Value| value.number.filter(|_| is_scale).unwrap_or(at as f64);
        let marks: Vec<(f64, String)> = axis
            .values
            .iter()
            .zip(names)
            .enumerate()
            .map(|(at, (value, name))| (place(at, value), name.clone()))
            .collect();
        let noted = current.and_then(|value| {
            if is_scale {
                return Some((value.number?, format!("in the file: {}", value.text)));
            }
            let at = axis.values.iter().position(|other| other.text.trim_matches('"') == value.text)?;
            Some((at as f64, format!("in the file: {}", names[at])))
        });
        let ends = marks.iter().map(|(at, _)| *at).chain(noted.as_ref().map(|(at, _)| *at));
        let (mut from, mut to) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
        if !is_scale {
            // Half a place is left at either end.
            (from, to) = (from - 0.5, to + 0.5);
        }
        let log = from > 0.0 && (axis.span.is_some_and(|span| span.log) || is_even_in_ratios(&marks));
        Across { name: axis.paths.join(", "), marks, is_scale, noted, shaded: None, from, to, log: log && is_scale }
    }

    /// Where a value lies on a panel.
    pub(super) fn x(&self, frame: &Frame, at: f64) -> f64 {
        let share = match (self.to > self.from, self.log) {
            (false, _) => 0.5,
            (true, false) => (at - self.from) / (self.to - self.from),
            (true, true) => math::ln(at.max(self.from) / self.from) / math::ln(self.to / self.from),
        };
        frame.left + INSET + share.clamp(0.0, 1.0) * (frame.width() - 2.0 * INSET)
    }

    /// Base line, ticks and their texts, and the name of the setting; returns the lowest base line.
    pub(super) fn foot(&self, sheet: &mut Sheet, frame: &Frame, theme: &Theme, form: &Form) -> f64 {
        sheet.level(frame.left, frame.right, frame.bottom, theme.axis);
        let baseline = frame.bottom + form.tick + 8.0;
        let mut free = f64::NEG_INFINITY;
        for (at, text) in &self.marks {
            let x = self.x(frame, *at);
            sheet.upright(x, frame.bottom, frame.bottom + 5.0, theme.axis);
            let phrase = Phrase::new(text.clone(), Face::Regular, form.tick, theme.second);
            let left =
                (x - phrase.width() / 2.0).clamp(frame.left - 8.0, (frame.right - phrase.width()).max(frame.left));
            if left >= free + 8.0 {
                sheet.write(left, baseline, &phrase);
                free = left + phrase.width();
            }
        }
        let below = baseline + form.tick + 5.0;
        let name = Phrase::new(self.name.clone(), Face::Regular, form.tick, theme.second);
        sheet.write_before(frame.right, below, &name.fitted(frame.width()));
        below
    }
}

/// Whether neighbours are equally far apart as ratios, and not as differences.
fn is_even_in_ratios(marks: &[(f64, String)]) -> bool {
    let steps: Vec<f64> = marks.windows(2).map(|pair| pair[1].0 / pair[0].0).collect();
    match (steps.first(), steps.len()) {
        (Some(first), 2..) => *first > 1.5 && steps.iter().all(|step| (step / first - 1.0).abs() < 0.3),
        _ => false,
    }
}

/// A value axis in the unit in which a number is written.
struct Upward {
    scale: Scale,
    size: f64,
    sign: &'static str,
}

impl Upward {
    /// The axis of a curve; it reaches at least so far.
    fn of(curve: &Curve, reach: f64) -> Upward {
        let values = curve.dots.iter().flat_map(|dot| {
            [dot.mean, dot.band.map(|(_, high)| high), dot.ci95.map(|(_, high)| high)].into_iter().flatten()
        });
        let highest = values.chain(curve.goal.as_ref().map(|(at, _)| *at)).fold(reach, f64::max);
        match curve.kind {
            Kind::Share => Upward { scale: Scale::of_shares(highest), size: 1.0, sign: "%" },
            Kind::Seconds => {
                let unit = number::TimeUnit::of(highest);
                let size = unit.seconds();
                Upward { scale: Scale::covering(highest / size, 4.0, false), size, sign: unit.sign() }
            }
            Kind::Count => Upward { scale: Scale::covering(highest, 4.0, highest >= 4.0), size: 1.0, sign: "" },
            Kind::Ratio | Kind::Money => Upward { scale: Scale::covering(highest, 4.0, false), size: 1.0, sign: "" },
        }
    }

    fn y(&self, frame: &Frame, value: f64) -> f64 {
        frame.bottom - (value / self.size / self.scale.top).clamp(0.0, 1.0) * frame.height()
    }

    fn marks(&self, sheet: &mut Sheet, frame: &Frame, theme: &Theme, form: &Form) {
        for mark in self.scale.marks() {
            let y = self.y(frame, mark * self.size);
            sheet.level(frame.left, frame.right, y, theme.grid);
            let is_top = mark > self.scale.top - 0.5 * self.scale.step;
            let (value, step) =
                if self.sign == "%" { (100.0 * mark, 100.0 * self.scale.step) } else { (mark, self.scale.step) };
            let text = number::tick(value, step);
            let text = if is_top && !self.sign.is_empty() { format!("{text}\u{a0}{}", self.sign) } else { text };
            let phrase = Phrase::new(text, Face::Regular, form.tick, theme.second);
            sheet.write_before(frame.left - 8.0, y + 0.36 * form.tick, &phrase);
        }
        let zero = Phrase::new("0", Face::Regular, form.tick, theme.second);
        sheet.write_before(frame.left - 8.0, frame.bottom + 0.36 * form.tick, &zero);
    }
}

/// Draws a panel: title above the frame, the value axis left of it, the setting's axis below; returns the lowest base
/// line.
pub(super) fn draw(sheet: &mut Sheet, frame: Frame, across: &Across, curve: &Curve, theme: &Theme, form: &Form) -> f64 {
    reaching(sheet, frame, across, (curve, 0.0), theme, form)
}

/// The same with a value axis that reaches at least so far, so that neighbours have one scale.
pub(super) fn reaching(
    sheet: &mut Sheet,
    frame: Frame,
    across: &Across,
    (curve, reach): (&Curve, f64),
    theme: &Theme,
    form: &Form,
) -> f64 {
    let upward = Upward::of(curve, reach);
    let title = Phrase::new(curve.title.clone(), Face::Bold, form.heading, theme.ink);
    let title = title.and(format!("  {}", curve.how), Face::Regular, form.tick, theme.second);
    sheet.write(frame.left - 40.0, frame.top - 14.0, &title.fitted(frame.width() + 40.0));
    sheet.block(frame, theme.panel);
    shade(sheet, &frame, across, theme, form);
    // Where every value is never, there is nothing to measure.
    if curve.dots.iter().any(|dot| dot.mean.is_some()) || curve.goal.is_some() {
        upward.marks(sheet, &frame, theme, form);
    }
    bands(sheet, &frame, across, curve, &upward, theme);
    if let Some((at, _)) = across.noted {
        let x = across.x(&frame, at);
        sheet.upright(x, frame.top, frame.bottom, theme.third);
        sheet.take(Frame { left: x - 1.0, right: x + 2.0, ..frame });
    }
    goal(sheet, &frame, curve, &upward, theme, form);
    line(sheet, &frame, across, curve, &upward, theme);
    note(sheet, &frame, across, theme, form);
    let lowest = across.foot(sheet, &frame, theme, form);
    labels(sheet, &frame, across, curve, &upward, form);
    lowest
}

fn shade(sheet: &mut Sheet, frame: &Frame, across: &Across, theme: &Theme, form: &Form) {
    let Some((from, to, text)) = &across.shaded else { return };
    // A single value still has a visible region.
    let (left, right) = (across.x(frame, *from) - 5.0, across.x(frame, *to) + 5.0);
    sheet.block(Frame { left, right, ..*frame }, theme.room);
    let phrase = Phrase::new(text.clone(), Face::Regular, form.label, theme.ink);
    let at = left + 6.0;
    if phrase.width() <= frame.right - at {
        sheet.write(at, frame.top + form.label + 4.0, &phrase);
    }
}

/// The bands behind the line: the seeds', and in it that of the mean.
fn bands(sheet: &mut Sheet, frame: &Frame, across: &Across, curve: &Curve, upward: &Upward, theme: &Theme) {
    let of_seeds: fn(&Dot) -> Option<(f64, f64)> = |dot| dot.band;
    let of_mean: fn(&Dot) -> Option<(f64, f64)> = |dot| dot.ci95;
    let parts = [(of_seeds, theme.band, HALF), (of_mean, theme.axis, 0.5 * HALF)];
    for (range, color, half) in parts {
        if !across.is_scale {
            for dot in &curve.dots {
                let Some((low, high)) = range(dot) else { continue };
                let x = across.x(frame, dot.at);
                let (top, bottom) = (upward.y(frame, high), upward.y(frame, low));
                sheet.block(Frame { left: x - half, right: x + half, top: top - 0.5, bottom: bottom + 0.5 }, color);
            }
            continue;
        }
        // Stretches without a gap.
        for run in curve.dots.chunk_by(|a, b| range(a).is_some() && range(b).is_some()) {
            let edge = |low: bool| {
                run.iter().filter_map(move |dot| {
                    let (from, to) = range(dot)?;
                    Some((across.x(frame, dot.at), upward.y(frame, if low { from } else { to })))
                })
            };
            let mut points: Vec<(f64, f64)> = edge(false).collect();
            points.extend(edge(true).collect::<Vec<_>>().into_iter().rev());
            if points.len() > 2 {
                sheet.area(points, color);
            } else if let [(x, top), (_, bottom)] = points[..] {
                sheet.block(Frame { left: x - half, right: x + half, top: top - 0.5, bottom: bottom + 0.5 }, color);
            }
        }
    }
}

fn note(sheet: &mut Sheet, frame: &Frame, across: &Across, theme: &Theme, form: &Form) {
    let Some((at, text)) = &across.noted else { return };
    let x = across.x(frame, *at);
    let phrase = Phrase::new(text.clone(), Face::Regular, form.tick, theme.second);
    let left = if x + 6.0 + phrase.width() <= frame.right { x + 6.0 } else { x - 6.0 - phrase.width() };
    let room = phrase.frame(left, frame.top + form.tick + 2.0);
    if frame.grown(1.0).holds(&room) && sheet.is_free(&room) {
        sheet.write(left, frame.top + form.tick + 2.0, &phrase);
    }
}

fn goal(sheet: &mut Sheet, frame: &Frame, curve: &Curve, upward: &Upward, theme: &Theme, form: &Form) {
    let Some((at, text)) = &curve.goal else { return };
    let y = upward.y(frame, *at);
    let mut from = frame.left;
    while from < frame.right {
        sheet.level(from, (from + 6.0).min(frame.right), y, theme.ink);
        from += 10.0;
    }
    let phrase = Phrase::new(text.clone(), Face::Regular, form.tick, theme.ink);
    let left = frame.right - phrase.width() - 4.0;
    let above = phrase.frame(left, y - 5.0);
    let baseline = if above.top > frame.top && sheet.is_free(&above) { y - 5.0 } else { y + form.tick + 3.0 };
    sheet.write(left, baseline, &phrase);
}

fn line(sheet: &mut Sheet, frame: &Frame, across: &Across, curve: &Curve, upward: &Upward, theme: &Theme) {
    let place = |dot: &Dot| Some((across.x(frame, dot.at), upward.y(frame, dot.mean?)));
    if across.is_scale {
        for run in curve.dots.chunk_by(|a, b| a.mean.is_some() && b.mean.is_some()) {
            sheet.line(run.iter().filter_map(place).collect(), curve.ink, 2.0);
        }
    }
    for dot in &curve.dots {
        if dot.is_never || dot.is_sometimes_never {
            // A cross at the top: beyond every value.
            let (x, y) = (across.x(frame, dot.at), frame.top + 9.0);
            let (half, color) = if dot.is_never { (5.0, curve.ink) } else { (3.5, theme.third) };
            for tilt in [half, -half] {
                sheet.line(vec![(x - half, y - tilt), (x + half, y + tilt)], color, 2.0);
            }
            sheet.take(Frame { left: x - 6.0, right: x + 6.0, top: y - 6.0, bottom: y + 6.0 });
        }
        if let Some(center) = place(dot) {
            sheet.disc(center, 4.5, curve.ink);
            if !dot.is_filled {
                sheet.disc(center, 2.5, theme.page);
            }
        }
    }
}

/// What is written at dots: above, below, or beside them, where it touches neither text nor line.
fn labels(sheet: &mut Sheet, frame: &Frame, across: &Across, curve: &Curve, upward: &Upward, form: &Form) {
    let points: Vec<Option<(f64, f64)>> = curve
        .dots
        .iter()
        .map(|dot| Some((across.x(frame, dot.at), dot.mean.map_or(frame.top + 9.0, |mean| upward.y(frame, mean)))))
        .collect();
    for (index, dot) in curve.dots.iter().enumerate() {
        let (Some(text), Some((x, y))) = (&dot.note, points[index]) else { continue };
        if dot.mean.is_none() && !dot.is_never {
            continue;
        }
        let phrase = Phrase::new(text.clone(), Face::Bold, form.label, curve.text);
        let half = phrase.width() / 2.0;
        let (above, below) = (y - 10.0, y + 0.8 * form.label + 9.0);
        let left = (x - half).clamp(frame.left + 2.0, (frame.right - 2.0 - phrase.width()).max(frame.left + 2.0));
        let aside = 0.3 * form.label;
        let (after, before) = (x + 6.0, x - 6.0 - phrase.width());
        let places = [
            (left, above),
            (left, below),
            (after, above),
            (before, above),
            (after, below),
            (before, below),
            (after + 5.0, y + aside),
            (before - 5.0, y + aside),
        ];
        let fits = |(left, baseline): &(f64, f64)| {
            let room = phrase.frame(*left, *baseline);
            frame.holds(&room) && sheet.is_free(&room) && !crosses(&room, &points, across.is_scale)
        };
        if let Some((left, baseline)) = places.into_iter().find(fits) {
            sheet.write(left, baseline, &phrase);
        }
    }
}

/// Whether the line or a dot runs through a room.
fn crosses(room: &Frame, points: &[Option<(f64, f64)>], joined: bool) -> bool {
    let room = room.grown(3.0);
    let inside = |(x, y): (f64, f64)| room.left < x && x < room.right && room.top < y && y < room.bottom;
    if points.iter().flatten().any(|point| inside(*point)) {
        return true;
    }
    joined
        && points.windows(2).any(|pair| {
            let (Some(a), Some(b)) = (pair[0], pair[1]) else { return false };
            (0..=40).any(|step| {
                let share = f64::from(step) / 40.0;
                inside((a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1)))
            })
        })
}
