//! What beside retries a run may be about: a guard that refused most of what came, messages that were handed out again
//! while they still ran, jobs that went to a dead-letter queue.

use crate::explain::ladder::attempts_bound;
use crate::policy::{Client, Role};

use super::quantity::{Unit, count};
use super::story::{Scope, Story, Subject};
use super::words::{counted, readable, tasks};

/// From this share of what came to a guard on, the guard is the story.
const MOST: f64 = 0.5;

/// From this share of the provider's work on, work done twice is the story.
const MUCH: f64 = 0.1;

/// "`breaker` refused 14,852 of 16,519 turns in the rollout", of the guard that refused the most, where it is at least half
/// of what came to it.
pub(super) fn refused(subject: &Subject<'_>, story: &Story<'_>) -> Option<String> {
    let elements = subject.scenario.clients_of(story.cause).flat_map(Client::elements);
    let of = |name: &str, key| story.value(subject, &["layers", name, key]).unwrap_or(0.0);
    let guards = elements.filter_map(|element| Some((element.name.as_str(), element.role.guard()?)));
    let (name, guard) = guards.max_by(|a, b| of(a.0, "refused").total_cmp(&of(b.0, "refused")))?;
    let came = of(name, "entered");
    if of(name, "refused") <= 0.0 || of(name, "refused") < MOST * came {
        return None;
    }
    // Without anything outside that tries again, and with one step, a call is a task.
    let offered = story.value(subject, &["offered"])?;
    let whole = |n: f64| n.round();
    let all = if whole(came) == whole(offered) {
        counted(whole(came), story.cause)
    } else {
        format!("{} calls", count(whole(came)))
    };
    let number = Unit::Count.figure(story.figure(subject, &["layers", name, "refused"]));
    let verb = if subject.is_replicated() { "refuses" } else { "refused" };
    let place = match story.scope {
        Scope::Whole => String::new(),
        Scope::Phase(phase) => format!(" in the {}", readable(phase)),
    };
    Some(format!("`{}` {verb} {number} of {all}{place}", subject.scenario.guards[guard].name))
}

/// "messages of jobs that had been begun were handed out again 803 times, and 72 % of what the provider did it had done
/// before; 617 of 915 jobs were unfinished at the end", where that is more than the retries did.
pub(super) fn handed_out(subject: &Subject<'_>, story: &Story<'_>) -> Option<String> {
    let name = story.cause.name.as_str();
    let value = |keys: &[&str]| subject.value(Scope::Whole, name, keys);
    let elements = subject.scenario.clients_of(story.cause).flat_map(Client::elements);
    let mut names: Vec<&str> = elements.map(|element| element.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let retries: f64 = names.iter().filter_map(|layer| value(&["layers", layer, "retries"])).sum();
    let copies = value(&["delivery", "copies"]).filter(|copies| *copies > retries)?;
    let (repeated, all) = (value(&["repeated_effects"])?, value(&["effects"])?);
    if all <= 0.0 || repeated < MUCH * all {
        return None;
    }
    let is_present = subject.is_replicated();
    let times = Unit::Count.figure(subject.of(Scope::Whole, name, &["delivery", "copies"]));
    let times = if copies.round() == 1.0 { "once".to_owned() } else { format!("{times} times") };
    let (were, does, had) = if is_present { ("are", "does", "has") } else { ("were", "did", "had") };
    let share = Unit::Share.full(repeated / all);
    let said = format!(
        "messages of {} that {} been begun {were} handed out again {times}, and {share} of what the provider {does} it {had} \
         done before",
        tasks(story.cause),
        if is_present { "have" } else { "had" },
    );
    let (unfinished, offered) = (value(&["unfinished"])?, value(&["offered"])?);
    if unfinished >= MUCH * offered {
        let number = Unit::Count.figure(subject.of(Scope::Whole, name, &["unfinished"]));
        let end = if is_present { "are unfinished at the end" } else { "were unfinished at the end" };
        return Some(format!("{said}; {number} of {} {end}", counted(offered.round(), story.cause)));
    }
    Some(said)
}

/// Whether the jobs that failed went to a dead-letter queue, all of them.
pub(super) fn are_dead_letters(subject: &Subject<'_>, story: &Story<'_>) -> bool {
    let value = |keys: &[&str]| story.value(subject, keys).unwrap_or(0.0);
    // Only of SQS it is known that a message that was received too often goes there.
    let queues = subject.scenario.clients_of(story.cause).flat_map(Client::elements).filter(|element| {
        matches!(&element.role, Role::Queue(policy, _) if attempts_bound(policy).is_some())
            && element.preset.as_deref().is_some_and(|preset| preset.starts_with("sqs"))
    });
    let mut names: Vec<&str> = queues.map(|element| element.name.as_str()).collect();
    names.dedup();
    let dead: f64 = names.iter().map(|name| value(&["layers", name, "exhausted"])).sum();
    let failed = value(&["failed"]);
    failed > 0.0 && (dead + value(&["delivery", "dead"]) - failed).abs() < 0.5
}

#[cfg(test)]
mod tests {
    use super::super::finding::finding;
    use super::*;
    use crate::experiment::{self, Terms};
    use crate::random::Seed;
    use crate::scenario::{Source, load};

    /// The title of a run of tasks that take ten seconds each; of their class these keys are said.
    fn title(world: &str, class: &str, keys: &str) -> String {
        let step = r#"steps = [{ name = "ask", input_tokens = 1, latency = "10s" }]"#;
        let text = format!("{world}\n[traffic.{class}]\nclient = \"app\"\n{keys}\n{step}\n");
        let scenario = load(&Source::new("x.toml", &text)).unwrap_or_else(|refusal| panic!("{refusal:#?}"));
        let never = std::sync::atomic::AtomicBool::new(false);
        let result = experiment::run(&scenario, Seed(1), None, None, Terms::new(&never)).unwrap();
        finding(&Subject::new(&scenario, &result))
    }

    #[test]
    fn a_guard_that_refuses_most_is_named() {
        // By hand: one of the calls at 0 s passes, and the others are refused.
        let world = r#"
            horizon = "1h"
            guards.slots.semaphore = { permits = 1, when_full = "reject" }
            clients.app.layers = [{ guard = "slots" }]"#;
        let said = |at: &str| title(world, "turn", &format!("kind = \"turns\"\narrivals = {{ at = [{at}] }}"));
        assert_eq!(said(r#""0s", "0s", "0s""#), "`slots` refused 2 of 3 turns; 2 failed.");
        // One of three is not most of them.
        let third = said(r#""0s", "0s", "20s""#);
        assert!(!third.contains("slots") && third.contains("1 of 3 turns failed"), "{third}");
    }

    #[test]
    fn jobs_that_are_handed_out_again_while_they_run_are_the_story() {
        // By hand: the message comes back at 3 s, and its second copy runs from 10 s to 20 s, on the only worker; one more
        // copy of either begins before the end.
        let world = |horizon: &str| {
            format!("horizon = \"{horizon}\"\nclients.app.layers = []\nworkers.shared = {{ count = 1 }}")
        };
        let keys = |queue: &str| {
            format!("kind = \"jobs\"\nworkers = \"shared\"\narrivals = {{ at = [\"0s\"] }}\nqueue = {{ {queue} }}")
        };
        let late = keys(r#"acknowledge = "late", visibility = "3s""#);
        assert_eq!(
            title(&world("25s"), "job", &late),
            "Messages of jobs that had been begun were handed out again 2 times, and 50 % of what the provider did it had \
             done before."
        );
        let early = title(&world("25s"), "job", &keys(r#"acknowledge = "late", visibility = "30s""#));
        assert!(!early.contains("handed out"), "{early}");
    }

    #[test]
    fn jobs_in_the_dead_letter_queue_are_called_so() {
        // By hand: each message is received twice, and refused twice.
        let said = |queue: &str| {
            let world = format!(
                "horizon = \"1h\"\nclients.app.layers = [{{ name = \"queue\", {queue} }}]\n\
                 provider.faults.down.respond = {{ status = 503, after = \"1s\" }}"
            );
            title(&world, "job", "kind = \"jobs\"\nworkers = 2\narrivals = { at = [\"0s\", \"1m\"] }")
        };
        let before = "Without any fault window, one retry layer turned 2 requests into 4; ";
        let sqs = said(r#"preset = "sqs", maxReceiveCount = 2"#);
        assert_eq!(sqs, format!("{before}every one of 2 jobs became a dead letter."));
        let celery = said(r#"preset = "celery-5.7", max_retries = 1"#);
        assert_eq!(celery, format!("{before}every one of 2 jobs failed."));
    }
}
