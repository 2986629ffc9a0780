//! Who refused, at which request of a step, and what of it the retries have caused. Expected numbers are worked out by
//! hand.

use retrycast::metrics::Tree;

use super::stage::{Run, all_shipped, name, read};

/// Turns that arrive at these instants and make two attempts, 10 s apart. The first request of a task that comes in the
/// first 5 s is struck by a fault before any limit sees it.
fn turns(limit: &str, at: &str, more: &str) -> Run {
    let text = format!(
        r#"
        horizon = "10m"
        {more}
        {limit}
        [provider.faults.down]
        window = ["0s", "5s"]
        respond = {{ status = 503, after = "0s" }}
        [clients.app]
        layers = [{{ name = "sdk", max_attempts = 2, retry_on = "any", backoff = {{ fixed = "10s" }} }}]
        [traffic.turn]
        kind = "turns"
        client = "app"
        arrivals = {{ at = [{at}] }}
        steps = [{{ name = "ask", input_tokens = 1, output_tokens = 100, latency = "1s" }}]
        "#
    );
    Run::of(&read(&text), 1)
}

const ONE_A_MINUTE: &str = "[provider.limits.rpm]\ncounts = \"requests\"\namount = 1\nper = \"1m\"\n\
                            algorithm = \"fixed_window\"\nrefuse = { after = \"0s\" }\n";

/// Refusals by rate limits: all, of retries, of displaced first requests, of others.
fn causes(run: &Run) -> [u64; 4] {
    ["all", "met_retries", "displaced", "anyway"]
        .map(|key| run.count(&format!("classes.turn.refusals.of_limits.{key}")))
}

fn attempts(run: &Run, who: &str) -> [u64; 3] {
    ["1", "2", "3"].map(|n| run.count(&format!("classes.turn.refusals.statuses.{who}.attempts.{n}")))
}

#[test]
fn a_first_request_is_displaced_where_only_a_retry_has_taken_its_place() {
    // The task of second 0 is struck, comes again at second 10 and takes the one request of the minute. The one of
    // second 20 would have had it: displaced; and is refused again at 30. The one of second 40 would have been too late
    // for the one of second 20: anyway; and again at 50.
    let run = turns(ONE_A_MINUTE, r#""0s", "20s", "40s""#, "");
    assert_eq!(causes(&run), [4, 2, 1, 1]);
    assert_eq!(run.number("classes.turn.refusals.of_limits.caused_by_retries_share"), 0.75);
    assert_eq!((attempts(&run, "429.limit:rpm"), attempts(&run, "503.fault:down")), ([2, 2, 0], [1, 0, 0]));
    assert_eq!(run.count("classes.turn.refusals.statuses.429.limit:rpm.all"), 4);
}

#[test]
fn what_is_charged_when_a_service_ends_is_known_where_its_end_is() {
    // The same with 100 tokens of output a minute, charged when a service ends: at second 11 for the struck task, and
    // without retries at second 21 for the one of second 20.
    let limit = "[provider.limits.otpm]\ncounts = \"output_tokens\"\namount = 100\nper = \"1m\"\n\
                 algorithm = \"fixed_window\"\ncharge = \"completion\"\nrefuse = { after = \"0s\" }\n";
    let at = r#""0s", "20s", "40s""#;
    assert_eq!(causes(&turns(limit, at, "")), [4, 2, 1, 1]);
    // Where the end of a service depends on who else is there, or on when its caller leaves, it is not known.
    for unknown in ["[provider]\nabandoned = \"cancelled\"", "[provider]\ncapacity = { servers = 3 }"] {
        let run = turns(limit, at, unknown);
        assert_eq!(run.count("classes.turn.refusals.of_limits.met_retries"), 2);
        assert!(run.number("classes.turn.refusals.of_limits.displaced").is_nan(), "{unknown}");
        assert!(run.number("classes.turn.refusals.of_limits.caused_by_retries_share").is_nan(), "{unknown}");
    }
}

#[test]
fn slots_and_full_servers_refuse_under_their_own_names() {
    let slots = "[provider.limits.slots]\ncounts = \"in_flight\"\namount = 1\nrefuse = { after = \"0s\" }\n";
    // Three at second 10 for one slot of a second; two come again 10 s later, and one of them is refused once more.
    let run = turns(slots, r#""10s", "10s", "10s""#, "");
    assert_eq!(attempts(&run, "429.limit:slots"), [2, 1, 0]);
    assert!(run.0.at(&["classes", "turn", "refusals", "of_limits"]).is_none());
    let servers = "[provider]\ncapacity = { servers = 1, queue = 0 }";
    let run = turns("", r#""10s", "10s", "10s""#, servers);
    assert_eq!(attempts(&run, "503.capacity"), [2, 1, 0]);
}

#[test]
fn who_refused_adds_up_to_what_was_answered() {
    for scenario in all_shipped() {
        let run = Run::of(&scenario, 3);
        let mut by_limits = 0;
        for class in &scenario.traffic {
            let path = ["classes", &class.name, "refusals", "statuses"];
            // Nobody can refuse a class without limits and faults.
            let Some(statuses) = run.0.at(&path).map(Tree::branches) else { continue };
            for (status, sources) in statuses {
                let (mut all, mut in_attempts) = (0, 0);
                // What a hop's guard keeps back, the provider never answers.
                let of_provider = sources.branches().iter().filter(|(source, _)| !source.starts_with("hop:"));
                for (source, _) in of_provider {
                    let path = format!("classes.{}.refusals.statuses.{status}.{source}", class.name);
                    all += run.count(&format!("{path}.all"));
                    let attempts = run.0.at(&path.split('.').chain(["attempts"]).collect::<Vec<_>>()).unwrap();
                    in_attempts += attempts.leaves().iter().map(|n| n.value as u64).sum::<u64>();
                }
                let answered = run.count(&format!("classes.{}.responses.{status}", class.name));
                assert_eq!([all, in_attempts], [answered; 2], "{} {} {status}", name(&scenario), class.name);
            }
            if scenario.provider.limits.is_empty() {
                continue;
            }
            let of_limits = |key: &str| run.count(&format!("classes.{}.refusals.of_limits.{key}", class.name));
            let parts: u64 = ["met_retries", "displaced", "anyway"].map(of_limits).iter().sum();
            assert_eq!(of_limits("all"), parts, "{}", name(&scenario));
            by_limits += parts;
        }
        // What is refused at the very end, or to somebody who has left, is no answer.
        let refused: u64 =
            scenario.provider.limits.iter().map(|limit| run.count(&format!("limits.{}.refused", limit.name))).sum();
        assert!(by_limits <= refused && refused <= by_limits + 20, "{}: {by_limits} of {refused}", name(&scenario));
    }
}
