//! Breakers, throttles and budgets in whole runs: small scenarios with the answer worked out by hand, and one against
//! the formula of its inventors.

use retrycast::sim::Fact;

use super::stage::{Run, facts, read};

/// Turns of one class that meet 503 after a tenth of a second until `healthy`, behind these guards and layers.
pub(crate) fn outage(guards: &str, layers: &str, arrivals: &str, healthy: &str) -> String {
    format!(
        r#"
        horizon = "1h"
        {guards}
        [provider.faults.outage]
        window = ["0s", "{healthy}"]
        respond = {{ status = 503, after = "100ms" }}
        [clients.c]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "c"
        arrivals = {{ at = [{arrivals}] }}
        steps = [{{ name = "say", input_tokens = 1, latency = "1s" }}]
        "#
    )
}

/// When each task ended, in seconds, in the order of arrival.
pub(crate) fn ends(text: &str) -> Vec<f64> {
    let ended = |fact| match fact {
        Fact::TaskEnded { task, at, .. } => Some((task, at.as_secs_f64())),
        Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
    };
    let mut ends: Vec<(u32, f64)> = facts(&read(text), 1).into_iter().filter_map(ended).collect();
    ends.sort_by_key(|(task, _)| *task);
    ends.into_iter().map(|(_, at)| at).collect()
}

const AGAIN: &str = r#"{ name = "again", max_attempts = 3, retry_on = [503], backoff = { fixed = "5s" } }"#;

#[test]
fn a_breaker_that_hides_the_failure_which_opened_it_spares_the_layer_outside_a_retry() {
    // By hand: one failure opens the breaker. Where it is shown, the layer waits five seconds for a retry that the open
    // breaker refuses; where a short circuit stands in its place, nothing is repeated.
    let behind = |throws: bool| {
        let guard = format!(
            "[guards.fuse]\nbreaker = {{ preset = \"pybreaker-1.4\", fail_max = 1, throw_new_error_on_trip = {throws} }}"
        );
        outage(&guard, &format!(r#"{{ guard = "fuse" }}, {AGAIN}"#), r#""0s""#, "1h")
    };
    let (shown, hidden) = (behind(false), behind(true));
    assert_eq!((ends(&shown), ends(&hidden)), (vec![5.1], vec![0.1]));
    let refused = |text: &str| Run::of(&read(text), 1).count("guards.fuse.refused");
    assert_eq!((refused(&shown), refused(&hidden)), (1, 0));
}

#[test]
fn a_late_probe_closes_an_open_breaker_only_where_probes_decide() {
    // By hand: the failure of 0 s opens it for ten seconds. Two probes go at 11 s; the fault is over at 12 s, and the
    // first has met it, the second, which is slow to arrive, has not. The breaker is open again at 11.1 s and stays so,
    // or is closed by the second at 13.5 s; the turn of 14 s is refused, or takes its second.
    let behind = |preset: &str, words: &str| {
        let guard = format!("[guards.fuse]\nbreaker = {{ preset = \"{preset}\"{words} }}");
        format!(
            r#"
            horizon = "1h"
            {guard}
            [provider.faults.outage]
            window = ["0s", "12s"]
            by_class = {{ slow = 0 }}
            respond = {{ status = 503, after = "100ms" }}
            [clients.c]
            layers = [{{ guard = "fuse" }}]
            [traffic.quick]
            kind = "turns"
            client = "c"
            arrivals = {{ at = ["0s", "11s", "14s"] }}
            steps = [{{ name = "say", input_tokens = 1, latency = "1s" }}]
            [traffic.slow]
            kind = "turns"
            client = "c"
            arrivals = {{ at = ["11s"] }}
            steps = [{{ name = "say", input_tokens = 1, latency = "2500ms" }}]
            "#
        )
    };
    let refused = |text: &str| {
        let run = Run::of(&read(text), 1);
        (run.count("guards.fuse.refused"), run.count("guards.fuse.trips"))
    };
    assert_eq!(refused(&behind("aiobreaker-1.2", r#", fail_max = 1, timeout_duration = "10s""#)), (0, 2));
    assert_eq!(refused(&behind("purgatory-3.0", r#", threshold = 1, ttl = "10s""#)), (1, 2));
}

#[test]
fn those_who_wait_for_a_probe_go_when_it_is_back() {
    // By hand: open from 0.1 s to 10.1 s. At 10.5 s one goes as a probe and takes a second, the two who come meanwhile
    // wait for it and take theirs after it.
    let guard =
        "[guards.fuse]\nbreaker = { preset = \"cockatiel-3.2\", ConsecutiveBreaker = 1, halfOpenAfter = \"10s\" }";
    let text = outage(guard, r#"{ guard = "fuse" }"#, r#""0s", "10500ms", "10600ms", "11s""#, "1s");
    assert_eq!(ends(&text), [0.1, 11.5, 12.5, 12.5]);
}

#[test]
fn a_throttle_that_is_asked_after_the_wait_lets_calls_wait_for_nothing() {
    // By hand: two tokens, and the first failure leaves one, which is half. The call ends at once, or when the five
    // seconds are over, with the same failure.
    let behind = |checked: &str| {
        let budget = format!("budget = {{ throttle = {{ max_tokens = 2, ratio = 0.1, checked = \"{checked}\" }} }}");
        outage("", &AGAIN.replace("max_attempts = 3", &format!("max_attempts = 3, {budget}")), r#""0s""#, "1h")
    };
    let (before, after) = (behind("before_wait"), behind("after_wait"));
    assert_eq!((ends(&before), ends(&after)), (vec![0.1], vec![5.1]));
    let requests = |text: &str| Run::of(&read(text), 1).count("classes.turn.requests");
    assert_eq!((requests(&before), requests(&after)), (1, 1));
}

#[test]
fn who_comes_to_a_full_line_is_refused() {
    // By hand: one permit, two in line, five who come at once.
    let guard = "[guards.slots]\nsemaphore = { permits = 1, line_at_most = 2 }";
    let text = outage(guard, r#"{ guard = "slots" }"#, r#""0s", "0s", "0s", "0s", "0s""#, "1ns");
    let run = Run::of(&read(&text), 1);
    assert_eq!((run.count("guards.slots.waits"), run.count("guards.slots.refused")), (2, 2));
    assert_eq!(ends(&text).into_iter().filter(|at| *at > 0.0).count(), 3);
}

#[test]
fn an_adaptive_throttle_asks_for_k_times_what_is_accepted() {
    // By theory: the share 1 - k * accepted / asked is refused, so that of 100 a second k times the 10 which the provider
    // accepts are sent, and a hundredth more for the one in the formula; without the throttle it is all 100.
    let sent = |guards: &str, layers: &str| {
        let text = format!(
            r#"
            horizon = "1h"
            [provider.limits.rpm]
            counts = "requests"
            amount = 10
            per = "1s"
            refuse = {{ status = 429, after = "10ms" }}
            {guards}
            [clients.c]
            layers = [{layers}]
            [traffic.turn]
            kind = "turns"
            client = "c"
            arrivals = {{ poisson = [["0s", "100/s"], ["30m", "0/s"]] }}
            steps = [{{ name = "say", input_tokens = 1, latency = "10ms" }}]
            [phases]
            steady = {{ from = "5m", until = "30m" }}
            "#
        );
        let run = Run::of(&read(&text), 1);
        let of = |what: &str| run.number(&format!("phases.steady.classes.turn.{what}"));
        of("requests") / 1_500.0
    };
    let throttled = |k: &str| {
        let guard = format!("[guards.ease]\nthrottle = {{ k = {k}, of = [429], within = \"2m\" }}");
        sent(&guard, r#"{ guard = "ease" }"#)
    };
    assert!((95.0..105.0).contains(&sent("", "")));
    for (k, most) in [("1.5", 15.0), ("2", 20.0), ("4", 40.0)] {
        let sent = throttled(k);
        assert!((most * 0.97..most * 1.05).contains(&sent), "{k}: {sent}");
    }
}

#[test]
fn a_breaker_of_the_retries_lets_every_first_request_pass() {
    // By hand: the failure of 0.1 s opens it for a minute. The retry of 5.1 s is refused, so the first turn fails then; the
    // turn of 10 s passes it, meets the fault and has no retry either; the one of 20 s is served.
    let guard = |gates: &str| {
        format!(
            "[guards.fuse]\nbreaker = {{ counts = \"responses\", of = [503], consecutive = 1, open = \"1m\", \
             when_open = \"reject\", gates = \"{gates}\" }}"
        )
    };
    let behind = |gates: &str| {
        outage(&guard(gates), &format!(r#"{{ guard = "fuse" }}, {AGAIN}"#), r#""0s", "10s", "20s""#, "15s")
    };
    assert_eq!(ends(&behind("retries")), [5.1, 15.1, 21.0]);
    assert_eq!(ends(&behind("all")), [5.1, 10.0, 20.0]);
    let refused = |gates: &str| Run::of(&read(&behind(gates)), 1).count("guards.fuse.refused");
    assert_eq!((refused("retries"), refused("all")), (2, 3));
}

#[test]
fn who_is_killed_in_a_line_has_waited_until_then() {
    // By hand: the only permit is out for 100 s; a job of the other class comes at once and is killed after five seconds in
    // the line, one that comes at 8 s after five more.
    let text = r#"
        horizon = "20s"
        [guards.slot]
        semaphore = { permits = 1 }
        scope = "global"
        [clients.c]
        layers = [{ guard = "slot" }]
        [traffic.long]
        kind = "jobs"
        client = "c"
        workers = 1
        arrivals = { at = ["0s"] }
        steps = [{ name = "say", input_tokens = 1, latency = "100s" }]
        [traffic.short]
        kind = "jobs"
        client = "c"
        workers = 1
        queue = { timeout = "5s" }
        arrivals = { at = ["1s", "8s"] }
        steps = [{ name = "say", input_tokens = 1, latency = "1s" }]
    "#;
    let run = Run::of(&read(text), 1);
    assert_eq!([run.number("guards.slot.waits"), run.number("guards.slot.waited_s")], [2.0, 10.0]);
    assert_eq!(run.count("classes.short.failed"), 2);
}

#[test]
fn a_gate_is_not_closed_beyond_the_end_of_the_run() {
    // By hand: the answer of 0 s asks for a hundred seconds, and the run is over after ten.
    let text = outage(
        "[guards.quiet]\ngate = { of = [503], for = \"100s\" }",
        r#"{ guard = "quiet" }"#,
        r#""0s", "2s""#,
        "1h",
    );
    let text = text
        .replace("horizon = \"1h\"", "horizon = \"10100ms\"")
        .replace("window = [\"0s\", \"1h\"]", "window = [\"0s\", \"10s\"]");
    let run = Run::of(&read(&text), 1);
    assert_eq!([run.number("guards.quiet.closed_s"), run.number("guards.quiet.waited_s")], [10.0, 8.1]);
}
