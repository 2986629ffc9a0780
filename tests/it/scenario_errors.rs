//! The exact words of every refusal. Each theme is one table of small changes to a sound scenario and one snapshot of
//! what is said about each: `LINE:COLUMN message`, and the hint below it.

#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are written by a tool")]

use std::fmt::Write as _;

use retrycast::document::Text;
use retrycast::scenario::{Opened, Refusal, Scenario, Source, load, text_of};
use snapbox::{assert_data_eq, file, str};

/// A sound scenario that has one of everything.
pub(super) const SOUND: &str = r#"title = "one of everything"
horizon = "1h"
origin = "overload"
[provider.limits.itpm]
counts = "input_tokens"
amount = "700k"
per = "1m"
refuse = { status = 429, after = "250ms", hint = { minimum = "6s" } }
[provider.faults.overload]
window = ["10m", "32m"]
probability = [["0m", 0], ["5m", 0.5]]
by_class = { live = 0.3 }
respond = { status = 529, after = "1s" }
[provider.faults.noise]
probability = "1%"
respond = { drop = true }
[guards.share]
pacer = { counts = "requests", amount = 10, per = "1s" }
scope = "global"
[guards.fuse]
breaker = { counts = "responses", of = [529], last = 20, threshold = "30%", open = "60s", when_open = "reject" }
[clients.batch]
layers = [
  { name = "sdk", preset = "anthropic-python-1.13", max_retries = 2 },
  { guard = "share" },
  { guard = "fuse" },
  { name = "again", max_attempts = 4, retry_on = "any", backoff = { fixed = "2s" } },
  { name = "queue", preset = "rq", max = 2 },
]
[clients.live]
layers = [{ name = "sdk", preset = "openai-python" }]
[traffic.report]
kind = "jobs"
client = "batch"
workers = 8
arrivals = [{ poisson = "4/min" }, { count = 9, shape = [["1m", 1], ["2m", 2]] }]
steps = [{ name = "write", input_tokens = "2k", latency = { exponential = { mean = "2s" } } }]
[traffic.live]
kind = "turns"
client = "live"
arrivals = { every = "2s" }
steps = [{ name = "turn", input_tokens = 100, latency = "1s" }]
[phases]
recovery = { after = "overload", for = "6m" }
[variants.calm]
provider.faults.overload.probability = 0
[variants.calmer]
extends = "calm"
clients.batch.layers.queue.max = 1
"#;

pub(super) fn no_trace(_: &str) -> Opened {
    Err("no such file".to_owned())
}

fn outcome(text: &str, variant: Option<&str>, sets: &[&str]) -> Result<Scenario, Refusal> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load(&Source { variant, sets: &sets, trace: &no_trace, ..Source::new("sound.toml", text) })
}

/// What is said about a text, one fault per line or two.
pub(super) fn said(text: &str, variant: Option<&str>, sets: &[&str]) -> String {
    let mut said = String::new();
    match outcome(text, variant, sets) {
        Ok(_) => said.push_str("accepted\n"),
        Err(Refusal::Whole { message, hint }) => {
            let _ = writeln!(said, "{message}\n  {}", hint.unwrap_or_default());
        }
        Err(Refusal::Faulty { text, faults, .. }) => {
            for fault in faults {
                let from = fault.place.from;
                let place = match fault.place.text {
                    Text::Patch(number) => format!("patch {number}:{from}"),
                    Text::Set(number) => format!("--set {number}:{from}"),
                    Text::File => {
                        let start = text[..from].rfind('\n').map_or(0, |at| at + 1);
                        format!("{}:{}", 1 + text[..from].matches('\n').count(), 1 + text[start..from].chars().count())
                    }
                };
                let _ = writeln!(said, "{place} {}\n  {}", fault.message, fault.hint.unwrap_or_default());
            }
        }
    }
    said
}

/// What is said about each change of the sound scenario, in which `old` must occur.
pub(super) fn table(changes: &[(&str, &str)]) -> String {
    table_of(changes, None)
}

fn table_of(changes: &[(&str, &str)], variant: Option<&str>) -> String {
    let mut table = String::new();
    for (old, new) in changes {
        assert!(SOUND.contains(old), "{old}");
        let _ = write!(table, "── {}\n{}", new.replace('\n', " ⏎ "), said(&SOUND.replacen(old, new, 1), variant, &[]));
    }
    table
}

#[test]
fn the_sound_scenario_and_its_variants_are_accepted() {
    for variant in [None, Some("base"), Some("calm"), Some("calmer")] {
        assert_eq!(said(SOUND, variant, &[]), "accepted\n");
    }
}

#[test]
fn numbers_without_sense_are_refused() {
    assert_data_eq!(
        table(&[
            ("\"1h\"", "\"\""),
            ("\"1h\"", "\"nan\""),
            ("\"1h\"", "\"inf\""),
            ("\"1h\"", "\"-1s\""),
            ("\"1h\"", "\"1e400s\""),
            ("\"1h\"", "\"99999999999999999999h\""),
            ("\"1h\"", "\"0s\""),
            ("\"1h\"", "3600"),
            ("\"1h\"", "nan"),
            ("\"1h\"", "1h"),
            ("\"700k\"", "0"),
            ("\"700k\"", "\"700K\""),
            ("\"700k\"", "-5"),
            ("\"700k\"", "1e6"),
            ("\"700k\"", "\"2000000G\""),
            ("\"1%\"", "98"),
            ("\"1%\"", "-0.5"),
            ("\"1%\"", "nan"),
            ("\"1%\"", "\"101%\""),
            ("\"4/min\"", "\"-3/s\""),
            ("\"4/min\"", "\"often\""),
            ("\"4/min\"", "4"),
            ("\"4/min\"", "\"1G/s\""),
            ("\"4/min\"", "\"2G/s\""),
            ("workers = 8", "workers = 0"),
            ("workers = 8", "workers = 200_000"),
            ("workers = 8", "workers = 99999999999999999999"),
            ("workers = 8", "workers = \"eight\""),
            ("status = 529", "status = 200"),
            ("max_attempts = 4", "max_attempts = 0"),
            ("max_attempts = 4", "max_attempts = \"many\""),
            ("max_attempts = 4", "max_attempts = 2_000_000"),
            ("max_retries = 2", "max_retries = -1"),
            ("last = 20", "last = 5000"),
            ("last = 20", "last = 20, minimum = 21"),
            ("threshold = \"30%\"", "threshold = 1"),
            ("mean = \"2s\"", "mean = \"0s\""),
        ]),
        file!["refusals/numbers.txt"]
    );
}

#[test]
fn names_that_match_nothing_are_refused_with_what_exists() {
    assert_data_eq!(
        table(&[
            ("horizon", "horizonn"),
            ("max_retries = 2", "max_retrys = 2"),
            ("workers = 8", "workers = 8\nwrokers = 9"),
            ("client = \"batch\"", "client = \"bach\""),
            ("client = \"batch\"", "client = \"nobody_has_this_name\""),
            ("{ guard = \"share\" }", "{ guard = \"sahre\" }"),
            ("anthropic-python-1.13", "anthropic-pyhton-1.13"),
            ("anthropic-python-1.13", "anthropic-python-1.12"),
            ("by_class = { live", "by_class = { lief"),
            ("origin = \"overload\"", "origin = \"overlaod\""),
            ("origin = \"overload\"", "origin = \"noise\""),
            ("after = \"overload\", for", "after = \"ovrload\", for"),
            ("after = \"overload\", for", "after = \"noise\", for"),
            ("extends = \"calm\"", "extends = \"clam\""),
            ("layers.queue.max", "layers.qeue.max"),
            ("max_attempts = 4", "max_retries = 3"),
            ("counts = \"input_tokens\"", "counts = \"tokens\""),
            ("kind = \"turns\"", "kind = \"turn\""),
            ("scope = \"global\"", "scope = \"globe\""),
            ("fixed = \"2s\"", "fixd = \"2s\""),
            ("exponential = { mean", "exponentail = { mean"),
            ("[guards.fuse]", "[guards.\"the fuse\"]"),
            ("name = \"again\"", "name = \"runs\""),
            ("name = \"again\"", "name = \"sdk\""),
            ("status = 529, ", "statuss = 529, "),
        ]),
        file!["refusals/names.txt"]
    );
    // The unpicked variant is applied only when it is picked.
    assert_data_eq!(
        said(&SOUND.replacen("layers.queue.max", "layers.qeue.max", 1), Some("calmer"), &[]),
        str![[r#"
49:22 no layer has this name
  layers are `sdk`, `share`, `fuse`, `again`, `queue`; did you mean `queue`?

"#]]
    );
}

#[test]
fn windows_and_points_out_of_order_are_refused() {
    assert_data_eq!(
        table(&[
            ("[\"10m\", \"32m\"]", "[\"22m\", \"0s\"]"),
            ("[\"10m\", \"32m\"]", "[\"10m\", \"10m\"]"),
            ("[\"10m\", \"32m\"]", "[\"10m\"]"),
            ("[\"10m\", \"32m\"]", "\"10m\""),
            ("[\"0m\", 0], [\"5m\", 0.5]", "[\"5m\", 0], [\"0m\", 0.5]"),
            ("[[\"0m\", 0], [\"5m\", 0.5]]", "[]"),
            ("[\"0m\", 0], [\"5m\", 0.5]", "[\"0m\", 7]"),
            ("shape = [[\"1m\", 1], [\"2m\", 2]]", "shape = [[\"2m\", 1], [\"1m\", 2]]"),
            ("shape = [[\"1m\", 1], [\"2m\", 2]]", "shape = [[\"2h\", 1]]"),
            ("shape = [[\"1m\", 1], [\"2m\", 2]]", "from = \"3m\", until = \"2m\""),
            ("shape = [[\"1m\", 1], [\"2m\", 2]]", "from = \"2h\""),
            ("{ every = \"2s\" }", "{ at = [\"5s\", \"1s\"] }"),
            ("{ every = \"2s\" }", "{ at = [] }"),
            ("{ every = \"2s\" }", "{ every = \"0s\" }"),
            ("{ every = \"2s\" }", "[]"),
            ("{ every = \"2s\" }", "{ every = \"2s\", count = 3 }"),
            ("{ every = \"2s\" }", "{}"),
            ("{ every = \"2s\" }", "{ trace = \"gone.csv\" }"),
            ("for = \"6m\"", "for = \"0s\""),
            ("{ after = \"overload\", for = \"6m\" }", "{ before = \"overload\", for = \"11m\" }"),
            ("{ after = \"overload\", for = \"6m\" }", "{ after = \"overload\" }"),
            ("{ after = \"overload\", for = \"6m\" }", "{ from = \"5m\", until = \"1m\" }"),
            ("{ after = \"overload\", for = \"6m\" }", "{ from = \"2h\", until = \"3h\" }"),
            ("[provider.faults.overload]", "[provider.faults.before]"),
        ]),
        file!["refusals/windows.txt"]
    );
}

#[test]
fn layers_that_make_no_stack_are_refused() {
    assert_data_eq!(
        table(&[
            (
                "max_attempts = 4, retry_on = \"any\", backoff = { fixed = \"2s\" }",
                "max_attempts = \"unlimited\", retry_on = \"any\""
            ),
            (
                "max_attempts = 4, retry_on = \"any\", backoff = { fixed = \"2s\" }",
                "max_attempts = \"unlimited\", retry_on = \"any\", backoff = { fixed = \"0s\" }, total_budget = \"10s\"",
            ),
            ("max_attempts = 4, retry_on = \"any\", backoff = { fixed = \"2s\" }", "preset = \"tenacity\""),
            (
                "max_retries = 2 },\n",
                "max_retries = 999_999 },\n  { name = \"more\", max_attempts = 1_000_000, retry_on = [500] },\n"
            ),
            ("preset = \"rq\", max = 2", "preset = \"rq\", kind = \"client\", max = 2"),
            ("preset = \"rq\", max = 2", "presett = \"rq\", max = 2"),
            ("preset = \"rq\", max = 2", "presett = \"rq\""),
            ("max_attempts = 4, retry_on = \"any\"", "max_attempts = 4"),
            ("max_attempts = 4, retry_on = \"any\"", "max_attempts = 4, retry_on = []"),
            ("max_attempts = 4, retry_on = \"any\"", "max_attempts = 4, retry_on = [700, \"6xx\"]"),
            ("name = \"again\", ", "name = \"again\", kind = \"client\", "),
            ("name = \"again\", ", "name = \"again\", kind = \"queue\", "),
            ("name = \"again\", ", "name = \"again\", resume = \"restart\", "),
            ("name = \"again\", ", ""),
            ("preset = \"rq\", ", "preset = \"rq\", timeout = \"1s\", holds_worker = true, "),
            ("preset = \"rq\", max = 2", "preset = \"rq\", interval = \"3m\""),
            ("preset = \"rq\", max = 2", "preset = \"rq\", max = 2, max_attempts = 3"),
            ("{ guard = \"share\" }", "{ guard = \"share\", preset = \"rq\" }"),
            ("{ guard = \"share\" }", "{ guard = \"share\", kind = \"queue\" }"),
            ("{ guard = \"share\" }", "{}"),
            ("{ guard = \"share\" }", "3"),
            ("backoff = { fixed = \"2s\" }", "backoff = { decorrelated = { initial = \"1s\" } }, jitter = \"full\""),
            ("backoff = { fixed = \"2s\" }", "budget_check = \"elapsed\""),
            ("backoff = { fixed = \"2s\" }", "hint = { obey = { cap = \"0s\" } }"),
            ("layers = [{ name = \"sdk\", preset = \"openai-python\" }]", "for_tests = true"),
        ]),
        file!["refusals/layers.txt"]
    );
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    assert_data_eq!(
        table(&[
            ("client = \"live\"", "client = \"batch\""),
            ("kind = \"turns\"", "kind = \"turns\"\nworkers = 3\nenqueue_delay = \"1s\""),
            ("workers = 8", "workers = 8\nprocesses = 9"),
            ("{ drop = true }", "{ drop = false }"),
            ("{ drop = true }", "{ hang = true, status = 500 }"),
            ("layers = [{ name = \"sdk\", preset = \"openai-python\" }]", "layers = [{ guard = \"share\" }]"),
            ("of = [529]", "of = [\"short_circuited\"]"),
            ("pacer = { counts", "breaker = { counts = \"results\" }\npacer = { counts"),
            ("per = \"1s\" }", "per = \"1s\", capacity = \"1ms\" }"),
            ("[traffic.live]", "[traffic.live]\nsteps = 3\n[traffic.other]"),
            ("{ name = \"turn\",", "{ name = \"turn\", input_tokens = 1, latency = \"1s\" }, { name = \"turn\","),
        ]),
        file!["refusals/parts.txt"]
    );
    let worker = SOUND.replacen("scope = \"global\"", "scope = \"worker\"", 1).replacen(
        "layers = [{ name = \"sdk\", preset = \"openai-python\" }]",
        "layers = [{ guard = \"share\" }]",
        1,
    );
    assert_data_eq!(
        said(&worker, None, &[]),
        str![[r#"
19:9 turns have no workers, and `live` uses this guard
  write scope = "class" or "client"

"#]]
    );
    let hang = SOUND.replacen("{ drop = true }", "{ hang = true }", 1).replacen(
        "layers = [{ name = \"sdk\", preset = \"openai-python\" }]",
        "layers = []",
        1,
    );
    assert_data_eq!(
        said(&hang, None, &[]),
        str![[r#"
16:20 a request of `live` would wait for ever: `live` has no timeout
  give a layer of the client a `timeout`, such as "60s"

"#]]
    );
}

#[test]
fn one_cause_is_one_fault() {
    let changes = [
        // A slip in the key whose value others need.
        ("horizon = \"1h\"", "horizn = \"1h\""),
        ("window = [", "windw = ["),
        ("window = [\"10m\"", "window = [\"10 parsecs\""),
        (
            "max_attempts = 4, retry_on = \"any\", backoff = { fixed = \"2s\" }",
            "preset = \"tenacity\", stop = { after_attempt = 0 }",
        ),
        ("max_attempts = 4, retry_on = \"any\", backoff", "max_attempts = \"unlimited\", retry_on = \"any\", bakcoff"),
        ("preset = \"openai-python\"", "preset = \"openai-pyton\", max_retries = 3, timeot = \"1s\""),
        ("kind = \"jobs\"", "kind = \"job\""),
        ("{ every = \"2s\" }", "{ evry = \"2s\", from = \"1s\" }"),
        ("[clients.live]", "[clients.lively]"),
        ("clients.batch.layers.queue.max", "clients.bach.layers.queue.max"),
    ];
    assert_data_eq!(table_of(&changes, Some("calmer")), file!["refusals/causes.txt"]);
}

#[test]
fn independent_faults_are_all_found_at_once() {
    let text = SOUND
        .replacen("horizon", "horizonn", 1)
        .replacen("client = \"live\"", "client = \"batch\"", 1)
        .replacen("amount = \"700k\"", "amount = nan", 1)
        .replacen("max_retries = 2", "max_retries = 2, colour = 3", 1);
    assert_data_eq!(
        said(&text, None, &["guards.fuse.breaker.last=0"]),
        str![[r#"
2:1 unknown key
  did you mean `horizon`?
6:10 must be a whole number, found NaN
  write a number such as 3 or "400k"
24:70 unknown key
  keys here are `name`, `off`, `kind`, `preset`, `max_retries`, `timeout`, `max_attempts`, `retry_on`, `obeys_should_retry`, `retries_by_kind`, `total_budget`, `budget_check` and 18 more
40:10 `batch` retries through a queue, and turns have none
  use a client without a layer of kind queue, or write `kind = "jobs"`
--set 0:25 must be at least 1, found 0
  write a number from 1 to 4096

"#]]
    );
}

#[test]
fn marks_of_other_editors_are_no_faults() {
    assert_eq!(said(&SOUND.replace('\n', "\r\n"), None, &[]), "accepted\n");
    assert_eq!(said(&format!("\u{feff}{SOUND}"), None, &[]), "accepted\n");
    let slip = SOUND.replacen("horizon", "horizn", 1).replace('\n', "\r\n");
    assert_data_eq!(
        said(&slip, None, &[]),
        str![[r#"
2:1 unknown key
  did you mean `horizon`?

"#]]
    );
}

#[test]
fn a_file_is_refused_for_what_it_lacks() {
    assert_data_eq!(
        said("", None, &[]),
        str![[r#"
1:1 lacks the key `clients`
  describe who sends requests as [clients.NAME]
1:1 lacks the key `horizon`
  write when the run ends, such as horizon = "2h"
1:1 lacks the key `traffic`
  describe who wants what as [traffic.NAME]

"#]]
    );
    assert_data_eq!(
        said("horizon = \"1h\"\n[clients]\n[traffic]\n", None, &[]),
        str![[r#"
3:1 has no traffic class
  describe one as [traffic.NAME]

"#]]
    );
    assert_data_eq!(
        said("horizon = \"1h\"\nclients = 3\ntraffic = []\nprovider = \"x\"\n", None, &[]),
        str![[r#"
2:11 must be a table of clients, found 3
  write { key = value, … }
3:11 must be a table of traffic classes, found an empty list
  write { key = value, … }
4:12 must be a table of limits and faults, found "x"
  write { key = value, … }

"#]]
    );
}

#[test]
fn faults_of_syntax_come_before_all_meaning() {
    for (text, words) in [
        (
            "[[[",
            str![[r#"
1:1 is never closed
  write the closing bracket

"#]],
        ),
        (
            "horizon = 22m\nclients = = 3\n[traffic\nx = 1",
            str![[r#"
1:11 string values must be quoted, expected literal string
  texts and numbers with a unit stand in quotes: "22m"
2:11 extra `=`, expected nothing
  a scenario is TOML: NAME = VALUE on a line of its own, and [NAME] above what belongs to a table
3:1 is never closed
  write the closing bracket

"#]],
        ),
        (
            "a = [1, 2\nb = 3\nc = 4\n",
            str![[r#"
1:5 is never closed
  write the closing bracket

"#]],
        ),
        (
            "a = 1\na = 2\n[b]\n[b]\n",
            str![[r#"
2:1 duplicate key
  `a` is there twice; keep one
4:2 duplicate key
  `b` is there twice; keep one

"#]],
        ),
        (
            "a = \"open\nb = 1\n",
            str![[r#"
1:10 invalid basic string, expected `"`
  a text begins and ends with a quote on the same line; a quote or a backslash inside it follows a backslash

"#]],
        ),
        (
            "\u{0}\u{1}",
            str![[r#"
1:1 invalid unquoted key, expected letters, numbers, `-`, `_`
  names are letters, digits, `-` and `_`; others stand in quotes

"#]],
        ),
    ] {
        assert_data_eq!(said(text, None, &[]), words);
    }
    assert_data_eq!(
        said(&format!("a = {}{}", "[".repeat(20_000), "]".repeat(20_000)), None, &[]),
        str![[r#"
1:29 is nested more than 24 levels deep
  a scenario needs no more than eight; look for a bracket that is not closed

"#]]
    );
    assert_data_eq!(
        said(&"a.".repeat(20_000), None, &[]),
        str![[r#"
1:50 is nested more than 24 levels deep
  a scenario needs no more than eight; look for a bracket that is not closed

"#]]
    );
    assert_data_eq!(
        said(&"a = 1\n".repeat(9 << 20), None, &[]),
        str![[r#"
1:1 is longer than 4 MiB (4194304 bytes), found 56623104 bytes
  put long lists of arrivals into a CSV file and name it as `trace`

"#]]
    );
}

#[test]
fn variants_are_refused_by_name() {
    assert_data_eq!(
        said(SOUND, Some("aclm"), &[]),
        str![[r#"
no variant `aclm` in `sound.toml`
  variants are `base`, `calm`, `calmer`; did you mean `calm`?

"#]]
    );
    let circle = SOUND.replacen("[variants.calm]", "[variants.calm]\nextends = [\"calmer\"]", 1);
    assert_data_eq!(
        said(&circle, None, &[]),
        str![[r#"
45:11 `calm` extends itself, by way of the variants that it extends
  take one `extends` out of the circle
48:11 `calmer` extends itself, by way of the variants that it extends
  take one `extends` out of the circle

"#]]
    );
    let base = SOUND.replacen("[variants.calm]", "[variants.base]\nvariants = {}\n[variants.calm]", 1);
    assert_data_eq!(
        said(&base, None, &[]),
        str![[r#"
45:11 `base` is the name of the unpatched file
  rename it, or write another `base`
46:1 a variant cannot change `variants`
  leave it out

"#]]
    );
}

#[test]
fn a_fault_in_a_set_points_at_the_command_line() {
    let cases: [&[&str]; 12] = [
        &["clients.nobody.x=1"],
        &["clients.batch.layers.sdk.max_retries=-1"],
        &["clients.batch.layers.0.max_retrys=1"],
        &["clients.batch.layers.9.max=1"],
        &["horizon"],
        &["=3"],
        &["horizon=soon", "origin=7"],
        &["horizon.x=3"],
        &["variants.calm.horizon=1"],
        &["traffic.report.kind=turns"],
        &["horizn=2h"],
        &["horizon=30m", "horizon=20m"],
    ];
    let mut table = String::new();
    for sets in cases {
        let _ = write!(table, "── {sets:?}\n{}", said(SOUND, None, sets));
    }
    assert_data_eq!(table, file!["refusals/sets.txt"]);
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let bytes: &[u8] = b"horizon = \"1h\"\n\xff\xfe";
    let error = String::from_utf8(bytes.to_vec()).unwrap_err().utf8_error();
    let Refusal::Whole { message, .. } = Refusal::not_utf8("s.toml", bytes, &error) else { unreachable!("no places") };
    assert_data_eq!(message, str!["scenario `s.toml` is not UTF-8 text: line 2, found byte 0xff"]);
}

#[test]
fn what_lies_past_the_end_of_the_run_is_refused_where_it_would_be_ignored() {
    let text = |origin: &str, arrivals: &str| {
        format!(
            "horizon = \"1m\"\norigin = {origin}\n[provider.faults.late]\nwindow = [\"2m\", \"3m\"]\n\
             respond = {{ status = 529 }}\n[clients.c]\nlayers = [{{ name = \"a\", max_attempts = 1, retry_on = \"any\" }}]\n\
             [traffic.t]\nkind = \"turns\"\nclient = \"c\"\narrivals = {arrivals}\n\
             steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n"
        )
    };
    let faults = |origin: &str, arrivals: &str, trace: &'static str| {
        let read = move |_: &str| text_of(trace);
        let (text, none) = (text(origin, arrivals), Vec::new());
        let source = Source { sets: &none, trace: &read, ..Source::new("late.toml", &text) };
        match load(&source) {
            Ok(_) => Vec::new(),
            Err(Refusal::Faulty { faults, .. }) => faults.into_iter().map(|fault| fault.message).collect(),
            Err(Refusal::Whole { message, .. }) => vec![message],
        }
    };
    let (at, trace) = (r#"{ at = ["0s", "59s"] }"#, r#"{ trace = "t.csv" }"#);
    // A window past the horizon is allowed, also as origin: a variant may have shortened the run.
    assert_eq!(faults("\"late\"", at, ""), [""; 0]);
    assert_eq!(faults("\"1m\"", at, ""), ["lies past the end of the run, at 1m"]);
    let past = r#"{ at = ["0s", "60s", "70s"] }"#;
    assert_eq!(faults("\"0s\"", past, ""), ["lies past the end of the run, at 1m"]);
    assert_eq!(faults("\"0s\"", trace, "t_s\n59\n61\n"), [""; 0]);
    assert_eq!(faults("\"0s\"", trace, "t_s\n61\n"), ["`t.csv` begins when the run is over, at 1m"]);
}
