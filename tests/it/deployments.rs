//! Choices among deployments in whole runs, through scenario files: who is asked, who is left out for how long, and what a
//! call sees when nobody is left.

use retrycast::sim::{Fact, Fate};
use snapbox::{assert_data_eq, file};

use super::scenario_errors::table;
use super::stage::{Run, facts, read};

/// Turns that come each second to two deployments, of which those named fail with a status after a tenth of a second.
fn turns(choice: &str, layers: &str, faults: &[(&str, u16)]) -> String {
    let fault = |(model, status): &(&str, u16)| {
        format!(
            "[provider.faults.{model}]\nmodels = [\"{model}\"]\nrespond = {{ status = {status}, after = \"100ms\" }}\n"
        )
    };
    let faults: String = faults.iter().map(fault).collect();
    format!(
        r#"
        horizon = "1000s"
        {faults}
        [guards.router]
        deployments = {{ to = ["east", "west"]{choice} }}
        [clients.c]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "c"
        arrivals = {{ every = "1s" }}
        steps = [{{ name = "s", input_tokens = 1, latency = "200ms" }}]
        "#
    )
}

const RETRIED: &str = r#"{ guard = "router" }, { name = "again", max_attempts = 3, retry_on = [429, "5xx"], backoff = { fixed = "10s" } }"#;

#[test]
fn a_deployment_that_fails_is_asked_once_in_each_cooldown_and_a_retry_goes_on_at_once() {
    // By hand: whoever meets the failing one is answered by the other after 100 + 200 ms, and it is left out for 9 s: of
    // the turns each second the next nine, at most, do not meet it. Of two at random it is met after one more on average.
    let scenario = read(&turns(r#", cooldown = "9s""#, RETRIED, &[("east", 429)]));
    let run = Run::of(&scenario, 1);
    let (picked, cooled) = ("guards.router.deployments.east.picked", "guards.router.deployments.east.cooled");
    assert_eq!(run.count(picked), run.count(cooled));
    // By theory: a cycle is 9 turns without it and then 2 on average (a geometric number with p = 1/2), 1000 turns are 91
    // cycles, whose standard deviation is about sqrt(91 * 2) / 11 = 1.2.
    assert!((86..=96).contains(&run.count(cooled)), "{}", run.count(cooled));
    assert_eq!(run.count("guards.router.deployments.west.picked"), 1000);
    assert_eq!(run.count("guards.router.deployments.west.cooled"), 0);
    assert_eq!(run.count("guards.router.refused"), 0);
    // The ones that met it took 300 ms, all others 200: nobody waited for 10 s.
    assert!((run.number("classes.turn.latency_s.max") - 0.3).abs() < 1e-9);
}

#[test]
fn when_all_cool_a_call_fails_at_once_without_a_request_and_layers_further_out_see_the_status() {
    // By hand: at 0 s both are met, at 0 and at 0.1 s, and left out until 5.1 and 5.2 s; the turns of 1 to 5 s fail at once
    // and that of 6 s meets both again.
    let ends = |layers: &str| {
        let scenario = read(&turns("", layers, &[("east", 429), ("west", 429)]));
        let mut ends = Vec::new();
        for fact in facts(&scenario, 1) {
            if let Fact::TaskEnded { at, fate, .. } = fact {
                assert_eq!(fate, Fate::Failed);
                ends.push(at.as_secs_f64());
            }
        }
        (ends, Run::of(&scenario, 1))
    };
    let (at_once, run) = ends(RETRIED);
    assert_eq!(at_once[..8], [0.2, 1.0, 2.0, 3.0, 4.0, 5.0, 6.2, 7.0]);
    // 167 turns, of 0, 6, …, 996 s, meet both and try no third time; all other turns are refused.
    assert_eq!(run.count("guards.router.deployments.east.cooled"), 167);
    assert_eq!(run.count("guards.router.deployments.west.picked"), 167);
    assert_eq!(run.count("guards.router.refused"), 833);
    // A layer around that repeats 429 sees one: the turn of 0 s comes back at 1.2 s, that of 1 s at 2 s, and in vain.
    let around = format!(
        r#"{RETRIED}, {{ name = "app", kind = "decorator", max_attempts = 2, retry_on = [429], backoff = {{ fixed = "1s" }} }}"#
    );
    let (at_once, _) = ends(&around);
    assert_eq!(at_once[..2], [1.2, 2.0]);
    // So does the client of a gateway that picks and retries.
    let gateway = r#"{ guard = "router", kind = "hop" }, { name = "again", kind = "hop", max_attempts = 3, retry_on = [429], backoff = { fixed = "10s" } }, { name = "app", max_attempts = 2, retry_on = [429], backoff = { fixed = "1s" } }"#;
    assert_eq!(ends(gateway).0[..2], [1.2, 2.0]);
}

#[test]
fn picks_follow_weights_and_orders() {
    // By theory: weights 4 and 1 are 800 of 1,000 turns with a standard deviation of 12.6.
    let picked = |choice: &str| {
        let run = Run::of(&read(&turns(choice, r#"{ guard = "router" }"#, &[])), 1);
        ["east", "west"].map(|name| run.count(&format!("guards.router.deployments.{name}.picked")))
    };
    let [east, west] = picked(", weights = [4, 1]");
    assert!(east + west == 1000 && (750..=850).contains(&east), "{east} {west}");
    assert_eq!(picked(r#", pick = "round_robin""#), [500, 500]);
    assert_eq!(picked(r#", pick = "first""#), [1000, 0]);
}

#[test]
fn failures_count_within_a_window_and_the_state_is_whose_the_scope_says() {
    // By hand: one failure each second, and more than 4 within 10 s cool for a minute: the fifth, at 4.1 s, and then none
    // before 64.1 s: a cycle is 65 s, 1,000 s are 16 of them, the last of which begins at 975 s.
    let choice = r#", pick = "first", within = "10s", cooldown = "60s""#;
    let text = turns(choice, r#"{ guard = "router" }"#, &[("east", 500)]);
    let cooled = |text: &str| Run::of(&read(text), 1).count("guards.router.deployments.east.cooled");
    assert_eq!(cooled(&text), 16);
    // Of each task's own nothing is ever left out.
    assert_eq!(cooled(&text.replace("[guards.router]", "[guards.router]\nscope = \"task\"")), 0);
    // Within less than five seconds there are never five.
    assert_eq!(cooled(&text.replace(r#"within = "10s""#, r#"within = "3s""#)), 0);
}

#[test]
fn a_fallback_that_has_gone_on_asks_its_own_model() {
    // By hand: both fail with 500 and are not left out; each turn asks one of them, and then `spare`.
    let layers = r#"{ guard = "router" }, { name = "fallback", fallback = { to = ["spare"] } }"#;
    let text = turns(", allowed_failures = 1000000", layers, &[("east", 500), ("west", 500)]);
    let text = text.replace(r#"name = "s","#, r#"name = "s", model = "gpt","#);
    let scenario = read(&text);
    let mut asked = [0; 2];
    for fact in facts(&scenario, 1) {
        if let Fact::RequestEnded { model, .. } = fact {
            asked[usize::from(scenario.provider.models[usize::from(model)].name == "spare")] += 1;
        }
    }
    assert_eq!(asked, [1000, 1000]);
}

#[test]
fn what_a_choice_cannot_mean_is_refused() {
    let pacer = r#"pacer = { counts = "requests", amount = 10, per = "1s" }"#;
    let settings = [
        "",
        "to = []",
        r#"to = ["a", "a"]"#,
        r#"to = ["a", "b"], pick = "best""#,
        r#"to = ["a", "b"], weights = [1]"#,
        r#"to = ["a", "b"], weights = [1, 0]"#,
        r#"to = ["a", "b"], weights = [1, 2], pick = "first""#,
        r#"to = ["a", "b"], cooldown = "0s""#,
        r#"to = ["a", "b"], within = "0s""#,
        r#"to = ["a", "b"], allowed_failures = -1"#,
        r#"to = ["a", "b"], at_once = ["timeout"]"#,
        r#"to = ["a", "b"], of = ["short_circuited"]"#,
        r#"to = ["a", "b"], status = 200"#,
        r#"to = ["a", "b"], cooldwon = "5s""#,
    ];
    let settings = settings.map(|settings| format!("deployments = {{ {settings} }}"));
    let changes: Vec<(&str, &str)> = settings.iter().map(|new| (pacer, new.as_str())).collect();
    assert_data_eq!(table(&changes), file!["refusals/deployments.txt"]);
}
