//! Pools whose processes take messages out of the queue before a worker is free.

use super::Engine;
use crate::sim::crew::Held;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::workforce::Waiter;
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    /// Gives idle workers what their processes have, and processes what they have room for, as long as there is either.
    pub(super) fn dispatch_ahead(&mut self, force: u16) {
        while self.takes_buffered(force) || self.takes_ahead(force) {}
    }

    /// An idle worker takes what its process has; says whether one did, or found that nobody wants it any more.
    fn takes_buffered(&mut self, force: u16) -> bool {
        let now = self.now();
        if !self.forces[force as usize].crew.as_ref().is_some_and(|crew| crew.has_buffered()) {
            return false;
        }
        for position in (0..self.forces[force as usize].idle().len()).rev() {
            let workers = &mut self.forces[force as usize];
            let worker = workers.idle()[position];
            let Some(crew) = &mut workers.crew else { return false };
            let Some(Held { class, message }) = crew.next_of(worker) else { continue };
            let process = crew.process(worker);
            if !self.may_work(class, worker) {
                continue;
            }
            if let Some(crew) = &mut self.forces[force as usize].crew {
                crew.pop_of(worker);
            }
            let known = self.states[class as usize].deliveries.messages.get_mut(message);
            if known.is_cancelled {
                known.copies -= 1;
                self.let_go(class, message);
            } else if self.expires(class, message) {
                if let Some(crew) = &mut self.forces[force as usize].crew {
                    crew.acknowledges(process, Held { class, message });
                }
            } else {
                let worker = self.forces[force as usize].take(position, now);
                self.begin_message(class, message, worker);
            }
            return true;
        }
        false
    }

    /// Processes whose last worker has been sent away give back what they had taken, at once.
    pub(super) fn give_back(&mut self, force: u16) {
        let crew = self.forces[force as usize].crew.as_ref();
        for process in crew.map(|crew| crew.deserted()).unwrap_or_default() {
            let given = self.forces[force as usize].crew.as_mut().map(|crew| crew.loses(process)).unwrap_or_default();
            for Held { class, message } in given {
                let known = self.states[class as usize].deliveries.messages.get_mut(message);
                known.copies -= 1;
                if std::mem::take(&mut known.is_delivered) {
                    known.due = SimTime::NEVER;
                    self.put_back(class, message);
                } else {
                    self.let_go(class, message);
                }
            }
        }
    }

    /// A process takes a message out of the queue, or a worker a run that goes on; says whether one did.
    fn takes_ahead(&mut self, force: u16) -> bool {
        let workers = &mut self.forces[force as usize];
        let Some(member) = workers.next(0) else { return false };
        let (class, front) = (workers.members()[member as usize].class, workers.front(member));
        let taker = match front {
            Waiter::Message(message) => {
                let Some(taker) = workers.crew.as_ref().and_then(|crew| crew.taker(Held { class, message })) else {
                    return false;
                };
                taker
            }
            Waiter::Run(_) | Waiter::Task(_) if workers.idle().is_empty() => return false,
            Waiter::Run(_) | Waiter::Task(_) => 0,
        };
        workers.pop(member);
        if self.is_void(class, front) {
            return true;
        }
        let now = self.now();
        let workers = &mut self.forces[force as usize];
        workers.leave(member, 1);
        if let Waiter::Message(message) = front {
            let not_before = self.states[class as usize].deliveries.messages.get(message).not_before;
            if let Some(crew) = &mut workers.crew {
                crew.buffer(taker, Held { class, message }, not_before <= now);
            }
            if not_before > now {
                self.events.push(not_before, Rank::Attempt, Event::DelayEnds { class, message }.pack());
            }
            self.hand_out(class, message);
        } else {
            let last = workers.idle().len() - 1;
            let worker = workers.take(last, now);
            self.set_to_work(class, front, worker);
        }
        true
    }
}
