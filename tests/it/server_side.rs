//! What the server really did, and for whom: effects, their repetitions, its time, and its slots. Expected numbers are
//! worked out by hand; field cases restated say so.

use std::fmt::Write as _;

use super::stage::{Run, read};

/// Turns at time zero.
struct Stage {
    provider: String,
    layers: String,
    turns: usize,
    step: String,
}

impl Stage {
    fn run(&self, seed: u64) -> Run {
        let mut text = String::from("horizon = \"1h\"\n");
        writeln!(text, "{}\n[clients.app]\nlayers = [{}]", self.provider, self.layers).unwrap();
        let at = vec![r#""0s""#; self.turns].join(", ");
        writeln!(text, "[traffic.turn]\nkind = \"turns\"\nclient = \"app\"\narrivals = {{ at = [{at}] }}").unwrap();
        writeln!(text, "steps = [{{ name = \"pay\", input_tokens = 1, {} }}]", self.step).unwrap();
        Run::of(&read(&text), seed)
    }
}

/// Attempts of 30 s each, at once one after the other.
fn impatient(name: &str, attempts: u32) -> String {
    format!(r#"{{ name = "{name}", max_attempts = {attempts}, retry_on = "any", timeout = "30s" }}"#)
}

/// Effects, repeated ones, tasks that failed with one, and the server's time with what of it was for nobody.
fn numbers(run: &Run) -> [f64; 5] {
    ["effects", "repeated_effects", "failed_with_effect", "server_s", "wasted_server_s"]
        .map(|key| run.number(&format!("classes.turn.{key}")))
}

fn slow(provider: &str, layers: String, step: &str) -> [f64; 5] {
    let step = format!(r#"latency = "45s"{step}"#);
    numbers(&Stage { provider: provider.to_owned(), layers, turns: 1, step }.run(1))
}

#[test]
fn who_leaves_is_served_all_the_same_unless_the_provider_notices() {
    // 45 s of service against three attempts of 30 s: charged three times and reported failed.
    assert_eq!(slow("", impatient("sdk", 3), ""), [3.0, 2.0, 1.0, 135.0, 135.0]);
    let notices = "[provider]\nabandoned = \"cancelled\"";
    assert_eq!(slow(notices, impatient("sdk", 3), ""), [0.0, 0.0, 0.0, 90.0, 90.0]);
}

#[test]
fn a_key_is_known_within_its_call_or_within_the_step() {
    // Two calls of two attempts each, all of them left and served.
    let layers = || format!("{}, {{ name = \"again\", max_attempts = 2, retry_on = \"any\" }}", impatient("sdk", 2));
    let effects = |key: &str| {
        let [effects, repeated, failed, ..] = slow("", layers(), &format!(", idempotency = \"{key}\""));
        [effects, repeated, failed]
    };
    assert_eq!(effects("none"), [4.0, 3.0, 1.0]);
    assert_eq!(effects("call"), [2.0, 1.0, 1.0]);
    assert_eq!(effects("task"), [1.0, 0.0, 1.0]);
}

#[test]
fn which_failures_have_an_effect() {
    let with = |respond: &str| {
        let provider = format!("[provider.faults.odd]\nrespond = {respond}");
        let layers = impatient("sdk", 2);
        let stage = Stage { provider, layers, turns: 1, step: r#"latency = "1s", first_token = "500ms""#.to_owned() };
        let [effects, repeated, failed, server, wasted] = numbers(&stage.run(1));
        assert_eq!((repeated, failed), if effects > 0.0 { (1.0, 1.0) } else { (0.0, 0.0) }, "{respond}");
        (effects, server, wasted)
    };
    for none in [
        r#"{ status = 500, after = "2s" }"#,
        r#"{ stream = "failed", after = "2s" }"#,
        r#"{ drop = true, after = "2s" }"#,
        r#"{ unreachable = true, after = "2s" }"#,
        "{ hang = true }",
        "{ connect_hang = true }",
        r#"{ cut = true, after = "2s", carried_out = false }"#,
        r#"{ script = "slow=2s 503" }"#,
    ] {
        assert_eq!(with(none), (0.0, 0.0, 0.0), "{none}");
    }
    // Two attempts of 2 s; a server that falls silent after 2 s is left at 32 s and has worked for 2 s.
    assert_eq!(with(r#"{ cut = true, after = "2s" }"#), (2.0, 4.0, 0.0));
    assert_eq!(with(r#"{ stream = "broken", after = "2s" }"#), (2.0, 4.0, 0.0));
    assert_eq!(with(r#"{ stream = "silent", at = "2s" }"#), (2.0, 4.0, 4.0));
    assert_eq!(with(r#"{ status = 500, after = "2s", carried_out = true }"#), (2.0, 4.0, 0.0));
    assert_eq!(with(r#"{ script = "slow=2s cut" }"#), (2.0, 4.0, 0.0));
    // It did its work and never said so: how long it took nobody knows.
    assert_eq!(with("{ hang = true, carried_out = true }"), (2.0, 0.0, 0.0));
}

#[test]
fn a_queue_that_restarts_a_job_does_its_finished_steps_again() {
    let run = |resume: &str| {
        let text = format!(
            r#"
            horizon = "1h"
            [provider.faults.second]
            window = ["1s", "3s"]
            respond = {{ status = 500, after = "0s" }}
            [clients.app]
            layers = [{{ name = "queue", kind = "queue", max_attempts = 2, retry_on = "any",
                         backoff = {{ fixed = "10s" }}, resume = "{resume}" }}]
            [traffic.job]
            kind = "jobs"
            client = "app"
            workers = 1
            arrivals = {{ at = ["0s"] }}
            steps = [{{ name = "draft", input_tokens = 1, latency = "2s" }},
                     {{ name = "send", input_tokens = 1, latency = "2s" }}]
            "#
        )
        .replace(",\n                         ", ", ");
        let run = Run::of(&read(&text), 1);
        assert_eq!(run.count("classes.job.delivered"), 1);
        (run.count("classes.job.effects"), run.count("classes.job.repeated_effects"))
    };
    assert_eq!((run("restart"), run("failed_step")), ((3, 1), (2, 0)));
}

/// Streams of which a tenth fail before their first token and a twentieth after some output.
fn streams(layers: &str) -> Run {
    const TURNS: usize = 40_000;
    let provider = "[provider.faults.early]\nprobability = 0.1\nrespond = { stream = \"failed\" }\n\
                    [provider.faults.late]\nprobability = 0.0555555555555556\nrespond = { stream = \"broken\" }"
        .to_owned();
    let step = r#"latency = "1s", first_token = "200ms""#.to_owned();
    Stage { provider, layers: layers.to_owned(), turns: TURNS, step }.run(1)
}

#[test]
fn overload_inside_a_stream_is_repeated_after_output_only_by_who_does_not_look() {
    // With a = 0.1 and b = 0.05: an SDK that looks at statuses sends each once and 15 % fail. Up to three tries, after
    // nothing was shown: (1 − a³) / (1 − a) = 1.11 requests, 0.85 · 1.11 delivered. In both cases: 1.1725 requests,
    // 1 − 0.15³ delivered, and b · 1.15 repeats a turn follow output that was shown. Within 3.5 standard errors.
    let per_turn = |run: &Run, key: &str| run.number(&format!("classes.turn.{key}")) / 40_000.0;
    let close = |value: f64, expected: f64, deviation: f64| {
        assert!((value - expected).abs() < 3.5 * deviation / 200.0, "{value} for {expected}");
    };
    let sdk = streams(r#"{ name = "sdk", preset = "anthropic-python-1.13", max_retries = 5 }"#);
    assert_eq!(per_turn(&sdk, "requests"), 1.0);
    close(per_turn(&sdk, "failed"), 0.15, 0.357);
    let careful = streams(r#"{ name = "app", max_attempts = 3, retry_on = ["stream_failed"] }"#);
    close(per_turn(&careful, "requests"), 1.11, 0.35);
    close(per_turn(&careful, "delivered"), 0.9435, 0.231);
    assert_eq!(per_turn(&careful, "repeated_output"), 0.0);
    let careless = streams(r#"{ name = "app", max_attempts = 3, retry_on = ["stream_failed", "stream_broken"] }"#);
    close(per_turn(&careless, "requests"), 1.1725, 0.45);
    close(per_turn(&careless, "delivered"), 0.996_625, 0.058);
    close(per_turn(&careless, "repeated_output"), 0.0575, 0.25);
    // A broken stream was carried out: 1.1725 · 0.9 effects, of which all but the first of the 0.999 turns with any are
    // repeated; 0.15³ − 0.1³ of the turns fail with one.
    close(per_turn(&careless, "effects"), 1.055_25, 0.27);
    close(per_turn(&careless, "repeated_effects"), 0.056_25, 0.25);
    close(per_turn(&careless, "failed_with_effect"), 0.002_375, 0.049);
}

/// Twelve calls at once, five slots, the ladder of the SDKs.
fn twelve(service: &str, retries: u32, seed: u64) -> (u64, u64, u64) {
    let provider = "[provider.limits.connections]\ncounts = \"in_flight\"\namount = 5\nrefuse = { after = \"0s\" }";
    let layers = format!(
        r#"{{ name = "sdk", max_attempts = {}, retry_on = [429], jitter = {{ subtract = "25%" }},
            backoff = {{ exponential = {{ initial = "500ms", cap = "8s" }} }} }}"#,
        retries + 1
    )
    .replace(",\n            ", ", ");
    let step = format!("latency = \"{service}\"");
    let run = Stage { provider: provider.to_owned(), layers, turns: 12, step }.run(seed);
    assert_eq!(run.count("limits.connections.most_in_flight"), 5);
    assert_eq!(run.count("limits.connections.admitted"), run.count("classes.turn.delivered"));
    assert_eq!(run.count("limits.connections.refused"), run.count("classes.turn.responses.429"));
    ["delivered", "failed", "requests"].map(|key| run.count(&format!("classes.turn.{key}"))).into()
}

#[test]
fn retries_are_over_before_a_slot_is_free_where_service_takes_longer_than_the_ladder() {
    // Of 12 calls five are served; the others come back within 0.5 s and within 1.5 s. Slots are free after 3 s: none of
    // them succeeds. After 1 s: five more succeed on their second retry. With five retries the last two as well, on
    // their third.
    for seed in 1..=50 {
        assert_eq!(twelve("3s", 2, seed), (5, 7, 26), "seed {seed}");
        assert_eq!(twelve("1s", 2, seed), (10, 2, 26), "seed {seed}");
        assert_eq!(twelve("1s", 5, seed), (12, 0, 28), "seed {seed}");
    }
}

/// One slot, two calls: the first leaves after a second of three, the second comes at two.
fn zombie(abandoned: &str) -> (u64, u64) {
    let text = format!(
        r#"
        horizon = "1m"
        [provider]
        abandoned = "{abandoned}"
        [provider.limits.connections]
        counts = "in_flight"
        amount = 1
        [clients.app]
        layers = [{{ name = "http", max_attempts = 1, retry_on = "any", timeout = "1s" }}]
        [clients.patient]
        layers = []
        [traffic.first]
        kind = "turns"
        client = "app"
        arrivals = {{ at = ["0s"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "3s" }}]
        [traffic.second]
        kind = "turns"
        client = "patient"
        arrivals = {{ at = ["2s", "3s"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "100ms" }}]
        "#
    );
    let run = Run::of(&read(&text), 1);
    assert_eq!(run.count("classes.first.failed"), 1);
    (run.count("classes.second.delivered"), run.count("limits.connections.refused"))
}

#[test]
fn a_request_that_nobody_waits_for_keeps_its_slot_where_the_server_does_not_notice() {
    // Served until 3 s: the call at 2 s is refused, the one at the instant of the end is not.
    assert_eq!((zombie("served"), zombie("cancelled")), ((1, 1), (2, 0)));
}

#[test]
fn a_full_limit_can_say_when_its_next_slot_is_free() {
    // Two calls, one slot, 3 s of service: the second is told 3 s, and finds the slot free at that very instant.
    let provider = "[provider.limits.connections]\ncounts = \"in_flight\"\namount = 1\n\
                    refuse = { status = 503, after = \"0s\", hint = \"exact\" }"
        .to_owned();
    let layers = r#"{ name = "sdk", max_attempts = 2, retry_on = [503], hint = "obey" }"#.to_owned();
    let run = Stage { provider, layers, turns: 2, step: "latency = \"3s\"".to_owned() }.run(1);
    assert_eq!((run.count("classes.turn.delivered"), run.count("classes.turn.requests")), (2, 3));
    assert_eq!(run.number("classes.turn.latency_s.max"), 6.0);
}

#[test]
fn of_two_requests_for_one_the_slower_is_done_for_nobody() {
    // The second goes out after 1 s; the first is there after 5 s, when 4 s of the second are done and 1 s is left.
    let hedged = |abandoned: &str, step: &str| {
        let provider = format!(
            "[provider]\nabandoned = \"{abandoned}\"\n\
             [provider.limits.connections]\ncounts = \"in_flight\"\namount = 2"
        );
        let layers = r#"{ name = "hedge", hedge = { max = 2, delay = "1s" } }"#.to_owned();
        let run = Stage { provider, layers, turns: 1, step: format!("latency = \"5s\"{step}") }.run(1);
        assert_eq!((run.count("classes.turn.delivered"), run.count("limits.connections.most_in_flight")), (1, 2));
        (numbers(&run), run)
    };
    assert_eq!(hedged("served", "").0, [2.0, 1.0, 0.0, 10.0, 5.0]);
    assert_eq!(hedged("cancelled", "").0, [1.0, 0.0, 0.0, 9.0, 4.0]);
    assert_eq!(hedged("served", ", idempotency = \"call\"").0, [1.0, 0.0, 0.0, 10.0, 5.0]);
    // The first token is that of the request that won.
    let (_, run) = hedged("served", ", first_token = \"2s\"");
    assert_eq!(run.number("classes.turn.first_token_s.max"), 2.0);
}

/// Two steps at once and so many slots: one is left after 2 s of 9, the other would be served for 10 s.
fn two_at_once(abandoned: &str, slots: u32) -> [f64; 5] {
    let text = format!(
        r#"
        horizon = "1h"
        [provider]
        abandoned = "{abandoned}"
        [provider.limits.connections]
        counts = "in_flight"
        amount = {slots}
        [clients.app]
        layers = []
        [clients.short]
        layers = [{{ name = "http", max_attempts = 1, retry_on = "any", timeout = "2s" }}]
        [traffic.turn]
        kind = "turns"
        client = "app"
        when_one_fails = "cancel"
        arrivals = {{ at = ["0s"] }}
        steps = [{{ name = "long", group = "both", input_tokens = 1, latency = "10s" }},
                 {{ name = "short", group = "both", client = "short", input_tokens = 1, latency = "9s" }}]
        "#
    )
    .replace("},\n                 {", "}, {");
    numbers(&Run::of(&read(&text), 1))
}

#[test]
fn a_step_that_is_dropped_because_another_failed_is_done_for_nobody() {
    // Both find a slot; the short one is left after 2 s of 9, and the long one is dropped then.
    assert_eq!(two_at_once("served", 2), [2.0, 0.0, 1.0, 19.0, 19.0]);
    assert_eq!(two_at_once("cancelled", 2), [0.0, 0.0, 0.0, 4.0, 4.0]);
    // One slot: the second is refused after 100 ms, and fails without an effect; the first is dropped then.
    assert_eq!(two_at_once("served", 1), [1.0, 0.0, 0.0, 10.0, 10.0]);
    assert_eq!(two_at_once("cancelled", 1), [0.0, 0.0, 0.0, 0.1, 0.1]);
}

#[test]
fn slots_may_be_for_some_models_only() {
    // One slot for the large model: of two calls to each, one of the large ones is refused.
    let text = r#"
        horizon = "1m"
        [provider.limits.large]
        counts = "in_flight"
        amount = 1
        models = ["large"]
        [clients.app]
        layers = []
        [traffic.large]
        kind = "turns"
        client = "app"
        arrivals = { at = ["0s", "1s"] }
        steps = [{ name = "ask", model = "large", input_tokens = 1, latency = "5s" }]
        [traffic.small]
        kind = "turns"
        client = "app"
        arrivals = { at = ["0s", "1s"] }
        steps = [{ name = "ask", model = "small", input_tokens = 1, latency = "5s" }]
        "#;
    let run = Run::of(&read(text), 1);
    assert_eq!((run.count("classes.large.delivered"), run.count("classes.small.delivered")), (1, 2));
    assert_eq!((run.count("limits.large.admitted"), run.count("limits.large.refused")), (1, 1));
    assert_eq!(run.count("classes.large.models.large.answered_by.limit:large"), 1);
}

#[test]
fn an_answer_of_a_script_is_not_admitted_by_a_limit() {
    // A script's 200 costs nothing of a limit: of two turns, the one that the script spares is admitted.
    let provider = "[provider.limits.rpm]\ncounts = \"requests\"\namount = 60\nper = \"1m\"\n\
        [provider.faults.once]\nwindow = [\"0s\", \"1s\"]\nrespond = { script = \"200 slow=2s\" }";
    let admitted = |window: &str| {
        let provider = provider.replace("[\"0s\", \"1s\"]", window);
        let stage = Stage { provider, layers: String::new(), turns: 1, step: "latency = \"1s\"".to_owned() };
        stage.run(1).count("limits.rpm.admitted")
    };
    assert_eq!((admitted("[\"0s\", \"1s\"]"), admitted("[\"1s\", \"2s\"]")), (0, 1));
}
