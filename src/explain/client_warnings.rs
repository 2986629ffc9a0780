//! Warnings about how a client's elements stand to each other, whoever uses it.

use super::answers::{rejects, shown};
use super::course::product;
use super::ladder::{Ladder, attempts_bound};
use super::remedy::Remedy;
use super::warning::{Code, Warning};
use super::words;
use super::worst::unit;
use crate::policy::circuit_breaker::WhenOpen;
use crate::policy::stack::Resume;
use crate::policy::{Answer, Backoff, Client, Element, Jitter, Kind, Mechanism, RetryPolicy, Role};
use crate::scenario::Scenario;
use crate::units::SimDuration;

/// A queue that waits this long between runs is a second chance at another time, not one more layer of the same storm.
const SLOW_QUEUE: SimDuration = SimDuration::from_secs(60);

/// All warnings about the clients that some class uses, or that tests use.
pub fn warnings(scenario: &Scenario) -> Vec<Warning> {
    let used = |index: usize| scenario.traffic.iter().any(|class| class.client == index);
    let clients = scenario.clients.iter().enumerate().filter(|(index, client)| used(*index) || client.for_tests);
    clients.flat_map(|(index, client)| of_client(scenario, index, client)).collect()
}

fn of_client(scenario: &Scenario, index: usize, client: &Client) -> Vec<Warning> {
    let mut all = Vec::new();
    for (at, element) in client.elements().iter().enumerate() {
        let Some(policy) = element.role.policy().filter(|policy| attempts_bound(policy) != Some(1)) else { continue };
        all.extend(waits(scenario, index, client, element, policy));
        all.extend(nested(scenario, client, at, policy));
        all.extend(unspoken(client, element, policy));
        all.extend(in_tests(client, element, policy));
        all.extend(restart(scenario, index, client, element));
    }
    all.extend(breaker_spends_runs(scenario, client));
    all
}

/// Whether more than one execution of the client can be under way, so that they can fail together.
fn can_fail_together(scenario: &Scenario, index: usize) -> bool {
    let mut classes = scenario.traffic.iter().filter(|class| class.client == index);
    classes.any(|class| class.is_live() || class.workers() > 1)
}

/// Fixed waits without jitter, and no waits at all. A queue spreads its runs by itself.
fn waits(
    scenario: &Scenario,
    index: usize,
    client: &Client,
    element: &Element,
    policy: &RetryPolicy,
) -> Option<Warning> {
    if element.kind == Kind::Queue || !can_fail_together(scenario, index) {
        return None;
    }
    let name = &element.name;
    if Ladder::own(policy).total.to.is_zero() {
        let message = format!("`{name}` tries again at once, while the provider is still failing");
        return Some(Warning::set(Code::RetryAtOnce, message, Remedy::ladder(client, element)));
    }
    let (Backoff::Fixed(wait), Jitter::None) = (&policy.backoff, policy.jitter) else { return None };
    let wait = words::duration(*wait);
    let message = format!("`{name}` waits {wait} without jitter; callers that fail together retry together");
    let remedy = Remedy::key(client, element, "jitter", "\"full\"");
    Some(Warning::set(Code::FixedWaitWithoutJitter, message, remedy))
}

/// A layer that repeats what layers inside it have given up on.
fn nested(scenario: &Scenario, client: &Client, at: usize, policy: &RetryPolicy) -> Option<Warning> {
    let outer = &client.elements()[at];
    let slow = policy.own_wait(1).0 >= SLOW_QUEUE;
    if outer.kind == Kind::Queue && slow {
        return None;
    }
    let kinds = shown(&scenario.provider, &scenario.guards, client);
    let inner: Vec<(usize, &Element, &RetryPolicy)> = client.elements()[..at]
        .iter()
        .enumerate()
        .filter_map(|(place, element)| Some((place, element, element.role.policy()?)))
        .filter(|(_, _, inner)| attempts_bound(inner) != Some(1))
        .collect();
    let both = |answer: &Answer| {
        policy.retry_on.repeats(answer) && inner.iter().any(|(_, _, inner)| inner.retry_on.repeats(answer))
    };
    let common: Vec<String> =
        kinds.iter().filter(|kind| both(&kind.answer)).map(|kind| kind.word.replace('_', " ")).collect();
    if common.is_empty() {
        return None;
    }
    let attempts = |policy: &RetryPolicy, place: usize| {
        let number = attempts_bound(policy);
        format!("{} {}", words::bound(number), words::plural(number.unwrap_or(2), unit(client, place)))
    };
    let mut factors = vec![attempts(policy, at)];
    factors.extend(inner.iter().rev().map(|(place, _, inner)| attempts(inner, *place)));
    let all = inner.iter().fold(attempts_bound(policy), |all, (_, _, inner)| product(all, attempts_bound(inner)));
    let names: Vec<String> = inner.iter().rev().map(|(_, element, _)| format!("`{}`", element.name)).collect();
    let gave = if names.len() == 1 { "has" } else { "have" };
    let message = format!(
        "`{}` tries again what {} {gave} given up on ({}): {} = {}",
        outer.name,
        words::list(&names),
        words::list(&common),
        factors.join(" × "),
        words::bound(all),
    );
    let warning = match outer.kind {
        Kind::Queue => Warning::set(Code::NestedRetry, message, Remedy::slow_runs(client, outer))
            .and("so that a run is a chance at another time"),
        Kind::Client | Kind::Decorator => Warning::set(Code::NestedRetry, message, Remedy::off(client, outer))
            .and("and let one layer own the retries"),
    };
    Some(warning)
}

fn unspoken(client: &Client, element: &Element, policy: &RetryPolicy) -> Option<Warning> {
    let preset = element.preset.as_ref()?;
    element.unspoken.iter().find(|key| *key == "max_attempts")?;
    let attempts = attempts_bound(policy);
    let message = format!(
        "`{}` makes {} by the defaults of {preset}; the file does not say so",
        element.name,
        attempts.map_or_else(|| "attempts without end".into(), |attempts| words::counted(attempts, "attempt"))
    );
    let remedy = match attempts {
        Some(attempts) => Remedy::attempts(client, element, attempts),
        None => Remedy::key(client, element, "max_attempts", "\"unlimited\""),
    };
    Some(Warning::set(Code::UnspokenRetries, message, remedy).and("to say that it is meant"))
}

fn in_tests(client: &Client, element: &Element, policy: &RetryPolicy) -> Option<Warning> {
    let attempts = words::bound(attempts_bound(policy));
    client.for_tests.then(|| {
        let message = format!(
            "`{}` makes {attempts} attempts in a client for tests: a failure is slow to show, or stays hidden",
            element.name
        );
        Warning::set(Code::RetriesInTestClient, message, Remedy::attempts(client, element, 1))
    })
}

fn restart(scenario: &Scenario, index: usize, client: &Client, element: &Element) -> Option<Warning> {
    let Role::Queue(_, requeue) = &element.role else { return None };
    let class = scenario.traffic.iter().find(|class| class.client == index && class.steps.len() > 1)?;
    (requeue.resume == Resume::Restart).then(|| {
        let message = format!(
            "`{}` restarts {} job at step 1 of {}; finished steps are paid again",
            element.name,
            words::article(&class.name),
            class.steps.len()
        );
        let remedy = Remedy::key(client, element, "resume", "\"failed_step\"");
        Warning::set(Code::RestartPaysAgain, message, remedy)
    })
}

/// A breaker that refuses inside a queue that repeats refusals.
fn breaker_spends_runs(scenario: &Scenario, client: &Client) -> Option<Warning> {
    let (policy, _) = client.queue()?;
    let runs = attempts_bound(policy)?;
    if !policy.retry_on.repeats(&Answer::SHORT_CIRCUITED) {
        return None;
    }
    let guard = client.elements().iter().find_map(|element| match element.role {
        Role::Guard(guard) if rejects(&scenario.guards[guard]) => Some(&scenario.guards[guard]),
        Role::Guard(_) | Role::Retry(_) | Role::Queue(..) => None,
    })?;
    let Mechanism::Breaker(breaker) = &guard.mechanism else { return None };
    assert_eq!(breaker.when_open, WhenOpen::Reject, "only such a breaker refuses");
    let interval = words::duration(Ladder::own(policy).waits.first().map_or(SimDuration::ZERO, |wait| wait.from));
    let message = format!(
        "while `{}` is open ({} at a time), a job that meets it spends one of its {runs} runs without a request; \
         the next run comes after {interval}",
        guard.name,
        words::duration(breaker.open),
    );
    let remedy = Remedy { path: format!("guards.{}.breaker.when_open", guard.name), value: "\"hold\"".into() };
    Some(Warning::set(Code::BreakerSpendsRuns, message, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{client, decorator, fixed, incident, inner, one_job, queue, sdk};

    fn codes(scenario: &Scenario) -> Vec<(Code, String)> {
        warnings(scenario).into_iter().map(|warning| (warning.code, warning.path)).collect()
    }

    #[test]
    fn the_incidents_old_client_is_warned_about_in_each_of_its_layers() {
        let codes = codes(&incident(false));
        let expected = [
            (Code::FixedWaitWithoutJitter, "clients.batch.layers.decorator.jitter"),
            (Code::NestedRetry, "clients.batch.layers.decorator.off"),
            (Code::NestedRetry, "clients.batch.layers.queue.backoff"),
            (Code::RestartPaysAgain, "clients.batch.layers.queue.resume"),
            (Code::FixedWaitWithoutJitter, "clients.live.layers.app.jitter"),
            (Code::NestedRetry, "clients.live.layers.app.off"),
        ];
        assert_eq!(codes, expected.map(|(code, path)| (code, path.to_owned())));
    }

    #[test]
    fn the_fixed_client_is_warned_about_its_breaker_and_not_its_slow_queue() {
        let of_batch: Vec<Code> =
            warnings(&incident(true)).iter().filter(|w| !w.path.contains("live")).map(|w| w.code).collect();
        assert_eq!(of_batch, [Code::BreakerSpendsRuns]);
    }

    #[test]
    fn a_careful_client_draws_no_warning() {
        // One layer with jitter around each call, a slow queue that resumes.
        let scenario =
            one_job(client("c", vec![inner("sdk", sdk(3)), queue(3, &[3, 10], Resume::FailedStep)]), &["a", "b"]);
        assert_eq!(warnings(&scenario), []);
        // A single worker cannot fail together with anyone.
        let alone = one_job(client("c", vec![inner("sdk", fixed(3, SimDuration::from_secs(2)))]), &["a"]);
        assert_eq!(warnings(&alone), []);
    }

    #[test]
    fn only_a_layer_that_never_waits_retries_at_once() {
        let two = |policy| {
            let mut scenario = one_job(client("c", vec![inner("sdk", policy)]), &["a"]);
            scenario.traffic[0].kind = crate::traffic::TaskKind::Jobs { workers: 2, processes: 1 };
            codes(&scenario).into_iter().map(|(code, _)| code).collect::<Vec<_>>()
        };
        let wait = SimDuration::from_secs(2);
        assert_eq!(two(fixed(3, SimDuration::ZERO)), [Code::RetryAtOnce]);
        assert_eq!(two(fixed(3, wait)), [Code::FixedWaitWithoutJitter]);
        assert_eq!(two(RetryPolicy { jitter: Jitter::Full, ..fixed(3, wait) }), []);
        assert_eq!(two(RetryPolicy { jitter: Jitter::Add(wait), ..fixed(3, SimDuration::ZERO) }), []);
    }

    #[test]
    fn layers_for_different_errors_are_not_nested() {
        let only = |status| RetryPolicy {
            retry_on: crate::explain::fixture::some(&[status], false, false),
            ..fixed(3, SimDuration::from_secs(2))
        };
        let scenario = one_job(client("c", vec![inner("sdk", only(429)), decorator("again", only(503))]), &["a"]);
        assert_eq!(warnings(&scenario), []);
    }

    #[test]
    fn the_nested_layers_message_names_both_and_multiplies() {
        let message = &warnings(&incident(false))[1].message;
        assert!(
            message.starts_with("`decorator` tries again what `sdk` has given up on (408, 409, 429, "),
            "{message}"
        );
        assert!(message.ends_with(": 4 calls × 3 requests = 12"), "{message}");
    }

    #[test]
    fn retries_that_the_file_does_not_spell_out_are_named() {
        let mut element = inner("sdk", sdk(3));
        element.preset = Some("anthropic-python-1.13".into());
        element.unspoken = vec!["timeout".into(), "max_attempts".into()];
        let scenario = one_job(client("c", vec![element]), &["a"]);
        let warnings = warnings(&scenario);
        assert_eq!(warnings[0].code, Code::UnspokenRetries);
        assert!(warnings[0].hint.starts_with("set `clients.c.layers.sdk.max_attempts = 3`"));
    }

    #[test]
    fn retries_of_a_client_for_tests_are_found_even_where_no_class_uses_it() {
        let mut scenario = one_job(client("c", vec![inner("sdk", sdk(1))]), &["a"]);
        let tests = Client::new("ci".into(), true, vec![inner("sdk", sdk(3))]).unwrap();
        scenario.clients.push(tests);
        assert_eq!(codes(&scenario), [(Code::RetriesInTestClient, "clients.ci.layers.sdk.max_attempts".to_owned())]);
    }
}
