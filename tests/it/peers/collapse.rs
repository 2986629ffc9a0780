//! Servers that an overload keeps down: one that slows down the more it has to do (Brooker 2022, `simple_collapse_sim`,
//! BSD-2-Clause), and the edge at which a real one stays down (Huang et al. 2022, "Metastable Failures in the Wild").

use retrycast::metrics::summarize;
use retrycast::random::Seed;
use retrycast::scenario::Scenario;
use retrycast::sim::{Fact, Fate, simulate_observed};

use super::super::stage::Recorder;
use super::{Number, Published, Row, Run, hold, is_full, read, replicates};

/// Three tries of 3 s each at a server that takes 1 s and a hundredth for each request in service.
fn slowing(arrivals: &str, backoff: &str) -> Scenario {
    read(&format!(
        r#"
        horizon = "80s"
        [provider.network]
        send = {{ exponential = {{ mean = "100ms" }} }}
        receive = {{ exponential = {{ mean = "100ms" }} }}
        [provider.capacity]
        slowdown = 0.01
        [clients.caller]
        layers = [{{ name = "sdk", max_attempts = 3, retry_on = ["timeout"], timeout = {{ total = "3s" }}{backoff} }}]
        [traffic.turn]
        kind = "turns"
        client = "caller"
        arrivals = {{ poisson = {arrivals} }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "1s" }}]
        "#
    ))
}

/// Waits of up to 20 s, 40 s and so on.
const BACKOFF: &str = r#", backoff = { exponential = { initial = "20s" } }, jitter = "full""#;

/// Successes in each 5 s of a run, and tries for each turn: a retry counts when it is decided, however long it waits.
fn course(scenario: &Scenario, seed: Seed) -> ([f64; 16], f64) {
    let mut recorder = Recorder::default();
    let outcome = simulate_observed(scenario, seed, &mut recorder);
    let mut successes = [0.0; 16];
    for fact in recorder.0 {
        if let Fact::TaskEnded { at, fate: Fate::Delivered, .. } = fact {
            successes[(at.as_nanos() / 5_000_000_000) as usize] += 1.0;
        }
    }
    let run = Run(summarize(scenario, &outcome));
    let retries = run.number("classes.turn.layers.sdk.retries");
    (successes, 1.0 + retries / run.number("classes.turn.offered"))
}

fn spike() -> Vec<Row> {
    let arrivals = r#"[["0s", "40/s"], ["20s", "80/s"], ["25s", "40/s"]]"#;
    let runs = |backoff: &str, n: u64| -> Vec<(bool, f64)> {
        let scenario = slowing(arrivals, backoff);
        let run = |k| {
            let (successes, amplification) = course(&scenario, Seed(3).replicate(k));
            (successes[13..].iter().sum::<f64>() < 75.0, amplification)
        };
        (0..n).map(run).collect()
    };
    let share = |runs: &[(bool, f64)]| runs.iter().map(|(down, _)| 100.0 * f64::from(*down)).collect::<Vec<_>>();
    let of = |runs: &[(bool, f64)], wanted: bool| {
        runs.iter().filter(|(down, _)| *down == wanted).map(|(_, requests)| *requests).collect::<Vec<_>>()
    };
    let at_once = runs("", replicates(400, 24));
    let later = runs(BACKOFF, replicates(100, 4));
    let situation = "a server that slows down, 40/s and 80/s for 5 s, three tries of 3 s";
    let numbers = vec![
        Number::new(Published::of(200, 71.5, 1), &share(&at_once)),
        Number::new(Published::of(143, 2.245, 3), &of(&at_once, true)),
        Number::new(Published::of(57, 1.028, 3), &of(&at_once, false)),
    ];
    let said = "down for good in %, tries for each turn if it is and if it is not";
    let mut rows = vec![Row::new("Brooker", format!("{situation} at once: {said}"), numbers)];
    let numbers = vec![
        Number::new(Published::of(100, 0.0, 1), &share(&later)),
        Number::new(Published::of(100, 1.044, 3), &of(&later, false)),
    ];
    let said = "down for good in %, tries for each turn";
    rows.push(Row::new("Brooker", format!("{situation} up to 20 s and 40 s later: {said}"), numbers));
    rows
}

fn ramp() -> Vec<Row> {
    // The rate in the middle of each half second.
    let rate = |k: u32| 80.0 - 1.6 * (f64::from(k) * 0.5 + 0.25 - 25.0).abs();
    let points = (0..151).map(|k| format!("[\"{}ms\", \"{}/s\"]", 500 * k, rate(k).max(0.0)));
    let arrivals = format!("[{}]", points.collect::<Vec<_>>().join(", "));
    let row = |name: &str, backoff: &str, published: [f64; 6], amplification: f64| {
        let scenario = slowing(&arrivals, backoff);
        let runs: Vec<_> = (0..replicates(40, 5)).map(|k| course(&scenario, Seed(5).replicate(k))).collect();
        let place = |place: usize| runs.iter().map(|(successes, _)| successes[place] / 5.0).collect::<Vec<_>>();
        let late: Vec<f64> = runs.iter().map(|(successes, _)| successes[6..].iter().sum::<f64>() / 50.0).collect();
        let requests: Vec<f64> = runs.iter().map(|(_, requests)| *requests).collect();
        let bins = published.into_iter().enumerate();
        let mut numbers: Vec<Number> =
            bins.map(|(at, mean)| Number::new(Published::of(10, mean, 1), &place(at))).collect();
        numbers.push(Number::new(Published::of(10, 0.0, 1), &late));
        numbers.push(Number::new(Published::of(10, amplification, 2), &requests));
        let situation = format!(
            "the same, from 40/s to 80/s at 25 s and to nothing at 75 s, again {name}: successes a second in each 5 s, from 30 s on, tries for each turn"
        );
        Row::new("Brooker", situation, numbers)
    };
    vec![
        row("at once", "", [26.0, 47.0, 53.0, 56.7, 27.8, 0.9], 2.40),
        row("later", BACKOFF, [26.9, 45.3, 52.5, 57.1, 37.4, 3.7], 2.32),
    ]
}

/// Inserts at a fixed gap into a server whose speed falls for a while; each is tried five times for 3 s. Published are the
/// gap, the depth and the length of the fall and what became of it. Fitted is how busy the server is without it, 37.5 % (37 % to 38 % have this shape), and
/// everything is a hundred times as slow. Says whether it stays down.
fn stays_down(gap_us: u32, speed: f64, seconds: u32) -> f64 {
    let scenario = read(&format!(
        r#"
        horizon = "180s"
        [provider.capacity]
        servers = 1
        [provider.faults.cap]
        window = ["20s", "{end}s"]
        speed = {speed}
        [phases]
        last = {{ from = "120s", until = "170s" }}
        [clients.caller]
        layers = [{{ name = "driver", max_attempts = 5, retry_on = ["timeout"], timeout = "3s" }}]
        [traffic.insert]
        kind = "turns"
        client = "caller"
        arrivals = {{ every = "{gap}us" }}
        steps = [{{ name = "write", input_tokens = 1, latency = "2812500ns" }}]
        "#,
        end = 20 + seconds,
        gap = 100 * gap_us,
    ));
    let run = Run::of(&scenario, 1);
    let [delivered, offered] =
        ["delivered", "offered"].map(|key| run.number(&format!("phases.last.classes.insert.{key}")));
    f64::from(delivered < 0.5 * offered)
}

fn edge() -> Vec<Row> {
    let cases = [(75, 0.22, 10), (75, 0.20, 10), (75, 0.20, 9), (100, 0.20, 10)];
    let published = [0.0, 1.0, 0.0, 0.0];
    let numbers = cases.iter().zip(published).map(|((gap, speed, seconds), down)| {
        Number::new(Published::exact(down, 0), &[stays_down(*gap, *speed, *seconds)])
    });
    let situation = "MongoDB under inserts every 75 µs, its CPU cut by 78 %, by 80 %, by 80 % for 9 s instead of 10, by 80 % under inserts every 100 µs: stays down (the shape; how busy it was is fitted)";
    vec![Row::new("Huang et al.", situation, numbers.collect())]
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = spike();
    if is_full() {
        rows.extend(ramp());
    }
    rows.extend(edge());
    rows
}

#[test]
fn servers_stay_down_as_often_as_was_published() {
    hold(rows);
}
