//! The client-side rate of botocore's `adaptive` retry mode, event by event: when each request went, and the rate, the
//! measured rate and the tokens after each response.

use super::breaker::mechanisms;
use super::case::instant;
use super::{Case, Library};
use retrycast::policy::circuit_breaker::Gate;
use retrycast::policy::{Answer, CubicRate, Mechanism};
use retrycast::units::SimTime;
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 1] =
    [Library { file: "botocore-adaptive-1.44.8", most_left_out: 0, held: botocore }];

fn rate(text: &str) -> Result<CubicRate, String> {
    match mechanisms(text)?.pop() {
        Some(Mechanism::Rate(rate)) => Ok(rate),
        other => Err(format!("{other:?}")),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a case of another library may be out of scope")]
fn botocore(case: &Case) -> Result<Vec<String>, &'static str> {
    let settings = match rate("rate = { algorithm = \"cubic\", of = [429] }") {
        Ok(settings) => settings,
        Err(what) => return Ok(vec![what]),
    };
    let (mut state, mut clock, mut differences) = (settings.fresh(), SimTime::ZERO, Vec::new());
    for (n, (event, measured)) in case.events.iter().zip(&case.observed).enumerate() {
        // A caller that was put to sleep has moved the clock.
        clock = clock.max(instant(event));
        let mut differs = |what: &str, found: f64| {
            let expected = measured[what].as_f64().unwrap_or(f64::NAN);
            // The driver's clock moves by a thousandth of a microsecond at least, and tokens with it.
            if (found - expected).abs().partial_cmp(&1e-6) != Some(std::cmp::Ordering::Less) {
                differences.push(format!("event {}: {what} {found}, measured {expected}", n + 1));
            }
        };
        match event["op"].as_str() {
            Some("send") => {
                while let Gate::Wait(until) = settings.enter(&mut state, clock) {
                    clock = until;
                }
                differs("t", clock.as_secs_f64());
                let is_on = state.rate().is_some();
                if measured["enabled"] != Value::Bool(is_on) {
                    differences.push(format!("event {}: {is_on}, measured {measured}", n + 1));
                }
            }
            op => {
                let answer = if op == Some("ok") { Answer::DELIVERED } else { Answer::refused(429) };
                settings.passed_back(&mut state, &answer, clock);
                differs("measured", state.measured());
                differs("rate", state.inflow());
                differs("capacity", state.tokens());
            }
        }
    }
    if case.events.len() != case.observed.len() {
        differences.push(format!("{} events, {} seen", case.events.len(), case.observed.len()));
    }
    Ok(differences)
}
