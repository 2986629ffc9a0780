//! The exact words of every refusal of what cannot happen within a request.

use snapbox::{assert_data_eq, file};

use super::scenario_errors::table;

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
    ];
    assert_data_eq!(table(&changes), file!["refusals/requests.txt"]);
}
