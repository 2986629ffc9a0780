//! What an operator does during a run, at its time. A deploy needs no event: each run looks which client is there when it
//! begins.

use super::Engine;
use crate::scenario::Act;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::world::Class;
use crate::units::SimTime;

impl<O: Observer> Engine<'_, O> {
    pub(super) fn schedule_interventions(&mut self) {
        for (intervention, index) in self.scenario.interventions.iter().zip(0..) {
            if !matches!(intervention.act, Act::Pause { .. }) {
                continue;
            }
            for (at, undoes) in [(intervention.at, false), (intervention.until, true)] {
                if at < SimTime::NEVER {
                    self.events.push(at, Rank::Release, Event::Intervenes { index, undoes }.pack());
                }
            }
        }
    }

    pub(super) fn intervenes(&mut self, index: u32, undoes: bool) {
        match self.scenario.interventions[index as usize].act {
            Act::Pause { class } => {
                let Class { force, member, .. } = self.classes[class];
                self.forces[force as usize].pause(member, undoes);
                self.stirred |= 1 << force;
            }
            Act::Deploy { .. } | Act::Limit { .. } => {}
        }
    }
}
