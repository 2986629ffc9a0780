//! A semaphore bounds how many are past a place at once: a permit is taken on the way in and given back when the result
//! passes outward, so that around a retry layer it is held through the waits between attempts. A connection pool is the
//! same thing next to the wire, with an error of its own. Whoever finds no permit stands in line; a permit that comes
//! back goes to the first in line, so that nobody who comes at that instant overtakes.

use super::answer::Outcome;
use super::circuit_breaker::Gate;
use crate::units::{SimDuration, SimTime};

/// The settings of a semaphore or of a connection pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Semaphore {
    /// How many may be past its place at once; at least 1.
    pub permits: u32,
    /// What it does to someone who finds no permit.
    pub when_full: WhenFull,
    /// The most who may stand in line; whoever comes to a full line is refused. `None` is everybody.
    pub line: Option<u32>,
    /// Whether the permits are connections: running out of them is an error of its own.
    pub is_pool: bool,
}

/// What a semaphore without a free permit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Refuse at once.
    Reject,
    /// Let stand in line, for this long at most; `None` is as long as it takes.
    Wait(Option<SimDuration>),
    /// Let stand in line; who comes to a full line takes the place of the first in it, who is refused.
    DropFirst,
    /// Let stand in line; who comes to a full line is refused with all who stand in it, and so is everybody until nobody
    /// has come for this long.
    Block(SimDuration),
}

/// The state of one semaphore. Its line is kept by whoever knows who stands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemaphoreState {
    /// Permits that are out.
    pub in_use: u32,
    /// The most permits that were out at once.
    pub most_in_use: u32,
    /// Until when it refuses everybody, this instant included.
    pub blocked: Option<SimTime>,
}

impl Semaphore {
    /// What a refusal is for the layers outside.
    pub const fn refusal(&self) -> Outcome {
        if self.is_pool { Outcome::PoolTimedOut } else { Outcome::LimiterFull }
    }

    /// How long it lets somebody stand in line; `None` is as long as it takes.
    pub const fn patience(&self) -> Option<SimDuration> {
        match self.when_full {
            WhenFull::Reject => Some(SimDuration::ZERO),
            WhenFull::Wait(longest) => longest,
            WhenFull::DropFirst | WhenFull::Block(_) => None,
        }
    }

    /// Whether it can refuse at all.
    pub const fn can_refuse(&self) -> bool {
        !matches!((self.when_full, self.line), (WhenFull::Wait(None), None))
    }

    /// What it says to someone who wants to pass while so many stand in line; a permit is taken where one is free.
    pub fn enter(&self, state: &mut SemaphoreState, in_line: usize, now: SimTime) -> Gate {
        let is_full = self.line.is_some_and(|most| in_line >= most as usize);
        if let WhenFull::Block(penalty) = self.when_full
            && (state.blocked.is_some_and(|until| now <= until) || (is_full && state.in_use >= self.permits))
        {
            state.blocked = Some(now + penalty);
            return Gate::Refuse(self.refusal());
        }
        if state.in_use < self.permits {
            state.in_use += 1;
            state.most_in_use = state.most_in_use.max(state.in_use);
            return Gate::Pass;
        }
        match self.when_full {
            WhenFull::Reject => Gate::Refuse(self.refusal()),
            WhenFull::Wait(_) if is_full => Gate::Refuse(self.refusal()),
            WhenFull::Wait(None) | WhenFull::DropFirst | WhenFull::Block(_) => Gate::Line(SimTime::NEVER),
            WhenFull::Wait(Some(longest)) => Gate::Line(now + longest),
        }
    }

    /// How many of those who stand in line, from the first on, are refused now that this was said to a newcomer.
    pub fn falls(&self, in_line: usize, said: Gate) -> usize {
        match (self.when_full, said) {
            (WhenFull::DropFirst, Gate::Line(_)) => usize::from(self.line.is_some_and(|most| in_line >= most as usize)),
            (WhenFull::Block(_), Gate::Refuse(_)) => in_line,
            _ => 0,
        }
    }

    /// A permit comes back.
    pub const fn leave(&self, state: &mut SemaphoreState) {
        state.in_use -= 1;
    }

    /// Whether a permit is free for the next in line, who takes it.
    pub fn hands_on(&self, state: &mut SemaphoreState) -> bool {
        let is_free = state.in_use < self.permits;
        if is_free {
            state.in_use += 1;
            state.most_in_use = state.most_in_use.max(state.in_use);
        }
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Semaphore = Semaphore { permits: 2, when_full: WhenFull::Reject, line: None, is_pool: false };

    #[test]
    fn so_many_pass_and_the_next_one_waits_or_is_refused() {
        let mut state = SemaphoreState::default();
        let now = SimTime::ZERO;
        assert_eq!([0; 3].map(|_| TWO.enter(&mut state, 0, now)), {
            [Gate::Pass, Gate::Pass, Gate::Refuse(Outcome::LimiterFull)]
        });
        let patient = Semaphore { when_full: WhenFull::Wait(Some(SimDuration::from_secs(5))), ..TWO };
        assert_eq!(patient.enter(&mut state, 0, now), Gate::Line(now + SimDuration::from_secs(5)));
        let endless = Semaphore { when_full: WhenFull::Wait(None), ..TWO };
        assert_eq!(endless.enter(&mut state, 0, now), Gate::Line(SimTime::NEVER));
        let short = Semaphore { line: Some(3), ..endless };
        assert_eq!(short.enter(&mut state, 2, now), Gate::Line(SimTime::NEVER));
        assert_eq!(short.enter(&mut state, 3, now), Gate::Refuse(Outcome::LimiterFull));
        let pool = Semaphore { is_pool: true, ..TWO };
        assert_eq!(pool.enter(&mut state, 0, now), Gate::Refuse(Outcome::PoolTimedOut));
        assert_eq!(state, SemaphoreState { in_use: 2, most_in_use: 2, blocked: None });
    }

    #[test]
    fn a_permit_that_is_handed_over_is_never_free_in_between() {
        let mut state = SemaphoreState { in_use: 2, most_in_use: 2, blocked: None };
        TWO.leave(&mut state);
        assert!(TWO.hands_on(&mut state));
        assert!(!TWO.hands_on(&mut state));
        assert_eq!(TWO.enter(&mut state, 0, SimTime::ZERO), Gate::Refuse(Outcome::LimiterFull));
        TWO.leave(&mut state);
        assert_eq!(TWO.enter(&mut state, 0, SimTime::ZERO), Gate::Pass);
    }

    #[test]
    fn who_comes_to_a_full_line_may_take_the_first_place_or_end_it_for_all() {
        let (now, five) = (SimTime::ZERO, SimDuration::from_secs(5));
        let full = SemaphoreState { in_use: 2, ..SemaphoreState::default() };
        let leaks = Semaphore { when_full: WhenFull::DropFirst, line: Some(3), ..TWO };
        let gate = leaks.enter(&mut { full }, 3, now);
        assert_eq!((gate, leaks.falls(3, gate), leaks.falls(2, gate)), (Gate::Line(SimTime::NEVER), 1, 0));
        let blocks = Semaphore { when_full: WhenFull::Block(five), ..leaks };
        let mut state = full;
        assert_eq!(blocks.enter(&mut state, 2, now), Gate::Line(SimTime::NEVER));
        let gate = blocks.enter(&mut state, 3, now);
        assert_eq!((gate, blocks.falls(3, gate)), (Gate::Refuse(Outcome::LimiterFull), 3));
        // By hand: whoever comes within five seconds starts them again, also where a permit is free.
        state.in_use = 0;
        assert_eq!(blocks.enter(&mut state, 0, now + five), Gate::Refuse(Outcome::LimiterFull));
        assert_eq!(blocks.enter(&mut state, 0, now + five + five), Gate::Refuse(Outcome::LimiterFull));
        let later = now + five + five + five + SimDuration::from_nanos(1);
        assert_eq!(blocks.enter(&mut state, 0, later), Gate::Pass);
    }
}
