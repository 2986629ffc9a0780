//! The exact words of every refusal of what cannot happen within a request.

use snapbox::{assert_data_eq, file};

use super::scenario_errors::table;
use super::stage::said;

#[test]
fn requests_that_make_no_sense_are_refused() {
    const DROP: &str = "respond = { drop = true }";
    const LAYER: &str = "backoff = { fixed = \"2s\" } }";
    const STEP: &str = "latency = \"1s\"";
    const LIMIT: &str = "counts = \"input_tokens\"\namount = \"700k\"\nper = \"1m\"\n";
    let changes = [
        (LAYER, "backoff = { fixed = \"2s\" }, timeout = {} }"),
        (LAYER, "backoff = { fixed = \"2s\" }, timeout = { conect = \"5s\" } }"),
        (LAYER, "backoff = { fixed = \"2s\" }, timeout = { read = \"0s\", total = 30 } }"),
        (LAYER, "backoff = { fixed = \"2s\" }, timeout = { read = \"9s\", idle_checked = \"by_timer\" } }"),
        (LAYER, "backoff = { fixed = \"2s\" }, timeout = { idle = \"9s\", idle_checked = \"sometimes\" } }"),
        (LAYER, "backoff = { fixed = \"2s\" }, timeout = [\"9s\"] }"),
        (DROP, "respond = { stream = \"silent\" }"),
        (DROP, "respond = { stream = \"silent\", for = \"3s\" }"),
        (DROP, "respond = { stream = \"silent\", at = \"3s\", after = \"9s\" }"),
        (DROP, "respond = { stream = \"silent\", at = \"3s\", for = \"3s\", carried_out = true }"),
        (DROP, "respond = { stream = \"broken\", at = \"3s\" }"),
        (DROP, "respond = { slow_first_token = 90 }"),
        (DROP, "respond = { connect_hang = false }"),
        (DROP, "respond = { drop = true, carried_out = \"yes\" }"),
        (DROP, "respond = { script = \"200 at=3s\" }"),
        (STEP, "latency = \"1s\", first_token = 0.5"),
        (STEP, "latency = \"1s\", idempotency = \"step\""),
        (LIMIT, "counts = \"in_flight\"\namount = 5\nper = \"1m\"\ncapacity = \"3s\"\n"),
        (LIMIT, "counts = \"in_flight\"\namount = 0\n"),
        (LIMIT, "counts = \"in_flite\"\namount = 5\n"),
        ("counts = \"requests\", amount = 10", "counts = \"in_flight\", amount = 10"),
        ("[provider.limits.itpm]", "[provider]\nabandoned = \"forgotten\"\n[provider.limits.itpm]"),
        ("[provider.limits.itpm]", "[provider]\nabandoned = \"skipped\"\n[provider.limits.itpm]"),
        ("[provider.limits.itpm]", "[provider.capacity]\nservers = 0\nqueue = \"endless\"\n[provider.limits.itpm]"),
        ("[provider.limits.itpm]", "[provider.capacity]\norder = \"fair\"\n[provider.limits.itpm]"),
        ("[provider.limits.itpm]", "[provider.capacity]\npriorities = { nobody = 1 }\n[provider.limits.itpm]"),
        (
            "[provider.limits.itpm]",
            "[provider.capacity]\norder = \"priority\"\npriorities = { nobody = 1 }\n[provider.limits.itpm]",
        ),
        ("[provider.limits.itpm]", "[provider.capacity]\nshed = { live = \"50%\" }\n[provider.limits.itpm]"),
        ("[provider.limits.itpm]", "[provider.capacity]\nslowdown = [[10, 1], [5, 2]]\n[provider.limits.itpm]"),
        (
            "[provider.limits.itpm]",
            "[provider.capacity]\nslowdown = []\nwhen_full = { status = 200 }\n[provider.limits.itpm]",
        ),
        (DROP, "speed = 0.5\nrespond = { drop = true }"),
        (DROP, "speed = -1"),
        (DROP, "servers = 2\nmodels = [\"x\"]"),
    ];
    assert_data_eq!(table(&changes), file!["refusals/requests.txt"]);
}

/// One layer that retries as long as its total time lasts, without a wait, and what stands around it.
fn of_layers(provider: &str, layers: &str) -> String {
    format!(
        "horizon = \"1m\"\n{provider}\n[clients.c]\nlayers = [{layers}]\n[traffic.t]\nkind = \"turns\"\nclient = \"c\"\n\
         arrivals = {{ at = [\"0s\"] }}\nsteps = [{{ name = \"s\", model = \"big\", input_tokens = 1, latency = \"2s\" }}]\n"
    )
}

#[test]
fn what_would_go_on_at_one_instant_is_refused_whoever_answers_at_once() {
    let endless = r#"{ name = "sdk", max_attempts = "unlimited", retry_on = "any", total_budget = "5s" }"#;
    let slots = |after: &str| {
        format!("[provider.limits.l]\ncounts = \"in_flight\"\namount = 1\nrefuse = {{ after = \"{after}\" }}")
    };
    let script = |script: &str| format!("[provider.faults.f]\nrespond = {{ script = \"{script}\" }}");
    let instant = [slots("0s"), script("429"), script("200, drop"), script("503 slow=1s, unreachable")];
    let slow =
        [slots("1ms"), script("429 slow=1ms"), script("429, 200"), script("429, 503 write=1ms"), script("silence")];
    for provider in instant {
        let said = said(&of_layers(&provider, endless)).unwrap_err();
        assert!(said[0].0.ends_with("and some refusals take no time"), "{said:?}");
    }
    for provider in slow {
        let timeout = endless.replace("total_budget", "timeout = \"9s\", total_budget");
        said(&of_layers(&provider, &timeout)).unwrap();
    }
}

#[test]
fn the_attempts_of_hedges_and_fallbacks_multiply_too() {
    // By hand: 9 models in each of ten fallbacks, 9^10 > 10^9; 5 requests in each of 10^9 attempts. A layer without a
    // limit waits, those around it need not.
    let fallback = |n: usize| {
        format!(
            "{{ name = \"f{n}\", kind = \"decorator\", fallback = {{ to = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\"] }} }}"
        )
    };
    let layer = |name: &str, attempts: &str| {
        format!(
            "{{ name = \"{name}\", kind = \"client\", max_attempts = {attempts}, retry_on = [503], backoff = {{ fixed = \"1s\" }} }}"
        )
    };
    let fallbacks = |n: usize| (0..n).map(fallback).collect::<Vec<_>>().join(", ");
    let hedge = r#"{ name = "hedge", hedge = { max = 5, delay = "0s" } }"#;
    let two = [layer("a", "1_000_000"), layer("b", "1_000")].join(", ");
    let past = [layer("endless", "\"unlimited\""), layer("a", "1_000_000"), layer("b", "1_001")].join(", ");
    for (layers, found) in [
        (fallbacks(10), Some("3486784401")),
        (fallbacks(9), None),
        (format!("{hedge}, {two}"), Some("5000000000")),
        (two, None),
        (past, Some("1001000000")),
    ] {
        let said = said(&of_layers("", &layers)).map_err(|faults| faults[0].0.clone()).map(|_| ());
        let expected = found.map(|found| format!("multiplies to more than 10^9 attempts, found {found}"));
        assert_eq!(said.err(), expected, "{layers}");
    }
}
