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
use crate::units::{SimDuration, SimTime};

/// An observer that writes a line for every request.
pub struct RequestLog<'a, W> {
    scenario: &'a Scenario,
    to: W,
    /// For each task in flight, its last request.
    last: BTreeMap<(u16, u32), Last>,
    lines: u64,
    failed: Option<io::Error>,
}

/// The last request of a task.
#[derive(Clone, Copy)]
struct Last {
    /// When it ended.
    ended: SimTime,
    /// The run, the step, the call and the model that it belonged to.
    call: (u32, u8, u32, u8),
    /// Which request of the call it was, from 1.
    place: u64,
}

impl<'a, W: Write> RequestLog<'a, W> {
    /// A log of a run of this scenario.
    pub const fn new(scenario: &'a Scenario, to: W) -> Self {
        RequestLog { scenario, to, last: BTreeMap::new(), lines: 0, failed: None }
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
                self.last.remove(&(*class, *task));
                true
            }
            Fact::RequestEnded { class, task, at, sent, run, step, call, model, .. } => {
                let call = (*run, *step, *call, *model);
                let before = self.last.get(&(*class, *task)).copied();
                let waited = before.map_or(0.0, |before| (*sent - before.ended).as_secs_f64());
                let place = before.filter(|before| before.call == call).map_or(1, |before| before.place + 1);
                self.last.insert((*class, *task), Last { ended: *at, call, place });
                let attempt = self.innermost_alone(*class, *step).then_some(place);
                let line = self.line(fact, waited, attempt);
                self.write(&line)
            }
        }
    }
}

impl<W> RequestLog<'_, W> {
    /// Whether one layer alone repeats requests within a call, so that its attempts are the call's requests to one
    /// model.
    fn innermost_alone(&self, class: u16, step: u8) -> bool {
        let client = self.scenario.client_at(&self.scenario.traffic[class as usize], step as usize);
        let layers = client.client_elements().iter();
        let layers = layers.filter(|element| element.role.policy().is_some() && !element.role.is_fallback());
        layers.count() == 1
    }

    fn line(&self, fact: &Fact, waited: f64, attempt: Option<u64>) -> Value {
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
            model,
            input_tokens,
            output_tokens,
            is_effect,
        } = fact
        else {
            return Value::Null;
        };
        let traffic = &self.scenario.traffic[*class as usize];
        let step_settings = &traffic.steps[*step as usize];
        let delivered = answer.is_delivered();
        // Copies of a message count their requests by themselves.
        let copy = if traffic.queueing.delivery.is_some() { format!("-r{run}") } else { String::new() };
        let mut line = json!({
            "time_s": sent.as_secs_f64(),
            "duration_s": (*at - *sent).as_secs_f64(),
            "class": traffic.name,
            "task": task,
            "run": run,
            "step": step_settings.name,
            "call": call,
            "ordinal": ordinal,
            "request_id": format!("{}-{task}{copy}-{}-{ordinal}", traffic.name, step_settings.name),
            "model": self.scenario.provider.models.get(*model as usize).map(|model| &model.name),
            "max_tokens": step_settings.max_tokens,
            "status": (answer.status > 0).then_some(answer.status),
            "outcome": answer.outcome.word(),
            "error_type": error_type(answer),
            "message": self.message(answer, *by),
            "answered_by": self.answered_by(*by, answer),
            "retry_after_s": answer.hint.wait().map(SimDuration::as_secs_f64),
            "waited_before_s": waited,
            "input_tokens_estimate": input_tokens,
            "input_tokens": delivered.then_some(input_tokens),
            "output_tokens": delivered.then_some(output_tokens),
            "is_effect": is_effect,
        });
        if let Some(attempt) = attempt {
            line["attempt"] = attempt.into();
        }
        line
    }

    fn answered_by(&self, by: AnsweredBy, answer: &Answer) -> Value {
        let provider = &self.scenario.provider;
        match (answer.outcome, by) {
            (Outcome::TimedOut | Outcome::ConnectTimedOut | Outcome::WriteTimedOut, _)
            | (Outcome::Silent, AnsweredBy::Service) => json!("client:timeout"),
            (Outcome::Cancelled, _) => json!("client:cancelled"),
            (_, AnsweredBy::Nobody) => Value::Null,
            (_, AnsweredBy::Slots(slots)) => json!(format!("limit:{}", provider.slots[slots].name)),
            (_, AnsweredBy::Fault(fault)) => json!(format!("fault:{}", provider.faults[fault].name)),
            (_, AnsweredBy::Limit(limit)) => json!(format!("limit:{}", provider.limits[limit].name)),
            (_, AnsweredBy::Service) => json!("service"),
            (_, AnsweredBy::Window) => json!("context_window"),
            (_, AnsweredBy::Full) => json!("capacity"),
        }
    }

    fn message(&self, answer: &Answer, by: AnsweredBy) -> Option<String> {
        if answer.is_delivered() {
            return None;
        }
        Some(match (answer.outcome, by) {
            (Outcome::Refused, AnsweredBy::Limit(limit)) => {
                let limit = &self.scenario.provider.limits[limit];
                match limit.meter.per() {
                    Some(per) => format!("{} exceeded: {} per {per}", limit.name, limit.amount()),
                    None => format!("{} exceeded: {} at once", limit.name, limit.amount()),
                }
            }
            (Outcome::Refused, AnsweredBy::Slots(slots)) => {
                let slots = &self.scenario.provider.slots[slots];
                format!("{} exceeded: {} in flight", slots.name, slots.amount)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::incident;
    use crate::random::Seed;
    use crate::scenario::{Source, load};
    use crate::sim::simulate_observed;

    fn lines(fixes: bool, class: &str) -> Vec<Value> {
        let mut scenario = incident(fixes);
        scenario.horizon = SimTime::from_secs_f64(1_200.0);
        lines_of(&scenario).into_iter().filter(|line| line["class"] == class).collect()
    }

    fn lines_of(scenario: &Scenario) -> Vec<Value> {
        let mut text = Vec::new();
        let mut log = RequestLog::new(scenario, &mut text);
        simulate_observed(scenario, Seed(1), &mut log);
        log.finish().unwrap();
        let all = String::from_utf8(text).unwrap();
        all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect()
    }

    #[test]
    fn no_two_requests_have_one_name_where_messages_are_handed_out_again() {
        // By hand: a job of 10 s is handed out again after 3 s to a worker that has time, twice before it is done.
        let text = r#"
            horizon = "30s"
            [clients.plain]
            layers = []
            [workers.pool]
            count = 3
            [traffic.job]
            kind = "jobs"
            client = "plain"
            workers = "pool"
            queue = { acknowledge = "late", visibility = "3s", look_every = "1s" }
            arrivals = { at = ["0s"] }
            steps = [{ name = "ask", input_tokens = 1, latency = "10s" }]
        "#;
        let scenario = load(&Source::new("log.toml", text)).unwrap();
        let lines = lines_of(&scenario);
        let mut names: Vec<&str> = lines.iter().filter_map(|line| line["request_id"].as_str()).collect();
        assert!(names.len() >= 3 && names.contains(&"job-0-r1-ask-1"), "{names:?}");
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn an_attempt_is_the_innermost_layers_and_an_ordinal_the_tasks() {
        // By hand: an SDK of 3 attempts inside a decorator: attempts begin again with each call, ordinals go on.
        let lines = lines(false, "report");
        assert!(lines.iter().all(|line| (1..=3).contains(&line["attempt"].as_u64().unwrap())));
        let task = &lines.iter().find(|line| line["ordinal"] == 5).unwrap()["task"];
        let of_task: Vec<&Value> = lines.iter().filter(|line| &line["task"] == task).collect();
        let ordinals: Vec<u64> = of_task.iter().filter_map(|line| line["ordinal"].as_u64()).collect();
        assert_eq!(ordinals, (1..=ordinals.len() as u64).collect::<Vec<u64>>());
        for pair in of_task.windows(2) {
            let same_call = ["call", "run", "step"].iter().all(|key| pair[0][*key] == pair[1][*key]);
            let expected = if same_call { pair[0]["attempt"].as_u64().unwrap() + 1 } else { 1 };
            assert_eq!(pair[1]["attempt"], expected);
        }
    }
}
