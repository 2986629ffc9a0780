//! Guards that adapt in whole runs, through scenario files: limits of concurrency that learn, and gates that a response
//! closes for all.

use snapbox::{assert_data_eq, file};

use super::guard_runs::{ends, outage};
use super::scenario_errors::table;
use super::stage::{Run, read};

#[test]
fn a_limit_grows_by_one_for_each_result_and_calls_up_as_many() {
    // By hand: one permit. Its result of 1 s makes two of it, which the second and the third take; the first result of 2 s
    // makes three, and the last two go.
    let guard = "[guards.learnt]\nconcurrency = { algorithm = \"aimd\", initial = 1, max = 50 }";
    let text = outage(guard, r#"{ guard = "learnt" }"#, r#""0s", "0s", "0s", "0s", "0s""#, "1ns");
    // Nobody meets the fault.
    let text = text.replace(r#"window = ["0s", "1ns"]"#, r#"window = ["1h", "2h"]"#);
    assert_eq!(ends(&text), [1.0, 2.0, 2.0, 3.0, 3.0]);
    let run = Run::of(&read(&text), 1);
    assert_eq!(run.number("guards.learnt.lowest_limit"), 1.0);
    assert_eq!(run.count("guards.learnt.waits"), 4);
    // Five results, of which the first of 3 s was the fourth of all: 1, 2, 3, 4, and at last 5, which four in use hold up.
    assert_eq!(run.number("guards.learnt.limit_at_end"), run.number("guards.learnt.highest_limit"));
}

#[test]
fn who_finds_no_permit_may_be_refused_and_stands_in_a_bounded_line() {
    // By hand: one permit that a drop cannot take away; three come at once.
    let guard =
        |more: &str| format!("[guards.learnt]\nconcurrency = {{ algorithm = \"aimd\", initial = 1, max = 1, {more} }}");
    let at_once = |more: &str| {
        let text = outage(&guard(more), r#"{ guard = "learnt" }"#, r#""0s", "0s", "0s""#, "1ns");
        let run = Run::of(&read(&text), 1);
        (run.count("guards.learnt.refused"), run.count("guards.learnt.waits"))
    };
    assert_eq!(at_once(r#"when_full = "reject""#), (2, 0));
    assert_eq!(at_once("line_at_most = 1"), (1, 1));
    assert_eq!(at_once(r#"wait_at_most = "50ms""#), (2, 2));
    assert_eq!(at_once(r#"when_full = "wait""#), (0, 2));
}

/// Jobs of a hundred workers before twenty servers with room for five who wait, behind this guard.
fn crowd(guard: &str, layer: &str) -> Run {
    let text = format!(
        r#"
        horizon = "10m"
        [provider.capacity]
        servers = 20
        queue = 5
        when_full = {{ status = 503, after = "10ms" }}
        {guard}
        [clients.c]
        layers = [{layer}{{ name = "again", max_attempts = 10, retry_on = [503], backoff = {{ fixed = "1s" }} }}]
        [traffic.report]
        kind = "jobs"
        client = "c"
        workers = 100
        arrivals = {{ backlog = 20000 }}
        steps = [{{ name = "write", input_tokens = 1, latency = {{ uniform = ["500ms", "1500ms"] }} }}]
        [phases]
        steady = {{ from = "0s", until = "10m" }}
        "#
    );
    Run::of(&read(&text), 1)
}

#[test]
fn a_limit_that_learns_from_drops_finds_what_the_servers_take() {
    // By theory: 25 requests find room and the 26th is refused, which takes a tenth of the limit: it goes from 26 to 23
    // and grows by one a round again, so that about every 75th request is refused. Without a limit a hundred workers
    // repeat each second what twenty servers cannot take.
    let bare = crowd("", "");
    let share = |run: &Run| {
        let refused = run.count("classes.report.responses.503") as f64;
        refused / run.count("classes.report.requests") as f64
    };
    let guard = |settings: &str| format!("[guards.learnt]\nconcurrency = {{ {settings} }}");
    let learnt = |settings: &str| crowd(&guard(settings), r#"{ guard = "learnt" }, "#);
    let slow = learnt(r#"algorithm = "aimd", initial = 5, min = 1, grows = "each_round""#);
    assert!(share(&bare) > 0.7, "{}", share(&bare));
    assert!((0.005..0.03).contains(&share(&slow)), "{}", share(&slow));
    let limit = |run: &Run, what: &str| run.number(&format!("guards.learnt.{what}"));
    assert!((22.0..=26.0).contains(&limit(&slow, "limit_at_end")), "{}", limit(&slow, "limit_at_end"));
    assert!(limit(&slow, "highest_limit") <= 27.0);
    // The servers are as busy as with everybody before them.
    let served = |run: &Run| run.count("classes.report.responses.200") as f64;
    assert!(served(&slow) > 0.97 * served(&bare), "{} {}", served(&slow), served(&bare));
    // The library's growth by one for each result is a twentyfold step a round: it is refused more, and still a third of
    // what it is without.
    let fast = learnt(r#"algorithm = "aimd", initial = 5, min = 1"#);
    assert!(share(&fast) > share(&slow) && share(&fast) < share(&bare) / 2.0, "{}", share(&fast));
    // Vegas feels the queue; the gradient looks at times alone, and takes quick refusals for quick results.
    let vegas = learnt(r#"algorithm = "vegas""#);
    assert!(share(&vegas) < 0.03, "{}", share(&vegas));
    let gradient = learnt(r#"algorithm = "gradient""#);
    assert!(share(&gradient) > 0.6, "{}", share(&gradient));
    // A slow start comes there sooner than one a round.
    let start = learnt(r#"algorithm = "aimd", min = 1, max = 500, grows = "each_round", slow_start = { from = 1 }"#);
    assert!(limit(&start, "highest_limit") < 60.0 && share(&start) < 0.04, "{}", share(&start));
}

/// A gate that the first turn's failure of 0.1 s closes for half a minute, before turns that come each second.
fn gated(more: &str) -> String {
    let guard = format!("[guards.gate]\ngate = {{ of = [503], for = \"30s\"{more} }}");
    outage(&guard, r#"{ guard = "gate" }"#, r#""0s", "1s", "2s", "3s", "4s", "31s", "60s""#, "1s")
}

#[test]
fn a_gate_lets_nobody_pass_and_opens_for_all_at_once_or_one_by_one() {
    // By hand: closed from 0.1 s to 30.1 s; each turn takes a second. One by one every two seconds from 30.1 s on, the turn of
    // 31 s has the fifth place, 38.1 s.
    assert_eq!(ends(&gated("")), [0.1, 31.1, 31.1, 31.1, 31.1, 32.0, 61.0]);
    assert_eq!(ends(&gated(r#", opens = { each = "2s" }"#)), [0.1, 31.1, 33.1, 35.1, 37.1, 39.1, 61.0]);
    let run = Run::of(&read(&gated("")), 1);
    assert_eq!((run.count("guards.gate.closings"), run.number("guards.gate.closed_s")), (1, 30.0));
    assert_eq!((run.count("guards.gate.waits"), run.count("guards.gate.refused")), (4, 0));
    // By hand: 29.1 + 28.1 + 27.1 + 26.1 seconds.
    assert!((run.number("guards.gate.waited_s") - 110.4).abs() < 1e-9);
    let run = Run::of(&read(&gated(r#", when_closed = "reject""#)), 1);
    assert_eq!((run.count("guards.gate.waits"), run.count("guards.gate.refused")), (0, 4));
}

#[test]
fn a_gate_spreads_those_who_waited_or_lets_a_growing_share_pass() {
    let spread = ends(&gated(r#", opens = { spread = "20s" }"#));
    // Who waited begins within 20 s of the opening, each at an instant of its own; who comes then passes.
    let mut waited = spread[1..5].to_vec();
    assert!(waited.iter().all(|at| (31.1..51.1).contains(at)), "{waited:?}");
    waited.sort_by(f64::total_cmp);
    waited.dedup();
    assert_eq!((waited.len(), spread[5], spread[6]), (4, 32.0, 61.0));
    // A ramp holds those who come while it rises, too: all but few of a draw below 10 %.
    let ramp = ends(&gated(r#", opens = { ramp = { from = "10%", over = "20s" } }"#));
    assert!(ramp[1..6].iter().all(|at| (31.1..52.1).contains(at)), "{ramp:?}");
    assert!(ramp[5] >= 32.0 && ramp[6] == 61.0);
}

#[test]
fn a_gate_obeys_the_hint_and_is_closed_for_every_client_that_shares_it() {
    // By hand: a hint of 50 s closes it until 50.1 s; ignored, it is 30.1 s; with `at_most`, 40.1 s; with a rule that falls
    // back above ten seconds 30.1 s.
    let hinted = |more: &str| {
        let text = gated(more).replace("status = 503, after", r#"status = 503, retry_after = "50s", after"#);
        ends(&text)[1]
    };
    for (more, end) in [
        ("", 51.1),
        (r#", hint = "ignore""#, 31.1),
        (r#", hint = "at_least""#, 51.1),
        (r#", at_most = "40s""#, 41.1),
        (r#", hint = { obey = { cap = "10s", above = "own_backoff" } }"#, 31.1),
    ] {
        assert_eq!(hinted(more), end, "{more}");
    }
    // Another class passes where each client has its own gate, and waits where all share one.
    let two = |scope: &str| {
        let text = gated("").replacen("[guards.gate]", &format!("[guards.gate]\nscope = \"{scope}\""), 1);
        let other = r#"
        [clients.d]
        layers = [{ guard = "gate" }]
        [traffic.other]
        kind = "turns"
        client = "d"
        arrivals = { at = ["5s"] }
        steps = [{ name = "say", input_tokens = 1, latency = "1s" }]
        "#;
        Run::of(&read(&format!("{text}{other}")), 1).number("classes.other.latency_s.max")
    };
    assert_eq!((two("client"), two("global")), (1.0, 26.1));
}

#[test]
fn a_gate_that_opens_for_all_makes_a_burst_and_a_spread_one_does_not() {
    // By theory: 20 turns a second that come while the gate is closed for 30 s are 600 in its first second, and 600 spread
    // over a minute are 10 a second beside the 20 that come.
    let most_in_a_second = |opens: &str| {
        let text = format!(
            r#"
            horizon = "10m"
            timeline = {{ bucket = "1s" }}
            [provider.faults.limit]
            window = ["60s", "60100ms"]
            respond = {{ status = 429, after = "10ms" }}
            [guards.gate]
            gate = {{ of = [429], for = "30s", opens = {opens} }}
            [clients.c]
            layers = [{{ guard = "gate" }}]
            [traffic.turn]
            kind = "turns"
            client = "c"
            arrivals = {{ poisson = "20/s" }}
            steps = [{{ name = "say", input_tokens = 1, latency = "100ms" }}]
            "#
        );
        requests_by_second(&text).into_iter().max().unwrap_or(0)
    };
    assert!((540..700).contains(&most_in_a_second(r#""all""#)));
    assert!(most_in_a_second(r#"{ spread = "1m" }"#) < 60);
    assert!(most_in_a_second(r#"{ each = "50ms" }"#) < 60);
    assert!(most_in_a_second(r#"{ ramp = { over = "1m" } }"#) < 110);
}

/// How many requests were sent in each second.
fn requests_by_second(text: &str) -> Vec<u32> {
    use retrycast::sim::Fact;
    let mut sent = Vec::new();
    for fact in super::stage::facts(&read(text.replace("timeline = { bucket = \"1s\" }", "").as_str()), 1) {
        if let Fact::RequestEnded { sent: at, .. } = fact {
            let second = at.as_secs_f64() as usize;
            sent.resize(sent.len().max(second + 1), 0);
            sent[second] += 1;
        }
    }
    sent
}

#[test]
fn adaptive_guards_that_say_nothing_or_two_things_are_refused() {
    let pacer = "pacer = { counts = \"requests\", amount = 10, per = \"1s\" }";
    let limits = [
        "",
        r#"algorithm = "bbr""#,
        r#"algorithm = "aimd", backoff = 0.4"#,
        r#"algorithm = "aimd", backoff = 1"#,
        r#"algorithm = "aimd", timeout = "0s""#,
        r#"algorithm = "aimd", grows = "each_day""#,
        r#"algorithm = "aimd", smoothing = 0.2"#,
        r#"algorithm = "gradient", backoff = 0.9"#,
        r#"algorithm = "gradient", tolerance = 0.5"#,
        r#"algorithm = "gradient", smoothing = 0"#,
        r#"algorithm = "gradient", long_window = 0"#,
        r#"algorithm = "vegas", alpha = 6, beta = 3"#,
        r#"algorithm = "vegas", probe = 0"#,
        r#"algorithm = "vegas", queue = 4"#,
        r#"algorithm = "aimd", initial = 0"#,
        r#"algorithm = "aimd", min = 30, max = 20"#,
        r#"algorithm = "aimd", initial = 300"#,
        r#"algorithm = "aimd", drops = ["short_circuited"]"#,
        r#"algorithm = "aimd", ignores = "some""#,
        r#"algorithm = "aimd", when_full = "reject", wait_at_most = "5s""#,
        r#"algorithm = "aimd", line_full = "drop_first""#,
        r#"algorithm = "aimd", permits = 10"#,
        r#"algorithm = "aimd", slow_start = true"#,
        r#"algorithm = "aimd", slow_start = { from = 300 }"#,
        r#"algorithm = "aimd", slow_start = { from = 10, until = 10 }"#,
        r#"algorithm = "aimd", initial = 10, slow_start = {}"#,
    ];
    let gates = [
        "",
        "of = [429]",
        r#"of = [], for = "30s""#,
        r#"of = ["limiter_full"], for = "30s""#,
        r#"of = [429], for = "0s""#,
        r#"of = [429], for = "30s", at_most = "10s""#,
        r#"of = [429], for = "30s", hint = "follow""#,
        r#"of = [429], for = "30s", hint = { obey = { jittered = true } }"#,
        r#"of = [429], for = "30s", hint = { obey = { cap = "60s", above = "give_up" } }"#,
        r#"of = [429], for = "30s", when_closed = "hold""#,
        r#"of = [429], for = "30s", opens = "slowly""#,
        r#"of = [429], for = "30s", opens = {}"#,
        r#"of = [429], for = "30s", opens = { spread = "0s" }"#,
        r#"of = [429], for = "30s", opens = { spread = "5s", each = "1s" }"#,
        r#"of = [429], for = "30s", when_closed = "reject", opens = { spread = "5s" }"#,
        r#"of = [429], for = "30s", opens = { ramp = { from = "10%" } }"#,
        r#"of = [429], for = "30s", opens = { ramp = { from = "0%", over = "1m" } }"#,
        r#"of = [429], for = "30s", opens = { ramp = { over = "1m", aggression = 0 } }"#,
    ];
    let rates = [
        "",
        r#"algorithm = "cubic""#,
        r#"algorithm = "bic", of = [429]"#,
        r#"algorithm = "cubic", of = [429], beta = 1"#,
        r#"algorithm = "cubic", of = [429], scale = 0"#,
        r#"algorithm = "cubic", of = [429], smoothing = 0"#,
        r#"algorithm = "cubic", of = [429], min_rate = "0/s""#,
        r#"algorithm = "cubic", of = [429], min_rate = 0.5"#,
    ];
    let pacers = [
        r#"warm_up = "0s""#,
        r#"warm_up = "30s", capacity = "5s""#,
        r#"warm_up = "30s", flow = "log""#,
        r#"warm_up = "30s", slept = "twice""#,
        r#"warm_up = "30s", when_empty = "ask_again""#,
    ];
    let pacers =
        pacers.map(|settings| format!("pacer = {{ counts = \"requests\", amount = 10, per = \"1s\", {settings} }}"));
    let limits = limits.map(|settings| format!("concurrency = {{ {settings} }}"));
    let rates = rates.map(|settings| format!("rate = {{ {settings} }}"));
    let gates = gates.map(|settings| format!("gate = {{ {settings} }}"));
    let changes: Vec<(&str, &str)> =
        limits.iter().chain(&gates).chain(&rates).chain(&pacers).map(|new| (pacer, new.as_str())).collect();
    assert_data_eq!(table(&changes), file!["refusals/adaptive_guards.txt"]);
}

#[test]
fn a_rate_holds_nobody_back_until_it_is_throttled_and_then_keeps_below_the_limit() {
    // By theory: a limit of 10 a second admits 10 of the 40 that come. The rate goes up to what is refused and falls to
    // seven tenths of that: most of what is sent is admitted, and three quarters are refused without it.
    let run = |guard: &str, layer: &str| {
        let text = format!(
            r#"
            horizon = "10m"
            [provider.limits.rps]
            counts = "requests"
            amount = 10
            per = "1s"
            refuse = {{ status = 429, after = "10ms" }}
            {guard}
            [clients.c]
            layers = [{layer}]
            [traffic.turn]
            kind = "turns"
            client = "c"
            arrivals = {{ poisson = [["0s", "40/s"], ["2m", "0/s"]] }}
            steps = [{{ name = "say", input_tokens = 1, latency = "100ms" }}]
            "#
        );
        Run::of(&read(&text), 1)
    };
    let refused =
        |run: &Run| run.count("classes.turn.responses.429") as f64 / run.count("classes.turn.requests") as f64;
    let guard = "[guards.sdk]\nrate = { algorithm = \"cubic\", of = [429] }";
    let (bare, held) = (run("", ""), run(guard, r#"{ guard = "sdk" }"#));
    assert!((0.7..0.76).contains(&refused(&bare)), "{}", refused(&bare));
    assert!(refused(&held) < 0.25, "{}", refused(&held));
    assert!((0.5..10.0).contains(&held.number("guards.sdk.lowest_rate")));
    assert!(held.count("guards.sdk.waits") > 1000);
    // Before the first 429 it is no guard at all: nobody is late.
    let calm = r#"
        horizon = "1m"
        [guards.sdk]
        rate = { algorithm = "cubic", of = [429] }
        [clients.c]
        layers = [{ guard = "sdk" }]
        [traffic.turn]
        kind = "turns"
        client = "c"
        arrivals = { poisson = "40/s" }
        steps = [{ name = "say", input_tokens = 1, latency = "100ms" }]
    "#;
    let calm = Run::of(&read(calm), 1);
    assert_eq!((calm.count("guards.sdk.waits"), calm.number("classes.turn.latency_s.max")), (0, 0.1));
    assert!(calm.number("guards.sdk.lowest_rate").is_nan());
}

#[test]
fn a_pacer_that_warms_up_begins_at_a_third_of_its_rate() {
    // By hand from the published formulas, one a second and four seconds: starts at 0, 2.5, 4, 5 and 6 s, a second each;
    // long after the last one it is cold again.
    let guard = "[guards.wakes]\npacer = { counts = \"requests\", amount = 1, per = \"1s\", warm_up = \"4s\" }";
    let text = outage(guard, r#"{ guard = "wakes" }"#, r#""0s", "0s", "0s", "0s", "0s", "60s", "60s""#, "1ns");
    let text = text.replace(r#"window = ["0s", "1ns"]"#, r#"window = ["1h", "2h"]"#);
    assert_eq!(ends(&text), [1.0, 3.5, 5.0, 6.0, 7.0, 61.0, 63.5]);
}

#[test]
fn a_breaker_that_has_closed_lets_a_growing_share_pass() {
    // By theory: open from the failure of 0.01 s to 10.01 s, when 20 turns a second come. Of those of the next 100 s the
    // share max(0.1, t / 100 s) passes, which is 50.5 % of 2000; by half, 13 % of the first half's thousand.
    let run = |when_open: &str, ramp: &str| {
        let text = format!(
            r#"
            horizon = "10m"
            [provider.faults.outage]
            window = ["0s", "1s"]
            respond = {{ status = 529, after = "10ms" }}
            [guards.fuse]
            breaker = {{ counts = "responses", of = [529], consecutive = 1, open = "10s", probes = 0, when_open = "{when_open}"{ramp} }}
            [clients.c]
            layers = [{{ guard = "fuse" }}]
            [traffic.turn]
            kind = "turns"
            client = "c"
            arrivals = {{ poisson = [["0s", "20/s"], ["110s", "0/s"]] }}
            steps = [{{ name = "say", input_tokens = 1, latency = "100ms" }}]
            [phases]
            first = {{ from = "11s", until = "60s" }}
            second = {{ from = "60s", until = "110s" }}
            "#
        );
        Run::of(&read(&text), 1)
    };
    let passed = |run: &Run, phase: &str| {
        let of = |what: &str| run.number(&format!("phases.{phase}.classes.turn.{what}"));
        of("requests") / of("offered")
    };
    let ramp = r#", ramp = { from = "10%", over = "100s" }"#;
    let ramped = run("reject", ramp);
    assert!((0.2..0.3).contains(&passed(&ramped, "first")), "{}", passed(&ramped, "first"));
    assert!((0.7..0.8).contains(&passed(&ramped, "second")), "{}", passed(&ramped, "second"));
    assert!(passed(&run("reject", ""), "first") > 0.99);
    // Where it holds, everybody passes in the end, and none is refused.
    let held = run("hold", ramp);
    assert_eq!(held.count("guards.fuse.refused"), 0);
    assert!(held.number("classes.turn.latency_s.max") > 50.0);
    // Also at the start of the run, where it says so.
    let quiet = |at_start: bool| {
        let text = format!(
            r#"
            horizon = "5m"
            [guards.fuse]
            breaker = {{ counts = "responses", of = [529], consecutive = 1, open = "10s", when_open = "reject", ramp = {{ over = "100s", at_start = {at_start} }} }}
            [clients.c]
            layers = [{{ guard = "fuse" }}]
            [traffic.turn]
            kind = "turns"
            client = "c"
            arrivals = {{ poisson = [["0s", "20/s"], ["100s", "0/s"]] }}
            steps = [{{ name = "say", input_tokens = 1, latency = "100ms" }}]
            "#
        );
        let run = Run::of(&read(&text), 1);
        run.count("guards.fuse.refused") as f64 / run.count("classes.turn.offered") as f64
    };
    assert_eq!(quiet(false), 0.0);
    assert!((0.45..0.54).contains(&quiet(true)), "{}", quiet(true));
}
