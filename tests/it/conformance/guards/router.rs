//! The router of `litellm`: its retries, its fallbacks, and the cooldown of an only deployment. The scenario is run, call
//! by call; each deployment is a model.

use super::{Case, Library};
use crate::stage::facts;
use retrycast::scenario;
use retrycast::sim::{Fact, Fate};
use retrycast::units::SimTime;
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 1] =
    [Library { file: "litellm-router-1.110.2", most_left_out: 28, held: router }];

/// How far its waits spread.
const JITTER_S: f64 = 0.75;

fn router(case: &Case) -> Result<Vec<String>, &'static str> {
    let deployments = case.settings["deployments"].as_array().map_or(0, Vec::len);
    let falls_back = case.settings.contains_key("fallbacks");
    let cools = case.settings.get("disable_cooldowns") != Some(&Value::Bool(true));
    if deployments > 1 && !falls_back && cools {
        return Err("the router picks among deployments at random, and takes out one that has failed");
    }
    // Without cooldowns and with answers that are all the same, any deployment is as good as the first.
    let models = if falls_back { deployments } else { 1 };
    Ok(match played(case, models) {
        Ok(calls) => calls.iter().zip(&case.observed).filter_map(|(call, measured)| differs(call, measured)).collect(),
        Err(what) => vec![what],
    })
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
    let others: Vec<String> = (1..models).map(|model| format!("\"m{model}\"")).collect();
    let fallback = if others.is_empty() {
        String::new()
    } else {
        format!(", {{ name = \"fallback\", fallback = {{ to = [{}] }} }}", others.join(", "))
    };
    // A key that is refused takes an only deployment out too; what is busy or broken does not.
    let at: Vec<String> = (0..case.events.len()).map(|call| format!("\"{}ms\"", call * 100)).collect();
    format!(
        "horizon = \"1000s\"\n{faults}[guards.cooldown.breaker]\ncounts = \"responses\"\nof = [401]\nconsecutive = 1\n\
         open = \"5s\"\nwhen_open = \"reject\"\nprobes = 0\n\
         [clients.c]\nlayers = [{{ guard = \"cooldown\" }}, {{ name = \"router\", max_attempts = {attempts}, \
         retry_on = [408, 409, 429, \"5xx\"], backoff = {backoff}, jitter = {{ add = \"{JITTER_S}s\" }}, \
         hint = \"obey\" }}{fallback}]\n\
         [traffic.t]\nkind = \"jobs\"\nworkers = {}\nclient = \"c\"\narrivals = {{ at = [{}] }}\n\
         steps = [{{ name = \"s\", model = \"m0\", input_tokens = 1, latency = \"1ms\" }}]\n",
        case.events.len(),
        at.join(", "),
    )
}

fn played(case: &Case, models: usize) -> Result<Vec<Call>, String> {
    let text = text(case, models);
    let scenario = scenario::load(&scenario::Source::new("case.toml", &text));
    let scenario = scenario.map_err(|refusal| format!("{text}\n{refusal:#?}"))?;
    let mut calls = vec![Call { asked: vec![Vec::new(); models], ok: false }; case.events.len()];
    for fact in facts(&scenario, 1) {
        match fact {
            Fact::RequestEnded { task, model, sent, .. } => {
                calls[task as usize].asked[usize::from(model)].push(sent.since(SimTime::ZERO).as_secs_f64());
            }
            Fact::TaskEnded { task, fate, .. } => calls[task as usize].ok = fate == Fate::Delivered,
            Fact::TaskArrived { .. } => {}
        }
    }
    Ok(calls)
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
    for asked in call.asked.iter().filter(|_| waited) {
        let gaps = asked.windows(2).map(|pair| pair[1] - pair[0]);
        let measured: Vec<f64> = waits.by_ref().take(asked.len()).filter_map(Value::as_f64).collect();
        same &= (measured.len() >= gaps.len() || measured.is_empty())
            && gaps.zip(measured).all(|(gap, wait)| (gap - wait).abs() < JITTER_S + 0.01);
    }
    (!same).then(|| format!("{call:?}, measured {measured}"))
}
