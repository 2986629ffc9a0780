//! Warnings about who waits for what a client does, and about bursts.

use super::class::ClassExplanation;
use super::ladder::attempts_bound;
use super::layer::hint_bound;
use super::load::burst;
use super::remedy::Remedy;
use super::warning::{Code, Warning};
use super::words;
use crate::policy::{Client, Element, Mechanism, RetryPolicy, Role};
use crate::scenario::Scenario;
use crate::units::SimDuration;

/// Attempts that someone who waits can bear; more belong into a queue.
const ATTEMPTS_WHILE_SOMEONE_WAITS: u64 = 3;
/// The share of the stated time that attempts and waits may take: the rest is for the caller's own work.
const SHARE_OF_SLA: f64 = 0.7;
/// Calls at one instant that providers usually bear; with a dozen, published reports already meet refusals.
const AT_ONCE: u64 = 10;

/// All warnings about the classes.
pub fn warnings(scenario: &Scenario, classes: &[ClassExplanation]) -> Vec<Warning> {
    let mut all = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let client = scenario.client_of(&scenario.traffic[index]);
        if class.someone_waits() {
            all.extend(unbounded_hints(class, client));
            all.extend(too_many_attempts(class, client));
        }
        all.extend(sla_at_risk(class, client));
        all.extend(fan_out(scenario, index, client));
    }
    all
}

/// The layers that can repeat something, outermost first.
fn repeating(client: &Client) -> impl Iterator<Item = (&Element, &RetryPolicy)> {
    let policies = client.elements().iter().rev().filter_map(|element| Some((element, element.role.policy()?)));
    policies.filter(|(_, policy)| attempts_bound(policy) != Some(1))
}

fn unbounded_hints(class: &ClassExplanation, client: &Client) -> Vec<Warning> {
    let unbounded = repeating(client).filter(|(_, policy)| hint_bound(policy).is_none());
    let cap = class.sla.map_or(SimDuration::from_secs(10), |sla| at_most(sla.scaled(SHARE_OF_SLA / 2.0)));
    let warn = |(element, _): (&Element, &RetryPolicy)| {
        let message = format!(
            "someone waits for each {} {}, and `{}` obeys whatever retry-after says",
            class.name,
            class.task_noun(),
            element.name
        );
        let value = format!("{{ obey = {{ cap = \"{cap}\", above = \"give_up\" }} }}");
        Warning::set(Code::UnboundedHint, message, Remedy::key(client, element, "hint", &value))
    };
    unbounded.map(warn).collect()
}

fn too_many_attempts(class: &ClassExplanation, client: &Client) -> Option<Warning> {
    let attempts = class.worst.per_call_site;
    if attempts.is_some_and(|attempts| attempts <= ATTEMPTS_WHILE_SOMEONE_WAITS) {
        return None;
    }
    let (element, policy) = repeating(client).next()?;
    let inside = attempts.zip(attempts_bound(policy)).map(|(all, own)| all / own);
    let allowed = inside.map_or(1, |inside| (ATTEMPTS_WHILE_SOMEONE_WAITS / inside).max(1));
    let number = attempts.map_or("attempts without end".into(), |n| words::counted(n, "attempt"));
    let message = format!(
        "someone waits for each {} {} through {number}; more than {ATTEMPTS_WHILE_SOMEONE_WAITS} belong into a queue",
        class.name,
        class.task_noun()
    );
    Some(Warning::set(Code::TooManyAttempts, message, Remedy::attempts(client, element, allowed)))
}

fn sla_at_risk(class: &ClassExplanation, client: &Client) -> Option<Warning> {
    let sla = class.sla?;
    let innermost = client.elements().iter().find(|element| element.role.policy().is_some())?;
    let (requests, waits) = (class.task_course.requests, class.task_course.waits().to);
    let limit = sla.scaled(SHARE_OF_SLA);
    let wall = class.task_course.wall.to;
    if wall <= limit {
        return None;
    }
    let what = match class.timeout {
        None => "its requests have no timeout".into(),
        Some(timeout) => format!(
            "{} × {} timeout and {} of waits are {}, above 70 %",
            words::bound(requests),
            words::duration(timeout),
            words::duration(waits),
            words::duration(wall)
        ),
    };
    let task = format!("{} {}", words::article(&class.name), class.task_noun());
    let message = format!("{task} is wanted within {}: {what}", words::duration(sla));
    let room = requests.map(|requests| limit.saturating_sub(waits).scaled(1.0 / requests as f64));
    // With less than a tenth of a second for each attempt no timeout helps, only fewer attempts do.
    let fewer = room.is_none_or(|room| room < SimDuration::from_millis(100));
    let remedy = if let Some((element, _)) = repeating(client).next().filter(|_| fewer) {
        Remedy::attempts(client, element, 1)
    } else {
        Remedy::key(client, innermost, "timeout", &format!("\"{}\"", at_most(room.unwrap_or(limit))))
    };
    Some(Warning::set(Code::SlaAtRisk, message, remedy))
}

/// A duration cut to whole seconds, below one to whole tenths, at least one of these.
fn at_most(time: SimDuration) -> SimDuration {
    let second = SimDuration::from_secs(1);
    let step = if time >= second { second } else { SimDuration::from_millis(100) };
    step.times((time.as_nanos() / step.as_nanos()).max(1))
}

fn fan_out(scenario: &Scenario, index: usize, client: &Client) -> Option<Warning> {
    let class = &scenario.traffic[index];
    let at_once = burst(class);
    let paced = client.elements().iter().any(|element| match element.role {
        Role::Guard(guard) => matches!(scenario.guards[guard].mechanism, Mechanism::Pacer(_)),
        Role::Retry(_) | Role::Queue(..) => false,
    });
    if at_once <= AT_ONCE || paced {
        return None;
    }
    let message = format!(
        "{} begin at the same instant and nothing limits how many are in flight",
        words::counted(at_once, &format!("{} {}", class.name, if class.is_live() { "turn" } else { "job" }))
    );
    Some(if class.is_live() {
        let path = format!("clients.{}.layers", client.name);
        Warning {
            code: Code::FanOutWithoutLimit,
            message,
            hint: format!("add an element with a pacer as guard to `{path}`"),
            path,
        }
    } else {
        let path = format!("traffic.{}.workers", class.name);
        Warning::set(Code::FanOutWithoutLimit, message, Remedy { path, value: AT_ONCE.to_string() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{client, incident, inner, minute, sdk};
    use crate::explain::{ClassExplanation, explain};
    use crate::policy::HintRule;
    use crate::policy::hint::AboveCap;
    use crate::traffic::ArrivalProcess;

    fn of(scenario: &Scenario) -> Vec<Warning> {
        let classes: Vec<ClassExplanation> = explain(scenario).classes;
        warnings(scenario, &classes)
    }

    #[test]
    fn a_live_class_with_two_layers_and_a_long_timeout_is_warned_about() {
        let warnings = of(&incident(false));
        let codes: Vec<Code> = warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, [Code::UnboundedHint, Code::TooManyAttempts, Code::SlaAtRisk]);
        // By hand: 2 · 3 = 6 attempts; one layer of 3 stays within 3, so the outer one gets 1.
        assert!(warnings[1].message.contains("6 attempts"), "{}", warnings[1].message);
        assert_eq!(warnings[1].hint, "set `clients.live.layers.app.max_attempts = 1`");
        // By hand: 6 · 600 s + 2 · 1.5 s + 2 s = 1 h and 5 s; (21 − 5) / 6 = 2.67 s are left for each attempt.
        assert!(
            warnings[2].message.contains("6 × 10 min timeout and 5 s of waits are 60.1 min"),
            "{}",
            warnings[2].message
        );
        assert_eq!(warnings[2].hint, "set `clients.live.layers.sdk.timeout = \"2s\"`");
    }

    #[test]
    fn a_bounded_live_client_draws_no_warning() {
        let mut scenario = incident(true);
        let hint = HintRule::Obey { cap: SimDuration::from_secs(5), above: AboveCap::GiveUp, jittered: false };
        let policy = RetryPolicy { hint, timeout: Some(SimDuration::from_secs(9)), ..sdk(2) };
        scenario.clients[1] = client("live", vec![inner("sdk", policy)]);
        // By hand: 2 · 9 + 0.5 = 18.5 s, below 70 % of 30 s.
        assert_eq!(of(&scenario), []);
    }

    #[test]
    fn only_a_burst_that_nothing_holds_back_is_a_fan_out() {
        let mut scenario = incident(false);
        let fan_outs = |scenario: &Scenario| {
            of(scenario).into_iter().filter(|w| w.code == Code::FanOutWithoutLimit).map(|w| w.path).collect::<Vec<_>>()
        };
        scenario.traffic[0].arrivals = vec![ArrivalProcess::At(vec![minute(1); 50])];
        assert_eq!(fan_outs(&scenario), Vec::<String>::new());
        scenario.traffic[1].arrivals = vec![ArrivalProcess::At(vec![minute(1); 50])];
        assert_eq!(fan_outs(&scenario), ["clients.live.layers"]);
        scenario.traffic[1].arrivals = vec![ArrivalProcess::At(vec![minute(1); 10])];
        assert_eq!(fan_outs(&scenario), Vec::<String>::new());
    }
}
