//! The event queue under the hold model (Jones 1986): pop the earliest event, push one later, with a constant number
//! pending; beside it a binary heap of the standard library in the same order. Read the throughput column: pairs of one
//! pop and one push per second.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use retrycast::random::{Seed, math};
use retrycast::sim::event_queue::{EventQueue, Rank};
use retrycast::units::{SimDuration, SimTime};

fn main() {
    divan::main();
}

const PENDING: [usize; 4] = [10, 1_000, 100_000, 1_000_000];

/// Pairs in one measured batch.
const PAIRS: usize = 10_000;

/// Increments that are drawn before the measurement: few enough to stay in the first cache.
const INCREMENTS: usize = 1 << 11;

/// How far ahead events are pushed.
enum Mix {
    /// Exponentially, 1 s on average.
    Exponential,
    /// By 1, 2, 4 or 8 s exactly, as clients without jitter do.
    Ties,
}

impl Mix {
    fn increments(&self) -> Vec<SimDuration> {
        let mut stream = Seed(1).key().stream();
        let mut draw = || match self {
            Mix::Exponential => SimDuration::from_secs_f64(-math::ln(stream.next_open())),
            Mix::Ties => SimDuration::from_secs(1 << (stream.next_u64() >> 62)),
        };
        (0..INCREMENTS).map(|_| draw()).collect()
    }
}

trait Queue: Default {
    fn push(&mut self, at: SimTime, payload: u64);
    fn pop(&mut self) -> Option<(SimTime, u64)>;
}

impl Queue for EventQueue {
    fn push(&mut self, at: SimTime, payload: u64) {
        EventQueue::push(self, at, Rank::Attempt, payload);
    }

    fn pop(&mut self) -> Option<(SimTime, u64)> {
        self.pop_until(SimTime::NEVER)
    }
}

#[derive(Default)]
struct Heap {
    heap: BinaryHeap<Reverse<(SimTime, u64, u64)>>,
    inserted: u64,
}

impl Queue for Heap {
    fn push(&mut self, at: SimTime, payload: u64) {
        self.inserted += 1;
        self.heap.push(Reverse((at, self.inserted, payload)));
    }

    fn pop(&mut self) -> Option<(SimTime, u64)> {
        self.heap.pop().map(|Reverse((at, _, payload))| (at, payload))
    }
}

fn hold<Q: Queue>(bencher: Bencher, pending: usize, mix: &Mix) {
    let increments = mix.increments();
    let mut drawn = increments.iter().cycle().copied();
    let mut queue = Q::default();
    let mut round = |queue: &mut Q, pairs: usize| {
        for _ in 0..pairs {
            let (now, payload) = queue.pop().expect("the number of pending events stays the same");
            queue.push(now + drawn.next().unwrap_or_default(), black_box(payload));
        }
    };
    let mut start = Seed(2).key().stream();
    for n in 0..pending {
        let ahead = increments[(start.next_u64() >> 32) as usize % INCREMENTS];
        // Spread over the first second, so that ties come from the increments and not from the start.
        let within = if matches!(mix, Mix::Ties) { 0.0 } else { start.next_unit() };
        queue.push(SimTime::from_secs_f64(within) + ahead, n as u64);
    }
    round(&mut queue, 2 * pending + PAIRS);
    bencher.counter(ItemsCount::new(PAIRS)).bench_local(|| round(&mut queue, PAIRS));
}

#[divan::bench(types = [EventQueue, Heap], args = PENDING)]
fn exponential<Q: Queue>(bencher: Bencher, pending: usize) {
    hold::<Q>(bencher, pending, &Mix::Exponential);
}

#[divan::bench(types = [EventQueue, Heap], args = PENDING)]
fn ties<Q: Queue>(bencher: Bencher, pending: usize) {
    hold::<Q>(bencher, pending, &Mix::Ties);
}
