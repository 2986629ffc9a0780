//! What requests cost, in whole billionths of a dollar. Expected numbers are worked out by hand: a request of 1,000 input
//! tokens, 100 of output and 0.001 for itself costs 3,000,000 + 1,500,000 + 1,000,000 billionths at 3 and 15 dollars for a
//! million tokens.

use std::fmt::Write as _;

use super::stage::{Run, read, said};

const PRICES: &str = "[provider.prices]\ninput = 3\ncached_input = 0.3\noutput = 15\nrequest = 0.001\n";
const WHOLE: f64 = 0.005_5;

/// A request of which so much output was produced.
fn part(output: u32) -> f64 {
    0.004 + f64::from(output) * 0.000_015
}

/// So many turns at time zero.
fn turns(provider: &str, layers: &str, n: usize, step: &str, horizon: &str) -> Run {
    let mut text = format!("horizon = \"{horizon}\"\n{provider}\n{PRICES}\n");
    let at = vec![r#""0s""#; n].join(", ");
    writeln!(text, "[clients.app]\nlayers = [{layers}]\n[traffic.turn]\nkind = \"turns\"\nclient = \"app\"").unwrap();
    writeln!(text, "arrivals = {{ at = [{at}] }}").unwrap();
    writeln!(text, "steps = [{{ name = \"ask\", input_tokens = 1000, output_tokens = 100, {step} }}]").unwrap();
    Run::of(&read(&text), 1)
}

fn bill(run: &Run, key: &str) -> f64 {
    run.number(&format!("classes.turn.bill.{key}"))
}

/// Total, for retries, for nobody, for tasks that failed.
#[track_caller]
fn assert_bill(run: &Run, expected: [f64; 4]) {
    let found = ["total", "retries", "unreceived", "failed_tasks"].map(|key| bill(run, key));
    // Each is the nearest float to a whole number of billionths.
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
    assert!((bill(run, "first_requests") + bill(run, "retries") - bill(run, "total")).abs() < 1e-12);
    assert!((bill(run, "by_task") - bill(run, "total")).abs() < 1e-12);
}

fn sdk(attempts: u32, timeout: &str) -> String {
    format!(r#"{{ name = "sdk", max_attempts = {attempts}, retry_on = "any"{timeout} }}"#)
}

#[test]
fn an_answer_costs_its_input_its_output_and_itself() {
    let run = turns("", &sdk(1, ""), 2, r#"latency = "1s""#, "1h");
    assert_bill(&run, [2.0 * WHOLE, 0.0, 0.0, 0.0]);
    assert_eq!(bill(&run, "cost_per_delivered"), WHOLE);
    // 400 of the 1,000 come from a cache, for a tenth.
    let run = turns("", &sdk(1, ""), 1, r#"latency = "1s", cached_tokens = 400"#, "1h");
    assert_bill(&run, [WHOLE - 400.0 * 0.000_002_7, 0.0, 0.0, 0.0]);
    // Sums are exact, however many they are of: 10,000 times a price that no float holds.
    let run = turns("", &sdk(1, ""), 10_000, r#"latency = "1s""#, "1h");
    assert_eq!(bill(&run, "total"), 55.0);
}

#[test]
fn what_is_served_for_nobody_is_billed_as_far_as_it_goes() {
    // Three attempts of 30 s each at 45 s of service.
    let layers = sdk(3, r#", timeout = { total = "30s" }"#);
    let slow = |provider: &str, step: &str| turns(provider, &layers, 1, step, "1h");
    let run = slow("", r#"latency = "45s""#);
    assert_bill(&run, [3.0 * WHOLE, 2.0 * WHOLE, 3.0 * WHOLE, 3.0 * WHOLE]);
    assert!(bill(&run, "cost_per_delivered").is_nan());
    // A service that ends with its caller has produced 100 · 30/45 of its output, in whole tokens; one that streams
    // from second 15 on half of it.
    let notices = "[provider]\nabandoned = \"cancelled\"";
    let run = slow(notices, r#"latency = "45s""#);
    assert_bill(&run, [3.0 * part(66), 2.0 * part(66), 3.0 * part(66), 3.0 * part(66)]);
    let run = slow(notices, r#"latency = "45s", first_token = "15s""#);
    assert_bill(&run, [3.0 * part(50), 2.0 * part(50), 3.0 * part(50), 3.0 * part(50)]);
    // The first two are served to their end within 80 s, the third is not.
    let run = turns("", &layers, 1, r#"latency = "45s""#, "80s");
    assert_eq!(bill(&run, "total"), 2.0 * WHOLE);
}

#[test]
fn what_failures_cost() {
    let with = |respond: &str| {
        let provider = format!("[provider.faults.odd]\nrespond = {respond}");
        let run = turns(
            &provider,
            &sdk(1, r#", timeout = { idle = "5s" }"#),
            1,
            r#"latency = "10s", first_token = "1s""#,
            "1h",
        );
        let total = bill(&run, "total");
        assert_bill(&run, [total, 0.0, total, total]);
        total
    };
    for free in [
        "{ status = 500 }",
        "{ status = 529 }",
        "{ status = 429 }",
        "{ drop = true }",
        "{ unreachable = true }",
        r#"{ stream = "failed", after = "1s" }"#,
    ] {
        assert_eq!(with(free), 0.0, "{free}");
    }
    // Output flows from second 1 to second 10: at second 4 a third of it was there, and rounded down.
    assert_eq!(with(r#"{ stream = "broken", after = "4s" }"#), part(33));
    assert_eq!(with(r#"{ stream = "silent", at = "4s" }"#), part(33));
    // An answer that is cut had been made before, and what is said to be carried out was.
    assert_eq!(with(r#"{ cut = true, after = "4s" }"#), WHOLE);
    assert_eq!(with(r#"{ stream = "broken", after = "4s", carried_out = true }"#), WHOLE);
    assert_eq!(with("{ status = 500, carried_out = true }"), WHOLE);
    assert_eq!(with(r#"{ cut = true, after = "4s", carried_out = false }"#), 0.0);
}

#[test]
fn a_hedge_that_loses_is_billed_for_nobody() {
    let hedge = r#"{ name = "hedge", hedge = { max = 2, delay = "2s" } }"#;
    let run = turns("", hedge, 1, r#"latency = "10s""#, "1h");
    assert_bill(&run, [2.0 * WHOLE, WHOLE, WHOLE, 0.0]);
    // When the first is there the second was served for 8 of 10 s.
    let run = turns("[provider]\nabandoned = \"cancelled\"", hedge, 1, r#"latency = "10s""#, "1h");
    assert_bill(&run, [WHOLE + part(80), part(80), part(80), 0.0]);
}

#[test]
fn what_servers_do_for_tasks_that_are_gone_is_theirs() {
    let servers = |abandoned: &str, horizon: &str| {
        let provider = format!("[provider]\nabandoned = \"{abandoned}\"\ncapacity = {{ servers = 1 }}");
        turns(&provider, &sdk(1, r#", timeout = "15s""#), 3, r#"latency = "10s""#, horizon)
    };
    // One server, three turns of 10 s and 15 s of patience: the second is left in the middle of its service, and the
    // third in the queue; both are served to their end, at 20 and 30 s.
    assert_bill(&servers("served", "1h"), [3.0 * WHOLE, 0.0, 2.0 * WHOLE, 2.0 * WHOLE]);
    assert_bill(&servers("served", "25s"), [2.0 * WHOLE, 0.0, WHOLE, WHOLE]);
    assert_bill(&servers("dequeued", "1h"), [2.0 * WHOLE, 0.0, WHOLE, WHOLE]);
    // The server that the second has left begins with the third at that instant, and the third leaves at that instant.
    let lost = part(50) + part(0);
    assert_bill(&servers("cancelled", "1h"), [WHOLE + lost, 0.0, lost, lost]);
}

#[test]
fn a_job_that_starts_anew_pays_for_its_steps_again() {
    let text = format!(
        r#"
        horizon = "1h"
        {PRICES}
        [provider.faults.odd]
        respond = {{ status = 500 }}
        window = ["1s", "1050ms"]
        [phases]
        early = {{ from = "0s", until = "500ms" }}
        [clients.app]
        layers = [{{ name = "queue", kind = "queue", max_attempts = 2, retry_on = "any" }}]
        [traffic.turn]
        kind = "jobs"
        client = "app"
        workers = 1
        arrivals = {{ at = ["0s"] }}
        steps = [{{ name = "a", input_tokens = 1000, output_tokens = 100, latency = "1s" }},
                 {{ name = "b", input_tokens = 1000, output_tokens = 100, latency = "1s" }}]
        "#
    );
    // `a` at 0 s; `b` at 1 s is refused; `a` again at 1.1 s, `b` again.
    let run = Run::of(&read(&text), 1);
    assert_bill(&run, [3.0 * WHOLE, 2.0 * WHOLE, 0.0, 0.0]);
    // A request belongs to the phase in which its call began, a task to that of its arrival.
    let early = |key: &str| run.number(&format!("phases.early.classes.turn.bill.{key}"));
    assert_eq!([early("by_task"), early("total"), early("retries")], [0.016_5, WHOLE, 0.0]);
}

/// Jobs that ask opus for 100,000 tokens and haiku if it refuses.
fn two_models(limit: &str, prices: &str) -> String {
    format!(
        r#"
        horizon = "1h"
        {prices}
        [provider.models.haiku]
        prices = {{ input = 1, output = 5 }}
        {limit}
        [clients.app]
        layers = [{{ name = "fallback", fallback = {{ to = ["haiku"], on = [429] }} }}]
        [traffic.turn]
        kind = "turns"
        client = "app"
        arrivals = {{ at = ["0s", "10s", "20s"] }}
        steps = [{{ name = "ask", model = "opus", input_tokens = 100000, output_tokens = 1, latency = "1s" }}]
        "#
    )
}

#[test]
fn a_limit_on_spend_charges_the_providers_prices_model_by_model() {
    // A dollar a day for opus at 4 dollars for a million tokens: 0.4 and 0.000001 for each, and only two fit. The third
    // goes to haiku for a tenth, and 0.9 and a bit are spent.
    let limit = "[provider.limits.daily]\ncounts = \"spend\"\namount = 1\nper = \"1d\"\nalgorithm = \"fixed_window\"";
    let run = Run::of(&read(&two_models(limit, "[provider.prices]\ninput = 4\noutput = 1")), 1);
    assert_eq!(run.count("limits.daily.refused"), 1);
    let models = |key: &str| run.number(&format!("classes.turn.bill.models.{key}"));
    assert_eq!([models("opus.total"), models("haiku.total")], [0.800_002, 0.100_005]);
    assert_eq!([models("opus.retries"), models("haiku.retries")], [0.0, 0.100_005]);
    assert_eq!(bill(&run, "total"), 0.900_007);
    // Charged as the output comes, or when the service ends: a token of haiku for 0.6 beside its input for 0.1, where one of
    // opus is free. The third finds 1.4 spent, and opus no better.
    for charge in ["streaming", "completion"] {
        let later = format!("{limit}\ncharge = \"{charge}\"");
        let text = two_models(&later, "[provider.prices]\ninput = 1\noutput = 0");
        let text = text.replace("model = \"opus\"", "model = \"haiku\"").replace("to = [\"haiku\"]", "to = [\"opus\"]");
        let run = Run::of(&read(&text.replace("output = 5 }", "output = 600000 }")), 1);
        assert_eq!((run.count("limits.daily.refused"), charge), (2, charge));
    }
    // At prices of its own the limit takes all of them for one model.
    let own = format!("{limit}\nprices = {{ input = 6, output = 1 }}");
    let run = Run::of(&read(&two_models(&own, "[provider.prices]\ninput = 4\noutput = 1")), 1);
    assert_eq!(run.count("limits.daily.refused"), 2 + 2);
    // Where only one model has a price the others cost nothing.
    let run = Run::of(&read(&two_models("", "")), 1);
    assert_eq!(bill(&run, "total"), 0.0);
}

#[test]
fn prices_that_make_no_sense_are_refused() {
    let says = |prices: &str, expected: &str, hint: &str| {
        let faults = said(&two_models("", prices)).expect_err(prices);
        let (message, found) = &faults[0];
        assert_eq!((message.as_str(), found.as_str()), (expected, hint), "{prices}");
    };
    let table = |rest: &str| format!("[provider.prices]\ninput = 3\n{rest}");
    says(&table(""), "lacks the key `output`", "write the dollars for a million output tokens");
    says(&table("output = 1.2345"), "must have at most three decimals, found 1.2345", "round it");
    says(&table("output = 1\nrequest = 0.0000001"), "must have at most six decimals, found 1e-7", "round it");
    says(
        &table("output = 1\ncurrency = \"two words\""),
        "must be one short word, found \"two words\"",
        "write a code such as \"EUR\"",
    );
    let model = "[provider.prices]\ninput = 3\noutput = 1\n[provider.models.opus]\nprices = { input = 3, output = 1, currency = \"EUR\" }";
    says(model, "all prices are in one currency", "write it in [provider.prices]");
}
