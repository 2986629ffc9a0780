//! Limits that stop an answer when its output has used them up: when, with how many tokens, and who sees what, by hand.

use retrycast::policy::Outcome;
use retrycast::provider::AnsweredBy;
use retrycast::random::Seed;
use retrycast::scenario::{Refusal, Scenario, Source, load};
use retrycast::sim::{Fact, simulate};

use super::stage::facts;

/// Turns at these instants whose answers take 64 s and have 640 tokens: ten each second, in 64 parts. A window of an hour
/// holds 100 tokens.
fn read(stops: &str, rest: &str, layer: &str, at: &str) -> Result<Scenario, Refusal> {
    let text = format!(
        r#"horizon = "10m"
[provider.limits.otpm]
counts = "output_tokens"
amount = 100
per = "1h"
algorithm = "fixed_window"
{stops}
{rest}
[clients.one]
layers = [{{ name = "app", retry_on = "any", backoff = {{ fixed = "5s" }}, {layer} }}]
[traffic.live]
kind = "turns"
client = "one"
arrivals = {{ at = {at} }}
steps = [{{ name = "turn", input_tokens = 1, output_tokens = 640, first_token = "0s", latency = "64s" }}]
"#
    );
    load(&Source::new("quota.toml", &text))
}

const CUT: &str = "charge = \"streaming\"\nwhen_used_up = \"cut\"";
const BREAK: &str = "charge = \"streaming\"\nwhen_used_up = \"break\"";
const ONCE: &str = "max_attempts = 1, timeout = \"90s\"";

/// When each request ended, in seconds, how, and with how many tokens, in order of its end.
fn ends(scenario: &Scenario) -> Vec<(f64, Outcome, u16, u32)> {
    let facts = facts(scenario, 1);
    let ends = facts.iter().filter_map(|fact| match fact {
        Fact::RequestEnded { at, answer, output_tokens, .. } => {
            Some((at.as_nanos() as f64 / 1e9, answer.outcome, answer.status, *output_tokens))
        }
        _ => None,
    });
    ends.collect()
}

fn scenario(stops: &str, rest: &str, layer: &str, at: &str) -> Scenario {
    read(stops, rest, layer, at).unwrap_or_else(|refusal| panic!("{refusal:#?}"))
}

#[test]
fn an_answer_ends_where_its_output_has_used_the_limit_up() {
    // By hand: ten tokens a second make 100 after 10 s.
    let alone = scenario(CUT, "", ONCE, "[\"0s\"]");
    assert_eq!(ends(&alone), [(10.0, Outcome::Delivered, 200, 100)]);
    let outcome = simulate(&alone, Seed(1));
    let counts: Vec<u64> = outcome.classes[0].cells.iter().map(|cell| cell.server_nanos).collect();
    assert_eq!((outcome.limits[0].cut_short, counts.iter().sum::<u64>()), (1, 10_000_000_000));
    // Without the key it flows on, as a debt.
    let plain = scenario("charge = \"streaming\"", "", ONCE, "[\"0s\"]");
    assert_eq!(ends(&plain), [(64.0, Outcome::Delivered, 200, 640)]);
    let goes_on = scenario("charge = \"streaming\"\nwhen_used_up = \"goes_on\"", "", ONCE, "[\"0s\"]");
    assert_eq!(
        (ends(&goes_on), simulate(&goes_on, Seed(1)).world_digest),
        (ends(&plain), simulate(&plain, Seed(1)).world_digest)
    );
}

#[test]
fn each_answer_ends_with_its_own_next_part() {
    // By hand: two make 20 tokens a second. At second 5 the one's part makes 90 and the other's 100; the one's next part
    // is there at second 6.
    let two = scenario(CUT, "", ONCE, "[\"0s\", \"0s\"]");
    assert_eq!(ends(&two), [(5.0, Outcome::Delivered, 200, 50), (6.0, Outcome::Delivered, 200, 60)]);
    // Who comes then finds nothing left.
    let late = scenario(CUT, "", ONCE, "[\"0s\", \"12s\"]");
    assert_eq!(ends(&late)[1].2, 429);
}

#[test]
fn a_stream_that_breaks_off_is_repeated_as_one() {
    // By hand: broken at second 10, again at second 15, when nothing is left of the window.
    let broken = scenario(BREAK, "", "max_attempts = 2, timeout = \"90s\"", "[\"0s\"]");
    let ends = ends(&broken);
    assert_eq!(ends[0], (10.0, Outcome::StreamBroken, 0, 100));
    assert_eq!((ends[1].0, ends[1].2), (15.1, 429));
    let by: Vec<AnsweredBy> = facts(&broken, 1)
        .iter()
        .filter_map(|fact| if let Fact::RequestEnded { by, .. } = fact { Some(*by) } else { None })
        .collect();
    assert_eq!(by, [AnsweredBy::Limit(0), AnsweredBy::Limit(0)]);
}

#[test]
fn a_server_is_free_again_when_an_answer_is_stopped() {
    // By hand: one server. The second is admitted at once and begins at second 10, when the first is stopped; its first
    // part is one too many.
    let served = scenario(CUT, "[provider.capacity]\nservers = 1\n", ONCE, "[\"0s\", \"0s\"]");
    assert_eq!(ends(&served), [(10.0, Outcome::Delivered, 200, 100), (11.0, Outcome::Delivered, 200, 10)]);
    let outcome = simulate(&served, Seed(1));
    let nanos: u64 = outcome.classes[0].cells.iter().map(|cell| cell.server_nanos).sum();
    assert_eq!((nanos, outcome.limits[0].cut_short), (11_000_000_000, 2));
    // The slot of a limit on requests in flight as well.
    let slots = "[provider.limits.one]\ncounts = \"in_flight\"\namount = 1\n";
    let mut slow = scenario(CUT, slots, ONCE, "[\"0s\", \"9s\", \"21s\"]");
    slow.provider.limits[0].meter = scenario_meter("20s");
    // At 9 s the slot is taken; at 21 s it is free, and a new window has begun at 20 s.
    assert_eq!(ends(&slow).iter().map(|end| end.2).collect::<Vec<_>>(), [429, 200, 200]);
    assert_eq!(simulate(&slow, Seed(1)).slots[0].refused, 1);
}

/// The meter of 100 tokens in a window of another length.
fn scenario_meter(per: &str) -> retrycast::policy::Meter {
    let text = format!(
        "horizon = \"1m\"\n[provider.limits.x]\ncounts = \"output_tokens\"\namount = 100\nper = \"{per}\"\nalgorithm = \"fixed_window\"\n\
         [clients.one]\nlayers = []\n[traffic.live]\nkind = \"turns\"\nclient = \"one\"\narrivals = {{ every = \"1s\" }}\n\
         steps = [{{ name = \"turn\", input_tokens = 1, latency = \"1s\" }}]\n"
    );
    load(&Source::new("meter.toml", &text)).unwrap().provider.limits[0].meter
}

#[test]
fn a_caller_that_has_left_does_not_see_where_its_answer_stopped() {
    // By hand: the caller leaves at second 5, the server goes on to second 10, all of it for nobody.
    let left = scenario(CUT, "", "max_attempts = 1, timeout = { total = \"5s\" }", "[\"0s\"]");
    assert_eq!(ends(&left).len(), 1);
    assert_eq!(ends(&left)[0].0, 5.0);
    let outcome = simulate(&left, Seed(1));
    let cells = &outcome.classes[0].cells;
    let (all, wasted): (u64, u64) =
        cells.iter().fold((0, 0), |(all, wasted), cell| (all + cell.server_nanos, wasted + cell.wasted_server_nanos));
    assert_eq!((all, wasted, outcome.limits[0].cut_short), (10_000_000_000, 10_000_000_000, 1));
}

#[test]
fn what_cannot_stop_an_answer_is_refused() {
    let said = |stops: &str, layer: &str| match read(stops, "", layer, "[\"0s\"]") {
        Err(Refusal::Faulty { faults, .. }) => {
            faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>().join("\n")
        }
        other => panic!("{stops}: {other:#?}"),
    };
    for (stops, layer, expected) in [
        ("when_used_up = \"cut\"", ONCE, "only a limit that is charged for output as it flows"),
        ("charge = \"streaming\"\nwhen_used_up = \"ctu\"", ONCE, "is none of the known words"),
    ] {
        let said = said(stops, layer);
        assert!(said.contains(expected), "{stops}: {said}");
    }
}
