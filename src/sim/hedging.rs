//! Requests of hedges. A run has one request in flight unless its client hedges; then each of several is a flight: a
//! record beside the run's, in the same slab, so that servers, ways and limits know it as they know any run's request.

use super::groups::NO_RUN;
use crate::observe::series::PeakSeries;
use crate::policy::Hedge;
use crate::units::SimTime;

/// What is out for one run.
#[derive(Clone, Copy, Debug)]
struct Out {
    flights: [u32; Hedge::MOST as usize],
    count: u8,
    /// How many were sent for this request.
    sent: u8,
    /// Whether no more may be sent.
    stopped: bool,
    /// The flight that was sent first, which is no hedge.
    first: u32,
    /// What the last one cost its budget, and one more; 0 where none was paid.
    paid: u32,
    /// When the next one is due.
    next: Option<SimTime>,
}

impl Default for Out {
    fn default() -> Self {
        Out {
            flights: [NO_RUN; Hedge::MOST as usize],
            count: 0,
            sent: 0,
            stopped: false,
            first: NO_RUN,
            paid: 0,
            next: None,
        }
    }
}

/// All flights of a class; empty where it does not hedge.
#[derive(Debug, Default)]
pub(super) struct Hedging {
    /// By run.
    out: Vec<Out>,
    /// By flight, the run that it belongs to.
    run_of: Vec<u32>,
    /// How many are out that are not the first of their run, and over time.
    beside: u32,
    series: Option<PeakSeries>,
}

impl Hedging {
    /// Nothing so far; with a series of so many bins where the class hedges.
    pub(super) fn new(bins: Option<usize>) -> Hedging {
        Hedging { series: bins.map(PeakSeries::new), ..Hedging::default() }
    }

    /// One more hedge is out, or one less.
    pub(super) fn note_beside(&mut self, goes_out: bool, bin: u32) {
        self.beside = if goes_out { self.beside + 1 } else { self.beside.saturating_sub(1) };
        if let Some(series) = &mut self.series {
            series.set(bin, self.beside);
        }
    }

    /// The most hedges that were out in each bin; nothing where the class does not hedge.
    pub(super) fn take_series(&mut self) -> Vec<u32> {
        self.series.take().map_or_else(Vec::new, PeakSeries::finish)
    }

    /// Nothing is out for the run.
    pub(super) fn begin(&mut self, run: u32) {
        if self.out.len() <= run as usize {
            self.out.resize(run as usize + 1, Out::default());
        }
        self.out[run as usize] = Out::default();
    }

    /// A record becomes a flight of the run.
    pub(super) fn take_off(&mut self, run: u32, flight: u32) {
        if self.run_of.len() <= flight as usize {
            self.run_of.resize(flight as usize + 1, NO_RUN);
        }
        self.run_of[flight as usize] = run;
        let out = &mut self.out[run as usize];
        if out.sent == 0 {
            out.first = flight;
        }
        out.flights[out.count as usize] = flight;
        (out.count, out.sent) = (out.count + 1, out.sent + 1);
    }

    /// The run that a flight belongs to; `None` for what is no flight.
    #[inline]
    pub(super) fn parent(&self, flight: u32) -> Option<u32> {
        self.run_of.get(flight as usize).copied().filter(|run| *run != NO_RUN)
    }

    /// The run of a flight, or the run itself.
    #[inline]
    pub(super) fn run_of(&self, run: u32) -> u32 {
        self.parent(run).unwrap_or(run)
    }

    /// How many requests were sent for the run's present one.
    pub(super) fn sent(&self, run: u32) -> u8 {
        self.out[run as usize].sent
    }

    /// Whether one more may still go out for the run.
    pub(super) fn may_send(&self, run: u32, hedge: &Hedge) -> bool {
        let out = &self.out[run as usize];
        out.sent < hedge.max && !out.stopped
    }

    /// When the next one goes out, if one does.
    pub(super) fn expect(&mut self, run: u32, due: Option<SimTime>) {
        self.out[run as usize].next = due;
    }

    /// Whether one more is to go out at a time that is known.
    pub(super) fn expects(&self, run: u32) -> bool {
        self.out[run as usize].next.is_some()
    }

    /// One more was paid for.
    pub(super) fn pay(&mut self, run: u32, cost: u32) {
        self.out[run as usize].paid = cost.saturating_add(1);
    }

    /// What the last one cost that was paid for.
    pub(super) fn paid(&self, run: u32) -> Option<u32> {
        self.out[run as usize].paid.checked_sub(1)
    }

    /// No more go out for the run's present request.
    pub(super) fn stop(&mut self, run: u32) {
        let out = &mut self.out[run as usize];
        (out.next, out.stopped) = (None, true);
    }

    /// Whether one more is due for the run now.
    pub(super) fn is_due(&self, run: u32, now: SimTime) -> bool {
        self.out.get(run as usize).is_some_and(|out| out.next == Some(now))
    }

    /// The flight has landed; says whether it was a hedge, not the first that was sent.
    pub(super) fn land(&mut self, run: u32, flight: u32) -> bool {
        let out = &mut self.out[run as usize];
        let count = out.count as usize;
        let place = out.flights[..count].iter().position(|other| *other == flight).unwrap_or(0);
        out.flights.copy_within(place + 1..count, place);
        out.count -= 1;
        self.run_of[flight as usize] = NO_RUN;
        let is_first = out.first == flight;
        if is_first {
            // A later one may get its record.
            out.first = NO_RUN;
        }
        !is_first
    }

    /// How many are out for the run.
    pub(super) fn count(&self, run: u32) -> u8 {
        self.out[run as usize].count
    }

    /// Those that are out for the run, in the order of their sending.
    pub(super) fn flights_of(&self, run: u32) -> &[u32] {
        self.out.get(run as usize).map_or(&[], |out| &out.flights[..out.count as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hedge_that_gets_the_record_of_the_first_is_a_hedge() {
        let mut hedging = Hedging::new(Some(2));
        hedging.begin(5);
        hedging.take_off(5, 7);
        assert!(!hedging.land(5, 7), "the first one failed, and its record is free");
        hedging.take_off(5, 7);
        hedging.note_beside(true, 0);
        assert!(hedging.land(5, 7), "the second one is no first");
        hedging.note_beside(false, 1);
        // By hand: one is out in the first bin and where the second begins.
        assert_eq!(hedging.take_series(), [1, 1]);
    }
}
