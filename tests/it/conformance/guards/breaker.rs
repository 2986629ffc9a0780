//! Plays the events of a case to a breaker, with a semaphore inside of it where the library bounds calls at a time.

use super::case::{Case, instant, seconds};
use retrycast::policy::circuit_breaker::{Gate, Phase, Recorded};
use retrycast::policy::{Answer, BreakerState, CircuitBreaker, Mechanism, Outcome, Semaphore, SemaphoreState};
use retrycast::scenario;
use retrycast::units::{SimDuration, SimTime};
use serde_json::Value;

/// A breaker of a scenario, its semaphore, and what became of every call.
struct Stage {
    breaker: CircuitBreaker,
    state: BreakerState,
    semaphore: Option<(Semaphore, SemaphoreState)>,
    calls: Vec<Call>,
    /// How long a call may take.
    timeout: Option<SimDuration>,
}

/// One call that came.
struct Call {
    id: String,
    /// How it ends as soon as it is let through; `None` where that is decided later.
    ends: Option<bool>,
    /// Whether it is out.
    is_out: bool,
    of_a_probe: bool,
    waits: bool,
    began: SimTime,
    /// What its caller saw in the end.
    result: Option<&'static str>,
}

/// The differences between what was measured and what the guards of this text do: a `breaker`, and a `semaphore`.
pub(crate) fn differences(case: &Case, guards: &str, timeout_s: Option<f64>) -> Vec<String> {
    match stage(guards, timeout_s) {
        Ok(stage) => played(case, stage),
        Err(what) => vec![what],
    }
}

/// The guards of a scenario, each a line such as `semaphore = { permits = 1 }`.
pub(crate) fn mechanisms(guards: &str) -> Result<Vec<Mechanism>, String> {
    let tables: Vec<String> = guards.lines().enumerate().map(|(n, line)| format!("[guards.g{n}]\n{line}\n")).collect();
    let names: Vec<String> = (0..guards.lines().count()).map(|n| format!("{{ guard = \"g{n}\" }}")).collect();
    let text = format!(
        "horizon = \"1h\"\n{}[clients.c]\nlayers = [{}]\n[traffic.t]\nkind = \"jobs\"\nworkers = 1\n\
         client = \"c\"\narrivals = {{ at = [\"0s\"] }}\n\
         steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n",
        tables.concat(),
        names.join(", ")
    );
    let scenario = scenario::load(&scenario::Source::new("case.toml", &text));
    let scenario = scenario.map_err(|refusal| format!("{text}\n{refusal:#?}"))?;
    Ok(scenario.guards.into_iter().map(|guard| guard.mechanism).collect())
}

fn stage(guards: &str, timeout_s: Option<f64>) -> Result<Stage, String> {
    let (mut breaker, mut semaphore) = (None, None);
    for mechanism in mechanisms(guards)? {
        match mechanism {
            Mechanism::Breaker(settings) => breaker = Some(settings),
            Mechanism::Semaphore(settings) => semaphore = Some((settings, SemaphoreState::default())),
            other => return Err(format!("{other:?}")),
        }
    }
    let breaker = breaker.ok_or("no breaker")?;
    let state = breaker.closed();
    Ok(Stage { breaker, state, semaphore, calls: Vec::new(), timeout: timeout_s.map(seconds) })
}

impl Stage {
    /// A call comes; says whether it is let through at once.
    fn comes(&mut self, id: &str, ends: Option<bool>, now: SimTime) -> bool {
        self.calls.push(Call {
            id: id.to_owned(),
            ends,
            is_out: false,
            of_a_probe: false,
            waits: false,
            began: now,
            result: None,
        });
        self.asks(self.calls.len() - 1, now)
    }

    fn asks(&mut self, n: usize, now: SimTime) -> bool {
        let gate = self.breaker.enter(&mut self.state, now);
        let call = &mut self.calls[n];
        call.of_a_probe = matches!(self.state.phase(), Phase::HalfOpen { .. });
        call.waits = gate == Gate::Park;
        match gate {
            Gate::Pass => {}
            Gate::Refuse(Outcome::ShortCircuited) => {
                call.result = Some("breaker");
                return false;
            }
            Gate::Park => return false,
            other => panic!("a breaker said {other:?}"),
        }
        if let Some((semaphore, state)) = &mut self.semaphore
            && semaphore.enter(state, 0, now) != Gate::Pass
        {
            call.result = Some("breaker");
            self.breaker.probe_was_not_sent(&mut self.state);
            return false;
        }
        call.is_out = true;
        if let Some(ok) = call.ends {
            self.ends(n, ok, now);
        }
        true
    }

    /// A call that is out ends.
    fn ends(&mut self, n: usize, ok: bool, now: SimTime) {
        let call = &mut self.calls[n];
        call.is_out = false;
        let answer = if ok { Answer::DELIVERED } else { Answer::refused(500) };
        let recorded = self.breaker.record(&mut self.state, &answer, call.of_a_probe, now);
        let hidden = recorded.opens && self.breaker.hides_the_last_failure;
        call.result = Some(if hidden {
            "breaker"
        } else if ok {
            "ok"
        } else {
            "fail"
        });
        if let Some((semaphore, state)) = &mut self.semaphore {
            semaphore.leave(state);
        }
        self.wake(recorded, now);
    }

    /// Who waited for the probes asks again.
    fn wake(&mut self, recorded: Recorded, now: SimTime) {
        if recorded.ends_half_open {
            let waiting: Vec<usize> = (0..self.calls.len()).filter(|n| self.calls[*n].waits).collect();
            for n in waiting {
                self.asks(n, now);
            }
        }
    }

    /// Calls that have taken too long until now end in a timeout.
    fn time_out(&mut self, now: SimTime) {
        let Some(timeout) = self.timeout else { return };
        for n in 0..self.calls.len() {
            let call = &self.calls[n];
            if call.is_out && call.began + timeout <= now {
                self.ends(n, false, call.began + timeout);
            }
        }
    }

    fn phase(&self) -> &'static str {
        match self.state.phase() {
            Phase::Closed => "closed",
            Phase::Open(_) => "open",
            Phase::HalfOpen { .. } => "half_open",
        }
    }
}

/// The libraries' words for a phase.
fn same_phase(measured: &str) -> &str {
    match measured {
        "opened" => "open",
        "half-open" | "half-opened" => "half_open",
        other => other,
    }
}

/// The libraries' words for what a caller sees.
fn same_result(measured: &str) -> &str {
    match measured {
        "Boom" => "fail",
        "CircuitBreakerError" | "OpenedState" => "breaker",
        other if other.starts_with("rejected:") => "breaker",
        other => other,
    }
}

fn played(case: &Case, mut stage: Stage) -> Vec<String> {
    let mut differences = Vec::new();
    if case.events.len() != case.observed.len() {
        return vec![format!("{} events, {} observations", case.events.len(), case.observed.len())];
    }
    let mut asked = Vec::new();
    for (n, (event, measured)) in case.events.iter().zip(&case.observed).enumerate() {
        let (now, id) = (instant(event), event["id"].as_str().unwrap_or_default());
        stage.time_out(now);
        let mut admitted = None;
        let op = event["op"].as_str().unwrap_or_default();
        match op.trim_start_matches("try_") {
            "ok" | "fail" | "pending" => {
                let ends = (!op.ends_with("pending")).then(|| op.ends_with("ok"));
                asked.push((stage.calls.len(), measured));
                admitted = Some(stage.comes(id, ends, now));
            }
            "settle" => {
                let of = stage.calls.iter().position(|call| call.id == id).expect("a call of this name");
                stage.ends(of, event["ok"] == Value::Bool(true), now);
            }
            "report_ok" | "report_fail" => {
                let answer = if op.ends_with("ok") { Answer::DELIVERED } else { Answer::refused(500) };
                let recorded = stage.breaker.record(&mut stage.state, &answer, false, now);
                stage.wake(recorded, now);
            }
            other => differences.push(format!("no event is called {other}")),
        }
        let mut same = |what: &str, found: &dyn std::fmt::Display, is: bool| {
            if !is {
                differences.push(format!("event {}, {event}: {what} {found}, measured {}", n + 1, measured[what]));
            }
        };
        if let Some(admitted) = admitted {
            same("admitted", &admitted, measured["admitted"] == Value::Bool(admitted));
        }
        let phase = stage.phase();
        same("state", &phase, measured["state"].as_str().map(same_phase) == Some(phase));
        if let Some(count) = measured["count"].as_u64() {
            let in_a_row = stage.state.seen().in_a_row();
            same("count", &in_a_row, u64::from(in_a_row) == count);
        }
    }
    stage.time_out(SimTime::NEVER);
    for (call, measured) in asked {
        let result = stage.calls[call].result;
        let is_seen = measured["result"].as_str().map(same_result);
        if is_seen.is_some() && is_seen != result {
            differences.push(format!("call {}: {result:?}, measured {is_seen:?}", call + 1));
        }
    }
    differences
}
