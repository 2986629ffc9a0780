//! Semaphores, connection pools, size checks, and a published bucket that credits its sleep twice: small scenarios with
//! the answer worked out by hand.

use retrycast::observe::Outcome;
use retrycast::random::Seed;
use retrycast::sim::{Fact, simulate};

use super::stage::{Run, facts, read, shipped};

/// Turns of one class behind these guards.
fn turns(guards: &str, faults: &str, layers: &str, arrivals: &str, step: &str) -> String {
    format!(
        r#"
        horizon = "1h"
        {faults}
        {guards}
        [clients.c]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "c"
        arrivals = {arrivals}
        steps = [{{ name = "say", {step} }}]
        "#
    )
}

/// When each task ended, in seconds, in the order of arrival.
fn ends(text: &str) -> Vec<f64> {
    let mut ends: Vec<(u32, f64)> = facts(&read(text), 1)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::TaskEnded { task, at, .. } => Some((task, at.as_secs_f64())),
            Fact::TaskArrived { .. } | Fact::RequestEnded { .. } => None,
        })
        .collect();
    ends.sort_by_key(|(task, _)| *task);
    ends.into_iter().map(|(_, at)| at).collect()
}

fn outcome(text: &str) -> Outcome {
    simulate(&read(text), Seed(1))
}

const FIVE: &str = r#"{ at = ["0s", "1s", "2s", "3s", "30s"] }"#;
const TEN_SECONDS: &str = r#"input_tokens = 1, latency = "10s""#;

fn semaphore(settings: &str) -> String {
    format!("[guards.slots]\nsemaphore = {{ {settings} }}")
}

#[test]
fn a_line_is_served_in_the_order_of_coming_and_nobody_overtakes() {
    // By hand: one at a time, ten seconds each. The fifth comes at 30 s, just when the third gives its permit back: the
    // fourth has stood in line since 3 s.
    let text = turns(&semaphore("permits = 1"), "", r#"{ guard = "slots" }"#, FIVE, TEN_SECONDS);
    assert_eq!(ends(&text), [10.0, 20.0, 30.0, 40.0, 50.0]);
    let run = Run::of(&read(&text), 1);
    // By hand: 9 + 18 + 27 + 10 s.
    assert_eq!((run.count("guards.slots.waits"), run.number("guards.slots.waited_s")), (4, 64.0));
    assert_eq!((run.count("guards.slots.refused"), run.count("guards.slots.most_in_use")), (0, 1));
    assert_eq!(outcome(&text).guards[0].in_use, 0);
}

#[test]
fn whoever_waits_too_long_is_refused_and_a_permit_at_that_very_instant_is_in_time() {
    // By hand, two permits: the third waits from 2 s to 10 s and is in time to the nanosecond, the fourth waits from 3 s
    // and gets the second permit at 11 s, which is its last instant too. With a little less patience the third is out at
    // 9.999 s, and the fourth has the permit of 10 s.
    let behind = |most: &str| {
        let guard = semaphore(&format!("permits = 2, wait_at_most = \"{most}\""));
        turns(&guard, "", r#"{ guard = "slots" }"#, FIVE, TEN_SECONDS)
    };
    assert_eq!(ends(&behind("8s")), [10.0, 11.0, 20.0, 21.0, 40.0]);
    assert_eq!(ends(&behind("7999ms")), [10.0, 11.0, 9.999, 20.0, 40.0]);
    let run = Run::of(&read(&behind("7999ms")), 1);
    assert_eq!((run.count("classes.turn.delivered"), run.count("classes.turn.failed")), (4, 1));
    assert_eq!((run.count("guards.slots.waits"), run.count("guards.slots.refused")), (2, 1));
    assert_eq!(run.number("guards.slots.waited_s"), 14.999);
    assert_eq!(run.count("classes.turn.short_circuited"), 0, "that is a breaker's");
    assert_eq!(outcome(&behind("7999ms")).guards[0].in_use, 0);
}

#[test]
fn a_full_semaphore_refuses_at_once_where_it_is_told_to_and_a_layer_outside_may_come_back() {
    let guard = semaphore("permits = 2, when_full = \"reject\"");
    let alone = turns(&guard, "", r#"{ guard = "slots" }"#, FIVE, TEN_SECONDS);
    assert_eq!(ends(&alone), [10.0, 11.0, 2.0, 3.0, 40.0]);
    // By hand: the third comes back every four seconds, finds a permit at 10 s, and so does the fourth at 11 s.
    let again = |on: &str| {
        let layer = format!(r#"{{ name = "again", max_attempts = 9, retry_on = {on}, backoff = {{ fixed = "4s" }} }}"#);
        turns(&guard, "", &format!(r#"{{ guard = "slots", kind = "client" }}, {layer}"#), FIVE, TEN_SECONDS)
    };
    assert_eq!(ends(&again(r#"["limiter_full"]"#)), [10.0, 11.0, 20.0, 21.0, 40.0]);
    assert_eq!(ends(&again(r#"["pool_timeout", "timeout", "short_circuited", "5xx"]"#)), [10.0, 11.0, 2.0, 3.0, 40.0]);
}

/// Two turns at once, each of which is refused at first, waits ten seconds and is answered then; a second a request.
fn refused_once(layers: &str) -> String {
    let fault = "[provider.faults.first]\nrespond = { script = \"slow=1s 529, slow=1s 200\" }";
    let two = r#"{ at = ["0s", "0s"] }"#;
    turns(&semaphore("permits = 1"), fault, layers, two, r#"input_tokens = 1, latency = "1s""#)
}

#[test]
fn a_permit_around_a_retry_layer_is_held_through_its_waits_and_one_inside_is_not() {
    let sdk = r#"{ name = "sdk", max_attempts = 2, retry_on = [529], backoff = { fixed = "10s" } }"#;
    // By hand, around: 1 + 10 + 1 s, one after the other.
    let around = refused_once(&format!(r#"{sdk}, {{ guard = "slots" }}"#));
    assert_eq!(ends(&around), [12.0, 24.0]);
    // By hand, inside: the second sends from 1 s to 2 s while the first one sleeps, and again from 12 s to 13 s.
    let inside = refused_once(&format!(r#"{{ guard = "slots", kind = "client" }}, {sdk}"#));
    assert_eq!(ends(&inside), [12.0, 13.0]);
    assert_eq!(outcome(&around).guards[0].in_use + outcome(&inside).guards[0].in_use, 0);
}

#[test]
fn a_job_that_goes_back_to_its_queue_gives_its_permit_back() {
    // By hand: two workers and one permit. Each job is refused once after a second and comes back a minute later; the
    // second one has the permit from 1 s to 2 s.
    let text = r#"
        horizon = "1h"
        [provider.faults.first]
        respond = { script = "slow=1s 529, slow=1s 200" }
        [guards.slots]
        semaphore = { permits = 1 }
        [clients.c]
        layers = [{ guard = "slots" }, { name = "queue", kind = "queue", max_attempts = 2, retry_on = "any", backoff = { fixed = "1m" } }]
        [traffic.job]
        kind = "jobs"
        client = "c"
        workers = 2
        arrivals = { at = ["0s", "0s"] }
        steps = [{ name = "do", input_tokens = 1, latency = "1s" }]
    "#;
    assert_eq!(ends(text), [62.0, 63.0]);
    let run = Run::of(&read(text), 1);
    assert_eq!(run.number("classes.job.worker_time_s.waiting_limiter"), 1.0);
    assert_eq!(outcome(text).guards[0].in_use, 0);
}

#[test]
fn what_the_horizon_cuts_off_holds_its_permit_and_has_waited_until_then() {
    let four = r#"{ at = ["0s", "1s", "2s", "3s"] }"#;
    let text = turns(&semaphore("permits = 2"), "", r#"{ guard = "slots" }"#, four, TEN_SECONDS);
    let text = text.replace("horizon = \"1h\"", "horizon = \"5s\"");
    let guard = outcome(&text).guards[0];
    assert_eq!((guard.in_use, guard.waits, guard.waited.as_secs_f64()), (2, 2, 3.0 + 2.0));
}

#[test]
fn a_permit_of_a_process_goes_back_to_that_process_although_another_worker_goes_on() {
    // The retry layer frees its worker, so that a job may go on with a worker of another process; its permit is given back
    // where it was taken. Permits that leaked would be out in the end, and the jobs of their process never done.
    let instants = vec![r#""0s""#; 60].join(", ");
    let text = format!(
        r#"
        horizon = "1h"
        [provider.faults.flaky]
        probability = 0.6
        respond = {{ status = 529, after = "700ms" }}
        [guards.sockets]
        semaphore = {{ permits = 1, when_full = "reject" }}
        scope = "process"
        [clients.c]
        layers = [
          {{ name = "sdk", max_attempts = 4, retry_on = "any", backoff = {{ fixed = "1300ms" }}, jitter = "full", holds_worker = false }},
          {{ guard = "sockets" }},
          {{ name = "queue", kind = "queue", max_attempts = "unlimited", retry_on = "any", backoff = {{ fixed = "1s" }} }},
        ]
        [traffic.job]
        kind = "jobs"
        client = "c"
        workers = 9
        processes = 3
        arrivals = {{ at = [{instants}] }}
        steps = [{{ name = "do", input_tokens = 1, latency = "1s" }}]
        "#
    );
    let guard = outcome(&text).guards[0];
    assert_eq!(ends(&text).len(), 60);
    assert_eq!((guard.in_use, guard.most_in_use), (0, 1));
}

#[test]
fn an_exhausted_pool_is_a_timeout_of_its_own() {
    // By hand: one connection, ten seconds each, two seconds of patience. The second turn comes at 1 s, is out at 3 s,
    // asks again at 8 s and has the connection at 10 s, its last instant.
    let guard = "[guards.sockets]\npool = { connections = 1, timeout = \"2s\" }";
    let two = r#"{ at = ["0s", "1s"] }"#;
    let behind = |on: &str| {
        let sdk = format!(r#"{{ name = "sdk", max_attempts = 2, retry_on = {on}, backoff = {{ fixed = "5s" }} }}"#);
        turns(guard, "", &format!(r#"{{ guard = "sockets", kind = "client" }}, {sdk}"#), two, TEN_SECONDS)
    };
    assert_eq!(ends(&behind(r#"["pool_timeout"]"#)), [10.0, 20.0]);
    assert_eq!(ends(&behind(r#"["timeout"]"#)), [10.0, 20.0]);
    assert_eq!(ends(&behind(r#"["limiter_full", "connection", "read_timeout"]"#)), [10.0, 3.0]);
    let run = Run::of(&read(&behind(r#"["read_timeout"]"#)), 1);
    assert_eq!((run.count("classes.turn.requests"), run.count("guards.sockets.refused")), (1, 1));
}

#[test]
fn a_request_that_is_too_large_is_never_sent() {
    // By hand: 200,000 tokens fit, one more does not; a layer that repeats anything makes three attempts for nothing.
    let guard = "[guards.fits]\nsize = { at_most = \"200k\" }";
    let sized = |tokens: u32, on: &str| {
        let sdk = format!(r#"{{ name = "sdk", max_attempts = 3, retry_on = {on}, backoff = {{ fixed = "5s" }} }}"#);
        let layers = format!(r#"{{ guard = "fits", kind = "client" }}, {sdk}"#);
        let step = format!(r#"input_tokens = {tokens}, latency = "1s""#);
        Run::of(&read(&turns(guard, "", &layers, r#"{ at = ["0s"] }"#, &step)), 1)
    };
    let fits = sized(200_000, "\"any\"");
    assert_eq!((fits.count("classes.turn.delivered"), fits.count("guards.fits.refused")), (1, 0));
    for (on, refused) in [("\"any\"", 3), (r#"["too_large"]"#, 3), (r#"["4xx", "timeout", "connection"]"#, 1)] {
        let run = sized(200_001, on);
        assert_eq!((run.count("classes.turn.requests"), run.count("classes.turn.failed")), (0, 1), "{on}");
        assert_eq!(run.count("guards.fits.refused"), refused, "{on}");
    }
}

#[test]
fn a_saturated_bucket_that_credits_its_sleep_twice_lets_twice_its_rate_pass() {
    // Ten a second; many workers whose calls take no time, for 100 s: 1,000 against 2,000, within one in a hundred.
    let passed = |slept: &str, workers: u32| {
        let text = format!(
            r#"
            horizon = "100s"
            [guards.bucket]
            pacer = {{ counts = "requests", amount = 10, per = "1s", {slept} }}
            [clients.c]
            layers = [{{ guard = "bucket" }}]
            [traffic.job]
            kind = "jobs"
            client = "c"
            workers = {workers}
            arrivals = {{ count = 5000, until = "1ms" }}
            steps = [{{ name = "do", input_tokens = 1, latency = "0s" }}]
            "#
        );
        Run::of(&read(&text), 1).count("classes.job.delivered")
    };
    for workers in [2, 10, 50] {
        assert!((990..=1_010).contains(&passed("slept = \"once\"", workers)));
        assert_eq!(passed("capacity = \"1s\"", workers), passed("slept = \"once\"", workers));
        assert!((1_980..=2_020).contains(&passed("slept = \"twice\"", workers)), "{workers}");
    }
}

#[test]
fn steps_at_once_hold_a_permit_each_and_those_that_are_dropped_give_theirs_back() {
    // By hand: three steps at once and one permit. The first is refused after a second, and passes the permit on; where
    // the others are dropped then, the next one has it and has not yet been told.
    let steps = |when: &str| {
        format!(
            r#"
            horizon = "1h"
            [provider.faults.first]
            respond = {{ script = "slow=1s 529" }}
            [guards.slots]
            semaphore = {{ permits = 1, wait_at_most = "20s" }}
            [clients.c]
            layers = [{{ guard = "slots" }}]
            [traffic.turn]
            kind = "turns"
            client = "c"
            arrivals = {{ at = ["0s", "100s"] }}
            when_one_fails = "{when}"
            steps = [
              {{ name = "a", group = "g", input_tokens = 1, latency = "1s" }},
              {{ name = "b", group = "g", input_tokens = 1, latency = "1s" }},
              {{ name = "c", group = "g", input_tokens = 1, latency = "1s" }},
            ]
            "#
        )
    };
    assert_eq!(ends(&steps("wait")), [3.0, 103.0]);
    assert_eq!(ends(&steps("cancel")), [1.0, 101.0]);
    for when in ["wait", "cancel"] {
        let guard = outcome(&steps(when)).guards[0];
        assert_eq!((guard.in_use, guard.most_in_use, guard.waits, guard.refused), (0, 1, 4, 0), "{when}");
    }
}

#[test]
fn a_client_that_gives_up_on_a_hop_leaves_its_line() {
    // By hand: a gateway lets one request pass at once, each takes two seconds, the client waits three seconds for it.
    // The first is answered at 2 s; the second goes out then and is given up at 3 s, and so is the third, in line.
    let three = r#"{ at = ["0s", "0s", "0s"] }"#;
    let behind = |settings: &str| {
        let layers = r#"{ guard = "slots", kind = "hop" }, { name = "sdk", max_attempts = 1, retry_on = "none", timeout = "3s" }"#;
        turns(&semaphore(settings), "", layers, three, r#"input_tokens = 1, latency = "2s""#)
    };
    assert_eq!(ends(&behind("permits = 1")), [2.0, 3.0, 3.0]);
    // The gateway's own patience is shorter: what it refuses comes back at once.
    assert_eq!(ends(&behind("permits = 1, wait_at_most = \"1s\"")), [2.0, 1.0, 1.0]);
    assert_eq!(ends(&behind("permits = 1, wait_at_most = \"10s\"")), [2.0, 3.0, 3.0]);
    for (settings, refused) in [("permits = 1", 0), ("permits = 1, wait_at_most = \"1s\"", 2)] {
        let guard = outcome(&behind(settings)).guards[0];
        assert_eq!((guard.in_use, guard.waits, guard.refused), (0, 2, refused), "{settings}");
    }
}

#[test]
fn what_a_hop_answers_by_itself_is_in_the_series_of_the_requests() {
    // By hand: a gateway lets one request of three pass, which takes two seconds.
    let three = r#"{ at = ["0s", "0s", "0s"] }"#;
    let answers = |settings: &str, gateway: &str, timeout: &str| {
        let sdk = format!(r#"{{ name = "sdk", max_attempts = 1, retry_on = "none", timeout = "{timeout}" }}"#);
        let layers = format!(r#"{{ guard = "slots", kind = "hop" }}, {gateway} {sdk}"#);
        let outcome = outcome(&turns(&semaphore(settings), "", &layers, three, r#"input_tokens = 1, latency = "2s""#));
        let sums = outcome.timeline.classes[0].answers.each_ref().map(|kind| kind.iter().sum::<u32>());
        (sums, outcome.classes[0].total(0..outcome.plan.cells()).counts.provider_requests)
    };
    // Delivered, 429, 503, no answer, other: two are refused at once.
    let refusing = "permits = 1, when_full = \"reject\"";
    assert_eq!(answers(refusing, "", "9s"), ([1, 0, 2, 0, 0], 1));
    // The second goes out at 2 s and is given up at 3 s; the third is in line then, and never goes out.
    assert_eq!(answers("permits = 1", "", "3s"), ([1, 0, 0, 2, 0], 2));
    // A gateway that tries each of the two three times within the two seconds.
    let retries =
        r#"{ name = "gateway", kind = "hop", max_attempts = 3, retry_on = "any", backoff = { fixed = "500ms" } },"#;
    assert_eq!(answers(refusing, retries, "9s"), ([1, 0, 6, 0, 0], 1));
}

#[test]
fn a_variant_can_take_out_what_a_guard_may_go_without() {
    let guards = |guard: &str| read(&turns(guard, "", r#"{ guard = "slots" }"#, FIVE, TEN_SECONDS)).guards;
    let bare = guards(&semaphore("permits = 1"));
    assert_eq!(guards(&semaphore(r#"permits = 1, wait_at_most = "none", line_at_most = "none""#)), bare);
    let rejecting = r#"permits = 1, when_full = "reject""#;
    let both = format!(r#"{rejecting}, wait_at_most = "none", line_at_most = "none""#);
    assert_eq!(guards(&semaphore(&both)), guards(&semaphore(rejecting)));
    let pool = |more: &str| guards(&format!("[guards.slots]\npool = {{ connections = 1{more} }}"));
    assert_eq!(pool(r#", timeout = "none""#), pool(""));
    assert_ne!(pool(r#", timeout = "1s""#), pool(""));
    // The shipped line with room for ten, without the wait of 30 s.
    let short = shipped(
        "late_line",
        "thirty_seconds",
        &["guards.line.semaphore.line_at_most=10", "guards.line.semaphore.wait_at_most=none"],
    );
    assert_eq!(short.guards[0].mechanism, guards(&semaphore("permits = 10, line_at_most = 10"))[0].mechanism);
}

#[test]
fn the_shipped_batch_shows_the_published_bucket_failing_and_the_repaired_one_not() {
    let run = |variant: &str| Run::of(&super::stage::shipped("concurrency", variant, &[]), 1);
    let (published, repaired, bare) = (run("published"), run("repaired"), run("bare"));
    let throttled = |run: &Run| run.number("classes.document.requests_429_share");
    // Published: the limit lets 10 of at most 15 a second pass, and each refused one comes again.
    assert!((0.2..0.4).contains(&throttled(&published)), "{}", throttled(&published));
    assert!(published.count("classes.document.failed") > 0);
    // Repaired, by hand: 7.5 in hand, then 7.5 a second: the last of 1,500 passes at (1,500 - 7.5) / 7.5 = 199 s, less what
    // the arrivals within the first second change.
    assert_eq!((throttled(&repaired), repaired.count("classes.document.failed")), (0.0, 0));
    let last = repaired.number("classes.document.latency_s.max");
    assert!((197.0..200.0).contains(&last), "{last}");
    assert!(throttled(&bare) > 0.8 && bare.count("classes.document.failed") > 750);
    for run in [&published, &repaired] {
        assert_eq!(run.count("guards.slots.most_in_use"), 10);
    }
}
