//! Queueing theory: the interval over replicates covers the formula. Jobs in a FIFO queue before workers whose service
//! is the provider's latency are an M/G/c queue; turns, which nobody queues, are an M/G/∞ one.

use retrycast::random::math;
use retrycast::sim::Fact;
use retrycast::stats::Statistic;

use super::stage::{Replicates, Run, facts, read};

/// Poisson arrivals, one step, no retries. What arrives in the phase `steady` is measured: 50 minutes after ten minutes
/// of warming up, and half an hour for all of it to be served.
fn queue(rate: &str, workers: u32, service: &str) -> retrycast::scenario::Scenario {
    read(&format!(
        r#"
        horizon = "90m"
        [clients.plain]
        layers = []
        [traffic.job]
        kind = "jobs"
        client = "plain"
        workers = {workers}
        arrivals = {{ poisson = "{rate}" }}
        steps = [{{ name = "work", input_tokens = 1, latency = {service} }}]
        [phases]
        steady = {{ from = "10m", until = "60m" }}
        "#
    ))
}

/// The 99 % interval of the mean over 40 replicates must cover the formula: t(39) = 2.708.
#[track_caller]
fn covers(statistic: &Statistic, formula: f64) {
    assert_eq!(statistic.n, 40);
    let half = 2.708 * statistic.sd.unwrap() / 40_f64.sqrt();
    let (mean, seed) = (statistic.mean, SEED);
    assert!((mean - formula).abs() <= half, "{mean} ± {half}, the formula says {formula}; seed {seed}, 40 replicates");
    // An interval that covers everything shows nothing.
    assert!(half <= 0.1 * formula, "± {half} is too wide to tell");
}

const SEED: u64 = 31;
const SOJOURN: &str = "phases.steady.classes.job.latency_s.mean";

#[track_caller]
fn sojourn_covers(rate: &str, workers: u32, service: &str, formula: f64) -> Replicates {
    let replicates = Replicates::of(&queue(rate, workers, service), SEED, 40);
    covers(replicates.statistic(SOJOURN), formula);
    replicates
}

#[test]
fn the_sojourn_in_an_mm1_queue_is_1_over_mu_minus_lambda() {
    // M/M/1 (Erlang 1909): λ = 0.6/s, μ = 1/s: 1/(μ − λ) = 2.5 s.
    sojourn_covers("0.6/s", 1, r#"{ exponential = { mean = "1s" } }"#, 2.5);
}

/// The probability that an arrival has to wait before `c` servers at the offered load `a` (Erlang 1917, formula C).
fn erlang_c(c: u32, a: f64) -> f64 {
    // The blocking probability by its recursion B(n) = a·B(n−1) / (n + a·B(n−1)), then C from B.
    let blocking = (1..=c).fold(1.0, |b, n| a * b / (f64::from(n) + a * b));
    let utilisation = a / f64::from(c);
    blocking / (1.0 - utilisation * (1.0 - blocking))
}

#[test]
fn erlang_c_is_right_where_it_is_known() {
    // By hand: one server waits with probability ρ; for c = 2 it is 2ρ²/(1 + ρ).
    assert!((erlang_c(1, 0.6) - 0.6).abs() < 1e-12);
    assert!((erlang_c(2, 1.5) - 2.0 * 0.75 * 0.75 / 1.75).abs() < 1e-12);
}

#[test]
fn the_wait_in_an_mmc_queue_is_erlang_c() {
    for (rate, lambda, c) in [("1.4/s", 1.4, 2), ("2.4/s", 2.4, 3), ("6.4/s", 6.4, 8)] {
        let wait = erlang_c(c, lambda) / (f64::from(c) - lambda);
        sojourn_covers(rate, c, r#"{ exponential = { mean = "1s" } }"#, 1.0 + wait);
    }
}

#[test]
fn the_wait_in_an_mg1_queue_is_that_of_pollaczek_and_khinchine() {
    // W = λ·E[S²] / 2(1 − ρ) + E[S] (Khinchine 1932).
    let formula = |lambda: f64, mean: f64, square: f64| lambda * square / (2.0 * (1.0 - lambda * mean)) + mean;
    // Constant: E[S²] = 1, half the wait of M/M/1. Uniform on 0..2: 4/3. Gamma with cv 1.5: 1 + 1.5². Lognormal with
    // σ = 0.5: exp(σ²).
    sojourn_covers("0.7/s", 1, r#""1s""#, formula(0.7, 1.0, 1.0));
    sojourn_covers("0.7/s", 1, r#"{ uniform = ["0s", "2s"] }"#, formula(0.7, 1.0, 4.0 / 3.0));
    sojourn_covers("0.5/s", 1, r#"{ gamma = { mean = "1s", cv = 1.5 } }"#, formula(0.5, 1.0, 3.25));
    sojourn_covers(
        "0.7/s",
        1,
        r#"{ lognormal = { mean = "1s", sigma = 0.5 } }"#,
        formula(0.7, 1.0, 1.284_025_416_687_741_5),
    );
}

#[test]
fn workers_are_busy_for_the_offered_load() {
    // Utilisation law: λ·E[S] = 2.4 workers of 4, over the 50 minutes of the phase.
    let replicates = Replicates::of(&queue("1.2/s", 4, r#"{ exponential = { mean = "2s" } }"#), SEED, 40);
    covers(replicates.statistic("phases.steady.classes.job.worker_time_s.serving"), 2.4 * 3_000.0);
    covers(replicates.statistic("phases.steady.classes.job.worker_time_s.idle"), 1.6 * 3_000.0);
}

/// Tasks in the system as each arrival finds it, without itself, from minute 10 to minute 60.
fn found_by_arrivals(scenario: &retrycast::scenario::Scenario, seed: u64) -> Vec<f64> {
    let (mut inside, mut found) = (0_u32, Vec::new());
    for fact in facts(scenario, seed) {
        match fact {
            Fact::TaskArrived { at, .. } => {
                if (600.0..3_600.0).contains(&at.as_secs_f64()) {
                    found.push(f64::from(inside));
                }
                inside += 1;
            }
            Fact::TaskEnded { .. } => inside -= 1,
            Fact::RequestEnded { .. } => {}
        }
    }
    found
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn littles_law_holds_for_what_arrivals_find() {
    // L = λ·W (Little 1961), and Poisson arrivals see time averages (Wolff 1982): M/M/1 with ρ = 0.6 has L = 1.5.
    let scenario = queue("0.6/s", 1, r#"{ exponential = { mean = "1s" } }"#);
    let seen: Vec<f64> = (0..40).map(|seed| mean(&found_by_arrivals(&scenario, seed))).collect();
    covers(&Statistic::of(&seen).unwrap(), 1.5);
}

#[test]
fn turns_in_progress_have_the_mean_and_the_variance_of_a_poisson_number() {
    // M/G/∞: Poisson with mean λ·E[S] = 8, whatever the distribution of S.
    let text = r#"
        horizon = "70m"
        clients.plain.layers = []
        [traffic.turn]
        kind = "turns"
        client = "plain"
        arrivals = { poisson = "4/s" }
        steps = [{ name = "say", input_tokens = 1, latency = { uniform = ["0s", "4s"] } }]
    "#;
    let scenario = read(text);
    let (mut means, mut variances) = (Vec::new(), Vec::new());
    for seed in 0..40 {
        let found = found_by_arrivals(&scenario, seed);
        let m = mean(&found);
        means.push(m);
        variances.push(found.iter().map(|n| (n - m) * (n - m)).sum::<f64>() / found.len() as f64);
    }
    covers(&Statistic::of(&means).unwrap(), 8.0);
    covers(&Statistic::of(&variances).unwrap(), 8.0);
}

/// Turns whose requests each fail with probability `p`, at once, under this client.
fn flaky(p: &str, turns: u32, layers: &str) -> Run {
    let text = format!(
        r#"
        horizon = "1h"
        [provider.faults.flaky]
        probability = {p}
        respond = {{ status = 500, after = "0s" }}
        [clients.stack]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "stack"
        arrivals = {{ count = {turns} }}
        steps = [{{ name = "say", input_tokens = 1, latency = "0s" }}]
        "#
    );
    Run::of(&read(&text), SEED)
}

fn layers(attempts: &[u32]) -> String {
    let layer = |(n, most): (usize, &u32)| format!(r#"{{ name = "l{n}", max_attempts = {most}, retry_on = "any" }}"#);
    attempts.iter().enumerate().map(layer).collect::<Vec<_>>().join(", ")
}

#[test]
fn nested_layers_send_what_one_flat_layer_of_their_product_sends() {
    // Independent failures: (1 − pⁿ)/(1 − p) requests a task and success with 1 − pⁿ, n = 36.
    for (p, mean, success) in [("0.5", 2.0, 1.0), ("0.9", 9.774_7, 0.977_47)] {
        let turns = 30_000;
        let nested = flaky(p, turns, &layers(&[3, 4, 3]));
        let (requests, delivered) = (nested.count("classes.turn.requests"), nested.count("classes.turn.delivered"));
        let n = f64::from(turns);
        // The spread of a geometric number of tries is below 1/(1 − p); three standard errors of the mean.
        let error = 3.0 / (1.0 - p.parse::<f64>().unwrap()) / n.sqrt();
        assert!((requests as f64 / n - mean).abs() < error, "{requests}");
        assert!((delivered as f64 / n - success).abs() < 3.0 * (success * (1.0 - success) / n).sqrt() + 1e-9);
        // Draws belong to requests and not to layers, so the same number of tries meets the very same draws.
        for stack in [&[36][..], &[36, 1], &[4, 9], &[2, 3, 3, 2]] {
            let other = flaky(p, turns, &layers(stack));
            assert_eq!(other.count("classes.turn.requests"), requests, "{stack:?}");
            assert_eq!(other.count("classes.turn.delivered"), delivered, "{stack:?}");
        }
        let short = flaky(p, turns, &layers(&[3, 4]));
        let p: f64 = p.parse().unwrap();
        let most = (1.0 - math::pow(p, 12.0)) / (1.0 - p);
        assert!((short.number("classes.turn.amplification") - most).abs() < error);
    }
    let never = flaky("1", 1_000, &layers(&[3, 4, 3]));
    assert_eq!(never.count("classes.turn.requests"), 36_000);
    assert_eq!(never.count("classes.turn.failed"), 1_000);
    assert_eq!(flaky("0", 1_000, &layers(&[3, 4, 3])).count("classes.turn.requests"), 1_000);
}

#[test]
fn a_token_bucket_admits_what_it_holds_and_what_flows_in() {
    // Two requests a second for an hour against one a second, nobody retries: 60 from the full bucket and one for each
    // of the 3,599.5 seconds until the last request.
    let run = |limit: &str| {
        let text = format!(
            r#"
            horizon = "61m"
            [provider.limits.limit]
            {limit}
            [clients]
            plain.layers = []
            [traffic.turn]
            kind = "turns"
            client = "plain"
            arrivals = {{ every = "500ms", until = "1h" }}
            steps = [{{ name = "say", input_tokens = 250, latency = "1s" }}]
            "#
        );
        Run::of(&read(&text), 1)
    };
    let admitted = |limit: &str| run(limit).count("limits.limit.admitted");
    assert_eq!(admitted("counts = \"requests\"\namount = 60\nper = \"1m\""), 60 + 3_599);
    assert_eq!(admitted("counts = \"requests\"\namount = 3600\nper = \"1h\"\ncapacity = \"10s\""), 10 + 3_599);
    // 250 tokens a request and 250 tokens a second are the same limit.
    assert_eq!(admitted("counts = \"input_tokens\"\namount = \"15k\"\nper = \"1m\""), 60 + 3_599);
    let all = run("counts = \"requests\"\namount = 120\nper = \"1m\"\ncapacity = \"1s\"");
    assert_eq!((all.count("limits.limit.admitted"), all.count("limits.limit.refused")), (7_200, 0));
}

#[test]
fn a_pacer_lets_jobs_begin_at_its_rate_and_loses_none() {
    // 100 jobs at once, 50 workers, one request each: three at once, then one every two seconds: the last begins at
    // (100 − 3) · 2 s and takes 5 s. Fifty workers hold the fifty next ones asleep in the pacer.
    let instants = vec![r#""0s""#; 100].join(", ");
    let text = format!(
        r#"
        horizon = "10m"
        [guards.share]
        pacer = {{ counts = "requests", amount = 30, per = "1m", capacity = "6s" }}
        scope = "global"
        [clients.paced]
        layers = [{{ guard = "share" }}]
        [traffic.job]
        kind = "jobs"
        client = "paced"
        workers = 50
        arrivals = {{ at = [{instants}] }}
        steps = [{{ name = "work", input_tokens = 1, latency = "5s" }}]
        "#
    );
    let run = Run::of(&read(&text), 1);
    assert_eq!(run.count("classes.job.delivered"), 100);
    assert_eq!(run.number("classes.job.latency_s.max"), 199.0);
    assert_eq!(run.count("guards.share.waits"), 97);
    assert_eq!(run.count("classes.job.requests"), 100);
}

/// Turns that each hold one of so many permits while they are served.
fn through_a_semaphore(rate: &str, permits: u32, when_full: &str, service: &str) -> retrycast::scenario::Scenario {
    read(&format!(
        r#"
        horizon = "90m"
        [guards.slots]
        semaphore = {{ permits = {permits}, when_full = "{when_full}" }}
        [clients.held]
        layers = [{{ guard = "slots" }}]
        [traffic.turn]
        kind = "turns"
        client = "held"
        arrivals = {{ poisson = "{rate}" }}
        steps = [{{ name = "say", input_tokens = 1, latency = {service} }}]
        [phases]
        steady = {{ from = "10m", until = "60m" }}
        "#
    ))
}

#[test]
fn turns_in_line_before_a_semaphore_wait_as_erlang_c_says() {
    // The permits are the servers of an M/M/c queue, and their line is its queue: λ = 1.4/s, c = 2, μ = 1/s.
    let scenario = through_a_semaphore("1.4/s", 2, "wait", r#"{ exponential = { mean = "1s" } }"#);
    let replicates = Replicates::of(&scenario, SEED, 40);
    let formula = 1.0 + erlang_c(2, 1.4) / (2.0 - 1.4);
    covers(replicates.statistic("phases.steady.classes.turn.latency_s.mean"), formula);
}

#[test]
fn turns_that_a_full_semaphore_refuses_are_those_of_erlang_b() {
    // M/G/c/c loses the same share whatever the service (Erlang 1917): a = 3, c = 4.
    let blocking = (1..=4).fold(1.0, |b, n| 3.0 * b / (f64::from(n) + 3.0 * b));
    let scenario = through_a_semaphore("3/s", 4, "reject", r#"{ uniform = ["0s", "2s"] }"#);
    let replicates = Replicates::of(&scenario, SEED, 40);
    covers(replicates.statistic("phases.steady.classes.turn.failed_share"), blocking);
}
