//! One time axis stands under all panels, so that the eye falls straight down from what happened to who paid. It
//! counts from the origin of the scenario: minute 0 is when the first fault began, if there is one.

use super::font::Face;
use super::form::Form;
use super::number::{self, TimeUnit};
use super::range::Range;
use super::sheet::{Frame, Phrase, Sheet};
use super::theme::Theme;
use crate::scenario::Scenario;

/// The axis of time; all instants are seconds since the run began.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimeAxis {
    /// The first instant shown.
    pub(super) from: f64,
    /// The last instant shown.
    pub(super) to: f64,
    /// The instant that is called 0.
    pub(super) origin: f64,
    /// What began then.
    origin_name: Option<String>,
    /// The left end in pixels.
    pub(super) left: f64,
    /// The right end in pixels.
    pub(super) right: f64,
    /// The unit of its marks.
    pub(super) unit: TimeUnit,
    /// Seconds between two marks.
    pub(super) step: f64,
}

impl TimeAxis {
    /// The axis of a range of time.
    pub(super) fn new(range: &Range, scenario: &Scenario, form: &Form) -> TimeAxis {
        let (left, right) = (form.left, form.right());
        let unit = TimeUnit::of(range.to - range.from);
        TimeAxis {
            from: range.from,
            to: range.to,
            origin: scenario.origin.as_secs_f64(),
            origin_name: scenario.origin_name.clone(),
            left,
            right,
            unit,
            step: step(range.to - range.from, unit, ((right - left) / form.tick_room).max(2.0)),
        }
    }

    /// The place of an instant, at most at the ends.
    pub(super) fn x(&self, seconds: f64) -> f64 {
        let share = (seconds - self.from) / (self.to - self.from);
        self.left + share.clamp(0.0, 1.0) * (self.right - self.left)
    }

    /// Pixels for a second.
    pub(super) fn density(&self) -> f64 {
        (self.right - self.left) / (self.to - self.from)
    }

    /// How many narrow bins make one that is at least this many pixels wide and of a round width.
    pub(super) fn group(&self, bin: f64, pixels: f64) -> usize {
        const ROUND: [f64; 20] = [
            1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 3600.0, 7200.0,
            10_800.0, 21_600.0, 43_200.0, 86_400.0,
        ];
        let least = pixels / self.density();
        if bin >= least {
            return 1;
        }
        let whole = |seconds: &f64| ((seconds / bin).round() * bin - seconds).abs() < 1e-6 * seconds;
        let round = ROUND.into_iter().find(|seconds| *seconds >= least && whole(seconds));
        round.map_or((least / bin).ceil() as usize, |seconds| (seconds / bin).round() as usize)
    }

    /// An instant as people on this axis say it.
    pub(super) fn says(&self, seconds: f64) -> String {
        number::instant(seconds - self.origin, self.unit)
    }

    /// A span of time as people on this axis say it: `0 – 22 min`.
    pub(super) fn says_span(&self, from: f64, to: f64) -> String {
        format!("{}\u{a0}–\u{a0}{}\u{a0}{}", self.says(from), self.says(to), self.unit.sign())
    }

    /// The instants that are marked.
    fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let first = ((self.from - self.origin) / self.step - 1e-9).ceil() as i64;
        (first..).map(|n| self.origin + n as f64 * self.step).take_while(|t| *t <= self.to + 1e-9 * self.step)
    }

    /// The base line of a panel, with short ticks.
    pub(super) fn base(&self, sheet: &mut Sheet, frame: &Frame, theme: &Theme) {
        sheet.level(self.left, self.right, frame.bottom, theme.axis);
        for tick in self.ticks() {
            sheet.upright(self.x(tick).min(self.right - 1.0), frame.bottom, frame.bottom + 5.0, theme.axis);
        }
    }

    /// The marks at the foot of the last panel and what they count; returns the lowest base line.
    pub(super) fn foot(&self, sheet: &mut Sheet, bottom: f64, theme: &Theme, form: &Form) -> f64 {
        let baseline = bottom + form.tick + 8.0;
        let below = baseline + form.tick + 5.0;
        let mut free = 0.0;
        for tick in self.ticks() {
            let text = self.label(tick);
            let phrase = Phrase::new(text, Face::Regular, form.tick, theme.second);
            let left = self.x(tick) - phrase.width() / 2.0;
            let left = left.min(form.width - form.margin - phrase.width()).max(free);
            if left < free + 8.0 && free > 0.0 || left + phrase.width() > form.width - form.margin + 0.1 {
                continue;
            }
            sheet.write(left, baseline, &phrase);
            free = left + phrase.width();
        }
        let counted = Phrase::new(self.counted(), Face::Regular, form.tick, theme.second);
        sheet.write_before(self.right, below, &counted.fitted(self.right - form.margin));
        below
    }

    fn label(&self, tick: f64) -> String {
        let value = (tick - self.origin) / self.unit.seconds();
        if value.abs() < 1e-9 {
            return format!("{} 0", self.unit.word());
        }
        let text = number::tick(value.abs(), self.step / self.unit.seconds());
        if value < 0.0 { format!("−{text}") } else { text }
    }

    fn counted(&self) -> String {
        let what = self.origin_name.as_deref().unwrap_or("run");
        format!("{}s since the {what} began", self.unit.word())
    }
}

/// The smallest round step, in seconds, that makes at most so many marks.
fn step(span: f64, unit: TimeUnit, most: f64) -> f64 {
    let nice: &[f64] = match unit {
        TimeUnit::Second => &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0],
        TimeUnit::Minute => &[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0],
        TimeUnit::Hour => &[1.0, 2.0, 3.0, 6.0, 12.0, 24.0],
        TimeUnit::Day => &[1.0, 2.0, 5.0, 7.0, 14.0, 28.0, 50.0, 100.0],
    };
    let size = unit.seconds();
    let fits = |n: &&f64| span / (**n * size) <= most;
    nice.iter().find(fits).map_or(span / most, |n| n * size)
}

/// A round instant at or after this one, in steps from the origin.
pub(super) fn round_up(seconds: f64, origin: f64, span: f64) -> f64 {
    let unit = TimeUnit::of(span);
    let step = step(span, unit, 14.0);
    origin + ((seconds - origin) / step - 1e-9).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_in_the_unit_of_the_span() {
        // 44 minutes in at most 13 marks: every 5 minutes; 10 s in 13: every second; 3 days in hours: every 6.
        assert_eq!(step(44.0 * 60.0, TimeUnit::Minute, 13.0), 300.0);
        assert_eq!(step(10.0, TimeUnit::Second, 13.0), 1.0);
        assert_eq!(step(72.0 * 3600.0, TimeUnit::Hour, 13.0), 6.0 * 3600.0);
    }

    #[test]
    fn an_end_is_rounded_up_from_the_origin() {
        // Minute 39.2 of a 45-minute span, counted from minute 10 on: minute 40 there.
        assert_eq!(round_up(49.2 * 60.0, 600.0, 45.0 * 60.0), 50.0 * 60.0);
    }
}
