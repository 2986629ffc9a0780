//! What happens at one instant: a run is killed when its requests arrive, a caller is thrown out of a line when nobody wants
//! it any more.

use super::stage::{Run, read};

#[test]
fn requests_of_a_run_that_is_killed_as_they_arrive_have_not_arrived() {
    // By hand: 120 jobs of three runs, each of which sends the two requests of its group and ends when they would be there:
    // 720 requests, none of which a server sees.
    let text = r#"
        horizon = "2m"
        [provider.capacity]
        servers = 2
        queue = 10
        [provider.network]
        send = "100ms"
        [clients.c]
        layers = [{ name = "queue", kind = "queue", max_attempts = 3, retry_on = "any" }]
        [traffic.job]
        kind = "jobs"
        client = "c"
        workers = 5
        queue = { timeout = "100ms" }
        arrivals = { every = "1s" }
        steps = [
            { name = "quick", input_tokens = 1, latency = "10ms", group = "g" },
            { name = "slow", input_tokens = 1, latency = "2s", group = "g" },
        ]
    "#;
    let run = Run::of(&read(text), 1);
    let counts = ["offered", "failed", "runs", "requests"].map(|key| run.count(&format!("classes.job.{key}")));
    assert_eq!(counts, [120, 120, 360, 720]);
    assert_eq!(run.number("classes.job.server_s"), 0.0);
    // The same where each request is hedged, beside somebody who keeps the servers busy.
    let hedged = text
        .replace(
            r#"layers = [{ name = "queue""#,
            r#"layers = [{ hedge = { max = 2, delay = "1s" } }, { name = "queue""#,
        )
        .replace(r#", group = "g""#, "");
    let run = Run::of(&read(&hedged), 1);
    assert_eq!([run.count("classes.job.requests"), run.count("classes.job.failed")], [360, 120]);
}

#[test]
fn who_was_thrown_out_of_a_line_and_is_not_wanted_any_more_gives_no_permit_back() {
    // Of two permits there are never more than two out, and in the end none is missing: who gives back what it never had
    // lets a third one in.
    for guard in [r"semaphore = { permits = 2,", r#"concurrency = { algorithm = "gradient", max = 2,"#] {
        let text = format!(
            r#"
            horizon = "2m"
            [guards.gate]
            {guard} line_at_most = 20, line_full = "drop_first" }}
            scope = "global"
            [clients.c]
            layers = [{{ guard = "gate" }}]
            [traffic.pair]
            kind = "turns"
            client = "c"
            arrivals = {{ every = "100ms" }}
            when_one_fails = "cancel"
            steps = [
                {{ name = "slow", input_tokens = 1, latency = {{ exponential = {{ mean = "2s" }} }}, group = "g" }},
                {{ name = "quick", input_tokens = 1, latency = "10ms", group = "g" }},
            ]
            [traffic.single]
            kind = "turns"
            client = "c"
            arrivals = {{ poisson = "5/s" }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "50ms" }}]
            "#
        );
        for seed in 1..=5 {
            let run = Run::of(&read(&text), seed);
            assert_eq!(run.count("guards.gate.most_in_use"), 2, "{guard}, seed {seed}");
            let count = |class: &str, key: &str| run.count(&format!("classes.{class}.{key}"));
            for class in ["pair", "single"] {
                let ends = ["delivered", "failed", "unfinished"].map(|key| count(class, key)).iter().sum::<u64>();
                assert_eq!(ends, count(class, "offered"), "{guard}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_layer_that_repeats_nothing_that_can_happen_is_explained() {
    // Five attempts at what nothing repeats are one.
    let text = r#"
        horizon = "1m"
        [clients.c]
        layers = [
            { hedge = { max = 4, delay = "100ms" } },
            { name = "sdk", max_attempts = 5, retry_on = ["limiter_full"] },
        ]
        [traffic.turn]
        kind = "turns"
        client = "c"
        arrivals = { count = 20 }
        steps = [{ name = "ask", input_tokens = 1, latency = "2s" }]
    "#;
    let explained = retrycast::explain::explain(&read(text));
    assert_eq!(explained.classes[0].step_worst.per_call_site, Some(4));
}
