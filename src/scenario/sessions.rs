//! Reading closed loops.

use super::check::is_often_instant;
use super::distribution::{Measure, distribution};
use crate::document::{Field, Reader};
use crate::provider::Window;
use crate::random::Distribution;
use crate::traffic::Sessions;
use crate::units::SimDuration;

/// The most sessions of a loop.
const MOST: u64 = 1_000_000;

/// The keys of a closed loop beside `sessions`, `from` and `until`.
pub(super) const KEYS: [&str; 4] = ["think", "start", "tasks", "rest"];

/// Reads the loop that `sessions = …` begins.
pub(super) fn sessions(field: &Field<'_>, reader: &Reader<'_>, window: Option<Window>) -> Option<Sessions> {
    let count = field.whole(1..=MOST);
    let hint = r#"write how long a session thinks, such as { exponential = { mean = "20s" } }"#;
    let think = reader.need("think", hint).and_then(|field| time(&field));
    let start = reader.or("start", (SimDuration::ZERO, false), start);
    let tasks = reader.maybe("tasks", |field| {
        let tasks = distribution(field, Measure::Tokens)?;
        if tasks.mean() < 1.0 {
            return field.must("be at least 1", "write how many tasks a session has, such as 5");
        }
        Some(tasks)
    });
    let rest = reader.maybe("rest", |field| {
        if reader.get("tasks").is_none() {
            return field
                .wrong("comes after the last task of a session, and its tasks have no end", "write `tasks`, too");
        }
        time(field)
    });
    let (count, think, (over, at_once)) = (count?, think?, start?);
    let (tasks, rest, window) = (tasks?, rest?, window?);
    Some(Sessions { count: count as u32, think, window, over, at_once, tasks, rest })
}

/// A time that passes between two tasks. Without it, a session whose tasks fail at once would bring them for ever at one
/// instant.
fn time(field: &Field<'_>) -> Option<Distribution> {
    let time = distribution(field, Measure::Seconds)?;
    if is_often_instant(&time) {
        return field.must("take time", r#"write at least "1ms", also of sessions that hardly think"#);
    }
    Some(time)
}

/// Over how long sessions begin, and whether each begins with a task.
fn start(field: &Field<'_>) -> Option<(SimDuration, bool)> {
    let reader = field.table("how sessions begin")?;
    let over = reader.or("over", SimDuration::ZERO, Field::duration);
    let words = [("think", false), ("task", true)];
    let first = reader.or("first", false, |field| field.word(&words));
    reader.finish();
    Some((over?, first?))
}
