//! What travels: requests on their way to the provider and answers on their way back; and who shares what where callers are
//! many. All times are worked out by hand.

use retrycast::explain::{Code, explain};
use retrycast::policy::Outcome;
use retrycast::provider::AnsweredBy;
use retrycast::scenario::{Source, load};
use retrycast::sim::Fact;

use super::stage::{Run, facts, read, said};

/// One turn at the beginning, a request that travels 100 ms, an answer that travels 200 ms, a service of a second.
fn far(provider: &str, layer: &str, step: &str) -> String {
    format!(
        r#"
        horizon = "1m"
        [provider.network]
        send = "100ms"
        receive = "200ms"
        {provider}
        [clients.caller]
        layers = [{{ name = "sdk", max_attempts = 1, retry_on = "any"{layer} }}]
        [traffic.turn]
        kind = "turns"
        client = "caller"
        arrivals = {{ at = ["0s"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "1s"{step} }}]
        "#
    )
}

/// When the first request ends, in milliseconds, how, and by whom.
fn first(text: &str) -> (u64, Outcome, u16, AnsweredBy) {
    let ended = facts(&read(text), 1).into_iter().find_map(|fact| match fact {
        Fact::RequestEnded { at, answer, by, .. } => {
            Some((at.as_nanos() / 1_000_000, answer.outcome, answer.status, by))
        }
        _ => None,
    });
    ended.expect("a request")
}

/// Servers that are few, and servers that are not.
const BOTH: [&str; 2] = ["", "[provider.capacity]\nservers = 1"];

#[test]
fn an_answer_is_there_when_both_have_travelled() {
    for provider in BOTH {
        let text = far(provider, "", "");
        assert_eq!(first(&text), (1300, Outcome::Delivered, 200, AnsweredBy::Service));
        let run = Run::of(&read(&text), 1);
        // Travelling is no work.
        assert_eq!(run.number("classes.turn.server_s"), 1.0);
    }
}

#[test]
fn a_caller_who_leaves_while_the_answer_travels_has_caused_all_the_work() {
    for provider in BOTH {
        let text = far(provider, ", timeout = { total = \"1250ms\" }", "");
        assert_eq!(first(&text), (1250, Outcome::TimedOut, 0, AnsweredBy::Service));
        let run = Run::of(&read(&text), 1);
        let numbers = ["server_s", "wasted_server_s", "effects"].map(|key| run.number(&format!("classes.turn.{key}")));
        assert_eq!(numbers, [1.0, 1.0, 1.0]);
        // Where the provider notices that a caller has left, it is too late.
        let noticed =
            text.replacen("[provider.network]", "[provider]\nabandoned = \"cancelled\"\n[provider.network]", 1);
        assert_eq!(Run::of(&read(&noticed), 1).number("classes.turn.wasted_server_s"), 1.0);
    }
}

#[test]
fn a_caller_who_leaves_before_the_request_is_there_has_caused_none() {
    for provider in BOTH {
        let text = far(provider, ", timeout = \"99ms\"", "");
        assert_eq!(first(&text), (99, Outcome::TimedOut, 0, AnsweredBy::Nobody));
        let run = Run::of(&read(&text), 1);
        let numbers =
            ["server_s", "effects", "provider_requests"].map(|key| run.number(&format!("classes.turn.{key}")));
        assert_eq!(numbers, [0.0, 0.0, 1.0]);
    }
}

#[test]
fn a_caller_who_leaves_in_the_middle_is_told_from_one_who_waits() {
    for provider in BOTH {
        for (timeout, expected) in [("1300ms", (1300, Outcome::Delivered)), ("1299ms", (1299, Outcome::TimedOut))] {
            let (at, outcome, _, _) = first(&far(provider, &format!(", timeout = \"{timeout}\""), ""));
            assert_eq!((at, outcome), expected);
        }
    }
}

#[test]
fn faults_limits_and_full_rooms_look_at_what_arrives_and_their_refusals_travel() {
    let fault = |window: &str| {
        format!("[provider.faults.down]\nwindow = {window}\nrespond = {{ status = 503, after = \"10ms\" }}")
    };
    assert_eq!(
        first(&far(&fault("[\"100ms\", \"101ms\"]"), "", "")),
        (310, Outcome::Refused, 503, AnsweredBy::Fault(0))
    );
    assert_eq!(first(&far(&fault("[\"0s\", \"100ms\"]"), "", "")).1, Outcome::Delivered);
    let limit = "[provider.limits.one]\ncounts = \"requests\"\namount = 1\nper = \"1h\"\nrefuse = { after = \"0s\" }";
    let two = far(limit, "", "").replacen("[\"0s\"]", "[\"0s\", \"5s\"]", 1);
    let ends: Vec<u64> = facts(&read(&two), 1)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::RequestEnded { at, .. } => Some(at.as_nanos() / 1_000_000),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [1300, 5300]);
    let room = "[provider.capacity]\nservers = 1\nqueue = 0\nwhen_full = { status = 503, after = \"5ms\" }";
    let full = far(room, "", "").replacen("[\"0s\"]", "[\"0s\", \"500ms\"]", 1);
    assert_eq!(first(&full), (805, Outcome::Refused, 503, AnsweredBy::Full));
}

#[test]
fn connecting_and_writing_come_before_the_way() {
    for provider in BOTH {
        let step = ", connect = \"30ms\", write = \"20ms\"";
        assert_eq!(first(&far(provider, "", step)).0, 1350);
        let (at, outcome, _, _) = first(&far(provider, ", timeout = { connect = \"29ms\" }", step));
        assert_eq!((at, outcome), (29, Outcome::ConnectTimedOut));
        // A read timeout counts from when the request is written.
        let (at, outcome, _, _) = first(&far(provider, ", timeout = { read = \"1299ms\" }", step));
        assert_eq!((at, outcome), (1349, Outcome::TimedOut));
    }
}

#[test]
fn each_part_of_a_stream_travels() {
    for provider in BOTH {
        let text = far(provider, "", ", first_token = \"400ms\"");
        let run = Run::of(&read(&text), 1);
        assert_eq!(run.number("classes.turn.first_token_s.max"), 0.7);
        assert_eq!(first(&text).0, 1300);
    }
}

#[test]
fn a_way_that_says_nothing_or_cannot_be_called_back_is_refused() {
    let message = |text: &str| said(text).unwrap_err().into_iter().next().unwrap();
    let nothing = far("", "", "").replacen("send = \"100ms\"\n        receive = \"200ms\"", "", 1);
    assert_eq!(
        message(&nothing),
        (
            "says nothing".to_owned(),
            r#"write how long requests travel, such as send = "10ms", or `receive`"#.to_owned()
        )
    );
    let group = |more: &str| {
        let steps = ["a", "b"]
            .map(|name| format!("{{ name = \"{name}\", group = \"both\", input_tokens = 1, latency = \"1s\" }}"));
        far("", "", "")
            .replacen("client = \"caller\"\n        arr", &format!("client = \"caller\"\n{more}\narr"), 1)
            .replacen("{ name = \"ask\", input_tokens = 1, latency = \"1s\" }", &steps.join(", "), 1)
    };
    for more in ["", "when_one_fails = \"cancel\""] {
        let run = Run::of(&read(&group(more)), 1);
        assert_eq!(run.number("classes.turn.latency_s.max"), 1.3);
    }
}

/// A hundred turns that all fail, whose callers are spread over so many processes; three retries each, as far as the budget
/// lets them.
fn spread(processes: u32, budget: &str) -> String {
    format!(
        r#"
        horizon = "10m"
        [provider.faults.down]
        respond = {{ status = 503, after = "0s" }}
        [clients.caller]
        layers = [{{ name = "sdk", max_attempts = 4, retry_on = [503], budget = {{ {budget} }} }}]
        [traffic.turn]
        kind = "turns"
        processes = {processes}
        client = "caller"
        arrivals = {{ every = "1s", until = "100s" }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#
    )
}

#[test]
fn each_process_of_turns_has_its_own_budget() {
    let quota = "quota = { capacity = 7, cost = 1, refund = 0, retried_refund = 0 }";
    let requests = |processes, scope: &str| {
        Run::of(&read(&spread(processes, &format!("{quota}{scope}"))), 3).count("classes.turn.requests")
    };
    // Seven retries for everybody, and seven for each of five: a hundred turns leave none of them without its share.
    assert_eq!(
        [requests(5, ""), requests(1, ", scope = \"process\""), requests(5, ", scope = \"process\"")],
        [107, 107, 135]
    );
    assert_eq!(requests(5, ", scope = \"class\""), 107);
    // A failure share of a tenth never lets anybody retry who only fails.
    let share = "failure_share = { at_most = \"10%\" }, scope = \"process\"";
    assert_eq!(Run::of(&read(&spread(5, share)), 3).count("classes.turn.requests"), 100);
    // At most as many have failed as have come: that is so once for each call, at its first failure.
    let all = "failure_share = { at_most = \"100%\" }";
    assert_eq!(Run::of(&read(&spread(1, all)), 3).count("classes.turn.requests"), 101);
}

#[test]
fn each_process_of_turns_has_its_own_breaker() {
    let guarded = |scope: &str| {
        let breaker = "breaker = { counts = \"responses\", of = [503], last = 1, threshold = \"50%\", open = \"1h\", when_open = \"reject\" }";
        let text = format!("[guards.switch]\nscope = \"{scope}\"\n{breaker}\n{}", "[clients.caller]");
        let text = spread(5, "quota = {}").replacen("[clients.caller]", &text, 1).replacen(
            "layers = [",
            "layers = [{ guard = \"switch\" }, ",
            1,
        );
        let run = Run::of(&read(&text), 3);
        (run.count("guards.switch.trips"), run.count("classes.turn.requests"))
    };
    // The first failure opens it for good: one request of everybody, or of each.
    assert_eq!([guarded("client"), guarded("process")], [(1, 1), (5, 5)]);
}

#[test]
fn scopes_of_budgets_that_say_nothing_are_refused() {
    let message = |text: &str| said(text).unwrap_err().into_iter().next().unwrap();
    assert_eq!(
        message(&spread(5, "quota = {}, scope = \"worker\"")),
        (
            "turns have no workers, and each would have its own budget of `sdk`".to_owned(),
            r#"write scope = "process" in the budget, or leave it out"#.to_owned()
        )
    );
    let share = spread(5, "active_share = {}, scope = \"process\"");
    assert!(said(&share).is_ok());
    assert_eq!(
        message(&share.replacen("retry_on = [503]", "retry_on = [503], holds_worker = false", 1)),
        (
            "counts the calls of each worker or process, and a call may come back to another one".to_owned(),
            "leave `holds_worker` or the `scope` out".to_owned()
        )
    );
    assert_eq!(message(&spread(0, "quota = {}")).0, "must be at least 1, found 0");
}

#[test]
fn a_variant_replaces_the_form_of_a_way() {
    let text = far("", "", "") + "[variants.near]\nprovider.network.receive = { uniform = [\"0s\", \"1ns\"] }\n";
    let source = Source { variant: Some("near"), ..Source::new("stage.toml", &text) };
    let near = Run::of(&load(&source).unwrap(), 1).number("classes.turn.latency_s.max");
    assert!((near - 1.1).abs() < 1e-6, "{near}");
}

#[test]
fn a_timeout_is_held_against_the_service_and_the_way() {
    // The service takes a second and the ways 0.3: half of the requests take longer than 1.2 s, and all less than 1.4.
    let warned = |timeout: &str| {
        let scenario = read(&far("", &format!(", timeout = \"{timeout}\""), ""));
        explain(&scenario).warnings.iter().any(|warning| warning.code == Code::TimeoutBelowLatency)
    };
    assert_eq!(["1200ms", "1400ms"].map(warned), [true, false]);
}
