//! Some runs never end in the time that anybody has: retries without wait over a year, a billion arrivals. So every run
//! is watched: it ends when its user asks for it, and where it has sent more requests than a model of anything real
//! would.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::observe::Outcome;
use crate::random::Seed;
use crate::scenario::Scenario;
use crate::sim::{Course, Fact, Observer, Unobserved, simulate_observed};
use crate::units::SimTime;

/// The requests of a run beyond which it is taken for one that never ends: some minutes of work.
pub const MOST_REQUESTS: u64 = 1_000_000_000;

/// Events for each request of that bound. A request with its wait, its arrival and its worker makes about four; a run
/// with more of them does nothing but wait and look again.
const EVENTS_PER_REQUEST: u64 = 16;

/// What ends a run early, and who wants to know how far it is.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// Set when the user asks to stop.
    pub interrupt: &'a AtomicBool,
    /// The most requests of one run.
    pub most_requests: u64,
    /// Told how many runs are done; while the first one is at work, with the share of its simulated time.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl<'a> Terms<'a> {
    /// Runs end when `interrupt` is set and otherwise where they would not end in reasonable time.
    pub const fn new(interrupt: &'a AtomicBool) -> Self {
        Terms { interrupt, most_requests: MOST_REQUESTS, progress: &|_| () }
    }

    /// The same terms with nobody who wants to know.
    pub(super) const fn quietly(self) -> Self {
        Terms { progress: &|_| (), ..self }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The user asked to stop.
    Interrupted,
    /// A run has sent more requests than it may.
    Endless(Endless),
}

impl Stopped {
    /// The same of this replicate.
    pub(super) fn of_replicate(self, replicate: u64) -> Stopped {
        match self {
            Stopped::Endless(endless) => Stopped::Endless(Endless { replicate, ..endless }),
            Stopped::Interrupted => Stopped::Interrupted,
        }
    }
}

/// How far a run came that does not seem to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// The simulated time that it reached.
    pub reached: SimTime,
    /// The requests that it had sent.
    pub requests: u64,
    /// The events that it had handled.
    pub events: u64,
    /// The index of the class that had sent most of them.
    pub busiest: usize,
    /// Which replicate it is; 0 is the seed itself.
    pub replicate: u64,
}

/// Runs a scenario once under these terms and shows it to an observer.
pub fn watched(
    scenario: &Scenario,
    seed: Seed,
    terms: Terms<'_>,
    observer: &mut impl Observer,
) -> Result<Outcome, Stopped> {
    let mut watch = Watch { terms, observer, stopped: None };
    let outcome = simulate_observed(scenario, seed, &mut watch);
    watch.stopped.map_or(Ok(outcome), Err)
}

/// The same, shown to nobody.
pub(super) fn unobserved(scenario: &Scenario, seed: Seed, terms: Terms<'_>) -> Result<Outcome, Stopped> {
    watched(scenario, seed, terms, &mut Unobserved)
}

/// An observer that ends the run of another one where its terms say so.
struct Watch<'a, O> {
    terms: Terms<'a>,
    observer: &'a mut O,
    stopped: Option<Stopped>,
}

impl<O: Observer> Observer for Watch<'_, O> {
    const WATCHES: bool = O::WATCHES;
    const ATTENDS: bool = true;

    fn see(&mut self, fact: &Fact) -> bool {
        self.observer.see(fact)
    }

    fn goes_on(&mut self, course: &Course) -> bool {
        self.stopped =
            if self.terms.is_interrupted() { Some(Stopped::Interrupted) } else { endless(course, self.terms) };
        (self.terms.progress)(share(course));
        self.stopped.is_none() && self.observer.goes_on(course)
    }
}

fn endless(course: &Course, terms: Terms<'_>) -> Option<Stopped> {
    let requests = course.requests.iter().sum();
    let most_events = terms.most_requests.saturating_mul(EVENTS_PER_REQUEST);
    if requests <= terms.most_requests && course.events <= most_events {
        return None;
    }
    let busiest = (0..course.requests.len()).rev().max_by_key(|class| course.requests[*class]).unwrap_or(0);
    Some(Stopped::Endless(Endless { reached: course.now, requests, events: course.events, busiest, replicate: 0 }))
}

/// The share of a run's work that is done: a run of two passes is half done after the first.
fn share(course: &Course) -> f64 {
    let share = course.now.as_secs_f64() / course.horizon.as_secs_f64();
    if course.is_first_of_two { 0.5 * share } else { share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Source, load};
    use std::sync::atomic::AtomicU64;

    /// Two classes; the second one retries every nanosecond.
    fn endless_scenario() -> Scenario {
        let text = "horizon = \"1h\"\n[provider.faults.down]\nrespond = { status = 503, after = \"1ns\" }\n\
            [clients.calm]\nlayers = [{ name = \"sdk\", max_attempts = 1, retry_on = \"any\" }]\n\
            [clients.wild]\nlayers = [{ name = \"sdk\", max_attempts = \"unlimited\", retry_on = \"any\", backoff = { fixed = \"1ns\" } }]\n\
            [traffic.calm]\nkind = \"turns\"\nclient = \"calm\"\narrivals = { every = \"1m\" }\n\
            steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n\
            [traffic.wild]\nkind = \"turns\"\nclient = \"wild\"\narrivals = { at = [\"1s\"] }\n\
            steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n";
        load(&Source::new("endless.toml", text)).unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    #[test]
    fn a_run_that_sends_too_much_ends_and_says_how_far_it_came_and_whose_requests_they_were() {
        let (never, scenario) = (AtomicBool::new(false), endless_scenario());
        let terms = Terms { most_requests: 100_000, ..Terms::new(&never) };
        let Err(Stopped::Endless(endless)) = unobserved(&scenario, Seed(1), terms) else { panic!("it ended") };
        assert_eq!(scenario.traffic[endless.busiest].name, "wild");
        // Asked every 8,192 events, of which each retry makes at most four.
        assert!((100_000..110_000).contains(&endless.requests), "{endless:?}");
        assert!(endless.reached.as_secs_f64() > 0.99 && endless.reached.as_secs_f64() < 1.1, "{endless:?}");
    }

    #[test]
    fn an_interrupt_ends_a_run_at_the_next_question() {
        let (scenario, asked) = (endless_scenario(), AtomicU64::new(0));
        let interrupt = AtomicBool::new(false);
        let progress = |_| {
            asked.fetch_add(1, Ordering::Relaxed);
            interrupt.store(true, Ordering::Relaxed);
        };
        let terms = Terms { progress: &progress, ..Terms::new(&interrupt) };
        assert_eq!(unobserved(&scenario, Seed(1), terms).unwrap_err(), Stopped::Interrupted);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
