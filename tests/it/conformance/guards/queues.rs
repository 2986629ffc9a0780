//! Queues that hand a message out again, or hold it back: Celery on Redis, and `BullMQ`. The scenario is run, and the
//! instants are compared at which runs begin.

#![expect(clippy::unnecessary_wraps, reason = "a case of another library may be out of scope")]

use super::{Case, Library};
use crate::stage::facts;
use retrycast::scenario;
use retrycast::sim::{Fact, Fate};
use retrycast::units::SimTime;
use serde_json::Value;

pub(crate) const LIBRARIES: [Library; 2] = [
    Library { file: "celery-redis-5.7.0", most_left_out: 3, held: celery },
    Library { file: "bullmq-6.7.0", most_left_out: 3, held: bullmq },
];

type Held = Result<Vec<String>, &'static str>;

/// Which job, and when, in seconds.
type Begin = (u64, f64);

/// When runs begin until this instant, and which jobs have failed by then.
fn played(text: &str, until: f64) -> Result<(Vec<Begin>, Vec<u64>), String> {
    let scenario = scenario::load(&scenario::Source::new("case.toml", text));
    let scenario = scenario.map_err(|refusal| format!("{text}\n{refusal:#?}"))?;
    let (mut begins, mut failed) = (Vec::new(), Vec::new());
    for fact in facts(&scenario, 1) {
        match fact {
            Fact::RequestEnded { task, sent, .. } => {
                begins.push((u64::from(task), sent.since(SimTime::ZERO).as_secs_f64()));
            }
            Fact::TaskEnded { task, at, fate: Fate::Failed, .. } if at.as_secs_f64() <= until => {
                failed.push(u64::from(task));
            }
            Fact::TaskEnded { .. } | Fact::TaskArrived { .. } => {}
        }
    }
    begins.retain(|(_, at)| *at <= until);
    begins.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    failed.sort_unstable();
    Ok((begins, failed))
}

/// The differences between begins, which may be so many seconds apart; whether the jobs are compared too.
fn differences(begins: &[Begin], measured: &[Begin], apart: f64, jobs: bool) -> Vec<String> {
    let same = begins.len() == measured.len()
        && begins
            .iter()
            .zip(measured)
            .all(|(begin, measured)| (begin.1 - measured.1).abs() <= apart && (!jobs || begin.0 == measured.0));
    if same { Vec::new() } else { vec![format!("begins {begins:?}, measured {measured:?}")] }
}

fn celery(case: &Case) -> Held {
    let whole = |key: &str| case.settings.get(key).and_then(Value::as_u64).unwrap_or_default();
    let (workers, slots, prefetch) = (whole("workers"), whole("concurrency"), whole("prefetch_multiplier"));
    let takes = whole("task_seconds");
    // What is acknowledged late is the one message that a process with one slot may hold: it takes nothing ahead.
    let ahead = if case.settings["acks_late"] == true && slots * prefetch == 1 {
        String::new()
    } else {
        format!("prefetch = {prefetch}\n")
    };
    let trace = case.observed[0]["trace"].as_array().into_iter().flatten();
    let starts = trace.filter(|entry| entry["what"] == "start");
    let measured: Vec<Begin> = starts
        .map(|start| (start["job"].as_u64().unwrap_or_default(), start["at"].as_f64().unwrap_or_default()))
        .collect();
    // A job comes when the sender is up. When a worker looks is not in the measurement, and timers
    // are not exact: some phase must do, of looks a second apart or a little less.
    let countdown = case.events[0]["countdown"].as_f64().unwrap_or_default();
    let up = measured.first().map_or(0.0, |first| first.1) - countdown;
    let (looks, phases): (&[f64], u32) =
        if case.settings.contains_key("transport") { (&[1.0, 0.985], 20) } else { (&[100.0], 200) };
    let late = case.settings["acks_late"] == true;
    let last = measured.last().map_or(0.0, |last| last.1);
    let until = last.max(whole("watched") as f64) + 0.3 - up;
    let text = |every: f64, first_look: f64| {
        format!(
            "horizon = \"{}s\"\n[clients.c]\nlayers = []\n\
             [workers.w]\ncount = {}\nprocesses = {workers}\n{ahead}\
             [traffic.t]\nkind = \"jobs\"\nworkers = \"w\"\nclient = \"c\"\narrivals = {{ at = [{}] }}\n\
             enqueue_delay = \"{countdown}s\"\n\
             queue = {{ preset = \"celery-redis-5.7\", task_acks_late = {late}, visibility_timeout = \"{}s\", \
             unacked_restore_interval = \"{every}s\", unacked_restore_throttle = 1, first_look = \"{first_look:.2}s\" }}\n\
             steps = [{{ name = \"s\", input_tokens = 1, latency = \"{takes}s\" }}]\n",
            until.ceil() as u64 + takes + 1,
            workers * slots,
            vec!["\"0s\""; case.events.len()].join(", "),
            whole("visibility_timeout"),
        )
    };
    let measured: Vec<Begin> = measured.into_iter().map(|(job, at)| (job, at - up)).collect();
    let mut nearest = Vec::new();
    for (every, phase) in looks.iter().flat_map(|every| (0..phases).map(move |phase| (*every, phase))) {
        let (begins, _) = match played(&text(every, every * f64::from(phase) / f64::from(phases)), until) {
            Ok(played) => played,
            Err(what) => return Ok(vec![what]),
        };
        // Which of several free processes asks first is chance, and so is the job that a begin is of; copies that wait
        // for their time in two processes begin at once or one after the other.
        let seen = |all: &[Begin]| if countdown > 0.0 && workers > 1 { all[..1].to_vec() } else { all.to_vec() };
        let differ = differences(&seen(&begins), &seen(&measured), 0.7, false);
        if differ.is_empty() && begins.len() == measured.len() {
            return Ok(Vec::new());
        }
        nearest.push((begins.len().abs_diff(measured.len()), differ));
    }
    nearest.sort_by_key(|(apart, _)| *apart);
    Ok(nearest.swap_remove(0).1)
}

fn bullmq(case: &Case) -> Held {
    let number = |key: &str| case.settings.get(key).and_then(Value::as_f64);
    let jobs = case.events.len();
    let workers = number("workers").unwrap_or(1.0) * number("concurrency").unwrap_or(1.0);
    let attempts = case.events[0]["opts"]["attempts"].as_u64().unwrap_or(1);
    let (mut guards, mut layers, mut answers, mut takes) = (String::new(), String::new(), String::new(), "1us");
    let mut layer = format!("preset = \"bullmq-6.7\", attempts = {attempts}");
    let mut queue = String::new();
    let script = |script: &str| format!("[provider.faults.f]\nrespond = {{ script = \"{script}\" }}\n");
    if let Some(limiter) = case.settings.get("limiter").filter(|limiter| limiter["max"] != 100) {
        guards = format!(
            "[guards.limiter]\nscope = \"global\"\npacer = {{ counts = \"requests\", amount = {}, per = \"{}ms\", \
             flow = \"steps\", aligned = \"first_request\" }}\n",
            limiter["max"], limiter["duration"]
        );
        layers = String::from("{ guard = \"limiter\" }, ");
    }
    match case.id.as_str() {
        "concurrency_2_job_takes_0.5" => takes = "500ms",
        "limiter_2_per_1s_retries_count" => {
            answers = String::from("[provider.faults.f]\nrespond = { status = 500, after = \"20ms\" }\n");
        }
        "manual_rate_limit_0.4_attempts_2" => {
            answers = script("429, 429, 429, 429, 500");
            layer += ", rateLimit = \"400ms\"";
        }
        "moved_to_delayed_attempts_2" => {
            answers = script("429, 429, 429, 500");
            layer += ", uncounted = [429], backoff_by_kind = [{ on = [429], backoff = { fixed = \"300ms\" } }]";
        }
        "manual_rate_limit_blocks_other_jobs" => {
            // The first job of all meets the limit, and the worker takes none for a while.
            answers = String::from(
                "[provider.faults.f]\nwindow = [\"0s\", \"100ms\"]\nrespond = { status = 429, after = \"0s\" }\n",
            );
            layer += ", rateLimit = \"800ms\"";
        }
        _ => {}
    }
    let mut pool = format!("workers = {workers}\n");
    if let Some(lock) = number("lockDuration") {
        let (every, most) = (&case.settings["stalledInterval"], &case.settings["maxStalledCount"]);
        // To the queue a worker that does not renew its lock is one that dies soon, and its run with it.
        pool = String::from("workers = \"w\"\n");
        guards = format!(
            "[workers.w]\ncount = {workers}\nprocesses = {workers}\n\
             crashes = {{ every = \"1s\", restart = \"50ms\" }}\n"
        );
        queue = format!(
            "queue = {{ preset = \"bullmq-6.7\", lockDuration = \"{lock}ms\", stalledInterval = \"{every}ms\", \
             maxStalledCount = {most} }}\n"
        );
        takes = "6s";
    }
    let text = format!(
        "horizon = \"20s\"\n{answers}{guards}[clients.c]\nlayers = [{layers}{{ {layer} }}]\n\
         [traffic.t]\nkind = \"jobs\"\n{pool}client = \"c\"\narrivals = {{ at = [{}] }}\n{queue}\
         steps = [{{ name = \"s\", input_tokens = 1, latency = \"{takes}\" }}]\n",
        vec!["\"0s\""; jobs].join(", "),
    );
    let (seen, end) = case.observed.split_at(case.observed.len() - 1);
    let mut measured: Vec<Begin> = seen
        .iter()
        .map(|begin| (begin["job"].as_u64().unwrap_or_default(), begin["t"].as_f64().unwrap_or_default()))
        .collect();
    // Who begins at one instant, to a tenth of a second, has no order.
    let in_order = |begins: &mut Vec<Begin>| {
        begins.sort_by(|a, b| (a.1 * 10.0).round().total_cmp(&(b.1 * 10.0).round()).then(a.0.cmp(&b.0)));
    };
    in_order(&mut measured);
    let ended = end[0]["final"].as_array().into_iter().flatten();
    let lost: Vec<u64> = ended.filter(|job| job["state"] == "failed").filter_map(|job| job["job"].as_u64()).collect();
    // In real time, to some hundredths of a second for each begin; a stalled job is seen at the next look.
    let apart = if queue.is_empty() { 0.15 } else { 1.0 };
    Ok(match played(&text, 19.0) {
        Ok((mut begins, failed)) => {
            in_order(&mut begins);
            let mut differences = differences(&begins, &measured, apart, true);
            if failed != lost {
                differences.push(format!("{failed:?} have failed, measured {lost:?}"));
            }
            differences
        }
        Err(what) => vec![what],
    })
}
