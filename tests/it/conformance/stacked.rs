//! Three layers on top of each other: a queue around runs, a decorator around calls, an SDK around requests, and a task
//! of several steps, each with a script of its own. A failed run starts over at the first step.

use super::{Case, Library, Setup, parsed, script_of, seconds};
use retrycast::policy::backoff::{Always, Draws};
use retrycast::policy::circuit_breaker::Gate;
use retrycast::policy::retry::LayerState;
use retrycast::policy::retry_budget::Passage;
use retrycast::policy::stack::{Cursor, Host, Input, Next, Note};
use retrycast::policy::{Answer, Client, RetryBudget};
use retrycast::probe::{Attempts, Probe, Script, Span};
use retrycast::random::Seed;
use retrycast::units::{SimDuration, SimTime};
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 1] =
    [Library { file: "stacked-anthropic-1.13.0", tier: 1, preset: "rq-3.0", setup }];

/// How many ways are drawn between both ends.
const SAMPLES: u64 = 400;

fn setup(case: &Case) -> Setup {
    let number = |layer: &str, key: &str| case.policy[layer][key].as_f64().unwrap_or_default();
    let retries = number("sdk", "max_retries");
    let (attempts, wait) = (number("tenacity", "stop_after_attempt"), seconds(number("tenacity", "wait_fixed")));
    let runs = number("job", "runs");
    let max = if runs > 1.0 { format!(", max = {}", runs - 1.0) } else { String::new() };
    let text = format!(
        "horizon = \"1h\"\n[clients.c]\nlayers = [\n\
         {{ preset = \"anthropic-python-1.13\", max_retries = {retries} }},\n\
         {{ preset = \"tenacity-9.2\", stop = {{ after_attempt = {attempts} }}, wait = {{ fixed = \"{wait}\" }} }},\n\
         {{ preset = \"rq-3.0\"{max} }},\n]\n\
         [traffic.t]\nkind = \"jobs\"\nworkers = 1\nclient = \"c\"\narrivals = {{ at = [\"0s\"] }}\n\
         steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n"
    );
    let scripts = case.script.iter().map(|step| step["entries"].as_array().cloned().unwrap_or_default());
    Setup::Steps(text, scripts.collect())
}

/// What a client does with a task of these steps.
pub(crate) fn asked(case: &Case, client: &Client, scripts: &[Vec<Value>]) -> Result<Probe, String> {
    let scripts: Vec<Script> =
        scripts.iter().map(|entries| parsed(&script_of(case, entries))).collect::<Result<_, _>>()?;
    let ends = [0.0, 1.0].map(|end| walk(client, &scripts, |_, _| Always(end)));
    let key = Seed(1).key();
    let drawn: Vec<Way> = (0..SAMPLES)
        .map(|sample| walk(client, &scripts, |element, n| key.with(sample).with(element as u64).with(n).stream()))
        .collect();
    let one = &drawn[0];
    by_step(case, one)?;
    let span = |n: usize| {
        let mean_s = drawn.iter().map(|way| way.waits[n].as_secs_f64()).sum::<f64>() / SAMPLES as f64;
        Span { min: ends[0].waits[n].min(ends[1].waits[n]), mean_s, max: ends[0].waits[n].max(ends[1].waits[n]) }
    };
    let sum = |way: &Way| way.waits.iter().copied().sum::<SimDuration>();
    let total_wait = Span {
        min: sum(&ends[0]).min(sum(&ends[1])),
        mean_s: drawn.iter().map(|way| sum(way).as_secs_f64()).sum::<f64>() / SAMPLES as f64,
        max: sum(&ends[0]).max(sum(&ends[1])),
    };
    let measured = &case.fields["total_wait"];
    let [low, high] = ["min", "max"].map(|end| measured[end].as_f64().unwrap_or_default());
    if low < total_wait.min.as_secs_f64() - 0.01 || high > total_wait.max.as_secs_f64() + 0.01 {
        return Err(format!("waits {total_wait:?} together, measured {measured}"));
    }
    let status = one.last.status;
    Ok(Probe {
        attempts: Attempts::Always(one.steps.len() as u64),
        waits: (0..one.waits.len()).map(span).collect(),
        total_wait,
        total: total_wait,
        outcome: if one.last.is_delivered() { "ok".to_owned() } else { format!("raised {status}") },
        shown: Vec::new(),
        why: None,
    })
}

/// Whether each step got as many requests as were measured.
fn by_step(case: &Case, way: &Way) -> Result<(), String> {
    let Some(measured) = case.fields["requests_by_step"].as_object() else { return Ok(()) };
    for (step, requests) in measured {
        let sent = way.steps.iter().filter(|sent| (*sent + 1).to_string() == *step).count() as u64;
        if requests.as_u64() != Some(sent) {
            return Err(format!("{sent} requests of step {step}, measured {requests}"));
        }
    }
    Ok(())
}

/// One way through a task.
struct Way {
    /// The step of each request.
    steps: Vec<usize>,
    /// The wait before each request but the first.
    waits: Vec<SimDuration>,
    last: Answer,
}

struct World<F> {
    draws: F,
    sent: u64,
}

impl<D: Draws, F: Fn(usize, u64) -> D> Host for World<F> {
    type Source = D;

    fn draws(&self, element: usize, _: u32) -> D {
        (self.draws)(element, self.sent)
    }

    fn pass(&mut self, _: usize, _: SimTime) -> Gate {
        Gate::Pass
    }

    fn passed_back(&mut self, _: usize, _: &Answer, _: SimTime) -> bool {
        false
    }

    fn pay(&mut self, _: usize, _: &RetryBudget, _: &Answer, _: bool, _: SimTime) -> Option<u32> {
        None
    }

    fn repay(&mut self, _: usize, _: &RetryBudget, _: Option<u32>) {}

    fn call_passes(&mut self, _: usize, _: &RetryBudget, _: Passage, _: SimTime) {}

    fn note(&mut self, _: Note) {}
}

fn walk<D: Draws>(client: &Client, scripts: &[Script], draws: impl Fn(usize, u64) -> D) -> Way {
    let mut states = vec![LayerState::entered(SimTime::ZERO); client.elements().len()];
    let mut world = World { draws, sent: 0 };
    let mut way = Way { steps: Vec::new(), waits: Vec::new(), last: Answer::DELIVERED };
    let (mut cursor, mut input, mut now, mut ended) = (Cursor::default(), Input::Begin, SimTime::ZERO, None);
    let (mut step, mut asked) = (0, vec![0; scripts.len()]);
    loop {
        match client.advance(&mut states, &mut cursor, input, now, &mut world) {
            Next::Send => {
                way.waits.extend(ended.map(|ended: SimTime| now - ended));
                way.steps.push(step);
                way.last = scripts[step].entry(asked[step]).answer(client.grammar(), now);
                asked[step] += 1;
                world.sent += 1;
                (ended, input) = (Some(now), Input::Answered(way.last));
            }
            Next::Sleep { until, .. } => (now, input) = (until, Input::Woken),
            Next::Requeue { at, .. } => (now, input, step) = (at, Input::Begin, 0),
            Next::Done(answer) if answer.is_delivered() && step + 1 < scripts.len() => {
                (input, step) = (Input::Begin, step + 1);
            }
            // No gate of this world parks anybody.
            Next::Done(_) | Next::Park(_) | Next::Line(_) => return way,
        }
    }
}
