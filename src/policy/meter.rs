//! How a limit measures what flows: one of several algorithms behind the same few questions. Costs are whole units; what
//! a unit is, a request, a token, a billionth of a dollar, is the limit's own business. Nothing is rounded on the way, so
//! that a limit is as exact after a month as at the start.

use super::fixed_window::{FixedWindow, FixedWindowState};
use super::gcra::{Gcra, GcraState};
use super::growth::{Growth, GrowthState};
use super::leaky_bucket::{LeakyBucket, LeakyBucketState};
use super::sliding_log::{SlidingLog, SlidingLogState};
use super::sliding_weighted::{SlidingWeighted, SlidingWeightedState};
use super::token_bucket::{TokenBucket, TokenBucketState};
use crate::units::{SimDuration, SimTime};

/// An algorithm with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meter {
    /// A bucket that refills continuously.
    TokenBucket(TokenBucket),
    /// A bucket that drains continuously.
    LeakyBucket(LeakyBucket),
    /// A theoretical arrival time.
    Gcra(Gcra),
    /// A counter that starts again with each window.
    FixedWindow(FixedWindow),
    /// Every charge, until it is as old as the period.
    SlidingLog(SlidingLog),
    /// The counter of this window, and a part of the last one's.
    SlidingWeighted(SlidingWeighted),
    /// No more than a share above what was before.
    Growth(Growth),
    /// What is held: charged when a request is admitted and given back when its service ends. At least 1.
    InFlight(u64),
}

/// The state of a meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeterState {
    /// Of [`Meter::TokenBucket`].
    TokenBucket(TokenBucketState),
    /// Of [`Meter::LeakyBucket`].
    LeakyBucket(LeakyBucketState),
    /// Of [`Meter::Gcra`].
    Gcra(GcraState),
    /// Of [`Meter::FixedWindow`].
    FixedWindow(FixedWindowState),
    /// Of [`Meter::SlidingLog`].
    SlidingLog(SlidingLogState),
    /// Of [`Meter::SlidingWeighted`].
    SlidingWeighted(SlidingWeightedState),
    /// Of [`Meter::Growth`].
    Growth(GrowthState),
    /// Of [`Meter::InFlight`]: what is held.
    InFlight(u64),
}

impl Meter {
    /// A state in which nothing was used yet.
    pub fn unused(&self) -> MeterState {
        match self {
            Meter::TokenBucket(bucket) => MeterState::TokenBucket(bucket.full(SimTime::ZERO)),
            Meter::LeakyBucket(_) => MeterState::LeakyBucket(LeakyBucketState::default()),
            Meter::Gcra(_) => MeterState::Gcra(GcraState::default()),
            Meter::FixedWindow(_) => MeterState::FixedWindow(FixedWindowState::default()),
            Meter::SlidingLog(_) => MeterState::SlidingLog(SlidingLogState::default()),
            Meter::SlidingWeighted(_) => MeterState::SlidingWeighted(SlidingWeightedState::default()),
            Meter::Growth(_) => MeterState::Growth(GrowthState::default()),
            Meter::InFlight(_) => MeterState::InFlight(0),
        }
    }

    /// Units in one period; of what is held, units at once.
    pub const fn amount(&self) -> u64 {
        match self {
            Meter::TokenBucket(bucket) => bucket.amount(),
            Meter::LeakyBucket(LeakyBucket { amount, .. })
            | Meter::Gcra(Gcra { amount, .. })
            | Meter::FixedWindow(FixedWindow { amount, .. })
            | Meter::SlidingLog(SlidingLog { amount, .. })
            | Meter::SlidingWeighted(SlidingWeighted { amount, .. })
            | Meter::Growth(Growth { amount, .. })
            | Meter::InFlight(amount) => *amount,
        }
    }

    /// The period; `None` for what is held.
    pub const fn per(&self) -> Option<SimDuration> {
        match self {
            Meter::TokenBucket(bucket) => Some(bucket.per()),
            Meter::LeakyBucket(LeakyBucket { per, .. })
            | Meter::Gcra(Gcra { per, .. })
            | Meter::FixedWindow(FixedWindow { per, .. })
            | Meter::SlidingLog(SlidingLog { per, .. })
            | Meter::SlidingWeighted(SlidingWeighted { per, .. })
            | Meter::Growth(Growth { per, .. }) => Some(*per),
            Meter::InFlight(_) => None,
        }
    }

    /// How long it takes at most until all is there again that could be used at once; `None` for what is held.
    pub const fn span(&self) -> Option<SimDuration> {
        match self {
            Meter::TokenBucket(bucket) => Some(bucket.capacity()),
            Meter::LeakyBucket(LeakyBucket { capacity, .. }) => Some(*capacity),
            Meter::Gcra(Gcra { tolerance, .. }) => Some(*tolerance),
            Meter::FixedWindow(FixedWindow { per, sub_windows, .. }) => {
                Some(SimDuration::from_nanos(per.as_nanos().div_ceil(*sub_windows as u64)))
            }
            Meter::SlidingLog(_) | Meter::SlidingWeighted(_) | Meter::Growth(_) | Meter::InFlight(_) => self.per(),
        }
    }

    /// The largest request that ever fits; without a bound for a limit on growth, whose allowance may grow.
    pub fn largest(&self) -> u64 {
        match self {
            Meter::TokenBucket(bucket) => bucket.capacity_whole(),
            Meter::LeakyBucket(bucket) => bucket.largest(),
            Meter::Gcra(gcra) => gcra.largest(),
            Meter::FixedWindow(window) => window.largest(),
            Meter::SlidingLog(SlidingLog { amount, .. })
            | Meter::SlidingWeighted(SlidingWeighted { amount, .. })
            | Meter::InFlight(amount) => *amount,
            Meter::Growth(_) => u64::MAX,
        }
    }

    /// How long until so much fits; zero where it does, [`SimDuration::MAX`] where it never will. A token bucket says
    /// how long the tokens need to gather, also where they are more than it holds. Of what is held nobody knows when it
    /// comes back: as long as it may be.
    #[inline]
    pub fn shortfall(&self, state: &mut MeterState, units: u64, now: SimTime) -> SimDuration {
        match (self, state) {
            (Meter::TokenBucket(bucket), MeterState::TokenBucket(state)) => bucket.shortfall(state, units, now),
            (meter, state) => meter.other_shortfall(state, units, now),
        }
    }

    fn other_shortfall(&self, state: &mut MeterState, units: u64, now: SimTime) -> SimDuration {
        match (self, state) {
            (Meter::LeakyBucket(bucket), MeterState::LeakyBucket(state)) => bucket.shortfall(state, units, now),
            (Meter::Gcra(gcra), MeterState::Gcra(state)) => gcra.shortfall(state, units, now),
            (Meter::FixedWindow(window), MeterState::FixedWindow(state)) => window.shortfall(state, units, now),
            (Meter::SlidingLog(log), MeterState::SlidingLog(state)) => log.shortfall(state, units, now),
            (Meter::SlidingWeighted(window), MeterState::SlidingWeighted(state)) => window.shortfall(state, units, now),
            (Meter::Growth(growth), MeterState::Growth(state)) => growth.shortfall(state, units, now),
            (Meter::InFlight(amount), MeterState::InFlight(held)) => {
                if held.saturating_add(units) <= *amount {
                    SimDuration::ZERO
                } else {
                    SimDuration::MAX
                }
            }
            _ => SimDuration::ZERO,
        }
    }

    /// How long until anything is left at all: enough for a request whose cost nobody knows yet.
    pub fn until_any(&self, state: &mut MeterState, now: SimTime) -> SimDuration {
        match (self, state) {
            (Meter::TokenBucket(bucket), MeterState::TokenBucket(state)) => bucket.until_any(state, now),
            (Meter::LeakyBucket(bucket), MeterState::LeakyBucket(state)) => bucket.until_any(state, now),
            (Meter::Gcra(gcra), MeterState::Gcra(state)) => gcra.until_any(state, now),
            (Meter::FixedWindow(window), MeterState::FixedWindow(state)) => window.until_any(state, now),
            (Meter::SlidingLog(log), MeterState::SlidingLog(state)) => log.until_any(state, now),
            (Meter::SlidingWeighted(window), MeterState::SlidingWeighted(state)) => window.until_any(state, now),
            (meter, state) => meter.other_shortfall(state, 1, now),
        }
    }

    /// Charges, whether it fits or not.
    #[inline]
    pub fn charge(&self, state: &mut MeterState, units: u64, now: SimTime) {
        match (self, state) {
            (Meter::TokenBucket(bucket), MeterState::TokenBucket(state)) => bucket.withdraw(state, units, now),
            (meter, state) => meter.other_charge(state, units, now),
        }
    }

    fn other_charge(&self, state: &mut MeterState, units: u64, now: SimTime) {
        match (self, state) {
            (Meter::LeakyBucket(bucket), MeterState::LeakyBucket(state)) => bucket.charge(state, units, now),
            (Meter::Gcra(gcra), MeterState::Gcra(state)) => gcra.charge(state, units, now),
            (Meter::FixedWindow(window), MeterState::FixedWindow(state)) => window.charge(state, units, now),
            (Meter::SlidingLog(log), MeterState::SlidingLog(state)) => log.charge(state, units, now),
            (Meter::SlidingWeighted(window), MeterState::SlidingWeighted(state)) => window.charge(state, units, now),
            (Meter::Growth(growth), MeterState::Growth(state)) => growth.charge(state, units, now),
            (Meter::InFlight(_), MeterState::InFlight(held)) => *held = held.saturating_add(units),
            _ => {}
        }
    }

    /// Charges a refused request: a bucket gives what it has and makes no debt for it; a window or a log counts it.
    pub fn charge_refused(&self, state: &mut MeterState, units: u64, now: SimTime) {
        match (self, &mut *state) {
            (Meter::TokenBucket(bucket), MeterState::TokenBucket(state)) => bucket.drain(state, units, now),
            (Meter::LeakyBucket(bucket), MeterState::LeakyBucket(state)) => bucket.fill(state, units, now),
            (Meter::Gcra(gcra), MeterState::Gcra(state)) => gcra.fill(state, units, now),
            (Meter::InFlight(_), _) => {}
            _ => self.charge(state, units, now),
        }
    }

    /// Takes back a part of what was charged at an instant: nothing of what has passed out of a window since.
    pub fn refund(&self, state: &mut MeterState, units: u64, charged: SimTime, now: SimTime) {
        match (self, state) {
            (Meter::TokenBucket(bucket), MeterState::TokenBucket(state)) => bucket.deposit(state, units, now),
            (Meter::LeakyBucket(bucket), MeterState::LeakyBucket(state)) => bucket.refund(state, units, now),
            (Meter::Gcra(gcra), MeterState::Gcra(state)) => gcra.refund(state, units),
            (Meter::FixedWindow(window), MeterState::FixedWindow(state)) => window.refund(state, units, charged, now),
            (Meter::SlidingLog(log), MeterState::SlidingLog(state)) => log.refund(state, units, charged, now),
            (Meter::SlidingWeighted(window), MeterState::SlidingWeighted(state)) => {
                window.refund(state, units, charged, now);
            }
            (Meter::Growth(growth), MeterState::Growth(state)) => growth.refund(state, units, charged, now),
            (Meter::InFlight(_), MeterState::InFlight(held)) => *held = held.saturating_sub(units),
            _ => {}
        }
    }

    /// From `now` on the amount is another one: what is used stays used, and a bucket holds in proportion.
    pub fn change(&mut self, state: &mut MeterState, to: u64, now: SimTime) {
        match (&mut *self, state) {
            (Meter::TokenBucket(bucket), MeterState::TokenBucket(state)) => {
                *state = bucket.refilled(state, now);
                *bucket = bucket.with_amount(to);
            }
            (Meter::LeakyBucket(bucket), MeterState::LeakyBucket(state)) => {
                *state = bucket.drained(state, now);
                bucket.amount = to;
            }
            (Meter::Gcra(gcra), MeterState::Gcra(state)) => {
                *state = gcra.changed(state, to, now);
                gcra.amount = to;
            }
            (
                Meter::FixedWindow(FixedWindow { amount, .. })
                | Meter::SlidingLog(SlidingLog { amount, .. })
                | Meter::SlidingWeighted(SlidingWeighted { amount, .. })
                | Meter::Growth(Growth { amount, .. })
                | Meter::InFlight(amount),
                _,
            ) => *amount = to,
            _ => {}
        }
    }

    /// The share that is left, from 0 to 1.
    pub fn share(&self, state: &MeterState, now: SimTime) -> f64 {
        match (self, state) {
            (Meter::TokenBucket(bucket), MeterState::TokenBucket(state)) => {
                bucket.share_of(&bucket.refilled(state, now))
            }
            (Meter::LeakyBucket(bucket), MeterState::LeakyBucket(state)) => bucket.share(state, now),
            (Meter::Gcra(gcra), MeterState::Gcra(state)) => gcra.share(state, now),
            (Meter::FixedWindow(window), MeterState::FixedWindow(state)) => window.share(state, now),
            (Meter::SlidingLog(log), MeterState::SlidingLog(state)) => log.share(state, now),
            (Meter::SlidingWeighted(window), MeterState::SlidingWeighted(state)) => window.share(state, now),
            (Meter::Growth(growth), MeterState::Growth(state)) => growth.share(state, now),
            (Meter::InFlight(amount), MeterState::InFlight(held)) => 1.0 - (*held as f64 / *amount as f64).min(1.0),
            _ => 1.0,
        }
    }

    /// How long until something comes back at once: the end of the window, the oldest charge of a log; of buckets, all.
    pub fn until_reset(&self, state: &MeterState, now: SimTime) -> SimDuration {
        match (self, state) {
            (Meter::FixedWindow(window), MeterState::FixedWindow(state)) => window.until_reset(state, now),
            (Meter::SlidingLog(log), MeterState::SlidingLog(state)) => log.until_next(state, now),
            (Meter::SlidingWeighted(window), MeterState::SlidingWeighted(_)) => window.until_reset(now),
            _ => self.until_full(state, now),
        }
    }

    /// How long until all is there again if nothing more is charged.
    pub fn until_full(&self, state: &MeterState, now: SimTime) -> SimDuration {
        match (self, state) {
            (Meter::TokenBucket(bucket), MeterState::TokenBucket(state)) => {
                bucket.shortfall(state, bucket.capacity_whole(), now)
            }
            (Meter::LeakyBucket(bucket), MeterState::LeakyBucket(state)) => bucket.until_empty(state, now),
            (Meter::Gcra(gcra), MeterState::Gcra(state)) => gcra.until_even(state, now),
            (Meter::FixedWindow(window), MeterState::FixedWindow(state)) => window.until_reset(state, now),
            (Meter::SlidingLog(log), MeterState::SlidingLog(state)) => log.until_empty(state, now),
            (Meter::SlidingWeighted(window), MeterState::SlidingWeighted(state)) => window.until_empty(state, now),
            (Meter::Growth(growth), MeterState::Growth(_)) => growth.until_reset(now),
            _ => SimDuration::ZERO,
        }
    }
}
