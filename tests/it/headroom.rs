//! Headroom: the last safe value is the one that is worked out by hand where the world is even, and the incident's half is
//! safe only while live traffic needs less than half.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;

use retrycast::experiment::headroom::{Goal, Headroom, Looks, Question, Settings, Standing};
use retrycast::experiment::{Plan, Stopped, Terms};
use retrycast::random::Seed;
use retrycast::scenario::Scenario;
use retrycast::units::SimDuration;
use serde_json::Value;

use super::schema::departures;
use super::stage::read;

/// A world without chance: a limit, live turns that need 400 tokens a second, and a backlog behind a pacer that never ends.
struct Even {
    limit: fn(f64) -> f64,
    budget: fn(f64) -> f64,
    step: f64,
}

impl Settings for Even {
    type Error = String;

    fn scenario(&self, number: f64) -> Result<Scenario, String> {
        Ok(read(&format!(
            "horizon = \"40m\"\n[provider.limits.itpm]\ncounts = \"input_tokens\"\namount = {}\nper = \"1m\"\n\
             capacity = \"10s\"\n[guards.share]\nscope = \"global\"\npacer = {{ counts = \"input_tokens\", amount = {}, \
             per = \"1m\", capacity = \"4s\", when_empty = \"wait\" }}\n[clients.batch]\nlayers = [{{ name = \"sdk\", \
             max_attempts = 3, retry_on = \"any\", backoff = {{ fixed = \"5s\" }} }}, {{ guard = \"share\" }}]\n\
             [clients.live]\nlayers = []\n[traffic.job]\nkind = \"jobs\"\nclient = \"batch\"\nworkers = 20\n\
             arrivals = {{ every = \"2s\" }}\nsteps = [{{ name = \"a\", input_tokens = 2000, latency = \"1s\" }}]\n\
             [traffic.live]\nkind = \"turns\"\nclient = \"live\"\narrivals = {{ every = \"10s\" }}\n\
             steps = [{{ name = \"a\", input_tokens = 4000, latency = \"1s\" }}]\n",
            (self.limit)(number).round(),
            (self.budget)(number).round()
        )))
    }

    fn between(&self, one: f64, other: f64) -> Option<f64> {
        let steps = (f64::midpoint(one, other) / self.step).floor();
        let middle = steps * self.step;
        ((one - other).abs() > 1.5 * self.step).then_some(middle)
    }

    fn text(&self, number: f64) -> String {
        format!("{number:.4}")
    }

    fn halted(&self, number: f64, why: Stopped) -> String {
        format!("{number}: {why:?}")
    }
}

fn found(settings: &Even, grid: &[f64], low_is_safe: bool, present: f64, threads: Option<usize>) -> Headroom {
    let question = Question {
        goal: Goal { target: 0.01, within: Some(SimDuration::from_mins(10)), days: 0.8, confidence: 0.8 },
        looks: Looks { first: 8, most: 1 },
        live: vec!["live".to_owned()],
        background: vec!["job".to_owned()],
        limit: 0,
        low_is_safe: Some(low_is_safe),
        present: Some(present),
    };
    let never = AtomicBool::new(false);
    let plan = Plan { threads, ..Plan::new(Seed(1), Terms::new(&never)) };
    Headroom::run(settings, &question, grid, plan).unwrap()
}

#[test]
fn in_a_world_without_chance_the_safe_budget_is_the_limit_less_what_live_needs() {
    // By hand: 60,000 a minute, live takes 4,000 every 10 s, which is 40 %: 60 % are left. One percent more takes 10 tokens
    // a second from a bucket of 10,000, which is empty within the 40 minutes.
    let even = Even { limit: |_| 60_000.0, budget: |share| 60_000.0 * share, step: 0.01 };
    let found = found(&even, &[0.1, 0.3, 0.5, 0.7, 0.9], true, 0.5, None);
    let edge = found.edge();
    let number = |place: Option<usize>| found.points[place.unwrap()].number;
    assert!((number(edge.safe) - 0.60).abs() < 1e-9, "{}", number(edge.safe));
    assert!((number(edge.next) - 0.61).abs() < 1e-9 && edge.next == edge.not_safe && edge.again.is_empty());
    assert!(found.is_yes() && found.unnested == [0]);
    // The flows leave nothing at 60 %, and what does not vary needs no margin.
    assert!((found.bound.fluid.as_ref().unwrap().0 - 0.60).abs() < 1e-9);
    assert!((found.bound.chance.as_ref().unwrap().0 - 0.60).abs() < 1e-9);
    // By hand: all days are the same, so each value is met by all eight or by none; 0.2^(1/8) = 0.818.
    for point in &found.points {
        let met = &point.cases[0];
        let is_safe = point.standing(None) == Standing::Safe;
        assert_eq!((met.kept, is_safe), if point.number < 0.605 { (8, true) } else { (0, false) });
        assert!(!is_safe || (met.lower - 0.817_765).abs() < 1e-6, "{}", met.lower);
    }
}

#[test]
fn in_a_world_without_chance_the_limit_to_buy_is_what_both_need() {
    // By hand: 24,000 a minute of live and 18,000 of the pacer.
    let even = Even { limit: |amount| amount, budget: |_| 18_000.0, step: 600.0 };
    let found = found(&even, &[30_000.0, 39_000.0, 48_000.0, 60_000.0], false, 60_000.0, None);
    assert_eq!(found.safe().unwrap().number, 42_000.0);
    assert_eq!(found.points[found.edge().next.unwrap()].number, 41_400.0);
    assert!((found.bound.fluid.as_ref().unwrap().0 - 42_000.0).abs() < 1e-6);
}

#[test]
fn threads_change_nothing_of_a_search() {
    let even = Even { limit: |_| 60_000.0, budget: |share| 60_000.0 * share, step: 0.05 };
    let of = |threads| format!("{:?}", found(&even, &[0.2, 0.9], true, 0.5, Some(threads)));
    assert_eq!(of(1), of(3));
}

fn output(args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrycast"));
    command.args(args).current_dir(folder).env_remove("COLUMNS").output().unwrap()
}

/// A folder with the storm.
fn stage() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["report_storm.toml", "shared_limit.toml", "one_layer.toml"] {
        std::fs::copy(Path::new("scenarios").join(name), folder.path().join(name)).unwrap();
    }
    folder
}

const STORM: [&str; 4] = ["headroom", "report_storm.toml", "--variant", "after"];

/// Asks for less than the default, so that 26 days show something.
const SMALL: [&str; 6] = ["--days", "90%", "--confidence", "80%", "--replicates", "26"];

/// The exit code and the document.
fn document(args: &[&str]) -> (Option<i32>, Value) {
    let folder = stage();
    let output = output(&[&STORM, &SMALL[..], args, &["--format", "json"]].concat(), folder.path());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

fn standing<'a>(document: &'a Value, text: &str, case: &str) -> &'a str {
    let points = document["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["text"] == text).unwrap_or_else(|| panic!("no {text}"));
    point["cases"][case]["standing"].as_str().unwrap()
}

/// Two background classes of which each has a pacer, and live turns that need 40 %; nothing is left to chance.
const TWO: &str = r#"
horizon = "40m"
provider.limits.itpm = { counts = "input_tokens", amount = "60k", per = "1m", capacity = "10s" }
guards.reports = { scope = "global", pacer = { counts = "input_tokens", amount = "18k", per = "1m", capacity = "4s" } }
guards.mails = { scope = "global", pacer = { counts = "input_tokens", amount = "6k", per = "1m", capacity = "4s" } }
clients.reports.layers = [{ name = "sdk", max_attempts = 3, retry_on = "any", backoff = { fixed = "5s" } }, { guard = "reports" }]
clients.mails.layers = [{ name = "sdk", max_attempts = 3, retry_on = "any", backoff = { fixed = "5s" } }, { guard = "mails" }]
clients.live.layers = []

[traffic.report]
kind = "jobs"
client = "reports"
workers = 20
arrivals = { every = "2s" }
steps = [{ name = "a", input_tokens = 2000, latency = "1s" }]

[traffic.mail]
kind = "jobs"
client = "mails"
workers = 20
arrivals = { every = "2s" }
steps = [{ name = "a", input_tokens = 1000, latency = "1s" }]

[traffic.live]
kind = "turns"
client = "live"
arrivals = { every = "10s" }
steps = [{ name = "a", input_tokens = 4000, latency = "1s" }]
"#;

#[test]
fn several_pacers_are_one_budget_and_each_class_says_what_it_pays() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("two.toml"), TWO).unwrap();
    let small = ["--days", "80%", "--confidence", "80%", "--replicates", "13", "--format", "json"];
    let found = |args: &[&str]| -> Value {
        let output = output(&[&["headroom", "two.toml"], args, &small[..]].concat(), folder.path());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // By hand: 40 % are live, so both together may have 60 %; if the reports keep their 30 %, the mails may have 30 %.
    let both = found(&["--over", "budget=40%..80%:3"]);
    assert_eq!(both["edges"]["all"]["safe"]["text"], "60 %");
    assert_eq!(both["paths"], serde_json::json!(["guards.reports.pacer.amount", "guards.mails.pacer.amount"]));
    let costs = both["points"][0]["cases"]["calm"]["background"].as_object().unwrap();
    assert_eq!(costs.keys().collect::<Vec<_>>(), ["report", "mail"]);
    let one = found(&["--background", "mails", "--over", "budget=10%..50%:3"]);
    assert_eq!(one["edges"]["all"]["safe"]["text"], "30 %");
}

#[test]
fn the_incidents_half_is_not_safe_where_live_needs_53_percent() {
    let (code, document) = document(&["--over", "budget=40%,50%"]);
    assert_eq!((code, &document["answer"]), (Some(1), &Value::from(false)));
    assert_eq!(standing(&document, "50 %", "storm"), "unsafe");
    assert_eq!(standing(&document, "40 %", "storm"), "safe");
    assert_eq!(document["edges"]["all"]["safe"]["text"], "40 %");
    // By hand: 58.7 · 6,300 / 700,000; 350,000 more than that; the bucket lasts 35.3 minutes.
    let pressure = |key: &str| document["pressure"][key].as_f64().unwrap();
    assert!((pressure("live_share") - 0.528_3).abs() < 1e-6 && (pressure("background_share") - 0.5).abs() < 1e-9);
    assert!((pressure("bucket_lasts_s") - 2_120.1).abs() < 0.2);
    let schema = output(&["schema", "headroom"], Path::new("."));
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert_eq!(schema["title"], document["format"]);
    let wrong = departures(&schema, &schema, &document, "");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_same_half_is_safe_where_live_needs_less() {
    // By hand: 44 · 6,300 / 700,000 = 39.6 %.
    let live = "traffic.live.arrivals={ poisson = \"44/min\" }";
    let (code, document) = document(&["--over", "budget=50%,100%", "--set", live]);
    assert_eq!((code, standing(&document, "50 %", "storm")), (Some(0), "safe"));
}

#[test]
fn refusals_say_what_to_write_and_leave_nothing_behind() {
    let folder = stage();
    let said = |args: &[&str]| {
        let before = std::fs::read_dir(folder.path()).unwrap().count();
        let output = output(args, folder.path());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{args:?}: {said}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before, "{args:?}");
        said.trim_start_matches("error: ").replace('\n', " ")
    };
    for (args, expected) in [
        (
            &["headroom", "report_storm.toml"][..],
            "no budget holds the background of `report_storm.toml` back: its pacer",
        ),
        (&["headroom", "one_layer.toml"], "nobody in `one_layer.toml` is live: no class is of kind \"turns\" hint: "),
        (&[&STORM[..], &["--live", "lives"]].concat(), "no class `lives` in `report_storm.toml` hint: "),
        (&[&STORM[..], &["--limit", "rpm"]].concat(), "no limit `rpm` in `report_storm.toml` hint: limits are `itpm`"),
        (&[&STORM[..], &["--background", "shares"]].concat(), "no pacer `shares` hint: pacers are `share`"),
        (&[&STORM[..], &["--over", "budgets"]].concat(), "`--over`: `budgets` is nothing that moves hint: "),
        (&[&STORM[..], &["--over", "budget=1s..5s"]].concat(), "`--over budget`: is a share of the limit hint: "),
        (&[&STORM[..], &["--over", "horizon=true,false"]].concat(), "`--over horizon`: has values without an order"),
        (&[&STORM[..], &["--replicates", "20"]].concat(), "20 seeds can't show it: even if all of them met the target"),
    ] {
        let found = said(args);
        assert!(found.starts_with(expected), "{args:?}: {found}");
        assert!(found.contains("hint: "), "{found}");
    }
}
