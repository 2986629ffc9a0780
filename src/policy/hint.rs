//! A hint is what the server asks for: `retry-after` and its relatives. Client libraries disagree on what to do with
//! one, and most surprises of a storm come from here: obeyed without bound it parks a worker for minutes, ignored it
//! burns every attempt before the limit can refill.

use crate::units::SimDuration;

/// What a layer does with a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintRule {
    /// Not looked at: the own backoff is used.
    Ignore,
    /// The hint replaces the own backoff where it lies in `(0, cap]`.
    Obey {
        /// The longest hint that is taken as it is; [`SimDuration::MAX`] for no bound.
        cap: SimDuration,
        /// What happens with a longer one.
        above: AboveCap,
        /// Whether the layer's jitter is applied to the hint too.
        jittered: bool,
    },
    /// The wait is the longer of hint and own backoff.
    AtLeast,
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
}

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
    AtLeast(SimDuration),
    /// Do not retry.
    GiveUp,
}

impl HintRule {
    /// What the rule makes of a hint; zero is no hint.
    pub fn read(&self, hint: Option<SimDuration>) -> HintedWait {
        let Some(hint) = hint.filter(|hint| !hint.is_zero()) else { return HintedWait::Own };
        match *self {
            HintRule::Ignore => HintedWait::Own,
            HintRule::AtLeast => HintedWait::AtLeast(hint),
            HintRule::Obey { cap, jittered, .. } if hint <= cap => HintedWait::Exactly { wait: hint, jittered },
            HintRule::Obey { cap, above, jittered } => match above {
                AboveCap::OwnBackoff => HintedWait::Own,
                AboveCap::GiveUp => HintedWait::GiveUp,
                AboveCap::Clamp => HintedWait::Exactly { wait: cap, jittered },
            },
        }
    }

    /// The longest wait that a hint can cause; `None` where it has no bound.
    pub fn longest(&self) -> Option<SimDuration> {
        match *self {
            HintRule::Ignore => Some(SimDuration::ZERO),
            HintRule::AtLeast => None,
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
        // anthropic 1.13 obeys whatever it is told.
        let hint = Some(SimDuration::from_secs(171));
        let obey = |cap, above| HintRule::Obey { cap, above, jittered: false };
        assert_eq!(obey(SimDuration::from_secs(60), AboveCap::OwnBackoff).read(hint), HintedWait::Own);
        assert_eq!(obey(SimDuration::from_secs(120), AboveCap::GiveUp).read(hint), HintedWait::GiveUp);
        let exact = HintedWait::Exactly { wait: SimDuration::from_secs(171), jittered: false };
        assert_eq!(obey(SimDuration::MAX, AboveCap::Clamp).read(hint), exact);
    }

    #[test]
    fn a_zero_hint_is_no_hint() {
        assert_eq!(HintRule::AtLeast.read(Some(SimDuration::ZERO)), HintedWait::Own);
    }
}
