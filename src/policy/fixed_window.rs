//! A fixed window: a counter that starts again from nothing at the end of each window. Windows follow the clock, or the
//! first charge after the last one opens the next. A window may be enforced in hidden sub-windows, each with its part of
//! the amount: 600 a minute as ten a second.

use crate::units::{SimDuration, SimTime};

/// When windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// At this offset, and each period before and after it.
    Clock(SimDuration),
    /// With the first charge after the window before is over.
    FirstCharge,
}

/// The settings of a fixed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    /// Units in one window; at least 1.
    pub amount: u64,
    /// The length of a window; longer than zero.
    pub per: SimDuration,
    /// How many equal parts the window and its amount are enforced in; at least 1.
    pub sub_windows: u32,
    /// When windows begin.
    pub begins: Begins,
}

/// What is used of the window that was touched last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedWindowState {
    /// When the window began that a charge opened; unused where windows follow the clock.
    opened: Option<SimTime>,
    /// The sub-window, counted from the beginning of the clock or of the window.
    index: u64,
    used: u64,
}

impl FixedWindow {
    /// Nanoseconds since a window began, perhaps many windows ago; `None` where no window is open.
    fn elapsed(&self, opened: Option<SimTime>, at: SimTime) -> Option<u128> {
        let per = self.per.as_nanos();
        match self.begins {
            Begins::Clock(offset) => {
                Some(u128::from(at.as_nanos()) + u128::from((per - offset.as_nanos() % per) % per))
            }
            Begins::FirstCharge => {
                let since = at.since(opened?).as_nanos();
                (since < per).then_some(u128::from(since))
            }
        }
    }

    /// The sub-window at an instant.
    fn index(&self, opened: Option<SimTime>, at: SimTime) -> Option<u64> {
        let elapsed = self.elapsed(opened, at)?;
        Some((elapsed * u128::from(self.sub_windows) / u128::from(self.per.as_nanos())) as u64)
    }

    /// What is used of the sub-window at `now`.
    fn used(&self, state: &FixedWindowState, now: SimTime) -> u64 {
        if self.index(state.opened, now) == Some(state.index) { state.used } else { 0 }
    }

    fn fits(&self, used: u64, units: u64) -> bool {
        (u128::from(used) + u128::from(units)) * u128::from(self.sub_windows) <= u128::from(self.amount)
    }

    /// How long until the present sub-window is over; zero where none is open.
    pub fn until_reset(&self, state: &FixedWindowState, now: SimTime) -> SimDuration {
        let Some((elapsed, index)) = self.elapsed(state.opened, now).zip(self.index(state.opened, now)) else {
            return SimDuration::ZERO;
        };
        let end = ((u128::from(index) + 1) * u128::from(self.per.as_nanos())).div_ceil(u128::from(self.sub_windows));
        SimDuration::from_nanos((end - elapsed) as u64)
    }

    /// The largest request that fits into an empty sub-window.
    pub fn largest(&self) -> u64 {
        self.amount / u64::from(self.sub_windows)
    }

    /// How long until so much fits; zero where it does, [`SimDuration::MAX`] where it never will.
    pub fn shortfall(&self, state: &FixedWindowState, units: u64, now: SimTime) -> SimDuration {
        if self.fits(self.used(state, now), units) {
            return SimDuration::ZERO;
        }
        if self.fits(0, units) { self.until_reset(state, now) } else { SimDuration::MAX }
    }

    /// How long until anything is left.
    pub fn until_any(&self, state: &FixedWindowState, now: SimTime) -> SimDuration {
        let used = u128::from(self.used(state, now)) * u128::from(self.sub_windows);
        if used < u128::from(self.amount) { SimDuration::ZERO } else { self.until_reset(state, now) }
    }

    /// Counts, whether it fits or not.
    pub fn charge(&self, state: &mut FixedWindowState, units: u64, now: SimTime) {
        if self.begins == Begins::FirstCharge && self.elapsed(state.opened, now).is_none() {
            *state = FixedWindowState { opened: Some(now), ..FixedWindowState::default() };
        }
        let used = self.used(state, now).saturating_add(units);
        let index = self.index(state.opened, now).unwrap_or_default();
        *state = FixedWindowState { opened: state.opened, index, used };
    }

    /// Takes back what was charged at an instant; nothing where its window is over.
    pub fn refund(&self, state: &mut FixedWindowState, units: u64, charged: SimTime, now: SimTime) {
        let is_before = state.opened.is_some_and(|opened| charged < opened);
        let of = |at| self.index(state.opened, at);
        if !is_before && of(charged) == Some(state.index) && of(now) == Some(state.index) {
            state.used = state.used.saturating_sub(units);
        }
    }

    /// The share that is left, from 0 to 1.
    pub fn share(&self, state: &FixedWindowState, now: SimTime) -> f64 {
        let used = self.used(state, now) as f64 * f64::from(self.sub_windows);
        1.0 - (used / self.amount as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> SimTime {
        SimTime::from_nanos(nanos)
    }

    fn second(n: u64) -> SimTime {
        at(n * 1_000_000_000)
    }

    fn window(amount: u64, sub_windows: u32, begins: Begins) -> FixedWindow {
        FixedWindow { amount, per: SimDuration::from_mins(1), sub_windows, begins }
    }

    #[test]
    fn the_instant_of_a_reset_belongs_to_the_new_window() {
        let window = window(2, 1, Begins::Clock(SimDuration::ZERO));
        let mut state = FixedWindowState::default();
        window.charge(&mut state, 2, second(59));
        assert_eq!(window.shortfall(&state, 1, at(59_999_999_999)), SimDuration::from_nanos(1));
        assert_eq!(window.shortfall(&state, 1, second(60)), SimDuration::ZERO);
        assert_eq!(window.shortfall(&state, 3, second(59)), SimDuration::MAX);
        assert_eq!(window.until_any(&state, second(59)), SimDuration::from_secs(1));
    }

    #[test]
    fn hidden_sub_windows_have_their_exact_part() {
        // By hand: 100 a minute in 7 parts are 14.28 each, so that 14 fit; a part is 60/7 s, and the third begins at
        // 17,142,857,143 ns, rounded up.
        let window = window(100, 7, Begins::Clock(SimDuration::ZERO));
        let mut state = FixedWindowState::default();
        assert_eq!(window.largest(), 14);
        window.charge(&mut state, 14, second(9));
        assert_eq!(window.shortfall(&state, 1, second(9)), SimDuration::from_nanos(8_142_857_143));
        assert_eq!(window.shortfall(&state, 1, at(17_142_857_142)), SimDuration::from_nanos(1));
        assert_eq!(window.shortfall(&state, 14, at(17_142_857_143)), SimDuration::ZERO);
        // 0.28 are left of 14.28: not enough for one, and yet not nothing.
        assert_eq!(window.until_any(&state, second(9)), SimDuration::ZERO);
    }

    #[test]
    fn a_window_may_begin_at_any_hour() {
        // By hand: windows of a minute that begin 8 s past each full one; at 7 s one second is left.
        let window = window(1, 1, Begins::Clock(SimDuration::from_secs(8)));
        let mut state = FixedWindowState::default();
        window.charge(&mut state, 1, second(7));
        assert_eq!(window.shortfall(&state, 1, second(7)), SimDuration::from_secs(1));
        assert_eq!(window.shortfall(&state, 1, second(8)), SimDuration::ZERO);
    }

    #[test]
    fn the_first_charge_opens_a_window() {
        let window = window(2, 1, Begins::FirstCharge);
        let mut state = FixedWindowState::default();
        window.charge(&mut state, 1, second(50));
        window.charge(&mut state, 1, second(100));
        assert_eq!(window.shortfall(&state, 1, second(109)), SimDuration::from_secs(1));
        assert_eq!(window.shortfall(&state, 1, second(110)), SimDuration::ZERO);
        // The next one opens when somebody comes.
        window.charge(&mut state, 1, second(200));
        assert_eq!(window.shortfall(&state, 1, second(230)), SimDuration::ZERO);
        window.charge(&mut state, 1, second(230));
        assert_eq!(window.shortfall(&state, 1, second(230)), SimDuration::from_secs(30));
    }

    #[test]
    fn a_refund_after_the_reset_is_lost() {
        let window = window(10, 1, Begins::Clock(SimDuration::ZERO));
        let mut state = FixedWindowState::default();
        window.charge(&mut state, 8, second(50));
        window.charge(&mut state, 5, second(61));
        window.refund(&mut state, 8, second(50), second(62));
        assert_eq!(window.share(&state, second(62)), 0.5);
        window.refund(&mut state, 4, second(61), second(62));
        assert_eq!(window.share(&state, second(62)), 0.9);
    }
}
