//! Servers that look who would be late: by hand, and against an overload that feeds itself.

use retrycast::random::Seed;
use retrycast::scenario::{Scenario, Source, load};
use retrycast::sim::simulate;

use super::stage::{Run, shipped};

/// Four turns at once, of 1 s each, whose callers wait 2.5 s.
fn scenario(capacity: &str, layer: &str) -> Scenario {
    let text = format!(
        r#"horizon = "20s"
[provider.capacity]
{capacity}
[clients.one]
layers = [{{ name = "app", retry_on = "any", {layer} }}]
[traffic.live]
kind = "turns"
client = "one"
arrivals = {{ at = ["0s", "0s", "0s", "0s"] }}
steps = [{{ name = "turn", input_tokens = 1, latency = "1s" }}]
"#
    );
    load(&Source::new("late.toml", &text)).unwrap_or_else(|refusal| panic!("{capacity}: {refusal:#?}"))
}

/// Delivered, and at the servers: started, refused, late.
fn counts(scenario: &Scenario) -> (u64, u64, u64, u64) {
    let outcome = simulate(scenario, Seed(1));
    let delivered = outcome.classes[0].cells.iter().map(|cell| cell.delivered).sum();
    let counts = outcome.capacity.unwrap();
    (delivered, counts.started, counts.refused, counts.late)
}

const ONCE: &str = "max_attempts = 1, timeout = \"2500ms\"";

#[test]
fn who_would_be_late_is_passed_over_or_refused() {
    // By hand: served at 0 and at 1 s; the third would be there at 3 s, the fourth at 4 s.
    assert_eq!(counts(&scenario("servers = 1", ONCE)), (2, 4, 0, 0));
    assert_eq!(counts(&scenario("servers = 1\nlate = \"served\"", ONCE)), (2, 4, 0, 0));
    assert_eq!(counts(&scenario("servers = 1\nlate = \"dropped\"", ONCE)), (2, 2, 0, 2));
    assert_eq!(counts(&scenario("servers = 1\nlate = \"refused\"", ONCE)), (2, 2, 2, 2));
    // Two servers have done all four at 2 s.
    for late in ["served", "dropped", "refused"] {
        assert_eq!(counts(&scenario(&format!("servers = 2\nlate = \"{late}\""), ONCE)), (4, 4, 0, 0), "{late}");
    }
    // The last comes first: of those that wait, the fourth is served, and the others are late at 2 s.
    assert_eq!(counts(&scenario("servers = 1\norder = \"lifo\"\nlate = \"dropped\"", ONCE)), (2, 2, 0, 2));
    // Whoever waits without a timeout is never late.
    assert_eq!(counts(&scenario("servers = 1\nlate = \"dropped\"", "max_attempts = 1")), (4, 4, 0, 0));
}

#[test]
fn a_refusal_comes_at_once_and_a_drop_is_a_timeout() {
    let ends = |late: &str| {
        let scenario = scenario(&format!("servers = 1\nlate = \"{late}\""), ONCE);
        let facts = super::stage::facts(&scenario, 1);
        let mut ends: Vec<(f64, u16)> = facts
            .iter()
            .filter_map(|fact| match fact {
                retrycast::sim::Fact::RequestEnded { at, answer, .. } => {
                    Some((at.as_nanos() as f64 / 1e9, answer.status))
                }
                _ => None,
            })
            .collect();
        ends.sort_by(|one, other| one.partial_cmp(other).unwrap());
        ends
    };
    assert_eq!(ends("dropped"), [(1.0, 200), (2.0, 200), (2.5, 0), (2.5, 0)]);
    assert_eq!(ends("refused"), [(0.1, 503), (0.1, 503), (1.0, 200), (2.0, 200)]);
}

#[test]
fn a_deadline_is_what_is_left_of_the_total_budget_where_the_client_sends_it() {
    // By hand: three attempts of at most 2.5 s within 4 s in all. Without deadlines the four are served at 0, 1, 2 and 3 s.
    // The third and the fourth leave at 2.5 s and come again; what is left of their 4 s is 1.5 s then. Dropped: their second
    // attempts find the server free at 2.5 s, and one of them is served until 3.5 s; the other would be late at 4.5 s.
    let layer = "max_attempts = 3, timeout = \"2500ms\", total_budget = \"4s\", timeout_shrinks = true";
    assert_eq!(counts(&scenario("servers = 1\nlate = \"dropped\"", layer)).0, 3);
    assert_eq!(counts(&scenario("servers = 1", layer)).0, 2);
}

#[test]
fn an_overload_that_feeds_itself_goes_when_nobody_works_for_the_late() {
    // The base of `metastable` stays stuck: 80 turns wait, each is answered after its second is over. A server that works
    // only for those who still wait answers ten a second, and eight come.
    let stuck = |sets: &[&str]| Run::of(&shipped("metastable", "retries", sets), 1).number("capacity.stuck");
    assert_eq!(stuck(&[]), 1.0);
    assert_eq!(stuck(&["provider.capacity.late=dropped"]), 0.0);
    assert_eq!(stuck(&["provider.capacity.late=refused"]), 0.0);
    // To pass over who has left is not enough: the server goes on with whoever is about to leave. A stored run: a quarter
    // of the turns at the end is answered.
    assert_eq!(stuck(&["provider.abandoned=skipped"]), 1.0);
    assert_eq!(stuck(&["provider.abandoned=cancelled"]), 0.0);
}
