//! The terms of a fault beyond the plain ones: several windows, which steps and which sizes of request it strikes, and
//! whether it comes in episodes. A plain fault has none.

use super::Request;
use super::episodes::{Episodes, Path};
use super::fault::Window;
use crate::units::SimTime;

/// What is measured of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Its input tokens.
    Input,
    /// Its output tokens.
    Output,
    /// The most output tokens that it asks for. Nothing is known of one that does not say so, and it is spared.
    MaxTokens,
}

impl Measured {
    /// All of them, each with its word in scenario files.
    pub const ALL: [(Measured, &'static str); 3] =
        [(Measured::Input, "input_tokens"), (Measured::Output, "output_tokens"), (Measured::MaxTokens, "max_tokens")];

    const fn of(self, request: &Request<'_>) -> Option<u32> {
        match self {
            Measured::Input => Some(request.input_tokens),
            Measured::Output => Some(request.output_tokens),
            Measured::MaxTokens => request.max_tokens,
        }
    }
}

/// Sizes from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Of what.
    pub of: Measured,
    /// Larger than this; `None` for no bound.
    pub above: Option<u32>,
    /// At most this; `None` for no bound.
    pub at_most: Option<u32>,
}

impl Band {
    fn contains(&self, request: &Request<'_>) -> bool {
        let inside =
            |size: u32| self.above.is_none_or(|above| size > above) && self.at_most.is_none_or(|most| size <= most);
        self.of.of(request).is_some_and(inside)
    }
}

/// A share for each size: straight lines between points, outside of them it stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Of what.
    pub of: Measured,
    /// Sizes, strictly ascending, each with its share. At least one.
    pub points: Vec<(u32, f64)>,
}

impl Curve {
    fn at(&self, request: &Request<'_>) -> f64 {
        let Some(size) = self.of.of(request) else { return 0.0 };
        let next = self.points.partition_point(|(point, _)| *point <= size);
        match (next.checked_sub(1).map(|last| self.points[last]), self.points.get(next)) {
            (Some((x0, y0)), Some((x1, y1))) => {
                y0 + (y1 - y0) * (f64::from(size) - f64::from(x0)) / (f64::from(*x1) - f64::from(x0))
            }
            (Some((_, share)), None) | (None, Some(&(_, share))) => share,
            (None, None) => 0.0,
        }
    }
}

/// Episodes as one fault follows them.
#[derive(Clone, Debug, PartialEq)]
pub struct Follows {
    /// The path.
    pub path: Episodes,
    /// How probable it is that the fault strikes while it is off.
    pub otherwise: f64,
}

/// The terms of a fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultTerms {
    /// Its windows where there are several, ascending and apart, each with the name of its phase.
    pub windows: Vec<(String, Window)>,
    /// For each class the steps whose requests it strikes, one bit each; empty for all steps.
    pub steps: Vec<u64>,
    /// The sizes of request that it strikes: all of these must hold.
    pub bands: Vec<Band>,
    /// Shares that its probability is multiplied by.
    pub curves: Vec<Curve>,
    /// The episodes in which it comes.
    pub episodes: Option<Follows>,
}

impl FaultTerms {
    /// Whether it says anything.
    pub fn is_plain(&self) -> bool {
        *self == FaultTerms::default()
    }

    /// Whether a request of this class at this step may be struck.
    pub fn strikes_step(&self, class: usize, step: u8) -> bool {
        self.steps.get(class).is_none_or(|steps| steps >> step & 1 == 1)
    }

    /// How probable it is that a request is struck now, where its time and class make it so probable.
    pub(super) fn probability(&self, plain: f64, now: SimTime, request: &Request<'_>, path: Option<&mut Path>) -> f64 {
        if !self.strikes_step(request.class as usize, request.step)
            || !self.bands.iter().all(|band| band.contains(request))
        {
            return 0.0;
        }
        if !self.windows.is_empty() {
            let next = self.windows.partition_point(|(_, window)| window.from <= now);
            if !next.checked_sub(1).is_some_and(|last| self.windows[last].1.contains(now)) {
                return 0.0;
            }
        }
        let in_time = match (&self.episodes, path) {
            (Some(follows), Some(path)) => {
                if path.is_on(now, &follows.path) {
                    plain
                } else {
                    follows.otherwise
                }
            }
            _ => plain,
        };
        self.curves.iter().fold(in_time, |share, curve| share * curve.at(request))
    }
}
