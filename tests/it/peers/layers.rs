//! What layers multiply to: the closed form, and numbers from public reports of stacked or ill-matched retries.

use super::{Number, Published, Row, Run, each, hold, read, replicates};

/// So many turns whose attempts fail with probability `p`, through these layers, innermost first.
fn nested(attempts: &[u32], p: f64, turns: u32) -> String {
    let layers = attempts
        .iter()
        .enumerate()
        .map(|(at, attempts)| format!("{{ name = \"layer{at}\", max_attempts = {attempts}, retry_on = \"any\" }}"));
    format!(
        r#"
        horizon = "1h"
        [provider.faults.coin]
        probability = {p}
        respond = {{ status = 429, after = "0s" }}
        [clients.caller]
        layers = [{layers}]
        [traffic.turn]
        kind = "turns"
        client = "caller"
        arrivals = {{ every = "1s", until = "{turns}s" }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#,
        layers = layers.collect::<Vec<_>>().join(", "),
    )
}

fn closed_forms() -> Vec<Row> {
    // (1 − p^N) / (1 − p) requests for N attempts of all layers.
    let stacks: [(&[u32], [f64; 3]); 3] =
        [(&[3, 4], [2.000, 7.176, 12.0]), (&[3, 4, 3], [2.0, 9.775, 36.0]), (&[3, 6, 4], [2.0, 9.995, 72.0])];
    let row = |(attempts, means): (&[u32], [f64; 3])| {
        let numbers = [0.5, 0.9, 1.0].into_iter().zip(means).map(|(p, mean)| {
            let scenario = read(&nested(attempts, p, 100));
            let [values] = each(&scenario, 1, replicates(400, 16), |run| [run.number("classes.turn.amplification")]);
            Number::new(Published::exact(mean, 3), &values)
        });
        let product: Vec<String> = attempts.iter().map(u32::to_string).collect();
        let situation = format!(
            "layers of {} attempts, each of which fails with 0.5, 0.9, 1: requests for each turn",
            product.join(" · ")
        );
        Row::new("closed form", situation, numbers.collect())
    };
    stacks.into_iter().map(row).collect()
}

/// Turns of one step through one layer.
fn layer(provider: &str, layer: &str, arrivals: &str, tokens: &str) -> Run {
    let text = format!(
        r#"
        horizon = "10m"
        {provider}
        [clients.caller]
        layers = [{{ name = "sdk", retry_on = [429], {layer} }}]
        [traffic.turn]
        kind = "turns"
        client = "caller"
        arrivals = {arrivals}
        steps = [{{ name = "ask", input_tokens = "{tokens}", latency = "1s" }}]
        "#
    );
    Run::of(&read(&text), 1)
}

fn exactly(published: &[(f64, usize)], found: &[f64]) -> Vec<Number> {
    let pairs = published.iter().zip(found);
    pairs.map(|((mean, decimals), found)| Number::new(Published::exact(*mean, *decimals), &[*found])).collect()
}

fn reports() -> Vec<Row> {
    let requests = |attempts: &[u32]| Run::of(&read(&nested(attempts, 1.0, 1)), 1).number("classes.turn.requests");
    let stacked = exactly(&[(12.0, 0), (4.0, 0)], &[requests(&[3, 4]), requests(&[1, 4])]);
    // Fifty slots that ask again half a second after each refusal; a refusal takes what is left of 50 / 76.2 s.
    let loops = "[provider.faults.full]\nrespond = { status = 429, after = \"156ms\" }";
    let slots = layer(
        loops,
        "max_attempts = 1_000_000, backoff = { fixed = \"500ms\" }",
        &format!("{{ at = [{}] }}", vec!["\"0s\""; 50].join(", ")),
        "1",
    );
    let per_second = (slots.number("classes.turn.requests") - 50.0) / 600.0;
    let day = [(76.2, 1, per_second), (6.17, 2, per_second * 22.5 * 3_600.0 / 1e6)];
    let day = day.map(|(mean, decimals, found)| Number::new(Published::once(mean, decimals), &[found])).to_vec();
    // A window of a minute that is used up at its beginning, and calls in its first fifty seconds.
    let minute = "[provider.limits.rpm]\ncounts = \"requests\"\namount = 120\nper = \"1m\"\nalgorithm = \"fixed_window\"\nrefuse = { after = \"0s\" }";
    let waits = "max_attempts = 4, backoff = { exponential = { initial = \"1s\" } }";
    let early = format!(
        "[{{ at = [{}] }}, {{ every = \"500ms\", from = \"1s\", until = \"51s\" }}]",
        vec!["\"0s\""; 120].join(", ")
    );
    let short = layer(minute, waits, &early, "1");
    let late = exactly(
        &[(100.0, 0), (4.0, 0)],
        &[short.number("classes.turn.failed"), (short.number("classes.turn.requests") - 120.0) / 100.0],
    );
    // Four attempts in three seconds, and a quota that is back after 38 s.
    let quota = |per: &str, amount: &str| {
        format!(
            "[provider.limits.tpm]\ncounts = \"input_tokens\"\namount = \"{amount}\"\nper = \"{per}\"\nalgorithm = \"fixed_window\"\nrefuse = {{ after = \"0s\" }}"
        )
    };
    let hinted = layer(
        &quota("38s", "10k"),
        "max_attempts = 4, backoff = { fixed = \"1s\" }",
        "{ at = [\"0s\", \"0s\"] }",
        "10k",
    );
    let letter = exactly(
        &[(1.0, 0), (4.0, 0)],
        &[hinted.number("classes.turn.failed"), hinted.number("classes.turn.requests") - 1.0],
    );
    // 49 jobs for a quota of one, and three retries 2.3 s apart.
    let many = format!("{{ at = [{}] }}", vec!["\"0s\""; 49].join(", "));
    let delegated = layer(&quota("54s", "8M"), "max_attempts = 4, backoff = { fixed = \"2300ms\" }", &many, "8M");
    let delegated = exactly(&[(48.0, 0)], &[delegated.number("classes.turn.failed")]);
    vec![
        Row::new(
            "nanobot 2760",
            "4 attempts of an application around 3 of its SDK against a limit that stays, and with those off: requests",
            stacked,
        ),
        Row::new(
            "NeMo Gym 2527",
            "50 slots that wait half a second after each 429 of 0.156 s: retries a second, and millions in 22.5 h",
            day,
        ),
        Row::new(
            "benchlocal-cli 106",
            "4 attempts with waits of 1, 2, 4 s in a used-up minute, 100 calls: failed, requests for each",
            late,
        ),
        Row::new("lettertrace 34", "4 attempts within 3 s where the server asks for 38 s: failed, requests", letter),
        Row::new(
            "kube-agents 1225",
            "49 jobs that retry 3 times 2.3 s apart where the server asks for 54 s: failed",
            delegated,
        ),
    ]
}

pub(super) fn rows() -> Vec<Row> {
    closed_forms().into_iter().chain(reports()).collect()
}

#[test]
fn layers_multiply_as_was_published() {
    hold(rows);
}
