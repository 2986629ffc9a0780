//! Warnings about who waits for what a client does, and about bursts.

use super::class::{ClassExplanation, by_client};
use super::concurrency;
use super::ladder::attempts_bound;
use super::layer::hint_bound;
use super::load::burst;
use super::remedy::Remedy;
use super::service;
use super::sla::{self, SHARE_OF_SLA, at_most};
use super::step_settings::StepSettings;
use super::warning::{Code, Warning};
use super::words;
use crate::policy::{Client, Element, Mechanism, RetryPolicy, Timeouts};
use crate::scenario::Scenario;
use crate::units::SimDuration;

/// Attempts that someone who waits can bear; more belong into a queue.
const ATTEMPTS_WHILE_SOMEONE_WAITS: u64 = 3;
/// Calls at one instant that providers usually bear; with a dozen, published reports already meet refusals.
const AT_ONCE: u64 = 10;

/// All warnings about the classes.
pub fn warnings(scenario: &Scenario, classes: &[ClassExplanation]) -> Vec<Warning> {
    let mut all = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let traffic = &scenario.traffic[index];
        let clients = by_client(scenario, traffic);
        for (part, (client, steps)) in class.parts().zip(&clients) {
            let mut found = Vec::new();
            if class.someone_waits() {
                found.extend(unbounded_hints(scenario, part, client));
                found.extend(too_many_attempts(part, client));
            }
            found.extend(timeout_below_latency(scenario, index, client, steps));
            let of_step = StepSettings::of(scenario, traffic, steps[0]);
            all.extend(found.into_iter().map(|warning| of_step.place(warning)));
        }
        let Some((client, steps)) = clients.first() else { continue };
        let of_step = StepSettings::of(scenario, traffic, steps[0]);
        all.extend(sla::at_risk(scenario, index, class, client).map(|warning| of_step.place(warning)));
        all.extend(fan_out(scenario, index, &clients));
    }
    all
}

/// The layers that can repeat something, outermost first.
fn repeating(client: &Client) -> impl Iterator<Item = (&Element, &RetryPolicy)> {
    let policies = client.elements().iter().rev().filter_map(|element| Some((element, element.role.policy()?)));
    policies.filter(|(element, policy)| attempts_bound(policy) != Some(1) && !element.role.is_fallback())
}

fn unbounded_hints(scenario: &Scenario, class: &ClassExplanation, client: &Client) -> Vec<Warning> {
    let unbounded = repeating(client).filter(|(_, policy)| hint_bound(policy).is_none());
    let wish = class.sla.map_or(SimDuration::from_secs(10), |sla| at_most(sla.scaled(SHARE_OF_SLA / 2.0)));
    // Below the least that a limit asks for, every refusal would be final.
    let least = scenario
        .provider
        .limits
        .iter()
        .filter_map(|limit| limit.hint.map(|form| form.hint(SimDuration::from_nanos(1))));
    let cap = least.map(service::at_least).fold(wish, SimDuration::max);
    let warn = |(element, _): (&Element, &RetryPolicy)| {
        let message =
            format!("someone waits for each {}, and `{}` obeys whatever retry-after says", class.task(), element.name);
        let value = format!("{{ obey = {{ cap = \"{cap}\", above = \"give_up\" }} }}");
        Warning::set(Code::UnboundedHint, message, Remedy::key(client, element, "hint", &value))
    };
    unbounded.map(warn).collect()
}

fn too_many_attempts(class: &ClassExplanation, client: &Client) -> Option<Warning> {
    let attempts = class.step_worst.per_call_site;
    if attempts.is_some_and(|attempts| attempts <= ATTEMPTS_WHILE_SOMEONE_WAITS) {
        return None;
    }
    let (element, policy) = repeating(client).next()?;
    let inside = attempts.zip(attempts_bound(policy)).map(|(all, own)| (all / own).max(1));
    let allowed = inside.map_or(1, |inside| (ATTEMPTS_WHILE_SOMEONE_WAITS / inside).max(1));
    let number = attempts.map_or("attempts without end".into(), |n| words::counted(n, "attempt"));
    let message = format!(
        "someone waits for each {} through {number}; more than {ATTEMPTS_WHILE_SOMEONE_WAITS} belong into a queue",
        class.task()
    );
    Some(Warning::set(Code::TooManyAttempts, message, Remedy::attempts(client, element, allowed)))
}

/// A timeout in which not even half of the requests of a step are answered, when nothing is wrong.
fn timeout_below_latency(scenario: &Scenario, index: usize, client: &Client, steps: &[usize]) -> Option<Warning> {
    let class = &scenario.traffic[index];
    let step = steps.iter().map(|step| &class.steps[*step]).max_by_key(|step| service::usual(step))?;
    let travel = service::travel(&scenario.provider);
    let usual = service::usual(step) + travel.0;
    // A stream that flows is cut by nothing but a limit over all of it.
    let until_there = |timeouts: &Timeouts| match step.first_token {
        Some(_) => timeouts.total,
        None => timeouts.until_answered(),
    };
    let timeout = until_there(&client.patience().timeouts)?;
    if timeout > usual {
        return None;
    }
    let holds = |element: &&Element| element.role.policy().and_then(|p| until_there(&p.timeout)) == Some(timeout);
    let element = client.elements().iter().find(holds)?;
    let message = format!(
        "step `{}` of {} usually takes {}, and `{}` gives up on a request after {}: most that nothing is wrong with fail",
        step.name,
        class.name,
        words::duration(usual),
        element.name,
        words::duration(timeout)
    );
    let least = service::at_least(service::slow(step) + travel.1);
    let timeouts = element.role.policy().map(|policy| policy.timeout).unwrap_or_default();
    let key = match timeouts.alike() {
        Some(_) => "timeout",
        None if timeouts.total == Some(timeout) => "timeout.total",
        None => "timeout.read",
    };
    let remedy = Remedy::key(client, element, key, &format!("\"{least}\""));
    Some(Warning::set(Code::TimeoutBelowLatency, message, remedy).and("or more"))
}

fn fan_out(scenario: &Scenario, index: usize, clients: &[(&Client, Vec<usize>)]) -> Option<Warning> {
    let class = &scenario.traffic[index];
    let at_once = burst(class);
    let is_pacer = |guard: usize| matches!(scenario.guards[guard].mechanism, Mechanism::Pacer(_));
    let paced = |client: &Client| client.elements().iter().filter_map(|element| element.role.guard()).any(is_pacer);
    let (client, _) = clients.iter().find(|(client, _)| !paced(client))?;
    if at_once <= AT_ONCE || concurrency::at_once(scenario, class).is_some_and(|most| most < at_once) {
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
            hint: format!("add an element with a pacer or a semaphore as guard to `{path}`"),
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
        // By hand: 6 · 600 s + 2 · 1.5 s + 2 s = 1 h and 5 s.
        assert!(
            warnings[2].message.contains("6 × 10 min timeout and 5 s of waits are 60.1 min"),
            "{}",
            warnings[2].message
        );
    }

    #[test]
    fn a_class_that_is_called_after_its_tasks_says_so_once() {
        let mut scenario = incident(false);
        scenario.traffic.iter_mut().filter(|class| class.is_live()).for_each(|class| class.name = "turn".into());
        let starts: Vec<String> = of(&scenario).into_iter().map(|warning| warning.message).collect();
        assert!(starts[0].starts_with("someone waits for each turn, and"), "{}", starts[0]);
        assert!(starts[1].starts_with("someone waits for each turn through 6 attempts"), "{}", starts[1]);
        assert!(starts[2].starts_with("a turn is wanted within"), "{}", starts[2]);
    }

    #[test]
    fn a_cap_on_hints_is_not_below_what_the_limit_asks_for() {
        // By hand: 70 % of 30 s, halved, is 10 s; a limit that asks for at least 20 s would refuse for good below that.
        let mut scenario = incident(false);
        let hint = |scenario: &Scenario| of(scenario).remove(0).hint;
        assert!(hint(&scenario).contains("cap = \"10s\""), "{}", hint(&scenario));
        if let Some(form) = &mut scenario.provider.limits[0].hint {
            form.minimum = SimDuration::from_secs(20);
        }
        assert!(hint(&scenario).contains("cap = \"20s\""), "{}", hint(&scenario));
    }

    #[test]
    fn a_timeout_in_the_middle_of_a_steps_answers_is_warned_about() {
        let mut scenario = incident(true);
        let hint = HintRule::Obey { cap: SimDuration::from_secs(5), above: AboveCap::GiveUp, jittered: false };
        let policy = RetryPolicy { hint, timeout: Timeouts::each(SimDuration::from_secs(2)), ..sdk(2) };
        scenario.clients[1] = client("live", vec![inner("sdk", policy)]);
        let warnings = of(&scenario);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].code, Code::TimeoutBelowLatency);
        assert_eq!(
            warnings[0].message,
            "step `turn` of live usually takes 2 s, and `sdk` gives up on a request after 2 s: most that nothing is \
             wrong with fail"
        );
        assert_eq!(warnings[0].hint, "set `clients.live.layers.sdk.timeout = \"10s\"` or more");
    }

    #[test]
    fn a_bounded_live_client_draws_no_warning() {
        let mut scenario = incident(true);
        let hint = HintRule::Obey { cap: SimDuration::from_secs(5), above: AboveCap::GiveUp, jittered: false };
        let policy = RetryPolicy { hint, timeout: Timeouts::each(SimDuration::from_secs(9)), ..sdk(2) };
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
