//! Warnings about how a client's elements stand to each other, whoever uses it.

use super::answers::{fault_answers, shown};
use super::course::product;
use super::ladder::{Ladder, attempts_bound};
use super::remedy::Remedy;
use super::step_settings::StepSettings;
use super::warning::{Code, Warning};
use super::words;
use super::worst::unit;
use crate::policy::circuit_breaker::WhenOpen;
use crate::policy::hint::AboveCap;
use crate::policy::stack::Resume;
use crate::policy::{Answer, Backoff, Client, Element, Hint, HintRule, Jitter, Kind, Mechanism, RetryPolicy, Role};
use crate::provider::Limit;
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;
use crate::units::SimDuration;

/// A queue that waits this long between runs is a second chance at another time, not one more layer of the same storm.
const SLOW_QUEUE: SimDuration = SimDuration::from_secs(60);

/// All warnings about the clients that some class uses, or that tests use.
pub fn warnings(scenario: &Scenario) -> Vec<Warning> {
    let asks =
        |class: &TrafficClass, index| class.client == index && class.steps.iter().any(|step| step.other.is_none());
    let used = |index: usize| scenario.traffic.iter().any(|class| asks(class, index));
    let clients = scenario.clients.iter().enumerate().filter(|(index, client)| used(*index) || client.for_tests);
    let mut all: Vec<Warning> = clients.flat_map(|(index, client)| of_client(scenario, index, client)).collect();
    for class in &scenario.traffic {
        for (n, other) in class.others.iter().enumerate() {
            let Some(step) = class.steps.iter().position(|step| step.other == Some(n)) else { continue };
            let settings = StepSettings::of(scenario, class, step);
            for warning in of_client(scenario, class.client, &other.client) {
                let warning = settings.place(warning);
                // What a copy leaves as it was has been said of the client itself.
                if !all.iter().any(|said| said.code == warning.code && said.message == warning.message) {
                    all.push(warning);
                }
            }
        }
    }
    all
}

fn of_client(scenario: &Scenario, index: usize, client: &Client) -> Vec<Warning> {
    let mut all = Vec::new();
    for (at, element) in client.elements().iter().enumerate() {
        // A fallback tries again at once, and what others have given up on: with another model, that is its purpose.
        let policy = element.role.policy().filter(|_| !element.role.is_fallback());
        let Some(policy) = policy.filter(|policy| attempts_bound(policy) != Some(1)) else { continue };
        all.extend(waits(scenario, index, client, element, policy));
        all.extend(nested(scenario, client, at, policy));
        all.extend(unspoken(client, element, policy));
        all.extend(in_tests(client, element, policy));
        all.extend(restart(scenario, index, client, element));
    }
    all.extend(pacer_outside(scenario, client));
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
    // Added on top, it parts the callers and never shortens a wait: a shorter one sends more into the same window.
    let mut remedies = vec![Remedy::key(client, element, "jitter", &format!("{{ add = \"{wait}\" }}"))];
    let wait = words::duration(*wait);
    let mut message = format!("`{name}` waits {wait} without jitter; callers that fail together retry together");
    if let Some(hint) = jittered_hint(scenario, client, policy) {
        message = format!(
            "`{name}` waits {wait} or what retry-after says, without jitter; callers that fail together retry together"
        );
        remedies.push(Remedy::key(client, element, "hint", &hint));
    }
    Some(Warning::all(Code::FixedWaitWithoutJitter, message, remedies))
}

/// The policy's rule for hints with its jitter applied to them, where it obeys hints as they are and the provider sends
/// some: a jitter alone leaves these untouched.
fn jittered_hint(scenario: &Scenario, client: &Client, policy: &RetryPolicy) -> Option<String> {
    let HintRule::Obey { cap, above, jittered: false } = policy.hint else { return None };
    let limits = scenario.provider.limits.iter().filter(|limit| limit.hint.is_some()).map(Limit::refusal);
    let faults = fault_answers(&scenario.provider, client.grammar()).filter(|answer| answer.hint != Hint::None);
    limits.chain(faults).find(|answer| policy.retry_on.repeats(answer))?;
    let above = match above {
        AboveCap::OwnBackoff => "own_backoff",
        AboveCap::GiveUp => "give_up",
        AboveCap::Clamp | AboveCap::AtOnce => "clamp",
    };
    // A cap of days is a timer's, not a wish: an hour is as good.
    let cap = cap.min(SimDuration::from_secs(3_600));
    Some(format!("{{ obey = {{ cap = \"{cap}\", above = \"{above}\", jittered = true }} }}"))
}

/// A pacer around layers that repeat: it lets calls pass, and each of them may be several requests.
fn pacer_outside(scenario: &Scenario, client: &Client) -> Option<Warning> {
    let (at, guard) = client.elements().iter().enumerate().find_map(|(at, element)| match element.role {
        Role::Guard(guard) if matches!(scenario.guards[guard].mechanism, Mechanism::Pacer(_)) => {
            (requests_inside(client, at) != Some(1)).then(|| (at, &scenario.guards[guard]))
        }
        Role::Guard(_) | Role::Retry(_) | Role::Queue(..) | Role::Hedge(_) | Role::Fallback(_) => None,
    })?;
    let repeats = |element: &&Element| element.role.policy().is_some_and(|policy| attempts_bound(policy) != Some(1));
    let inside: Vec<String> =
        client.elements()[..at].iter().filter(repeats).map(|element| format!("`{}`", element.name)).collect();
    let innermost = client.elements()[..at].iter().find(repeats)?;
    let requests = requests_inside(client, at);
    let number = requests.map_or_else(|| "requests without end".into(), |n| words::counted(n, "request"));
    let message = format!(
        "the pacer `{}` stands outside of {}: what it lets pass are calls, and each can become {number}",
        guard.name,
        words::list(&inside)
    );
    let path = format!("clients.{}.layers", client.name);
    let name = &client.elements()[at].name;
    let hint = format!("put `{name}` before `{}` in `{path}`, so that it lets requests pass", innermost.name);
    Some(Warning { code: Code::PacerOutsideRetries, message, hint, path })
}

/// The most requests that pass an element for each time it is entered.
pub(super) fn requests_inside(client: &Client, at: usize) -> Option<u64> {
    let mut roles = client.elements()[..at].iter().map(|element| &element.role);
    roles.try_fold(1, |all, role| product(Some(all), requests_of(role)))
}

/// The most requests of an element for each one that is inside it.
fn requests_of(role: &Role) -> Option<u64> {
    match role {
        Role::Retry(policy) | Role::Queue(policy, _) => attempts_bound(policy),
        Role::Fallback(fallback) => attempts_bound(fallback.policy()),
        Role::Hedge(hedge) => Some(u64::from(hedge.max)),
        Role::Guard(_) => Some(1),
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
        Kind::Queue => Warning::set(Code::NestedRetry, message, Remedy::slow_runs(client, outer))
            .and("so that a run is a chance at another time"),
        Kind::Hop | Kind::Client | Kind::Decorator => {
            Warning::set(Code::NestedRetry, message, Remedy::off(client, outer))
                .and("and let one layer own the retries")
        }
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
    let (guard, breaker) = client.elements().iter().find_map(|element| {
        let Role::Guard(index) = element.role else { return None };
        let guard = &scenario.guards[index];
        let breaker = guard.breaker().filter(|breaker| breaker.when_open == WhenOpen::Reject)?;
        Some((guard, breaker))
    })?;
    let interval = words::duration(Ladder::own(policy).waits.first().map_or(SimDuration::ZERO, |wait| wait.from));
    let message = format!(
        "while `{}` is open ({} at a time), a job that meets it spends one of its {runs} runs without a request; \
         the next run comes after {interval}",
        guard.name,
        words::duration(breaker.open.first),
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
        assert_eq!(of_batch, [Code::PacerOutsideRetries, Code::BreakerSpendsRuns]);
    }

    #[test]
    fn a_pacer_outside_of_what_repeats_is_said_to_bound_calls() {
        let warning = warnings(&incident(true)).remove(0);
        assert_eq!(
            warning.message,
            "the pacer `share` stands outside of `sdk`: what it lets pass are calls, and each can become 4 requests"
        );
        assert_eq!(warning.hint, "put `pacer` before `sdk` in `clients.batch.layers`, so that it lets requests pass");
        let mut inside = incident(true);
        let mut elements = inside.clients[0].elements().to_vec();
        elements.swap(0, 1);
        inside.clients[0] = client("batch", elements);
        assert!(warnings(&inside).iter().all(|warning| warning.code != Code::PacerOutsideRetries));
    }

    #[test]
    fn a_herd_that_hints_drive_is_parted_on_its_hints() {
        // The jitter comes on top of both: it never shortens what the server asked for.
        let mut scenario = incident(true);
        let hint = HintRule::Obey { cap: SimDuration::from_secs(60), above: AboveCap::OwnBackoff, jittered: false };
        let policy = RetryPolicy { hint, ..fixed(3, SimDuration::from_secs(2)) };
        scenario.clients[1] = client("live", vec![inner("sdk", policy)]);
        let warning = warnings(&scenario).into_iter().find(|w| w.code == Code::FixedWaitWithoutJitter).unwrap();
        assert_eq!(
            warning.hint,
            "set `clients.live.layers.sdk.jitter = { add = \"2s\" }` and `clients.live.layers.sdk.hint = { obey = { cap \
             = \"1m\", above = \"own_backoff\", jittered = true } }`"
        );
        // Without hints from the provider its own waits are all there is.
        scenario.provider.limits[0].hint = None;
        let warning = warnings(&scenario).into_iter().find(|w| w.code == Code::FixedWaitWithoutJitter).unwrap();
        assert_eq!(warning.hint, "set `clients.live.layers.sdk.jitter = { add = \"2s\" }`");
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
