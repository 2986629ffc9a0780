//! Random small scenarios as TOML texts. They are read off a tape of numbers, where smaller numbers make simpler
//! scenarios: so a failing scenario shrinks to a short one.

use std::fmt::Write as _;

use super::wide_world as wide;

/// A tape of choices; past its end every choice is the first.
pub(super) struct Tape<'a>(std::slice::Iter<'a, u16>);

impl<'a> Tape<'a> {
    pub(super) fn new(words: &'a [u16]) -> Self {
        Tape(words.iter())
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::from(*self.0.next().unwrap_or(&0)) * n / 65_536
    }

    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Seldom: once in four times.
    pub(super) fn seldom(&mut self) -> bool {
        self.below(4) == 3
    }

    pub(super) fn sometimes(&mut self) -> bool {
        self.below(2) == 1
    }
}

pub(super) const SHORT: [&str; 6] = ["0s", "100ms", "1s", "2.5s", "7s", "30s"];
const SPANS: [&str; 4] = ["1s", "200ms", "5s", "1m"];

/// A whole scenario.
pub(super) fn text(tape: &mut Tape<'_>) -> String {
    let World { provider, policies, traffic } = World::of(tape);
    format!("{provider}{policies}{traffic}")
}

/// A scenario in its parts: what clients and guards are may change, and the world stays the same.
pub(super) struct World {
    pub(super) provider: String,
    pub(super) policies: String,
    pub(super) traffic: String,
}

impl World {
    pub(super) fn of(tape: &mut Tape<'_>) -> World {
        let provider = provider(tape);
        // Policies that follow know whether servers are limited.
        let is_limited = provider.contains("[provider.capacity]");
        let mut policies = String::from(if is_limited { "# [provider.capacity]\n" } else { "" });
        guards(tape, &mut policies);
        let hops = [client(tape, "batch", true, &mut policies), client(tape, "live", false, &mut policies)];
        let mut traffic = String::new();
        class(tape, "job", true, hops, &mut traffic);
        if tape.sometimes() {
            class(tape, "turn", false, hops, &mut traffic);
        }
        World { provider, policies, traffic }
    }
}

fn provider(tape: &mut Tape<'_>) -> String {
    let horizon = tape.of(&["1m", "30s", "2m", "7m", "12m"]);
    let mut text = format!("horizon = \"{horizon}\"\n");
    wide::provider(tape, &mut text);
    for n in 0..tape.below(3) {
        limit(tape, n, &mut text);
    }
    for n in 0..tape.below(4) {
        fault(tape, n, &mut text);
    }
    // Whoever is named is known.
    text.push_str("[provider.models.big]\n[provider.models.small]\n[provider.models.mini]\n");
    if tape.seldom() {
        let (latency, window) = (tape.of(&SHORT), tape.of(&["3k", "100k"]));
        writeln!(text, "latency = \"{latency}\"\ncontext_window = \"{window}\"").unwrap();
    }
    text
}

/// For which models a limit or a fault is: all, mostly.
fn models(tape: &mut Tape<'_>) -> &'static str {
    if tape.seldom() { tape.of(&["models = [\"big\"]\n", "models = [\"small\", \"mini\"]\n"]) } else { "" }
}

fn limit(tape: &mut Tape<'_>, n: usize, text: &mut String) {
    let counts = tape.of(&["requests", "input_tokens", "output_tokens", "total_tokens"]);
    let amount = if counts == "requests" { tape.of(&["60", "20", "600"]) } else { tape.of(&["50k", "3k", "700k"]) };
    let capacity = tape.of(&["1m", "6s", "30s", "5m"]);
    let hint = tape.of(&["\"exact\"", "\"none\"", "{ minimum = \"2s\" }", "{ round_up_to = \"1s\" }"]);
    writeln!(text, "[provider.limits.limit{n}]\ncounts = \"{counts}\"\namount = \"{amount}\"\nper = \"1m\"").unwrap();
    text.push_str(models(tape));
    writeln!(text, "capacity = \"{capacity}\"\nrefuse = {{ status = 429, hint = {hint} }}").unwrap();
}

fn fault(tape: &mut Tape<'_>, n: usize, text: &mut String) {
    writeln!(text, "[provider.faults.fault{n}]").unwrap();
    text.push_str(models(tape));
    if tape.sometimes() {
        let window = tape.of(&["[\"5s\", \"20s\"]", "[\"0s\", \"1m\"]", "[\"10s\", \"10m\"]", "[\"29s\", \"31s\"]"]);
        writeln!(text, "window = {window}").unwrap();
    }
    let probability = tape.of(&["0.1", "1", "0.9", "\"50%\"", "[[\"0s\", 0], [\"10s\", 1]]"]);
    writeln!(text, "probability = {probability}").unwrap();
    let after = tape.of(&["\"0s\"", "\"300ms\"", "{ exponential = { mean = \"1s\" } }"]);
    let respond = match tape.below(14) {
        9.. => wide::respond(tape),
        0 => format!("status = 529, after = {after}"),
        1 => format!("status = 503, after = {after}, retry_after = \"3s\""),
        2 => format!("status = 400, after = {after}"),
        3 => format!("status = 429, after = {after}, should_retry = {}", tape.sometimes()),
        4 => format!("drop = true, after = {after}"),
        5 => "hang = true".to_owned(),
        6 => format!("stream = \"{}\", after = {after}", tape.of(&["failed", "broken", "silent"])),
        7 => format!("cut = true, after = {after}"),
        _ => "unreachable = true".to_owned(),
    };
    writeln!(text, "respond = {{ {respond} }}").unwrap();
}

fn guards(tape: &mut Tape<'_>, text: &mut String) {
    let scope = tape.of(&["global", "client", "class"]);
    let (counts, amount) = tape.of(&[("requests", "30"), ("input_tokens", "20k"), ("total_tokens", "400k")]);
    let capacity = tape.of(&["1m", "3s"]);
    writeln!(text, "[guards.share]\nscope = \"{scope}\"").unwrap();
    writeln!(
        text,
        "pacer = {{ counts = \"{counts}\", amount = \"{amount}\", per = \"1m\", capacity = \"{capacity}\" }}"
    )
    .unwrap();
    let counts = tape.of(&["responses", "results"]);
    let (last, minimum) = tape.of(&[(1, 1), (5, 2), (20, 20)]);
    let threshold = tape.of(&["\"30%\"", "0", "0.9"]);
    let when = tape.of(&["reject", "hold"]);
    let (open, probes) = (tape.of(&SPANS), tape.below(3));
    let (pauses, close) = (tape.sometimes(), tape.of(&["clear", "keep"]));
    let scope = tape.of(&["client", "process", "class", "global", "run", "task"]);
    // Workers pause between tasks, when one of a task is gone.
    let pauses = pauses && !matches!(scope, "run" | "task");
    writeln!(text, "[guards.fuse]\nscope = \"{scope}\"").unwrap();
    writeln!(
        text,
        "[guards.fuse.breaker]\ncounts = \"{counts}\"\nof = [529, 503, 429, \"timeout\"]\nlast = {last}\nminimum = {minimum}\n\
         threshold = {threshold}\nopen = \"{open}\"\nwhen_open = \"{when}\"\nprobes = {probes}\n\
         pauses_workers = {pauses}\non_close = \"{close}\""
    )
    .unwrap();
    let (permits, scope) = (tape.of(&[3, 1, 2]), tape.of(&["global", "class", "process", "run", "task"]));
    let full = tape.of(&[
        "wait_at_most = \"2s\"",
        "when_full = \"reject\"",
        "wait_at_most = \"100ms\"",
        "when_full = \"wait\"",
    ]);
    writeln!(text, "[guards.slots]\nscope = \"{scope}\"\nsemaphore = {{ permits = {permits}, {full} }}").unwrap();
    let timeout = tape.of(&["", ", timeout = \"1s\"", ", timeout = \"7s\""]);
    writeln!(text, "[guards.sockets]\npool = {{ connections = {}{timeout} }}", tape.below(3) + 1).unwrap();
    writeln!(text, "[guards.fits]\nsize = {{ at_most = {} }}", tape.of(&[9000, 2000])).unwrap();
    wide::guards(tape, text);
}

/// Says whether the client has a layer called `gateway`.
fn client(tape: &mut Tape<'_>, name: &str, is_jobs: bool, text: &mut String) -> bool {
    writeln!(text, "[clients.{name}]\nlayers = [").unwrap();
    let has_hops = wide::wire(tape, is_jobs, text);
    for guard in ["sockets", "fits"] {
        if tape.seldom() {
            writeln!(text, "  {{ name = \"{guard}\", guard = \"{guard}\", kind = \"client\" }},").unwrap();
        }
    }
    // The innermost layer has a timeout: a hang would else be refused.
    let timeout = tape.of(&["\"10s\"", "\"900ms\"", "\"40s\""]);
    let timeout = if tape.seldom() { wide::timeouts(tape) } else { timeout };
    writeln!(text, "  {{ name = \"sdk\", kind = \"client\", timeout = {timeout}, {} }},", layer(tape)).unwrap();
    if tape.seldom() && tape.sometimes() {
        text.push_str(
            "  { name = \"other\", kind = \"client\", fallback = { to = [\"mini\"], on = [429, \"timeout\"] } },\n",
        );
    }
    for guard in ["share", "fuse", "slots"] {
        if tape.sometimes() {
            let kind = tape.of(&["client", "decorator"]);
            writeln!(text, "  {{ name = \"{guard}\", guard = \"{guard}\", kind = \"{kind}\" }},").unwrap();
            if kind == "decorator" && tape.sometimes() {
                writeln!(text, "  {{ name = \"past_{guard}\", kind = \"decorator\", {} }},", layer(tape)).unwrap();
                break;
            }
            if kind == "decorator" {
                break;
            }
        }
    }
    if tape.seldom() {
        let on = tape.of(&["\"any\"", "[429, 529]", "[\"short_circuited\", 400]"]);
        let to = tape.of(&["[\"small\"]", "[\"mini\", \"small\"]"]);
        writeln!(text, "  {{ name = \"fallback\", kind = \"decorator\", fallback = {{ to = {to}, on = {on} }} }},")
            .unwrap();
    }
    if tape.sometimes() {
        let holds = if is_jobs && tape.seldom() { ", holds_worker = false" } else { "" };
        writeln!(text, "  {{ name = \"decorator\", kind = \"decorator\", {}{holds} }},", layer(tape)).unwrap();
    }
    if is_jobs && tape.sometimes() {
        let (place, resume) = (tape.of(&["back", "front"]), tape.of(&["restart", "failed_step"]));
        let words = format!("requeue = \"{place}\", resume = \"{resume}\"");
        // A queue has no timeouts, and budgets that count calls are not for it.
        let layer = layer(tape).replace("timeout_shrinks = true", "timeout_shrinks = false");
        let layer = layer.replace("{ deposits = ", "{ throttle = { max_tokens = 4, ratio = 0.5 } } #");
        let layer = layer.replace("{ active_share = ", "{ throttle = { max_tokens = 4, ratio = 0.5 } } #");
        let layer = layer.replace(", checked = \"after_wait\"", "");
        let layer = layer.split(" #").next().unwrap_or_default();
        writeln!(text, "  {{ name = \"queue\", kind = \"queue\", {layer}, {words} }},").unwrap();
    }
    text.push_str("]\n");
    has_hops
}

/// The settings of a retry layer.
pub(super) fn layer(tape: &mut Tape<'_>) -> String {
    let mut keys = match tape.below(8) {
        7 => "max_attempts = \"unlimited\", backoff = { fixed = \"2s\" }".to_owned(),
        n => {
            let wait = tape.of(&SHORT);
            let backoff = match tape.below(6) {
                0 => "\"none\"".to_owned(),
                1 => format!("{{ fixed = \"{wait}\" }}"),
                2 => "{ exponential = { initial = \"500ms\", cap = \"8s\" } }".to_owned(),
                3 => "{ linear = { initial = \"1s\", step = \"1s\", cap = \"4s\" } }".to_owned(),
                4 => "{ list = [\"1s\", \"3s\"] }".to_owned(),
                _ => "{ decorrelated = { initial = \"1s\", cap = \"9s\" } }".to_owned(),
            };
            // The last form is random by itself and takes no jitter.
            let jitters = ["\"none\"", "\"full\"", "\"equal\"", "{ subtract = \"25%\" }", "{ add = \"1s\" }"];
            let jitter = if backoff.contains("decorrelated") { jitters[0] } else { tape.of(&jitters) };
            format!("max_attempts = {}, backoff = {backoff}, jitter = {jitter}", n % 4 + 1)
        }
    };
    let on =
        tape.of(&["\"any\"", "[429, \"5xx\", \"timeout\", \"connection\"]", "[\"5xx\"]", "[\"short_circuited\", 429]"]);
    let hint = tape.of(&["\"ignore\"", "\"obey\"", "\"at_least\"", "{ obey = { cap = \"2s\", above = \"give_up\" } }"]);
    write!(keys, ", retry_on = {on}, hint = {hint}, obeys_should_retry = {}", tape.sometimes()).unwrap();
    match tape.below(16) {
        9..12 => keys.push_str(&wide::shrinking(tape)),
        12.. => write!(keys, ", total_budget = \"{}\"", tape.of(&["5s", "20s"])).unwrap(),
        _ => {}
    }
    if tape.seldom() {
        write!(keys, ", budget = {}", wide::budget(tape)).unwrap();
    }
    keys
}

fn class(tape: &mut Tape<'_>, name: &str, is_jobs: bool, [batch, live]: [bool; 2], text: &mut String) {
    writeln!(text, "[traffic.{name}]").unwrap();
    if is_jobs {
        let (workers, delay) = (tape.below(4) + 1, tape.of(&["0s", "4s"]));
        writeln!(text, "kind = \"jobs\"\nclient = \"batch\"\nworkers = {workers}\nenqueue_delay = \"{delay}\"")
            .unwrap();
        writeln!(text, "processes = {}", tape.below(workers) + 1).unwrap();
    } else {
        writeln!(text, "kind = \"turns\"\nclient = \"live\"").unwrap();
    }
    let arrivals = tape.of(&[
        "{ at = [\"0s\", \"0s\", \"3s\"] }",
        "{ poisson = \"20/min\" }",
        "{ count = 15, until = \"30s\" }",
        "[{ every = \"2s\", until = \"20s\" }, { poisson = \"1/s\", from = \"10s\", until = \"25s\" }]",
        "{ poisson = [[\"0s\", \"2/s\"], [\"15s\", \"1/min\"]] }",
    ]);
    let fails = tape.of(&["wait", "cancel"]);
    writeln!(text, "when_one_fails = \"{fails}\"\narrivals = {arrivals}\nsteps = [").unwrap();
    let grouped = tape.sometimes();
    for n in 0..=tape.below(4) {
        let tokens = tape.of(&["100", "{ lognormal = { mean = \"2k\", sigma = 0.4 } }", "{ uniform = [0, 9000] }"]);
        let latency =
            tape.of(&["\"1s\"", "\"0s\"", "{ exponential = { mean = \"2s\" } }", "{ uniform = [\"0s\", \"20s\"] }"]);
        let own = [
            "",
            ", client = \"live\"",
            ", with = { sdk = { max_attempts = 1 } }",
            ", with = { sdk = { timeout = \"3s\" } }",
        ];
        let own = if tape.seldom() { tape.of(&own) } else { "" };
        write!(
            text,
            "  {{ name = \"s{n}\", input_tokens = {tokens}, output_tokens = {tokens}, latency = {latency}{own}"
        )
        .unwrap();
        if (if is_jobs { batch } else { live }) && own.is_empty() && tape.seldom() {
            text.push_str(", with = { gateway = { max_attempts = 1 } }");
        }
        wide::step(tape, text);
        text.push_str(if grouped { wide::group(tape) } else { "" });
        text.push_str(" },\n");
    }
    text.push_str("]\n");
}
