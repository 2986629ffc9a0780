//! What each task of a small run did, request by request. A run of a dozen tasks has its story in single instants,
//! which series over bins would blur; a larger one is seen in its series alone, and nothing is kept of it here.

use super::watch::{Stopped, Terms, watched};
use crate::observe::Timeline;
use crate::policy::answer::Answer;
use crate::random::Seed;
use crate::scenario::Scenario;
use crate::sim::{Fact, Fate, Observer};
use crate::units::SimTime;

/// The most tasks of a run that are told one by one: more rows than these are no picture.
const MOST_TASKS: u64 = 24;
/// The most requests of them.
const MOST_REQUESTS: u64 = 400;

/// What one task did.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// The index of its class.
    pub class: usize,
    /// Its ordinal in its class, from 0.
    pub task: u32,
    /// When it arrived.
    pub arrived: SimTime,
    /// When and how it ended; `None` where it was unfinished at the horizon.
    pub ended: Option<(SimTime, Fate)>,
    /// The requests that came back, in the order in which they did.
    pub requests: Vec<Sent>,
}

/// One request of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// When it was sent.
    pub sent: SimTime,
    /// When it ended.
    pub ended: SimTime,
    /// How.
    pub answer: Answer,
}

/// The tracks of a run whose series are known, by class and task; none where there are too many.
pub(super) fn tracks(
    scenario: &Scenario,
    seed: Seed,
    timeline: &Timeline,
    terms: Terms<'_>,
) -> Result<Vec<Track>, Stopped> {
    let sum = |series: &[u32]| series.iter().map(|&n| u64::from(n)).sum::<u64>();
    let tasks: u64 = timeline.classes.iter().map(|class| sum(&class.arrivals)).sum();
    let requests: u64 = timeline.classes.iter().flat_map(|class| &class.answers).map(|kind| sum(kind)).sum();
    if tasks > MOST_TASKS || requests > MOST_REQUESTS {
        return Ok(Vec::new());
    }
    let mut recorder = Recorder(Vec::new());
    watched(scenario, seed, terms.quietly(), &mut recorder)?;
    recorder.0.sort_by_key(|track| (track.class, track.task));
    Ok(recorder.0)
}

struct Recorder(Vec<Track>);

impl Recorder {
    fn of(&mut self, class: u16, task: u32) -> Option<&mut Track> {
        self.0.iter_mut().find(|track| track.class == usize::from(class) && track.task == task)
    }
}

impl Observer for Recorder {
    fn see(&mut self, fact: &Fact) -> bool {
        match *fact {
            Fact::TaskArrived { class, task, at } => {
                let requests = Vec::new();
                self.0.push(Track { class: usize::from(class), task, arrived: at, ended: None, requests });
            }
            Fact::RequestEnded { class, task, sent, at, answer, .. } => {
                if let Some(track) = self.of(class, task) {
                    track.requests.push(Sent { sent, ended: at, answer });
                }
            }
            Fact::TaskEnded { class, task, at, fate } => {
                if let Some(track) = self.of(class, task) {
                    track.ended = Some((at, fate));
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Terms, run};
    use super::*;
    use crate::scenario::{Source, load};
    use std::sync::atomic::AtomicBool;

    fn of(count: usize) -> Vec<Track> {
        let text = format!(
            "horizon = \"1m\"\n[provider.faults.down]\nwindow = [\"0s\", \"3s\"]\nrespond = {{ status = 529, after = \"1s\" }}\n\
             [clients.sdk]\nlayers = [{{ name = \"sdk\", max_attempts = 2, retry_on = \"any\", backoff = {{ fixed = \"5s\" }} }}]\n\
             [traffic.turn]\nkind = \"turns\"\nclient = \"sdk\"\narrivals = {{ at = [{}] }}\n\
             steps = [{{ name = \"a\", input_tokens = 1, latency = \"2s\" }}]\n",
            vec!["\"2s\""; count].join(", ")
        );
        let scenario = load(&Source::new("tracks.toml", &text)).unwrap_or_else(|refusal| panic!("{refusal:?}"));
        let never = AtomicBool::new(false);
        run(&scenario, Seed(1), None, None, Terms::new(&never)).unwrap().tracks
    }

    #[test]
    fn a_small_run_is_told_request_by_request() {
        // Sent at 2, refused at 3, waits 5 s, sent at 8, answered at 10.
        let [track] = &of(1)[..] else { panic!("one task") };
        let seconds = |sent: &Sent| (sent.sent.as_secs_f64(), sent.ended.as_secs_f64(), sent.answer.status);
        assert_eq!(track.requests.iter().map(seconds).collect::<Vec<_>>(), [(2.0, 3.0, 529), (8.0, 10.0, 200)]);
        assert_eq!(track.ended, Some((SimTime::from_secs_f64(10.0), Fate::Delivered)));
    }

    #[test]
    fn a_larger_run_is_not() {
        assert_eq!(of(24).len(), 24);
        assert_eq!(of(25).len(), 0);
    }
}
