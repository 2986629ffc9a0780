//! Plays the calls of a case to a client whose guards make them wait: a scenario with a worker for each of them is run,
//! and its facts say when each call starts, or that it never does.

use super::case::{Case, instant};
use crate::stage::facts;
use retrycast::scenario;
use retrycast::sim::Fact;
use retrycast::units::SimTime;
use serde_json::Value;

/// When a call of the case started; `None` for one that was refused or never had its turn.
pub(crate) type Start = Option<f64>;

/// When each call starts behind these guards, the innermost first; `horizon` in seconds ends the run.
pub(crate) fn starts(case: &Case, guards: &[String], horizon: f64) -> Result<Vec<Start>, String> {
    let text = text(case, guards, horizon);
    let scenario = scenario::load(&scenario::Source::new("case.toml", &text));
    let scenario = scenario.map_err(|refusal| format!("{text}\n{refusal:#?}"))?;
    let groups = groups(case);
    let mut starts = vec![None; case.events.len()];
    for fact in facts(&scenario, 1) {
        if let Fact::RequestEnded { class, task, sent, .. } = fact {
            let call = groups[usize::from(class)].calls[task as usize];
            starts[call] = Some(sent.since(SimTime::ZERO).as_secs_f64());
        }
    }
    Ok(starts)
}

/// Calls in a row of the same length and size: a class of jobs.
struct Group {
    takes: f64,
    cost: u64,
    calls: Vec<usize>,
}

fn groups(case: &Case) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (call, event) in case.events.iter().enumerate() {
        let cost = ["cost", "tokens"].iter().find_map(|key| event[key].as_u64()).unwrap_or(1);
        let takes = match &event["takes"] {
            Value::Array(each) => each.get(call).and_then(Value::as_f64),
            one => one.as_f64(),
        };
        // What takes no time takes the least that a service can.
        let takes = takes.unwrap_or(1e-6);
        match groups.last_mut() {
            Some(group) if group.takes == takes && group.cost == cost => group.calls.push(call),
            _ => groups.push(Group { takes, cost, calls: vec![call] }),
        }
    }
    groups
}

fn text(case: &Case, guards: &[String], horizon: f64) -> String {
    let tables: Vec<String> = guards.iter().enumerate().map(|(n, guard)| format!("[guards.g{n}]\n{guard}\n")).collect();
    let layers: Vec<String> = (0..guards.len()).map(|n| format!("{{ guard = \"g{n}\" }}")).collect();
    let class = |(n, group): (usize, Group)| {
        let at = |call: &usize| format!("\"{}s\"", instant(&case.events[*call]).as_secs_f64());
        let at: Vec<String> = group.calls.iter().map(at).collect();
        let Group { takes, cost, calls } = group;
        format!(
            "[traffic.t{n:02}]\nkind = \"jobs\"\nworkers = {}\nclient = \"c\"\narrivals = {{ at = [{}] }}\n\
             steps = [{{ name = \"s\", input_tokens = {cost}, latency = \"{takes:.6}s\" }}]\n",
            calls.len(),
            at.join(", ")
        )
    };
    let classes: String = groups(case).into_iter().enumerate().map(class).collect();
    format!("horizon = \"{horizon}s\"\n{}[clients.c]\nlayers = [{}]\n{classes}", tables.concat(), layers.join(", "))
}

/// The differences between measured starts and these, which may be so many seconds apart.
pub(crate) fn differences(case: &Case, starts: Result<Vec<Start>, String>, apart: f64) -> Vec<String> {
    let starts = match starts {
        Ok(starts) => starts,
        Err(what) => return vec![what],
    };
    let said = |measured: &Value| ["started_at", "admitted_at"].iter().find_map(|key| measured[key].as_f64());
    let wrong = |(n, (start, measured)): (usize, (&Start, &Value))| {
        let same = match (start, said(measured)) {
            (Some(start), Some(said)) => (start - said).abs() <= apart,
            (start, said) => start.is_none() && said.is_none(),
        };
        (!same).then(|| format!("call {n} starts at {start:?}, measured {measured}"))
    };
    assert_eq!(starts.len(), case.observed.len(), "{}", case.id);
    starts.iter().zip(&case.observed).enumerate().filter_map(wrong).collect()
}
