//! What limits count, when they count it, and who is left with nothing.

use retrycast::provider::AnsweredBy;
use retrycast::sim::{Fact, Fate};

use super::super::stage::{Run, facts, read};

/// One class that asks once, against one limit.
fn once(limit: &str, arrivals: &str) -> Run {
    Run::of(
        &read(&format!(
            r#"
            horizon = "600s"
            [provider.limits.rpm]
            counts = "requests"
            amount = 60
            per = "60s"
            refuse = {{ after = "0s" }}
            {limit}
            [clients.once]
            layers = []
            [traffic.call]
            kind = "turns"
            client = "once"
            arrivals = {arrivals}
            steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
            "#
        )),
        1,
    )
}

/// Requests that are let through of one each half second, or at another pace, by a log or a window.
pub(super) fn let_through(algorithm: &str, refused: &str, every: &str) -> (u64, u64) {
    let limit = format!("algorithm = \"{algorithm}\"\nrefused_costs = \"{refused}\"");
    let run = once(&limit, &format!("{{ every = \"{every}\" }}"));
    (run.count("classes.call.delivered"), run.count("classes.call.offered"))
}

#[test]
fn a_log_that_counts_refusals_never_lets_a_hammering_caller_in_again() {
    // By hand: one request a second may pass, and two come. A log that counts what it refuses holds 120 for ever, after
    // the first 60; in a window, counting refusals changes nothing. At 0.9 a second nothing is ever refused, at 1.25 the
    // same happens a little later.
    assert_eq!(let_through("sliding_log", "nothing", "500ms"), (600, 1_200));
    assert_eq!(let_through("sliding_log", "request", "500ms"), (60, 1_200));
    assert_eq!(let_through("fixed_window", "nothing", "500ms"), (600, 1_200));
    assert_eq!(let_through("fixed_window", "request", "500ms"), (600, 1_200));
    assert_eq!(let_through("sliding_log", "request", "1111ms"), (541, 541));
    assert_eq!(let_through("sliding_log", "request", "800ms").0, 60);
}

#[test]
fn a_full_pause_of_the_period_always_brings_a_log_back() {
    // By hand: 1,200 requests in ten minutes but for the third, in which nobody asks: 60 pass at the start and 60 after.
    let limit = "algorithm = \"sliding_log\"\nrefused_costs = \"request\"";
    let arrivals = r#"[{ every = "500ms", until = "120s" }, { every = "500ms", from = "180s" }]"#;
    assert_eq!(once(limit, arrivals).count("classes.call.delivered"), 120);
}

/// How many calls of 500 tokens in, 400 out and 4,000 at most pass in the first minute.
pub(super) fn reserved(terms: &str) -> Run {
    let backlog = vec![r#""0s""#; 2_000].join(", ");
    Run::of(
        &read(&format!(
            r#"
            horizon = "60s"
            [provider.limits.tpm]
            counts = "total_tokens"
            amount = "100k"
            per = "60s"
            algorithm = "fixed_window"
            refuse = {{ after = "0s" }}
            {terms}
            [clients.patient]
            layers = [{{ name = "again", max_attempts = "unlimited", retry_on = [429], backoff = {{ fixed = "10s" }} }}]
            [traffic.call]
            kind = "jobs"
            workers = 200
            client = "patient"
            arrivals = {{ at = [{backlog}] }}
            steps = [{{ name = "ask", input_tokens = 500, output_tokens = 400, max_tokens = 4000, latency = "10s" }}]
            "#
        )),
        1,
    )
}

#[test]
fn what_is_reserved_and_never_given_back_lets_a_fifth_of_the_quota_through() {
    let passed = |terms: &str| reserved(terms).count("limits.tpm.admitted");
    // By hand: ⌊100,000 / 4,500⌋; with a refund after ten seconds 22 + 17 + 14 + 11 + 9 + 7; with nothing reserved all
    // 200 workers are in before the first of them has cost anything.
    assert_eq!(passed("estimate = \"max_tokens\""), 22);
    assert_eq!(passed("estimate = \"max_tokens\"\nsettle = \"both\""), 80);
    assert_eq!(passed("charge = \"completion\""), 200);
    // By hand: ⌊100,000 / 900⌋ where the limit knows what a request will use.
    assert_eq!(passed(""), 111);
}

/// A bucket of 30,000 input tokens that fills in a minute, and a client that comes when it is told to.
pub(super) fn bucket(limit: &str, step: &str, attempts: &str) -> String {
    let backlog = vec![r#""0s""#; 400].join(", ");
    format!(
        r#"
        horizon = "601s"
        [provider.limits.itpm]
        amount = 30000
        per = "1m"
        refuse = {{ after = "0s", hint = "exact" }}
        {limit}
        [clients.polite]
        layers = [{{ name = "again", max_attempts = {attempts}, retry_on = [429], backoff = {{ fixed = "1s" }}, hint = "obey" }}]
        [traffic.call]
        kind = "jobs"
        workers = 1
        client = "polite"
        arrivals = {{ at = [{backlog}] }}
        steps = [{{ name = "ask", latency = "0s", {step} }}]
        "#
    )
}

#[test]
fn cached_input_is_free_where_the_limit_does_not_count_it() {
    let calls = |counts: &str| {
        let step = "input_tokens = 20000, cached_tokens = 18000";
        let text = bucket(&format!("counts = \"{counts}\""), step, "\"unlimited\"");
        Run::of(&read(&text), 1).count("limits.itpm.admitted")
    };
    // By hand: (30,000 + 300,000) / 2,000, the last one at the very end, and ⌊330,000 / 20,000⌋.
    assert_eq!((calls("uncached_input_tokens"), calls("input_tokens")), (165, 16));
}

#[test]
fn a_request_that_is_larger_than_the_bucket_is_said_to_be_so() {
    let one = r#"arrivals = { at = ["0s"] }"#;
    for algorithm in ["token_bucket", "leaky_bucket", "gcra", "fixed_window", "sliding_log", "sliding_weighted"] {
        let limit = format!("counts = \"input_tokens\"\nalgorithm = \"{algorithm}\"");
        let text = bucket(&limit, "input_tokens = 56000", "6");
        let (head, tail) = text.split_once("arrivals = ").unwrap();
        let text = format!("{head}{one}\n{}", tail.split_once('\n').unwrap().1);
        let run = Run::of(&read(&text.replace("601s", "300d")), 1);
        let counts = ["refused", "impossible", "admitted"].map(|key| run.count(&format!("limits.itpm.{key}")));
        assert_eq!(counts, [6, 6, 0], "{algorithm}");
    }
}

#[test]
fn a_balance_that_may_go_below_zero_lets_large_requests_through_one_by_one() {
    let text = bucket("counts = \"input_tokens\"\ndebt = true", "input_tokens = 56000", "\"unlimited\"");
    let admitted = |fact: &Fact| match fact {
        Fact::RequestEnded { sent, by: AnsweredBy::Service, .. } => Some(sent.as_nanos()),
        _ => None,
    };
    let sent: Vec<u64> = facts(&read(&text), 1).iter().filter_map(admitted).collect();
    // By hand: 26,000 short at 500 a second are 52 s, and anything at all is there a nanosecond later; then 56,000 are
    // 112 s. A five-hundred-thousandth of a token is left over each time, which nobody waits for.
    assert_eq!(sent, [0, 52, 164, 276, 388, 500].map(|second| second * 1_000_000_000 + u64::from(second > 0)));
    assert_eq!(Run::of(&read(&text), 1).count("limits.itpm.impossible"), 0);
}

/// Twelve calls at once, five of which may be in flight: succeeded, failed, attempts.
pub(super) fn twelve(service: &str, retries: u32) -> [u64; 3] {
    let text = format!(
        r#"
        horizon = "1h"
        [provider.limits.connections]
        counts = "in_flight"
        amount = 5
        refuse = {{ after = "0s" }}
        [clients.sdk]
        layers = [{{ name = "sdk", max_attempts = {}, retry_on = [429], backoff = {{ exponential = {{ initial = "500ms", cap = "8s" }} }}, jitter = {{ subtract = "25%" }} }}]
        [traffic.call]
        kind = "turns"
        client = "sdk"
        arrivals = {{ at = [{}] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "{service}" }}]
        "#,
        retries + 1,
        [r#""0s""#; 12].join(", ")
    );
    let scenario = read(&text);
    // The same for every seed.
    let all: Vec<[u64; 3]> = (1..=20)
        .map(|seed| {
            let run = Run::of(&scenario, seed);
            ["delivered", "failed", "requests"].map(|key| run.count(&format!("classes.call.{key}")))
        })
        .collect();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all[0]
}

#[test]
fn retries_that_are_over_before_a_slot_is_free_are_for_nothing() {
    assert_eq!(twelve("3s", 2), [5, 7, 26]);
    assert_eq!(twelve("1s", 2), [10, 2, 26]);
    assert_eq!(twelve("1s", 5), [12, 0, 28]);
}

/// Everybody is told to come back at the reset: batch requests, live 429s, and when the batch is done.
pub(super) fn herd(jobs: usize, arrivals: Option<&str>) -> (u64, u64, f64) {
    let at_once = format!("{{ at = [{}] }}", vec![r#""0s""#; jobs].join(", "));
    let arrivals = arrivals.map_or(at_once, str::to_owned);
    let text = format!(
        r#"
        horizon = "20m"
        [provider.limits.rpm]
        counts = "requests"
        amount = 100
        per = "60s"
        algorithm = "fixed_window"
        refuse = {{ after = "0s", hint = {{ until = "reset", round_up_to = "0s" }} }}
        [clients.batch]
        layers = [{{ name = "again", max_attempts = "unlimited", retry_on = [429], backoff = {{ fixed = "1s" }}, hint = "obey" }}]
        [clients.once]
        layers = []
        [traffic.batch]
        kind = "turns"
        client = "batch"
        arrivals = {arrivals}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        [traffic.live]
        kind = "turns"
        client = "once"
        arrivals = {{ every = "1s", from = "500ms" }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#
    );
    let scenario = read(&text);
    let run = Run::of(&scenario, 1);
    let done = facts(&scenario, 1).into_iter().filter_map(|fact| match fact {
        Fact::TaskEnded { class: 0, at, fate: Fate::Delivered, .. } => Some(at.as_secs_f64()),
        _ => None,
    });
    (run.count("classes.batch.requests"), run.count("classes.live.tasks_with_429"), done.fold(0.0, f64::max))
}

/// Sixty jobs against 600 a minute, enforced in so many parts: requests, and when they are done.
pub(super) fn sub_windows(parts: u32) -> (u64, f64) {
    let text = format!(
        r#"
        horizon = "60s"
        [provider.limits.rpm]
        counts = "requests"
        amount = 600
        per = "60s"
        algorithm = "fixed_window"
        sub_windows = {parts}
        refuse = {{ after = "0s" }}
        [clients.batch]
        layers = [{{ name = "again", max_attempts = "unlimited", retry_on = [429], backoff = {{ fixed = "1s" }} }}]
        [traffic.batch]
        kind = "turns"
        client = "batch"
        arrivals = {{ at = [{}] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#,
        vec![r#""0s""#; 60].join(", ")
    );
    let run = Run::of(&read(&text), 1);
    assert_eq!(run.count("classes.batch.delivered"), 60);
    (run.count("classes.batch.requests"), run.number("classes.batch.latency_s.max"))
}

#[test]
fn everybody_who_waits_for_the_reset_comes_back_at_once() {
    // By hand, with k · L jobs: L · k (k + 1) / 2 requests. A live request half a second after each reset finds nothing
    // left, until the minute after the batch is done.
    assert_eq!(herd(300, None), (600, 180, 120.0));
    assert_eq!(herd(1_000, None).0, 5_500);
    assert_eq!(sub_windows(60), (210, 5.0));
    assert_eq!(sub_windows(6), (60, 0.0));
    // 40 in each window leave 60 for the 60 live ones; 300 take eight windows.
    let released: Vec<String> = (0..300).map(|job| format!("\"{}s\"", job / 40 * 60)).collect();
    assert_eq!(herd(300, Some(&format!("{{ at = [{}] }}", released.join(", ")))), (300, 0, 420.0));
}

/// A backfill beside live traffic: batch requests that pass, live 429s, and when the last job is done.
pub(super) fn backfill(limits: &str, batch: &str, jobs: usize, horizon: &str) -> (u64, u64, f64) {
    let arrivals =
        if batch.is_empty() { format!("{{ at = [{}] }}", vec![r#""0s""#; jobs].join(", ")) } else { batch.to_owned() };
    let text = format!(
        r#"
        horizon = "{horizon}"
        {limits}
        [clients.batch]
        layers = [{{ name = "again", max_attempts = "unlimited", retry_on = [429], backoff = {{ fixed = "1s" }} }}]
        [clients.once]
        layers = []
        [traffic.batch]
        kind = "jobs"
        workers = 42
        client = "batch"
        arrivals = {arrivals}
        steps = [{{ name = "ask", input_tokens = 1, latency = "1s" }}]
        [traffic.live]
        kind = "turns"
        client = "once"
        arrivals = {{ every = "2s", from = "250ms", until = "600s" }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#
    );
    let scenario = read(&text);
    let run = Run::of(&scenario, 1);
    let passed = |fact: &Fact| matches!(fact, Fact::RequestEnded { class: 0, by: AnsweredBy::Service, .. });
    let ends = facts(&scenario, 1);
    let sent = ends.iter().filter(|fact| passed(fact)).count() as u64;
    let done = ends.iter().filter_map(|fact| match fact {
        Fact::TaskEnded { class: 0, at, .. } => Some(at.as_secs_f64()),
        _ => None,
    });
    (sent, run.count("classes.live.tasks_with_429"), done.fold(0.0, f64::max))
}

/// Ten at once and one a second, for everybody.
pub(super) const SHARED: &str = "[provider.limits.rps]\ncounts = \"requests\"\namount = 60\nper = \"1m\"\n\
                                 capacity = \"10s\"\nrefuse = { after = \"0s\" }";

/// Half of it for each class.
pub(super) const HALVES: &str = "[provider.limits.rps]\ncounts = \"requests\"\namount = 30\nper = \"1m\"\n\
                                 capacity = \"10s\"\neach = \"class\"\nrefuse = { after = \"0s\" }";

#[test]
fn a_backfill_takes_each_token_the_moment_it_is_there() {
    // By hand: 42 workers at every whole second leave a quarter of a token for whoever comes a quarter later; 10 + 599
    // pass, of which the last has just been sent when the run ends.
    let (passed, live, _) = backfill(SHARED, "", 1_991, "601s");
    assert_eq!((passed, live), (609, 300));
    assert_eq!(backfill(HALVES, "", 1_991, "600s").1, 0);
    assert_eq!(backfill(SHARED, r#"{ every = "2s", from = "1s" }"#, 0, "600s").1, 0);
    // The price of sparing live traffic: twice the time.
    let done = |limits: &str, batch: &str| backfill(limits, batch, 1_991, "2h").2;
    let within = |at: f64, from: f64, to: f64| assert!((from..=to).contains(&at), "{at} is not in {from} to {to}");
    within(done(SHARED, ""), 1_975.0, 1_985.0);
    within(done(HALVES, ""), 3_970.0, 3_983.0);
    within(done(SHARED, r#"{ count = 1991, from = "1s", until = "3982s" }"#), 3_970.0, 3_990.0);
}

/// The rows of the table: a situation, what is right, and what comes out.
pub(super) fn rows() -> [(&'static str, &'static str, String); 7] {
    let passed = |algorithm, refused, every| let_through(algorithm, refused, every).0.to_string();
    let tokens = |terms: &str| reserved(terms).count("limits.tpm.admitted").to_string();
    let cached = |counts: &str| {
        let step = "input_tokens = 20000, cached_tokens = 18000";
        let text = bucket(&format!("counts = \"{counts}\""), step, "\"unlimited\"");
        Run::of(&read(&text), 1).count("limits.itpm.admitted").to_string()
    };
    let of_twelve =
        |service, retries| twelve(service, retries).map(|n| n.to_string()).join(" + ").replacen(" + ", "/", 2);
    let (batch, live, done) = herd(300, None);
    let parts = |parts| sub_windows(parts).0.to_string();
    let of_live = |limits, arrivals| backfill(limits, arrivals, 1_991, "601s").1.to_string();
    let paced = r#"{ every = "2s", from = "1s", until = "600s" }"#;
    [
        (
            "60 a minute, two requests a second for ten minutes: what passes a log and a window that count admitted \
             requests, and all requests",
            "600, 600; 60, 600",
            format!(
                "{}, {}; {}, {}",
                passed("sliding_log", "nothing", "500ms"),
                passed("fixed_window", "nothing", "500ms"),
                passed("sliding_log", "request", "500ms"),
                passed("fixed_window", "request", "500ms")
            ),
        ),
        (
            "100,000 tokens a minute, 500 in, 400 out, 4,000 reserved: calls that pass where nothing is given back, where \
             the rest is, where nothing is reserved",
            "22, 80, 200",
            ["estimate = \"max_tokens\"", "estimate = \"max_tokens\"\nsettle = \"both\"", "charge = \"completion\""]
                .map(tokens)
                .join(", "),
        ),
        (
            "30,000 input tokens a minute, 20,000 a call, of which 18,000 from a cache: calls in ten minutes where those \
             do not count, and where they do",
            "165, 16",
            ["uncached_input_tokens", "input_tokens"].map(cached).join(", "),
        ),
        (
            "12 calls, 5 at once, an SDK with 2 retries, served in 3 s and in 1 s: succeeded/failed/requests",
            "5/7/26, 10/2/26",
            format!("{}, {}", of_twelve("3s", 2), of_twelve("1s", 2)),
        ),
        (
            "300 jobs wait for the reset of 100 a minute: their requests, live requests refused of 180, the end",
            "600, 180, 120 s",
            format!("{batch}, {live}, {done} s"),
        ),
        (
            "60 jobs, 600 a minute enforced by the second, and by ten: requests",
            "210, 60",
            format!("{}, {}", parts(60), parts(6)),
        ),
        (
            "a backfill of 42 workers beside a request every 2 s at one a second: live requests refused of 300 where all \
             share, where each has half, where the backfill is paced",
            "300, 0, 0",
            format!("{}, {}, {}", of_live(SHARED, ""), of_live(HALVES, ""), of_live(SHARED, paced)),
        ),
    ]
}
