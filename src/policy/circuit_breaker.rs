//! A circuit breaker stops sending while the upstream is failing (Nygard 2007, "Release It!"). It opens when too many
//! of the counted results are failures ([`super::trip`]), refuses for a while, and closes again: at once, or after a
//! number of probes have come back well.
//!
//! Libraries agree on that and on little else: how many probes pass at once and what the others do meanwhile, what a
//! result does that comes late, whether closing forgets. Each of these is a setting of its own; a library is a set of
//! them.
//!
//! What is counted decides whether it ever trips: counted per call, a client that retries four times shows the
//! breaker a failure only when all four fail (q⁴), while counted per response it sees each one.

use super::answer::{Answer, Outcome};
use super::classify::{OutcomeSet, StatusSet, is_among};
use super::ramp::Ramp;
use super::recovery::{HalfOpen, Late, OnClose, OpenTime, Others};
use super::trip::{Seen, ShareOf, Trip};
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

/// The settings of a breaker.
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitBreaker {
    /// What feeds it.
    pub counts: BreakerCounts,
    /// Statuses that count as failures.
    pub statuses: StatusSet,
    /// Failures without a status that count as failures.
    pub outcomes: OutcomeSet,
    /// When it opens.
    pub trip: Trip,
    /// How long it stays open.
    pub open: OpenTime,
    /// What it does to those who want to pass while it is open.
    pub when_open: WhenOpen,
    /// Whether it stands in the way of retries only: the first request for a step passes, and its result counts.
    pub gates_retries: bool,
    /// Whether workers stop taking jobs from the queue while it is open.
    pub pauses_workers: bool,
    /// How it tries whether the upstream is well again.
    pub half_open: HalfOpen,
    /// What results do that come back late.
    pub late: Late,
    /// What becomes of the results seen before when it closes.
    pub on_close: OnClose,
    /// Whether the layers outside see a short circuit in place of the failure that opened it.
    pub hides_the_last_failure: bool,
    /// How the share grows that passes once it has closed, where not all do.
    pub ramp: Option<Ramp>,
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
    /// Go on, with the deployment at this place.
    Picked(u8),
    /// Refused with this status: no deployment is left to pick.
    NoneLeft(u16),
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
    seen: Seen,
    /// How long it is open, or was when it was last.
    open_time: SimDuration,
    /// When it closed last; `None` where it never was open, and begins without a ramp.
    closed_at: Option<SimTime>,
    /// How often it opened.
    pub trips: u32,
}

/// What one result did to a breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// It ended the half-open phase: who waits may ask again.
    pub ends_half_open: bool,
    /// It opened the breaker, or started its open time over.
    pub opens: bool,
}

impl CircuitBreaker {
    /// A closed breaker that has seen nothing.
    pub fn closed(&self) -> BreakerState {
        BreakerState {
            phase: Phase::Closed,
            seen: self.trip.nothing_seen(),
            open_time: SimDuration::ZERO,
            closed_at: self.ramp.filter(|ramp| ramp.at_start).map(|_| SimTime::ZERO),
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
        self.trip.came(&mut state.seen, now);
        match &mut state.phase {
            Phase::Closed => Gate::Pass,
            Phase::Open(until) => match self.when_open {
                WhenOpen::Reject => Gate::Refuse(Outcome::ShortCircuited),
                WhenOpen::Hold => Gate::Wait(*until),
            },
            Phase::HalfOpen { out, well } => {
                if self.half_open.admits(*out, *well) {
                    *out += 1;
                    return Gate::Pass;
                }
                match self.half_open.others {
                    Others::Wait => Gate::Park,
                    Others::Reject | Others::Pass => Gate::Refuse(Outcome::ShortCircuited),
                }
            }
        }
    }

    /// What the ramp of a closed breaker says to someone who has drawn `chance`, uniform in 0..1 and the same whenever the
    /// same request asks; `None` where it may pass.
    pub fn holds_back(&self, state: &BreakerState, chance: f64, now: SimTime) -> Option<Gate> {
        let (ramp, began) = (self.ramp?, state.closed_at.filter(|_| state.phase == Phase::Closed)?);
        ramp.holds(began, chance, now).map(|until| match self.when_open {
            WhenOpen::Reject => Gate::Refuse(Outcome::ShortCircuited),
            WhenOpen::Hold => Gate::Wait(until),
        })
    }

    /// When the ramp of a closed breaker begins and ends; `None` where it has none.
    pub fn ramp_of(&self, state: &BreakerState) -> Option<(SimTime, SimTime)> {
        let (ramp, began) = (self.ramp?, state.closed_at.filter(|_| state.phase == Phase::Closed)?);
        Some((began, began + ramp.over))
    }

    /// Whether workers must not take a job now: while the breaker is open, or half-open with all its probes out.
    pub fn pause(&self, state: &mut BreakerState, now: SimTime) -> Pause {
        self.settle(state, now);
        match state.phase {
            Phase::Open(until) if self.pauses_workers => Pause::Until(until),
            Phase::HalfOpen { out, well } if self.pauses_workers && !self.half_open.admits(out, well) => {
                Pause::UntilItChanges
            }
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

    /// Takes one result into account: of a probe, which was let through while the breaker was half open, or of another
    /// call. What was never sent says nothing about the upstream.
    pub fn record(&self, state: &mut BreakerState, answer: &Answer, of_a_probe: bool, now: SimTime) -> Recorded {
        if !answer.outcome.was_sent() {
            return Recorded::default();
        }
        self.settle(state, now);
        let was_half_open = matches!(state.phase, Phase::HalfOpen { .. });
        let opens = self.count(state, self.is_failure(answer), of_a_probe, now);
        Recorded { ends_half_open: was_half_open && !matches!(state.phase, Phase::HalfOpen { .. }), opens }
    }

    fn count(&self, state: &mut BreakerState, failed: bool, of_a_probe: bool, now: SimTime) -> bool {
        state.seen.follow(failed);
        if self.trip.share_of == ShareOf::Calls || state.phase == Phase::Closed {
            self.trip.push(&mut state.seen, failed, now);
        }
        let opens = match &mut state.phase {
            Phase::Open(_) => failed && self.late.failure_restarts,
            Phase::HalfOpen { .. } => failed,
            Phase::Closed => {
                failed && of_a_probe && self.late.probes_decide || self.trip.opens(&state.seen, failed, now)
            }
        };
        match &mut state.phase {
            _ if opens => self.trip(state, now),
            Phase::Open(_) if !failed && of_a_probe && self.late.probes_decide => self.close(state, now),
            Phase::Open(_) | Phase::Closed => {}
            Phase::HalfOpen { out, well } => {
                *out = out.saturating_sub(1);
                *well += 1;
                if *well >= self.half_open.probes {
                    self.close(state, now);
                }
            }
        }
        opens
    }

    fn trip(&self, state: &mut BreakerState, now: SimTime) {
        match state.phase {
            Phase::Closed => state.open_time = self.open.first.min(self.open.cap),
            Phase::HalfOpen { .. } => state.open_time = self.open.next(state.open_time),
            // The same opening lasts longer.
            Phase::Open(_) => {}
        }
        state.trips += u32::from(!matches!(state.phase, Phase::Open(_)));
        state.phase = Phase::Open(self.open.end(state.open_time, now));
    }

    /// An operator opens it until then, or for as long as it would stay open by itself; that is no trip of its own.
    pub fn opened_by_hand(&self, state: &mut BreakerState, until: Option<SimTime>, now: SimTime) {
        self.settle(state, now);
        let trips = state.trips;
        self.trip(state, now);
        state.trips = trips;
        if let Some(until) = until {
            state.phase = Phase::Open(until);
        }
    }

    /// It closes because a result came back well.
    fn close(&self, state: &mut BreakerState, now: SimTime) {
        self.closes(state, now);
        if self.on_close == OnClose::CountProbe {
            self.trip.push(&mut state.seen, false, now);
        }
    }

    fn closes(&self, state: &mut BreakerState, now: SimTime) {
        // It closes by itself when its time is over, whoever sees that first.
        state.closed_at = Some(if let Phase::Open(until) = state.phase { until.min(now) } else { now });
        state.phase = Phase::Closed;
        self.trip.closes(&mut state.seen, self.on_close != OnClose::Keep, now);
    }

    /// Moves an open breaker on when its time is over.
    fn settle(&self, state: &mut BreakerState, now: SimTime) {
        let Phase::Open(until) = state.phase else { return };
        if now < until {
            return;
        }
        if self.half_open.probes == 0 {
            self.closes(state, now);
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

    /// What it has seen.
    pub const fn seen(&self) -> &Seen {
        &self.seen
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
            trip: Trip::share(20, 0.3),
            open: OpenTime::fixed(SimDuration::from_mins(1)),
            when_open: WhenOpen::Reject,
            gates_retries: false,
            pauses_workers: false,
            half_open: HalfOpen::with(0, WhenOpen::Reject),
            late: Late::IGNORED,
            on_close: OnClose::Clear,
            hides_the_last_failure: false,
            ramp: None,
        }
    }

    fn feed(breaker: &CircuitBreaker, state: &mut BreakerState, failures: u32, good: u32, now: SimTime) {
        for _ in 0..failures {
            breaker.record(state, &Answer::refused(529), false, now);
        }
        for _ in 0..good {
            breaker.record(state, &Answer::DELIVERED, false, now);
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
        let breaker = CircuitBreaker { on_close: OnClose::Keep, ..breaker() };
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, SimTime::ZERO);
        let later = SimTime::ZERO + SimDuration::from_mins(1);
        assert_eq!(breaker.enter(&mut state, later), Gate::Pass);
        feed(&breaker, &mut state, 1, 0, later);
        assert_eq!(breaker.enter(&mut state, later), REFUSE);
    }

    #[test]
    fn a_half_open_breaker_lets_its_probes_pass_and_no_more() {
        let breaker = CircuitBreaker { half_open: HalfOpen::with(2, WhenOpen::Reject), ..breaker() };
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
        let breaker = CircuitBreaker {
            when_open: WhenOpen::Hold,
            pauses_workers: true,
            half_open: HalfOpen::with(1, WhenOpen::Hold),
            ..breaker()
        };
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, SimTime::ZERO);
        let later = SimTime::ZERO + SimDuration::from_mins(1);
        assert_eq!(breaker.pause(&mut state, later), Pause::No);
        assert_eq!([0; 2].map(|_| breaker.enter(&mut state, later)), [Gate::Pass, Gate::Park]);
        assert_eq!(breaker.pause(&mut state, later), Pause::UntilItChanges);
        let probe = breaker.record(&mut state, &Answer::DELIVERED, true, later);
        assert_eq!(probe, Recorded { ends_half_open: true, opens: false });
        assert_eq!((breaker.enter(&mut state, later), breaker.pause(&mut state, later)), (Gate::Pass, Pause::No));
    }

    #[test]
    fn a_probe_that_was_never_sent_makes_room_for_another() {
        let breaker = CircuitBreaker { half_open: HalfOpen::with(1, WhenOpen::Reject), ..breaker() };
        let mut state = breaker.closed();
        feed(&breaker, &mut state, 20, 0, SimTime::ZERO);
        let later = SimTime::ZERO + SimDuration::from_mins(1);
        assert_eq!([0; 2].map(|_| breaker.enter(&mut state, later)), [Gate::Pass, REFUSE]);
        assert_eq!(breaker.record(&mut state, &Answer::SHORT_CIRCUITED, true, later), Recorded::default());
        assert!(breaker.probe_was_not_sent(&mut state));
        assert_eq!(breaker.enter(&mut state, later), Gate::Pass);
    }
}
