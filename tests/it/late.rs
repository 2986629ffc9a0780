//! Servers that look who would be late: by hand, and against an overload that feeds itself.

use retrycast::experiment;
use retrycast::explain::Sustain;
use retrycast::random::Seed;
use retrycast::report::story::Subject;
use retrycast::report::sustain::conditions;
use retrycast::report::{json, schema};
use retrycast::scenario::{Scenario, Source, load};
use retrycast::sim::simulate;

use super::stage::{Run, read, shipped};

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

#[test]
fn the_verdict_says_how_far_the_threshold_is() {
    let said = |variant: &str, sets: &[&str]| {
        let sustain = Sustain::of(&shipped("metastable", variant, sets)).unwrap();
        conditions(&sustain).join(". ")
    };
    // By hand: eight a second of 0.1 s are 0.8 of the server, and a fifth more of them 0.96: 1 / 0.96 of the load is too
    // much, and so are 1 / 0.8 requests for each call that fails.
    let budget = said("budget", &[]);
    assert!(budget.contains("it could outlive it with 104 % of this load or 1.25 requests for each call"), "{budget}");
    // Eleven requests of 0.1 s are more work than the second that callers wait; nine fit into the queue.
    let short = said("short_queue", &[]);
    assert!(short.ends_with("it could outlive it with room for 11 to wait"), "{short}");
    assert!(said("once", &["provider.capacity.queue=5"]).contains("with room for 11 to wait, and 125 % of this load"));
    for late in ["dropped", "refused"] {
        let said = said("retries", &[&format!("provider.capacity.late={late}")]);
        assert!(said.starts_with("no overload can take every answer"), "{said}");
    }
}

#[test]
fn the_summary_of_replicates_says_how_many_recovered_and_how_sure_that_is() {
    let scenario = shipped("metastable", "retries", &["provider.capacity.late=dropped"]);
    let never = std::sync::atomic::AtomicBool::new(false);
    let terms = experiment::Terms::new(&never);
    let result = experiment::run(&scenario, Seed(1), Some(4), None, terms).unwrap();
    let document = json::summary(&Subject::new(&scenario, &result));
    let schema = schema::summary();
    assert_eq!(super::schema::departures(&schema, &schema, &document, ""), Vec::<String>::new());
    let verdict = &document["verdict"];
    // Nothing is drawn in this world: every run is the same one. Wilson 1927 for 0 and for 4 of 4: z²/(n + z²) = 0.490.
    let counted = |runs: u64, low: f64, high: f64| {
        let found = &verdict[if runs == 0 { "stuck" } else { "recovered" }];
        assert_eq!((found["runs"].as_u64(), found["of"].as_u64()), (Some(runs), Some(4)));
        for (at, expected) in [low, high].into_iter().enumerate() {
            assert!((found["ci95"][at].as_f64().unwrap() - expected).abs() < 0.001, "{found}");
        }
    };
    counted(0, 0.0, 0.490);
    counted(4, 0.510, 1.0);
    assert_eq!(document["recovery"]["total_s"]["mean"], 12.0);
    assert_eq!(verdict["conditions"]["can_outlive_its_cause"], false);
    let first = verdict["sentences"][0].as_str().unwrap();
    let expected =
        "stuck at the end in 0 of 4 runs: 0 % [0 % – 49 %]; 4 of them recovered, 100 % [51 % – 100 %], after 12 s";
    assert!(first.starts_with(expected) && first.ends_with("half of them within 12 s"), "{first}");
}

#[test]
fn what_is_passed_over_after_its_caller_has_left_is_no_effect() {
    // One server is busy for 10 s. A caller comes at 1 s, waits 6 s and leaves; at 10 s the server passes its request over.
    let text = r#"
horizon = "1m"
[provider.capacity]
servers = 1
late = "dropped"
[clients.patient]
layers = []
[clients.hasty]
layers = [{ name = "sdk", max_attempts = 1, retry_on = [503], timeout = { total = "6s" } }]
[traffic.long]
kind = "turns"
client = "patient"
arrivals = { at = ["0s"] }
steps = [{ name = "s", input_tokens = 1, latency = "10s" }]
[traffic.short]
kind = "turns"
client = "hasty"
arrivals = { at = ["1s"] }
steps = [{ name = "s", input_tokens = 1, latency = "1s" }]
"#;
    let run = Run::of(&read(text), 1);
    let numbers = ["failed", "effects", "failed_with_effect"].map(|key| run.number(&format!("classes.short.{key}")));
    assert_eq!(numbers, [1.0, 0.0, 0.0]);
}
