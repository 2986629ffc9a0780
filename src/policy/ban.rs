//! A ban: whoever was refused too often within a while is refused outright for some time.

use std::collections::VecDeque;

use crate::units::{SimDuration, SimTime};

/// The settings of a ban.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ban {
    /// How many refusals bring it on; at least 1.
    pub after: u32,
    /// Within how long; longer than zero.
    pub within: SimDuration,
    /// How long it lasts; longer than zero.
    pub lasts: SimDuration,
}

/// The last refusals, and until when the ban lasts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BanState {
    refusals: VecDeque<SimTime>,
    until: SimTime,
}

impl Ban {
    /// How long the ban still lasts; zero where there is none.
    pub const fn left(&self, state: &BanState, now: SimTime) -> SimDuration {
        state.until.since(now)
    }

    /// It begins now, however few were refused.
    pub fn begin(&self, state: &mut BanState, now: SimTime) {
        state.refusals.clear();
        state.until = now + self.lasts;
    }

    /// Something was refused. What is refused by the ban itself does not lengthen it.
    pub fn refused(&self, state: &mut BanState, now: SimTime) {
        if state.until > now {
            return;
        }
        while state.refusals.front().is_some_and(|at| now.since(*at) >= self.within) {
            state.refusals.pop_front();
        }
        state.refusals.push_back(now);
        if state.refusals.len() >= self.after as usize {
            self.begin(state, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_refusal_within_ten_seconds_brings_a_minute() {
        let ban = Ban { after: 3, within: SimDuration::from_secs(10), lasts: SimDuration::from_mins(1) };
        let mut state = BanState::default();
        let second = |n| SimTime::ZERO + SimDuration::from_secs(n);
        let left = [0, 5, 10, 14, 40, 74, 75].map(|n| {
            ban.refused(&mut state, second(n));
            ban.left(&state, second(n)).as_nanos() / 1_000_000_000
        });
        // By hand: the refusal of 0 s is too old at 10 s, that of 5 s not yet at 14 s; the ban lasts until 74 s.
        assert_eq!(left, [0, 0, 0, 60, 34, 0, 0]);
    }
}
