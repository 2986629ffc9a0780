//! Clients that all write one row: the simulator behind "Exponential Backoff and Jitter" (AWS, Apache-2.0). A row that
//! changes under a writer is no world of the product, so it is here; the waits are those of the product's retry layer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use retrycast::policy::retry::LayerState;
use retrycast::policy::{Answer, Backoff, Decision, Jitter, RetryPolicy};
use retrycast::random::distribution::Shape;
use retrycast::random::{Distribution, Seed, Stream};
use retrycast::units::{SimDuration, SimTime};

use super::{Number, Published, Row, hold, is_full, replicates};

/// What a client has under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Message {
    /// A read comes to the server.
    Read,
    /// This version comes back.
    Version(u64),
    /// A write on top of this version comes to the server.
    Write(u64),
    /// It comes back that the version was an older one.
    Conflict,
    /// It comes back that all is well.
    Written,
}

/// Writes, and when the last client knows that it has written, in milliseconds.
fn contend(clients: usize, policy: &RetryPolicy, seed: Seed) -> [f64; 2] {
    let hop = Distribution::new(Shape::Normal { mean: 0.010, sd: 0.002 }).expect("a distribution");
    let mut draws: Vec<Stream> = (0..clients as u64).map(|client| seed.key().with(client).stream()).collect();
    let mut layers = vec![LayerState::entered(SimTime::ZERO); clients];
    let mut pending = BinaryHeap::new();
    let mut order = 0_u64;
    let (mut version, mut writes, mut last) = (0_u64, 0_u32, SimTime::ZERO);
    let mut travel = |pending: &mut BinaryHeap<_>, at: SimTime, client: usize, draws: &mut Stream, message: Message| {
        order += 1;
        pending.push(Reverse((at + SimDuration::from_secs_f64(hop.sample(draws)), order, client, message)));
    };
    for (client, draws) in draws.iter_mut().enumerate() {
        travel(&mut pending, SimTime::ZERO, client, draws, Message::Read);
    }
    while let Some(Reverse((now, _, client, message))) = pending.pop() {
        let draws = &mut draws[client];
        match message {
            Message::Read => travel(&mut pending, now, client, draws, Message::Version(version)),
            Message::Version(known) => travel(&mut pending, now, client, draws, Message::Write(known)),
            Message::Write(known) => {
                writes += 1;
                let fits = known == version;
                version += u64::from(fits);
                travel(&mut pending, now, client, draws, if fits { Message::Written } else { Message::Conflict });
            }
            Message::Conflict => {
                let layer = &mut layers[client];
                let attempt = u64::from(layer.attempts);
                let source = || seed.key().named("waits").with(client as u64).with(attempt).stream();
                let decision = policy.decide(layer, &Answer::refused(409), now, source, |_| None);
                let Decision::Retry { at } = decision else { panic!("a client that gives up") };
                travel(&mut pending, at, client, draws, Message::Read);
            }
            Message::Written => last = last.max(now),
        }
    }
    [f64::from(writes), last.as_nanos() as f64 / 1e6]
}

fn policy(backoff: Backoff, jitter: Jitter) -> RetryPolicy {
    RetryPolicy { max_attempts: None, backoff, jitter, ..RetryPolicy::ONCE }
}

pub(super) fn rows() -> Vec<Row> {
    let (base, cap) = (SimDuration::from_millis(5), SimDuration::from_secs(2));
    // The first wait is the base doubled once.
    let ladder = Backoff::Exponential { initial: base + base, factor: 2.0, cap };
    let policies = [
        ("exponential waits without jitter", policy(ladder.clone(), Jitter::None)),
        ("decorrelated waits", policy(Backoff::Decorrelated { initial: base, cap }, Jitter::None)),
        ("equal jitter", policy(ladder.clone(), Jitter::Equal)),
        ("full jitter", policy(ladder, Jitter::Full)),
        ("no wait", policy(Backoff::None, Jitter::None)),
    ];
    // Writes and the end, each with the standard deviation of one run.
    let table: [(usize, [[f64; 4]; 5]); 6] = [
        (
            10,
            [
                [50.9, 4.1, 3475.0, 1319.0],
                [37.5, 2.2, 441.0, 93.0],
                [42.2, 2.5, 706.0, 156.0],
                [39.2, 2.1, 472.0, 102.0],
                [50.9, 4.1, 381.0, 34.0],
            ],
        ),
        (
            20,
            [
                [148.9, 14.1, 13980.0, 3097.0],
                [100.7, 4.9, 849.0, 219.0],
                [108.1, 3.9, 1701.0, 478.0],
                [99.9, 3.5, 987.0, 288.0],
                [151.6, 10.6, 597.0, 50.0],
            ],
        ),
        (
            50,
            [
                [624.8, 28.0, 36424.0, 3111.0],
                [375.3, 13.5, 2242.0, 528.0],
                [347.9, 6.3, 4301.0, 579.0],
                [331.5, 4.2, 2789.0, 545.0],
                [690.9, 18.9, 1139.0, 46.0],
            ],
        ),
        (
            100,
            [
                [1854.9, 62.0, 63943.0, 3821.0],
                [1002.5, 32.0, 4548.0, 685.0],
                [812.9, 8.2, 6684.0, 694.0],
                [795.4, 7.3, 4891.0, 548.0],
                [2426.4, 32.7, 2032.0, 41.0],
            ],
        ),
        (
            150,
            [
                [3543.7, 97.0, 85989.0, 4033.0],
                [1755.3, 51.9, 6334.0, 854.0],
                [1324.8, 8.6, 8351.0, 596.0],
                [1316.7, 9.6, 6417.0, 542.0],
                [5152.6, 47.6, 2883.0, 43.0],
            ],
        ),
        (
            190,
            [
                [5142.1, 114.1, 100_713.0, 4059.0],
                [2437.9, 63.0, 8060.0, 805.0],
                [1759.2, 11.3, 9321.0, 662.0],
                [1774.1, 10.7, 7450.0, 528.0],
                [7994.4, 68.3, 3543.0, 50.0],
            ],
        ),
    ];
    let mut rows =
        vec![few(1, &policies[4].1, [(1.0, 0.0), (39.5, 4.0)]), few(2, &policies[4].1, [(3.0, 0.0), (81.5, 5.1)])];
    for (clients, cells) in table.into_iter().filter(|(clients, _)| *clients <= 50 || is_full()) {
        for ((name, policy), [writes, writes_sd, end, end_sd]) in policies.iter().zip(cells) {
            let runs = if clients >= 150 { 60 } else { 100 };
            rows.push(row(clients, name, policy, runs, [(writes, writes_sd, 1), (end, end_sd, 0)]));
        }
    }
    rows
}

/// One or two clients, whom nothing but the way keeps waiting.
fn few(clients: usize, policy: &RetryPolicy, [(writes, writes_sd), (end, end_sd)]: [(f64, f64); 2]) -> Row {
    row(clients, "no wait", policy, 100, [(writes, writes_sd, 0), (end, end_sd, 1)])
}

fn row(clients: usize, name: &str, policy: &RetryPolicy, runs: u32, published: [(f64, f64, usize); 2]) -> Row {
    let all = 0..replicates(100, if clients == 50 { 8 } else { 20 });
    let found: Vec<[f64; 2]> = all.map(|k| contend(clients, policy, Seed(1).replicate(k))).collect();
    let numbers = published.into_iter().enumerate().map(|(place, (mean, sd, decimals))| {
        let values: Vec<f64> = found.iter().map(|values| values[place]).collect();
        Number::new(Published::of(runs, mean, decimals).with_sd(sd), &values)
    });
    let situation = format!("{clients} writers of one row, {name}: writes, the end in ms");
    Row::new("AWS backoff simulator", situation, numbers.collect())
}

#[test]
fn writers_of_one_row_write_as_often_as_was_published() {
    hold(rows);
}
