//! A limit on requests in flight. Each request that is served takes one slot from its admission until its service ends,
//! or until its caller leaves where the provider notices that. What ends at an instant frees its slot before a request
//! of that instant asks for one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::limit::HintForm;
use super::model::ModelSet;
use crate::policy::answer::{Answer, Code};
use crate::random::Distribution;
use crate::units::{SimDuration, SimTime};

/// The settings of one limit on requests in flight.
#[derive(Clone, PartialEq)]
pub struct Slots {
    /// Its name.
    pub name: String,
    /// How many requests may be in flight, at least one.
    pub amount: u32,
    /// The status of a refusal.
    pub status: u16,
    /// Seconds until a refusal is back.
    pub refusal_latency: Distribution,
    /// The hint of a refusal, from the time until the next slot is free; `None` for none.
    pub hint: Option<HintForm>,
    /// The code in the body of a refusal.
    pub code: Option<String>,
    /// The models whose requests it counts.
    pub models: ModelSet,
    /// The senders whose requests it counts, by index.
    pub classes: ModelSet,
}

impl std::fmt::Debug for Slots {
    /// All settings; the classes only where it is not for all of them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Slots { name, amount, status, refusal_latency, hint, code, models, classes } = self;
        let mut all = f.debug_struct("Slots");
        all.field("name", name).field("amount", amount).field("status", status);
        all.field("refusal_latency", refusal_latency).field("hint", hint).field("code", code).field("models", models);
        if !classes.is_all() {
            all.field("classes", classes);
        }
        all.finish()
    }
}

impl Slots {
    /// Whether it counts the requests of a sender to a model.
    #[inline]
    pub const fn covers(&self, sender: u8, model: u8) -> bool {
        self.models.contains(model) && self.classes.contains(sender)
    }

    /// Its refusal, without the hint.
    pub fn refusal(&self) -> Answer {
        Answer { code: self.code.as_deref().map_or(Code::NONE, Code::named), ..Answer::refused(self.status) }
    }
}

/// Which slots are taken, and until when.
#[derive(Clone, Debug, Default)]
pub struct SlotsState {
    ends: BinaryHeap<Reverse<SimTime>>,
    /// Those of the ends whose slots are free already. Invariant: each is among `ends`.
    freed: BinaryHeap<Reverse<SimTime>>,
    /// The most that were taken at once.
    most: u32,
}

impl SlotsState {
    /// How long until a slot is free; `None` where one is.
    pub fn wait(&mut self, settings: &Slots, now: SimTime) -> Option<SimDuration> {
        while let Some(Reverse(end)) = self.ends.peek().copied() {
            let is_freed = self.freed.peek() == Some(&Reverse(end));
            if end > now && !is_freed {
                break;
            }
            self.ends.pop();
            if is_freed {
                self.freed.pop();
            }
        }
        let next = self.ends.peek().filter(|_| self.taken() >= settings.amount as usize);
        // Where servers are few, nobody knows when a service ends: it may be at once.
        let soon = SimDuration::from_nanos(1);
        next.map(|Reverse(end)| if *end == SimTime::NEVER { soon } else { end.since(now) })
    }

    /// Takes a slot until then.
    pub fn take(&mut self, until: SimTime) {
        self.ends.push(Reverse(until));
        self.most = self.most.max(self.taken() as u32);
    }

    /// Frees a slot that was taken until then.
    pub fn free(&mut self, until: SimTime) {
        self.freed.push(Reverse(until));
    }

    fn taken(&self) -> usize {
        self.ends.len() - self.freed.len()
    }

    /// The most that were taken at once.
    pub const fn most(&self) -> u32 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_at_the_instant_at_which_its_service_ends() {
        let settings = Slots {
            name: "connections".to_owned(),
            amount: 2,
            status: 429,
            refusal_latency: Distribution::constant(0.0),
            hint: None,
            code: None,
            models: ModelSet::ALL,
            classes: ModelSet::ALL,
        };
        let at = |seconds| SimTime::ZERO + SimDuration::from_secs(seconds);
        let mut state = SlotsState::default();
        for end in [5, 3] {
            assert_eq!(state.wait(&settings, at(0)), None);
            state.take(at(end));
        }
        assert_eq!(state.wait(&settings, at(1)), Some(SimDuration::from_secs(2)));
        assert_eq!(state.wait(&settings, at(3)), None);
        assert_eq!(state.most(), 2);
        // Taken until 5 s and 8 s; the later one is given back early.
        state.take(at(8));
        assert_eq!(state.wait(&settings, at(4)), Some(SimDuration::from_secs(1)));
        state.free(at(8));
        assert_eq!(state.wait(&settings, at(4)), None);
        state.take(at(9));
        assert_eq!(state.wait(&settings, at(4)), Some(SimDuration::from_secs(1)));
        assert_eq!(state.wait(&settings, at(5)), None);
        assert_eq!(state.most(), 2);
    }
}
