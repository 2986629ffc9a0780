//! First in, first out against last in, first out, in a world of ticks: queueingsimulator by J. Magerramov (MIT). A worker
//! spends a tick to take the next request out of the queue, and callers flip a coin, so the world is here and only the random
//! numbers are the product's.

use std::collections::VecDeque;

use retrycast::random::distribution::Shape;
use retrycast::random::{Distribution, Seed};

use super::{Number, Published, Row, hold, is_full, replicates};

/// Ten workers, and what comes to them.
#[derive(Clone, Copy)]
struct Ticks {
    /// Requests in a tick.
    rate: f64,
    /// How many may wait.
    room: usize,
    /// Who came last goes first.
    is_last_first: bool,
    /// So many requests take ten times as long.
    slow: u64,
}

/// A request: when it came, and what is left to do.
#[derive(Clone, Copy)]
struct Ask {
    came: u64,
    left: u64,
}

impl Ticks {
    const LONG: u64 = 1_000_000;
    const PATIENCE: u64 = 1_000;

    /// The percentage of all requests, repeated ones included, that are refused or come too late.
    fn failures(&self, seed: Seed) -> f64 {
        let key = seed.key();
        let service = Distribution::new(Shape::Normal { mean: 50.0, sd: 12.5 }).expect("a distribution");
        let arrivals =
            Distribution::new(Shape::Normal { mean: self.rate, sd: self.rate / 4.0 }).expect("a distribution");
        let (mut gaps, mut takes) = (key.named("gaps").stream(), key.named("takes").stream());
        let mut again = key.named("again").stream();
        let mut queue: VecDeque<Ask> = VecDeque::new();
        let mut workers: [Option<Ask>; 10] = [None; 10];
        let (mut due, mut total, mut failed, mut slow) = (0.0, 0_u64, 0_u64, self.slow);
        for now in 0..Self::LONG {
            due += arrivals.sample(&mut gaps);
            while due > 0.0 {
                (due, total) = (due - 1.0, total + 1);
                let mut left = service.sample(&mut takes) as u64;
                if slow > 0 {
                    (slow, left) = (slow - 1, left * 10);
                }
                let ask = Ask { came: now, left };
                if let Some(free) = workers.iter_mut().find(|worker| worker.is_none()) {
                    *free = Some(ask);
                } else if queue.len() < self.room {
                    queue.push_back(ask);
                } else {
                    failed += 1;
                    due += f64::from(again.unit() < 0.5);
                }
            }
            for worker in &mut workers {
                let Some(ask) = worker else {
                    *worker = if self.is_last_first { queue.pop_back() } else { queue.pop_front() };
                    continue;
                };
                ask.left = ask.left.saturating_sub(1);
                if ask.left > 0 {
                    continue;
                }
                if now - ask.came >= Self::PATIENCE {
                    failed += 1;
                    due += f64::from(again.unit() < 0.5);
                }
                *worker = None;
            }
        }
        100.0 * failed as f64 / total as f64
    }
}

/// A uniform number from a stream.
trait Unit {
    fn unit(&mut self) -> f64;
}

impl Unit for retrycast::random::Stream {
    fn unit(&mut self) -> f64 {
        retrycast::policy::backoff::Draws::unit(self)
    }
}

pub(super) fn rows() -> Vec<Row> {
    let usual = Ticks { rate: 0.1, room: 1_000, is_last_first: false, slow: 1_000 };
    let last = |rate| Ticks { rate, is_last_first: true, ..usual };
    // A percentage with the standard deviation of one run, where there were several.
    let table = [
        ("0.1 a tick", Ticks { slow: 0, ..usual }, 0.00, Some(0.0)),
        ("0.1 a tick, first in, first out", usual, 9.93, Some(0.12)),
        ("0.1 a tick, last in, first out", last(0.1), 0.79, Some(0.006)),
        ("0.15 a tick, first in, first out", Ticks { rate: 0.15, ..usual }, 65.40, Some(0.10)),
        ("0.15 a tick, last in, first out", last(0.15), 0.60, Some(0.01)),
        ("0.19 a tick, first in, first out", Ticks { rate: 0.19, ..usual }, 73.06, Some(0.04)),
        ("0.19 a tick, last in, first out", last(0.19), 1.71, Some(0.03)),
        ("0.19 a tick, first in, first out, room for 150", Ticks { rate: 0.19, room: 150, ..usual }, 72.16, Some(0.05)),
        ("0.5 a tick, first in, first out", Ticks { rate: 0.5, slow: 0, ..usual }, 86.74, None),
    ];
    let few = ["0.1 a tick, first in, first out", "0.19 a tick, last in, first out"];
    let rows = table.into_iter().filter(|(name, ..)| is_full() || few.contains(name));
    let row = |(name, ticks, percent, sd): (&str, Ticks, f64, Option<f64>)| {
        let found: Vec<f64> = (0..replicates(4, 1)).map(|k| ticks.failures(Seed(1).replicate(k))).collect();
        let published = Published::once(percent, 2);
        let slow = if ticks.slow > 0 { ", the first 1000 ten times as slow" } else { "" };
        let number = Number::new(sd.map_or(published, |sd| published.with_sd(sd)), &found);
        Row::new("queueingsimulator", format!("ten workers, {name}{slow}: failures in %"), vec![number])
    };
    rows.map(row).collect()
}

#[test]
fn queues_of_both_orders_fail_as_often_as_was_published() {
    hold(rows);
}
