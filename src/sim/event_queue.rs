//! A simulator spends about half of its time asking "what happens next?". A binary heap answers with a walk through
//! memory that misses the cache at every level once some thousand events are pending. Time only moves forward, though,
//! and most events lie far ahead: they need no order yet.
//!
//! So far events are only appended to buckets, by the highest bit in which their key differs from a base below all of
//! them (a radix heap: Ahuja, Mehlhorn, Orlin and Tarjan 1990, "Faster algorithms for the shortest path problem"), and
//! only the nearest few are kept sorted, in the bottom (as in the ladder queue of Tang, Goh and Thng 2005). When the
//! bottom runs dry, the lowest bucket is sorted into it, or, where it is too large for that, is first spread over the
//! buckets below around its own minimum.
//!
//! Events come out by time, then by [`Rank`], then in the order in which they were pushed. That order is exact and
//! needs no sequence number that could run out: equal keys always share a bucket, buckets are only ever appended to,
//! and the bottom is sorted stably.

use super::bottom::Bottom;
use super::buckets::Buckets;
use crate::units::SimTime;

/// What comes first of the events at one instant: window resets, releases of slots and completions come before new
/// attempts, so that an attempt finds every place that is free at its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A limit's window resets, a slot is released, a fault or capacity changes.
    Release = 0,
    /// A response arrives.
    Complete = 1,
    /// Something steps in: a timeout, a patience that ends, a change of settings.
    Intervene = 2,
    /// A wait is over: the next attempt.
    Attempt = 3,
    /// A task arrives.
    Arrive = 4,
}

/// How many low bits of a key hold the rank. Times take at most 60 bits, so that a key always fits in 64.
const RANK_BITS: u32 = 3;

/// The largest number of events that are sorted into the bottom at once. Sorting fewer is bought with more rounds of
/// spreading; sorting more makes each insertion into the bottom shift more.
const SORTED_AT_ONCE: usize = 32;

/// A pending event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Time and rank.
    pub(super) key: u64,
    payload: u64,
}

/// Pending events, the earliest first; equal times by rank, equal ranks in the order of their insertion.
#[derive(Clone, Debug)]
pub struct EventQueue {
    // Invariant: `bottom` holds exactly the events with a key below `bound`, in the order in which they come out.
    bottom: Bottom,
    bound: u64,
    // Invariant: bucket i holds, in the order of insertion, the events from `bound` on whose key first differs from
    // `base` in bit i. `base` is less than `bound`, so that bit is set in each of those keys, and every event of a
    // bucket comes before every event of the buckets above it.
    buckets: Buckets,
    base: u64,
    len: usize,
    // Whether events have come into the bottom together since somebody asked.
    refilled: bool,
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue::new()
    }
}

impl EventQueue {
    /// A queue without events.
    pub fn new() -> Self {
        EventQueue {
            bottom: Bottom::with_capacity(4 * SORTED_AT_ONCE),
            bound: 1,
            buckets: Buckets::new(),
            base: 0,
            len: 0,
            refilled: false,
        }
    }

    /// How many events are pending.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no event is pending.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops all pending events and keeps their memory.
    pub fn clear(&mut self) {
        self.bottom.clear();
        self.buckets.clear();
        (self.base, self.bound, self.len) = (0, 1, 0);
    }

    /// Adds an event. One that is earlier than what has already come out is the next to come out.
    #[inline]
    pub fn push(&mut self, at: SimTime, rank: Rank, payload: u64) {
        self.len += 1;
        let entry = Entry { key: at.as_nanos() << RANK_BITS | rank as u64, payload };
        if entry.key >= self.bound {
            self.append(entry);
        } else if !self.bottom.insert(entry) {
            self.spill(entry);
        }
    }

    /// Takes the next event out, if it happens before `end`.
    #[inline]
    pub fn pop_until(&mut self, end: SimTime) -> Option<(SimTime, u64)> {
        let next = match self.bottom.first() {
            Some(next) => next,
            None if self.len == 0 => return None,
            None => {
                self.refill();
                self.bottom.first()?
            }
        };
        if next.key >= end.as_nanos() << RANK_BITS {
            return None;
        }
        self.bottom.drop_first();
        self.len -= 1;
        Some((SimTime::from_nanos(next.key >> RANK_BITS), next.payload))
    }

    /// Whether the next few events have come together, since this was last asked.
    #[inline]
    pub const fn take_refilled(&mut self) -> bool {
        std::mem::replace(&mut self.refilled, false)
    }

    /// What the next few events are about.
    pub fn next_few(&self) -> impl Iterator<Item = u64> + '_ {
        self.bottom.entries().iter().map(|entry| entry.payload)
    }

    /// Puts an event from `bound` on into its bucket.
    #[inline]
    fn append(&mut self, entry: Entry) {
        self.buckets.push(highest_bit(entry.key ^ self.base), entry);
    }

    /// Moves all but the first events of a bottom that has grown too wide back into buckets, then adds `entry`, which
    /// is not the first.
    #[cold]
    #[inline(never)]
    fn spill(&mut self, entry: Entry) {
        let Some(Entry { key: first, .. }) = self.bottom.first() else { return self.append(entry) };
        if first < self.base {
            self.lower_base_to(first);
        }
        self.base = first;
        self.bound = first + 1;
        self.bottom.split_off_later().into_iter().for_each(|e| self.append(e));
        if entry.key == first {
            self.bottom.push(entry);
        } else {
            self.append(entry);
        }
    }

    /// Makes the buckets true again for a base below the present one: all whose bit lies below the highest bit in
    /// which the two bases differ become one.
    fn lower_base_to(&mut self, base: u64) {
        let bit = highest_bit(self.base ^ base);
        self.buckets.merge_below(bit);
    }

    /// Brings the events of the lowest bucket into the empty bottom, or only the first of them where they are many.
    #[inline(never)]
    fn refill(&mut self) {
        self.refilled = true;
        if self.len <= SORTED_AT_ONCE {
            self.gather();
            return;
        }
        let Some((bit, chain)) = self.buckets.take_lowest() else { return };
        let bottom = &mut self.bottom;
        if chain.len() <= SORTED_AT_ONCE {
            self.base = (self.base >> bit | 1) << bit;
            self.bound = self.base.saturating_add(1 << bit);
            self.buckets.drain(chain, |_, entry| bottom.push(entry));
            bottom.sort();
            return;
        }
        let base = self.buckets.lowest_key(chain).unwrap_or(self.base);
        (self.base, self.bound) = (base, base + 1);
        self.buckets.drain(chain, |buckets, entry| {
            if entry.key == base {
                bottom.push(entry);
            } else {
                buckets.push(highest_bit(entry.key ^ base), entry);
            }
        });
    }

    /// Brings all events into the empty bottom: when so few are pending, buckets would hold one or two each.
    fn gather(&mut self) {
        let bottom = &mut self.bottom;
        while let Some((_, chain)) = self.buckets.take_lowest() {
            self.buckets.drain(chain, |_, entry| bottom.push(entry));
        }
        self.bound = u64::MAX;
        self.bottom.sort();
    }
}

/// The index of the highest bit that is set in `word`, which is not zero.
#[inline]
const fn highest_bit(word: u64) -> usize {
    (word | 1).ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::super::bottom::SHIFTED_AT_ONCE;
    use super::*;

    fn drain(queue: &mut EventQueue) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop_until(SimTime::NEVER)).map(|(_, payload)| payload).collect()
    }

    #[test]
    fn equal_times_come_out_by_rank_and_then_in_order_of_insertion() {
        let mut queue = EventQueue::new();
        let at = SimTime::from_nanos(7);
        for (payload, rank) in
            [Rank::Arrive, Rank::Attempt, Rank::Release, Rank::Attempt, Rank::Intervene, Rank::Complete, Rank::Release]
                .into_iter()
                .enumerate()
        {
            queue.push(at, rank, payload as u64);
        }
        queue.push(SimTime::from_nanos(6), Rank::Arrive, 7);
        assert_eq!(drain(&mut queue), [7, 2, 6, 5, 4, 1, 3, 0]);
    }

    #[test]
    fn the_end_is_not_included_and_loses_nothing() {
        let mut queue = EventQueue::new();
        queue.push(SimTime::from_nanos(10), Rank::Release, 1);
        assert_eq!(queue.pop_until(SimTime::from_nanos(10)), None);
        // An event between the refused one and now still comes first.
        queue.push(SimTime::from_nanos(3), Rank::Arrive, 2);
        assert_eq!(queue.len(), 2);
        assert_eq!(queue.pop_until(SimTime::from_nanos(11)), Some((SimTime::from_nanos(3), 2)));
        assert_eq!(queue.pop_until(SimTime::from_nanos(11)), Some((SimTime::from_nanos(10), 1)));
        assert!(queue.is_empty());
    }

    #[test]
    fn the_last_representable_instant_is_ordered_like_any_other() {
        let mut queue = EventQueue::new();
        let last = SimTime::NEVER.as_nanos() - 1;
        for payload in 0..1_000 {
            queue.push(SimTime::from_nanos(last - payload % 3), Rank::Attempt, payload);
            queue.push(SimTime::NEVER, Rank::Arrive, payload);
        }
        let order = drain(&mut queue);
        let expected: Vec<u64> = [2, 1, 0].into_iter().flat_map(|r| (r..1_000).step_by(3)).collect();
        assert_eq!(order, expected);
        // What never happens is still there.
        assert_eq!(queue.len(), 1_000);
        queue.clear();
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.pop_until(SimTime::NEVER), None);
    }

    #[test]
    fn a_cleared_queue_behaves_like_a_new_one() {
        let mut used = EventQueue::new();
        for n in 0..500 {
            used.push(SimTime::from_nanos(n * n), Rank::Attempt, n);
        }
        for _ in 0..100 {
            used.pop_until(SimTime::NEVER);
        }
        used.clear();
        let mut new = EventQueue::new();
        for n in 0..200 {
            let at = SimTime::from_nanos(n * 37 % 101);
            used.push(at, Rank::Attempt, n);
            new.push(at, Rank::Attempt, n);
        }
        assert_eq!(drain(&mut used), drain(&mut new));
    }

    #[test]
    fn a_burst_after_idleness_leaves_the_bottom_narrow() {
        let mut queue = EventQueue::new();
        queue.push(SimTime::from_nanos(1 << 40), Rank::Release, 0);
        assert_eq!(queue.pop_until(SimTime::ZERO), None);
        let mut stream = crate::random::Seed(10).key().stream();
        for n in 0..100_000 {
            queue.push(SimTime::from_nanos(stream.next_u64() >> 24), Rank::Attempt, n);
            assert!(queue.bottom.len() <= 4 * SHIFTED_AT_ONCE, "{n}");
        }
    }

    #[test]
    fn memory_follows_the_number_pending_and_not_the_time_that_passes() {
        const PENDING: u64 = 2_000;
        let mut queue = EventQueue::new();
        let mut stream = crate::random::Seed(9).key().stream();
        let mut ahead = |now: SimTime| SimTime::from_nanos(now.as_nanos() + (stream.next_u64() >> 46));
        (0..PENDING).for_each(|n| queue.push(ahead(SimTime::ZERO), Rank::Attempt, n));
        // 10 more bits of the clock than an event looks ahead.
        while let Some((now, payload)) = queue.pop_until(SimTime::from_nanos(1 << 28)) {
            queue.push(ahead(now), Rank::Attempt, payload);
        }
        let capacity = queue.buckets.capacity() + queue.bottom.capacity();
        // All of them, one block begun in each of the buckets within reach, and the bottom.
        assert!(capacity <= 2 * PENDING as usize, "{capacity}");
    }
}
