//! A small run task by task: how many requests, the waits between them, the last answer, and when it was over.

use super::page::{Page, cut, left, right};
use crate::experiment::Track;
use crate::report::story::Subject;
use crate::report::words::{answered, readable};
use crate::sim::Fate;

/// The widest name.
const NAME: usize = 20;
/// The width of the last two columns.
const END: usize = 28;
/// The fewest columns in which waits say anything.
const LEAST: usize = 8;

/// Writes the table, where the run was told task by task; says whether it was.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>) -> bool {
    let tracks = &subject.result.tracks;
    if tracks.is_empty() || subject.is_replicated() || page.is_narrow() {
        return false;
    }
    let names: Vec<String> = tracks.iter().map(|track| name(subject, track)).collect();
    let name = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(NAME);
    let middle = page.width().saturating_sub(2 + name + 6 + 2 + END).max(LEAST);
    page.blank();
    page.line(&format!("  {} {}  {} {}", left("", name), right("sent", 5), left("waits, s", middle), "last"));
    for (track, text) in tracks.iter().zip(&names) {
        let sent = track.requests.len().to_string();
        let (waits, end) = (elided(&waits(track), middle), end(track));
        page.line(&format!("  {} {}  {} {end}", left(text, name), right(&sent, 5), left(&waits, middle)));
    }
    true
}

/// The class, and which task of it where it has several.
fn name(subject: &Subject<'_>, track: &Track) -> String {
    let name = subject.scenario.traffic.get(track.class).map_or(String::new(), |class| readable(&class.name));
    let several = subject.result.tracks.iter().filter(|other| other.class == track.class).count() > 1;
    cut(&if several { format!("{name} {}", track.task + 1) } else { name }, NAME)
}

/// The waits after failures. What is sent while another request is out has not waited for its end.
fn waits(track: &Track) -> Vec<String> {
    let pairs = track.requests.iter().zip(track.requests.iter().skip(1));
    let failed = pairs.filter(|(before, next)| !before.answer.is_delivered() && next.sent >= before.ended);
    failed.map(|(before, next)| format!("{:.2}", next.sent.as_secs_f64() - before.ended.as_secs_f64())).collect()
}

/// As many as there is room for.
fn elided(waits: &[String], room: usize) -> String {
    let shown = |n: usize| match n {
        n if n == waits.len() => waits.join(", "),
        0 => "…".to_owned(),
        n => format!("{}, …", waits[..n].join(", ")),
    };
    (0..=waits.len()).rev().map(shown).find(|text| text.chars().count() <= room).unwrap_or_default()
}

/// The last answer and the end.
fn end(track: &Track) -> String {
    let last = track.requests.last().map_or_else(|| "–".to_owned(), |sent| answered(&sent.answer));
    let fate = match track.ended {
        Some((at, fate)) => {
            let after = at.as_secs_f64() - track.arrived.as_secs_f64();
            let word = match fate {
                Fate::Delivered => "done",
                Fate::Failed => "failed",
                Fate::Abandoned => "abandoned",
            };
            format!("{word} {after:.2} s")
        }
        None => "not over".to_owned(),
    };
    format!("{} {fate}", left(&last, 13))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Sent;
    use crate::policy::answer::Answer;
    use crate::report::fixture;
    use crate::units::SimTime;

    #[test]
    fn a_task_is_told_in_one_line() {
        let at = SimTime::from_secs_f64;
        let sent = |from: f64, to: f64, answer: Answer| Sent { sent: at(from), ended: at(to), answer };
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        let requests = vec![
            sent(1.0, 2.0, Answer::refused(529)),
            sent(2.5, 3.0, Answer::TIMED_OUT),
            // One of a hedge, sent while the one before it was out: no wait.
            sent(2.75, 3.0, Answer::TIMED_OUT),
            // A step that is answered is followed by the next one without a wait.
            sent(4.0, 6.0, Answer::DELIVERED),
            sent(6.0, 8.0, Answer::DELIVERED),
        ];
        let ended = Some((at(8.0), Fate::Delivered));
        result.tracks = vec![
            Track { class: 0, task: 0, arrived: at(0.5), ended, requests },
            Track { class: 1, task: 4, arrived: at(0.0), ended: None, requests: Vec::new() },
        ];
        let mut page = Page::new(80);
        assert!(write(&mut page, &Subject::new(&scenario, &result)));
        let text = page.into_text();
        let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["report", "5", "0.50,", "1.00", "200", "done", "7.50", "s"]);
        assert_eq!(rows[1], ["live", "0", "–", "not", "over"]);
        assert!(!write(&mut Page::new(40), &Subject::new(&scenario, &result)), "no room for a table");
    }

    #[test]
    fn waits_without_room_are_cut_and_say_so() {
        let waits: Vec<String> = ["0.40", "0.85", "1.84"].map(str::to_owned).into();
        let shown = [20, 13, 8, 3, 0].map(|room| elided(&waits, room));
        assert_eq!(shown, ["0.40, 0.85, 1.84", "0.40, 0.85, …", "0.40, …", "…", ""]);
    }
}
