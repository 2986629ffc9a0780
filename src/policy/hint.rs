//! A hint is what the server asks for: `retry-after` and its relatives. Client libraries disagree on what to do with
//! one, and most surprises of a storm come from here: obeyed without bound it parks a worker for minutes, ignored it
//! burns every attempt before the limit can refill.
//!
//! How a header's text becomes a hint is the business of [`super::header`]; what a layer does with it is decided here.

use super::answer::Hint;
use crate::units::SimDuration;

/// What a layer does with a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintRule {
    /// Not looked at: the own backoff is used.
    Ignore,
    /// The hint replaces the own backoff where it is at most `cap`.
    Obey {
        /// The longest hint that is taken as it is; [`SimDuration::MAX`] for no bound.
        cap: SimDuration,
        /// What happens with a longer one.
        above: AboveCap,
        /// Whether the layer's jitter is applied to the hint too.
        jittered: bool,
    },
    /// The wait is the longer of hint and own backoff.
    AtLeast {
        /// Whether the layer's jitter is applied to the longer of the two, not to the own backoff alone.
        jittered: bool,
    },
    /// The wait is the hint, but at least the own backoff and at most so much longer.
    Near {
        /// How much longer than the own backoff it may be.
        beyond: SimDuration,
    },
}

/// What a layer does with a hint above its cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AboveCap {
    /// Fall back to the own backoff.
    OwnBackoff,
    /// Do not retry.
    GiveUp,
    /// Wait as long as the cap.
    Clamp,
    /// Retry at once: a timer of 32 bits that overflows fires after a millisecond.
    AtOnce,
}

/// What a timer fires after when it was asked for more than it can count.
pub const OVERFLOWN_TIMER: SimDuration = SimDuration::from_millis(1);

/// What a hint means for the next wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintedWait {
    /// Nothing: use the own backoff.
    Own,
    /// Wait exactly this long, jittered if so said.
    Exactly {
        /// How long.
        wait: SimDuration,
        /// Whether the layer's jitter applies.
        jittered: bool,
    },
    /// Wait at least this long.
    AtLeast {
        /// What the server asks for.
        hint: SimDuration,
        /// Whether the layer's jitter applies to the longer of hint and own backoff.
        jittered: bool,
    },
    /// Wait this long, but within the own backoff and so much more.
    Near {
        /// What the server asks for.
        hint: SimDuration,
        /// How much longer than the own backoff it may be.
        beyond: SimDuration,
    },
    /// Do not retry.
    GiveUp,
}

impl HintRule {
    /// Obey every hint as it is.
    pub const OBEY: HintRule = HintRule::Obey { cap: SimDuration::MAX, above: AboveCap::Clamp, jittered: false };

    /// What the rule makes of a hint.
    pub fn read(&self, hint: Hint) -> HintedWait {
        let wait = match (self, hint) {
            (HintRule::Ignore, _) | (_, Hint::None | Hint::Blank) => return HintedWait::Own,
            (_, Hint::Never | Hint::Fatal) => return HintedWait::GiveUp,
            (_, Hint::After(wait)) => wait,
        };
        match *self {
            HintRule::Ignore => HintedWait::Own,
            HintRule::AtLeast { jittered } => HintedWait::AtLeast { hint: wait, jittered },
            HintRule::Near { beyond } => HintedWait::Near { hint: wait, beyond },
            HintRule::Obey { cap, jittered, .. } if wait <= cap => HintedWait::Exactly { wait, jittered },
            HintRule::Obey { cap, above, jittered } => match above {
                AboveCap::OwnBackoff => HintedWait::Own,
                AboveCap::GiveUp => HintedWait::GiveUp,
                AboveCap::Clamp => HintedWait::Exactly { wait: cap, jittered },
                AboveCap::AtOnce => HintedWait::Exactly { wait: OVERFLOWN_TIMER, jittered: false },
            },
        }
    }

    /// The longest wait that a hint alone can cause; `None` where it has no bound.
    pub fn longest(&self) -> Option<SimDuration> {
        match *self {
            HintRule::Ignore => Some(SimDuration::ZERO),
            HintRule::AtLeast { .. } => None,
            HintRule::Near { beyond } => Some(beyond),
            HintRule::Obey { cap, .. } => (cap < SimDuration::MAX).then_some(cap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_generations_of_sdk_read_a_long_hint_differently() {
        // Measured: anthropic 0.25 and openai 1.109 fall back above 60 s, openai 3.57 gives up above 120 s,
        // anthropic 1.13 obeys whatever it is told; openai for npm 6.49 overflows its timer.
        let hint = Hint::After(SimDuration::from_secs(171));
        let obey = |cap, above| HintRule::Obey { cap, above, jittered: false };
        assert_eq!(obey(SimDuration::from_secs(60), AboveCap::OwnBackoff).read(hint), HintedWait::Own);
        assert_eq!(obey(SimDuration::from_secs(120), AboveCap::GiveUp).read(hint), HintedWait::GiveUp);
        let exact = HintedWait::Exactly { wait: SimDuration::from_secs(171), jittered: false };
        assert_eq!(HintRule::OBEY.read(hint), exact);
        let at_once = HintedWait::Exactly { wait: OVERFLOWN_TIMER, jittered: false };
        assert_eq!(obey(SimDuration::from_secs(60), AboveCap::AtOnce).read(hint), at_once);
    }

    #[test]
    fn a_layer_that_ignores_hints_does_not_trip_over_one() {
        assert_eq!(HintRule::Ignore.read(Hint::Fatal), HintedWait::Own);
        assert_eq!(HintRule::AtLeast { jittered: false }.read(Hint::Fatal), HintedWait::GiveUp);
    }
}
