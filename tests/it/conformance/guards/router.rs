//! The router of `litellm`: its retries, its fallbacks, its picks and its cooldowns. The scenario is run, call by call; each
//! deployment is a model.
//!
//! Which deployment is picked is chance in both. What was measured is one draw, and so is the run of one seed: among the
//! first seeds there has to be one in which every call asks as many of each deployment as it did.

use super::{Case, Library};
use crate::stage::facts;
use retrycast::scenario::{self, Scenario};
use retrycast::sim::{Fact, Fate};
use retrycast::units::SimTime;
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 1] =
    [Library { file: "litellm-router-1.110.2", most_left_out: 0, held: |case| Ok(router(case)) }];

/// How far its waits spread.
const JITTER_S: f64 = 0.75;

/// How many seeds are looked at where deployments are picked by chance. The rarest of the measured draws is ten picks of
/// one of two, one in 1,024: not to meet it among so many has a chance of 0.03 %.
const SEEDS: u64 = 8_192;

fn router(case: &Case) -> Vec<String> {
    unlike(case).unwrap_or_else(|what| vec![what])
}

/// What differs in the run of the seed that is most like what was measured.
fn unlike(case: &Case) -> Result<Vec<String>, String> {
    let models = case.settings["deployments"].as_array().map_or(0, Vec::len);
    let text = text(case, models);
    let scenario = scenario::load(&scenario::Source::new("case.toml", &text));
    let scenario = scenario.map_err(|refusal| format!("{text}\n{refusal:#?}"))?;
    let seeds = if picks(case) > 1 { SEEDS } else { 1 };
    let mut least: Option<Vec<String>> = None;
    for seed in 1..=seeds {
        let calls = played(&scenario, seed, case, models);
        let differences: Vec<String> =
            calls.iter().zip(&case.observed).filter_map(|(call, measured)| differs(call, measured)).collect();
        if differences.is_empty() {
            return Ok(differences);
        }
        if least.as_ref().is_none_or(|least| differences.len() < least.len()) {
            least = Some(differences);
        }
    }
    Ok(least.unwrap_or_default())
}

/// Among how many deployments each attempt picks: those that fall back to one another have a name each.
fn picks(case: &Case) -> usize {
    let deployments = case.settings["deployments"].as_array().map_or(0, Vec::len);
    if case.settings.contains_key("fallbacks") { 1 } else { deployments }
}

/// What became of a call: when each model was asked, and whether it was answered in the end.
#[derive(Clone, Debug, Default)]
struct Call {
    asked: Vec<Vec<f64>>,
    ok: bool,
}

fn text(case: &Case, models: usize) -> String {
    let number = |key: &str| case.settings.get(key).and_then(Value::as_f64);
    let attempts = number("num_retries").unwrap_or(2.0) + 1.0;
    let backoff = number("retry_after").map_or_else(
        || "{ exponential = { initial = \"500ms\", cap = \"8s\" } }".to_owned(),
        |least| format!("{{ fixed = \"{least}s\" }}"),
    );
    let answers = &case.events[0]["answers_by_deployment"];
    let fault = |model: usize| {
        let answer = &answers[model][0];
        let hint = answer["headers"]["retry-after"].as_str().map(|after| format!(", retry_after = \"{after}s\""));
        match answer["status"].as_u64() {
            Some(200) | None => format!("[provider.models.m{model}]\n"),
            Some(status) => format!(
                "[provider.models.m{model}]\n[provider.faults.f{model}]\nmodels = [\"m{model}\"]\n\
                 respond = {{ status = {status}, after = \"1ms\"{} }}\n",
                hint.unwrap_or_default()
            ),
        }
    };
    let faults: String = (0..models).map(fault).collect();
    let others: Vec<String> = (picks(case)..models).map(|model| format!("\"m{model}\"")).collect();
    let fallback = if others.is_empty() {
        String::new()
    } else {
        format!(", {{ name = \"fallback\", fallback = {{ to = [{}] }} }}", others.join(", "))
    };
    let to: Vec<String> = (0..picks(case)).map(|model| format!("\"m{model}\"")).collect();
    let several = to.len() > 1;
    // A key that is refused takes an only deployment out too; what is busy or broken does not.
    let (at_once, allowed) = match case.settings.get("disable_cooldowns") {
        Some(&Value::Bool(true)) => ("[]", None),
        _ if several => ("[401, 404, 408, 429]", Some(number("allowed_fails").unwrap_or(4.0))),
        _ => ("[401, 404]", None),
    };
    let allowed = allowed.unwrap_or(1_000_000.0);
    // Where there is another deployment it is asked after these too.
    let elsewhere = if several { ", 401, 404" } else { "" };
    let cooldown = number("cooldown_time").unwrap_or(5.0);
    let pauses = &case.events[0]["pause_before_call"];
    let mut now = 0.0;
    let at = (0..case.events.len()).map(|call| {
        now += pauses[call.to_string()].as_f64().unwrap_or_default() + 0.1;
        format!("\"{}ms\"", (now * 1000.0_f64).round())
    });
    let at: Vec<String> = at.collect();
    format!(
        "horizon = \"1000s\"\n{faults}[guards.router]\n\
         deployments = {{ to = [{}], at_once = {at_once}, allowed_failures = {allowed}, \
         cooldown = \"{cooldown}s\" }}\n\
         [clients.c]\nlayers = [{{ guard = \"router\" }}, {{ name = \"retries\", max_attempts = {attempts}, \
         retry_on = [408, 409, 429, \"5xx\"{elsewhere}], backoff = {backoff}, jitter = {{ add = \"{JITTER_S}s\" }}, \
         hint = \"obey\" }}{fallback}]\n\
         [traffic.t]\nkind = \"jobs\"\nworkers = {}\nclient = \"c\"\narrivals = {{ at = [{}] }}\n\
         steps = [{{ name = \"s\", model = \"m0\", input_tokens = 1, latency = \"1ms\" }}]\n",
        to.join(", "),
        case.events.len(),
        at.join(", "),
    )
}

fn played(scenario: &Scenario, seed: u64, case: &Case, models: usize) -> Vec<Call> {
    let mut calls = vec![Call { asked: vec![Vec::new(); models], ok: false }; case.events.len()];
    for fact in facts(scenario, seed) {
        match fact {
            Fact::RequestEnded { task, model, sent, .. } => {
                calls[task as usize].asked[usize::from(model)].push(sent.since(SimTime::ZERO).as_secs_f64());
            }
            Fact::TaskEnded { task, fate, .. } => calls[task as usize].ok = fate == Fate::Delivered,
            Fact::TaskArrived { .. } => {}
        }
    }
    calls
}

/// What differs between a call and the measured one. The router waits once more before it gives up or falls back, which
/// is not in a scenario and not compared.
fn differs(call: &Call, measured: &Value) -> Option<String> {
    let requests = measured["requests"].as_array()?;
    let mut waits = measured["waits"].as_array()?.iter();
    let count = |requests: &[Value]| requests.iter().filter_map(Value::as_u64).collect::<Vec<_>>();
    let asked: Vec<u64> = call.asked.iter().map(|asked| asked.len() as u64).collect();
    let mut same = call.ok == (measured["outcome"] == "ok");
    same &= if asked.len() == requests.len() {
        asked == count(requests)
    } else {
        asked.iter().sum::<u64>() == count(requests).iter().sum::<u64>()
    };
    let waited = waits.len() > 0;
    // Where it did not wait, all requests of a call go out at once.
    let sent = || call.asked.iter().flatten().copied();
    same &= waited || sent().fold(0.0, f64::max) - sent().fold(f64::INFINITY, f64::min) < 0.05;
    for asked in call.asked.iter().filter(|_| waited) {
        let gaps = asked.windows(2).map(|pair| pair[1] - pair[0]);
        let measured: Vec<f64> = waits.by_ref().take(asked.len()).filter_map(Value::as_f64).collect();
        same &= (measured.len() >= gaps.len() || measured.is_empty())
            && gaps.zip(measured).all(|(gap, wait)| (gap - wait).abs() < JITTER_S + 0.01);
    }
    (!same).then(|| format!("{call:?}, measured {measured}"))
}
