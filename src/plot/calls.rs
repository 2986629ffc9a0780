//! When alerts were firing and what the operator did: one thin row for each, under the fault windows, so that the eye sees
//! how long after the trigger somebody would have been called, and what changed when something was done.

use super::axis::TimeAxis;
use super::facts::Facts;
use super::font::Face;
use super::form::Form;
use super::sheet::{Frame, Phrase, Sheet};
use super::theme::Theme;
use crate::observe::alerts::Firing;
use crate::units::SimTime;

/// One alert's firings, or one intervention, in seconds since the run began.
struct Row<'a> {
    what: &'static str,
    name: &'a str,
    spans: Vec<(f64, f64)>,
}

/// The rows of interventions and alerts.
pub(super) struct CallRows<'a>(Vec<Row<'a>>);

/// The thickness of a firing.
const THICK: f64 = 3.0;
/// More rows than this push the panels too far down.
const MOST: usize = 6;

impl<'a> CallRows<'a> {
    /// What is done and the alerts that fire in the time shown.
    pub(super) fn of(facts: &Facts<'a>, axis: &TimeAxis) -> CallRows<'a> {
        let horizon = facts.scenario.horizon.as_secs_f64();
        let shown = |(from, to): &(f64, f64)| *to >= axis.from && *from < axis.to;
        let acts = facts.scenario.interventions.iter().map(|act| {
            let from = act.at.as_secs_f64();
            let to = if act.until < SimTime::NEVER { act.until.as_secs_f64() } else { from };
            Row { what: "operator", name: &act.name, spans: vec![(from, to)].into_iter().filter(shown).collect() }
        });
        let rows = facts.scenario.alerts.iter().zip(&facts.result.alerts).map(|(alert, record)| {
            let span =
                |firing: &Firing| (firing.fired.as_secs_f64(), firing.cleared.map_or(horizon, SimTime::as_secs_f64));
            Row { what: "alert", name: &alert.name, spans: record.firings.iter().map(span).filter(shown).collect() }
        });
        CallRows(acts.chain(rows).filter(|row| !row.spans.is_empty()).take(MOST).collect())
    }

    fn row_height(form: &Form) -> f64 {
        form.label + 5.0
    }

    /// How much room the rows need.
    pub(super) fn height(&self, form: &Form) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.len() as f64 * CallRows::row_height(form) + 6.0 }
    }

    /// Draws the rows from this upper edge on.
    pub(super) fn draw(&self, sheet: &mut Sheet, axis: &TimeAxis, top: f64, theme: &Theme, form: &Form) {
        for (n, row) in self.0.iter().enumerate() {
            let baseline = top + 6.0 + (n as f64 + 1.0) * CallRows::row_height(form) - 5.0;
            let middle = (baseline - form.label * 0.35).round();
            let edges = |(from, to): &(f64, f64)| (axis.x(from.max(axis.from)), axis.x(to.min(axis.to)));
            for (left, right) in row.spans.iter().map(edges) {
                if right > left + 2.0 {
                    sheet.block(
                        Frame { left, right, top: middle - THICK / 2.0, bottom: middle + THICK / 2.0 },
                        theme.ink,
                    );
                }
                // The instant at which somebody is called.
                sheet.block(Frame { left, right: left + 2.0, top: middle - 6.0, bottom: middle + 6.0 }, theme.ink);
            }
            row.name(sheet, axis, baseline, theme, form);
        }
    }
}

impl Row<'_> {
    /// The name, behind the last firing or before the first, wherever there is room.
    fn name(&self, sheet: &mut Sheet, axis: &TimeAxis, baseline: f64, theme: &Theme, form: &Form) {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else { return };
        let bold = || Phrase::new(format!("{} {}", self.what, self.name), Face::Bold, form.label, theme.ink);
        let when = |(from, to): &(f64, f64)| {
            if to > from {
                return axis.says_span(*from, *to);
            }
            format!("at {}\u{a0}{}", axis.says(*from), axis.unit.sign())
        };
        let more = if self.spans.len() > 1 { format!(" and {} more", self.spans.len() - 1) } else { String::new() };
        let long = bold().and(format!(" {}{more}", when(first)), Face::Regular, form.label, theme.second);
        let (before, behind) = (axis.x(first.0.max(axis.from)) - 8.0, axis.x(last.1.min(axis.to)) + 8.0);
        for phrase in [long, bold()] {
            if behind + phrase.width() <= axis.right {
                sheet.write(behind, baseline, &phrase);
                return;
            }
            if before - phrase.width() >= axis.left {
                sheet.write_before(before, baseline, &phrase);
                return;
            }
        }
        let room = (before - axis.left).max(axis.right - behind);
        let phrase = bold().fitted(room);
        if room < 40.0 {
            return;
        }
        if before - axis.left >= room {
            sheet.write_before(before, baseline, &phrase);
        } else {
            sheet.write(behind, baseline, &phrase);
        }
    }
}
