//! What a circuit breaker looks at while it is closed, and when that makes it open: failures in a row, the share of
//! failures among the last `n` results or the results of the last while, or an average that weighs time.

use super::slots::{Slots, Tally};
use crate::units::{SimDuration, SimTime};

/// When a closed breaker opens.
#[derive(Clone, Debug, PartialEq)]
pub struct Trip {
    /// What it looks at.
    pub evidence: Evidence,
    /// Results, or calls, that must be there before it can open; at least 1.
    pub minimum: u32,
    /// It opens when the share of failures is above this, from 0 to 1.
    pub threshold: f64,
    /// Whether it opens at the threshold too.
    pub at_threshold: bool,
    /// Whether only a failure opens it. Else a success does too, where it is the one that makes up the minimum.
    pub by_failures_only: bool,
    /// What the failures are a share of.
    pub share_of: ShareOf,
    /// A time in which it cannot open.
    pub warm_up: Option<WarmUp>,
}

/// What a closed breaker looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// So many failures in a row, however far apart. Threshold and minimum mean nothing.
    Consecutive(u32),
    /// The last results, so many of them, however old; from 1 to 4096.
    Last(u32),
    /// The results of the last while.
    Within(Slots),
    /// An average in which a result weighs as much as the time since the one before it, and the past fades by a factor
    /// of e in this time. The slots, of the same time, count the results for the minimum.
    Average(Slots),
}

/// What failures are a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareOf {
    /// The results that were seen while it was closed.
    Results,
    /// The calls that came to it, whether they were let through or not, those that are still out included.
    Calls,
}

/// A time in which a breaker cannot open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// How long.
    pub time: SimDuration,
    /// Whether it begins anew whenever the breaker closes; else there is one, from the start on.
    pub again: bool,
}

/// What a breaker has seen.
#[derive(Clone, Debug)]
pub struct Seen {
    memory: Memory,
    /// Results, or calls, in the window.
    total: u32,
    /// Failures in the window.
    failures: u32,
    /// Failures in a row.
    in_a_row: u32,
    /// When the warm-up began.
    since: SimTime,
}

#[derive(Clone, Debug)]
enum Memory {
    Nothing,
    /// Ring of the last results, one bit each: 1 is a failure.
    Ring {
        bits: Box<[u64]>,
        next: u32,
    },
    Slots {
        /// Results, or calls, and failures.
        tally: Tally,
        /// The average share of failures and when it was taken, where there is one.
        average: Option<(f64, SimTime)>,
    },
}

impl Trip {
    /// Looks at so many last results, all of which must be there, and opens above this share of failures.
    pub const fn share(last: u32, threshold: f64) -> Trip {
        Trip {
            evidence: Evidence::Last(last),
            minimum: last,
            threshold,
            at_threshold: false,
            by_failures_only: false,
            share_of: ShareOf::Results,
            warm_up: None,
        }
    }

    /// Nothing seen yet.
    pub fn nothing_seen(&self) -> Seen {
        let memory = match self.evidence {
            Evidence::Consecutive(_) => Memory::Nothing,
            Evidence::Last(last) => {
                Memory::Ring { bits: vec![0; last.div_ceil(64) as usize].into_boxed_slice(), next: 0 }
            }
            Evidence::Within(slots) | Evidence::Average(slots) => Memory::Slots { tally: slots.empty(), average: None },
        };
        Seen { memory, total: 0, failures: 0, in_a_row: 0, since: SimTime::ZERO }
    }

    /// A call comes to the breaker.
    pub(super) fn came(&self, seen: &mut Seen, now: SimTime) {
        if self.share_of == ShareOf::Calls {
            self.add(seen, now, [1, 0]);
        }
    }

    /// Takes a result into account.
    pub(super) fn push(&self, seen: &mut Seen, failed: bool, now: SimTime) {
        let failures = u32::from(failed);
        match self.evidence {
            Evidence::Consecutive(_) => {}
            Evidence::Last(last) => seen.push_bit(failed, last),
            Evidence::Within(_) => {
                let total = u32::from(self.share_of == ShareOf::Results);
                self.add(seen, now, [total, failures]);
            }
            Evidence::Average(slots) => {
                self.add(seen, now, [1, failures]);
                seen.weigh(f64::from(failures), slots.time, now);
            }
        }
    }

    /// Whether a breaker that has seen this, a failure last or not, opens now.
    pub(super) fn opens(&self, seen: &Seen, failed: bool, now: SimTime) -> bool {
        if self.by_failures_only && !failed || self.warm_up.is_some_and(|warm| now - seen.since < warm.time) {
            return false;
        }
        let share = match (self.evidence, &seen.memory) {
            (Evidence::Consecutive(most), _) => return failed && seen.in_a_row >= most,
            (Evidence::Average(_), Memory::Slots { average: Some((average, _)), .. }) => *average,
            _ => f64::from(seen.failures) / f64::from(seen.total.max(1)),
        };
        let is_above = share > self.threshold || self.at_threshold && share >= self.threshold;
        seen.total >= self.minimum && is_above
    }

    /// The breaker closes; what was seen is forgotten where it says so.
    pub(super) fn closes(&self, seen: &mut Seen, forgets: bool, now: SimTime) {
        if self.warm_up.is_some_and(|warm| warm.again) {
            seen.since = now;
        }
        if !forgets {
            return;
        }
        (seen.total, seen.failures, seen.in_a_row) = (0, 0, 0);
        match &mut seen.memory {
            Memory::Nothing => {}
            Memory::Ring { bits, next } => {
                bits.fill(0);
                *next = 0;
            }
            Memory::Slots { tally, average } => {
                tally.clear();
                *average = None;
            }
        }
    }

    fn add(&self, seen: &mut Seen, now: SimTime, more: [u32; 2]) {
        let (Evidence::Within(window) | Evidence::Average(window)) = self.evidence else { return };
        let Memory::Slots { tally, .. } = &mut seen.memory else { return };
        window.add(tally, more, now);
        [seen.total, seen.failures] = tally.sums();
    }
}

impl Seen {
    /// Counts failures in a row, in whatever phase they come.
    pub(super) const fn follow(&mut self, failed: bool) {
        self.in_a_row = if failed { self.in_a_row.saturating_add(1) } else { 0 };
    }

    /// Failures in a row, in whatever phase they came.
    pub const fn in_a_row(&self) -> u32 {
        self.in_a_row
    }

    fn push_bit(&mut self, failed: bool, last: u32) {
        let Memory::Ring { bits, next } = &mut self.memory else { return };
        let (word, bit) = ((*next / 64) as usize, *next % 64);
        if self.total == last {
            self.failures -= (bits[word] >> bit & 1) as u32;
        } else {
            self.total += 1;
        }
        bits[word] = bits[word] & !(1 << bit) | u64::from(failed) << bit;
        self.failures += u32::from(failed);
        *next = (*next + 1) % last;
    }

    /// Moves the average towards `value`, as far as the time since the last result says.
    fn weigh(&mut self, value: f64, time: SimDuration, now: SimTime) {
        let Memory::Slots { average, .. } = &mut self.memory else { return };
        let moved = match *average {
            None => value,
            Some((old, at)) => {
                let weight = libm::exp(-((now - at).as_secs_f64() / time.as_secs_f64()));
                value * (1.0 - weight) + old * weight
            }
        };
        *average = Some((moved, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn trip(evidence: Evidence) -> Trip {
        Trip {
            evidence,
            minimum: 1,
            threshold: 0.5,
            at_threshold: false,
            by_failures_only: true,
            share_of: ShareOf::Results,
            warm_up: None,
        }
    }

    const fn slots(secs: u64, number: u32, move_with_time: bool) -> Slots {
        Slots { time: SimDuration::from_secs(secs), number, move_with_time }
    }

    /// After which of these results (seconds, failed) it would open.
    fn opens(trip: &Trip, results: &[(f64, bool)]) -> Vec<usize> {
        let mut seen = trip.nothing_seen();
        let one = |(n, (seconds, failed)): (usize, &(f64, bool))| {
            let now = SimTime::ZERO + SimDuration::from_secs_f64(*seconds);
            seen.follow(*failed);
            trip.push(&mut seen, *failed, now);
            trip.opens(&seen, *failed, now).then_some(n)
        };
        results.iter().enumerate().filter_map(one).collect()
    }

    #[test]
    fn failures_in_a_row_never_age_and_a_success_ends_the_row() {
        let three = trip(Evidence::Consecutive(3));
        let results = [(0.0, true), (3_600.0, true), (3_600.0, false), (3_601.0, true), (9e4, true), (2e5, true)];
        assert_eq!(opens(&three, &results), [5]);
    }

    #[test]
    fn slots_of_time_forget_with_the_clock() {
        // By hand: ten slots of a second; what came at 0 is out when the slot of the tenth second begins.
        let three = Trip { minimum: 3, ..trip(Evidence::Within(slots(10, 10, true))) };
        assert_eq!(opens(&three, &[(0.0, true), (0.0, true), (9.9, true)]), [2]);
        assert_eq!(opens(&three, &[(0.0, true), (0.0, true), (10.0, true)]), [0; 0]);
    }

    #[test]
    fn slots_of_results_forget_one_slot_at_a_time() {
        // By hand: a result every two seconds moves ten slots of a second by one each, so that they cover 18 seconds.
        let ten = Trip { minimum: 10, ..trip(Evidence::Within(slots(10, 10, false))) };
        let results: Vec<(f64, bool)> = (0..12).map(|n| (2.0 * f64::from(n), true)).collect();
        assert_eq!(opens(&ten, &results), [9, 10, 11]);
    }

    #[test]
    fn an_average_weighs_time_and_not_results() {
        // After k seconds of failures the share of them is 1 - e^(-k / 30), above a fifth when k > 30 ln 1.25 = 6.69.
        let fifth = Trip { threshold: 0.2, ..trip(Evidence::Average(slots(30, 5, true))) };
        let results: Vec<(f64, bool)> = (0..80).map(|n| (f64::from(n), n > 60)).collect();
        assert_eq!(opens(&fifth, &results).first(), Some(&67));
        // 0.4 s of failures, however many, are 1 - e^(-0.4 / 30) = 1.3 %.
        let burst = results[..61].iter().copied().chain((1..=40).map(|n| (60.0 + f64::from(n) / 100.0, true)));
        assert_eq!(opens(&fifth, &burst.collect::<Vec<_>>()), [0; 0]);
    }

    #[test]
    fn a_threshold_may_be_reached_or_must_be_passed() {
        let half = trip(Evidence::Last(2));
        let results = [(0.0, false), (0.0, true)];
        assert_eq!(opens(&half, &results), [0; 0]);
        assert_eq!(opens(&Trip { at_threshold: true, ..half }, &results), [1]);
    }

    #[test]
    fn a_success_may_make_up_the_minimum() {
        let results = [(0.0, true), (0.0, true), (0.0, false)];
        let two_thirds = Trip { minimum: 3, ..trip(Evidence::Last(10)) };
        assert_eq!(opens(&two_thirds, &results), [0; 0]);
        assert_eq!(opens(&Trip { by_failures_only: false, ..two_thirds }, &results), [2]);
    }
}
