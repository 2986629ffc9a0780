//! The general keys of a retry layer from outside: what a file says is what the policy does, what contradicts itself is
//! refused, what could go on for ever at one instant is found, and variants replace whole what has one of several forms.

use std::fmt::Write as _;

use retrycast::policy::header::{HeaderRule, HintGrammar, HintHeader, Take};
use retrycast::policy::retry::{Deadline, DeadlineCheck, HandsBack};
use retrycast::policy::retry_budget::{Quota, Refund};
use retrycast::policy::{
    Backoff, Classification, Code, HintRule, Jitter, Outcome, OutcomeSet, RetryBudget, RetryPolicy, Scope, StatusSet,
    Timeouts,
};
use retrycast::scenario::{Refusal, Scenario, Source, load};
use retrycast::units::SimDuration;
use snapbox::{assert_data_eq, file};

/// A scenario with one layer of these keys.
fn scenario(layer: &str) -> String {
    format!(
        r#"horizon = "1h"
[clients.one]
layers = [
  {{ name = "app", {layer} }},
]
[traffic.work]
kind = "turns"
client = "one"
arrivals = {{ every = "2s" }}
steps = [{{ name = "turn", input_tokens = 100, latency = "1s" }}]
"#
    )
}

fn read(text: &str, variant: Option<&str>, sets: &[String]) -> Result<Scenario, Refusal> {
    load(&Source { variant, sets, ..Source::new("one.toml", text) })
}

fn policy(layer: &str) -> RetryPolicy {
    let scenario = read(&scenario(layer), None, &[]).unwrap_or_else(|refusal| panic!("{layer}\n{refusal:#?}"));
    scenario.clients[0].elements()[0].role.policy().cloned().expect("a layer has a policy")
}

/// What is said about a layer of these keys: the column, the message and the hint of each fault.
fn said(layer: &str) -> String {
    match read(&scenario(layer), None, &[]) {
        Ok(_) => "accepted\n".to_owned(),
        Err(Refusal::Whole { message, .. }) => message,
        Err(Refusal::Faulty { text, faults, .. }) => {
            let start = |from: usize| text[..from].rfind('\n').map_or(0, |at| at + 1);
            let line = |fault: &retrycast::document::Fault| {
                let from = fault.place.from;
                let found = text[from..fault.place.to].lines().next().unwrap_or_default();
                let hint = fault.hint.as_deref().unwrap_or_default();
                format!("{}: {found}\n  {}\n  {hint}\n", from - start(from) + 1, fault.message)
            };
            faults.iter().map(line).collect()
        }
    }
}

fn table(layers: &[&str]) -> String {
    let mut table = String::new();
    for layer in layers {
        let _ = write!(table, "── {layer}\n{}", said(layer));
    }
    table
}

const EVERY_KEY: &str = r#"
    max_attempts = 7,
    retry_on = { failures = ["5xx", "timeout"], with_hint = [429], codes = ["slow_down"], never = ["spent"] },
    obeys_should_retry = true,
    retries_by_kind = [{ on = ["connection"], max = 2 }, { on = ["stream_failed"], max = 0 }],
    total_budget = "90s", budget_check = "elapsed_cut", stops_at = "both",
    budget = { quota = { cost = 14 }, scope = "process" },
    backoff = { first_at_once = { exponential = { initial = "1s", factor = 1.5, cap = "20s" } } },
    jitter = { add_share = "50%" },
    backoff_by_kind = [{ on = [503], backoff = { fixed = "5s" } }],
    longest_wait = "25s", wait_cap = "20s",
    hint = { near = { beyond = "5s" } }, hint_on = [429, 503], hint_resets_backoff = true,
    hint_headers = [{ header = "x-amz-retry-after", zero = "at_once" }],
    timeout = "30s", timeout_shrinks = true, holds_worker = false,
    hands_back = { exhausted = "response" }"#;

/// A sound scenario whose one layer says every key.
pub(super) fn every_key() -> String {
    scenario(&EVERY_KEY.replace('\n', ""))
}

#[test]
fn every_general_key_reaches_the_policy() {
    let second = SimDuration::from_secs;
    let statuses = |statuses| Classification { statuses, ..Classification::default() };
    let outcomes = |outcomes| Classification { outcomes, ..Classification::default() };
    let expected = RetryPolicy {
        retry_on: Classification {
            statuses: StatusSet::EMPTY.with_range(500, 599),
            statuses_with_hint: StatusSet::EMPTY.with(429),
            outcomes: OutcomeSet::TIMEOUTS,
            codes: vec![Code::named("slow_down")],
            never: vec![Code::named("spent")],
            obeys_should_retry: true,
        },
        max_attempts: Some(7),
        retries_by_kind: vec![
            (outcomes(OutcomeSet::CONNECTION), 2),
            (outcomes(OutcomeSet::EMPTY.with(Outcome::StreamFailed)), 0),
        ],
        deadline: Some(Deadline { total: second(90), check: DeadlineCheck::ElapsedCut }),
        stops_at_both: true,
        backoff: Backoff::FirstAtOnce(Box::new(Backoff::Exponential {
            initial: second(1),
            factor: 1.5,
            cap: second(20),
        })),
        jitter: Jitter::AddShare(0.5),
        backoff_by_kind: vec![(statuses(StatusSet::EMPTY.with(503)), Backoff::Fixed(second(5)))],
        longest_wait: Some(second(25)),
        wait_cap: Some(second(20)),
        hint: HintRule::Near { beyond: second(5) },
        hint_on: StatusSet::EMPTY.with(429).with(503),
        hint_resets_backoff: true,
        budget: Some(RetryBudget::Quota(Quota {
            capacity: 500,
            cost: 14,
            costs: Vec::new(),
            refund_thousandths: 1_000,
            retried_refund: Refund::LastRetry,
            deposit: 0,
            leaves: 0,
            refill_thousandths: 0,
        })),
        budget_scope: Scope::Process,
        timeout: Timeouts::each(second(30)),
        timeout_shrinks: true,
        holds_worker: false,
        uncounted: StatusSet::EMPTY,
        holds_queue: StatusSet::EMPTY,
        hands_back: HandsBack { unretried: StatusSet::EMPTY, exhausted: StatusSet::ERRORS },
    };
    let client = &read(&every_key(), None, &[]).unwrap().clients[0];
    assert_eq!(client.elements()[0].role.policy(), Some(&expected));
    let rule = HeaderRule { zero: Take::AtOnce, ..HeaderRule::lenient(HintHeader::AmzRetryAfterMs) };
    assert_eq!(client.grammar(), &HintGrammar { rules: vec![rule] });
}

#[test]
fn a_layer_that_says_little_does_little() {
    assert_eq!(
        policy("max_attempts = 3, retry_on = \"any\""),
        RetryPolicy { max_attempts: Some(3), ..RetryPolicy::ONCE }
    );
}

#[test]
fn the_innermost_layer_that_reads_headers_is_the_one_that_reads() {
    let text = scenario("max_attempts = 2, retry_on = [429]").replace(
        "},\n]",
        r#"},
  { name = "mid", max_attempts = 2, retry_on = [429], hint_headers = [{ header = "retry-after-ms" }] },
  { name = "out", max_attempts = 2, retry_on = [429], hint_headers = [{ header = "retry-after" }] },
]"#,
    );
    let rules = HintGrammar { rules: vec![HeaderRule::lenient(HintHeader::RetryAfterMs)] };
    assert_eq!(read(&text, None, &[]).unwrap().clients[0].grammar(), &rules);
    let none = ["clients.one.layers.app.hint_headers=[]".to_owned()];
    assert_eq!(read(&text, None, &none).unwrap().clients[0].grammar(), &HintGrammar::default());
    let silent = read(&scenario("max_attempts = 2, retry_on = [429]"), None, &[]).unwrap();
    assert_eq!(silent.clients[0].grammar(), &HintGrammar::plain());
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    assert_data_eq!(
        table(&[
            r#"max_attempts = 2, retry_on = [429], stops_at = "both""#,
            r#"max_attempts = "unlimited", retry_on = [429], backoff = { fixed = "1s" }, total_budget = "9s", stops_at = "both""#,
            r#"max_attempts = 2, retry_on = [429], total_budget = "9s", stops_at = "last""#,
            "max_attempts = 2, retry_on = [429], timeout_shrinks = true",
            r#"max_attempts = 2, retry_on = [429], total_budget = "9s", budget_check = "before""#,
            "max_attempts = 2, retry_on = [429], hint_resets_backoff = true",
            r#"max_attempts = 2, retry_on = [429], longest_wait = "0s""#,
            r#"max_attempts = 2, retry_on = [429], longest_wiat = "3s""#,
            r#"max_attempts = 2, retry_on = [429], backoff_by_kind = [{ on = [503], fixed = "2s" }]"#,
            r#"max_attempts = 2, retry_on = [429], backoff_by_kind = [{ backoff = "none" }]"#,
            r#"max_attempts = 2, retry_on = [429], backoff_by_kind = { on = [503], backoff = "none" }"#,
            r#"max_attempts = 2, retry_on = [429], jitter = "full", backoff_by_kind = [{ on = [503], backoff = { decorrelated = { initial = "1s" } } }]"#,
            "max_attempts = 2, retry_on = [429], retries_by_kind = [{ on = [500], max = 1 }, { on = [501], max = 1 }, { on = [502], max = 1 }, { on = [503], max = 1 }]",
            "max_attempts = 2, retry_on = [429], retries_by_kind = [{ on = [500], max = 65_536 }]",
            r#"max_attempts = 2, retry_on = [429], retries_by_kind = [{ on = ["conection"], mx = 1 }]"#,
            r#"max_attempts = 2, retry_on = [429], hands_back = "response""#,
            r#"max_attempts = 2, retry_on = [429], hands_back = { exhausted = "respons" }"#,
            r#"max_attempts = 2, retry_on = [429], hint_headers = [{ header = "retry_after" }]"#,
            r#"max_attempts = 2, retry_on = [429], kind = "queue", total_budget = "9s", timeout_shrinks = true"#,
            "max_attempts = 2, retry_on = { failures = [429], with_hints = [503] }",
        ]),
        file!["refusals/vocabulary.txt"]
    );
}

#[test]
fn the_empty_list_and_none_switch_off_what_a_preset_brings() {
    let policy = policy(
        "max_attempts = 2, retry_on = [429], backoff_by_kind = [], retries_by_kind = [], hint_headers = [], budget = \"none\"",
    );
    assert_eq!((policy.backoff_by_kind, policy.retries_by_kind, policy.budget), (Vec::new(), Vec::new(), None));
}

/// What is said about a layer without a limit on its attempts.
fn unlimited(rest: &str) -> String {
    said(&format!("max_attempts = \"unlimited\", {rest}"))
}

#[test]
fn none_switches_off_the_limits_in_time_of_a_preset() {
    let stamina = policy("preset = \"stamina\", total_budget = \"none\", longest_wait = \"none\", wait_cap = \"none\"");
    assert_eq!((stamina.deadline, stamina.longest_wait, stamina.wait_cap), (None, None, None));
    assert_eq!(policy("preset = \"openai-python\", timeout = \"none\"").timeout, Timeouts::NONE);
}

#[test]
fn retries_without_end_and_without_wait_are_found_in_every_shape() {
    let endless = "retries without end and without wait: for ever at one instant";
    for waits_never in [
        r#"retry_on = "any""#,
        r#"retry_on = "any", backoff = { first_at_once = "none" }"#,
        r#"retry_on = "any", backoff = { first_at_once = { fixed = "0s" } }"#,
        r#"retry_on = "any", backoff = { sum = ["none", { fixed = "0s" }] }"#,
        r#"retry_on = "any", backoff = { exponential = { initial = "1h", factor = 0.999 } }"#,
        r#"retry_on = "any", backoff = { fibonacci = { initial = "0s" } }"#,
        r#"retry_on = "any", backoff = { list = ["9s", "0s"] }"#,
        r#"retry_on = "any", backoff = { fixed = "2s" }, wait_cap = "0s""#,
        // Whole seconds from zero to less than one are always zero.
        r#"retry_on = "any", backoff = { fixed = "900ms" }, jitter = "full_whole""#,
        r#"retry_on = "any", jitter = { add_share = "100%" }"#,
        r#"retry_on = "any", backoff = { fixed = "2s" }, backoff_by_kind = [{ on = ["drop"], backoff = "none" }]"#,
        r#"retry_on = "any", backoff = { fixed = "2s" }, backoff_by_kind = [{ on = { codes = ["x"] }, backoff = "none" }]"#,
        r#"retry_on = "any", retries_by_kind = [{ on = ["5xx", "connection"], max = 3 }]"#,
        r#"retry_on = "any", budget = { quota = { costs = [{ on = [429], cost = 0 }] } }"#,
        "retry_on = [429], obeys_should_retry = true, retries_by_kind = [{ on = [429], max = 3 }]",
        "retry_on = { with_hint = [503] }",
        r#"retry_on = { with_hint = [503] }, hint = { obey = { cap = "60s", above = "own_backoff" } }"#,
        r#"retry_on = { with_hint = [503] }, hint = "obey", hint_headers = [{ header = "retry-after", zero = "own_backoff" }]"#,
        r#"retry_on = { with_hint = [503] }, hint = "obey", hint_on = [429]"#,
    ] {
        assert!(unlimited(waits_never).contains(endless), "{waits_never}: {}", unlimited(waits_never));
    }
}

#[test]
fn retries_that_wait_or_end_in_any_way_are_accepted() {
    for ends_or_waits in [
        r#"retry_on = "any", backoff = { first_at_once = { fixed = "1s" } }"#,
        r#"retry_on = "any", backoff = { uniform = { low = "0s", high = "3s" } }"#,
        r#"retry_on = "any", backoff = { at_least = { floor = "1s", of = "none" } }"#,
        r#"retry_on = "any", backoff = { sum = ["none", { fixed = "1s" }] }"#,
        r#"retry_on = "any", backoff = { power = { unit = "1s", power = 4 } }"#,
        r#"retry_on = "any", backoff = { fibonacci = { initial = "1s" } }"#,
        r#"retry_on = "any", backoff = { fixed = "2s" }, jitter = "full_whole""#,
        r#"retry_on = "any", jitter = { add = "1s" }"#,
        // Failures that the layer does not repeat need no wait.
        r#"retry_on = [429], backoff = { fixed = "2s" }, backoff_by_kind = [{ on = ["drop"], backoff = "none" }]"#,
        r#"retry_on = "any", retries_by_kind = [{ on = "any", max = 3 }]"#,
        r#"retry_on = [503, "drop"], retries_by_kind = [{ on = [503], max = 3 }, { on = ["connection"], max = 3 }]"#,
        r#"retry_on = "any", budget = { quota = { capacity = 10 } }"#,
        r#"retry_on = "any", budget = { throttle = { max_tokens = 10, ratio = 0.1 } }"#,
        r#"retry_on = { with_hint = [503] }, hint = "obey""#,
        r#"retry_on = [503], hint = "obey", hint_on = [503], backoff = { fixed = "1s" }"#,
    ] {
        assert_eq!(unlimited(ends_or_waits), "accepted\n", "{ends_or_waits}");
    }
    let both = r#"max_attempts = 2, retry_on = "any", total_budget = "9s", stops_at = "both""#;
    assert_eq!(said(both), "accepted\n", "its attempts take time");
}

#[test]
fn a_timeout_that_shrinks_to_nothing_is_no_time() {
    let spinning = r#"max_attempts = "unlimited", retry_on = "any", total_budget = "9s", timeout_shrinks = true"#;
    assert!(said(spinning).contains("a timeout that has shrunk to nothing takes no time"), "{}", said(spinning));
    for check in ["before_wait_strict", "elapsed", "elapsed_cut"] {
        assert_eq!(said(&format!("{spinning}, budget_check = {check:?}")), "accepted\n", "{check}");
    }
    let around = r#"max_attempts = "unlimited", retry_on = "any", total_budget = "9s" },
  { name = "outer", max_attempts = 2, retry_on = "any", total_budget = "5s", timeout_shrinks = true"#;
    assert!(said(around).contains("shrunk to nothing"), "{}", said(around));
}

#[test]
fn a_shrinking_timeout_ends_a_request_that_hangs() {
    let hang = "[provider.faults.black_hole]\nrespond = { hang = true }\n";
    let with = |layer: &str| read(&format!("{}{hang}", scenario(layer)), None, &[]);
    assert!(with(r#"max_attempts = 2, retry_on = "any""#).is_err());
    assert!(with(r#"max_attempts = 2, retry_on = "any", total_budget = "9s", timeout_shrinks = true"#).is_ok());
}

#[test]
fn variants_replace_whole_what_has_one_of_several_forms() {
    let layer = r#"max_attempts = 2, retry_on = { codes = ["x"] }, budget = { quota = { capacity = 9 } }, hands_back = { unretried = "response" }, backoff_by_kind = [{ on = [503], backoff = { fixed = "5s" } }], hint_headers = [{ header = "retry-after", zero = "at_once" }]"#;
    let text = format!(
        "{}[variants.other.clients.one.layers.app]\n{}",
        scenario(layer),
        r#"retry_on = { failures = [429] }
budget = { throttle = { max_tokens = 10, ratio = 0.1 } }
hands_back = { exhausted = "response" }
backoff_by_kind = [{ on = [500], backoff = { fixed = "1s" } }]
hint_headers = [{ header = "retry-after-ms" }]
"#
    );
    let patched = read(&text, Some("other"), &[]).unwrap();
    let policy = patched.clients[0].elements()[0].role.policy().unwrap();
    assert_eq!((policy.retry_on.codes.len(), policy.retry_on.statuses), (0, StatusSet::EMPTY.with(429)));
    assert!(matches!(policy.budget, Some(RetryBudget::Throttle(_))));
    assert_eq!(policy.hands_back, HandsBack { unretried: StatusSet::EMPTY, exhausted: StatusSet::ERRORS });
    assert_eq!(policy.backoff_by_kind[0].1, Backoff::Fixed(SimDuration::from_secs(1)));
    assert_eq!(patched.clients[0].grammar().rules, [HeaderRule::lenient(HintHeader::RetryAfterMs)]);
    let sets = [
        "clients.one.layers.app.backoff={ fibonacci = { initial = \"1s\", cap = \"10s\" } }".to_owned(),
        "clients.one.layers.app.hint_headers.0.zero=next".to_owned(),
    ];
    let set = read(&text, None, &sets).unwrap();
    assert_eq!(set.clients[0].grammar().rules[0].zero, Take::Next);
}

#[test]
fn every_line_of_the_page_on_retry_layers_works() {
    let page = include_str!("../../docs/retry_layers.md");
    let lines: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(code, _)| code)
        .filter(|code| code.contains(" = "))
        .collect();
    assert!(lines.len() > 50, "the page has a line for each key");
    for line in lines {
        let needed = match line.split(" = ").next() {
            Some("max_attempts") => "retry_on = [429]",
            Some("retry_on") => "max_attempts = 2",
            Some("budget_check" | "stops_at" | "timeout_shrinks") => {
                "max_attempts = 2, retry_on = [429], total_budget = \"9s\""
            }
            Some("hint_resets_backoff") => "max_attempts = 2, retry_on = [429], hint = \"obey\"",
            Some("hedge") => {
                assert_eq!(said(line), "accepted\n", "{line}");
                continue;
            }
            Some("fallback") => {
                // Who falls back says from where.
                let text = scenario(line).replacen("input_tokens", "model = \"first\", input_tokens", 1);
                assert!(read(&text, None, &[]).is_ok(), "{line}");
                continue;
            }
            Some("uncounted" | "holds_queue") => {
                // Only a queue puts jobs back.
                let queue = format!(
                    "kind = \"queue\", max_attempts = 2, retry_on = \"any\", backoff = {{ fixed = \"1s\" }}, {line}"
                );
                let text = scenario(&queue).replacen("kind = \"turns\"", "kind = \"jobs\"\nworkers = 1", 1);
                assert!(read(&text, None, &[]).is_ok(), "{line}");
                continue;
            }
            Some("respond") => {
                let layer = scenario("max_attempts = 2, retry_on = \"any\", timeout = \"9s\"");
                assert!(read(&format!("{layer}[provider.faults.x]\n{line}\n"), None, &[]).is_ok(), "{line}");
                continue;
            }
            _ => "max_attempts = 2, retry_on = [429]",
        };
        assert_eq!(said(&format!("{needed}, {line}")), "accepted\n", "{line}");
    }
}

#[test]
fn hedges_and_hops_stand_where_they_can() {
    let of = |layers: &str| {
        let text = scenario("x = 1").replace(r#"{ name = "app", x = 1 }"#, layers);
        match read(&text, None, &[]) {
            Ok(_) => "accepted".to_owned(),
            Err(Refusal::Whole { message, .. }) => message,
            Err(Refusal::Faulty { faults, .. }) => {
                let said = |fault: &retrycast::document::Fault| {
                    format!("{}: {}", fault.message, fault.hint.as_deref().unwrap_or_default())
                };
                faults.iter().map(said).collect::<Vec<_>>().join("; ")
            }
        }
    };
    let sdk = r#"{ name = "sdk", max_attempts = 2, retry_on = [429] }"#;
    let hop = r#"{ name = "gateway", kind = "hop", max_attempts = 2, retry_on = ["5xx"] }"#;
    let hedge = r#"{ name = "late", hedge = { max = 2, delay = "1s" } }"#;
    assert_eq!(of(&format!("{hedge}, {sdk}")), "accepted");
    assert_eq!(of(&format!("{hop}, {sdk}")), "accepted");
    assert_eq!(
        of(&format!("{sdk}, {hedge}")),
        "`late` stands around `sdk`, and a hedge sends requests itself: put it first: it is the innermost element"
    );
    assert_eq!(
        of(&format!("{sdk}, {hop}")),
        "a layer of kind hop stands outside `sdk`, of kind client: layers are listed innermost first: hop, then client, \
         then decorator, then one queue"
    );
    assert_eq!(
        of(r#"{ name = "late", hedge = { max = 9, dealy = "1s" } }"#),
        "must be at most 5, found 9: write a number from 2 to 5; unknown key: did you mean `delay`?"
    );
    assert_eq!(
        of(r#"{ name = "late", kind = "queue", hedge = { max = 2, delay = "1s" } }"#),
        "a hedge sends requests: write \"client\" or \"hop\", or leave `kind` out"
    );
}
