//! The terms of limits, each in a small scenario with the answer worked out by hand: when a request is charged, what comes
//! back, who is counted, what a refusal says.

use std::fmt::Write as _;

use retrycast::explain::explain;
use retrycast::preset::limits;
use retrycast::provider::AnsweredBy;
use retrycast::scenario::Scenario;
use retrycast::sim::{Fact, Fate};
use snapbox::{assert_data_eq, file};

use super::scenario_errors::table;
use super::stage::{Run, facts, read, said};

/// A class of turns without retries: its name, the rest of its step, and when they come, in seconds.
fn class(name: &str, step: &str, at: &[f64]) -> String {
    let at: Vec<String> = at.iter().map(|second| format!("\"{second}s\"")).collect();
    format!(
        "[traffic.{name}]\nkind = \"turns\"\nclient = \"once\"\narrivals = {{ at = [{}] }}\n\
         steps = [{{ name = \"ask\", {step} }}]\n",
        at.join(", ")
    )
}

fn world(provider: &str, classes: &[String]) -> Scenario {
    read(&format!("horizon = \"2d\"\n{provider}\n[clients.once]\nlayers = []\n{}", classes.concat()))
}

/// Which tasks of a class were delivered, in the order of arrival.
fn delivered(scenario: &Scenario, class: u16) -> Vec<bool> {
    let mut all: Vec<(u32, bool)> = facts(scenario, 1)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::TaskEnded { class: of, task, fate, .. } if of == class => Some((task, fate == Fate::Delivered)),
            _ => None,
        })
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(_, delivered)| delivered).collect()
}

const NOTHING: &str = "input_tokens = 0, latency = \"0s\"";

#[test]
fn output_is_charged_as_it_flows() {
    // By hand: 200 tokens in 64 parts over 100 s, from the first token at 20 s to the end at 120 s. After 32 parts, at
    // 70 s, 100 are used, and nothing is left for whoever comes then; a part sooner something is.
    let limit = "[provider.limits.otpm]\ncounts = \"output_tokens\"\namount = 100\nper = \"1h\"\n\
                 algorithm = \"fixed_window\"\ncharge = \"streaming\"";
    let writer = |first: &str| {
        class("writer", &format!("input_tokens = 9, output_tokens = 200, latency = \"120s\"{first}"), &[0.0])
    };
    let later = class("later", NOTHING, &[1.0, 69.9, 70.0, 100.0, 3_599.0, 3_600.0]);
    let streamed = world(limit, &[writer(", first_token = \"20s\""), later.clone()]);
    assert_eq!(delivered(&streamed, 1), [true, true, false, false, false, true]);
    // As a whole it has been produced since it was asked for: half of it is there at 60 s.
    assert_eq!(delivered(&world(limit, &[writer(""), later]), 1), [true, false, false, false, false, true]);
}

#[test]
fn all_of_it_is_charged_at_the_end_where_the_limit_counts_it_then() {
    let limit = "[provider.limits.tpm]\ncounts = \"total_tokens\"\namount = 100\nper = \"1h\"\n\
                 algorithm = \"fixed_window\"\naligned = \"first_request\"\ncharge = \"completion\"";
    let first = class("first", "input_tokens = 60, output_tokens = 40, latency = \"30s\"", &[0.0]);
    // By hand: what is charged at 30 s opens the window, which ends at 3,630 s.
    let later = class("later", NOTHING, &[29.9, 30.0, 3_629.0, 3_630.0]);
    assert_eq!(delivered(&world(limit, &[first, later]), 1), [true, false, false, true]);
}

#[test]
fn an_answer_that_nobody_waits_for_costs_what_was_produced() {
    // By hand: 100 tokens in 10 s, whose caller leaves after 4: 50 in and 40 out stay charged of 50 + 100, so that 110 of
    // 200 fit afterwards, and no more; served to its end, 50 do.
    let scenario = |abandoned: &str, settle: &str, fits: u32| {
        let provider = format!(
            "[provider]\nabandoned = \"{abandoned}\"\n[provider.limits.tpm]\ncounts = \"total_tokens\"\namount = 200\n\
             per = \"1d\"\nalgorithm = \"fixed_window\"\nsettle = \"{settle}\""
        );
        let text = format!(
            "horizon = \"1h\"\n{provider}\n[clients.once]\nlayers = []\n[clients.hasty]\n\
             layers = [{{ name = \"sdk\", max_attempts = 1, retry_on = \"none\", timeout = \"4s\" }}]\n{}{}",
            class("first", "input_tokens = 50, output_tokens = 100, latency = \"10s\"", &[0.0])
                .replace("\"once\"", "\"hasty\""),
            class("later", &format!("input_tokens = {fits}, latency = \"0s\""), &[20.0]),
        );
        delivered(&read(&text), 1)[0]
    };
    assert_eq!([110, 111].map(|fits| scenario("cancelled", "surplus", fits)), [true, false]);
    assert_eq!([50, 51].map(|fits| scenario("served", "surplus", fits)), [true, false]);
    assert_eq!([50, 51].map(|fits| scenario("cancelled", "never", fits)), [true, false]);
}

#[test]
fn a_hedge_that_is_dropped_gives_back_what_it_reserved() {
    // By hand: two requests of 10 + 90 reserved are out until the first is answered at 5 s; then 10 + 90 for the one that
    // was delivered and, of the other, which was sent a second later, 10 and four fifths of 90 stay charged: 182 of 200.
    let text = format!(
        "horizon = \"1h\"\n[provider]\nabandoned = \"cancelled\"\n[provider.limits.tpm]\ncounts = \"total_tokens\"\n\
         amount = 200\nper = \"1d\"\nalgorithm = \"fixed_window\"\nsettle = \"both\"\n[clients.once]\nlayers = []\n\
         [clients.hedged]\nlayers = [{{ name = \"hedge\", hedge = {{ max = 2, delay = \"1s\" }} }}]\n{}{}",
        class("first", "input_tokens = 10, output_tokens = 90, latency = \"5s\"", &[0.0])
            .replace("\"once\"", "\"hedged\""),
        class("later", "input_tokens = 18, latency = \"0s\"", &[4.9, 6.0, 7.0]),
    );
    assert_eq!(delivered(&read(&text), 1), [false, true, false]);
}

#[test]
fn a_reservation_lasts_as_long_as_a_request_waits_for_a_server() {
    // By hand: one server, ten seconds each. Two are in by 10 + 90 reserved each; the second is served from 10 s to 20 s,
    // so that of 200, at 12 s, 10 + 20 and 10 + 90 are taken; at 21 s 10 + 20 twice. As a stream the same.
    for first_token in ["", ", first_token = \"1s\""] {
        let step = format!("input_tokens = 10, output_tokens = 20, max_tokens = 90, latency = \"10s\"{first_token}");
        let text = format!(
            "horizon = \"1h\"\n[provider.capacity]\nservers = 1\n[provider.limits.tpm]\ncounts = \"total_tokens\"\n\
             amount = 200\nper = \"1d\"\nalgorithm = \"fixed_window\"\nestimate = \"max_tokens\"\nmax_tokens = 1\n\
             settle = \"both\"\n[clients.once]\nlayers = []\n{}{}",
            class("first", &step, &[0.0, 0.0]),
            class("later", "input_tokens = 69, latency = \"0s\"", &[9.0, 12.0, 21.0]),
        );
        assert_eq!(delivered(&read(&text), 1), [false, true, true]);
    }
    // Output is charged as it flows, from when the server has begun: by half of 200 at 17.5 s of 10 to 25.
    let text = format!(
        "horizon = \"1h\"\n[provider.capacity]\nservers = 1\n[provider.limits.otpm]\ncounts = \"output_tokens\"\n\
         amount = 100\nper = \"1d\"\nalgorithm = \"fixed_window\"\ncharge = \"streaming\"\n[clients.once]\n\
         layers = []\n{}{}{}",
        class("busy", "input_tokens = 1, latency = \"10s\"", &[0.0]),
        class("writer", "input_tokens = 1, output_tokens = 200, latency = \"15s\"", &[1.0]),
        class("later", NOTHING, &[17.4, 17.5]),
    );
    let refused = Run::of(&read(&text), 1).count("limits.otpm.refused");
    assert_eq!(refused, 1);
}

#[test]
fn tokens_in_flight_are_held_until_the_service_ends() {
    let limit = "[provider.limits.held]\ncounts = \"tokens_in_flight\"\namount = 100\nestimate = \"max_tokens\"";
    // By hand: 20 + 40 each; a second one fits when the first has ended, at 10 s, whatever it really wrote.
    let step = "input_tokens = 20, output_tokens = 1, max_tokens = 40, latency = \"10s\"";
    let small = class("small", "input_tokens = 40, max_tokens = 1, latency = \"0s\"", &[1.0, 11.0]);
    let scenario = world(limit, &[class("large", step, &[0.0, 5.0, 10.0]), small]);
    assert_eq!(delivered(&scenario, 0), [true, false, true]);
    assert_eq!(delivered(&scenario, 1), [false, false]);
    let run = Run::of(&scenario, 1);
    assert_eq!((run.count("limits.held.admitted"), run.count("limits.held.impossible")), (2, 0));
}

#[test]
fn weights_and_prices_are_exact() {
    // By hand: a tenth of 30 cached tokens, 70 others, five times 2 tokens of output: 83 each; twelve are 996 of 1,000.
    let limit = "[provider.limits.tpm]\ncounts = \"total_tokens\"\namount = 1000\nper = \"1d\"\n\
                 algorithm = \"fixed_window\"\nweights = { cached_input = 0.1, output = 5 }";
    let step = "input_tokens = 100, cached_tokens = \"30%\", output_tokens = 2, latency = \"0s\"";
    let many: Vec<f64> = (0..20).map(f64::from).collect();
    let calls = |limit: &str, step: &str| {
        let scenario = world(limit, &[class("call", step, &many)]);
        delivered(&scenario, 0).into_iter().filter(|delivered| *delivered).count()
    };
    assert_eq!(calls(limit, step), 12);
    // By hand: a million tokens for 0.30 dollars from the cache and 3 else, 15 out: 0.03 + 2.70 + 0.15 = 2.88 each. Eight
    // are 23.04 of 24, but after eight something is left, and the ninth goes over.
    let spend = "[provider.limits.spend]\ncounts = \"spend\"\namount = 24\nper = \"1d\"\nalgorithm = \"fixed_window\"\n\
                 prices = { input = 3, cached_input = 0.3, output = 15 }";
    let step = "input_tokens = \"1M\", cached_tokens = \"100k\", output_tokens = \"10k\", latency = \"0s\"";
    assert_eq!(calls(spend, step), 8);
    assert_eq!(calls(&format!("{spend}\ncharge = \"completion\""), step), 9);
}

#[test]
fn a_reservation_without_weights_is_the_published_example() {
    // A published example: 2,000,000 a minute, 500 in and 1,000 at most are 1,333 requests at once; 64,000 are 31.
    let at_once = |max_tokens: &str| {
        let at = vec![0.0; 1_500];
        let step = format!("input_tokens = 500, output_tokens = 9, latency = \"10s\"{max_tokens}");
        let scenario = world("[provider.limits.b]\npreset = \"bedrock/runtime/claude-4.8\"", &[class("c", &step, &at)]);
        Run::of(&scenario, 1).count("limits.b-tpm.admitted")
    };
    assert_eq!([at_once(", max_tokens = 1000"), at_once("")], [1_333, 31]);
}

#[test]
fn an_amount_may_change_and_a_day_binds_beside_a_minute() {
    let changes = "[provider.limits.rpm]\ncounts = \"requests\"\namount = 2\nper = \"1m\"\n\
                   algorithm = \"fixed_window\"\nchanges = [[\"30s\", 1], [\"60s\", 3]]";
    let call = |at: &[f64]| vec![class("call", NOTHING, at)];
    // By hand: one of two in the first half minute, then one is too many; from 60 s on there are three.
    assert_eq!(
        delivered(&world(changes, &call(&[0.0, 30.0, 59.0, 60.0, 60.0, 60.0, 60.0])), 0),
        [true, false, false, true, true, true, false]
    );
    let coupled = "[provider.limits.rpm]\ncounts = \"requests\"\namount = 2\nper = \"1m\"\nalgorithm = \"fixed_window\"\n\
                   [provider.limits.rpd]\ncounts = \"requests\"\namount = 3\nper = \"1d\"\nalgorithm = \"fixed_window\"\n\
                   offset = \"8h\"";
    let scenario = world(coupled, &call(&[0.0, 1.0, 2.0, 60.0, 61.0, 28_799.0, 28_800.0]));
    assert_eq!(delivered(&scenario, 0), [true, true, false, true, false, false, true]);
    let run = Run::of(&scenario, 1);
    assert_eq!((run.count("limits.rpm.refused"), run.count("limits.rpd.refused")), (1, 2));
}

#[test]
fn too_many_refusals_bring_a_ban() {
    let limit = "[provider.limits.rpm]\ncounts = \"requests\"\namount = 1\nper = \"1s\"\nalgorithm = \"fixed_window\"\n\
                 ban = { after = 2, within = \"10s\", lasts = \"1m\" }";
    // By hand: the second refusal, at 1.2 s, bans until 61.2 s.
    let scenario = world(limit, &[class("call", NOTHING, &[0.0, 0.1, 1.0, 1.2, 5.0, 61.0, 61.2])]);
    assert_eq!(delivered(&scenario, 0), [true, false, true, false, false, false, true]);
}

#[test]
fn a_jump_in_usage_is_refused_where_a_climb_is_not() {
    let limit = "[provider.limits.slow]\ncounts = \"requests\"\namount = 10\nper = \"1m\"\nalgorithm = \"growth\"\n\
                 growth = { by = \"50%\", within = \"5m\" }";
    let minutes = |counts: &[usize]| -> Vec<f64> {
        counts.iter().enumerate().flat_map(|(minute, count)| vec![60.0 * minute as f64; *count]).collect()
    };
    let refused = |counts: &[usize]| {
        Run::of(&world(limit, &[class("call", NOTHING, &minutes(counts))]), 1).count("limits.slow.refused")
    };
    assert_eq!(refused(&[10, 15, 22, 33]), 0);
    assert_eq!(refused(&[10, 15, 40]), 18);
    // By hand: after ten idle minutes the floor is all there is.
    assert_eq!(refused(&[10, 15, 22, 0, 0, 0, 0, 0, 0, 22]), 12);
}

#[test]
fn each_class_and_each_model_may_have_a_limit_of_its_own() {
    let limit = |each: &str| format!("[provider.limits.rpm]\ncounts = \"requests\"\namount = 1\nper = \"1h\"\n{each}");
    let ask = |name: &str, model: &str| class(name, &format!("{NOTHING}, model = \"{model}\""), &[0.0, 1.0]);
    let refused = |each: &str| {
        let run = Run::of(&world(&limit(each), &[ask("a", "m/x"), ask("b", "m/x"), ask("c", "y")]), 1);
        ["a", "b", "c"].map(|class| run.count(&format!("classes.{class}.failed")))
    };
    assert_eq!(refused(""), [1, 2, 2]);
    assert_eq!(refused("each = \"class\""), [1, 1, 1]);
    assert_eq!(refused("each = \"class\"\nclasses = [\"a\", \"c\"]"), [1, 0, 1]);
    assert_eq!(refused("classes = [\"b\", \"c\"]"), [0, 1, 2]);
    assert_eq!(refused("each = \"model\"\nmodels = [\"m/x\", \"y\"]"), [1, 2, 1]);
    let names = world(&limit("each = \"model\"\nmodels = [\"m/x\"]"), &[ask("a", "m/x")]).provider.limits;
    assert_eq!(names[0].name, "rpm-m_x");
    let slots = "[provider.limits.s]\ncounts = \"in_flight\"\namount = 1\neach = \"class\"";
    let busy = |name: &str| class(name, "input_tokens = 1, latency = \"10s\"", &[0.0, 1.0]);
    let run = Run::of(&world(slots, &[busy("a"), busy("b")]), 1);
    assert_eq!([run.count("limits.s-a.refused"), run.count("limits.s-b.most_in_flight")], [1, 1]);
}

/// When the second of two requests is sent again, in seconds: after a refusal by a limit with this hint.
fn told(refuse: &str, layer: &str) -> f64 {
    let text = format!(
        "horizon = \"1h\"\n[provider.limits.rpm]\ncounts = \"requests\"\namount = 6\nper = \"1m\"\n\
         refuse = {{ after = \"0s\", {refuse} }}\n[clients.once]\nlayers = [{{ name = \"sdk\", max_attempts = 2, \
         retry_on = [429], backoff = {{ fixed = \"999s\" }}, {layer} }}]\n{}",
        class("call", NOTHING, &[0.0; 7])
    );
    let sent = facts(&read(&text), 1).into_iter().filter_map(|fact| match fact {
        Fact::RequestEnded { sent, task: 6, by: AnsweredBy::Service | AnsweredBy::Limit(_), .. } => {
            Some(sent.as_secs_f64())
        }
        _ => None,
    });
    sent.fold(0.0, f64::max)
}

#[test]
fn a_hint_tells_what_it_is_asked_to_in_the_header_that_carries_it() {
    // By hand: six are gone at once; one flows in within 10 s, all of them within a minute.
    assert_eq!(told("hint = \"exact\"", "hint = \"obey\""), 10.0);
    assert_eq!(told("hint = { until = \"full\" }", "hint = \"obey\""), 60.0);
    assert_eq!(told("hint = { constant = \"7s\" }", "hint = \"obey\""), 7.0);
    let reads = |header: &str| format!("hint = \"obey\", hint_headers = [{{ header = \"{header}\" }}]");
    for header in ["retry-after-ms", "x-ratelimit-reset", "x-amz-retry-after", "grpc-retry-pushback-ms"] {
        let refuse = format!("hint = \"exact\", headers = [\"{header}\"]");
        assert_eq!(told(&refuse, &reads(header)), 10.0, "{header}");
        assert_eq!(told(&refuse, &reads("retry-after")), 999.0, "{header} is not what the client reads");
    }
    assert_eq!(told("hint = \"exact\", headers = [\"retry-after-ms\", \"retry-after\"]", &reads("retry-after")), 10.0);
}

#[test]
fn every_preset_of_limits_runs_and_may_be_changed() {
    for preset in limits::all() {
        let name = &preset.name;
        // Limits on spend charge the provider's prices.
        let prices = "[provider.prices]\ninput = 3\noutput = 15";
        let text = format!("{prices}\n[provider.limits.p]\npreset = \"{name}\"\nmodels = [\"m\"]");
        let step = "input_tokens = 1000, output_tokens = 10, max_tokens = 20, model = \"m\", latency = \"1s\"";
        let scenario = world(&text, &[class("c", step, &[0.0, 0.5, 70.0])]);
        let limits: Vec<&str> = scenario.provider.limits.iter().map(|limit| limit.name.as_str()).collect();
        let expected: Vec<String> = preset.limits.iter().map(|(ending, _)| format!("p-{ending}")).collect();
        assert_eq!(limits, expected, "{name}");
        let run = Run::of(&scenario, 1);
        assert!(run.count(&format!("limits.{}.admitted", limits[0])) >= 2, "{name}");
        assert!(explain(&scenario).warnings.iter().all(|warning| !warning.message.contains("never holds")), "{name}");
    }
    let changed =
        "[provider.limits.p]\npreset = \"anthropic/build/opus\"\nitpm = { amount = \"6M\", capacity = \"10s\" }";
    let limits = world(changed, &[class("c", NOTHING, &[0.0])]).provider.limits;
    assert_eq!(limits.iter().map(retrycast::provider::Limit::amount).collect::<Vec<_>>(), [5e3, 6e6, 1e6]);
    assert_eq!(limits[1].largest(), 1e6);
}

#[test]
fn explain_knows_what_a_reservation_makes_too_large() {
    let limit =
        "[provider.limits.tpm]\ncounts = \"total_tokens\"\namount = 4000\nper = \"1m\"\nestimate = \"max_tokens\"";
    let step = "input_tokens = 500, output_tokens = 9, max_tokens = 4096, latency = \"1s\"";
    let warnings = explain(&world(limit, &[class("c", step, &[0.0])])).warnings;
    let message = "step `ask` of c asks for 4,596 total tokens on average and `tpm` never holds more than 4,000";
    assert!(warnings.iter().any(|warning| warning.message == message), "{warnings:?}");
}

#[test]
fn terms_that_make_no_sense_are_refused() {
    const LIMIT: &str = "counts = \"input_tokens\"\namount = \"700k\"\nper = \"1m\"\n";
    const REFUSE: &str = "refuse = { status = 429, after = \"250ms\", hint = { minimum = \"6s\" } }";
    let with = |more: &str| format!("{LIMIT}{more}\n");
    let changes: Vec<String> = [
        "algorithm = \"token_buket\"",
        "algorithm = \"fixed_window\"\ncapacity = \"3s\"",
        "algorithm = \"sliding_log\"\nsub_windows = 2\naligned = \"clock\"\noffset = \"1s\"",
        "algorithm = \"fixed_window\"\nsub_windows = 900000",
        "algorithm = \"fixed_window\"\naligned = \"first_request\"\noffset = \"8h\"",
        "algorithm = \"growth\"",
        "algorithm = \"growth\"\ngrowth = { by = \"50%\", within = \"3s\" }",
        "growth = { by = \"50%\", within = \"15m\" }",
        "estimate = \"max_tokens\"",
        "estimate = \"max_token\"",
        "estimate = { fixed = 0 }",
        "estimate = \"input\"\ncharge = \"completion\"",
        "settle = \"both\"\ncharge = \"streaming\"",
        "charge = \"later\"",
        "refused_costs = \"request\"",
        "weights = { input = 0, cached_input = 0 }",
        "weights = { output = 0.1234 }",
        "prices = { input = 3, output = 15 }",
        "ban = { after = 0, within = \"1m\" }",
        "changes = [[\"30m\", 5], [\"30m\", 6]]",
        "classes = [\"bach\"]",
        "each = \"model\"",
        "each = \"key\"",
        "preset = \"anthropic/build/opus\"",
    ]
    .map(with)
    .into();
    let whole = [
        "counts = \"spend\"\namount = 5\nper = \"1m\"\n",
        "counts = \"spend\"\namount = 5\nper = \"1m\"\nweights = { input = 1 }\n",
        "counts = \"tokens_in_flight\"\namount = 5\nper = \"1m\"\ncharge = \"streaming\"\n",
        "counts = \"requests\"\namount = 5\nper = \"1m\"\nestimate = \"input\"\nrefused_costs = \"tokens\"\n",
        "preset = \"anthropic/build/opsu\"\n",
        "preset = \"anthropic/build/opus\"\nitmp = { amount = 5 }\nrpm = 5\n",
    ];
    let all: Vec<(&str, &str)> = changes.iter().map(String::as_str).chain(whole).map(|new| (LIMIT, new)).collect();
    let refuse = [
        (REFUSE, "refuse = { hint = { constant = \"60s\", until = \"full\" } }"),
        (REFUSE, "refuse = { hint = { until = \"later\" } }"),
        (REFUSE, "refuse = { headers = [\"retry-after\", \"retry-after\"] }"),
    ];
    let all: Vec<(&str, &str)> = all.into_iter().chain(refuse).collect();
    assert_data_eq!(table(&all), file!["refusals/limits.txt"]);
}

#[test]
fn sizes_from_a_trace_need_a_column_for_them() {
    let scenario = |arrivals: &str, step: &str| {
        let text = format!(
            "horizon = \"1h\"\n[clients.once]\nlayers = []\n[traffic.t]\nkind = \"turns\"\nclient = \"once\"\n\
             arrivals = {arrivals}\nsteps = [{{ name = \"ask\", latency = \"1s\", {step} }}]\n"
        );
        said(&text).map(|_| ()).map_err(|faults| {
            faults.into_iter().fold(String::new(), |mut all, (message, _)| {
                let _ = write!(all, "{message}; ");
                all
            })
        })
    };
    let message = "comes from the trace, and the arrivals name no column of one for it; ";
    assert_eq!(scenario("{ at = [\"0s\"] }", "input_tokens = \"trace\""), Err(message.to_owned()));
    assert_eq!(scenario("{ at = [\"0s\"] }", "input_tokens = 1, output_tokens = \"trace\""), Err(message.to_owned()));
}

#[test]
fn refusals_that_cost_a_request_lock_out_whoever_does_not_wait() {
    // By hand: ten a minute, and one asked for every 3 s, in which half a request flows in. A full bucket falls by half
    // a request each time and lets 19 through; from then on each refusal takes the half that has come, for ever.
    let times: Vec<f64> = (0..100).map(|n| f64::from(n) * 3.0).collect();
    let through = |algorithm: &str, costs: &str| {
        let limit = format!(
            "[provider.limits.rpm]\ncounts = \"requests\"\namount = 10\nper = \"1m\"\nalgorithm = \"{algorithm}\"\n\
             refused_costs = \"{costs}\""
        );
        let scenario = world(&limit, &[class("polling", NOTHING, &times)]);
        let lowest = Run::of(&scenario, 1).number("limits.rpm.lowest_share");
        (delivered(&scenario, 0).iter().filter(|delivered| **delivered).count(), lowest)
    };
    for algorithm in ["token_bucket", "leaky_bucket", "gcra"] {
        let (count, lowest) = through(algorithm, "request");
        assert_eq!(count, 19, "{algorithm}");
        assert!(lowest < 1e-6, "{algorithm}: {lowest}");
        // Where refusals cost nothing, every second one is served: 10 at first, and 5 in 30 s.
        assert_eq!(through(algorithm, "nothing").0, 59, "{algorithm}");
    }
}

#[test]
fn what_was_charged_late_shows_at_the_next_refusal_and_at_the_end() {
    // 1,000 output tokens an hour, charged when a service ends. Two answers of 600 leave less than nothing, which shows as nothing, at 11 s; the third
    // request is refused at 20 s, and would have been the first to show it.
    let limit =
        "[provider.limits.otpm]\ncounts = \"output_tokens\"\namount = 1000\nper = \"1h\"\ncharge = \"completion\"\n";
    let step = "input_tokens = 1, output_tokens = 600, latency = \"10s\"";
    let lowest = |at: &[f64]| {
        let run = Run::of(&world(limit, &[class("work", step, at)]), 1);
        (run.number("limits.otpm.refused"), run.number("limits.otpm.lowest_share"))
    };
    let (refused, left) = lowest(&[0.0, 1.0, 20.0]);
    assert_eq!((refused, left), (1.0, 0.0));
    // Nobody comes any more: the end of the run shows that the two used up more than half of it.
    let short =
        read(&format!("horizon = \"30s\"\n{limit}[clients.once]\nlayers = []\n{}", class("work", step, &[0.0])));
    let left = Run::of(&short, 1).number("limits.otpm.lowest_share");
    // 400 of 1,000 are left at 10 s.
    assert!((left - 0.4).abs() < 1e-6, "{left}");
}

#[test]
fn who_can_never_fit_is_told_how_long_the_bucket_takes_to_fill() {
    // 100 tokens a minute: a request of 101 or of 300 never fits, and the bucket takes a minute from empty to full.
    for tokens in [101, 300] {
        let limit =
            "[provider.limits.tpm]\ncounts = \"input_tokens\"\namount = 100\nper = \"1m\"\nrefuse.hint = \"exact\"\n";
        let step = format!("input_tokens = {tokens}, latency = \"1s\"");
        let hints: Vec<_> = facts(&world(limit, &[class("work", &step, &[0.0])]), 1)
            .into_iter()
            .filter_map(|fact| match fact {
                Fact::RequestEnded { answer, .. } => answer.hint.wait(),
                _ => None,
            })
            .collect();
        assert_eq!(hints, [retrycast::units::SimDuration::from_mins(1)], "{tokens}");
    }
}
