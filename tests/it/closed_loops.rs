//! Closed loops against queueing theory, backlogs, and what a comparison may say of them.

use retrycast::explain::Sustain;
use retrycast::random::Seed;
use retrycast::scenario::Scenario;
use retrycast::sim::{Fact, simulate};

use super::stage::{Replicates, Run, facts, read, said, shipped};

/// Sessions that think before each task of one step, before so many servers or workers.
fn machine_repair(kind: &str, arrivals: &str, latency: &str) -> Scenario {
    let (capacity, workers) = match kind {
        "turns" => ("[provider.capacity]\nservers = 1\n", String::new()),
        _ => ("", "workers = 1\n".to_owned()),
    };
    read(&format!(
        "horizon = \"210m\"\n{capacity}[clients.plain]\nlayers = []\n\
         [traffic.loop]\nkind = \"{kind}\"\nclient = \"plain\"\n{workers}\
         arrivals = {arrivals}\n\
         steps = [{{ name = \"a\", input_tokens = 1, latency = {latency} }}]\n\
         [phases]\nsteady = {{ from = \"10m\", until = \"200m\" }}\n"
    ))
}

/// Throughput and response time of N sessions that think for Z before one server of mean service S, both exponential:
/// mean value analysis (Reiser and Lavenberg 1980), exact for this case, which is the machine repairman's, M/M/1//N.
fn mean_values(n: u32, z: f64, s: f64) -> (f64, f64) {
    let (mut throughput, mut response, mut queue) = (0.0, 0.0, 0.0);
    for n in 1..=n {
        response = s * (1.0 + queue);
        throughput = f64::from(n) / (z + response);
        queue = throughput * response;
    }
    (throughput, response)
}

#[test]
fn mean_values_are_those_worked_out_by_hand() {
    // By hand, N = 2, Z = 1, S = 1: states 0, 1, 2 at the server weigh 1, 2, 2, so that it is busy 4/5 of the time.
    let (throughput, response) = mean_values(2, 1.0, 1.0);
    assert!((throughput - 0.8).abs() < 1e-12 && (response - (2.0 / 0.8 - 1.0)).abs() < 1e-12);
}

#[test]
fn a_closed_loop_has_the_throughput_of_the_machine_repairmans_queue() {
    for (kind, sessions, z, s) in [("turns", 10, 20.0, 3.0), ("jobs", 5, 20.0, 3.0), ("turns", 20, 20.0, 3.0)] {
        let arrivals = format!("{{ sessions = {sessions}, think = {{ exponential = {{ mean = \"{z}s\" }} }} }}");
        let scenario = machine_repair(kind, &arrivals, &format!("{{ exponential = {{ mean = \"{s}s\" }} }}"));
        let (throughput, response) = mean_values(sessions, z, s);
        let replicates = Replicates::of(&scenario, 7, 40);
        // The 99 % interval of the mean over 40 replicates covers the formula: t(39) = 2.708.
        let covers = |path: &str, formula: f64| {
            let statistic = replicates.statistic(path);
            let half = 2.708 * statistic.sd.unwrap() / 40_f64.sqrt();
            assert!((statistic.mean - formula).abs() <= half, "{kind} {path}: {} ± {half}, {formula}", statistic.mean);
            assert!(half < 0.1 * formula, "± {half} is too wide to tell");
        };
        covers("phases.steady.classes.loop.offered", throughput * 190.0 * 60.0);
        covers("phases.steady.classes.loop.latency_s.mean", response);
    }
}

#[test]
fn sessions_think_respond_and_do_nothing_else() {
    // The law of interactive response times, N = X (R + Z), holds of any times: in a run of sessions that think for 7 s
    // and are answered after 3 s, each brings a task every 10 s, and the first one after 7 s.
    let scenario = machine_repair("turns", "{ sessions = 12, think = \"7s\" }", "\"250ms\"");
    let arrived = |scenario: &Scenario| -> Vec<f64> {
        let arrived = |fact: &Fact| match fact {
            Fact::TaskArrived { at, .. } => Some(at.as_secs_f64()),
            _ => None,
        };
        facts(scenario, 1).iter().filter_map(arrived).collect()
    };
    // By hand: 12 tasks wait for one server, and the last is answered 3 s after 7 s; then all are in step, 10 s apart,
    // 7.25 s a session, as long as 12 · 0.25 s is less than the think time.
    let times = arrived(&scenario);
    assert_eq!(times[..12], [7.0; 12]);
    assert_eq!(times[12..24], std::array::from_fn::<f64, 12, _>(|n| 14.25 + 0.25 * n as f64));
    assert_eq!(times[24..36], std::array::from_fn::<f64, 12, _>(|n| 21.5 + 0.25 * n as f64));

    let begins = "{ sessions = 12, think = \"7s\", start = { over = \"1m\", first = \"task\" } }";
    let spread = arrived(&machine_repair("turns", begins, "\"250ms\""));
    let firsts = &spread[..spread.iter().position(|at| *at >= 60.0).unwrap()];
    assert!(firsts[0] < 20.0 && firsts.windows(2).any(|pair| pair[1] - pair[0] > 1.0), "{firsts:?}");
}

#[test]
fn sessions_end_rest_and_begin_anew() {
    let count = |options: &str| {
        let arrivals = format!("{{ sessions = 3, think = \"10s\", {options} }}");
        Run::of(&machine_repair("turns", &arrivals, "\"1ms\""), 1).count("classes.loop.offered")
    };
    // By hand: three sessions of five tasks each; with `first = "task"` the same number.
    assert_eq!(count("tasks = 5"), 15);
    assert_eq!(count("tasks = 5, start = { first = \"task\" }"), 15);
    // By hand: the first task comes after 10 s, the next one would after the end of the loop.
    assert_eq!(count("tasks = 1, rest = \"1h\", until = \"20s\""), 3);
    // By hand: a round is 2 · 10 s and an hour; 210 minutes hold three whole ones and the first half of a fourth.
    assert_eq!(count("tasks = 2, rest = \"1h\""), 3 * 2 * 4);
    assert_eq!(count("from = \"3h\", until = \"3h1m\""), 3 * 5);
}

#[test]
fn a_task_that_fails_ends_the_wait_of_its_session() {
    let scenario = read(
        "horizon = \"1h\"\n[provider.faults.down]\nwindow = [\"10m\", \"20m\"]\nrespond = { status = 503, after = \"0s\" }\n\
         [clients.plain]\nlayers = []\n[traffic.loop]\nkind = \"turns\"\nclient = \"plain\"\n\
         arrivals = { sessions = 10, think = \"10s\" }\nsteps = [{ name = \"a\", input_tokens = 1, latency = \"10s\" }]\n",
    );
    let run = Run::of(&scenario, 1);
    // By hand: 10 sessions, one task every 20 s while it is answered, from 0:10 to 9:50; every 10 s while it fails at
    // once, from 10:10 to 19:50.
    let offered = run.count("phases.down.classes.loop.offered");
    assert_eq!((offered, run.count("phases.down.classes.loop.failed")), (10 * 59, 10 * 59));
    assert_eq!(run.count("phases.before.classes.loop.offered"), 10 * 30);
}

#[test]
fn the_world_of_a_closed_loop_is_the_same_under_two_policies() {
    let digests = |attempts: u32, sessions: u32| {
        let scenario = read(&format!(
            "horizon = \"1h\"\n[provider.faults.noise]\nprobability = 0.3\nrespond = {{ status = 503 }}\n\
             [clients.c]\nlayers = [{{ name = \"sdk\", max_attempts = {attempts}, retry_on = [503], backoff = {{ fixed = \"1s\" }} }}]\n\
             [traffic.loop]\nkind = \"turns\"\nclient = \"c\"\n\
             arrivals = {{ sessions = {sessions}, think = {{ exponential = {{ mean = \"10s\" }} }} }}\n\
             steps = [{{ name = \"a\", input_tokens = 1, latency = \"2s\" }}]\n"
        ));
        let outcome = simulate(&scenario, Seed(1));
        (outcome.digest, outcome.world_digest)
    };
    let [once, twice, more] = [digests(1, 5), digests(2, 5), digests(1, 6)];
    assert!(once.0 != twice.0 && once.1 == twice.1 && once.1 != more.1);
}

#[test]
fn a_backlog_is_there_when_the_run_begins() {
    let scenario = read(
        "horizon = \"1h\"\n[clients.plain]\nlayers = []\n[traffic.job]\nkind = \"jobs\"\nclient = \"plain\"\nworkers = 5\n\
         enqueue_delay = \"1m\"\narrivals = [{ backlog = 500 }, { at = [\"10m\"] }]\n\
         steps = [{ name = \"a\", input_tokens = 1, latency = \"2s\" }]\n",
    );
    let outcome = simulate(&scenario, Seed(1));
    // By hand: five of the 500 find a worker at once; the last is done after 100 rounds of 2 s, the other job a minute
    // and 2 s after it came.
    assert_eq!(outcome.timeline.classes[0].queue[0], 495);
    let run = Run::of(&scenario, 1);
    assert_eq!(run.count("classes.job.delivered"), 501);
    assert!((run.number("classes.job.latency_s.max") - 200.0).abs() < 2.0);
    let mean = (500.0 * 101.0 + 62.0) / 501.0;
    assert!((run.number("classes.job.latency_s.mean") - mean).abs() < 0.01 * mean);
}

#[test]
fn what_loops_and_backlogs_refuse() {
    let message = |arrivals: &str| {
        let text = format!(
            "horizon = \"1h\"\n[clients.plain]\nlayers = []\n[traffic.loop]\nkind = \"turns\"\nclient = \"plain\"\n\
             arrivals = {arrivals}\nsteps = [{{ name = \"a\", input_tokens = 1, latency = \"2s\" }}]\n"
        );
        said(&text)
            .map(|_| ())
            .unwrap_err()
            .into_iter()
            .map(|(message, hint)| format!("{message}; {hint}"))
            .collect::<Vec<_>>()
    };
    let is = |arrivals: &str, expected: &str| assert_eq!(message(arrivals), [expected.to_owned()], "{arrivals}");
    is(
        "{ sessions = 5 }",
        "lacks the key `think`; write how long a session thinks, such as { exponential = { mean = \"20s\" } }",
    );
    is(
        "{ sessions = 5, think = \"0s\" }",
        "must take time, found \"0s\"; write at least \"1ms\", also of sessions that hardly think",
    );
    is("{ sessions = 0, think = \"1s\" }", "must be at least 1, found 0; write a number from 1 to 1000000");
    is(
        "{ sessions = 5, think = \"1s\", rest = \"1h\" }",
        "comes after the last task of a session, and its tasks have no end; write `tasks`, too",
    );
    is(
        "{ sessions = 5, think = \"1s\", tasks = 0 }",
        "must be at least 1, found 0; write how many tasks a session has, such as 5",
    );
    is("{ sessions = 5, think = \"1s\", start = { ovr = \"1m\" } }", "unknown key; did you mean `over`?");
    is(
        "{ sessions = 1000000, think = \"1ms\" }",
        "makes more than 10^9 arrivals, about 3.6e12; lower the rate, or shorten the `horizon`",
    );
    is("{ backlog = 0 }", "must be at least 1, found 0; write a number from 1 to 1000000");
    is(
        "{ backlog = 5, think = \"1s\" }",
        "unknown key; keys here are `poisson`, `gamma`, `weibull`, `count`, `every`, `at`, `trace`, `sessions`, `backlog`",
    );
}

#[test]
fn few_busy_sessions_let_an_outage_end_that_many_quiet_ones_keep_alive() {
    // By hand: 140 · 3 · 0.1 / (20 + 3) is more than one server does, 10 · 3 · 0.1 / (1.2 + 3) less than it.
    let of = |variant: &str| Sustain::of(&shipped("few_or_many", variant, &[])).unwrap();
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    near(of("many").failing_load, 140.0 * 0.3 / 23.0);
    near(of("few").failing_load, 10.0 * 0.3 / 4.2);
    near(of("many_once").failing_load, 140.0 * 0.1 / 21.0);
    near(of("many").load, 140.0 * 0.1 / 20.1);
    near(of("few").load, 10.0 * 0.1 / 1.3);
    assert_eq!(["many", "few", "many_once"].map(|variant| of(variant).is_possible()), [true, false, false]);
    for (variant, stuck) in [("many", 1.0), ("few", 0.0), ("many_once", 0.0)] {
        let replicates = Replicates::of(&shipped("few_or_many", variant, &[]), 1, 10);
        assert_eq!(replicates.mean("capacity.stuck"), stuck, "{variant}");
    }
    // As long as all is well, both offer the same.
    let offered = |variant: &str| {
        Replicates::of(
            &shipped("few_or_many", variant, &["provider.faults.freeze.window=[\"9m50s\", \"9m59s\"]"]),
            1,
            10,
        )
        .mean("phases.before.classes.turn.offered")
    };
    let (many, few) = (offered("many"), offered("few"));
    assert!((many / few - 1.0).abs() < 0.08 && (3_900.0..4_400.0).contains(&few), "{many} {few}");
}
