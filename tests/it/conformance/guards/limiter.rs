//! Plays the requests of a case to limits as a scenario says them: who is admitted, how long the others would have to
//! wait, and how much is left.

use super::case::{Case, instant};
use retrycast::policy::meter::{Meter, MeterState};
use retrycast::provider::Limit;
use retrycast::scenario;
use retrycast::units::{SimDuration, SimTime};
use serde_json::Value;

/// What is compared, and how the library's clock and its numbers are read.
#[derive(Clone, Copy)]
pub(crate) struct Read {
    /// What the library's instants are rounded to, in seconds; zero for not at all.
    pub(crate) grid: f64,
    /// The step that told waits are rounded up to, in nanoseconds.
    pub(crate) waits_to: u64,
    /// Whether what is left is compared.
    pub(crate) left: bool,
    /// What is left is read at the instant itself, or right behind it.
    pub(crate) left_behind: bool,
    /// Whether an emptied bucket is what the case begins with.
    pub(crate) empty: bool,
}

impl Read {
    /// All to the nanosecond.
    pub(crate) const EXACTLY: Read = Read { grid: 0.0, waits_to: 1, left: true, left_behind: false, empty: false };
}

/// The limits of a scenario with these tables of a limit on input tokens, of which a request is its cost.
pub(crate) fn limits(tables: &[String]) -> Result<Vec<Limit>, String> {
    let limit = |(n, table): (usize, &String)| {
        format!("[provider.limits.l{n}]\ncounts = \"input_tokens\"\nrefuse = {{ hint = \"exact\" }}\n{table}\n")
    };
    let text = format!(
        "horizon = \"1h\"\n{}[clients.c]\nlayers = []\n[traffic.t]\nkind = \"jobs\"\nworkers = 1\n\
         client = \"c\"\narrivals = {{ at = [\"0s\"] }}\n\
         steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n",
        tables.iter().enumerate().map(limit).collect::<String>()
    );
    let scenario = scenario::load(&scenario::Source::new("case.toml", &text));
    scenario.map(|scenario| scenario.provider.limits).map_err(|refusal| format!("{text}\n{refusal:#?}"))
}

/// The differences between what was measured and what the limits of these tables do.
pub(crate) fn differences(case: &Case, tables: &[String], read: Read) -> Vec<String> {
    let limits = match limits(tables) {
        Ok(limits) => limits,
        Err(what) => return vec![what],
    };
    let mut states: Vec<MeterState> = limits.iter().map(|limit| limit.meter.unused()).collect();
    if read.empty {
        for (limit, state) in limits.iter().zip(&mut states) {
            limit.meter.charge(state, limit.meter.largest(), SimTime::ZERO);
        }
    }
    let mut differences = Vec::new();
    for (event, measured) in case.events.iter().zip(&case.observed) {
        let now = rounded(instant(event), read.grid);
        let cost = ["cost", "tokens"].iter().find_map(|key| event[key].as_u64()).unwrap_or(1);
        let mut waits = limits.iter().zip(&mut states).map(|(limit, state)| limit.meter.shortfall(state, cost, now));
        let told_wait = waits.find(|wait| !wait.is_zero()).unwrap_or_default();
        let wait = waits.max().unwrap_or_default().max(told_wait);
        for (limit, state) in limits.iter().zip(&mut states) {
            if wait.is_zero() {
                limit.meter.charge(state, cost, now);
            } else if limit.terms.as_ref().is_some_and(|terms| terms.charges_refused) {
                limit.meter.charge_refused(state, cost, now);
            }
        }
        let mut wrong = measured["admitted"] != wait.is_zero();
        wrong |= (measured["never"] == true) && limits.iter().all(|limit| cost <= limit.meter.largest());
        if let Some(told) = ["wait", "retry_after"].iter().find_map(|key| measured[key].as_f64()) {
            // The wait that is told is the one of the first limit that refuses.
            let rounded = told_wait.as_nanos().div_ceil(read.waits_to).saturating_mul(read.waits_to);
            wrong |= (rounded as f64 / 1e9 - told).abs() > 1e-9;
        }
        let behind = SimDuration::from_nanos(u64::from(read.left_behind));
        let left = left(&limits, &mut states.clone(), now + behind);
        if let Some(said) = ["remaining", "available"].iter().find_map(|key| measured[key].as_f64()) {
            wrong |= read.left && measured["never"] != true && left as f64 != said.floor();
        }
        if wrong {
            differences.push(format!("{event}: waits {wait:?}, {left} left, measured {measured}"));
        }
    }
    differences
}

fn rounded(now: SimTime, grid: f64) -> SimTime {
    if grid == 0.0 {
        return now;
    }
    let rounded = (now.as_secs_f64() / grid).round() * grid;
    SimTime::from_nanos((rounded * 1e9).round() as u64)
}

fn shortfall(limits: &[Limit], states: &mut [MeterState], cost: u64, now: SimTime) -> SimDuration {
    let each = limits.iter().zip(states).map(|(limit, state)| limit.meter.shortfall(state, cost, now));
    each.max().unwrap_or_default()
}

/// The largest request that would be admitted.
fn left(limits: &[Limit], states: &mut [MeterState], now: SimTime) -> u64 {
    let largest = limits.iter().map(|limit| Meter::largest(&limit.meter)).min().unwrap_or_default();
    (0..=largest).rev().find(|cost| shortfall(limits, states, *cost, now).is_zero()).unwrap_or_default()
}

/// A setting as a number, of a table that may be nested.
pub(crate) fn number(settings: &Value, key: &str) -> f64 {
    settings[key].as_f64().unwrap_or(f64::NAN)
}
