//! Published results, replayed: what a paper or another simulator found with the same settings comes out here within its
//! error. The table in `docs/validation.md` holds both numbers; `SNAPSHOTS=overwrite cargo test --test it peers` renews it.

use std::fmt::Write as _;
use std::path::Path;

use retrycast::random::Seed;
use retrycast::scenario::Scenario;
use snapbox::{Data, assert_data_eq};

use super::stage::{Run, read};

/// Where it was published, what is replayed, what came out there, and here.
struct Row {
    source: &'static str,
    situation: String,
    published: String,
    found: String,
}

/// One server of 10 requests/s with a waiting room, a spike of 5 s, a timeout and immediate retries.
struct Storm<'a> {
    rate: f64,
    retries: u32,
    timeout: &'a str,
    room: u32,
    order: &'a str,
    spike: Option<(&'a str, &'a str, f64)>,
    horizon: u32,
    layer: &'a str,
}

impl Default for Storm<'_> {
    fn default() -> Self {
        let spike = Some(("120s", "125s", 30.0));
        Storm { rate: 9.3, retries: 3, timeout: "4s", room: 100, order: "fifo", spike, horizon: 400, layer: "" }
    }
}

impl Storm<'_> {
    fn scenario(&self) -> Scenario {
        let Storm { rate, retries, timeout, room, order, horizon, layer, .. } = self;
        let last = horizon - 100;
        let arrivals = match self.spike {
            None => format!("{{ poisson = \"{rate}/s\" }}"),
            Some((from, to, high)) => {
                format!(
                    "{{ poisson = [[\"0s\", \"{rate}/s\"], [\"{from}\", \"{high}/s\"], [\"{to}\", \"{rate}/s\"]] }}"
                )
            }
        };
        read(&format!(
            r#"
            horizon = "{horizon}s"
            [provider.capacity]
            servers = 1
            queue = {room}
            order = "{order}"
            when_full = {{ status = 503, after = "1ns" }}
            [phases]
            last = {{ from = "{last}s", until = "{horizon}s" }}
            [clients.caller]
            layers = [{{ name = "sdk", max_attempts = {attempts}, retry_on = ["timeout"], timeout = "{timeout}"{layer} }}]
            [traffic.turn]
            kind = "turns"
            client = "caller"
            arrivals = {arrivals}
            steps = [{{ name = "ask", input_tokens = 1, latency = {{ exponential = {{ mean = "100ms" }} }} }}]
            "#,
            attempts = retries + 1,
        ))
    }

    /// The share of seeds that are stuck, the goodput of the last 100 s, and the requests for each turn.
    fn outcome(&self, seeds: u64) -> [f64; 3] {
        let scenario = self.scenario();
        let mut sums = [0.0; 3];
        for k in 0..seeds {
            let run = Run::of(&scenario, Seed(1).replicate(k).0);
            // In-time completions a second; a turn that began earlier ends in the phase of its arrival.
            let goodput = run.number("phases.last.classes.turn.delivered") / 100.0;
            sums[0] += f64::from(goodput < self.rate / 2.0);
            sums[1] += goodput;
            sums[2] += run.number("classes.turn.amplification");
        }
        sums.map(|sum| sum / seeds as f64)
    }
}

/// `DesCartes`, `metastable_retry_storm` (Apache-2.0), as an ensemble of 60 seeds of the same model: the share that is stuck,
/// the goodput of the last 100 s, and the requests for each turn, each within three standard errors of both ensembles.
fn spike() -> Vec<Row> {
    let row = |situation: &str, storm: &Storm<'_>, [stuck, goodput, amplification]: [f64; 3]| {
        let [own_stuck, own_goodput, own_amplification] = storm.outcome(40);
        assert!((own_stuck - stuck).abs() <= 0.25, "{situation}: {own_stuck} {stuck}");
        assert!((own_goodput - goodput).abs() <= 1.2, "{situation}: {own_goodput} {goodput}");
        assert!((own_amplification - amplification).abs() <= 0.15, "{situation}: {own_amplification} {amplification}");
        let said = |stuck: f64, goodput: f64, amplification: f64| {
            format!("{:.0} %, {goodput:.2}/s, {amplification:.2}", 100.0 * stuck)
        };
        Row {
            source: "DesCartes",
            situation: format!("{situation}: stuck, goodput, requests for each turn"),
            published: said(stuck, goodput, amplification),
            found: said(own_stuck, own_goodput, own_amplification),
        }
    };
    let usual = Storm::default;
    vec![
        row("a spike of 5 s on 9.3/s of 10/s, 3 retries after 4 s, room for 100", &usual(), [1.0, 0.0, 1.72]),
        row("the same at 5/s", &Storm { rate: 5.0, ..usual() }, [1.0, 0.0, 2.13]),
        row("with 1 retry", &Storm { retries: 1, ..usual() }, [1.0, 0.0, 1.48]),
        row("without retries", &Storm { retries: 0, ..usual() }, [0.0, 8.68, 1.0]),
        row("a timeout of 12 s", &Storm { timeout: "12s", ..usual() }, [0.0, 9.35, 1.001]),
        row("room for 30", &Storm { room: 30, ..usual() }, [0.0, 9.18, 1.003]),
        row("last in, first out", &Storm { order: "lifo", ..usual() }, [0.0, 8.96, 1.106]),
    ]
}

/// happy-simulator, `metastable_state` (Apache-2.0, repaired), 40 seeds: 4.747 ± 0.212 requests a turn, 65.9 of 860 turns
/// answered in time, 3.21 a second before the surge and none after it, not even at 3 a second.
fn surge() -> Vec<Row> {
    let pieces = [(9, 0, 20), (20, 20, 30), (9, 30, 60), (7, 60, 75), (5, 75, 90), (3, 90, 100)];
    let arrivals: Vec<String> = pieces
        .map(|(rate, from, to)| {
            let every = 1_000_000_000 / rate;
            // A nanosecond later, so that none falls past the last whole one.
            format!("{{ every = \"{every}ns\", from = \"{from}s\", until = \"{to}s\" }}")
        })
        .to_vec();
    let scenario = read(&format!(
        r#"
        horizon = "110s"
        [provider.capacity]
        servers = 1
        [phases]
        calm = {{ from = "0s", until = "20s" }}
        rest = {{ from = "30s", until = "100s" }}
        [clients.caller]
        layers = [{{ name = "sdk", max_attempts = 5, retry_on = ["timeout"], timeout = "500ms" }}]
        [traffic.turn]
        kind = "turns"
        client = "caller"
        arrivals = [{}]
        steps = [{{ name = "ask", input_tokens = 1, latency = {{ exponential = {{ mean = "100ms" }} }} }}]
        "#,
        arrivals.join(", ")
    ));
    let mut sums = [0.0; 4];
    for k in 0..40 {
        let run = Run::of(&scenario, Seed(42).replicate(k).0);
        let keys = [
            "classes.turn.amplification",
            "classes.turn.delivered",
            "phases.calm.classes.turn.delivered",
            "phases.rest.classes.turn.delivered",
        ];
        keys.iter().zip(&mut sums).for_each(|(key, sum)| *sum += run.number(key) / 40.0);
    }
    let [amplification, delivered, calm, rest] = sums;
    // Three standard errors of two ensembles of 40 seeds. When it tips over before the surge is a matter of chance: one
    // seed differs from another by 0.21, 41 turns and 2.0 a second.
    assert!((amplification - 4.747).abs() < 0.14, "{amplification}");
    assert!((delivered - 65.9).abs() < 27.5, "{delivered}");
    assert!((calm / 20.0 - 3.21).abs() < 1.35, "{calm}");
    assert!(rest < 1.0, "{rest}");
    let said = |amplification: f64, calm: f64, rest: f64| format!("{amplification:.2}, {calm:.2}/s, {rest:.2}/s");
    vec![Row {
        source: "happy-simulator",
        situation: "9/s of 10/s, 20/s for 10 s, then less and less: requests for each turn, goodput before and after"
            .to_owned(),
        published: said(4.747, 3.21, 0.0),
        found: said(amplification, calm / 20.0, rest / 70.0),
    }]
}

/// "retrystorm" by `DogukanKat`, seeds 42 to 46: successes a second before, in and after an overload of ten seconds.
fn window() -> Vec<Row> {
    let goodput = |attempts: u32, layer: &str| {
        let scenario = read(&format!(
            r#"
            horizon = "61s"
            [provider.capacity]
            servers = 10
            queue = 100
            when_full = {{ status = 503, after = "1ns" }}
            [phases]
            calm = {{ from = "0s", until = "20s" }}
            overload = {{ from = "20s", until = "30s" }}
            later = {{ from = "30s", until = "60s" }}
            [clients.caller]
            layers = [{{ name = "sdk", max_attempts = {attempts}, retry_on = ["timeout", 503], timeout = "50ms"{layer} }}]
            [traffic.turn]
            kind = "turns"
            client = "caller"
            arrivals = {{ poisson = [["0s", "600/s"], ["20s", "2500/s"], ["30s", "600/s"]], until = "60s" }}
            steps = [{{ name = "ask", input_tokens = 1, latency = {{ exponential = {{ mean = "10ms" }} }} }}]
            "#
        ));
        let run = Run::of(&scenario, 42);
        [("calm", 20.0), ("overload", 10.0), ("later", 30.0)]
            .map(|(phase, length)| run.number(&format!("phases.{phase}.classes.turn.delivered")) / length)
    };
    let exponential = "{ exponential = { initial = \"25ms\", cap = \"1s\" } }";
    let fixed = ", backoff = { fixed = \"25ms\" }".to_owned();
    let jitter = format!(", backoff = {exponential}, jitter = \"full\"");
    // A hundred retries at once, and one for every ten successes.
    let bucket =
        format!("{fixed}, budget = {{ quota = {{ capacity = 1000, cost = 10, refund = 1, retried_refund = 1 }} }}");
    let row = |name: &str, attempts: u32, layer: &str, published: [f64; 3]| {
        let found = goodput(attempts, layer);
        for (own, other) in found.iter().zip(published) {
            assert!((own - other).abs() < 12.0, "{name}: {found:?} instead of {published:?}");
        }
        let said = |[calm, overload, later]: [f64; 3]| format!("{calm:.0}, {overload:.0}, {later:.0}");
        Row {
            source: "retrystorm (Java)",
            situation: format!("600/s of 1000/s, 2500/s for 10 s, {name}: successes a second before, in, after"),
            published: said(published),
            found: said(found),
        }
    };
    let exponentially = format!(", backoff = {exponential}");
    vec![
        row("no retry", 1, "", [592.0, 8.1, 593.0]),
        row("five retries after 25 ms", 6, &fixed, [598.0, 7.4, 0.0]),
        row("exponentially", 6, &exponentially, [598.0, 8.0, 0.0]),
        row("with full jitter", 6, &jitter, [597.0, 8.0, 0.0]),
        row("with a shared token bucket", 6, &bucket, [598.0, 7.4, 599.0]),
    ]
}

#[test]
fn what_others_have_published_comes_out_and_the_page_says_so() {
    let mut table = String::from("| source | situation | published | this program |\n| --- | --- | --- | --- |\n");
    for Row { source, situation, published, found } in spike().into_iter().chain(surge()).chain(window()) {
        writeln!(table, "| {source} | {situation} | {published} | {found} |").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/validation.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (open, close) = ("<!-- published -->\n", "<!-- end of published -->");
    let (head, rest) = page.split_once(open).expect("a mark");
    let (_, tail) = rest.split_once(close).expect("a mark");
    assert_data_eq!(format!("{head}{open}{table}{close}{tail}"), Data::read_from(&path, None).raw());
}
