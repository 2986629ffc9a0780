//! The event queue against a model: a binary heap over (time, rank, number of insertion).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use retrycast::random::stream::mix;
use retrycast::sim::event_queue::{EventQueue, Rank};
use retrycast::units::{SimDuration, SimTime};

const RANKS: [Rank; 5] = [Rank::Release, Rank::Complete, Rank::Intervene, Rank::Attempt, Rank::Arrive];

/// The queue and its model, driven in step.
#[derive(Default)]
struct Pair {
    queue: EventQueue,
    model: BinaryHeap<Reverse<(SimTime, Rank, u64)>>,
    inserted: u64,
    now: SimTime,
}

impl Pair {
    fn push(&mut self, at: SimTime, rank: Rank) {
        self.queue.push(at, rank, self.inserted);
        self.model.push(Reverse((at, rank, self.inserted)));
        self.inserted += 1;
    }

    fn pop_until(&mut self, end: SimTime) -> bool {
        let next = self.model.peek().is_some_and(|Reverse((at, ..))| *at < end).then(|| self.model.pop()).flatten();
        let expected = next.map(|Reverse((at, _, payload))| (at, payload));
        assert_eq!(self.queue.pop_until(end), expected);
        assert_eq!(self.queue.len(), self.model.len());
        if let Some((at, _)) = expected {
            self.now = at;
        }
        expected.is_some()
    }
}

/// One thing that a simulation does to its queue.
#[derive(Clone, Debug)]
enum Step {
    /// Push events that many nanoseconds from now, all with one rank.
    Push { count: usize, rank: usize, spread: Spread },
    /// Pop that many.
    Pop(usize),
    /// Handle that many events, each of which pushes another one of that rank at its own instant.
    PopAndPushNow { count: usize, rank: usize },
    /// Pop everything up to that many nanoseconds from now, and look once at what comes after.
    RunFor(u64),
    /// Look for an event at the present instant, then push that many before the next one.
    PushBeforeNext { count: usize, rank: usize },
    /// Drop everything.
    Clear,
}

#[derive(Clone, Debug)]
enum Spread {
    /// All at one instant.
    Tie(u64),
    /// Anywhere up to there.
    Uniform(u64),
    /// Each earlier than the one before.
    Falling(u64),
    /// At one of four instants.
    Few(u64),
}

fn distance() -> impl Strategy<Value = u64> {
    // Every scale from one nanosecond to years is as likely.
    (0..58_u32, any::<u64>()).prop_map(|(bits, word)| word & ((1 << bits) - 1))
}

fn count() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1..20_usize, 3 => 20..40_usize, 3 => 40..400_usize, 1 => 1_000..3_000_usize]
}

fn step() -> impl Strategy<Value = Step> {
    let spread = prop_oneof![
        distance().prop_map(Spread::Tie),
        distance().prop_map(Spread::Uniform),
        distance().prop_map(Spread::Falling),
        distance().prop_map(Spread::Few),
        Just(Spread::Tie(0)),
    ];
    prop_oneof![
        8 => (count(), 0..RANKS.len(), spread).prop_map(|(count, rank, spread)| Step::Push { count, rank, spread }),
        6 => count().prop_map(Step::Pop),
        4 => (count(), 0..RANKS.len()).prop_map(|(count, rank)| Step::PopAndPushNow { count, rank }),
        3 => distance().prop_map(Step::RunFor),
        3 => (count(), 0..RANKS.len()).prop_map(|(count, rank)| Step::PushBeforeNext { count, rank }),
        1 => Just(Step::Clear),
    ]
}

fn perform(pair: &mut Pair, step: &Step, salt: u64) {
    match *step {
        Step::Push { count, rank, ref spread } => {
            for n in 0..count as u64 {
                let word = mix(salt.wrapping_mul(1 << 20).wrapping_add(n));
                let ahead = match *spread {
                    Spread::Tie(far) => far,
                    Spread::Uniform(far) => word % (far + 1),
                    Spread::Few(far) => far / 4 * (word % 4),
                    Spread::Falling(far) => far.saturating_sub(n * (far / count as u64 + 1)),
                };
                pair.push(pair.now + SimDuration::from_nanos(ahead), RANKS[rank]);
            }
        }
        Step::Pop(count) => {
            let _ = (0..count).all(|_| pair.pop_until(SimTime::NEVER));
        }
        Step::PopAndPushNow { count, rank } => {
            for _ in 0..count {
                if pair.pop_until(SimTime::NEVER) {
                    pair.push(pair.now, RANKS[rank]);
                }
            }
        }
        Step::RunFor(nanos) => {
            let end = pair.now + SimDuration::from_nanos(nanos);
            while pair.pop_until(end) {}
            pair.now = pair.now.max(end);
        }
        Step::PushBeforeNext { count, rank } => {
            while pair.pop_until(pair.now) {}
            let next = pair.model.peek().map_or(pair.now, |Reverse((at, ..))| *at);
            let gap = (next - pair.now).as_nanos();
            for n in 0..count as u64 {
                let ahead = mix(salt.wrapping_mul(1 << 20).wrapping_add(n)) % (gap + 1);
                pair.push(pair.now + SimDuration::from_nanos(ahead), RANKS[rank]);
            }
        }
        Step::Clear => {
            pair.queue.clear();
            pair.model.clear();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(20_261_129),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_queue_gives_what_a_heap_over_time_rank_and_insertion_gives(steps in prop::collection::vec(step(), 1..40)) {
        let mut pair = Pair::default();
        for (salt, step) in steps.iter().enumerate() {
            perform(&mut pair, step, salt as u64);
        }
        while pair.pop_until(SimTime::NEVER) {}
    }
}

/// Pushes and pops of a queue that would need minutes if any of them shifted all the events of an instant.
const MANY: u64 = 200_000;

#[test]
fn ties_by_the_hundred_thousand_come_out_in_order_and_in_linear_time() {
    let mut queue = EventQueue::new();
    let at = SimTime::from_nanos(5_000_000_000);
    (0..MANY).for_each(|n| queue.push(at, Rank::Arrive, n));
    // Each arrival begins an attempt and releases a slot at its own instant: both have lower ranks than the arrivals
    // that still wait.
    for n in 0..MANY {
        assert_eq!(queue.pop_until(SimTime::NEVER), Some((at, n)));
        queue.push(at, Rank::Attempt, MANY + n);
        queue.push(at, Rank::Complete, 2 * MANY + n);
        assert_eq!(queue.pop_until(SimTime::NEVER), Some((at, 2 * MANY + n)));
        assert_eq!(queue.pop_until(SimTime::NEVER), Some((at, MANY + n)));
    }
    assert!(queue.is_empty());
}

#[test]
fn a_release_that_wakes_a_hundred_thousand_attempts_before_as_many_arrivals_takes_linear_time() {
    let mut queue = EventQueue::new();
    let at = SimTime::from_nanos(1_000);
    queue.push(at, Rank::Release, 0);
    (0..MANY).for_each(|n| queue.push(at, Rank::Arrive, 1 + n));
    assert_eq!(queue.pop_until(SimTime::NEVER), Some((at, 0)));
    (0..MANY).for_each(|n| queue.push(at, Rank::Attempt, 1 + MANY + n));
    for n in (MANY..2 * MANY).chain(0..MANY) {
        assert_eq!(queue.pop_until(SimTime::NEVER), Some((at, 1 + n)));
    }
}

#[test]
fn a_burst_after_idleness_takes_linear_time() {
    let mut queue = EventQueue::new();
    // One event an hour ahead makes the bottom as wide as it gets; the burst falls into it.
    let hour = 3_600_000_000_000;
    queue.push(SimTime::from_nanos(hour), Rank::Release, MANY);
    assert_eq!(queue.pop_until(SimTime::from_nanos(hour / 2)), None);
    let mut times: Vec<(u64, u64)> = (0..MANY).map(|n| (mix(n) % hour, n)).collect();
    for &(at, n) in &times {
        queue.push(SimTime::from_nanos(at), Rank::Attempt, n);
    }
    times.sort_unstable();
    for (at, n) in times {
        assert_eq!(queue.pop_until(SimTime::NEVER), Some((SimTime::from_nanos(at), n)));
    }
    assert_eq!(queue.len(), 1);
}
