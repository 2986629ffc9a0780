//! The log of every simulated request, one JSON object a line, so that questions of an incident can be asked of it:
//! which limit, which model, which attempt sent the 429s?
//!
//! A line is written when its request ends; its fields are those that a careful team logs (status, error type, hint,
//! attempt, what was waited before, tokens), with the simulator's own word on who answered.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::policy::answer::{Answer, Outcome};
use crate::provider::AnsweredBy;
use crate::scenario::Scenario;
use crate::sim::{Fact, Observer};
use crate::units::SimTime;

/// An observer that writes a line for every request.
pub struct RequestLog<'a, W> {
    scenario: &'a Scenario,
    to: W,
    /// For each task in flight, when its last request ended.
    ended: BTreeMap<(u16, u32), SimTime>,
    lines: u64,
    failed: Option<io::Error>,
}

impl<'a, W: Write> RequestLog<'a, W> {
    /// A log of a run of this scenario.
    pub const fn new(scenario: &'a Scenario, to: W) -> Self {
        RequestLog { scenario, to, ended: BTreeMap::new(), lines: 0, failed: None }
    }

    /// How many lines were written, or why not all were.
    pub fn finish(mut self) -> io::Result<u64> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush().map(|()| self.lines),
        }
    }

    fn write(&mut self, line: &Value) -> bool {
        match writeln!(self.to, "{line}") {
            Ok(()) => {
                self.lines += 1;
                true
            }
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}

impl<W: Write> Observer for RequestLog<'_, W> {
    fn see(&mut self, fact: &Fact) -> bool {
        match fact {
            Fact::TaskArrived { .. } => true,
            Fact::TaskEnded { class, task, .. } => {
                self.ended.remove(&(*class, *task));
                true
            }
            Fact::RequestEnded { class, task, at, sent, .. } => {
                let before = self.ended.insert((*class, *task), *at);
                let waited = before.map_or(0.0, |before| (*sent - before).as_secs_f64());
                let line = self.line(fact, waited);
                self.write(&line)
            }
        }
    }
}

impl<W> RequestLog<'_, W> {
    fn line(&self, fact: &Fact, waited: f64) -> Value {
        let Fact::RequestEnded {
            class,
            task,
            run,
            step,
            call,
            ordinal,
            sent,
            at,
            answer,
            by,
            input_tokens,
            output_tokens,
        } = fact
        else {
            return Value::Null;
        };
        let traffic = &self.scenario.traffic[*class as usize];
        let step_settings = &traffic.steps[*step as usize];
        let delivered = answer.is_delivered();
        json!({
            "time_s": sent.as_secs_f64(),
            "duration_s": (*at - *sent).as_secs_f64(),
            "class": traffic.name,
            "task": task,
            "run": run,
            "step": step_settings.name,
            "call": call,
            "attempt": ordinal,
            "request_id": format!("{}-{task}-{}-{ordinal}", traffic.name, step_settings.name),
            "model": step_settings.model,
            "max_tokens": step_settings.max_tokens,
            "status": (answer.status > 0).then_some(answer.status),
            "outcome": answer.outcome.word(),
            "error_type": error_type(answer),
            "message": self.message(answer, *by),
            "answered_by": self.answered_by(*by, answer),
            "retry_after_s": answer.hint.wait().map(super::super::units::time::SimDuration::as_secs_f64),
            "waited_before_s": waited,
            "input_tokens_estimate": input_tokens,
            "input_tokens": delivered.then_some(input_tokens),
            "output_tokens": delivered.then_some(output_tokens),
        })
    }

    fn answered_by(&self, by: AnsweredBy, answer: &Answer) -> Value {
        let provider = &self.scenario.provider;
        match (answer.outcome, by) {
            (Outcome::TimedOut, _) => json!("client:timeout"),
            (_, AnsweredBy::Fault(fault)) => json!(format!("fault:{}", provider.faults[fault].name)),
            (_, AnsweredBy::Limit(limit)) => json!(format!("limit:{}", provider.limits[limit].name)),
            (_, AnsweredBy::Service) => json!("service"),
        }
    }

    fn message(&self, answer: &Answer, by: AnsweredBy) -> Option<String> {
        if answer.is_delivered() {
            return None;
        }
        Some(match (answer.outcome, by) {
            (Outcome::Refused, AnsweredBy::Limit(limit)) => {
                let limit = &self.scenario.provider.limits[limit];
                format!("{} exceeded: {} per {}", limit.name, limit.bucket.amount(), limit.bucket.per())
            }
            (Outcome::Refused, _) => format!("status {}", answer.status),
            (outcome, _) => outcome.word().replace('_', " "),
        })
    }
}

/// The type that a provider names in an error's body.
fn error_type(answer: &Answer) -> Option<&'static str> {
    match (answer.outcome, answer.status) {
        (Outcome::Delivered, _) => None,
        (Outcome::Refused, 429) => Some("rate_limit_error"),
        (Outcome::Refused, 529) => Some("overloaded_error"),
        (Outcome::Refused, 401) => Some("authentication_error"),
        (Outcome::Refused, 403) => Some("permission_error"),
        (Outcome::Refused, 404) => Some("not_found_error"),
        (Outcome::Refused, 413) => Some("request_too_large"),
        (Outcome::Refused, 504) => Some("timeout_error"),
        (Outcome::Refused, 400..=499) => Some("invalid_request_error"),
        (Outcome::Refused, _) => Some("api_error"),
        (outcome, _) => Some(outcome.word()),
    }
}
