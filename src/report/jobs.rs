//! What happened to jobs that are followed one by one, and to workers that classes share. What did not happen is not
//! mentioned.

use super::quantity::{TimeUnit, Unit};
use super::story::{Scope, Subject};
use crate::experiment::Figure;

/// For each class whose messages came back or whose runs did not come to their end a sentence without a full stop.
pub fn deliveries(subject: &Subject<'_>) -> Vec<String> {
    let classes = &subject.scenario.traffic;
    let sentence = |name: &str| {
        let figure = |key: &str| subject.of(Scope::Whole, name, &["delivery", key]);
        let said = |key: &str, what: &str| {
            figure(key).and_then(Figure::center).filter(|n| *n > 0.0)?;
            Some(what.replace("{}", &Unit::Count.brief(figure(key))))
        };
        let said = [
            said("copies", "copies of messages that had been begun before: {}"),
            said("most_copies", "of one job at once: {} at most").filter(|_| said("copies", "").is_some()),
            said("wasted_runs", "runs for nothing: {}"),
            said("copies_left", "not drained, copies of finished jobs at the end: {}"),
            said("timed_out_runs", "runs killed by their time limit: {}"),
            said("crashed_runs", "runs that died with their worker: {}"),
            said("dead", "jobs whose message was not put back any more: {}"),
            said("lost", "jobs lost with their worker: {}"),
            held(subject, name),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        let name = if classes.len() > 1 { format!("{name}: ") } else { String::new() };
        (!said.is_empty()).then(|| format!("{name}{}{}", said.join("; "), mean(subject)))
    };
    classes.iter().filter_map(|class| sentence(&class.name)).collect()
}

/// How often and for how long the queue of a class was held by jobs that met a limit.
fn held(subject: &Subject<'_>, name: &str) -> Option<String> {
    let figure = |key: &str| subject.of(Scope::Whole, name, &["queue_holds", key]);
    let seconds = figure("held_s").and_then(Figure::center).filter(|seconds| *seconds > 0.0)?;
    let time = Unit::Time(TimeUnit::of(seconds)).full(seconds);
    Some(format!("the queue was held {time} by jobs that met a limit, {} of them", Unit::Count.brief(figure("times"))))
}

/// For each pool of workers a sentence without a full stop.
pub fn pools(subject: &Subject<'_>) -> Vec<String> {
    let sentence = |name: &str| {
        let figure = |key| subject.figure(&["workers", name, key]);
        let number = |key| figure(key).and_then(Figure::center);
        let (busy, idle, down) = (number("busy_s")?, number("idle_s")?, number("down_s")?);
        let (most, fewest) = (number("most")?, number("fewest")?);
        let workers = if most == fewest {
            format!("workers: {}", Unit::Count.brief(figure("most")))
        } else {
            format!("workers: {} to {}", Unit::Count.brief(figure("fewest")), Unit::Count.brief(figure("most")))
        };
        let share = if busy + idle > 0.0 { 100.0 * busy / (busy + idle) } else { 0.0 };
        let full = |seconds: f64| Unit::Time(TimeUnit::of(seconds)).full(seconds);
        let crashes = number("crashes").filter(|n| *n > 0.0).map_or_else(String::new, |_| {
            format!("; deaths: {}, which cost {}", Unit::Count.brief(figure("crashes")), full(down))
        });
        Some(format!("{name}: {workers}, {share:.0} % of their time with a job{crashes}{}", mean(subject)))
    };
    subject.scenario.pools.iter().filter_map(|pool| sentence(&pool.name)).collect()
}

fn mean(subject: &Subject<'_>) -> &'static str {
    if subject.is_replicated() { ", means over the runs" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{self, Terms};
    use crate::random::Seed;
    use crate::scenario::{Source, load};

    #[test]
    fn what_came_back_is_said_and_what_is_left() {
        // By hand: the copy that is put back at 3 s waits behind the run of 10 s, on the only worker, and so on: three
        // begin before 30 s, the third of them runs at 25 s, and one more waits behind it.
        let text = r#"
            horizon = "25s"
            clients.plain.layers = []
            workers.shared = { count = 1 }
            [traffic.job]
            kind = "jobs"
            client = "plain"
            workers = "shared"
            queue = { acknowledge = "late", visibility = "3s" }
            arrivals = { at = ["0s"] }
            steps = [{ name = "ask", input_tokens = 1, latency = "10s" }]
        "#;
        let scenario = load(&Source::new("x.toml", text)).unwrap();
        let never = std::sync::atomic::AtomicBool::new(false);
        let result = experiment::run(&scenario, Seed(1), None, None, Terms::new(&never)).unwrap();
        let subject = Subject::new(&scenario, &result);
        assert_eq!(
            deliveries(&subject),
            [
                "copies of messages that had been begun before: 2; of one job at once: 1 at most; runs for nothing: 1; not \
              drained, copies of finished jobs at the end: 2"
            ]
        );
        assert_eq!(pools(&subject), ["shared: workers: 1, 100 % of their time with a job"]);
    }
}
