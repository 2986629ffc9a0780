//! A circuit breaker stops sending while the upstream is failing (Nygard 2007, "Release It!"). It opens when the
//! share of failures among the last `n` counted results passes a threshold, refuses for a while, and closes again:
//! at once, or after a number of probes have come back well.
//!
//! What is counted decides whether it ever trips: counted per call, a client that retries four times shows the
//! breaker a failure only when all four fail (q⁴), while counted per response it sees each one.

use super::answer::{Answer, Outcome};
use super::classify::{OutcomeSet, StatusSet, is_among};
use crate::units::{SimDuration, SimTime};

/// What feeds a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerCounts {
    /// Every response of the provider to a client that names the breaker.
    Responses,
    /// Every result that passes outward through the breaker's place in the stack.
    Results,
}

/// What an open breaker does to someone who wants to pass it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenOpen {
    /// Refuse: the layer outside sees a failure.
    Reject,
    /// Hold: whoever wants to pass waits until the breaker closes.
    Hold,
}

/// The settings of a breaker over the last `n` results.
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitBreaker {
    /// What feeds it.
    pub counts: BreakerCounts,
    /// Statuses that count as failures.
    pub statuses: StatusSet,
    /// Failures without a status that count as failures.
    pub outcomes: OutcomeSet,
    /// The number of results that are looked at; from 1 to 4096.
    pub last: u32,
    /// Results that must be there before it can open.
    pub minimum: u32,
    /// It opens when the share of failures is above this, from 0 to 1.
    pub threshold: f64,
    /// How long it stays open.
    pub open: SimDuration,
    /// What it does to those who want to pass while it is open.
    pub when_open: WhenOpen,
    /// Whether workers stop taking jobs from the queue while it is open.
    pub pauses_workers: bool,
    /// Results that must come back well before it closes after the open time; 0 closes it at once.
    pub probes: u32,
    /// Whether closing forgets the results seen before.
    pub clear_on_close: bool,
}

/// What happens at a guard's place in the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Go on.
    Pass,
    /// Wait until this instant and ask again.
    Wait(SimTime),
    /// Wait until the guard changes and ask again.
    Park,
    /// A place is reserved: wait until this instant, then go on without asking again.
    Reserved(SimTime),
    /// Stand in line: whoever is called up goes on without asking again, and is refused if that has not happened by
    /// this instant.
    Line(SimTime),
    /// Refused: for the layer outside, this is what happened.
    Refuse(Outcome),
}

/// Whether workers may take jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// They may.
    No,
    /// Not before this instant.
    Until(SimTime),
    /// Not before the breaker changes: a probe is out.
    UntilItChanges,
}

/// The phase a breaker is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Everything passes.
    Closed,
    /// Nothing passes until this instant.
    Open(SimTime),
    /// A few probes pass; so many are out, so many came back well.
    HalfOpen {
        /// Probes sent and not yet answered.
        out: u32,
        /// Probes answered well.
        well: u32,
    },
}

/// The state of one breaker.
#[derive(Clone, Debug)]
pub struct BreakerState {
    phase: Phase,
    /// Ring of the last results, one bit each: 1 is a failure.
    ring: Box<[u64]>,
    next: u32,
    seen: u32,
    failures: u32,
    /// How often it opened.
    pub trips: u32,
}

impl CircuitBreaker {
    /// A closed breaker that has seen nothing.
    pub fn closed(&self) -> BreakerState {
        BreakerState {
            phase: Phase::Closed,
            ring: vec![0; self.last.div_ceil(64) as usize].into_boxed_slice(),
            next: 0,
            seen: 0,
            failures: 0,
            trips: 0,
        }
    }

    /// Whether this result counts as a failure.
    pub fn is_failure(&self, answer: &Answer) -> bool {
        is_among(answer, &self.statuses, self.outcomes)
    }

    /// What the breaker says to someone who wants to pass at `now`.
    pub fn enter(&self, state: &mut BreakerState, now: SimTime) -> Gate {
        self.settle(state, now);
        match &mut state.phase {
            Phase::Closed => Gate::Pass,
            Phase::Open(until) => match self.when_open {
                WhenOpen::Reject => Gate::Refuse(Outcome::ShortCircuited),
                WhenOpen::Hold => Gate::Wait(*until),
            },
            Phase::HalfOpen { out, well } => {
                if *out + *well < self.probes {
                    *out += 1;
                    return Gate::Pass;
                }
                match self.when_open {
                    WhenOpen::Reject => Gate::Refuse(Outcome::ShortCircuited),
                    WhenOpen::Hold => Gate::Park,
                }
            }
        }
    }

    /// Whether workers must not take a job now: while the breaker is open, or half-open with all its probes out.
    pub fn pause(&self, state: &mut BreakerState, now: SimTime) -> Pause {
        self.settle(state, now);
        match state.phase {
            Phase::Open(until) if self.pauses_workers => Pause::Until(until),
            Phase::HalfOpen { out, well } if self.pauses_workers && out + well >= self.probes => Pause::UntilItChanges,
            Phase::Open(_) | Phase::Closed | Phase::HalfOpen { .. } => Pause::No,
        }
    }

    /// A probe came back without having been sent (something inside refused it): another one may go. Says whether
    /// that changes anything for those who wait.
    pub fn probe_was_not_sent(&self, state: &mut BreakerState) -> bool {
        match &mut state.phase {
            Phase::HalfOpen { out, .. } if *out > 0 => {
                *out -= 1;
                true
            }
            Phase::Open(_) | Phase::Closed | Phase::HalfOpen { .. } => false,
        }
    }

    /// Takes one result into account; says whether the breaker leaves its half-open phase by it. What was never sent
    /// says nothing about the upstream.
    pub fn record(&self, state: &mut BreakerState, answer: &Answer, now: SimTime) -> bool {
        if !answer.outcome.was_sent() {
            return false;
        }
        self.settle(state, now);
        let was_half_open = matches!(state.phase, Phase::HalfOpen { .. });
        self.count(state, self.is_failure(answer), now);
        was_half_open && !matches!(state.phase, Phase::HalfOpen { .. })
    }

    fn count(&self, state: &mut BreakerState, failed: bool, now: SimTime) {
        match &mut state.phase {
            Phase::Open(_) => {}
            Phase::HalfOpen { out, well } => {
                if failed {
                    self.trip(state, now);
                } else {
                    *out = out.saturating_sub(1);
                    *well += 1;
                    if *well >= self.probes {
                        state.phase = Phase::Closed;
                        state.forget_if(self.clear_on_close);
                    }
                }
            }
            Phase::Closed => {
                state.push(failed, self.last);
                let share = f64::from(state.failures) / f64::from(state.seen);
                if state.seen >= self.minimum && share > self.threshold {
                    self.trip(state, now);
                }
            }
        }
    }

    fn trip(&self, state: &mut BreakerState, now: SimTime) {
        state.phase = Phase::Open(now + self.open);
        state.trips += 1;
    }

    /// Moves an open breaker on when its time is over.
    fn settle(&self, state: &mut BreakerState, now: SimTime) {
        let Phase::Open(until) = state.phase else { return };
        if now < until {
            return;
        }
        if self.probes == 0 {
            state.phase = Phase::Closed;
            state.forget_if(self.clear_on_close);
        } else {
            state.phase = Phase::HalfOpen { out: 0, well: 0 };
        }
    }
}

impl BreakerState {
    /// The phase as last settled.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    fn push(&mut self, failed: bool, last: u32) {
        let (word, bit) = ((self.next / 64) as usize, self.next % 64);
        if self.seen == last {
            self.failures -= (self.ring[word] >> bit & 1) as u32;
        } else {
            self.seen += 1;
        }
        self.ring[word] = self.ring[word] & !(1 << bit) | u64::from(failed) << bit;
        self.failures += u32::from(failed);
        self.next = (self.next + 1) % last;
    }

    fn forget_if(&mut self, clear: bool) {
        if clear {
            self.ring.fill(0);
            (self.next, self.seen, self.failures) = (0, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSE: Gate = Gate::Refuse(Outcome::ShortCircuited);

    fn breaker() -> CircuitBreaker {
        CircuitBreaker {
            counts: BreakerCounts::Responses,
            statuses: StatusSet::EMPTY.with(529),
            outcomes: OutcomeSet::EMPTY,
            last: 20,
            minimum: 20,
            threshold: 0.3,
            open: SimDuration::from_mins(1),
            when_open: WhenOpen::Reject,
            pauses_workers: false,
            probes: 0,
            clear_on_close: true,
        }
    }

    fn feed(breaker: &CircuitBreaker, state: &mut BreakerState, failures: u32, good: u32, now: SimTime) {
        for _ in 0..failures {
            breaker.record(state, &Answer::refused(529), now);
        }
        for _ in 0..good {
            breaker.record(state, &Answer::DELIVERED, now);
        }
    }

    #[test]
    fn it_opens_above_the_threshold_and_not_at_it() {
        // By hand: 6 of 20 are exactly 30 %, 7 of 20 are 35 %.
        let (breaker, now) = (breaker(), SimTime::ZERO);
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 6, 14, now);
        assert_eq!(breaker.enter(&mut state, now), Gate::Pass);
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 7, 13, now);
        assert_eq!(breaker.enter(&mut state, now), REFUSE);
        assert_eq!(state.trips, 1);
    }

    #[test]
    fn closing_clears_the_window_so_that_twenty_more_are_needed() {
        let (breaker, now) = (breaker(), SimTime::ZERO);
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, now);
        let later = now + SimDuration::from_mins(1);
        assert_eq!(breaker.enter(&mut state, later), Gate::Pass);
        feed(&breaker, &mut state, 19, 0, later);
        assert_eq!(breaker.enter(&mut state, later), Gate::Pass);
        feed(&breaker, &mut state, 1, 0, later);
        assert_eq!(breaker.enter(&mut state, later), REFUSE);
    }

    #[test]
    fn a_kept_window_trips_again_on_the_first_failure() {
        let breaker = CircuitBreaker { clear_on_close: false, ..breaker() };
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, SimTime::ZERO);
        let later = SimTime::ZERO + SimDuration::from_mins(1);
        assert_eq!(breaker.enter(&mut state, later), Gate::Pass);
        feed(&breaker, &mut state, 1, 0, later);
        assert_eq!(breaker.enter(&mut state, later), REFUSE);
    }

    #[test]
    fn a_half_open_breaker_lets_its_probes_pass_and_no_more() {
        let breaker = CircuitBreaker { probes: 2, ..breaker() };
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, SimTime::ZERO);
        let later = SimTime::ZERO + SimDuration::from_mins(1);
        assert_eq!([0; 3].map(|_| breaker.enter(&mut state, later)), [Gate::Pass, Gate::Pass, REFUSE]);
        feed(&breaker, &mut state, 0, 2, later);
        assert_eq!(state.phase(), Phase::Closed);
    }

    #[test]
    fn an_open_breaker_says_until_when_it_holds_and_pauses() {
        let breaker = CircuitBreaker { when_open: WhenOpen::Hold, pauses_workers: true, ..breaker() };
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, SimTime::ZERO);
        let until = SimTime::ZERO + SimDuration::from_mins(1);
        assert_eq!(breaker.enter(&mut state, SimTime::ZERO), Gate::Wait(until));
        assert_eq!(breaker.pause(&mut state, SimTime::ZERO), Pause::Until(until));
        assert_eq!(breaker.pause(&mut state, until), Pause::No);
    }

    #[test]
    fn a_half_open_breaker_holds_and_pauses_until_its_probe_is_back() {
        let breaker = CircuitBreaker { when_open: WhenOpen::Hold, pauses_workers: true, probes: 1, ..breaker() };
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, SimTime::ZERO);
        let later = SimTime::ZERO + SimDuration::from_mins(1);
        assert_eq!(breaker.pause(&mut state, later), Pause::No);
        assert_eq!([0; 2].map(|_| breaker.enter(&mut state, later)), [Gate::Pass, Gate::Park]);
        assert_eq!(breaker.pause(&mut state, later), Pause::UntilItChanges);
        assert!(breaker.record(&mut state, &Answer::DELIVERED, later), "its probe closes it");
        assert_eq!((breaker.enter(&mut state, later), breaker.pause(&mut state, later)), (Gate::Pass, Pause::No));
    }

    #[test]
    fn a_probe_that_was_never_sent_makes_room_for_another() {
        let breaker = CircuitBreaker { probes: 1, ..breaker() };
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, SimTime::ZERO);
        let later = SimTime::ZERO + SimDuration::from_mins(1);
        assert_eq!([0; 2].map(|_| breaker.enter(&mut state, later)), [Gate::Pass, REFUSE]);
        assert!(!breaker.record(&mut state, &Answer::SHORT_CIRCUITED, later));
        assert!(breaker.probe_was_not_sent(&mut state));
        assert_eq!(breaker.enter(&mut state, later), Gate::Pass);
    }
}
