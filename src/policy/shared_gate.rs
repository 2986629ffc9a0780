//! A gate that all who share it close for each other: a response that says "too many requests" closes it for as long as
//! the server asks for, and nobody passes before. A later response extends that and never shortens it.
//!
//! When it opens again all who waited stand before it. Whether they go at once, spread over a while, one by one, or along a
//! [`Ramp`] is a setting: at once, they are as many in one instant as came in all the time before.

use std::collections::VecDeque;

use super::answer::{Answer, Outcome};
use super::circuit_breaker::Gate;
use super::classify::{OutcomeSet, StatusSet, is_among};
use super::hint::{HintRule, HintedWait};
use super::ramp::Ramp;
use crate::units::{SimDuration, SimTime};

/// The settings of a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedGate {
    /// Statuses that close it.
    pub statuses: StatusSet,
    /// Failures without a status that close it.
    pub outcomes: OutcomeSet,
    /// How long it is closed where no hint says it.
    pub time: SimDuration,
    /// What a server's hint does to that.
    pub hint: HintRule,
    /// The longest that one response can close it for, counted from then; [`SimDuration::MAX`] for no bound.
    pub at_most: SimDuration,
    /// Whether it refuses those who come while it is closed, instead of letting them wait.
    pub rejects: bool,
    /// How those pass who have waited.
    pub opens: Opens,
}

/// How a gate opens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Opens {
    /// All who wait pass at once.
    All,
    /// Each who waits passes at an instant of its own, drawn uniformly from a time of this length; who comes after it has
    /// opened passes.
    Spread(SimDuration),
    /// Those who wait pass in the order of their coming, one in each of these; who comes meanwhile waits behind them.
    Each(SimDuration),
    /// The share that passes grows, of those who have waited and of those who come.
    Ramp(Ramp),
}

/// The state of one gate.
#[derive(Clone, Debug, Default)]
pub struct GateState {
    /// Until when it is closed; `None` where it never was.
    until: Option<SimTime>,
    /// The instants that are promised, where those who wait pass one by one.
    turns: VecDeque<SimTime>,
    /// How often it closed; an extension is none.
    pub closings: u32,
    /// How long it was closed in all, up to its last known end.
    pub closed_for: SimDuration,
}

impl GateState {
    /// Until when it is closed; `None` while it is open.
    pub fn closed_until(&self, now: SimTime) -> Option<SimTime> {
        self.until.filter(|until| now < *until)
    }
}

impl GateState {
    /// The end of the last time for which it was closed; `None` where it never was.
    pub const fn until(&self) -> Option<SimTime> {
        self.until
    }
}

impl SharedGate {
    /// From when on it is open for everybody, where the last time for which it was closed ends at `until`: later where
    /// those who wait, or all, pass bit by bit. Of those who pass in turn, as far as turns are promised.
    pub fn open_from(&self, state: &GateState, until: SimTime) -> SimTime {
        match self.opens {
            Opens::Ramp(ramp) => until + ramp.over,
            // Nobody waits before a gate that refuses.
            _ if self.rejects => until,
            Opens::All => until,
            Opens::Spread(time) => until + time,
            Opens::Each(_) => state.turns.back().map_or(until, |last| until.max(*last)),
        }
    }

    /// An open gate.
    pub fn open(&self) -> GateState {
        let ramps = matches!(self.opens, Opens::Ramp(ramp) if ramp.at_start);
        GateState { until: ramps.then_some(SimTime::ZERO), ..GateState::default() }
    }

    /// Whether it lets people pass by chance.
    pub const fn is_by_chance(&self) -> bool {
        matches!(self.opens, Opens::Spread(_) | Opens::Ramp(_))
    }

    /// How long this answer closes it for; `None` where it does not.
    pub fn closes_for(&self, answer: &Answer) -> Option<SimDuration> {
        if !is_among(answer, &self.statuses, self.outcomes) {
            return None;
        }
        let wait = match self.hint.read(answer.hint) {
            HintedWait::Own | HintedWait::GiveUp => self.time,
            HintedWait::Exactly { wait, .. } => wait,
            HintedWait::AtLeast { hint, .. } => hint.max(self.time),
            HintedWait::Near { hint, beyond } => hint.min(self.time + beyond).max(self.time),
        };
        Some(wait.min(self.at_most)).filter(|wait| *wait > SimDuration::ZERO)
    }

    /// A response is shown to it.
    pub fn record(&self, state: &mut GateState, answer: &Answer, now: SimTime) {
        let Some(wait) = self.closes_for(answer) else { return };
        let end = now + wait;
        match state.closed_until(now) {
            Some(until) if until >= end => return,
            Some(until) => state.closed_for += end - until,
            None => {
                state.closings += 1;
                state.closed_for += wait;
            }
        }
        state.until = Some(end);
    }

    /// What it says to someone who wants to pass and has drawn `chance`, uniform in 0..1 and the same whenever the same
    /// request asks.
    pub fn enter(&self, state: &mut GateState, chance: f64, now: SimTime) -> Gate {
        let Some(until) = state.until else { return Gate::Pass };
        let has_a_turn = state.has_a_turn(now);
        let may_pass = match self.opens {
            Opens::Spread(time) if now < until => until + time.scaled(chance),
            Opens::All | Opens::Spread(_) => until,
            Opens::Ramp(ramp) => until + ramp.lets_in(chance),
            Opens::Each(_) if now >= until && (has_a_turn || state.turns.is_empty()) => now,
            Opens::Each(_) if self.rejects => until,
            Opens::Each(interval) => state.next_turn(until, interval),
        };
        match may_pass {
            from if from <= now => Gate::Pass,
            _ if self.rejects => Gate::Refuse(Outcome::ShortCircuited),
            from => Gate::Wait(from),
        }
    }
}

impl GateState {
    /// Whether this instant is somebody's turn, who takes it.
    fn has_a_turn(&mut self, now: SimTime) -> bool {
        // Who does not come in time has left.
        while self.turns.front().is_some_and(|turn| *turn < now) {
            self.turns.pop_front();
        }
        let is_turn = self.turns.front() == Some(&now);
        if is_turn {
            self.turns.pop_front();
        }
        is_turn
    }

    /// Promises the next turn.
    fn next_turn(&mut self, until: SimTime, interval: SimDuration) -> SimTime {
        let behind = self.turns.back().filter(|last| **last >= until);
        let turn = behind.map_or(until, |last| *last + interval);
        self.turns.push_back(turn);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATE: SharedGate = SharedGate {
        statuses: StatusSet::EMPTY.with(429),
        outcomes: OutcomeSet::EMPTY,
        time: SimDuration::from_secs(30),
        hint: HintRule::OBEY,
        at_most: SimDuration::from_mins(5),
        rejects: false,
        opens: Opens::All,
    };

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    fn hinted(seconds: u64) -> Answer {
        Answer::refused(429).with_hint(Some(SimDuration::from_secs(seconds)))
    }

    #[test]
    fn a_later_response_extends_and_never_shortens() {
        // By hand: closed at 10 to 40 without a hint; a hint of 5 s at 20 changes nothing, one of 60 s at 30 extends it
        // to 90; an hour at 80 is cut to five minutes, until 380. Other answers do nothing.
        let mut state = GATE.open();
        assert_eq!(GATE.enter(&mut state, 0.5, at(0)), Gate::Pass);
        for (second, answer, until) in [
            (10, Answer::refused(429), 40),
            (20, hinted(5), 40),
            (25, Answer::refused(503), 40),
            (30, hinted(60), 90),
            (80, hinted(3600), 380),
        ] {
            GATE.record(&mut state, &answer, at(second));
            assert_eq!(GATE.enter(&mut state, 0.5, at(second)), Gate::Wait(at(until)));
            assert_eq!(state.closed_until(at(second)), Some(at(until)));
        }
        assert_eq!(GATE.enter(&mut state, 0.5, at(380)), Gate::Pass);
        assert_eq!((state.closings, state.closed_for), (1, SimDuration::from_secs(370)));
        GATE.record(&mut state, &hinted(10), at(400));
        assert_eq!((state.closings, state.closed_for), (2, SimDuration::from_secs(380)));
    }

    #[test]
    fn who_has_waited_passes_at_once_spread_one_by_one_or_along_a_ramp() {
        let (ten, refuse) = (SimDuration::from_secs(10), Gate::Refuse(Outcome::ShortCircuited));
        let closed = |opens, rejects| {
            let gate = SharedGate { rejects, opens, ..GATE };
            let mut state = gate.open();
            gate.record(&mut state, &hinted(20), at(0));
            (gate, state)
        };
        let (gate, mut state) = closed(Opens::Spread(ten), false);
        assert_eq!(gate.enter(&mut state, 0.5, at(1)), Gate::Wait(at(25)));
        assert_eq!(gate.enter(&mut state, 0.9, at(21)), Gate::Pass, "who comes afterwards");
        assert_eq!(gate.enter(&mut state, 0.5, at(25)), Gate::Pass);

        let (gate, mut state) = closed(Opens::Each(ten), false);
        assert_eq!([1, 2, 3].map(|now| gate.enter(&mut state, 0.0, at(now))), [20, 30, 40].map(|t| Gate::Wait(at(t))));
        assert_eq!(gate.enter(&mut state, 0.0, at(20)), Gate::Pass);
        assert_eq!(gate.enter(&mut state, 0.0, at(21)), Gate::Wait(at(50)), "behind those who wait");
        assert_eq!(gate.enter(&mut state, 0.0, at(30)), Gate::Pass);
        // Closed again until 65 before the third one's turn, who stands there first then.
        gate.record(&mut state, &hinted(30), at(35));
        assert_eq!(gate.enter(&mut state, 0.0, at(40)), Gate::Wait(at(65)));
        assert_eq!(gate.enter(&mut state, 0.0, at(50)), Gate::Wait(at(75)));
        assert_eq!([65, 75, 76].map(|now| gate.enter(&mut state, 0.0, at(now))), [Gate::Pass; 3]);

        let ramp = Ramp { from: 0.1, over: ten, aggression: 1.0, at_start: false };
        let (gate, mut state) = closed(Opens::Ramp(ramp), true);
        assert_eq!(gate.enter(&mut state, 0.05, at(19)), refuse);
        assert_eq!(gate.enter(&mut state, 0.05, at(20)), Gate::Pass);
        assert_eq!([24, 25].map(|now| gate.enter(&mut state, 0.5, at(now))), [refuse, Gate::Pass]);
    }
}
