//! Published results, replayed: what a paper or another simulator found with the same settings comes out here within its
//! error. Sources and figures stand beside each.

use retrycast::random::Seed;
use retrycast::scenario::Scenario;

use super::stage::{Run, read};

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
#[test]
fn a_spike_is_outlived_where_retries_come_back_sooner_than_the_queue_drains() {
    let check = |storm: &Storm<'_>, stuck: f64, goodput: f64, amplification: f64| {
        let [own_stuck, own_goodput, own_amplification] = storm.outcome(40);
        assert!((own_stuck - stuck).abs() <= 0.25, "{own_stuck} {stuck}");
        assert!((own_goodput - goodput).abs() <= 1.2, "{own_goodput} {goodput}");
        assert!((own_amplification - amplification).abs() <= 0.15, "{own_amplification} {amplification}");
    };
    check(&Storm::default(), 1.0, 0.0, 1.72);
    check(&Storm { rate: 5.0, ..Storm::default() }, 1.0, 0.0, 2.13);
    check(&Storm { retries: 1, ..Storm::default() }, 1.0, 0.0, 1.48);
    check(&Storm { retries: 0, ..Storm::default() }, 0.0, 8.68, 1.0);
    check(&Storm { timeout: "12s", ..Storm::default() }, 0.0, 9.35, 1.001);
    check(&Storm { room: 30, ..Storm::default() }, 0.0, 9.18, 1.003);
    check(&Storm { order: "lifo", ..Storm::default() }, 0.0, 8.96, 1.106);
}
