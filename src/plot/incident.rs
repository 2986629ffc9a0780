//! What happened to the provider, and how long the system took to get over it: shaded behind all panels and named
//! once, above them, so that no panel has to say it again.

use super::axis::TimeAxis;
use super::facts::Facts;
use super::font::Face;
use super::form::Form;
use super::number;
use super::sheet::{Frame, Phrase, Sheet};
use super::theme::{Hue, Theme};
use crate::observe::timeline::AnswerKind;
use crate::provider::{Respond, StreamFault};

/// A fault window, in seconds since the run began.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shade {
    /// The name of the fault.
    pub(super) name: String,
    /// When it begins.
    pub(super) from: f64,
    /// When it ends.
    pub(super) to: f64,
    /// What its requests get.
    pub(super) kind: AnswerKind,
    /// The name of that among the responses, such as `529`.
    response: String,
}

/// All fault windows, and the recovery from them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Incident {
    /// The windows in order of their start.
    pub(super) windows: Vec<Shade>,
    /// The end of the last window; 0 where there is none.
    pub(super) end: f64,
    /// When everything was back, where it was.
    pub(super) recovered: Option<f64>,
    /// Whether it was not back by the end of the run.
    pub(super) unrecovered: bool,
}

const RECOVERY: [&str; 2] = ["recovery", "total_s"];
/// A name is not cut to less than this width.
const LEAST_NAME: f64 = 72.0;
/// The height of a strip.
const STRIP: f64 = 5.0;

impl Incident {
    /// The incident of a scenario and how it ended.
    pub(super) fn of(facts: &Facts<'_>) -> Incident {
        let windows: Vec<Shade> = facts
            .scenario
            .fault_windows()
            .iter()
            .map(|(name, window)| {
                let (kind, response) = answer(facts, name);
                let (from, to) = (window.from.as_secs_f64(), window.to.as_secs_f64());
                Shade { name: (*name).to_string(), from, to, kind, response }
            })
            .collect();
        let end = windows.iter().map(|window| window.to).fold(0.0, f64::max);
        let length = facts.value(&RECOVERY).filter(|_| !windows.is_empty());
        Incident {
            recovered: length.map(|length| end + length),
            unrecovered: !windows.is_empty() && facts.is_undefined(&RECOVERY),
            windows,
            end,
        }
    }

    /// The name of the window in which a class was hit the hardest, by a figure; `None` where no window has it.
    pub(super) fn worst<'a>(&self, facts: &Facts<'a>, class: usize, figure: &str) -> Option<&'a str> {
        let hit = facts.by_phase(class, figure);
        let in_window = hit.into_iter().filter(|(phase, _)| self.windows.iter().any(|window| window.name == *phase));
        in_window.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(phase, _)| phase)
    }

    /// The rows that overlapping windows need.
    fn rows(&self) -> Vec<usize> {
        let mut ends: Vec<f64> = Vec::new();
        self.windows
            .iter()
            .map(|window| {
                let row = ends.iter().position(|end| *end <= window.from).unwrap_or(ends.len());
                if row == ends.len() {
                    ends.push(window.to);
                } else {
                    ends[row] = window.to;
                }
                row
            })
            .collect()
    }

    /// How much height the strips need.
    fn strips(&self) -> f64 {
        let rows = self.rows().into_iter().max().map_or(0, |row| row + 1);
        rows as f64 * (STRIP + 2.0)
    }

    /// The height of everything above the panels.
    pub(super) fn height(&self, form: &Form) -> f64 {
        if self.windows.is_empty() { 0.0 } else { form.label + 20.0 + self.strips() }
    }

    /// The tints behind all panels.
    pub(super) fn shade(&self, sheet: &mut Sheet, axis: &TimeAxis, (top, bottom): (f64, f64), theme: &Theme) {
        let mut tint = |from: f64, to: f64, color| {
            if to > axis.from && from < axis.to {
                let (left, right) = (axis.x(from).round(), axis.x(to).round());
                sheet.block(Frame { left, right: right.max(left + 1.0), top, bottom }, color);
            }
        };
        if let Some(to) = self.recovery_to(axis) {
            tint(self.end, to, theme.recovery);
        }
        for window in &self.windows {
            tint(window.from, window.to, theme.window);
        }
    }

    /// Until when the recovery is shaded.
    fn recovery_to(&self, axis: &TimeAxis) -> Option<f64> {
        if self.unrecovered { Some(axis.to) } else { self.recovered.filter(|&to| to > self.end) }
    }

    /// The strips and their names; `top` is the upper edge of the room that [`Incident::height`] asks for.
    pub(super) fn draw(
        &self,
        sheet: &mut Sheet,
        facts: &Facts<'_>,
        axis: &TimeAxis,
        top: f64,
        theme: &Theme,
        form: &Form,
    ) {
        if self.windows.is_empty() {
            return;
        }
        let strip_top = top + self.height(form) - self.strips();
        for (window, row) in self.windows.iter().zip(self.rows()) {
            let y = strip_top + row as f64 * (STRIP + 2.0);
            let (left, right) = (axis.x(window.from).round(), axis.x(window.to).round());
            if right > left {
                let frame = Frame { left, right, top: y, bottom: y + STRIP };
                sheet.block(frame, theme.hue(window.kind).fill);
            }
        }
        self.bracket(sheet, axis, strip_top, theme);
        self.names(sheet, facts, axis, strip_top - 15.0, theme, form);
    }

    fn bracket(&self, sheet: &mut Sheet, axis: &TimeAxis, strip_top: f64, theme: &Theme) {
        let Some(to) = self.recovery_to(axis) else { return };
        let (left, right) = (axis.x(self.end).round(), axis.x(to).round());
        if right - left < 2.0 {
            return;
        }
        let color = theme.throttled.fill;
        sheet.block(Frame { left, right, top: strip_top, bottom: strip_top + STRIP }, color);
        let (top, foot) = (strip_top - 6.25, strip_top - 1.0);
        let open = self.unrecovered;
        let mut points = vec![(left + 0.75, foot), (left + 0.75, top), (right - 0.75, top)];
        if !open {
            points.push((right - 0.75, foot));
        }
        sheet.line(points, color, 1.5);
    }

    /// Each name begins where the thing begins, and takes the longest form that ends before the next one.
    fn names(&self, sheet: &mut Sheet, facts: &Facts<'_>, axis: &TimeAxis, baseline: f64, theme: &Theme, form: &Form) {
        let mut names: Vec<(f64, f64, Vec<Phrase>)> = Vec::new();
        if let Some(first) = self.windows.first() {
            let before = Phrase::new("before", Face::Regular, form.label, theme.third);
            names.push((axis.left, axis.x(first.from), vec![before]));
        }
        for window in &self.windows {
            names.push((axis.x(window.from), axis.x(window.to), window.names(facts, axis, theme, form)));
        }
        names.push((axis.x(self.end), axis.right, self.recovery_names(facts, theme, form)));
        // How it ended matters most; what was normal before, least.
        let by_weight = std::iter::once(names.len() - 1).chain(1..names.len() - 1).chain(std::iter::once(0));
        for i in by_weight {
            let (left, right, forms) = &names[i];
            let next = names.iter().skip(i + 1).find(|(_, _, forms)| !forms.is_empty());
            let end = next.map_or(form.width - form.margin, |(next, _, _)| next - 14.0);
            let at_start = forms.iter().map(|phrase| (*left, phrase)).filter(|(left, p)| left + p.width() <= end);
            // A thing that is too short for its name has it end where the thing ends, if there is room before it; how
            // it ended then says only the least, so that the windows keep their names.
            let skipped = if i + 1 == names.len() { forms.len().saturating_sub(1) } else { 0 };
            let shorter = forms.iter().skip(skipped).map(|phrase| (right - phrase.width() - 8.0, phrase));
            let at_end = shorter.filter(|(left, _)| *left >= axis.left);
            let free = |(left, phrase): &(f64, &Phrase)| sheet.is_free(&phrase.frame(*left, baseline).grown(3.5));
            // A name that fits nowhere is cut, as long as enough of it is left to know it by.
            let cut = forms.last().filter(|_| end - left >= LEAST_NAME).map(|phrase| phrase.clone().fitted(end - left));
            let cut = cut.as_ref().map(|phrase| (*left, phrase));
            if let Some((left, phrase)) = at_start.chain(at_end).chain(cut).find(free) {
                sheet.write(left, baseline, phrase);
            }
        }
    }

    fn recovery_names(&self, facts: &Facts<'_>, theme: &Theme, form: &Form) -> Vec<Phrase> {
        let bold = |text: String| Phrase::new(text, Face::Bold, form.label, theme.throttled.text);
        let grey = |phrase: Phrase, text: &str| phrase.and(text, Face::Regular, form.label, theme.second);
        if self.unrecovered {
            let name = bold("no recovery".to_string());
            return vec![grey(name.clone(), " before the run ends"), name];
        }
        let Some(length) = self.recovered.map(|at| at - self.end).filter(|length| *length > 0.0) else {
            return Vec::new();
        };
        let name = bold(format!("recovery {}", number::time(length)));
        let spread = facts.spread(&RECOVERY, number::time).map(|spread| format!(", {spread}"));
        let spread = spread.unwrap_or_default();
        vec![
            grey(name.clone(), &format!("{spread} until queue, live 429s and requests per call are back")),
            grey(name.clone(), &spread),
            name,
        ]
    }
}

impl Shade {
    fn names(&self, facts: &Facts<'_>, axis: &TimeAxis, theme: &Theme, form: &Form) -> Vec<Phrase> {
        let Hue { text, .. } = theme.hue(self.kind);
        let bold = || Phrase::new(self.name.clone(), Face::Bold, form.label, text);
        let grey = |tail: String| bold().and(tail, Face::Regular, form.label, theme.second);
        let span = format!(" {}", axis.says_span(self.from, self.to));
        let mut names = Vec::new();
        if let Some(share) = self.struck(facts) {
            names.push(grey(format!("{span}: {share}")));
        }
        names.extend([grey(span), bold()]);
        names
    }

    /// How many of the requests that a class sent in the window got the answer of the fault.
    fn struck(&self, facts: &Facts<'_>) -> Option<String> {
        let class = facts.classes().into_iter().next()?;
        let name = facts.class(class).name.as_str();
        let at = |leaf: &[&str]| {
            let path: Vec<&str> = ["phases", &self.name, "classes", name].iter().chain(leaf).copied().collect();
            facts.value(&path)
        };
        let requests = at(&["requests"]).filter(|&n| n > 0.0)?;
        let struck = at(&["responses", &self.response])?;
        let got = match self.kind {
            AnswerKind::Lost => "got no answer".to_string(),
            AnswerKind::Delivered | AnswerKind::Throttled | AnswerKind::Overloaded | AnswerKind::Other => {
                format!("answered {}", self.response)
            }
        };
        Some(format!("{} of {name} requests {got}", number::share((struck / requests).min(1.0))))
    }
}

/// What a fault answers, and its name among the responses.
fn answer(facts: &Facts<'_>, name: &str) -> (AnswerKind, String) {
    let fault =
        facts.scenario.provider.faults.iter().find(|fault| fault.windows().iter().any(|(phase, _)| *phase == name));
    match fault.map(|fault| &fault.respond) {
        Some(Respond::Status { status, .. }) => {
            let kind = match status {
                429 => AnswerKind::Throttled,
                503 | 529 => AnswerKind::Overloaded,
                _ => AnswerKind::Other,
            };
            (kind, status.to_string())
        }
        Some(
            Respond::Drop { .. }
            | Respond::Cut { .. }
            | Respond::Unreachable { .. }
            | Respond::Stream { how: StreamFault::Failed | StreamFault::Broken, .. },
        ) => (AnswerKind::Lost, "dropped".to_string()),
        Some(
            Respond::Hang
            | Respond::ConnectHang
            | Respond::Silence { .. }
            | Respond::SlowFirstToken(_)
            | Respond::Stream { how: StreamFault::Silent, .. },
        ) => (AnswerKind::Lost, "timeout".to_string()),
        Some(Respond::Degraded) => (AnswerKind::Other, "slow or few servers".to_string()),
        Some(Respond::Script(_)) => (AnswerKind::Other, "by a script".to_string()),
        None => (AnswerKind::Other, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{fixture, odd};
    use super::*;

    #[test]
    fn windows_that_overlap_stand_in_rows_of_their_own() {
        let fixture::Fixture { scenario, result } = odd::three_days();
        let incident = Incident::of(&Facts { result: &result, scenario: &scenario });
        // Of the four windows only the last begins while another lasts.
        assert_eq!(incident.rows(), [0, 0, 0, 1]);
        assert!(incident.unrecovered);
    }

    #[test]
    fn recovery_is_counted_from_the_end_of_the_last_window() {
        let fixture::Fixture { scenario, result } = fixture::incident();
        let incident = Incident::of(&Facts { result: &result, scenario: &scenario });
        // The window ends at minute 32, and the figures say 420 s.
        assert_eq!((incident.end, incident.recovered), (1920.0, Some(2340.0)));
    }
}
