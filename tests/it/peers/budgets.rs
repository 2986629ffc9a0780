//! Retries against a server that fails each attempt with the same probability, whatever the load: Brooker 2022, "Fixing
//! retries with token buckets and circuit breakers", and his program `retry_sim` (BSD-2-Clause). A hundred clients, each
//! with its own budget, are a hundred processes of one class.

use super::{Number, Published, Row, each, hold, is_full, read, replicates};

/// What a client does after a failure; three retries but for the budgets.
const NONE: &str = "max_attempts = 1";
const THREE: &str = "max_attempts = 4";
/// Five retries at once, and one for every ten calls that come; a retry needs more than it costs.
const BUCKET: &str = r#"max_attempts = "unlimited", budget = { quota = { capacity = 50, cost = 10, deposit = 1, refund = 0, retried_refund = 0, leaves = 1 }, scope = "process" }"#;
/// No retry while more than a tenth has failed.
const SHARE: &str = r#"max_attempts = 4, budget = { failure_share = { at_most = "10%" }, scope = "process" }"#;

/// Successes and requests for each call, replicate by replicate.
fn outcome(layer: &str, clients: u32, rate: f64, p: f64, seconds: u32, n: u64) -> [Vec<f64>; 2] {
    let scenario = read(&format!(
        r#"
        horizon = "{horizon}s"
        [provider.network]
        send = {{ exponential = {{ mean = "10ms" }} }}
        receive = {{ exponential = {{ mean = "10ms" }} }}
        [provider.faults.coin]
        probability = {p}
        respond = {{ status = 500, after = "0s" }}
        [clients.caller]
        layers = [{{ name = "sdk", retry_on = [500], {layer} }}]
        [traffic.turn]
        kind = "turns"
        processes = {clients}
        client = "caller"
        arrivals = {{ poisson = "{total}/s", until = "{seconds}s" }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#,
        horizon = seconds + 10,
        // Each client makes its first call at the beginning.
        total = (rate + 1.0 / f64::from(seconds)) * f64::from(clients),
    ));
    each(&scenario, 7, n, |run| {
        let [delivered, offered] = ["delivered", "offered"].map(|key| run.number(&format!("classes.turn.{key}")));
        [delivered / offered, run.number("classes.turn.amplification")]
    })
}

/// A share of successes of so many calls: between two runs it differs at least as that of so many tosses of a coin.
fn share(published: Published, calls: f64, values: &[f64]) -> Number {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let own = squares / (values.len() as f64 - 1.0);
    let coin = published.mean * (1.0 - published.mean) / calls;
    Number::new(published.with_sd(own.max(coin).sqrt()), values)
}

pub(super) fn rows() -> Vec<Row> {
    // Successes of a call, and requests for each, for none, three retries, the bucket, and the failure share.
    let table: [(f64, [(f64, f64); 4]); 11] = [
        (0.01, [(0.990, 1.0), (1.0, 1.010), (1.0, 1.010), (0.9999, 1.011)]),
        (0.02, [(0.979, 1.0), (1.0, 1.021), (1.0, 1.019), (0.9998, 1.020)]),
        (0.05, [(0.951, 1.0), (1.0, 1.054), (0.9998, 1.051), (0.9981, 1.051)]),
        (0.075, [(0.927, 1.0), (1.0, 1.082), (0.9966, 1.079), (0.9913, 1.072)]),
        (0.1, [(0.899, 1.0), (0.9999, 1.111), (0.9847, 1.094), (0.9306, 1.035)]),
        (0.2, [(0.801, 1.0), (0.9984, 1.250), (0.8829, 1.104), (0.7991, 1.0)]),
        (0.3, [(0.700, 1.0), (0.9921, 1.418), (0.7734, 1.104), (0.7020, 1.0)]),
        (0.4, [(0.601, 1.0), (0.9749, 1.620), (0.6599, 1.104), (0.5985, 1.0)]),
        (0.5, [(0.499, 1.0), (0.9361, 1.882), (0.5534, 1.104), (0.5001, 1.0)]),
        (0.75, [(0.250, 1.0), (0.6868, 2.730), (0.2749, 1.104), (0.2514, 1.0)]),
        (1.0, [(0.0, 1.0), (0.0, 4.0), (0.0, 1.104), (0.0, 1.0)]),
    ];
    let names = ["no retry", "three retries", "a token bucket each", "none while over 10 % have failed"];
    let layers = [NONE, THREE, BUCKET, SHARE];
    let few = [0.1, 0.5, 1.0];
    let clients = replicates(100, 10) as u32;
    let mut rows = Vec::new();
    for (p, published) in table.into_iter().filter(|(p, _)| is_full() || few.contains(p)) {
        for ((name, layer), (success, load)) in names.iter().zip(layers).zip(published) {
            let [successes, loads] = outcome(layer, clients, 10.0, p, 100, 5);
            let decimals = if *name == "no retry" { 3 } else { 4 };
            // A tenth of the clients: what differs between runs of all of them is less by the root of ten.
            let runs = 100.0 / f64::from(clients);
            let of = |mean, decimals| Published { replicates: runs, ..Published::once(mean, decimals) };
            let numbers = vec![share(of(success, decimals), 1e5 / runs, &successes), Number::new(of(load, 3), &loads)];
            rows.push(Row::new(
                "Brooker",
                format!("{} % of attempts fail, 100 clients, {name}: successes, load", 100.0 * p),
                numbers,
            ));
        }
    }
    rows.extend(counts());
    rows.extend(open());
    rows.extend(closed());
    rows
}

/// Which share of attempts fails, and successes and load with a bucket and with a failure share.
type ByShare = (f64, [(f64, f64); 2]);

/// A hundred calls a second of ten, a hundred and a thousand clients: what each of them may save up counts for more.
fn counts() -> Vec<Row> {
    let table: [(u32, [ByShare; 3]); 3] = [
        (
            10,
            [
                (0.075, [(0.9954, 1.081), (0.9935, 1.077)]),
                (0.2, [(0.8854, 1.104), (0.7956, 1.001)]),
                (0.5, [(0.5543, 1.104), (0.5066, 1.000)]),
            ],
        ),
        (
            100,
            [
                (0.075, [(0.9980, 1.082), (0.9648, 1.041)]),
                (0.2, [(0.9103, 1.135), (0.8000, 1.002)]),
                (0.5, [(0.5684, 1.142), (0.5118, 1.000)]),
            ],
        ),
        (
            1000,
            [
                (0.075, [(0.9998, 1.082), (0.9263, 1.005)]),
                (0.2, [(0.9893, 1.231), (0.8024, 1.004)]),
                (0.5, [(0.7257, 1.461), (0.4961, 1.000)]),
            ],
        ),
    ];
    let mut rows = Vec::new();
    for (clients, cells) in table {
        for (p, published) in cells.into_iter().filter(|(p, _)| is_full() || *p == 0.5) {
            let found = [BUCKET, SHARE]
                .map(|layer| outcome(layer, clients, 100.0 / f64::from(clients), p, 100, replicates(20, 3)));
            let pairs = published.into_iter().zip(&found);
            let numbers = pairs.flat_map(|((success, load), [successes, loads])| {
                [share(Published::once(success, 4), 1e4, successes), Number::new(Published::once(load, 3), loads)]
            });
            let situation = format!(
                "{} % of attempts fail, 100 calls a second of {clients} clients, a bucket each, and none while over 10 % have \
                 failed: successes, load",
                100.0 * p
            );
            rows.push(Row::new("Brooker", situation, numbers.collect()));
        }
    }
    rows
}

/// Clients that do not wait for one another, with three retries after 0.1, 0.2 and 0.4 s: all attempts of 50 s.
fn open() -> Vec<Row> {
    let table = [(0.01, 50198.0), (0.1, 55636.0), (0.3, 71207.0), (0.5, 93224.0)];
    let row = |(p, attempts): (f64, f64)| {
        let layer = r#"max_attempts = 4, backoff = { exponential = { initial = "100ms" } }"#;
        // Calls come at random, so that their number is no less so.
        let calls = 100.0 * 10.0 * 50.0;
        let [_, loads] = outcome(layer, 100, 10.0, p, 50, replicates(10, 2));
        let found: Vec<f64> = loads.iter().map(|load| load * calls).collect();
        let sd = attempts / f64::sqrt(calls);
        let number = Number::new(Published::once(attempts, 0).with_sd(sd), &found);
        Row::new(
            "Brooker",
            format!("{} % of attempts fail, 100 open clients, three retries with backoff: attempts in 50 s", 100.0 * p),
            vec![number],
        )
    };
    table.into_iter().filter(|(p, _)| is_full() || *p == 0.5).map(row).collect()
}

/// Clients that think for 0.1 s on average when a call has ended, and that have one at a time: the same, all attempts of
/// 50 s. The published clients also wait after a call that has failed for good, as one in sixteen does of the last row.
fn closed() -> Vec<Row> {
    let table = [(0.01, 41756.0), (0.1, 41399.0), (0.3, 37848.0), (0.5, 32170.0)];
    let row = |(p, attempts): (f64, f64)| {
        let scenario = read(&format!(
            r#"
            horizon = "60s"
            [provider.network]
            send = {{ exponential = {{ mean = "10ms" }} }}
            receive = {{ exponential = {{ mean = "10ms" }} }}
            [provider.faults.coin]
            probability = {p}
            respond = {{ status = 500, after = "0s" }}
            [clients.caller]
            layers = [{{ name = "sdk", retry_on = [500], max_attempts = 4, backoff = {{ exponential = {{ initial = "100ms" }} }} }}]
            [traffic.turn]
            kind = "turns"
            client = "caller"
            arrivals = {{ sessions = 100, think = {{ exponential = {{ mean = "100ms" }} }}, until = "50s" }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
            "#
        ));
        let [found] = each(&scenario, 7, replicates(10, 3), |run| [run.number("classes.turn.requests")]);
        let situation = format!(
            "{} % of attempts fail, 100 clients one call at a time, three retries with backoff: attempts in 50 s",
            100.0 * p
        );
        Row::new("Brooker", situation, vec![Number::new(Published::once(attempts, 0), &found)])
    };
    table.into_iter().filter(|(p, _)| is_full() || *p == 0.5).map(row).collect()
}

#[test]
fn budgets_of_many_clients_let_through_what_was_published() {
    hold(rows);
}
