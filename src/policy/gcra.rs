//! The generic cell rate algorithm: the limiter keeps no level but the instant at which all that it has let through
//! would have arrived at the even rate, and lets a request through unless that instant runs too far ahead of the clock.
//! It decides as a token bucket whose capacity is the tolerance. Instants are kept in nanoseconds × units of the period,
//! so that an interval of a third of a second is exact.

use crate::units::{SimDuration, SimTime};

/// The settings of a generic cell rate algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    /// Units in one period; at least 1.
    pub amount: u64,
    /// The period; longer than zero.
    pub per: SimDuration,
    /// How far the theoretical arrival time may run ahead.
    pub tolerance: SimDuration,
}

/// The theoretical arrival time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcraState {
    /// In nanoseconds × units of the period.
    arrival: u128,
}

impl Gcra {
    const fn scaled(&self, now: SimTime) -> u128 {
        now.as_nanos() as u128 * self.amount as u128
    }

    const fn ahead(&self) -> u128 {
        self.tolerance.as_nanos() as u128 * self.amount as u128
    }

    const fn cost(&self, units: u64) -> u128 {
        units as u128 * self.per.as_nanos() as u128
    }

    fn after(&self, scaled: u128) -> SimDuration {
        SimDuration::from_nanos(u64::try_from(scaled.div_ceil(u128::from(self.amount))).unwrap_or(u64::MAX))
    }

    /// The largest request that is ever let through.
    pub fn largest(&self) -> u64 {
        u64::try_from(self.ahead() / u128::from(self.per.as_nanos())).unwrap_or(u64::MAX)
    }

    /// How long until so much is let through; zero where it is, [`SimDuration::MAX`] where it never will be.
    pub fn shortfall(&self, state: &GcraState, units: u64, now: SimTime) -> SimDuration {
        if self.cost(units) > self.ahead() {
            return SimDuration::MAX;
        }
        let arrival = state.arrival.max(self.scaled(now)) + self.cost(units);
        self.after(arrival.saturating_sub(self.ahead() + self.scaled(now)))
    }

    /// How long until anything is let through.
    pub fn until_any(&self, state: &GcraState, now: SimTime) -> SimDuration {
        self.after((state.arrival.max(self.scaled(now)) + 1).saturating_sub(self.ahead() + self.scaled(now)))
    }

    /// Lets so much through as far as it would be, parts of units too.
    pub fn fill(&self, state: &mut GcraState, units: u64, now: SimTime) {
        let arrival = state.arrival.max(self.scaled(now));
        state.arrival = (arrival + self.cost(units)).min(arrival.max(self.scaled(now) + self.ahead()));
    }

    /// Lets so much through in any case.
    pub fn charge(&self, state: &mut GcraState, units: u64, now: SimTime) {
        state.arrival = state.arrival.max(self.scaled(now)) + self.cost(units);
    }

    /// Takes it back.
    pub fn refund(&self, state: &mut GcraState, units: u64) {
        state.arrival = state.arrival.saturating_sub(self.cost(units));
    }

    /// The state under another amount for each period, from `now` on: what runs ahead of the clock stays.
    pub fn changed(&self, state: &GcraState, amount: u64, now: SimTime) -> GcraState {
        let ahead = state.arrival.saturating_sub(self.scaled(now));
        GcraState { arrival: ahead + Gcra { amount, ..*self }.scaled(now) }
    }

    /// The share of the tolerance that is left, from 0 to 1.
    pub fn share(&self, state: &GcraState, now: SimTime) -> f64 {
        let ahead = state.arrival.saturating_sub(self.scaled(now));
        1.0 - (ahead as f64 / self.ahead() as f64).min(1.0)
    }

    /// How long until the clock has caught up.
    pub fn until_even(&self, state: &GcraState, now: SimTime) -> SimDuration {
        self.after(state.arrival.saturating_sub(self.scaled(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_of_a_third_of_a_second_is_exact_over_a_month() {
        // By hand: three a second, and 333,333,334 ns of tolerance, a third of a second rounded up. One at each third,
        // rounded down, always fits. After the last of the month the next one fits a third later, rounded up: were the
        // interval cut to a whole nanosecond, the limiter would be 2.6 ms ahead by then.
        let third = SimDuration::from_nanos(333_333_334);
        let gcra = Gcra { amount: 3, per: SimDuration::from_secs(1), tolerance: third };
        let mut state = GcraState::default();
        let days = 30_u64;
        for n in 0..days * 86_400 {
            for part in [0, 333_333_333, 666_666_666] {
                let now = SimTime::from_nanos(n * 1_000_000_000 + part);
                assert_eq!(gcra.shortfall(&state, 1, now), SimDuration::ZERO, "{n} {part}");
                gcra.charge(&mut state, 1, now);
            }
        }
        let now = SimTime::from_nanos(days * 86_400 * 1_000_000_000 - 333_333_334);
        assert_eq!(gcra.shortfall(&state, 1, now), SimDuration::from_nanos(333_333_334));
    }

    #[test]
    fn what_runs_ahead_stays_when_the_rate_changes() {
        // By hand: ten of sixty a minute put it 10 s ahead; at 30 a minute the same ten are 20 s.
        let gcra = Gcra { amount: 60, per: SimDuration::from_mins(1), tolerance: SimDuration::from_mins(1) };
        let mut state = GcraState::default();
        let now = SimTime::ZERO + SimDuration::from_mins(5);
        gcra.charge(&mut state, 10, now);
        assert_eq!(gcra.until_even(&state, now), SimDuration::from_secs(10));
        let slower = Gcra { amount: 30, ..gcra };
        assert_eq!(slower.until_even(&gcra.changed(&state, 30, now), now), SimDuration::from_secs(20));
    }
}
