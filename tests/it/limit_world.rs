//! Limits that a random small scenario may have beside plain buckets: every algorithm, and every term on which a request is
//! charged.

use std::fmt::Write as _;

use super::small_world::Tape;

/// A limit with terms.
pub(super) fn limit(tape: &mut Tape<'_>, n: usize, text: &mut String) {
    let counts =
        tape.of(&["requests", "total_tokens", "uncached_input_tokens", "output_tokens", "spend", "tokens_in_flight"]);
    writeln!(text, "[provider.limits.terms{n}]\ncounts = \"{counts}\"").unwrap();
    let amount = match counts {
        "requests" => tape.of(&["30", "5", "600"]),
        "spend" => tape.of(&["2", "100"]),
        _ => tape.of(&["40k", "3k", "700k"]),
    };
    writeln!(text, "amount = \"{amount}\"").unwrap();
    let held = counts == "tokens_in_flight";
    if !held {
        writeln!(text, "per = \"{}\"", tape.of(&["1m", "7s", "20m"])).unwrap();
        text.push_str(tape.of(&[
            "algorithm = \"fixed_window\"\n",
            "algorithm = \"fixed_window\"\nsub_windows = 2\noffset = \"3s\"\n",
            "algorithm = \"fixed_window\"\naligned = \"first_request\"\n",
            "algorithm = \"sliding_log\"\n",
            "algorithm = \"sliding_weighted\"\n",
            "algorithm = \"leaky_bucket\"\ncapacity = \"30s\"\n",
            "algorithm = \"gcra\"\ncapacity = \"30s\"\n",
            "algorithm = \"growth\"\ngrowth = { by = \"50%\", within = \"20m\" }\n",
            "capacity = \"45s\"\n",
        ]));
    }
    if counts == "spend" {
        text.push_str("prices = { input = 300, cached_input = 12.5, output = 1500 }\n");
    } else if tape.seldom() {
        text.push_str("weights = { request = 1, cached_input = 0.1, output = 2.5 }\n");
    }
    let estimates = ["\"actual\"", "\"input\"", "\"max_tokens\"", "\"larger\"", "\"unweighted\"", "{ fixed = 900 }"];
    match (counts, tape.below(4)) {
        ("requests", _) => {}
        (_, 1) if !held => text.push_str("charge = \"streaming\"\n"),
        (_, 2) if !held => text.push_str("charge = \"completion\"\n"),
        _ => {
            writeln!(text, "estimate = {}\nmax_tokens = 300", tape.of(&estimates)).unwrap();
            if !held {
                writeln!(text, "settle = \"{}\"", tape.of(&["never", "surplus", "both"])).unwrap();
            }
        }
    }
    let refused = if counts == "requests" { "request" } else { "tokens" };
    if tape.seldom() {
        writeln!(text, "refused_costs = \"{refused}\"").unwrap();
    }
    text.push_str(tape.of(&["", "debt = true\n", "changes = [[\"10s\", 2], [\"40s\", \"90k\"]]\n"]));
    text.push_str(tape.of(&["", "ban = { after = 3, within = \"10s\", lasts = \"20s\" }\n"]));
    // Classes make terms of a limit that has none else.
    text.push_str(tape.of(&["classes = [\"job\"]\n", "classes = [\"job\"]\neach = \"class\"\n"]));
    let hint =
        tape.of(&["{ until = \"full\" }", "{ until = \"reset\" }", "{ constant = \"3s\" }", "\"exact\"", "\"none\""]);
    let headers = tape.of(&["", ", headers = [\"retry-after-ms\", \"x-ratelimit-reset\"]"]);
    writeln!(text, "refuse = {{ after = \"{}\", hint = {hint}{headers} }}", tape.of(&["100ms", "0s"])).unwrap();
}
