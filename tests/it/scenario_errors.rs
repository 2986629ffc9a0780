//! The exact words of every refusal. Each theme is one table of small changes to a sound scenario and one snapshot of
//! what is said about each: `LINE:COLUMN message`, and the hint below it.

#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are written by a tool")]

use std::fmt::Write as _;

use proptest::prelude::*;
use retrycast::document::Text;
use retrycast::scenario::{Refusal, Scenario, Source, load};
use snapbox::{assert_data_eq, str};

/// A sound scenario that has one of everything.
const SOUND: &str = r#"title = "one of everything"
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

fn no_trace(_: &str) -> Result<String, String> {
    Err("no such file".to_owned())
}

fn outcome(text: &str, variant: Option<&str>, sets: &[&str]) -> Result<Scenario, Refusal> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load(&Source { variant, sets: &sets, trace: &no_trace, ..Source::new("sound.toml", text) })
}

/// What is said about a text, one fault per line or two.
fn said(text: &str, variant: Option<&str>, sets: &[&str]) -> String {
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
fn table(changes: &[(&str, &str)]) -> String {
    let mut table = String::new();
    for (old, new) in changes {
        assert!(SOUND.contains(old), "{old}");
        let _ = write!(table, "── {}\n{}", new.replace('\n', " ⏎ "), said(&SOUND.replacen(old, new, 1), None, &[]));
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
        str![[r#"
── ""
2:11 is not a duration, found ""
  write a number and a unit, such as "250ms", "90s" or "1h30m"
── "nan"
2:11 is not a duration, found "nan"
  write a number and a unit, such as "250ms", "90s" or "1h30m"
── "inf"
2:11 must end, found "inf"
  write the longest that is meant, at most "366d"
── "-1s"
2:11 a duration cannot be negative, found "-1s"
  write it without the sign
── "1e400s"
2:11 is not a duration, found "1e400s"
  write a number and a unit, such as "250ms", "90s" or "1h30m"
── "99999999999999999999h"
2:11 is longer than 366d, found "99999999999999999999h"
  write at most 366 days
── "0s"
2:11 must be longer than zero, found "0s"
  write a duration such as "1s"
── 3600
2:11 must be a duration with a unit, found 3600
  write "3600s"
── nan
2:11 must be a duration, found NaN
  write a number and a unit, such as "250ms", "90s" or "1h30m"
── 1h
2:11 string values must be quoted, expected literal string
  texts and numbers with a unit stand in quotes: "1h"
── 0
6:10 must be at least 1, found 0
  write a number from 1 to 1000000000000000
── "700K"
6:10 is not a quantity, found "700K"
  k, M and G are 10^3, 10^6 and 10^9; did you mean "700k"?
── -5
6:10 must be at least 1, found -5
  write a number from 1 to 1000000000000000
── 1e6
6:10 must be a whole number, found 1000000.0
  write a number such as 3 or "400k"
── "2000000G"
6:10 is larger than 10^15, found "2000000G"
  write a smaller number
── 98
15:15 must lie in 0..=1, found 98
  write 0.98 or "98%"
── -0.5
15:15 must lie in 0..=1, found -0.5
  write a share such as 0.3 or "30%"
── nan
15:15 must lie in 0..=1, found NaN
  write a share such as 0.3 or "30%"
── "101%"
15:15 must lie in 0%..=100%, found "101%"
  write at most "100%"
── "-3/s"
36:25 a rate cannot be negative, found "-3/s"
  write events per time, such as "6.4/min", "20/s" or "100/h"
── "often"
36:25 is not a rate, found "often"
  write events per time, such as "6.4/min", "20/s" or "100/h"
── 4
36:25 must be a rate with a unit, found 4
  write "4/s"
── "1G/s"
36:12 makes more than 10^9 arrivals, about 3.6e12
  lower the rate, or shorten the `horizon`
── "2G/s"
36:25 is faster than 10^9 per second, found "2G/s"
  write a smaller number
── workers = 0
35:11 must be at least 1, found 0
  write a number from 1 to 100000
── workers = 200_000
35:11 must be at most 100000, found 200000
  write a number from 1 to 100000
── workers = 99999999999999999999
35:11 must be a whole number, found 1e20
  write a number such as 3 or "400k"
── workers = "eight"
35:11 is not a quantity, found "eight"
  write a number such as 1500, "400k" or "1.5M"
── status = 200
13:22 must be at least 400, found 200
  write a number from 400 to 599
── max_attempts = 0
27:36 must be at least 1, found 0
  1 means no retry; the first try counts
── max_attempts = "many"
27:36 must be a number of attempts, found "many"
  write a number such as 4, or "unlimited"
── max_attempts = 2_000_000
27:36 must be at most 1000000, found 2000000
  write a number from 1 to 1000000
── max_retries = -1
24:67 must be at least 0, found -1
  write a number from 0 to 999999
── last = 5000
21:54 must be at most 4096, found 5000
  write a number from 1 to 4096
── last = 20, minimum = 21
21:68 must be at most 20, found 21
  write a number from 1 to 20
── threshold = 1
21:70 must be below 1, found 1
  a breaker opens above its threshold, and no share is above 1
── mean = "0s"
37:84 must be above zero, found "0s"
  write a duration such as "1.5s"

"#]]
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
        str![[r#"
── horizonn
2:1 unknown key
  did you mean `horizon`?
── max_retrys = 2
24:53 unknown key
  did you mean `max_retries`?
── workers = 8 ⏎ wrokers = 9
36:1 unknown key
  did you mean `workers`?
── client = "bach"
34:10 no client has this name
  clients are `batch`, `live`; did you mean `batch`?
── client = "nobody_has_this_name"
34:10 no client has this name
  clients are `batch`, `live`
── { guard = "sahre" }
25:13 no guard has this name
  guards are `share`, `fuse`; did you mean `share`?
── anthropic-pyhton-1.13
24:28 no preset has this name, found "anthropic-pyhton-1.13"
  presets are `anthropic-python`, `openai-python`, `tenacity`, `rq`; did you mean `anthropic-python`?
── anthropic-python-1.12
24:28 no version of `anthropic-python` has this number, found "anthropic-python-1.12"
  versions are `anthropic-python-0.25`, `anthropic-python-1.13`, `anthropic-python-2.14`; did you mean `anthropic-python-1.13`?
── by_class = { lief
12:14 no class has this name
  classes are `report`, `live`
── origin = "overlaod"
3:10 no fault has this name
  faults are `overload`, `noise`; did you mean `overload`?
── origin = "noise"
3:10 `noise` has no window
  give the fault a `window`, or write times instead of its name
── after = "ovrload", for
44:22 no fault has this name
  faults are `overload`, `noise`; did you mean `overload`?
── after = "noise", for
44:22 `noise` has no window
  give the fault a `window`, or write times instead of its name
── extends = "clam"
48:11 no variant has this name
  variants are `calm`, `calmer`; did you mean `calm`?
── layers.qeue.max
accepted
── max_retries = 3
27:21 is a word of `anthropic-python`, not a general key
  name that preset, or write `max_attempts`
── counts = "tokens"
5:10 is none of the known words, found "tokens"
  write one of `requests`, `input_tokens`, `output_tokens`, `total_tokens`
── kind = "turn"
39:8 is none of the known words, found "turn"
  write one of `jobs`, `turns`; did you mean `turns`?
── scope = "globe"
19:9 is none of the known words, found "globe"
  write one of `worker`, `process`, `class`, `client`, `global`; did you mean `global`?
── fixd = "2s"
27:69 unknown key
  did you mean `fixed`?
── exponentail = { mean
37:61 unknown key
  did you mean `exponential`?
── [guards."the fuse"]
20:9 is no name, found "the fuse"
  names are made of letters, digits, `_` and `-`, at most 64 of them
26:13 no guard has this name
  guards are `share`, `the fuse`
── name = "runs"
27:12 `runs` is a word of the results
  choose another name
── name = "sdk"
27:12 `sdk` is the name of another layer of this client
  give it a `name` of its own
── statuss = 529, 
13:13 unknown key
  did you mean `status`?

"#]]
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
        str![[r#"
── ["22m", "0s"]
10:10 ends before it begins
  write the start first: ["0s", "22m"]
── ["10m", "10m"]
10:10 is empty: it ends when it begins
  write a later end, or leave the fault out
── ["10m"]
10:10 must have two elements, found 1
  write the beginning and the end, such as ["10m", "32m"]
── "10m"
10:10 must be a list of two, found "10m"
  write the beginning and the end, such as ["10m", "32m"]
── ["5m", 0], ["0m", 0.5]
11:28 is not later than the point before it
  write the points in ascending time
── []
11:15 is empty
  list at least one of the points
── ["0m", 7]
11:23 must lie in 0..=1, found 7
  write 0.07 or "7%"
── shape = [["2m", 1], ["1m", 2]]
36:70 is not later than the point before it
  write the points in ascending time
── shape = [["2h", 1]]
36:57 has no weight inside the window
  write a point with a weight above 0 inside it
── from = "3m", until = "2m"
36:70 ends before it begins
  write an `until` that is later than `from`
── from = "2h"
36:56 begins when the run is over, at 1h
  begin earlier, or lengthen the `horizon`
── { at = ["5s", "1s"] }
41:26 is earlier than the instant before it
  write the instants in ascending order
── { at = [] }
41:19 is empty
  list at least one of the instants
── { every = "0s" }
41:22 must be longer than zero, found "0s"
  write a duration such as "1s"
── []
41:12 is empty
  list at least one of the arrival processes
── { every = "2s", count = 3 }
41:14 says `every` beside `count`
  keep one of them
── {}
41:12 says none of the things that it could
  give one of `poisson`, `count`, `every`, `at`, `trace`
── { trace = "gone.csv" }
41:22 cannot be read: no such file
  the path is relative to the scenario's file
── for = "0s"
44:40 must be longer than zero, found "0s"
  write a duration such as "1s"
── { before = "overload", for = "11m" }
44:41 begins before the run does: the fault begins at 10m
  write at most "10m"
── { after = "overload" }
44:12 lacks the key `for`
  write how long the phase lasts, such as "6m"
── { from = "5m", until = "1m" }
44:35 ends before it begins
  write an `until` that is later than `from`
── { from = "2h", until = "3h" }
44:1 begins when the run is over, at 1h
  begin earlier, or lengthen the `horizon`
── [provider.faults.before]
3:10 no fault has this name
  faults are `before`, `noise`
9:18 `before` is the name of a default phase
  call the fault by what happens, such as `overload`
44:22 no fault has this name
  faults are `before`, `noise`

"#]]
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
        str![[r#"
── max_attempts = "unlimited", retry_on = "any"
27:36 retries without end and without wait: for ever at one instant
  limit the attempts, give it a wait, or a `total_budget`
── max_attempts = "unlimited", retry_on = "any", backoff = { fixed = "0s" }, total_budget = "10s"
27:36 retries without end and without wait, and some refusals take no time
  limit the attempts, or give it a wait
── preset = "tenacity"
27:30 retries without end and without wait: for ever at one instant
  limit the attempts, give it a wait, or a `total_budget`
── max_retries = 999_999 }, ⏎   { name = "more", max_attempts = 1_000_000, retry_on = [500] }, ⏎ 
25:35 multiplies to more than 10^9 attempts, found 1000000000000
  lower the attempts of a layer
── preset = "rq", kind = "client", max = 2
28:3 a layer of kind client stands outside `again`, of kind decorator
  layers are listed innermost first: client, then decorator, then one queue
── presett = "rq", max = 2
28:21 unknown key
  did you mean `preset`?
── presett = "rq"
28:21 unknown key
  did you mean `preset`?
── max_attempts = 4
27:3 lacks the key `retry_on`
  write "any" or a list such as [429, "5xx", "timeout", "connection"]
── max_attempts = 4, retry_on = []
27:50 is empty
  list at least one of the failures
── max_attempts = 4, retry_on = [700, "6xx"]
27:51 must be at most 599, found 700
  write a number from 400 to 599
27:56 names no failure, found "6xx"
  write statuses from 400 to 599, "4xx", "5xx", "500..599", "timeout", "connection" or "short_circuited"
── name = "again", kind = "client", 
accepted
── name = "again", kind = "queue", 
28:3 a second queue stands outside `again`
  layers are listed innermost first: client, then decorator, then one queue
── name = "again", resume = "restart", 
27:30 only a queue puts jobs back
  leave it out, or write `kind = "queue"`
── 
27:3 has no name
  give it a `name`, such as "app"
── preset = "rq", timeout = "1s", holds_worker = true, 
28:46 a queue has no timeout
  give the layers inside it one
28:67 a job that waits in the queue holds no worker
  leave `holds_worker` out
── preset = "rq", interval = "3m"
28:36 says nothing without `max`
  say how many further runs there are
── preset = "rq", max = 2, max_attempts = 3
28:36 says `max_attempts` in the words of `rq` too
  keep one of them
── { guard = "share", preset = "rq" }
25:22 says `preset` beside `guard`
  keep one of them
── { guard = "share", kind = "queue" }
25:29 a guard cannot be a queue
  write "client" or "decorator"
── {}
25:3 describes no layer
  give it a `preset`, a `guard`, or `max_attempts` and `retry_on`
── 3
25:3 must be a table that describes a layer, found 3
  write { preset = … } or { guard = … }
── backoff = { decorrelated = { initial = "1s" } }, jitter = "full"
27:115 is added to a backoff that is random by itself
  leave `jitter` out
── budget_check = "elapsed"
27:57 says nothing without `total_budget`
  write the budget too
── hint = { obey = { cap = "0s" } }
27:81 must be longer than zero, found "0s"
  write a duration such as "1s"
── for_tests = true
30:1 lacks the key `layers`
  write `layers = []` for a client that never retries

"#]]
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
        str![[r#"
── client = "batch"
40:10 `batch` retries through a queue, and turns have none
  use a client without a layer of kind queue, or write `kind = "jobs"`
── kind = "turns" ⏎ workers = 3 ⏎ enqueue_delay = "1s"
40:1 only jobs wait for workers; this class has turns
  leave it out, or write `kind = "jobs"`
41:1 only jobs wait for workers; this class has turns
  leave it out, or write `kind = "jobs"`
── workers = 8 ⏎ processes = 9
36:13 must be at most the number of workers, found 9
  a process without a worker does nothing
── { drop = false }
16:20 must be true, found false
  leave the fault out where it does not happen
── { hang = true, status = 500 }
16:13 says `hang` beside `status`
  keep one of them
── layers = [{ guard = "share" }]
accepted
── of = ["short_circuited"]
21:40 counts what a breaker itself refuses
  leave out "short_circuited"
── breaker = { counts = "results" } ⏎ pacer = { counts
19:1 says `pacer` beside `breaker`
  keep one of them
── per = "1s", capacity = "1ms" }
18:68 must be long enough to hold one, found "1ms"
  write the time in which the bucket fills, such as "1m"
── [traffic.live] ⏎ steps = 3 ⏎ [traffic.other]
38:1 lacks the key `arrivals`
  write when its tasks arrive, such as { poisson = "4/min" }
38:1 lacks the key `client`
  write the name of the client that it uses
38:1 lacks the key `kind`
  write "jobs" (they wait for a worker) or "turns" (they start at once)
39:9 must be a list of steps, found 3
  write [ … ] around the steps
── { name = "turn", input_tokens = 1, latency = "1s" }, { name = "turn",
42:63 `turn` is the name of another step
  give it another name

"#]]
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
  

"#]],
        ),
        (
            "\u{0}\u{1}",
            str![[r#"
1:1 invalid unquoted key, expected letters, numbers, `-`, `_`
  

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
1:1 is longer than 4 MiB, found 54 MiB
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
    assert_data_eq!(
        table,
        str![[r#"
── ["clients.nobody.x=1"]
--set 0:8 no client has this name
  clients are `batch`, `live`
── ["clients.batch.layers.sdk.max_retries=-1"]
--set 0:37 must be at least 0, found -1
  write a number from 0 to 999999
── ["clients.batch.layers.0.max_retrys=1"]
--set 0:23 unknown key
  did you mean `max_retries`?
── ["clients.batch.layers.9.max=1"]
--set 0:21 no layer has this name
  layers are `sdk`, `share`, `fuse`, `again`, `queue`
── ["horizon"]
--set 0:0 has no `=`
  write --set PATH=VALUE, such as --set horizon=30m
── ["=3"]
--set 0:0 has an empty name in its path
  write --set PATH=VALUE, such as --set horizon=30m
── ["horizon=soon", "origin=7"]
--set 0:8 is not a duration, found "soon"
  write a number and a unit, such as "250ms", "90s" or "1h30m"
--set 1:7 must be a duration with a unit, found 7
  write "7s"
── ["horizon.x=3"]
--set 0:0 has no keys: it is a string
  end the path at `horizon`
── ["variants.calm.horizon=1"]
--set 0:0 variants are applied before `--set`
  set the value itself; it is set in whichever variant is picked
── ["traffic.report.kind=turns"]
35:1 only jobs wait for workers; this class has turns
  leave it out, or write `kind = "jobs"`
── ["horizn=2h"]
--set 0:0 unknown key
  did you mean `horizon`?
── ["horizon=30m", "horizon=20m"]
44:1 begins when the run is over, at 20m
  begin earlier, or lengthen the `horizon`

"#]]
    );
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let bytes: &[u8] = b"horizon = \"1h\"\n\xff\xfe";
    let error = String::from_utf8(bytes.to_vec()).unwrap_err().utf8_error();
    let Refusal::Whole { message, .. } = Refusal::not_utf8("s.toml", bytes, &error) else { unreachable!("no places") };
    assert_data_eq!(message, str!["scenario `s.toml` is not UTF-8 text: line 2, found byte 0xff"]);
}

fn shipped() -> Vec<(String, String)> {
    let mut files: Vec<_> = std::fs::read_dir("scenarios").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "toml")).map(read).collect()
}

#[test]
fn every_variant_of_every_shipped_scenario_is_accepted() {
    for (path, text) in shipped() {
        let variants = load(&Source::new(&path, &text)).unwrap().variants;
        for variant in &variants {
            let source = Source { variant: Some(variant), ..Source::new(&path, &text) };
            assert!(load(&source).is_ok(), "{path} {variant}");
        }
    }
}

/// Loads and renders; the value does not matter, that there is one does.
fn survives(text: &str, sets: &[String]) {
    let source = Source { sets, trace: &no_trace, ..Source::new("any.toml", text) };
    if let Err(refusal) = load(&source) {
        assert!(refusal.count() > 0);
        for colour in [false, true] {
            assert!(!retrycast::cli::refusal::render(&refusal, colour).is_empty());
        }
    }
}

/// Pieces from which mutations are made: what the grammar knows, in places where it does not.
const PIECES: [&str; 24] = [
    "=",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "\n",
    "\"",
    "'",
    "\"\"\"",
    "nan",
    "-inf",
    "1e999",
    "\"-1s\"",
    "\"366d\"",
    "0",
    "true",
    "\"unlimited\"",
    "[]",
    "{}",
    "\u{0}",
    "é",
    "99999999999999999999",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}", set in "\\PC{0,40}") {
        survives(&text, std::slice::from_ref(&set));
        survives(SOUND, &[set]);
    }

    #[test]
    fn arbitrary_toml_like_text_never_panics(text in "([a-c]{1,2}|[\\[\\]{}=.,\"'#\n 0-9])*") {
        survives(&text, &[]);
    }

    #[test]
    fn mutations_of_shipped_scenarios_never_panic(
        which in 0..4_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, 0..PIECES.len()), 1..4),
    ) {
        let mut texts: Vec<String> = shipped().into_iter().map(|(_, text)| text).collect();
        texts.push(SOUND.to_owned());
        let mut text = texts[which % texts.len()].clone();
        for (at, length, piece) in edits {
            let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let from = boundary(at.index(text.len().max(1)));
            let to = boundary(from + length).max(from);
            text.replace_range(from..to, PIECES[piece]);
        }
        survives(&text, &[]);
    }

    #[test]
    fn values_swapped_within_a_scenario_never_panic(which in 0..4_usize, a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let mut texts: Vec<String> = shipped().into_iter().map(|(_, text)| text).collect();
        texts.push(SOUND.to_owned());
        let text = &texts[which % texts.len()];
        // Every `= value` up to the end of its line or the next comma is a candidate.
        let values: Vec<&str> = text.split(" = ").skip(1).map(|rest| rest.split([',', '\n', '}']).next().unwrap_or("")).collect();
        let (old, new) = (values[a.index(values.len())], values[b.index(values.len())]);
        survives(&text.replacen(&format!(" = {old}"), &format!(" = {new}"), 1), &[]);
    }
}
