//! Backoff against a limiter that counts what it accepted within a second: backoff-simulator by cosmo-grant, its
//! `ThrottlingServer` (MIT).

use super::{Number, Published, Row, each, hold, is_full, read, replicates};

/// What comes back is there this much later than it was accepted, on average, in milliseconds.
const HOP: f64 = 10.0;

/// So many clients that all ask at the beginning and wait like this until they are let in: their requests, and when the
/// last answer is there, in milliseconds.
fn crowd(clients: usize, limit: u32, waits: &str, n: u64) -> [Vec<f64>; 2] {
    let scenario = read(&format!(
        r#"
        horizon = "2m"
        [provider.network]
        send = {{ normal = {{ mean = "10ms", sd = "2ms" }} }}
        receive = {{ normal = {{ mean = "10ms", sd = "2ms" }} }}
        [provider.limits.window]
        counts = "requests"
        algorithm = "sliding_log"
        amount = {limit}
        per = "1s"
        refuse = {{ after = "0s", hint = "none" }}
        [clients.caller]
        layers = [{{ name = "sdk", max_attempts = 100_000, retry_on = [429], {waits} }}]
        [traffic.turn]
        kind = "turns"
        client = "caller"
        arrivals = {{ at = [{at}] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#,
        at = vec!["\"0s\""; clients].join(", "),
    ));
    each(&scenario, 11, n, |run| {
        assert_eq!(run.count("classes.turn.delivered"), clients as u64);
        [run.number("classes.turn.requests"), 1e3 * run.number("classes.turn.latency_s.max")]
    })
}

pub(super) fn rows() -> Vec<Row> {
    let ladder = r#"backoff = { exponential = { initial = "5ms", cap = "2s" } }"#;
    let waits = [
        ("no wait", r#"backoff = "none""#.to_owned()),
        ("100 ms", r#"backoff = { fixed = "100ms" }"#.to_owned()),
        ("exponential waits without jitter", ladder.to_owned()),
        ("full jitter", format!("{ladder}, jitter = \"full\"")),
        ("equal jitter", format!("{ladder}, jitter = \"equal\"")),
    ];
    // Requests, and when the last slot is free again: a second after it was taken.
    let table = [
        (100, 10, [(22597.5, 10029.0), (4019.9, 10632.0), (1180.0, 17916.0), (1243.8, 11783.0), (1101.5, 12002.0)]),
        (100, 20, [(10108.5, 5029.0), (1884.6, 5357.0), (860.0, 7808.0), (922.0, 6691.0), (856.5, 6994.0)]),
        (50, 10, [(5052.3, 5029.0), (942.0, 5354.0), (430.0, 7803.0), (463.1, 6731.0), (428.8, 6873.0)]),
    ];
    let mut rows = Vec::new();
    for (clients, limit, cells) in table {
        for ((name, waits), (requests, end)) in waits.iter().zip(cells) {
            if !is_full() && requests > 5_000.0 {
                continue;
            }
            let [found, ends] = crowd(clients, limit, waits, replicates(40, 6));
            let last = Published::of(20, end - 1_000.0 + HOP, 0);
            let numbers = vec![Number::new(Published::of(20, requests, 1), &found), Number::new(last, &ends)];
            let situation =
                format!("{clients} clients at once, {limit} in any second, {name}: requests, the last answer in ms");
            rows.push(Row::new("backoff-simulator", situation, numbers));
        }
    }
    rows
}

#[test]
fn a_crowd_before_a_window_asks_as_often_as_was_published() {
    hold(rows);
}
