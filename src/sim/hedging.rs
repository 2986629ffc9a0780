//! Requests of hedges. A run has one request in flight unless its client hedges; then each of several is a flight of its
//! own beside the run's record.

use super::answers::AnswerId;
use super::marks::Marks;
use super::record::{PackedSource, Run, Slab};
use super::services::Served;
use crate::policy::Hedge;
use crate::units::{SimDuration, SimTime};

/// One of several requests that are out for one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flight {
    run: u32,
    /// Its number among the task's requests for the step.
    ordinal: u32,
    answer: AnswerId,
    hint: SimDuration,
    sent: SimTime,
    sent_narrow: u16,
    by: PackedSource,
    marks: Marks,
    served: Served,
    /// Whether an event is pending for it.
    ends: bool,
    /// Whether another request has won: its event means nothing any more.
    is_lost: bool,
}

impl Flight {
    /// Puts the flight into its run's record, as if it were its only request.
    pub(super) const fn enter(&self, record: &mut Run) {
        record.ordinal = self.ordinal;
        (record.answer, record.hint, record.by) = (self.answer, self.hint, self.by);
        (record.sent, record.sent_narrow) = (self.sent, self.sent_narrow);
        record.marks.enter(self.marks);
    }

    /// When the first byte of its answer comes.
    pub(super) const fn first(&self) -> SimTime {
        self.served.first
    }
}

/// What is out for one run.
#[derive(Clone, Copy, Debug, Default)]
struct Out {
    flights: [u32; Hedge::MOST as usize],
    count: u8,
    /// How many were sent for this request.
    sent: u8,
    /// Whether the server has forbidden more.
    stopped: bool,
    /// When the next one is due.
    next: Option<SimTime>,
    /// The requests of the step so far, whichever flight lies in the record.
    ordinal: u32,
}

/// All flights of a class.
#[derive(Debug)]
pub(super) struct Hedging {
    flights: Slab<Flight, ()>,
    /// By run.
    out: Vec<Out>,
}

impl Default for Hedging {
    fn default() -> Self {
        Hedging { flights: Slab::new(0), out: Vec::new() }
    }
}

impl Hedging {
    /// Nothing is out for the run.
    pub(super) fn begin(&mut self, run: u32) {
        if self.out.len() <= run as usize {
            self.out.resize(run as usize + 1, Out::default());
        }
        self.out[run as usize] = Out::default();
    }

    /// What was just sent becomes a flight; `ends` says whether its end is known.
    pub(super) fn take_off(
        &mut self,
        run: u32,
        record: &Run,
        served: Served,
        ends: bool,
        next: Option<SimTime>,
    ) -> u32 {
        let flight = self.flights.insert(Flight {
            run,
            ordinal: record.ordinal,
            answer: record.answer,
            hint: record.hint,
            sent: record.sent,
            sent_narrow: record.sent_narrow,
            by: record.by,
            marks: record.marks.in_flight(),
            served,
            ends,
            is_lost: false,
        });
        let out = &mut self.out[run as usize];
        out.flights[out.count as usize] = flight;
        (out.count, out.sent) = (out.count + 1, out.sent + 1);
        (out.next, out.ordinal) = (next, record.ordinal);
        flight
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

    /// The next one goes out at another time.
    pub(super) fn postpone(&mut self, run: u32, due: SimTime) {
        self.out[run as usize].next = Some(due);
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

    /// A flight's event has come: the run it belongs to; `None` where it had lost before.
    pub(super) fn end(&mut self, flight: u32) -> Option<u32> {
        let known = *self.flights.get(flight);
        self.flights.remove(flight);
        if known.is_lost {
            return None;
        }
        let out = &mut self.out[known.run as usize];
        let count = out.count as usize;
        let place = out.flights[..count].iter().position(|other| *other == flight).unwrap_or(0);
        out.flights.copy_within(place + 1..count, place);
        out.count -= 1;
        Some(known.run)
    }

    /// A flight as it is known.
    pub(super) fn flight(&self, flight: u32) -> Flight {
        *self.flights.get(flight)
    }

    /// Puts the number of requests back into the record.
    pub(super) fn leave(&self, run: u32, record: &mut Run) {
        record.ordinal = self.out[run as usize].ordinal;
    }

    /// How many are out for the run.
    pub(super) fn count(&self, run: u32) -> u8 {
        self.out[run as usize].count
    }

    /// Those that are out for the run.
    pub(super) fn flights_of(&self, run: u32) -> &[u32] {
        self.out.get(run as usize).map_or(&[], |out| &out.flights[..out.count as usize])
    }

    /// Puts one of those that are out for the run, which has lost, into its record; says which, and what the server does
    /// for it, if there was one. No more are due.
    pub(super) fn lose(&mut self, run: u32, record: &mut Run) -> Option<(u32, Served)> {
        let out = &mut self.out[run as usize];
        out.next = None;
        if out.count == 0 {
            return None;
        }
        out.count -= 1;
        let flight = out.flights[out.count as usize];
        let known = self.flights.get_mut(flight);
        known.enter(record);
        known.is_lost = true;
        let (served, ends) = (known.served, known.ends);
        if !ends {
            self.flights.remove(flight);
        }
        Some((flight, served))
    }
}
