//! What else a random small scenario may have: hops and hedges, steps that run at once, phases of requests and their
//! timeouts, limits on requests in flight, budgets, effects.

use std::fmt::Write as _;

use super::limit_world;
use super::small_world::{SHORT, Tape, layer};

/// What becomes of abandoned requests, and limits on requests in flight.
pub(super) fn provider(tape: &mut Tape<'_>, text: &mut String) {
    let has_servers = tape.seldom();
    if has_servers {
        writeln!(text, "[provider]\nabandoned = \"{}\"", tape.of(&["served", "skipped", "dequeued", "cancelled"]))
            .unwrap();
        servers(tape, text);
    } else if tape.sometimes() {
        text.push_str("[provider]\nabandoned = \"cancelled\"\n");
    }
    for n in 0..tape.below(3) {
        let (amount, after) = (tape.of(&[3, 1, 8]), tape.of(&["100ms", "0s", "2s"]));
        let hint = tape.of(&["", ", hint = \"exact\"", ", hint = { minimum = \"1s\" }"]);
        let status = tape.of(&[429, 503]);
        writeln!(text, "[provider.limits.flight{n}]\ncounts = \"in_flight\"\namount = {amount}").unwrap();
        writeln!(text, "refuse = {{ status = {status}, after = \"{after}\"{hint} }}").unwrap();
    }
    for n in 0..tape.below(3) {
        limit_world::limit(tape, n, text);
    }
}

/// Few servers, and what befalls them.
fn servers(tape: &mut Tape<'_>, text: &mut String) {
    let (servers, queue) = (tape.of(&["1", "3", "8", "\"unlimited\""]), tape.of(&["\"unlimited\"", "0", "2", "20"]));
    let order = tape.of(&["fifo", "lifo", "priority"]);
    let slowdown = tape.of(&["", "slowdown = 0.1\n", "slowdown = [[2, 1], [6, 4]]\n"]);
    let full = tape.of(&[
        "",
        "when_full = { after = \"0s\" }\n",
        "when_full = { status = 429, hint = { minimum = \"1s\" } }\n",
    ]);
    let tokens = tape.of(&["", "per_output_token = \"3ms\"\n", "per_input_token = \"1ms\"\n"]);
    writeln!(
        text,
        "[provider.capacity]\nservers = {servers}\nqueue = {queue}\norder = \"{order}\"\n{slowdown}{full}{tokens}"
    )
    .unwrap();
    if tape.sometimes() {
        let what = tape.of(&["speed = 0", "speed = 0.25", "servers = 1", "servers = 0\nspeed = 3"]);
        writeln!(text, "[provider.faults.crawl]\nwindow = [\"10s\", \"25s\"]\n{what}").unwrap();
    }
}

/// An answer of a fault: what only requests with phases, codes and effects can show.
pub(super) fn respond(tape: &mut Tape<'_>) -> String {
    let carried_out = tape.of(&["", ", carried_out = true", ", carried_out = false"]);
    match tape.below(8) {
        0 => format!("status = 500, after = \"2s\", code = \"insufficient_quota\"{carried_out}"),
        1 => format!("stream = \"silent\", at = \"{}\"{carried_out}", tape.of(&["1s", "0s", "20s"])),
        2 => format!("stream = \"silent\", at = \"1s\", for = \"{}\"", tape.of(&["2s", "25s", "3m"])),
        3 => format!("slow_first_token = \"{}\"", tape.of(&["3s", "90s"])),
        4 => "connect_hang = true".to_owned(),
        5 => format!("cut = true, after = \"4s\"{carried_out}"),
        6 => format!("stream = \"broken\", after = \"1.5s\"{carried_out}"),
        _ => {
            let script = tape.of(&[
                "429 retry-after=2, 503 slow=2s",
                "503, 200",
                "stream_broken slow=3s, drop, 529 first_token=1s",
                "silence at=1s, cut slow=1s",
                "200 connect=1s write=1s first_token=2s, 429 connect=3s",
            ]);
            format!("script = \"{script}\"")
        }
    }
}

/// Guards that stand in hops, and one for each worker.
pub(super) fn guards(tape: &mut Tape<'_>, text: &mut String) {
    let (permits, scope) = (tape.of(&[2, 1, 4]), tape.of(&["global", "process", "client", "class"]));
    let full = tape.of(&[
        "",
        ", wait_at_most = \"1s\"",
        ", when_full = \"reject\"",
        ", line_at_most = 2",
        ", line_at_most = 2, line_full = \"drop_first\"",
        ", line_at_most = 2, line_full = \"block\", block_for = \"3s\"",
    ]);
    writeln!(text, "[guards.gate]\nscope = \"{scope}\"\nsemaphore = {{ permits = {permits}{full} }}").unwrap();
    let (counts, when, probes) = (tape.of(&["responses", "results"]), tape.of(&["hold", "reject"]), tape.below(3));
    writeln!(
        text,
        "[guards.relay]\nscope = \"global\"\n[guards.relay.breaker]\ncounts = \"{counts}\"\nof = [\"5xx\", \"timeout\"]\n\
         when_open = \"{when}\"\nprobes = {probes}"
    )
    .unwrap();
    relay(tape, counts == "results", probes > 0, text);
    let ease = tape.of(&[
        "throttle = { of = [\"5xx\", 429], within = \"20s\", k = 1.5 }",
        "rate = { algorithm = \"cubic\", of = [\"5xx\", 429], min_rate = \"0.2/s\" }",
        "gate = { of = [\"5xx\", 429], for = \"2s\", at_most = \"5s\" }",
        "gate = { of = [429], for = \"2s\", at_most = \"5s\", when_closed = \"reject\" }",
        "gate = { of = [\"5xx\"], for = \"2s\", at_most = \"5s\", opens = { spread = \"4s\" } }",
        "gate = { of = [\"5xx\"], for = \"2s\", at_most = \"5s\", opens = { each = \"200ms\" } }",
        "gate = { of = [\"5xx\"], for = \"2s\", at_most = \"5s\", opens = { ramp = { over = \"5s\" } } }",
    ]);
    writeln!(text, "[guards.ease]\n{ease}").unwrap();
    let slept = tape.of(&[
        "capacity = \"3s\", slept = \"once\"",
        "capacity = \"3s\", slept = \"twice\"",
        "capacity = \"3s\", flow = \"steps\"",
        "capacity = \"3s\", flow = \"steps\", starts_with = 0",
        "capacity = \"3s\", when_empty = \"ask_again\"",
        "flow = \"log\"",
        "warm_up = \"5s\"",
    ]);
    writeln!(
        text,
        "[guards.drip]\nscope = \"class\"\n\
         pacer = {{ counts = \"requests\", amount = 40, per = \"1m\", {slept} }}"
    )
    .unwrap();
    let scope = tape.of(&["worker", "process"]);
    let desk = tape.of(&[
        "semaphore = { permits = 1, wait_at_most = \"5s\" }",
        "concurrency = { algorithm = \"aimd\", initial = 2, max = 4, backoff = 0.5, wait_at_most = \"5s\" }",
        "concurrency = { algorithm = \"vegas\", max = 3, slow_start = {}, ignores = \"none\" }",
        "concurrency = { algorithm = \"gradient\", initial = 1, when_full = \"reject\" }",
    ]);
    writeln!(text, "[guards.desk]\nscope = \"{scope}\"\n{desk}").unwrap();
}

/// What a breaker looks at, and what it does with probes and late results.
fn relay(tape: &mut Tape<'_>, sees_calls: bool, has_probes: bool, text: &mut String) {
    let looks = tape.of(&[
        "last = 4\nminimum = 2\nthreshold = \"50%\"",
        "consecutive = 2",
        "within = \"10s\"\nminimum = 2\nthreshold = \"50%\"\nbuckets_move = \"with_results\"\nat_threshold = \"opens\"",
        "average = \"5s\"\nthreshold = \"50%\"\nwarm_up = \"9s\"\nwarms_up = \"after_closing\"",
    ]);
    let open = tape.of(&["\"3s\"", "{ first = \"1s\", cap = \"6s\" }\nopen_until = \"after_end\""]);
    writeln!(text, "{looks}\nopen = {open}\nlate_failure = \"{}\"", tape.of(&["ignored", "restarts"])).unwrap();
    if has_probes {
        text.push_str(tape.of(&["", "others = \"pass\"\n", "others = \"wait\"\nat_once = 1\n"]));
    }
    if sees_calls {
        let within = looks.starts_with("within");
        text.push_str(tape.of(&["", "late_probe = \"decides\"\n", "last_failure = \"short_circuited\"\n"]));
        text.push_str(if within { tape.of(&["", "share_of = \"calls\"\n"]) } else { "" });
    }
    writeln!(text, "on_close = \"{}\"", tape.of(&["clear", "count_probe", "keep"])).unwrap();
}

/// What stands next to the wire: a hedge, and hops. Says whether there is a layer called `gateway`.
pub(super) fn wire(tape: &mut Tape<'_>, is_jobs: bool, text: &mut String) -> bool {
    let has_hops = tape.seldom();
    if tape.seldom() {
        let (name, kind) = if has_hops { ("mesh", ", kind = \"hop\"") } else { ("hedge", "") };
        let (max, delay) = (tape.of(&[2, 3, 5]), tape.of(&["\"800ms\"", "\"0s\"", "\"4s\"", "\"15s\""]));
        let on = tape.of(&["\"any\"", "[503, \"timeout\"]", "[429]"]);
        let after = tape.of(&["wait", "next"]);
        let delay = tape.of(&[
            delay,
            delay,
            "{ quantile = \"90%\", of_last = 20, after = 3, at_least = \"100ms\" }",
            "{ quantile = \"50%\", of_last = 5, at_first = \"1s\" }",
        ]);
        let bound = tape.of(&[
            "",
            ", at_most_out = 2",
            ", budget = { throttle = { max_tokens = 10, ratio = 0.1 } }",
            ", budget = { deposits = { ratio = 0.1, per_second = 1 }, scope = \"class\" }, at_most_out = 9, scope = \"process\"",
            ", budget = { active_share = { share = \"20%\", minimum = 1 } }",
        ]);
        writeln!(
            text,
            "  {{ name = \"{name}\"{kind}, hedge = {{ max = {max}, delay = {delay}, on = {on}, after_failure = \"{after}\"{bound} }} }},"
        )
        .unwrap();
    }
    if !has_hops {
        return false;
    }
    for guard in ["gate", "relay", "drip", "ease"] {
        if tape.seldom() {
            writeln!(text, "  {{ name = \"{guard}\", guard = \"{guard}\", kind = \"hop\" }},").unwrap();
        }
    }
    let timeout = tape.of(&["", ", timeout = \"5s\"", ", timeout = { read = \"2s\", total = \"9s\" }"]);
    let holds = if is_jobs && tape.seldom() { ", holds_worker = false" } else { "" };
    writeln!(text, "  {{ name = \"gateway\", kind = \"hop\"{timeout}, {}{holds} }},", layer(tape)).unwrap();
    if tape.seldom() {
        let to = tape.of(&["[\"mini\"]", "[\"small\", \"mini\"]"]);
        writeln!(text, "  {{ name = \"reroute\", kind = \"hop\", fallback = {{ to = {to} }} }},").unwrap();
    }
    if is_jobs && tape.seldom() {
        text.push_str("  { name = \"desk\", guard = \"desk\", kind = \"hop\" },\n");
    }
    true
}

/// The timeouts of a layer, phase by phase.
pub(super) fn timeouts(tape: &mut Tape<'_>) -> &'static str {
    tape.of(&[
        "{ connect = \"2s\", write = \"2s\", read = \"6s\", pool = \"1s\", idle = \"3s\", total = \"20s\" }",
        "{ read = \"10s\" }",
        "{ read = \"30s\", idle = \"2s\", idle_checked = \"at_next_event\" }",
        "{ total = \"5s\" }",
        "{ connect = \"1s\", total = \"1m\", idle = \"1s\" }",
    ])
}

/// A budget of a layer's retries.
pub(super) fn budget(tape: &mut Tape<'_>) -> &'static str {
    tape.of(&[
        "{ quota = { capacity = 20, cost = 5, costs = [{ on = [\"timeout\"], cost = 10 }] } }",
        "{ throttle = { max_tokens = 4, ratio = 0.5 } }",
        "{ deposits = { ratio = 0.2, per_second = 1, expiry = \"2s\" } }",
        "{ active_share = { share = \"20%\", minimum = 1 } }",
        "{ throttle = { max_tokens = 4, ratio = 0.5, starts_with = 0.75, checked = \"after_wait\" } }",
        "{ deposits = { ratio = 0.3, per_second = 1, expiry = \"2s\", arithmetic = \"tower\" } }",
        "{ quota = { capacity = 20, refund = 0.5, retried_refund = \"last_retry_of_client\", refill_per_second = 0.5 } }",
    ])
}

/// What a step says of the phases of its requests, of repetitions and of models.
pub(super) fn step(tape: &mut Tape<'_>, text: &mut String) {
    let model = tape.of(&["big", "big", "big", "small"]);
    write!(text, ", model = \"{model}\"").unwrap();
    if tape.seldom() {
        let first = tape.of(&["\"500ms\"", "{ exponential = { mean = \"1s\" } }", "\"12s\""]);
        write!(text, ", first_token = {first}").unwrap();
    }
    for phase in ["connect", "write"] {
        if tape.seldom() {
            let takes = tape.of(&["\"200ms\"", "{ exponential = { mean = \"500ms\" } }", "\"3s\""]);
            write!(text, ", {phase} = {takes}").unwrap();
        }
    }
    if tape.sometimes() {
        write!(text, ", idempotency = \"{}\"", tape.of(&["none", "call", "task"])).unwrap();
    }
}

/// A wait in front of a group's name, so that neighbouring steps run at once.
pub(super) fn group(tape: &mut Tape<'_>) -> &'static str {
    tape.of(&["", "", ", group = \"all\"", ", group = \"some\""])
}

/// A total time that timeouts shrink to.
pub(super) fn shrinking(tape: &mut Tape<'_>) -> String {
    let check = tape.of(&["before_wait", "before_wait_strict", "elapsed", "elapsed_cut", "before_attempt"]);
    let budget = tape.of(&["5s", "20s"]);
    format!(
        ", total_budget = \"{budget}\", budget_check = \"{check}\", timeout_shrinks = {}, wait_cap = \"{}\"",
        tape.sometimes(),
        tape.of(&SHORT)
    )
}
