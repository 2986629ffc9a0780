//! Requests on their way to a provider that is far: the provider looks at them when they are there. How long they and
//! their answers travel is drawn for each request, and drawn again where it is needed: nothing of it is stored.

use super::Engine;
use crate::policy::{Answer, Course};
use crate::provider::network::Way;
use crate::random::Distribution;
use crate::sim::event::Event;
use crate::sim::event_queue::Rank;
use crate::sim::observer::Observer;
use crate::sim::record::Doing;
use crate::sim::station::Job;
use crate::sim::world::purpose;
use crate::units::{SimDuration, SimTime};

impl<O: Observer> Engine<'_, O> {
    /// The run's request leaves: when it will end, if it never arrives. Who gives up before it is there has sent nothing.
    pub(super) fn depart(&mut self, class: u16, run: u32, ordinal: u32) -> SimTime {
        let now = self.now();
        let Some(way) = self.way(class, run) else { return SimTime::NEVER };
        let (record, layers) = self.states[class as usize].runs.parts(run);
        let client = self.classes[class as usize].of_run(record).client;
        let leaves = client.gives_up(layers, now, &way.unanswered());
        if way.arrives <= now || leaves.is_some_and(|(at, _)| at < way.arrives) {
            return self.present(class, run, ordinal, Some(way));
        }
        record.doing = Doing::Travelling;
        let ordinals = &mut self.states[class as usize].ordinals;
        if ordinals.len() <= run as usize {
            ordinals.resize(run as usize + 1, 0);
        }
        ordinals[run as usize] = ordinal;
        self.events.push(way.arrives, Rank::Attempt, Event::ReachesProvider { class, run }.pack());
        SimTime::NEVER
    }

    /// The run's request is at the provider.
    pub(super) fn reaches_provider(&mut self, class: u16, run: u32) {
        let ordinal = self.states[class as usize].ordinals[run as usize];
        let way = self.way(class, run);
        let ends = self.present(class, run, ordinal, way);
        if ends < SimTime::NEVER {
            // Nothing that travels is cut.
            self.events.push(ends, Rank::Complete, Event::RequestEnds { class, run }.pack());
        }
    }

    /// The run's request is on its way, and nobody wants it any more: who leaves before it is there has sent nothing.
    pub(super) fn turn_back(&mut self, class: u16, run: u32) -> Answer {
        let ordinal = self.states[class as usize].ordinals[run as usize];
        // At the very instant at which it would be there, it is not there yet.
        let later = self.now() + SimDuration::from_nanos(1);
        let way = self.way(class, run).map(|way| Way { arrives: way.arrives.max(later), ..way });
        self.present(class, run, ordinal, way);
        self.leave(class, run)
    }

    /// The way of the run's last request; `None` where nothing travels.
    pub(super) fn way(&self, class: u16, run: u32) -> Option<Way> {
        let network = self.scenario.provider.network.as_ref()?;
        let record = self.states[class as usize].runs.get(run);
        let settings = &self.classes[class as usize].settings.steps[record.step as usize];
        let key = record.key.with(u64::from(record.ordinal) - 1);
        let draw = |time: &Option<Distribution>, purpose| {
            let seconds = time.as_ref().map(|time| time.sample(&mut key.with(purpose).stream()));
            seconds.map_or(SimDuration::ZERO, SimDuration::from_secs_f64)
        };
        let connected = record.sent + draw(&settings.connect, purpose::CONNECT);
        let written = connected + draw(&settings.write, purpose::WRITE);
        let arrives = written + draw(&network.send, purpose::SEND);
        Some(Way { connected, written, arrives, back: draw(&network.receive, purpose::RECEIVE) })
    }

    /// What the caller of a job sees of what leaves the servers like this.
    pub(super) fn seen(&self, job: &Job, course: &Course) -> Course {
        self.way(job.class, job.run).map_or(*course, |way| way.seen(course))
    }
}
