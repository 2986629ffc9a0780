//! An interval drawn as a strip: bar for 5 to 95 %, tick for the mean, dot for the run with the seed itself.

use crate::experiment::Figure;
use crate::report::quantity::Unit;

/// The strip of a figure over replicates as an inline SVG; nothing for a single run or a number that never varies.
pub(super) fn strip(figure: Option<&Figure>, first: Option<f64>, unit: Unit) -> String {
    let Some(Figure::Many { statistic: Some(s), .. }) = figure else { return String::new() };
    let (low, high) = (first.unwrap_or(s.min).min(s.min), first.unwrap_or(s.max).max(s.max));
    if high <= low {
        return String::new();
    }
    let at = |value: f64| 6.0 + (value - low) / (high - low) * 188.0;
    let (from, to, mean) = (at(s.p5), at(s.p95), at(s.mean));
    let tick = if s.modes.len() < 2 {
        format!("<path class=\"tick\" d=\"M{mean:.1} 2V16\"/>")
    } else {
        // A tick at the mean would stand where no run is.
        let ticks = s.modes.iter().map(|mode| format!("<path class=\"tick\" d=\"M{:.1} 2V16\"/>", at(mode.mean)));
        ticks.collect::<Vec<_>>().concat()
    };
    let dot = first
        .map_or_else(String::new, |value| format!("<circle class=\"dot\" cx=\"{:.1}\" cy=\"9\" r=\"4\"/>", at(value)));
    format!(
        "<svg class=\"strip\" viewBox=\"0 0 200 18\" role=\"img\" aria-label=\"5 % {}, mean {}, 95 % {}\">\
         <path class=\"scale\" d=\"M6 9H194\"/>\
         <rect class=\"bar\" x=\"{from:.1}\" y=\"5\" width=\"{:.1}\" height=\"8\" rx=\"4\"/>{tick}{dot}</svg>",
        unit.full(s.p5),
        unit.full(s.mean),
        unit.full(s.p95),
        (to - from).max(1.0),
    )
}
