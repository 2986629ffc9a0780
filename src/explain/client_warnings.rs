//! Warnings about how a client's elements stand to each other, whoever uses it.

use super::answers::{rejects, shown};
use super::course::product;
use super::ladder::{Ladder, attempts_bound};
use super::warning::{Code, Warning, element_path};
use super::words;
use super::worst::unit;
use crate::policy::circuit_breaker::WhenOpen;
use crate::policy::stack::Resume;
use crate::policy::{Answer, Backoff, Client, Element, Jitter, Kind, Mechanism, RetryPolicy, Role};
use crate::scenario::Scenario;
use crate::units::SimDuration;

/// A queue that waits this long between runs is a second chance at another time, not one more layer of the same storm.
const SLOW_QUEUE: SimDuration = SimDuration::from_secs(60);

/// The preset words and general keys that say how often something is tried.
const ATTEMPT_WORDS: [&str; 7] =
    ["max_attempts", "max_retries", "max", "stop", "attempts", "retries", "maximum_attempts"];

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
    let path = element_path(&client.name, &element.name, "backoff");
    let name = &element.name;
    match (&policy.backoff, policy.jitter) {
        (Backoff::Fixed(wait), Jitter::None) if !wait.is_zero() => {
            let message = format!(
                "`{name}` waits {} without jitter; callers that fail together retry together",
                words::duration(*wait)
            );
            let path = element_path(&client.name, name, "jitter");
            Some(Warning::set(Code::FixedWaitWithoutJitter, message, path, "\"full\""))
        }
        (Backoff::None | Backoff::Fixed(_), Jitter::None | Jitter::Full | Jitter::Equal) => {
            let message = format!("`{name}` tries again at once, while the provider is still failing");
            let value = "{ exponential = { initial = \"1s\", cap = \"30s\" } }";
            Some(Warning::set(Code::RetryAtOnce, message, path, value))
        }
        (
            Backoff::None
            | Backoff::Fixed(_)
            | Backoff::Linear { .. }
            | Backoff::Exponential { .. }
            | Backoff::List(_)
            | Backoff::Decorrelated { .. },
            _,
        ) => None,
    }
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
        Kind::Queue => {
            let path = element_path(&client.name, &outer.name, "backoff");
            Warning::set(Code::NestedRetry, message, path, "{ list = [\"3m\", \"10m\"] }")
                .and("so that a run is a chance at another time")
        }
        Kind::Client | Kind::Decorator => {
            let path = element_path(&client.name, &outer.name, "off");
            Warning::set(Code::NestedRetry, message, path, "true").and("and let one layer own the retries")
        }
    };
    Some(warning)
}

fn unspoken(client: &Client, element: &Element, policy: &RetryPolicy) -> Option<Warning> {
    let preset = element.preset.as_ref()?;
    element.unspoken.iter().find(|word| ATTEMPT_WORDS.contains(&word.as_str()))?;
    let attempts = attempts_bound(policy);
    let message = format!(
        "`{}` makes {} attempts by the defaults of {preset}; the file does not say so",
        element.name,
        words::bound(attempts)
    );
    let value = attempts.map_or_else(|| "\"unlimited\"".into(), |attempts| attempts.to_string());
    let path = element_path(&client.name, &element.name, "max_attempts");
    Some(Warning::set(Code::UnspokenRetries, message, path, &value).and("to say that it is meant"))
}

fn in_tests(client: &Client, element: &Element, policy: &RetryPolicy) -> Option<Warning> {
    let attempts = words::bound(attempts_bound(policy));
    client.for_tests.then(|| {
        let message = format!(
            "`{}` makes {attempts} attempts in a client for tests: a failure is slow to show, or stays hidden",
            element.name
        );
        let path = element_path(&client.name, &element.name, "max_attempts");
        Warning::set(Code::RetriesInTestClient, message, path, "1")
    })
}

fn restart(scenario: &Scenario, index: usize, client: &Client, element: &Element) -> Option<Warning> {
    let Role::Queue(_, requeue) = &element.role else { return None };
    let class = scenario.traffic.iter().find(|class| class.client == index && class.steps.len() > 1)?;
    (requeue.resume == Resume::Restart).then(|| {
        let message = format!(
            "`{}` restarts a {} job at step 1 of {}; finished steps are paid again",
            element.name,
            class.name,
            class.steps.len()
        );
        let path = element_path(&client.name, &element.name, "resume");
        Warning::set(Code::RestartPaysAgain, message, path, "\"failed_step\"")
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
    let path = format!("guards.{}.breaker.when_open", guard.name);
    Some(Warning::set(Code::BreakerSpendsRuns, message, path, "\"hold\""))
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
