//! A ramp: what opens again does not let everything through at once. The share that passes grows with the time since,
//! as the weight of a new endpoint does in Envoy's slow start: max(from, (t ÷ over)^(1 ÷ aggression)).

use crate::random::math::pow;
use crate::units::{SimDuration, SimTime};

/// The settings of a ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// The share that passes at once; above 0 and at most 1.
    pub from: f64,
    /// How long it takes until everything passes.
    pub over: SimDuration,
    /// How the share grows: 1 evenly with time, more faster at first, less slower at first; above 0.
    pub aggression: f64,
    /// Whether the run begins with one, too.
    pub at_start: bool,
}

impl Ramp {
    /// The share that passes so long after the beginning.
    pub fn share(&self, since: SimDuration) -> f64 {
        if since >= self.over {
            return 1.0;
        }
        let time = since.as_secs_f64() / self.over.as_secs_f64();
        let grown = if self.aggression == 1.0 { time } else { pow(time, 1.0 / self.aggression) };
        grown.clamp(self.from, 1.0)
    }

    /// How long after the beginning the share has grown to `chance`, a number in 0..1: whoever draws it passes from then
    /// on.
    pub fn lets_in(&self, chance: f64) -> SimDuration {
        if chance < self.from {
            return SimDuration::ZERO;
        }
        let time = if self.aggression == 1.0 { chance } else { pow(chance, self.aggression) };
        self.over.scaled(time)
    }

    /// When somebody who draws `chance` may pass a ramp that has begun then; `None` where that is now or was before.
    pub fn holds(&self, began: SimTime, chance: f64, now: SimTime) -> Option<SimTime> {
        let until = began + self.lets_in(chance);
        (until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: Ramp = Ramp { from: 0.1, over: SimDuration::from_mins(2), aggression: 1.0, at_start: false };

    #[test]
    fn the_share_grows_by_the_published_formula() {
        // By hand: max(0.1, t / 120 s); with an aggression of 2 the square root of that.
        for (since, even, fast) in
            [(0, 0.1, 0.1), (6, 0.1, 0.223_606_8), (30, 0.25, 0.5), (120, 1.0, 1.0), (500, 1.0, 1.0)]
        {
            let since = SimDuration::from_secs(since);
            assert!((EVEN.share(since) - even).abs() < 1e-7);
            assert!((Ramp { aggression: 2.0, ..EVEN }.share(since) - fast).abs() < 1e-7);
        }
    }

    #[test]
    fn whoever_draws_a_number_passes_when_the_share_has_grown_to_it() {
        let began = SimTime::ZERO + SimDuration::from_secs(10);
        assert_eq!(EVEN.holds(began, 0.09, began), None);
        assert_eq!(EVEN.holds(began, 0.5, began), Some(began + SimDuration::from_mins(1)));
        assert_eq!(EVEN.holds(began, 0.5, began + SimDuration::from_mins(1)), None);
        // By hand: 0.5 squared is a quarter of two minutes.
        let fast = Ramp { aggression: 2.0, ..EVEN };
        assert_eq!(fast.holds(began, 0.5, began), Some(began + SimDuration::from_secs(30)));
    }
}
