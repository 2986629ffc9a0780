//! Faults that come in episodes, in several windows, from a file, for some steps and for some sizes: who is struck when,
//! by hand or in closed form.

use retrycast::random::Seed;
use retrycast::scenario::{Opened, Refusal, Scenario, Source, load, text_of};
use retrycast::sim::{Fact, simulate};

use super::stage::facts;

/// The files beside the scenario.
fn file(path: &str) -> Opened {
    let text = match path {
        "outages.csv" => "id,from,to,probability\n1,60,120,\n2,3m,4m,25%\n3,300,360,0.5\n",
        "certain.csv" => "from,to\n60,120\n3m,4m\n",
        "ramp.csv" => "time,probability\n0,0\n5m,1\n",
        "late.csv" => "from,to\n60,120\n100,130\n",
        "back.csv" => "from,to\n60,50\n",
        "odd.csv" => "time,probability\n0,0.1\n60,1.5\n",
        "unsorted.csv" => "time,probability\n60,0.1\n0,0.5\n",
        "when.csv" => "when,probability\n0,0.1\n",
        "empty.csv" => "time,probability\n",
        _ => return Err("no such file or folder".to_owned()),
    };
    text_of(text)
}

/// Turns each second for ten minutes, of two steps; a client that makes one attempt.
fn read(fault: &str) -> Result<Scenario, Refusal> {
    read_with(fault, "max_attempts = 1, retry_on = \"any\"")
}

/// The same with another layer.
fn read_with(fault: &str, layer: &str) -> Result<Scenario, Refusal> {
    let text = format!(
        r#"horizon = "10m"
{fault}
[clients.one]
layers = [{{ name = "app", {layer}, timeout = "30s" }}]
[traffic.work]
kind = "turns"
client = "one"
arrivals = {{ every = "1s" }}
steps = [
  {{ name = "plan", input_tokens = 50000, output_tokens = 100, max_tokens = 400, latency = "1ms" }},
  {{ name = "write", input_tokens = 150000, output_tokens = 900, latency = "1ms" }},
]
[traffic.live]
kind = "turns"
client = "one"
arrivals = {{ every = "1s" }}
steps = [{{ name = "turn", input_tokens = 100, output_tokens = 10, latency = "1ms" }}]
"#
    );
    load(&Source { trace: &file, ..Source::new("faults.toml", &text) })
}

fn scenario(fault: &str) -> Scenario {
    read(fault).unwrap_or_else(|refusal| panic!("{fault}: {refusal:#?}"))
}

/// What a request was sent for and what it was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    class: u16,
    step: u8,
    /// In whole seconds.
    sent: u64,
    status: u16,
}

/// Every request of a run, in order of its end.
fn requests(scenario: &Scenario, seed: u64) -> Vec<Seen> {
    let facts = facts(scenario, seed);
    let ended = facts.iter().filter_map(|fact| match fact {
        Fact::RequestEnded { class, step, sent, answer, .. } => {
            Some(Seen { class: *class, step: *step, sent: sent.as_nanos() / 1_000_000_000, status: answer.status })
        }
        _ => None,
    });
    ended.collect()
}

/// The seconds at which requests of the live class were sent that were answered so.
fn seconds(seen: &[Seen], status: u16) -> Vec<u64> {
    seen.iter().filter(|seen| seen.class == 1 && seen.status == status).map(|seen| seen.sent).collect()
}

fn said(fault: &str) -> String {
    match read(fault) {
        Err(Refusal::Faulty { faults, .. }) => {
            let lines =
                faults.into_iter().map(|fault| format!("{}\n  {}\n", fault.message, fault.hint.unwrap_or_default()));
            lines.collect()
        }
        other => panic!("{fault}: {other:#?}"),
    }
}

const ALWAYS: &str = "[provider.faults.x]\nrespond = { status = 529 }\n";

#[test]
fn an_episode_strikes_all_that_come_in_it_and_nobody_else() {
    // By hand: on from second 0 for 10 s, off for 20 s, and so on for ten minutes; one turn at each whole second.
    let fault = format!("{ALWAYS}episodes = {{ on = \"10s\", off = \"20s\", starts = \"on\" }}\n");
    let struck = seconds(&requests(&scenario(&fault), 1), 529);
    assert_eq!(struck, (0..600).filter(|second| second % 30 < 10).collect::<Vec<u64>>());
    // In the window from second 60 to 120 the episodes begin with it.
    let fault = format!(
        "{ALWAYS}window = [\"60s\", \"120s\"]\nepisodes = {{ on = \"10s\", off = \"20s\", starts = \"off\" }}\n"
    );
    let struck = seconds(&requests(&scenario(&fault), 1), 529);
    assert_eq!(struck, (80..90).chain(110..120).collect::<Vec<u64>>());
}

#[test]
fn an_episode_is_the_same_for_every_policy_and_retries_in_it_are_lost() {
    // On and off for 20 s each on average, drawn: with three attempts 1 s apart (a refusal takes 100 ms) a turn fails where its three requests all
    // lie in episodes. Had each request been struck by itself with the same share of one half, one in eight would fail.
    let episodes =
        "episodes = { on = { exponential = { mean = \"20s\" } }, off = { exponential = { mean = \"20s\" } } }\n";
    let once = scenario(&format!("{ALWAYS}{episodes}"));
    let layer = "max_attempts = 3, retry_on = \"any\", backoff = { fixed = \"900ms\" }";
    let thrice = read_with(&format!("{ALWAYS}{episodes}"), layer).unwrap();
    let (mut lost, mut turns) = (0, 0);
    for seed in 0..20 {
        let (few, many) = (requests(&once, seed), requests(&thrice, seed));
        let struck = seconds(&few, 529);
        // Whoever retries meets the same path: no second is both on and off.
        for seen in many.iter().filter(|seen| seen.class == 1 && seen.sent < 590) {
            assert_eq!(struck.contains(&seen.sent), seen.status == 529, "seed {seed}: {seen:?}");
        }
        assert_eq!(simulate(&once, Seed(seed)).world_digest, simulate(&thrice, Seed(seed)).world_digest);
        turns += 590;
        lost += (0..590).filter(|second| (0..3).all(|n| struck.contains(&(second + n)))).count();
    }
    // An alternating process of rates μ to leave and λ = μ to return, seen 2 s apart without a change in between:
    // P = ½ exp(−2 / 20) = 0.4524.
    let share = lost as f64 / f64::from(turns);
    assert!((share - 0.4524).abs() < 0.06, "{share}");
}

#[test]
fn outside_of_episodes_a_fault_strikes_otherwise() {
    let fault = format!(
        "{ALWAYS}probability = 0.8\nepisodes = {{ on = \"30s\", off = \"30s\", starts = \"on\", otherwise = \"10%\" }}\n"
    );
    let (mut on, mut off) = (0, 0);
    for seed in 0..10 {
        let struck = seconds(&requests(&scenario(&fault), seed), 529);
        on += struck.iter().filter(|second| *second % 60 < 30).count();
        off += struck.iter().filter(|second| *second % 60 >= 30).count();
    }
    // 3,000 draws each, of 0.8 and of 0.1: within four standard deviations, 88 and 66.
    assert!((on as f64 - 2_400.0).abs() < 88.0 && (off as f64 - 300.0).abs() < 66.0, "{on} and {off}");
}

#[test]
fn faults_share_a_path_and_each_answers_in_its_own_way() {
    let fault = "[provider.faults.dark]\nby_class = { work = 0 }\nrespond = { status = 503 }\nepisodes = { as = \"x\" }\n\
                 [provider.faults.x]\nclasses = [\"work\"]\nrespond = { status = 529 }\n\
                 episodes = { on = { exponential = { mean = \"20s\" } }, off = { exponential = { mean = \"40s\" } } }\n";
    let seen = requests(&scenario(fault), 5);
    let of = |class: u16, status: u16| -> Vec<u64> {
        let own = seen.iter().filter(|seen| seen.class == class && seen.step == 0 && seen.status == status);
        own.map(|seen| seen.sent).collect()
    };
    assert!(of(1, 503).len() > 20);
    assert_eq!(of(1, 503), of(0, 529));
    assert!(of(0, 503).is_empty() && of(1, 529).is_empty());
}

#[test]
fn several_windows_are_phases_of_their_own_and_nothing_happens_between_them() {
    for windows in ["[[\"1m\", \"2m\"], [\"3m\", \"4m\"]]", "{ file = \"certain.csv\" }"] {
        let scenario = scenario(&format!("{ALWAYS}windows = {windows}\n"));
        let struck = seconds(&requests(&scenario, 1), 529);
        assert_eq!(struck, (60..120).chain(180..240).collect::<Vec<u64>>(), "{windows}");
        let outcome = simulate(&scenario, Seed(1));
        let phases: Vec<&str> = outcome.plan.phases().iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(phases, ["before", "x", "x-2", "recovery", "after"]);
    }
}

#[test]
fn a_window_of_a_file_may_say_how_likely_the_fault_is_in_it() {
    let scenario = scenario(&format!("{ALWAYS}windows = {{ file = \"outages.csv\" }}\n"));
    let mut counts = [0_usize; 3];
    for seed in 0..10 {
        let struck = seconds(&requests(&scenario, seed), 529);
        for (count, window) in counts.iter_mut().zip([60..120, 180..240, 300..360]) {
            *count += struck.iter().filter(|second| window.contains(*second)).count();
        }
        assert!(
            struck
                .iter()
                .all(|second| (60..120).contains(second) || (180..240).contains(second) || (300..360).contains(second))
        );
    }
    // 600 draws in each window: of 1, of 0.25 and of 0.5, within four standard deviations.
    assert_eq!(counts[0], 600);
    assert!(counts[1].abs_diff(150) < 43 && counts[2].abs_diff(300) < 49, "{counts:?}");
}

#[test]
fn a_probability_of_a_file_is_a_line_between_its_points() {
    let from_file = format!("{ALWAYS}probability = {{ file = \"ramp.csv\" }}\n");
    let written = format!("{ALWAYS}probability = [[\"0s\", 0], [\"5m\", 1]]\n");
    assert_eq!(requests(&scenario(&from_file), 3), requests(&scenario(&written), 3));
    assert_eq!(scenario(&from_file), scenario(&written));
}

#[test]
fn a_fault_strikes_the_steps_and_the_sizes_that_it_names() {
    // The steps by their tokens: plan 50,000 in, 100 out, at most 400; write 150,000 in, 900 out; turn 100 in, 10 out.
    let steps = |line: &str| {
        let mut struck: Vec<(u16, u8)> = requests(&scenario(&format!("{ALWAYS}{line}\n")), 1)
            .iter()
            .filter(|seen| seen.status == 529)
            .map(|seen| (seen.class, seen.step))
            .collect();
        struck.sort_unstable();
        struck.dedup();
        struck
    };
    let (plan, write, turn) = ((0, 0), (0, 1), (1, 0));
    // Plan fails, and write is never reached.
    assert_eq!(steps(""), [plan, turn]);
    assert_eq!(steps("steps = [\"write\"]"), [write]);
    assert_eq!(steps("steps = [\"turn\", \"write\"]"), [write, turn]);
    assert_eq!(steps("input_tokens = { above = \"100k\" }"), [write]);
    assert_eq!(steps("input_tokens = { above = 100, at_most = 150000 }"), [plan]);
    assert_eq!(steps("input_tokens = { above = 150000 }"), []);
    assert_eq!(steps("output_tokens = { at_most = 100 }"), [plan, turn]);
    // Who asks for no `max_tokens` is spared.
    assert_eq!(steps("max_tokens = { at_most = 400 }"), [plan]);
    assert_eq!(steps("by_input_tokens = [[100, 0], [\"100k\", 0], [150000, 1]]"), [write]);
    assert_eq!(steps("classes = [\"live\"]"), [turn]);
}

#[test]
fn a_hang_is_refused_where_it_can_strike_whoever_waits_for_ever() {
    let with = |layer: &str, rest: &str| {
        read_with(&format!("[provider.faults.x]\nrespond = {{ hang = true }}\n{rest}"), layer)
    };
    let waits = "max_attempts = 1, retry_on = \"any\"";
    let timeless = |rest: &str| {
        let text = format!("[provider.faults.x]\nrespond = {{ hang = true }}\n{rest}\n");
        let timeless = format!(
            "horizon = \"1m\"\n{text}[clients.one]\nlayers = [{{ name = \"app\", {waits} }}]\n\
            [traffic.work]\nkind = \"turns\"\nclient = \"one\"\narrivals = {{ every = \"1s\" }}\n\
            steps = [{{ name = \"plan\", input_tokens = 1, latency = \"1s\" }},\n\
            {{ name = \"write\", input_tokens = 1, latency = \"1s\", with = {{ app = {{ timeout = \"9s\" }} }} }}]\n"
        );
        load(&Source::new("hang.toml", &timeless)).is_ok()
    };
    assert!(with(waits, "").is_ok(), "its client has a timeout");
    assert!(!timeless("") && !timeless("steps = [\"plan\"]"));
    assert!(timeless("steps = [\"write\"]"), "the step that can be struck has a timeout of its own");
}

#[test]
fn a_larger_request_is_struck_more_often() {
    // By hand: 50,000 of 200,000 tokens is 0.25 of the way from 0 to 0.8, times 0.5: 0.1.
    let fault = format!("{ALWAYS}probability = 0.5\nsteps = [\"plan\"]\nby_input_tokens = [[0, 0], [\"200k\", 0.8]]\n");
    let scenario = scenario(&fault);
    let struck: usize =
        (0..10).map(|seed| requests(&scenario, seed).iter().filter(|seen| seen.status == 529).count()).sum();
    // 6,000 draws, within four standard deviations.
    assert!(struck.abs_diff(600) < 93, "{struck}");
}

#[test]
fn what_is_wrong_with_the_terms_of_a_fault_is_said() {
    for (line, expected) in [
        ("episodes = { on = \"0s\", off = \"1s\" }", "is often no time at all"),
        ("episodes = { on = \"1s\" }", "lacks the key `off`"),
        ("episodes = { on = \"1s\", off = \"1s\", starts = \"onn\" }", "did you mean"),
        ("episodes = { as = \"y\" }", "no fault has this name"),
        ("episodes = { as = \"x\" }", "`x` describes no episodes"),
        ("episodes = { as = \"x\", on = \"1s\" }", "is said by the fault whose episodes these are"),
        ("window = [\"1m\", \"2m\"]\nwindows = [[\"1m\", \"2m\"]]", "says `windows` beside `window`"),
        ("windows = []", "list at least one of the windows"),
        ("windows = [[\"1m\", \"3m\"], [\"2m\", \"4m\"]]", "begins before the window before it ends"),
        ("windows = [[\"1m\", \"3m\", 2]]", "must lie in 0..=1, found 2"),
        ("windows = { file = \"none.csv\" }", "cannot be read: no such file or folder"),
        (
            "windows = { file = \"late.csv\" }",
            "line 3 of `late.csv`: `from` begins before the window before it ends, found \"100\"",
        ),
        ("windows = { file = \"back.csv\" }", "line 2 of `back.csv`: `to` is not later than `from`, found \"50\""),
        ("windows = { file = \"ramp.csv\" }", "`ramp.csv` has no column \"from\""),
        (
            "probability = [[\"0s\", 0], [\"1m\", 1]]\nwindows = { file = \"outages.csv\" }",
            "changes over time, and a window says a probability of its own",
        ),
        (
            "probability = { file = \"odd.csv\" }",
            "line 3 of `odd.csv`: `probability` is no share from 0 to 1, found \"1.5\"",
        ),
        (
            "probability = { file = \"unsorted.csv\" }",
            "line 3 of `unsorted.csv`: `time` is not later than the row before it, found \"0\"",
        ),
        ("probability = { file = \"when.csv\" }", "`when.csv` has no column \"time\""),
        ("probability = { file = \"empty.csv\" }", "`empty.csv` has no rows"),
        ("probability = { fiel = \"odd.csv\" }", "unknown key"),
        ("steps = [\"wriet\"]", "no step has this name"),
        ("steps = [\"wriet\"]", "did you mean `write`?"),
        ("steps = []", "list at least one of the steps"),
        ("input_tokens = {}", "says neither `above` nor `at_most`"),
        ("input_tokens = { above = 5, at_most = 5 }", "holds no size"),
        ("by_input_tokens = [[5, 0.1], [5, 0.2]]", "is not larger than the point before it"),
        ("by_input_tokens = []", "list at least one of the points"),
        ("classes = [\"lvie\"]", "did you mean `live`?"),
    ] {
        let said = said(&format!("{ALWAYS}{line}\n"));
        assert!(said.contains(expected), "{line}:\n{said}");
    }
    let named = "[provider.faults.x-2]\nrespond = { status = 503 }\n";
    let said = said(&format!("{ALWAYS}windows = [[\"1m\", \"2m\"], [\"3m\", \"4m\"]]\n{named}"));
    assert!(said.contains("`x-2` is a fault, and the name of a later window of `x`"), "{said}");
}

#[test]
fn servers_may_be_fewer_in_several_windows() {
    let scenario = scenario(
        "[provider.capacity]\nservers = 4\n[provider.faults.half]\nwindows = { file = \"certain.csv\" }\nservers = 2\n",
    );
    let servers = &scenario.provider.capacity.as_ref().unwrap().servers;
    let at = |second: u64| servers.at(retrycast::units::SimTime::from_nanos(second * 1_000_000_000));
    assert_eq!([59, 60, 119, 120, 180, 240].map(at), [4, 2, 2, 4, 2, 4]);
}
