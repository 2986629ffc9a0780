//! Models with limits, faults and settings of their own, and fallbacks from one to the next. Expected numbers are worked
//! out by hand.

use retrycast::explain::explain;
use retrycast::probe::probe;
use retrycast::provider::{AnsweredBy, Script};
use retrycast::random::Seed;
use retrycast::sim::{Fact, simulate};

use super::stage::{Run, facts, read, said};

/// Jobs of one step that asks for opus.
pub(super) fn jobs(world: &str, layers: &str, step: &str) -> String {
    format!(
        r#"
        horizon = "2h"
        {world}
        [clients.stack]
        layers = [{layers}]
        [traffic.job]
        kind = "jobs"
        client = "stack"
        workers = 1
        arrivals = {{ at = ["0s"] }}
        steps = [{{ name = "ask", model = "opus", input_tokens = 1000, latency = "1s"{step} }}]
        "#
    )
}

fn run(world: &str, layers: &str) -> Run {
    Run::of(&read(&jobs(world, layers, "")), 1)
}

fn down(models: &str) -> String {
    format!("[provider.faults.down]\nmodels = {models}\nrespond = {{ status = 429, after = \"0s\" }}\n")
}

pub(super) const SDK: &str = r#"{ name = "sdk", max_attempts = 3, retry_on = [429, "5xx"] },"#;
pub(super) const FALLBACK: &str =
    r#"{ name = "fallback", fallback = { to = ["haiku"], on = [429, "5xx", "timeout"] } },"#;
const OUTER: &str = r#"{ name = "app", kind = "decorator", max_attempts = 4, retry_on = "any" },"#;
const QUEUE: &str = r#"{ name = "queue", kind = "queue", max_attempts = 2, retry_on = "any" },"#;

#[test]
fn a_fallback_costs_the_layers_inside_it_and_one_good_request() {
    // The primary always fails: 3 requests on it, then one that succeeds.
    let world = down(r#"["opus"]"#);
    let run = run(&world, &[SDK, FALLBACK, OUTER, QUEUE].concat());
    let count = |path: &str| run.count(&format!("classes.job.{path}"));
    assert_eq!([count("requests"), count("delivered"), count("runs")], [4, 1, 1]);
    assert_eq!([count("models.opus.requests"), count("models.haiku.requests")], [3, 1]);
    assert_eq!([count("models.opus.responses.429"), count("models.haiku.responses.200")], [3, 1]);
    assert_eq!([count("models.opus.answered_by.fault:down"), count("models.haiku.answered_by.service")], [3, 1]);
    // One fallback was taken, and what is inside it was entered once for each model.
    assert_eq!([count("layers.fallback.entered"), count("layers.fallback.retries")], [1, 1]);
    assert_eq!([count("layers.sdk.entered"), count("layers.app.retries")], [2, 0]);
}

#[test]
fn where_both_models_fail_the_product_doubles() {
    // 2 runs · 4 calls of the outer layer · 2 models · 3 requests; each call begins with the primary again.
    let world = down(r#"["opus", "haiku"]"#);
    let run = run(&world, &[SDK, FALLBACK, OUTER, QUEUE].concat());
    let count = |path: &str| run.count(&format!("classes.job.{path}"));
    assert_eq!(count("requests"), 2 * 4 * 2 * 3);
    assert_eq!([count("models.opus.requests"), count("models.haiku.requests")], [24, 24]);
    assert_eq!([count("layers.fallback.entered"), count("layers.fallback.exhausted")], [8, 8]);
    // The product of the factors: 2 runs · 4 · 2 · 3.
    let factor = |name: &str| run.number(&format!("classes.job.factors.{name}"));
    assert_eq!([factor("runs"), factor("app"), factor("fallback"), factor("sdk")], [2.0, 4.0, 2.0, 3.0]);
    let explained = explain(&read(&jobs(&world, &[SDK, FALLBACK, OUTER, QUEUE].concat(), ""))).classes.remove(0);
    assert_eq!((explained.worst.per_task, explained.worst.per_call), (Some(48), Some(3)));
    assert_eq!(explained.worst_of_one_answer(), Some(48));
}

#[test]
fn the_bound_knows_of_context_windows() {
    // What is too long for opus is asked of haiku: one request, and three attempts there.
    let layers = r#"
        { name = "sdk", max_attempts = 3, retry_on = [429] },
        { name = "fallback", fallback = { to = ["haiku"], on = { codes = ["context_length_exceeded"] } } },"#;
    let most = |world: &str| explain(&read(&jobs(world, layers, ""))).classes[0].worst.per_task;
    assert_eq!(most(""), Some(3));
    // A window may also come after two 429s: 3 requests that end in it, and 3 more.
    assert_eq!(most("[provider.models.opus]\ncontext_window = \"200k\""), Some(6));
}

#[test]
fn models_are_asked_in_order_and_the_first_again_after_an_outer_retry() {
    let world = down(r#"["opus", "haiku", "mini"]"#);
    let layers = r#"
        { name = "fallback", fallback = { to = ["haiku", "mini"] } },
        { name = "app", kind = "decorator", max_attempts = 2, retry_on = "any" },"#;
    let scenario = read(&jobs(&world, layers, ""));
    let asked: Vec<&str> = facts(&scenario, 1)
        .iter()
        .filter_map(|fact| match fact {
            Fact::RequestEnded { model, .. } => Some(scenario.provider.models[*model as usize].name.as_str()),
            Fact::TaskArrived { .. } | Fact::TaskEnded { .. } => None,
        })
        .collect();
    assert_eq!(asked, ["opus", "haiku", "mini", "opus", "haiku", "mini"]);
}

#[test]
fn an_inner_fallback_begins_anew_for_each_model_of_an_outer_one() {
    // Inner to mini, outer to haiku: opus, mini, haiku, mini.
    let world = down(r#"["opus", "haiku", "mini"]"#);
    let layers = r#"
        { name = "inner", fallback = { to = ["mini"] } },
        { name = "outer", fallback = { to = ["haiku"] } },"#;
    let run = run(&world, layers);
    let requests = |model: &str| run.count(&format!("classes.job.models.{model}.requests"));
    assert_eq!([requests("opus"), requests("mini"), requests("haiku")], [1, 2, 1]);
}

#[test]
fn what_the_fallback_is_not_for_goes_outward_at_once() {
    let world = "[provider.faults.bad]\nmodels = [\"opus\"]\nrespond = { status = 400, after = \"0s\" }";
    let run = run(world, &[SDK, FALLBACK].concat());
    assert_eq!((run.count("classes.job.requests"), run.count("classes.job.failed")), (1, 1));
    assert_eq!(run.count("classes.job.layers.fallback.gave_up"), 1);
}

#[test]
fn inside_the_client_a_fallback_is_part_of_the_call() {
    let world = down(r#"["opus"]"#);
    for (kind, calls) in [("client", 1), ("decorator", 2)] {
        let fallback = FALLBACK.replace("name = \"fallback\"", &format!("name = \"fallback\", kind = \"{kind}\""));
        let run = run(&world, &[SDK, &fallback].concat());
        assert_eq!((run.count("classes.job.calls"), run.count("classes.job.requests")), (calls, 4), "{kind}");
    }
    // In a gateway the client sees one request of its own.
    let layers = r#"
        { name = "gateway", kind = "hop", max_attempts = 2, retry_on = [429] },
        { name = "route", kind = "hop", fallback = { to = ["haiku"] } },
        { name = "sdk", max_attempts = 3, retry_on = [429] },"#;
    let run = run(&world, layers);
    assert_eq!((run.count("classes.job.requests"), run.count("classes.job.provider_requests")), (1, 3));
    assert_eq!(run.count("classes.job.models.opus.requests"), 2);
}

#[test]
fn a_short_circuit_inside_falls_back_without_a_request() {
    // The breaker opens at the first 429 and refuses whoever comes next; it stands inside the fallback.
    let world = down(r#"["opus"]"#)
        + "[guards.fuse]\nbreaker = { counts = \"results\", of = [429], last = 1, minimum = 1, threshold = 0, open = \"1h\", \
           when_open = \"reject\" }";
    let layers = r#"
        { name = "sdk", max_attempts = 1, retry_on = [429] },
        { guard = "fuse" },
        { name = "fallback", fallback = { to = ["haiku"], on = [429] } },"#;
    let run = run(&world, layers);
    // After opus' 429 the same breaker stands before haiku: nothing is sent, and it is no 429.
    assert_eq!((run.count("classes.job.requests"), run.count("classes.job.short_circuited")), (1, 1));
    assert_eq!((run.count("classes.job.failed"), run.count("classes.job.models.haiku.requests")), (1, 0));
}

/// Two buckets of one request an hour, one for each model.
pub(super) const LIMITS: &str = r#"
    [provider.limits.big]
    counts = "requests"
    models = ["opus"]
    amount = 1
    per = "1h"
    [provider.limits.small]
    counts = "requests"
    models = ["haiku"]
    amount = 1
    per = "1h"
"#;

#[test]
fn each_limit_is_charged_by_its_own_models() {
    // Three jobs, one after the other: opus serves the first and refuses the others, haiku serves the second, and the
    // third finds both empty.
    let text = jobs(LIMITS, r#"{ name = "fallback", fallback = { to = ["haiku"] } }"#, "");
    let run = Run::of(&read(&text.replace(r#"["0s"]"#, r#"["0s", "1m", "2m"]"#)), 1);
    let count = |path: &str| run.count(path);
    assert_eq!([count("limits.big.admitted"), count("limits.big.refused")], [1, 2]);
    assert_eq!([count("limits.small.admitted"), count("limits.small.refused")], [1, 1]);
    assert_eq!([count("classes.job.delivered"), count("classes.job.failed")], [2, 1]);
    assert_eq!(count("classes.job.models.opus.answered_by.limit:big"), 2);
    assert_eq!(count("classes.job.models.haiku.answered_by.limit:small"), 1);
    assert_eq!(count("classes.job.models.opus.answered_by.limit:small"), 0);
}

#[test]
fn a_limit_without_models_counts_all_of_them() {
    let world = format!("{LIMITS}[provider.limits.all]\ncounts = \"requests\"\namount = 2\nper = \"1h\"");
    let text = jobs(&world, FALLBACK, "").replace(r#"["0s"]"#, r#"["0s", "1m"]"#);
    let run = Run::of(&read(&text.replacen("amount = 1", "amount = 9", 1)), 1);
    assert_eq!([run.count("limits.all.admitted"), run.count("limits.small.admitted")], [2, 0]);
}

#[test]
fn a_model_has_a_latency_and_a_context_window() {
    let models = "[provider.models.opus]\nlatency = \"5s\"\ncontext_window = 999\n[provider.models.\"gpt-4/west\"]\nlatency = \"7s\"\n";
    // 1000 tokens do not fit into 999: at once, before the fault, and no SDK repeats it.
    let world = format!("{models}{}", down(r#"["opus", "gpt-4/west"]"#));
    let sdk = r#"{ preset = "anthropic-python" }, { name = "fallback", fallback = { to = ["gpt-4/west"], on = { codes = ["context_length_exceeded"] } } },"#;
    let run = Run::of(&read(&jobs(&world, sdk, "")), 1);
    assert_eq!(run.count("classes.job.models.opus.responses.400"), 1);
    assert_eq!(run.count("classes.job.models.opus.answered_by.context_window"), 1);
    // Its 429s are not what the fallback is for: three attempts of the SDK, and the job fails.
    assert_eq!(run.count("classes.job.models.gpt-4/west.responses.429"), 3);
    // Without the fault the other model answers in its own seven seconds, where the step says one.
    let run = Run::of(&read(&jobs(models, sdk, "")), 1);
    assert_eq!(run.number("classes.job.latency_s.max"), 7.0);
    // A request that just fits takes the model's time.
    let run = Run::of(&read(&jobs(&models.replace("999", "1000"), sdk, "")), 1);
    assert_eq!((run.number("classes.job.latency_s.max"), run.count("classes.job.requests")), (5.0, 1));
}

#[test]
fn a_probe_says_which_model_each_attempt_asks() {
    let scenario = read(&jobs("", &[SDK, FALLBACK].concat(), ""));
    let found = probe(&scenario.clients[0], &Script::parse("429, 429, 429, 503, 200", 0.0).unwrap(), Seed(1));
    let models: Vec<Option<&str>> = found.shown.iter().map(|shown| shown.model.as_deref()).collect();
    assert_eq!(models, [None, None, None, Some("haiku"), Some("haiku")]);
    assert_eq!(found.shown[2].retried_by.as_deref(), Some("fallback"));
}

#[test]
fn models_are_counted_where_it_matters_which_one_is_asked() {
    // A name alone, as for the log, changes no result.
    let named = Run::of(&read(&jobs("", SDK, "")), 1);
    assert!(named.0.at(&["classes", "job", "models"]).is_none());
    let plain = read(&jobs("", SDK, "").replace("model = \"opus\", ", ""));
    let digests = |text: &str| {
        let outcome = simulate(&read(text), Seed(1));
        (outcome.digest, outcome.world_digest)
    };
    assert_eq!(digests(&jobs("", SDK, "")), (simulate(&plain, Seed(1)).digest, simulate(&plain, Seed(1)).world_digest));
    // A fallback is a policy; a limit's models are the world's.
    let with = |layers: &str| digests(&jobs(LIMITS, layers, ""));
    // Which model was asked is a fact, even where two answer alike.
    let [big, mini] = ["opus", "mini"]
        .map(|model| jobs(LIMITS, FALLBACK, "").replacen("model = \"opus\"", &format!("model = \"{model}\""), 1));
    let unlimited = |text: &str| text.replacen("models = [\"opus\"]", "models = [\"haiku\"]", 1);
    assert_ne!(digests(&unlimited(&big)).0, digests(&unlimited(&mini)).0);
    let further = r#"{ name = "fallback", fallback = { to = ["mini", "haiku"] } },"#;
    assert_eq!(with(FALLBACK).1, with(further).1);
    assert_ne!(
        with(FALLBACK).1,
        digests(&jobs(&LIMITS.replacen("[\"opus\"]", "[\"opus\", \"haiku\"]", 1), FALLBACK, "")).1
    );
}

#[test]
fn a_step_may_switch_the_fallback_off() {
    let world = down(r#"["opus"]"#);
    let text = jobs(&world, &[SDK, FALLBACK].concat(), ", with = { fallback = { off = true } }");
    let run = Run::of(&read(&text), 1);
    assert_eq!((run.count("classes.job.requests"), run.count("classes.job.failed")), (3, 1));
    assert_eq!(run.count("classes.job.models.haiku.requests"), 0);
}

#[test]
fn an_answer_of_the_window_is_the_windows() {
    let world = "[provider.models.opus]\ncontext_window = \"0.5k\"\n";
    let facts = facts(&read(&jobs(world, SDK, "")), 1);
    let [_, Fact::RequestEnded { answer, by, sent, at, .. }, _] = facts[..] else { panic!("one request: {facts:?}") };
    assert_eq!((answer.status, by, at), (400, AnsweredBy::Window, sent));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_remedy() {
    let fallback = |settings: &str| jobs("", &format!("{SDK} {{ name = \"fb\", fallback = {{ {settings} }} }}"), "");
    let limit = |models: &str| jobs(&LIMITS.replacen("[\"opus\"]", models, 1), FALLBACK, "");
    let nine = "to = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\"]";
    for (text, message, hint) in [
        (fallback(""), "lacks the key `to`", "write the models that are asked next, such as [\"haiku\"]"),
        (fallback("to = []"), "is empty", ""),
        (fallback(nine), "has more than 8 models, found 9", ""),
        (fallback("to = [\"a\", \"a\"]"), "`a` is there twice", "keep one"),
        (fallback("to = [\"\"]"), "must be the name of a model, found \"\"", ""),
        (fallback("to = [\"a\"], on = []"), "is empty", ""),
        (
            fallback("to = [\"opus\"]"),
            "asks for `opus`, and `fb` falls back to the same",
            "take it out of the fallback's `to`, or let the step ask for another model",
        ),
        (
            fallback("to = [\"a\"]").replace("model = \"opus\", ", ""),
            "lacks the key `model`, and `fb` falls back to other models",
            "write the model that is asked first",
        ),
        (
            fallback("to = [\"a\"]").replace("name = \"fb\"", "name = \"fb\", kind = \"queue\""),
            "a fallback asks within a run",
            "write \"client\", \"decorator\" or \"hop\"",
        ),
        (
            limit("[\"opsu\"]"),
            "no step and no fallback asks for `opsu`",
            "models are `haiku`, `opus`; did you mean `opus`?",
        ),
        (limit("[]"), "is empty", ""),
        (jobs("[provider.models.opus]\nlatencey = \"1s\"", SDK, ""), "unknown key", "did you mean `latency`?"),
        (jobs("[provider.models.opus]\ncontext_window = 0", SDK, ""), "must be at least 1, found 0", ""),
    ] {
        let faults = said(&text).unwrap_err();
        assert_eq!(faults[0].0, message, "{text}");
        assert!(faults[0].1.starts_with(hint), "{text}\n{}", faults[0].1);
    }
    // What the provider describes may wait for somebody who asks.
    assert!(said(&jobs("[provider.models.later]\nlatency = \"1s\"", SDK, "")).is_ok());
}
