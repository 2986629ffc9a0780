//! Requests that a limit has admitted and is not done with: some of what they cost is charged while they are served, or
//! when their service ends, or is given back then. They are looked at when the next request comes, each at its own
//! instant and in order, so that no event of the loop is spent on them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::limit::Limit;
use super::terms::{Charge, Settle, Size, Terms};
use crate::policy::Course;
use crate::policy::meter::{Meter, MeterState};
use crate::units::{SimDuration, SimTime};

/// In how many parts output is charged at most while it is produced.
const PARTS: u32 = 64;

/// Names a request that a limit is not done with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket(Option<(u32, u32)>);

impl Ticket {
    /// Its place among those that are held now, which another has when it is no longer.
    pub const fn place(self) -> Option<u32> {
        match self.0 {
            Some((slot, _)) => Some(slot),
            None => None,
        }
    }
}

/// A request whose output has used up a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Which.
    pub ticket: Ticket,
    /// Whose output was used up, by index.
    pub limit: usize,
    /// How many tokens were there when it was.
    pub produced: u32,
}

/// One request.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// The limits that are not done with it, one bit each.
    limits: u64,
    admitted: SimTime,
    size: Size,
    /// When its output begins and when all of it is there.
    begins: SimTime,
    ends: SimTime,
    /// When its service ends.
    until: SimTime,
    /// How much of its output is there.
    produced: u32,
    /// How many parts of its output are there.
    part: u32,
    /// Told from those that had its place before, and from itself before it was cut short.
    generation: u32,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Holds {
    slots: Vec<Hold>,
    free: Vec<u32>,
    due: BinaryHeap<Reverse<(SimTime, u32, u32)>>,
    /// Those that have been cut short and nobody has asked for yet.
    cuts: Vec<Cut>,
}

impl Hold {
    /// The output that is there at an instant.
    fn produced_at(&self, at: SimTime) -> u32 {
        produced(self.size.output, self.begins, self.ends, at)
    }

    const fn parts(&self) -> u32 {
        if self.size.output < PARTS { self.size.output } else { PARTS }
    }

    /// The instant at which the next part of the output is there.
    fn next_part(&self) -> SimTime {
        let all = u128::from(self.ends.since(self.begins).as_nanos());
        let nanos = (all * (u128::from(self.part) + 1)).div_ceil(u128::from(self.parts().max(1)));
        self.begins + SimDuration::from_nanos(nanos as u64)
    }
}

impl Holds {
    /// A request is served until then.
    pub(super) fn take(
        &mut self,
        limits: u64,
        streams: bool,
        now: SimTime,
        until: SimTime,
        size: Size,
        course: &Course,
    ) -> Ticket {
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        let generation = self.slots.get(slot as usize).map_or(0, |known| known.generation.wrapping_add(1));
        let (begins, ends) = flows(course, course.written);
        let mut hold = Hold { limits, admitted: now, size, begins, ends, until, produced: 0, part: 0, generation };
        if !streams {
            hold.part = hold.parts();
        }
        let due = if streams && hold.parts() > 0 { hold.next_part().min(until) } else { until };
        match self.slots.get_mut(slot as usize) {
            Some(place) => *place = hold,
            None => self.slots.push(hold),
        }
        // Nothing is due of a request that waits for a server.
        if due < SimTime::NEVER {
            self.due.push(Reverse((due, slot, generation)));
        }
        Ticket(Some((slot, generation)))
    }

    /// The service of a request begins, and now it is known when its output will be there.
    pub(super) fn begin(&mut self, ticket: Ticket, now: SimTime, course: &Course) {
        let Some((slot, generation)) = ticket.0 else { return };
        let hold = &mut self.slots[slot as usize];
        if hold.generation != generation {
            return;
        }
        (hold.begins, hold.ends) = flows(course, now);
        if hold.part < hold.parts() {
            let due = hold.next_part().min(hold.until);
            self.due.push(Reverse((due, slot, generation)));
        }
    }

    /// The service of a request ends now, sooner than planned.
    pub(super) fn cut(&mut self, ticket: Ticket, now: SimTime) {
        let Some((slot, generation)) = ticket.0 else { return };
        let hold = &mut self.slots[slot as usize];
        if hold.generation == generation && hold.until > now {
            hold.until = now;
            hold.generation = generation.wrapping_add(1);
            self.due.push(Reverse((now, slot, hold.generation)));
        }
    }

    /// One that has been cut short.
    pub(super) fn next_cut(&mut self) -> Option<Cut> {
        self.cuts.pop()
    }

    /// When the next of them is due.
    pub(super) fn next(&self) -> Option<SimTime> {
        self.due.peek().map(|Reverse((at, ..))| *at)
    }

    /// Charges and gives back what is due first.
    pub(super) fn settle_next(&mut self, limits: &[Limit], meters: &[Meter], levels: &mut [MeterState]) {
        let Some(Reverse((at, slot, generation))) = self.due.pop() else { return };
        let hold = &mut self.slots[slot as usize];
        if hold.generation != generation {
            return;
        }
        let is_over = at >= hold.until;
        if !is_over {
            hold.part += 1;
        }
        let parts = u64::from(hold.parts().max(1));
        let produced = if is_over {
            hold.produced_at(at)
        } else {
            (u64::from(hold.size.output) * u64::from(hold.part) / parts) as u32
        };
        let new = produced.saturating_sub(hold.produced);
        hold.produced = produced.max(hold.produced);
        let mut left = hold.limits;
        while left > 0 {
            let index = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(terms) = &limits[index].terms else { continue };
            settle(hold, terms, is_over.then_some(produced), new, &meters[index], &mut levels[index], at);
        }
        let used_up = if is_over || new == 0 { None } else { used_up(hold, limits, meters, levels, at) };
        if let Some(limit) = used_up {
            self.cuts.push(Cut { ticket: Ticket(Some((slot, generation))), limit, produced });
            let mut left = hold.limits;
            while left > 0 {
                let index = left.trailing_zeros() as usize;
                left &= left - 1;
                let Some(terms) = &limits[index].terms else { continue };
                settle(hold, terms, Some(produced), 0, &meters[index], &mut levels[index], at);
            }
        }
        if is_over || used_up.is_some() {
            hold.generation = generation.wrapping_add(1);
            self.free.push(slot);
        } else {
            let due = if hold.part < hold.parts() { hold.next_part().min(hold.until) } else { hold.until };
            if due < SimTime::NEVER {
                self.due.push(Reverse((due, slot, generation)));
            }
        }
    }
}

/// The first of a request's limits that stop an answer and of which nothing is left.
fn used_up(hold: &Hold, limits: &[Limit], meters: &[Meter], levels: &mut [MeterState], now: SimTime) -> Option<usize> {
    let mut left = hold.limits;
    while left > 0 {
        let index = left.trailing_zeros() as usize;
        left &= left - 1;
        let stops = limits[index].terms.as_ref().is_some_and(|terms| terms.when_used_up.is_some());
        if stops && !meters[index].until_any(&mut levels[index], now).is_zero() {
            return Some(index);
        }
    }
    None
}

/// How much of an output is there at an instant that begins and ends so, and flows evenly.
pub(super) fn produced(output: u32, begins: SimTime, ends: SimTime, at: SimTime) -> u32 {
    if at >= ends {
        return output;
    }
    let (since, all) = (at.since(begins).as_nanos(), ends.since(begins).as_nanos());
    (u128::from(output) * u128::from(since) / u128::from(all.max(1))) as u32
}

/// When output begins and when all of it is there. An answer that is there all at once has been produced since its service
/// began.
pub(super) fn flows(course: &Course, began: SimTime) -> (SimTime, SimTime) {
    let begins = if course.first < course.ends { course.first } else { began };
    (if course.ends < SimTime::NEVER { begins } else { SimTime::NEVER }, course.ends)
}

/// What one limit charges and gives back at an instant: for `new` tokens of output, and at the end of the service for all
/// that was produced.
fn settle(
    hold: &Hold,
    terms: &Terms,
    over: Option<u32>,
    new: u32,
    meter: &Meter,
    level: &mut MeterState,
    now: SimTime,
) {
    match terms.charge {
        Charge::Streaming => {
            let cost = terms.weights_of(hold.size.model).output.saturating_mul(u64::from(new));
            if cost > 0 {
                meter.charge(level, cost, now);
            }
        }
        Charge::Completion => {
            if let Some(produced) = over {
                meter.charge(level, terms.cost(Size { output: produced, ..hold.size }), now);
            }
        }
        Charge::Admission => {
            let Some(produced) = over else { return };
            let charged = terms.estimated(hold.size);
            if matches!(meter, Meter::InFlight(_)) {
                return meter.refund(level, charged, hold.admitted, now);
            }
            let used = terms.cost(Size { output: produced, ..hold.size });
            if used < charged && terms.settle != Settle::Never {
                meter.refund(level, charged - used, hold.admitted, now);
            } else if used > charged && terms.settle == Settle::Both {
                meter.charge(level, used - charged, now);
            }
        }
    }
}
