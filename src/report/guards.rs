//! A guard that did something changed the run as much as a retry did. What each one did stands in every
//! report; one that never acted is not mentioned.

use crate::policy::Mechanism;

use super::quantity::{TimeUnit, Unit};
use super::story::Subject;

/// A sentence for each guard that acted, without a full stop.
pub fn guards(subject: &Subject<'_>) -> Vec<String> {
    subject
        .scenario
        .guards
        .iter()
        .filter_map(|guard| {
            let figure = |key| subject.figure(&["guards", &guard.name, key]);
            let number = |key| figure(key).and_then(crate::experiment::Figure::center).filter(|n| *n > 0.0);
            let counted = |key, one: &str, many: &str| {
                number(key).map(|n| format!("{} {}", Unit::Count.brief(figure(key)), if n == 1.0 { one } else { many }))
            };
            let mut did = Vec::new();
            did.extend(counted("trips", "time", "times").map(|times| format!("opened {times}")));
            if let (Some(times), Some(closed)) = (counted("closings", "time", "times"), number("closed_s")) {
                did.push(format!("closed {times}, for {} in all", Unit::Time(TimeUnit::of(closed)).full(closed)));
            }
            for deployment in guard.deployments().iter().flat_map(|choice| &choice.to) {
                let figure = |key| subject.figure(&["guards", &guard.name, "deployments", &deployment.model, key]);
                let center = |key| figure(key).and_then(crate::experiment::Figure::center).filter(|n| *n > 0.0);
                if let Some(times) = center("cooled") {
                    let (cooled, picked) = (Unit::Count.brief(figure("cooled")), Unit::Count.brief(figure("picked")));
                    let times = if times == 1.0 { "time" } else { "times" };
                    did.push(format!("left `{}` out {cooled} {times} of {picked} picks", deployment.model));
                }
            }
            did.extend(counted("refused", "call", "calls").map(|calls| format!("refused {calls}")));
            if let (Some(waits), Some(n), Some(waited)) =
                (counted("waits", "wait", "waits"), number("waits"), number("waited_s"))
            {
                let full = |seconds: f64| Unit::Time(TimeUnit::of(seconds)).full(seconds);
                did.push(format!("caused {waits} of {} on average, {} in all", full(waited / n), full(waited)));
            }
            // A number without news by itself: it says how much of what was there was used.
            if let (false, Mechanism::Semaphore(semaphore)) = (did.is_empty(), &guard.mechanism) {
                let most = Unit::Count.brief(figure("most_in_use"));
                let what = if semaphore.is_pool { "connections" } else { "permits" };
                did.push(format!(
                    "had {most} of {} {what} out at once",
                    Unit::Count.full(f64::from(semaphore.permits))
                ));
            }
            if let (false, Mechanism::Concurrency(_)) = (did.is_empty(), &guard.mechanism) {
                let limit = |key| Unit::Count.brief(figure(key));
                let (lowest, highest) = (limit("lowest_limit"), limit("highest_limit"));
                did.push(format!("had a limit of {lowest} to {highest}, {} at the end", limit("limit_at_end")));
            }
            if let (Some(lowest), Some(at_end)) = (number("lowest_rate"), number("rate_at_end")) {
                did.push(format!("had a rate of {lowest:.1}/s at the lowest, {at_end:.1}/s at the end"));
            }
            let kind = match guard.mechanism {
                Mechanism::Size(_) => "size check",
                Mechanism::Breaker(_)
                | Mechanism::Pacer(_)
                | Mechanism::Semaphore(_)
                | Mechanism::Throttle(_)
                | Mechanism::Gate(_)
                | Mechanism::Deployments(_) => guard.mechanism.word(),
                Mechanism::Concurrency(_) => "adaptive limit",
                Mechanism::Rate(_) => "adaptive rate",
            };
            let mean = if subject.is_replicated() { ", means over the runs" } else { "" };
            (!did.is_empty()).then(|| format!("{} {}{mean}", named(kind, &guard.name), did.join(", ")))
        })
        .collect()
}

/// "breaker `main`"; a guard that is called after its kind says it once.
fn named(kind: &str, name: &str) -> String {
    if name == kind { format!("`{name}`") } else { format!("{kind} `{name}`") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Figure;
    use crate::explain::fixture::incident;
    use crate::metrics::{Number, Tree};
    use crate::policy::{Semaphore, WhenFull};
    use crate::report::fixture;

    #[test]
    fn what_guards_did_is_said_and_idle_ones_are_not_mentioned() {
        let (mut scenario, mut result) = (incident(true), fixture::single());
        let number = |value| Tree::Leaf(Figure::One(Number::real(value)));
        let table = |all: [(&str, f64); 4]| {
            Tree::Table(all.into_iter().map(|(name, value)| (name.to_owned(), number(value))).collect())
        };
        let breaker = table([("trips", 12.0), ("refused", 1.0), ("waits", 0.0), ("waited_s", 0.0)]);
        let pacer = table([("trips", 0.0), ("refused", 0.0), ("waits", 90.0), ("waited_s", 180.0)]);
        result.figures = Tree::Table(vec![(
            "guards".to_owned(),
            Tree::Table(vec![("share".to_owned(), pacer), ("breaker".to_owned(), breaker)]),
        )]);
        assert_eq!(
            guards(&Subject::new(&scenario, &result)),
            [
                "pacer `share` caused 90 waits of 2 s on average, 3 min in all",
                "`breaker` opened 12 times, refused 1 call",
            ]
        );
        // Of a semaphore it stands there how much of it was in use.
        let semaphore = Semaphore { permits: 10, when_full: WhenFull::Reject, line: None, is_pool: true };
        scenario.guards[0].mechanism = Mechanism::Semaphore(semaphore);
        let pool = table([("trips", 0.0), ("refused", 7.0), ("waits", 0.0), ("most_in_use", 10.0)]);
        result.figures = Tree::Table(vec![("guards".to_owned(), Tree::Table(vec![("share".to_owned(), pool)]))]);
        assert_eq!(
            guards(&Subject::new(&scenario, &result)),
            ["pool `share` refused 7 calls, had 10 of 10 connections out at once"]
        );
        result.figures = Tree::Table(Vec::new());
        assert_eq!(guards(&Subject::new(&scenario, &result)), Vec::<String>::new());
    }
}
