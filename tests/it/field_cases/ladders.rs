//! How long waits really are, and which overload they outlast.

use super::super::stage::{Run, read};
use super::{always, instants, sdk};

/// Turns against 30 s of overload.
pub(super) fn brownout(layers: &str, arrivals: &str) -> Run {
    let text = format!(
        r#"
        horizon = "10m"
        [provider.faults.overload]
        window = ["0s", "30s"]
        respond = {{ status = 529, after = "0s" }}
        [clients.stack]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "stack"
        arrivals = {arrivals}
        steps = [{{ name = "say", input_tokens = 1, latency = "0s" }}]
        "#
    )
    .replace(",\n           ", ", ");
    Run::of(&read(&text), 1)
}

#[test]
fn a_ladder_outlasts_an_overload_only_if_its_waits_do() {
    // Waits sum to 23.5 s for 6 retries, 31.5 for 7, 39.5 for 8, 47.5 for 9, and each is cut by up to a quarter.
    let turns = 2_000;
    let at_once = format!("{{ at = [{}] }}", vec![r#""0s""#; turns].join(", "));
    let with = |retries: u32| {
        let run = brownout(&sdk(retries + 1, ""), &at_once);
        (run.count("classes.turn.delivered"), run.count("classes.turn.requests"))
    };
    assert_eq!(with(2), (0, 3 * turns as u64));
    assert_eq!(with(6), (0, 7 * turns as u64));
    // 0.75 % of 2,000 is 15, give or take three standard deviations of 3.9.
    let (some, _) = with(7);
    assert!((4..=26).contains(&some), "{some}");
    assert!(with(8).0 >= turns as u64 - 1, "only sums within 0.5 s of the least one fall short");
    assert_eq!(with(9).0, turns as u64);
}

#[test]
fn turns_that_come_late_in_an_overload_ride_it_out() {
    // Uniform over 30 s with two retries: the mean of both waits, 1.3125 s of 30, is the share that succeeds; 0.4375 of
    // 30 need only two requests.
    let n = 20_000.0;
    let run = brownout(&sdk(3, ""), r#"{ count = 20000, until = "30s" }"#);
    let (delivered, sent) = (run.number("classes.turn.delivered") / n, run.number("classes.turn.amplification"));
    assert!((delivered - 1.3125 / 30.0).abs() < 3.0 * (0.044_f64 / n).sqrt(), "{delivered}");
    assert!((sent - (3.0 - 0.4375 / 30.0)).abs() < 3.0 * (0.0146_f64 / n).sqrt(), "{sent}");
}

#[test]
fn a_retry_that_is_due_when_the_overload_ends_succeeds() {
    let every_ten = r#"{ name = "sdk", max_attempts = 9, retry_on = "any", backoff = { fixed = "10s" } }"#;
    let run = brownout(every_ten, r#"{ at = ["0s"] }"#);
    assert_eq!((run.count("classes.turn.delivered"), run.count("classes.turn.requests")), (1, 4));
    assert_eq!(run.number("classes.turn.latency_s.max"), 30.0);
}

/// A turn against a server that refuses everything at once, under one layer.
pub(super) fn refused_for_ever(layer: &str) -> String {
    format!(
        "horizon = \"2h\"\n{}\n[clients.one]\nlayers = [{{ name = \"layer\", {layer} }}]\n\
         [traffic.turn]\nkind = \"turns\"\nclient = \"one\"\narrivals = {{ at = [\"0s\"] }}\n\
         steps = [{{ name = \"say\", input_tokens = 1, latency = \"0s\" }}]\n",
        always(r#"status = 503, after = "0s", retry_after = "1ns""#)
    )
}

#[test]
fn a_wait_of_an_hour_is_at_most_ten_minutes_where_a_default_says_so() {
    // celery 5.7: the first wait is an hour, the default of `retry_backoff_max` is 600 s.
    let queue = |jitter: &str| {
        let queue = format!(
            r#"{{ name = "queue", preset = "celery-5.7", max_retries = 3, retry_backoff = "3600s", retry_jitter = {jitter} }}"#
        );
        let down = always(r#"status = 503, after = "0s""#);
        format!(
            "horizon = \"2h\"\n{down}\n[clients.one]\nlayers = [{queue}]\n[traffic.job]\nkind = \"jobs\"\n\
             client = \"one\"\nworkers = 1\narrivals = {{ at = [\"0s\"] }}\n\
             steps = [{{ name = \"ask\", input_tokens = 1, latency = \"0s\" }}]\n"
        )
    };
    assert_eq!(instants(&queue("false")), [0.0, 600.0, 1200.0, 1800.0]);
    // With its jitter a wait is uniform over 0 to 600 whole seconds: 300 on average, 173.5 about it. Seeds are names of
    // days: 200 of them, three waits each.
    let waits: Vec<f64> = (1..=200)
        .flat_map(|seed| {
            let mut sent = Vec::new();
            for fact in super::super::stage::facts(&read(&queue("true")), seed) {
                if let retrycast::sim::Fact::RequestEnded { sent: at, .. } = fact {
                    sent.push(at.as_secs_f64());
                }
            }
            sent.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
        })
        .collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert_eq!(waits.len(), 600);
    assert!(waits.iter().all(|wait| wait.fract() == 0.0 && *wait <= 600.0));
    assert!((mean - 300.0).abs() < 3.0 * 173.5 / 600_f64.sqrt(), "{mean}");
}

#[test]
fn a_deadline_that_is_looked_at_after_the_wait_is_passed() {
    // 1, 2, 4 s and 5 s in all, by tenacity: one attempt past the limit, or none.
    let with = |stop: &str| {
        instants(&refused_for_ever(&format!(
            r#"preset = "tenacity-9.2", wait = {{ exponential = {{ multiplier = "1s" }} }}, stop = {{ {stop} = "5s" }}"#
        )))
    };
    assert_eq!(with("after_delay"), [0.0, 1.0, 3.0, 7.0]);
    assert_eq!(with("before_delay"), [0.0, 1.0, 3.0]);
}

#[test]
fn the_first_retry_of_an_http_pool_comes_at_once() {
    // urllib3 2.8 with a factor of 1 s: 0, 2, 4, 8, … capped at 120 s.
    let sent = instants(&refused_for_ever(
        r#"preset = "urllib3-2.8", total = 9, backoff_factor = "1s", status_forcelist = [503], respect_retry_after_header = false"#,
    ));
    let waits: Vec<f64> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits, [0.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0, 120.0]);
}

#[test]
fn a_least_wait_and_a_cap_make_another_ladder() {
    let layer = r#"preset = "tenacity-9.2", stop = { after_attempt = 7 }, wait = { exponential = { multiplier = "1s", min = "4s", max = "10s" } }"#;
    assert_eq!(instants(&refused_for_ever(layer)), [0.0, 4.0, 8.0, 12.0, 20.0, 30.0, 40.0]);
}

#[test]
fn nobody_sleeps_after_the_last_attempt() {
    // Four attempts have three waits, and the call is over with the last of them.
    let text = refused_for_ever(r#"max_attempts = 4, retry_on = "any", backoff = { fixed = "10s" }"#);
    let ended = super::super::stage::facts(&read(&text), 1).into_iter().find_map(|fact| match fact {
        retrycast::sim::Fact::TaskEnded { at, .. } => Some(at.as_secs_f64()),
        retrycast::sim::Fact::TaskArrived { .. } | retrycast::sim::Fact::RequestEnded { .. } => None,
    });
    assert_eq!(ended, Some(30.0));
}

#[test]
fn attempts_without_end_and_without_a_wait_are_refused() {
    let text = refused_for_ever(r#"preset = "tenacity-9.2""#);
    let refusal = retrycast::scenario::load(&retrycast::scenario::Source::new("spin.toml", &text)).unwrap_err();
    let said = format!("{refusal:?}");
    assert!(said.contains("for ever at one instant"), "{said}");
}
