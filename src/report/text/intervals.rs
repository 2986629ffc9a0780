//! How sure a number is, drawn: the bracket spans 5 % to 95 % of the replicates on a scale with round ends. Where the
//! values fall into two groups the groups are named instead of a mean that no run has.

use crate::experiment::Figure;
use crate::report::headline::{Headline, headlines};
use crate::report::quantity::{UNDEFINED, Unit, count, modes_of};
use crate::report::story::{Story, Subject};

use super::page::{Page, left, painted, right, width};

/// The columns of the number at either end of a strip.
const END: usize = 5;

/// Where the parts of a line stand.
struct Layout {
    label: usize,
    value: usize,
    strip: usize,
    /// Whether label, value and strip stand on one line.
    is_wide: bool,
}

/// Writes a line for each headline number.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>, story: &Story<'_>) {
    let headlines = headlines(subject, story);
    let n = subject.result.replicates.unwrap_or(0);
    let has_first = headlines.iter().any(|headline| headline.first.is_some());
    let dot = if has_first { format!("● seed {}", subject.result.seed.0) } else { "● median".to_owned() };
    let head = format!("mean [5 %, 95 %] of {}", runs(n));
    let values: Vec<String> = headlines.iter().map(|headline| value(headline, n)).collect();
    let layout = layout(page, &headlines, &values, &head);
    page.blank();
    if layout.is_wide {
        let head = left(&head, layout.label + 2 + layout.value + 2 + END);
        page.line(&format!("  {head}┼ mean   {dot}"));
    } else {
        page.paragraph("  ", &format!("{head}; ┼ mean, {dot}"));
    }
    for (headline, value) in headlines.iter().zip(&values) {
        line(page, headline, value, &layout);
        if let Some(some) = in_some_runs(headline, n) {
            page.paragraph(&under(&layout), &some);
        }
    }
}

/// Side by side where a strip of a dozen columns fits beside the longest label and value.
fn layout(page: &Page, headlines: &[Headline<'_>], values: &[String], head: &str) -> Layout {
    let label = headlines.iter().map(|headline| width(&headline.label)).max().unwrap_or(0);
    let value = values.iter().map(|value| width(value)).max().unwrap_or(0);
    let value = value.max(width(head).saturating_sub(label + 2));
    let beside = page.width().saturating_sub(2 + label + 2 + value + 2 * (END + 1) + 1);
    if page.is_narrow() || beside < 12 {
        let strip = page.width().saturating_sub(4 + 2 * (END + 1) + 1).min(40);
        return Layout { label, value, strip, is_wide: false };
    }
    Layout { label, value, strip: beside.min(32), is_wide: true }
}

fn runs(n: u64) -> String {
    if n == 1 { "1 run".to_owned() } else { format!("{} runs", count(n as f64)) }
}

fn line(page: &mut Page, headline: &Headline<'_>, value: &str, layout: &Layout) {
    let modes = headline.figure.map_or(&[][..], modes_of);
    let strip = headline.figure.and_then(|figure| strip(figure, headline.first, headline.unit, layout.strip));
    let strip = strip.unwrap_or_default();
    let label = painted(&headline.label, headline.tint);
    if layout.is_wide {
        page.line(&format!("  {}  {} {strip}", left(&label, layout.label), right(value, layout.value)));
    } else {
        page.hanging("  ", "    ", format!("{label} {value}").trim_end());
        page.line(&format!("    {}", strip.trim_start()));
    }
    if modes.len() > 1 {
        page.paragraph(&under(layout), &headline.unit.modes(modes));
    }
}

/// The indent of what stands under a line.
fn under(layout: &Layout) -> String {
    " ".repeat(if layout.is_wide { 4 + layout.label } else { 4 })
}

/// In how many runs the number is defined, where not in all: on a line of its own, as one such row would else leave no room
/// for the strips of all.
fn in_some_runs(headline: &Headline<'_>, replicates: u64) -> Option<String> {
    let Some(Figure::Many { statistic: Some(statistic), .. }) = headline.figure else { return None };
    (statistic.n < replicates).then(|| format!("in {} of {}", count(statistic.n as f64), runs(replicates)))
}

/// "8.2 min [6.0, 10.6]".
fn value(headline: &Headline<'_>, replicates: u64) -> String {
    if headline.figure.is_some_and(|figure| modes_of(figure).len() > 1) {
        return "by mode, below".to_owned();
    }
    let text = headline.unit.figure(headline.figure);
    let is_known = match headline.figure {
        Some(Figure::Many { statistic, .. }) => statistic.is_some(),
        Some(Figure::One(_)) | None => replicates > 0,
    };
    if text == UNDEFINED && !is_known { "in no run".to_owned() } else { text }
}

/// `9 ···├──┼─●┤··· 9.6`; `None` for a figure without replicates.
fn strip(figure: &Figure, first: Option<f64>, unit: Unit, columns: usize) -> Option<String> {
    let Figure::Many { statistic: Some(s), .. } = figure else { return None };
    let dot = first.unwrap_or(s.p50);
    let (min, max) = (s.min.min(dot), s.max.max(dot));
    // A number that never varies needs no picture.
    if max <= min {
        return None;
    }
    let scale = Scale::around(min, max, unit);
    let at = |value: f64| (scale.share(value) * (columns - 1) as f64).round() as usize;
    let mut cells = vec!['·'; columns];
    let (from, to) = (at(s.p5), at(s.p95));
    for cell in &mut cells[from..=to] {
        *cell = '─';
    }
    cells[from] = '├';
    cells[to] = '┤';
    if s.modes.len() < 2 {
        cells[at(s.mean)] = '┼';
    } else {
        for mode in &s.modes {
            cells[at(mode.mean)] = '┼';
        }
    }
    if first.is_some() || s.modes.len() < 2 {
        cells[at(dot)] = '●';
    }
    let strip: String = cells.into_iter().collect();
    Some(format!("{} {strip} {}", right(&scale.end(scale.low), END), scale.end(scale.high)))
}

/// A scale with round ends around values in the unit that is written.
struct Scale {
    low: f64,
    high: f64,
    /// How many of the values' own unit make one of the written.
    factor: f64,
    decimals: usize,
}

impl Scale {
    /// The scale around these values; a share's stays within 0 to 100 %.
    fn around(min: f64, max: f64, unit: Unit) -> Scale {
        let factor = match unit {
            Unit::Count | Unit::Ratio | Unit::Money => 1.0,
            Unit::Share => 0.01,
            Unit::Time(time) => time.seconds(),
        };
        let (min, max) = (min / factor, max / factor);
        let step = step((max - min) / 4.0);
        let low = ((min / step).floor() * step).max(0.0);
        let high = ((max / step).ceil() * step).max(low + step);
        let high = if unit == Unit::Share { high.min(100.0) } else { high };
        let decimals = [1.0, 0.1, 0.01].iter().take_while(|size| step < **size * 0.999).count();
        Scale { low, high, factor, decimals }
    }

    /// Where a value lies, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        ((value / self.factor - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// An end in digits.
    fn end(&self, value: f64) -> String {
        if self.decimals == 0 { count(value) } else { format!("{value:.*}", self.decimals) }
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least this long.
fn step(at_least: f64) -> f64 {
    let mut power = 1.0;
    while power * 10.0 <= at_least {
        power *= 10.0;
    }
    while power > at_least {
        power /= 10.0;
    }
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= at_least).unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::statistic;
    use crate::report::headline::Tint;

    fn of(mean: f64, p5: f64, p95: f64) -> Figure {
        Figure::Many { statistic: Some(statistic(mean, p5, p95)), whole: false }
    }

    #[test]
    fn a_strip_has_round_ends_and_holds_its_bracket() {
        assert_eq!(
            strip(&of(9.32, 9.19, 9.43), Some(9.33), Unit::Ratio, 20).unwrap(),
            "  9.1 ···├────┼●───┤······ 9.6"
        );
        assert_eq!(strip(&of(0.2, 0.15, 0.24), None, Unit::Share, 20).unwrap(), "   10 ·····├────●──┤······ 30");
    }

    #[test]
    fn a_number_that_never_varies_needs_no_strip() {
        let mut figure = of(36.0, 36.0, 36.0);
        if let Figure::Many { statistic: Some(s), .. } = &mut figure {
            (s.min, s.max) = (36.0, 36.0);
        }
        assert_eq!(strip(&figure, None, Unit::Count, 20), None);
    }

    #[test]
    fn the_ends_of_a_narrow_scale_keep_their_decimals() {
        let ends = |min, max, unit| {
            let scale = Scale::around(min, max, unit);
            [scale.end(scale.low), scale.end(scale.high)]
        };
        assert_eq!(ends(0.0, 0.004, Unit::Share), ["0.0", "0.4"]);
        assert_eq!(ends(1.002, 1.021, Unit::Ratio), ["1.000", "1.025"]);
        assert_eq!(ends(0.6, 1.0, Unit::Share), ["60", "100"]);
        assert_eq!(ends(3_600.0, 8_000.0, Unit::Count), ["2,000", "8,000"]);
    }

    #[test]
    fn a_number_that_some_runs_lack_leaves_its_row_as_short_as_the_others() {
        let mut figure = of(492.0, 360.0, 636.0);
        if let Figure::Many { statistic: Some(s), .. } = &mut figure {
            s.n = 19;
        }
        let headline = Headline {
            label: "recovery".to_owned(),
            note: String::new(),
            figure: Some(&figure),
            unit: Unit::Count,
            first: None,
            tint: Tint::Plain,
        };
        assert_eq!(value(&headline, 20), headline.unit.figure(Some(&figure)));
        assert_eq!(in_some_runs(&headline, 20).unwrap(), "in 19 of 20 runs");
        assert_eq!(in_some_runs(&headline, 19), None);
    }
}
