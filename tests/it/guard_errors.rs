//! The exact words with which guards are refused, as in `scenario_errors`.

#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are written by a tool")]

use snapbox::{assert_data_eq, file, str};

use super::scenario_errors::{SOUND, said, table};

#[test]
fn guards_that_say_nothing_or_two_things_are_refused() {
    let pacer = "pacer = { counts = \"requests\", amount = 10, per = \"1s\" }";
    let guard = |settings: &str| (pacer, settings.to_owned());
    let changes = [
        guard("semaphore = {}"),
        guard("semaphore = { permits = 0 }"),
        guard("semaphore = { permits = 10.5 }"),
        guard("semaphore = { permits = 2_000_000 }"),
        guard("semaphore = { permits = 10, when_full = \"hold\" }"),
        guard("semaphore = { permits = 10, when_full = \"reject\", wait_at_most = \"5s\" }"),
        guard("semaphore = { permits = 10, wait_at_most = \"0s\" }"),
        guard("semaphore = { permits = 10, timeout = \"5s\" }"),
        guard("semaphore = 10"),
        guard("semaphor = { permits = 10 }"),
        guard("pool = {}"),
        guard("pool = { connections = 0 }"),
        guard("pool = { connections = 50, timeout = \"0s\" }"),
        guard("pool = { connections = 50, permits = 50 }"),
        guard("semaphore = { permits = 10, when_full = \"reject\", line_at_most = 5 }"),
        guard("semaphore = { permits = 10, line_at_most = 0 }"),
        guard("throttle = {}"),
        guard("throttle = { of = [503], k = 0.5 }"),
        guard("throttle = { of = [\"short_circuited\"] }"),
        guard("throttle = { of = [503], within = \"0s\" }"),
        guard("size = {}"),
        guard("size = { at_most = 0 }"),
        guard("size = { at_most = \"200K\" }"),
        guard("size = { at_most = \"200k\" }\npool = { connections = 50 }"),
        guard("pacer = { counts = \"requests\", amount = 10, per = \"1s\", slept = \"thrice\" }"),
        guard("semaphore = { permits = 10, line_full = \"drop_first\" }"),
        guard("semaphore = { permits = 10, line_at_most = 5, line_full = \"drop_last\" }"),
        guard("semaphore = { permits = 10, line_at_most = 5, line_full = \"drop_first\", wait_at_most = \"5s\" }"),
        guard("semaphore = { permits = 10, line_at_most = 5, line_full = \"block\" }"),
        guard("semaphore = { permits = 10, line_at_most = 5, line_full = \"block\", block_for = \"0s\" }"),
        guard("semaphore = { permits = 10, line_at_most = 5, block_for = \"5s\" }"),
        guard("pacer = { counts = \"requests\", amount = 10, per = \"1s\", flow = \"drops\" }"),
        guard("pacer = { counts = \"requests\", amount = 10, per = \"1s\", starts_with = 5 }"),
        guard("pacer = { counts = \"requests\", amount = 10, per = \"1s\", flow = \"steps\", starts_with = 11 }"),
        guard("pacer = { counts = \"requests\", amount = 10, per = \"1s\", aligned = \"first_request\" }"),
        guard("pacer = { counts = \"requests\", amount = 10, per = \"1s\", flow = \"steps\", slept = \"twice\" }"),
        guard("pacer = { counts = \"requests\", amount = 10, per = \"1s\", flow = \"log\", capacity = \"2s\" }"),
        guard("pacer = { counts = \"input_tokens\", amount = 10, per = \"1s\", flow = \"log\" }"),
        guard(
            "pacer = { counts = \"requests\", amount = 10, per = \"1s\", flow = \"steps\", when_empty = \"ask_again\" }",
        ),
        ("of = [529]", "of = [529, \"too_large\"]".to_owned()),
        ("of = [529]", "of = [529, \"pool_timeout\"]".to_owned()),
        ("of = [529]", "of = [529, \"timeout\"]".to_owned()),
        ("status = 529, ", "status = 529, code = \"permanent\", ".to_owned()),
    ];
    let changes: Vec<(&str, &str)> = changes.iter().map(|(old, new)| (*old, new.as_str())).collect();
    assert_data_eq!(table(&changes), file!["refusals/guards.txt"]);
    // A layer that has no wait needs a refusal that takes time.
    let again = "max_attempts = 4, retry_on = \"any\", backoff = { fixed = \"2s\" }";
    let spinning = "max_attempts = \"unlimited\", retry_on = [\"limiter_full\"], total_budget = \"10s\"";
    let full = |semaphore: &str| said(&SOUND.replacen(pacer, semaphore, 1).replacen(again, spinning, 1), None, &[]);
    assert_eq!(full("semaphore = { permits = 10, wait_at_most = \"1s\" }"), "accepted\n");
    assert_data_eq!(
        full("semaphore = { permits = 10, when_full = \"reject\" }"),
        str![[r#"
27:36 retries without end and without wait, and some refusals take no time
  limit the attempts, or give it a wait

"#]]
    );
    // A job would wait for the permit that it holds; the same pacer twice is only slow.
    let twice =
        SOUND.replacen("{ guard = \"share\" }", "{ guard = \"share\" }, { name = \"more\", guard = \"share\" }", 1);
    assert_eq!(said(&twice, None, &[]), "accepted\n");
    assert_data_eq!(
        said(&twice.replacen(pacer, "semaphore = { permits = 10 }", 1), None, &[]),
        str![[r#"
17:9 `batch` passes `share` twice, and would wait for a permit that it holds itself
  keep one of its elements

"#]]
    );
}

#[test]
fn what_ends_with_a_task_is_refused_where_somebody_must_outlive_it() {
    let breaker = "[guards.fuse]\nbreaker = {";
    let fuse = |scope: &str| (breaker, format!("[guards.fuse]\nscope = \"{scope}\"\nbreaker = {{"));
    let pauses =
        |scope: &str| (breaker, format!("[guards.fuse]\nscope = \"{scope}\"\nbreaker = {{ pauses_workers = true,"));
    let queue = |scope: &str| {
        let budget = format!("max = 2, budget = {{ quota = {{}}, scope = \"{scope}\" }} }}");
        ("max = 2 }", budget)
    };
    let again = |scope: &str| {
        let budget = format!("max_attempts = 4, budget = {{ quota = {{}}, scope = \"{scope}\" }},");
        ("max_attempts = 4,", budget)
    };
    let pacer = "pacer = { counts = \"requests\", amount = 10, per = \"1s\" }\nscope = \"global\"";
    let semaphore = |scope: &str| (pacer, format!("semaphore = {{ permits = 2 }}\nscope = \"{scope}\""));
    let trips = |scope: &str| {
        let trip = "[interventions.cut]\nat = \"12m\"\ntrip = \"fuse\"\n";
        (breaker, format!("{trip}[guards.fuse]\nscope = \"{scope}\"\nbreaker = {{"))
    };
    let changes = [
        fuse("call"),
        fuse("run"),
        fuse("session"),
        pauses("run"),
        pauses("task"),
        semaphore("call"),
        semaphore("task"),
        trips("task"),
        queue("call"),
        queue("run"),
        queue("task"),
        again("call"),
        again("run"),
        again("global"),
    ];
    let changes: Vec<(&str, &str)> = changes.iter().map(|(old, new)| (*old, new.as_str())).collect();
    assert_data_eq!(table(&changes), file!["refusals/lifetimes.txt"]);
}

#[test]
fn breakers_that_say_nothing_or_two_things_are_refused() {
    let changes = [
        ("last = 20, ", ""),
        ("last = 20, ", "within = \"10s\", last = 20, "),
        ("last = 20, threshold = \"30%\", ", "within = \"0s\", threshold = \"30%\", "),
        ("last = 20, threshold = \"30%\", ", "within = \"10s\", buckets = 0, threshold = \"30%\", "),
        ("last = 20, threshold = \"30%\", ", "within = \"10s\", minimum = 2_000_000, threshold = \"30%\", "),
        ("last = 20, threshold = \"30%\", ", "consecutive = 5, threshold = \"30%\", "),
        ("last = 20, threshold = \"30%\", ", "consecutive = 0, "),
        ("last = 20, threshold = \"30%\", ", "average = \"30s\", "),
        ("last = 20, threshold = \"30%\", ", "average = \"30s\", share_of = \"calls\", threshold = \"30%\", "),
        ("last = 20, threshold = \"30%\", ", "within = \"10s\", share_of = \"calls\", threshold = \"30%\", "),
        ("last = 20, ", "last = 20, buckets = 5, "),
        ("threshold = \"30%\", ", "threshold = 1, "),
        ("threshold = \"30%\", ", "threshold = 1, at_threshold = \"opens\", "),
        ("threshold = \"30%\", ", "threshold = \"30%\", warms_up = \"once\", "),
        ("open = \"60s\"", "open = { first = \"30s\", cap = \"10s\" }"),
        ("open = \"60s\"", "open = { first = \"30s\", factor = 0.5 }"),
        ("open = \"60s\"", "open = {}"),
        ("open = \"60s\"", "open = \"60s\", open_until = \"over\""),
        ("open = \"60s\"", "open = \"60s\", probes = 0, others = \"pass\""),
        ("open = \"60s\"", "open = \"60s\", probes = 2, at_once = 3"),
        ("open = \"60s\"", "open = \"60s\", others = \"pass\", at_once = 1"),
        ("open = \"60s\"", "open = \"60s\", late_probe = \"decides\""),
        ("open = \"60s\"", "open = \"60s\", last_failure = \"short_circuited\""),
        ("open = \"60s\"", "open = \"60s\", on_close = \"count\""),
        ("counts = \"responses\"", "preset = \"oposum\", counts = \"responses\""),
        ("counts = \"responses\"", "preset = \"opossum-8\", counts = \"responses\""),
        ("counts = \"responses\"", "preset = \"pybreaker\", counts = \"results\""),
        ("counts = \"responses\"", "preset = 9, counts = \"responses\""),
        ("counts = \"responses\"", "preset = \"pybreaker\", fail_max = 3, counts = \"results\""),
        ("counts = \"responses\"", "preset = \"pybreaker\", fial_max = 3, counts = \"results\""),
        ("counts = \"responses\"", "preset = \"pybreaker\", reset_timeout = \"9s\", counts = \"results\""),
    ];
    let queue = "max = 2, budget = { throttle = { max_tokens = 10, ratio = 0.1, checked = \"after_wait\" } } }";
    let changes = [changes.as_slice(), &[("max = 2 }", queue)]].concat();
    assert_data_eq!(table(&changes), file!["refusals/breakers.txt"]);
}
