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

/// The waits after failures.
fn waits(track: &Track) -> Vec<String> {
    let pairs = track.requests.iter().zip(track.requests.iter().skip(1));
    let failed = pairs.filter(|(before, _)| !before.answer.is_delivered());
    failed.map(|(before, next)| format!("{:.2}", next.sent.as_secs_f64() - before.ended.as_secs_f64())).collect()
}

/// As many as there is room for.
fn elided(waits: &[String], room: usize) -> String {
    let shown = |n: usize| if n == waits.len() { waits.join(", ") } else { format!("{}, …", waits[..n].join(", ")) };
    (0..=waits.len()).rev().map(shown).find(|text| text.chars().count() <= room).unwrap_or_default()
}

/// The last answer and the end.
fn end(track: &Track) -> String {
    let last = track.requests.last().map_or_else(|| "–".to_owned(), |sent| answered(&sent.answer));
    let fate = match track.ended {
        Some((at, fate)) => {
            let after = at.as_secs_f64() - track.arrived.as_secs_f64();
            format!("{} {after:.2} s", if fate == Fate::Delivered { "done" } else { "failed" })
        }
        None => "not over".to_owned(),
    };
    format!("{} {fate}", left(&last, 13))
}
