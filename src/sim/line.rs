//! The line of runs before a semaphore that has no permit left.

use std::collections::VecDeque;

use crate::policy::answer::Answer;
use crate::units::SimTime;

/// A run that stands in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InLine {
    pub(super) class: u16,
    pub(super) run: u32,
    pub(super) since: SimTime,
    /// When it gives up.
    pub(super) until: SimTime,
}

/// Those who stand in line before one instance of a semaphore, in the order of their coming.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(VecDeque<InLine>);

impl Line {
    pub(super) fn join(&mut self, waiter: InLine) {
        self.0.push_back(waiter);
    }

    /// The first in line, who leaves it.
    pub(super) fn call_up(&mut self) -> Option<InLine> {
        self.0.pop_front()
    }

    /// Takes the run out if it stands there until this very instant. All who wait before one semaphore are equally
    /// patient, but for clients that lose patience with a hop, so whoever gives up is at the front as a rule.
    pub(super) fn give_up(&mut self, class: u16, run: u32, now: SimTime) -> Option<InLine> {
        let is_meant = |waiter: &InLine| (waiter.class, waiter.run, waiter.until) == (class, run, now);
        let place = self.0.iter().position(is_meant)?;
        self.0.remove(place)
    }

    /// Takes the run out, if it stood there.
    pub(super) fn leave(&mut self, class: u16, run: u32) -> Option<InLine> {
        let place = self.0.iter().position(|waiter| (waiter.class, waiter.run) == (class, run));
        self.0.remove(place?)
    }

    /// How many stand there.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &InLine> {
        self.0.iter()
    }
}

/// Where runs hold a permit, for guards of which each worker or process has its own: a run that frees its worker for a
/// while may go on with another one, and must give the permit back where it took it.
#[derive(Clone, Debug, Default)]
pub(super) struct Homes(Vec<Vec<usize>>);

impl Homes {
    /// The run's permit is one of this instance.
    pub(super) fn set(&mut self, class: u16, run: u32, instance: usize) {
        let (class, run) = (class as usize, run as usize);
        if self.0.len() <= class {
            self.0.resize_with(class + 1, Vec::new);
        }
        if self.0[class].len() <= run {
            self.0[class].resize(run + 1, 0);
        }
        self.0[class][run] = instance;
    }

    /// The instance of which the run, which has a permit, holds one.
    pub(super) fn of(&self, class: u16, run: u32) -> usize {
        self.0[class as usize][run as usize]
    }
}

/// The runs that a breaker let through as probes and whose results are not back yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes(Vec<(u16, u32)>);

impl Probes {
    /// The run was let through, as a probe or not.
    pub(super) fn out(&mut self, class: u16, run: u32, as_a_probe: bool) {
        self.back(class, run);
        if as_a_probe {
            self.0.push((class, run));
        }
    }

    /// The run's result is back; says whether it was a probe.
    pub(super) fn back(&mut self, class: u16, run: u32) -> bool {
        let place = self.0.iter().position(|probe| *probe == (class, run));
        place.map(|place| self.0.swap_remove(place)).is_some()
    }
}

/// The failures that runs have met and are to repeat when their waits are over, where their budgets are asked then; class
/// by class.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Vec<Vec<Answer>>);

impl Kept {
    /// The run waits to repeat this.
    #[cold]
    pub(super) fn set(&mut self, class: u16, run: u32, answer: &Answer) {
        let (class, run) = (class as usize, run as usize);
        if self.0.len() <= class {
            self.0.resize_with(class + 1, Vec::new);
        }
        if self.0[class].len() <= run {
            self.0[class].resize(run + 1, Answer::DELIVERED);
        }
        self.0[class][run] = *answer;
    }

    /// What the run was to repeat.
    pub(super) fn of(&self, class: u16, run: u32) -> Answer {
        self.0[class as usize][run as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    #[test]
    fn who_gives_up_is_who_stands_there_until_now() {
        let at = |secs| SimTime::ZERO + SimDuration::from_secs(secs);
        let mut line = Line::default();
        for (run, until) in [(7, 5), (8, 5), (9, 6)] {
            line.join(InLine { class: 0, run, since: at(0), until: at(until) });
        }
        assert_eq!(line.give_up(0, 9, at(5)), None, "its time has not come");
        assert_eq!(line.give_up(1, 8, at(5)), None, "another class");
        assert_eq!(line.give_up(0, 8, at(5)).map(|waiter| waiter.run), Some(8));
        assert_eq!(line.give_up(0, 8, at(5)), None, "it has left");
        assert_eq!(line.call_up().map(|waiter| waiter.run), Some(7));
    }
}
