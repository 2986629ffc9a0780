//! Steps with settings or clients of their own: what is sent, what is shared, how it is counted, and what is refused.
//! Expected numbers are worked out by hand.

use retrycast::explain::explain;
use retrycast::random::Seed;
use retrycast::sim::simulate;

use super::stage::{Run, read, said};

/// One job of the steps `a` and `b` through this client.
fn job(world: &str, layers: &str, a: &str, b: &str) -> String {
    format!(
        r#"
        horizon = "1h"
        {world}
        [clients.own]
        layers = [{layers}]
        [clients.other]
        layers = [{{ name = "http", max_attempts = 2, retry_on = ["5xx"] }}]
        [clients.queued]
        layers = [{{ name = "sdk", max_attempts = 2, retry_on = ["5xx"] }}, {{ name = "jobs", preset = "rq", max = 1 }}]
        [traffic.job]
        kind = "jobs"
        client = "own"
        workers = 1
        arrivals = {{ at = ["0s"] }}
        steps = [
          {{ name = "a", input_tokens = 1, latency = "1s"{a} }},
          {{ name = "b", input_tokens = 1, latency = "1s"{b} }},
        ]
        "#
    )
}

const SCRIPT: &str = "[provider.faults.server]\nrespond = { script = \"";
const LAYERS: &str = r#"
    { name = "sdk", preset = "anthropic-python-1.13", max_retries = 2 },
    { name = "decorator", preset = "tenacity", stop = { after_attempt = 4 }, wait = { fixed = "2s" } },
    { name = "queue", kind = "queue", max_attempts = 2, retry_on = "any" },
"#;

fn scripted(answers: &str, a: &str, b: &str) -> Run {
    Run::of(&read(&job(&format!("{SCRIPT}{answers}\" }}"), LAYERS, a, b)), 1)
}

const ALONE: &str = ", with = { sdk = { max_retries = 0 }, decorator = { off = true } }";
const OTHER: &str = ", client = \"other\"";

#[test]
fn a_changed_copy_and_another_client_send_what_they_say() {
    // Everything fails at the first step: 2 runs of 3 · 4, of 1 and of 2 requests.
    for (a, requests) in [("", 24), (ALONE, 2), (OTHER, 4)] {
        assert_eq!(scripted("529", a, "").count("classes.job.requests"), requests, "{a}");
    }
    // The first step passes; the second one is the client's own, 12 requests. Then all once more.
    let passed = format!("200, {}200, 529", "529, ".repeat(12));
    let run = scripted(&passed, ALONE, "");
    assert_eq!((run.count("classes.job.requests"), run.count("classes.job.runs")), (1 + 12 + 1 + 12, 2));
}

#[test]
fn the_queue_stays_around_steps_whose_stacks_differ_in_size() {
    // One element below the queue, then three, then one: it is the queue's second attempt that ends the job.
    let run = scripted("200, 529, 529, 200, 529", ALONE, OTHER);
    assert_eq!((run.count("classes.job.requests"), run.count("classes.job.runs")), (3 + 3, 2));
    assert_eq!(run.count("classes.job.layers.queue.entered"), 1);
    assert_eq!(run.count("classes.job.layers.queue.retries"), 1);
    assert_eq!(run.count("classes.job.layers.queue.exhausted"), 1);
}

#[test]
fn layers_are_counted_by_name_and_their_factors_multiply() {
    // Step a: the sdk alone, once in each run. Step b: other's layer twice in each run; no decorator in either.
    let run = scripted("200, 529, 529, 200, 529", ALONE, OTHER);
    let layer = |path: &str| run.count(&format!("classes.job.layers.{path}"));
    assert_eq!([layer("sdk.entered"), layer("http.entered"), layer("decorator.entered")], [2, 2, 0]);
    assert_eq!([layer("sdk.retries"), layer("http.retries")], [0, 2]);
    // 6 requests of 4 steps that were reached: 4 passages each, and all that is more is made by `http`.
    let factor = |name: &str| run.number(&format!("classes.job.factors.{name}"));
    assert_eq!([factor("decorator"), factor("sdk"), factor("http")], [1.0, 1.0, 1.5]);
    // The own sdk's 3 attempts in step b count beside the one in step a.
    let run = scripted("200, 529, 529, 200", ALONE, "");
    assert_eq!(run.count("classes.job.layers.sdk.entered"), 2);
    assert_eq!(run.count("classes.job.layers.sdk.retries"), 2);
}

#[test]
fn a_pacer_of_scope_client_is_the_originals_in_a_copy_and_the_others_elsewhere() {
    // One request in ten seconds. The second step waits for its turn where it shares the pacer.
    let world = "[guards.share]\npacer = { counts = \"requests\", amount = 1, per = \"10s\" }\nscope = \"client\"";
    let own = r#"{ name = "sdk", max_attempts = 2, retry_on = [500] }, { guard = "share" }"#;
    for (b, seconds) in [("", 11.0), (", with = { sdk = { max_attempts = 1 } }", 11.0), (OTHER, 2.0)] {
        let text = job(world, own, "", b).replacen(
            r#"{ name = "http", max_attempts = 2, retry_on = ["5xx"] }"#,
            r#"{ name = "http", max_attempts = 2, retry_on = ["5xx"] }, { guard = "share" }"#,
            1,
        );
        assert_eq!(Run::of(&read(&text), 1).number("classes.job.latency_s.max"), seconds, "{b}");
    }
}

#[test]
fn a_budget_is_the_originals_unless_the_step_changes_it() {
    // A quota of two retries. The first step uses both; the second has none left, unless it has a quota of its own.
    let quota = "budget = { quota = { capacity = 10, cost = 5, refund = 0, retried_refund = 0 } }";
    let own = format!("{{ name = \"sdk\", max_attempts = 3, retry_on = [529], {quota} }}");
    let own_quota = format!(", with = {{ sdk = {{ {} }} }}", quota.replace("10", "15"));
    let copy = ", with = { sdk = { timeout = \"30s\" } }";
    for (b, requests) in [("", 4), (copy, 4), (own_quota.as_str(), 6)] {
        let text = job(&format!("{SCRIPT}529, 529, 200, 529\" }}"), &own, "", b);
        assert_eq!(Run::of(&read(&text), 1).count("classes.job.requests"), requests, "{b}");
    }
}

#[test]
fn each_step_has_its_own_timeout() {
    let world = "[provider.faults.slow]\nrespond = { hang = true }";
    let own = r#"{ name = "sdk", max_attempts = 1, retry_on = [500], timeout = "30s" }"#;
    for (a, wanted) in [("", 30.0), (", with = { sdk = { timeout = \"5s\" } }", 5.0)] {
        let run = Run::of(&read(&job(world, own, a, "")), 1);
        assert_eq!(run.number("classes.job.worker_time_s.refused"), wanted, "{a}");
    }
}

#[test]
fn what_changes_nothing_changes_nothing() {
    let world = format!("{SCRIPT}529, 529, 200\" }}");
    let plain = simulate(&read(&job(&world, LAYERS, "", "")), Seed(3)).digest;
    for same in [", with = {}", ", with = { sdk = { max_retries = 2 } }", ", client = \"own\""] {
        assert_eq!(simulate(&read(&job(&world, LAYERS, "", same)), Seed(3)).digest, plain, "{same}");
    }
    // Jitter is keyed by the layer's name: a copy in which another layer is off waits as long.
    let off = ", with = { decorator = { off = true } }";
    assert_eq!(simulate(&read(&job(&world, LAYERS, "", off)), Seed(3)).digest, plain);
}

#[test]
fn the_bound_of_a_task_is_over_its_steps() {
    let worst = |a: &str, b: &str, resume: &str| {
        let layers = LAYERS.replace("retry_on = \"any\"", &format!("retry_on = \"any\", resume = \"{resume}\""));
        explain(&read(&job("", &layers, a, b))).classes.remove(0)
    };
    // A run costs up to 1 and 12. Restarted: 2 · 13. Resumed: 13, and another 12.
    assert_eq!(worst(ALONE, "", "restart").worst.per_task, Some(26));
    assert_eq!(worst(ALONE, "", "failed_step").worst.per_task, Some(25));
    // The dearest step comes first and is dearest when it fails: 12 + 1 and 12; its site 24, the other one's 2.
    let class = worst("", ALONE, "failed_step");
    assert_eq!((class.worst.per_task, class.worst.per_call_site), (Some(25), Some(24)));
    assert_eq!(class.others[0].step_worst.per_call_site, Some(2));
    assert_eq!((class.steps, class.others[0].steps.clone()), (vec!["a".to_owned()], vec!["b".to_owned()]));
    // Waits: the decorator's 3 · 2 s and four times the sdk's 0.5 + 1 s, in each of two runs.
    assert_eq!(class.task_course.held.to.as_secs_f64(), 24.0);
}

#[test]
fn a_remedy_names_the_place_where_the_step_says_it() {
    // The step's own sdk waits for nothing; the queue around it is the class's, at once again too.
    let copy = ", with = { sdk = { timeout = \"30s\" } }";
    let own = "{ name = \"sdk\", max_attempts = 3, retry_on = [529] }, \
               { name = \"queue\", kind = \"queue\", max_attempts = 2, retry_on = \"any\" }";
    let text = job("", own, copy, copy).replace("workers = 1", "workers = 2");
    let paths: Vec<String> = explain(&read(&text)).warnings.into_iter().map(|warning| warning.path).collect();
    assert!(paths.contains(&"traffic.job.steps.a.with.sdk.backoff".to_owned()), "{paths:?}");
    assert!(paths.contains(&"clients.own.layers.queue.backoff".to_owned()), "{paths:?}");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_remedy() {
    let step = |b: &str| said(&job("", LAYERS, "", b));
    for (b, message, hint) in [
        (
            ", client = \"othr\"",
            "no client has this name",
            "clients are `own`, `other`, `queued`; did you mean `other`?",
        ),
        (
            ", client = \"queued\"",
            "`queued` retries through a queue, and a queue stands around the whole run",
            "name a client without a layer of kind queue: the class's own queue stays around this step",
        ),
        (
            ", with = { skd = { max_retries = 0 } }",
            "no layer has this name",
            "layers are `sdk`, `decorator`, `queue`; did you mean `sdk`?",
        ),
        (
            ", with = { queue = { max_attempts = 1 } }",
            "changes the queue layer, which stands around the whole run",
            "change it in the client itself, or change only layers inside it",
        ),
        (", with = { sdk = { max_retry = 0 } }", "unknown key", "did you mean `max_retries`?"),
        (", with = { sdk = { max_retries = -1 } }", "must be at least 0, found -1", ""),
        (", with = { sdk = 3 }", "must be a table, found a number", "write { key = value, … } with the keys to change"),
    ] {
        let (found, found_hint) = step(b).unwrap_err().remove(0);
        assert_eq!(found, message, "{b}");
        assert!(found_hint.starts_with(hint), "{b}: {found_hint}");
    }
    // A layer of the other client that is called like the class's queue.
    let twin = job("", LAYERS, "", OTHER).replacen("name = \"http\"", "name = \"queue\"", 1);
    assert_eq!(said(&twin).unwrap_err()[0].0, "`other` has a layer called `queue`, as the class's queue is");
    // Layers the other way round.
    let torn = job("", LAYERS, "", OTHER).replacen(
        "{ name = \"http\", max_attempts = 2, retry_on = [\"5xx\"] }",
        "{ name = \"decorator\", max_attempts = 2, retry_on = [\"5xx\"] }, { name = \"sdk\", max_attempts = 2, retry_on = [500] }",
        1,
    );
    let message = "`sdk` stands outside of `decorator` here and inside it in another client of the class";
    assert_eq!(said(&torn).unwrap_err()[0].0, message);
}
