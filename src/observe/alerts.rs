//! Alerts during a run. The counts of a class only grow, so a rule needs no event of its own: it takes a sample of them
//! now and then, and what happened over a span is the difference of two samples. Memory is one sample for each
//! evaluation within the span.

use std::collections::VecDeque;

use super::ledger::ClassLedger;
use crate::scenario::{Alert, Watched};
use crate::units::{SimDuration, SimTime};

/// What has been counted of a class so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Tasks that arrived.
    pub arrived: u64,
    /// Tasks that got all their answers.
    pub delivered: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks whose time was over before they were done, or that were thrown away.
    pub abandoned: u64,
    /// Tasks that met a 429.
    pub with_429: u64,
    /// Tasks that met a 529 or a 503.
    pub with_overload: u64,
    /// Tasks that met any of these.
    pub refused: u64,
    /// Calls that began.
    pub calls: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that ended.
    pub ended: u64,
    /// Requests that were answered 429.
    pub throttled: u64,
    /// Requests that were answered 529 or 503.
    pub overloaded: u64,
    /// Requests that got their answer.
    pub answered: u64,
}

/// The places of the answers that alerts tell apart.
#[derive(Clone, Debug)]
pub struct Places {
    /// Of 200.
    pub delivered: usize,
    /// Of 529 and 503, as far as there can be such.
    pub overloaded: Vec<usize>,
}

impl Sample {
    /// What the ledger has counted by now.
    pub fn of(ledger: &ClassLedger, places: &Places) -> Sample {
        let mut sample = Sample::default();
        for cell in &ledger.cells {
            sample.arrived += cell.offered;
            sample.delivered += cell.delivered;
            sample.failed += cell.failed;
            sample.abandoned += cell.jobs.abandoned;
            sample.with_429 += cell.tasks_with_429;
            sample.with_overload += cell.tasks_with_overload;
            sample.refused += cell.tasks_refused;
            sample.calls += cell.calls;
            sample.requests += cell.requests;
            sample.throttled += cell.requests_with_429;
        }
        for kinds in ledger.answers.chunks_exact(ledger.answers.len() / ledger.cells.len().max(1)) {
            sample.ended += kinds.iter().sum::<u64>();
            sample.answered += kinds[places.delivered];
            sample.overloaded += places.overloaded.iter().map(|place| kinds[*place]).sum::<u64>();
        }
        sample
    }

    fn since(&self, then: &Sample) -> Sample {
        Sample {
            arrived: self.arrived - then.arrived,
            delivered: self.delivered - then.delivered,
            failed: self.failed - then.failed,
            abandoned: self.abandoned - then.abandoned,
            with_429: self.with_429 - then.with_429,
            with_overload: self.with_overload - then.with_overload,
            refused: self.refused - then.refused,
            calls: self.calls - then.calls,
            requests: self.requests - then.requests,
            ended: self.ended - then.ended,
            throttled: self.throttled - then.throttled,
            overloaded: self.overloaded - then.overloaded,
            answered: self.answered - then.answered,
        }
    }

    /// Tasks that an alert on this calls hit.
    const fn hit(&self, of: Watched) -> u64 {
        match of {
            Watched::TasksWith429 | Watched::Requests429 => self.with_429,
            Watched::TasksWithOverload | Watched::RequestsOverload => self.with_overload,
            Watched::Failed => self.failed,
            Watched::RequestsFailed | Watched::RequestsPerCall | Watched::Requests | Watched::Queue => self.refused,
        }
    }

    /// What is watched, as a part of how many; the queue is not among the counts.
    const fn part(&self, of: Watched) -> (u64, u64) {
        match of {
            Watched::TasksWith429 => (self.with_429, self.arrived),
            Watched::TasksWithOverload => (self.with_overload, self.arrived),
            Watched::Failed => (self.failed, self.failed + self.abandoned + self.delivered),
            Watched::Requests429 => (self.throttled, self.ended),
            Watched::RequestsOverload => (self.overloaded, self.ended),
            Watched::RequestsFailed => (self.ended - self.answered, self.ended),
            Watched::RequestsPerCall => (self.requests, self.calls),
            Watched::Requests | Watched::Queue => (self.requests, 1),
        }
    }
}

/// One time that an alert fired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Firing {
    /// The evaluation at which the rule began to hold.
    pub held_from: SimTime,
    /// When it fired.
    pub fired: SimTime,
    /// When it cleared; `None` where the run ended before.
    pub cleared: Option<SimTime>,
    /// Tasks that had been hit when it fired, from the span on with which the rule began to hold.
    pub hit_before: u64,
    /// The same until it cleared.
    pub hit: u64,
    /// The most extreme value from when the rule began to hold until the alert cleared.
    pub extreme: f64,
}

/// The most firings of an alert that are kept one by one; a rule that flaps more is counted.
const MOST_FIRINGS: usize = 1_000;

/// What became of one alert in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertRecord {
    /// The firings, in order; the first thousand of them.
    pub firings: Vec<Firing>,
    /// How often it fired.
    pub fired: u64,
    /// How long it was firing in all, up to the end of the run.
    pub firing: SimDuration,
}

/// A rule at work.
#[derive(Clone, Debug)]
struct Rule {
    due: SimTime,
    /// The samples of the span, the oldest first.
    samples: VecDeque<Sample>,
    /// Since when the rule holds, or has not held, and what had been hit before the span in which it began to.
    held_from: Option<(SimTime, u64)>,
    quiet_from: Option<SimTime>,
    extreme: f64,
    open: Option<Firing>,
    record: AlertRecord,
}

/// All alerts of a run.
#[derive(Clone, Debug)]
pub struct Alerts<'a> {
    settings: &'a [Alert],
    rules: Vec<Rule>,
    /// The next evaluation of any of them.
    due: SimTime,
}

impl<'a> Alerts<'a> {
    /// Alerts before the run.
    pub fn new(settings: &'a [Alert]) -> Alerts<'a> {
        let rules = settings.iter().map(|alert| Rule {
            due: SimTime::ZERO + alert.every,
            samples: VecDeque::from([Sample::default()]),
            held_from: None,
            quiet_from: None,
            extreme: f64::NAN,
            open: None,
            record: AlertRecord::default(),
        });
        let mut alerts = Alerts { settings, rules: rules.collect(), due: SimTime::NEVER };
        alerts.find_due();
        alerts
    }

    /// The next evaluation of any of them.
    #[inline]
    pub const fn due(&self) -> SimTime {
        self.due
    }

    fn find_due(&mut self) {
        self.due = self.rules.iter().map(|rule| rule.due).min().unwrap_or(SimTime::NEVER);
    }

    /// Evaluates what is due by `now`, which is the next event or the end of the run: nothing happens before it. `seen`
    /// gives the counts and the queue of a class.
    pub fn evaluate(&mut self, now: SimTime, seen: impl Fn(usize) -> (Sample, usize)) {
        for (alert, rule) in self.settings.iter().zip(&mut self.rules) {
            if rule.due > now {
                continue;
            }
            let (sample, queue) = seen(alert.class);
            while rule.due <= now {
                rule.evaluate(alert, sample, queue);
                rule.due += alert.every;
            }
        }
        self.find_due();
    }

    /// What became of each at the end of the run.
    pub fn finish(self, horizon: SimTime) -> Vec<AlertRecord> {
        self.rules.into_iter().map(|rule| rule.finish(horizon)).collect()
    }
}

impl Rule {
    fn evaluate(&mut self, alert: &Alert, sample: Sample, queue: usize) {
        let at = self.due;
        let before = self.samples.front().copied().unwrap_or_default();
        let value = value(alert, &sample.since(&before), queue, at);
        self.samples.push_back(sample);
        if self.samples.len() as u64 > alert.over.as_nanos() / alert.every.as_nanos() {
            self.samples.pop_front();
        }
        let holds =
            value.is_some_and(|value| if alert.above { value > alert.threshold } else { value < alert.threshold });
        let hit = sample.hit(alert.of);
        if holds {
            self.quiet_from = None;
            let base = before.hit(alert.of);
            let began = *self.held_from.get_or_insert((at, base));
            let value = value.unwrap_or(f64::NAN);
            self.extreme = if alert.above { self.extreme.max(value) } else { self.extreme.min(value) };
            if self.open.is_none() && at.since(began.0) >= alert.holds_for {
                let hit_before = hit - began.1;
                self.open = Some(Firing {
                    held_from: began.0,
                    fired: at,
                    cleared: None,
                    hit_before,
                    hit: hit_before,
                    extreme: self.extreme,
                });
            }
        }
        if let (Some(open), Some((_, base))) = (&mut self.open, self.held_from) {
            open.hit = hit - base;
            open.extreme = self.extreme;
        }
        if !holds {
            let quiet_from = *self.quiet_from.get_or_insert(at);
            if self.open.is_none() {
                (self.held_from, self.extreme) = (None, f64::NAN);
            } else if at.since(quiet_from) >= alert.clears_after {
                (self.held_from, self.extreme) = (None, f64::NAN);
                self.close(Some(at), at);
            }
        }
    }

    fn close(&mut self, cleared: Option<SimTime>, end: SimTime) {
        let Some(open) = self.open.take() else { return };
        self.record.fired += 1;
        self.record.firing += end.since(open.fired);
        if self.record.firings.len() < MOST_FIRINGS {
            self.record.firings.push(Firing { cleared, ..open });
        }
    }

    fn finish(mut self, horizon: SimTime) -> AlertRecord {
        self.close(None, horizon);
        self.record
    }
}

/// What a rule sees at an evaluation; `None` where there is too little of it.
fn value(alert: &Alert, span: &Sample, queue: usize, at: SimTime) -> Option<f64> {
    match alert.of {
        Watched::Queue => Some(queue as f64),
        Watched::Requests => {
            // Near the beginning of the run the span is cut off.
            let span_length = alert.over.min(at.since(SimTime::ZERO));
            Some(span.requests as f64 / span_length.as_secs_f64())
        }
        of => {
            let (part, all) = span.part(of);
            (all >= alert.minimum).then(|| part as f64 / all as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(holds_for: u64, clears_after: u64) -> Alert {
        Alert {
            name: "live_429".into(),
            class: 0,
            of: Watched::TasksWith429,
            threshold: 0.02,
            above: true,
            over: SimDuration::from_secs(60),
            holds_for: SimDuration::from_secs(holds_for),
            clears_after: SimDuration::from_secs(clears_after),
            every: SimDuration::from_secs(30),
            minimum: 1,
        }
    }

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    /// Ten tasks arrive in each half minute; so many of them meet a 429.
    fn record(alert: &Alert, hit: &[u64]) -> AlertRecord {
        let settings = [alert.clone()];
        let mut alerts = Alerts::new(&settings);
        let mut sample = Sample::default();
        for (half, hit) in (1..).zip(hit) {
            sample.arrived += 10;
            sample.with_429 += hit;
            assert_eq!(alerts.due(), at(30 * half));
            alerts.evaluate(at(30 * half), |_| (sample, 0));
        }
        let end = at(30 * hit.len() as u64);
        alerts.finish(end).remove(0)
    }

    #[test]
    fn an_alert_fires_when_its_rule_has_held_for_long_enough() {
        // By hand: 1 of 20 in the span that ends at 60 s, and so on until the last hit has left the span at 180 s. It has
        // held for a minute at 120 s, when 1 + 1 + 2 tasks have been hit; 2 more are until it clears.
        let found = record(&alert(60, 0), &[0, 1, 1, 2, 2, 0, 0, 0]);
        let firing =
            Firing { held_from: at(60), fired: at(120), cleared: Some(at(210)), hit_before: 4, hit: 6, extreme: 0.2 };
        assert_eq!(found.firings, [firing]);
        assert_eq!((found.fired, found.firing), (1, SimDuration::from_secs(90)));
    }

    #[test]
    fn a_rule_that_stops_in_between_begins_anew() {
        let found = record(&alert(90, 0), &[1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(found, AlertRecord::default());
        // A short lull does not clear an alert that waits for a longer one; the end of the run leaves it open.
        let found = record(&alert(0, 60), &[1, 0, 0, 1, 0, 0, 0]);
        assert_eq!(found.fired, 1);
        assert_eq!((found.firings[0].fired, found.firings[0].cleared), (at(30), None));
        assert_eq!((found.firings[0].hit_before, found.firings[0].hit), (1, 2));
    }

    #[test]
    fn what_is_too_little_says_nothing_and_below_is_the_other_way_round() {
        let many = Alert { minimum: 21, ..alert(0, 0) };
        assert_eq!(record(&many, &[9, 9, 9]).fired, 0);
        let below = Alert { above: false, threshold: 0.02, ..alert(0, 0) };
        let found = record(&below, &[1, 1, 0, 0]);
        assert_eq!((found.firings[0].fired, found.firings[0].extreme), (at(120), 0.0));
    }

    #[test]
    fn several_evaluations_without_an_event_between_them_see_the_same_counts() {
        let settings = [alert(0, 0)];
        let mut alerts = Alerts::new(&settings);
        let sample = Sample { arrived: 10, with_429: 10, ..Sample::default() };
        // The next event comes at 400 s: the span that ends at 30 s holds the ten, the one that ends at 120 s none.
        alerts.evaluate(at(400), |_| (sample, 0));
        let found = alerts.finish(at(400)).remove(0);
        assert_eq!((found.firings[0].fired, found.firings[0].cleared), (at(30), Some(at(90))));
    }
}
