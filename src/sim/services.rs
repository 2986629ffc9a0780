//! What the server does for requests that their callers may stop wanting before they end: because another request was
//! faster, or another step has failed. Elsewhere nothing of it is kept.

use crate::provider::{Ticket, Verdict};
use crate::units::SimTime;

/// The server's work on one request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    /// When it begins.
    pub(super) from: SimTime,
    /// When it ends.
    pub(super) until: SimTime,
    /// Whether it takes slots of the limits on requests in flight.
    pub(super) admitted: bool,
    /// Whether it is known to be for nobody.
    pub(super) wasted: bool,
    /// By what name limits know it that are not done with it.
    pub(super) ticket: Ticket,
}

impl Served {
    /// What the server does for a request that got this verdict. Its caller leaves then, if it does; the server stops with
    /// it where that is so.
    pub(super) fn of(verdict: &Verdict, left: Option<SimTime>, is_cancelled: bool) -> Served {
        let works_until = verdict.works_until;
        Served {
            from: verdict.course.written,
            until: left.filter(|_| is_cancelled).map_or(works_until, |at| works_until.min(at)),
            admitted: verdict.admitted,
            wasted: left.is_some(),
            ticket: Ticket::default(),
        }
    }

    /// How long it lasts from then on, as far as the run goes.
    pub(super) fn nanos_from(&self, instant: SimTime, horizon: SimTime) -> u64 {
        let until = self.until.min(horizon);
        (until - self.from.max(instant).min(until)).as_nanos()
    }
}

/// The server's work on the last request of each run; empty where callers wait for every answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Services(Vec<Served>);

impl Services {
    /// Keeps the work on this run's request.
    pub(super) fn keep(&mut self, run: u32, served: Served) {
        let slot = run as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, Served::default());
        }
        self.0[slot] = served;
    }

    /// The work on this run's request.
    pub(super) fn of(&self, run: u32) -> Served {
        self.0.get(run as usize).copied().unwrap_or_default()
    }
}

/// When the first token of each run's last streamed answer came. It lies apart from the records, which are read at every
/// event, and is empty where nothing is streamed.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstTokens(Vec<SimTime>);

impl FirstTokens {
    /// A run begins in this slot.
    #[inline]
    pub(super) fn forget(&mut self, run: u32) {
        if let Some(first) = self.0.get_mut(run as usize) {
            *first = SimTime::NEVER;
        }
    }

    /// Keeps when the first token of this run's answer comes.
    pub(super) fn keep(&mut self, run: u32, first: SimTime) {
        let slot = run as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, SimTime::NEVER);
        }
        self.0[slot] = first;
    }

    /// The answer of the run's request that came is the run's.
    pub(super) fn hand_over(&mut self, flight: u32, run: u32) {
        if let Some(first) = self.of(flight) {
            self.keep(run, first);
        }
    }

    /// The member's answer is its task's: the latest of several.
    pub(super) fn join(&mut self, member: u32, run: u32) {
        if let Some(first) = self.of(member) {
            self.keep(run, self.of(run).map_or(first, |known| known.max(first)));
        }
    }

    /// When it came, if one did.
    #[inline]
    pub(super) fn of(&self, run: u32) -> Option<SimTime> {
        self.0.get(run as usize).copied().filter(|first| *first < SimTime::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_from_an_instant_to_the_end_of_the_run() {
        let at = SimTime::from_nanos;
        let served = Served { from: at(2), until: at(9), ..Served::default() };
        let nanos = |from, horizon| served.nanos_from(at(from), at(horizon));
        assert_eq!([nanos(0, 20), nanos(5, 20), nanos(5, 7), nanos(9, 20), nanos(0, 1)], [7, 4, 2, 0, 0]);
    }
}
