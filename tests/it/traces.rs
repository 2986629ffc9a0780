//! Traces: what is read of a file, what is refused of it, how it is replayed, and what a prompt cache makes of its blocks.

use std::fmt::Write as _;

use proptest::prelude::*;
use retrycast::random::Seed;
use retrycast::scenario::{Refusal, Scenario, Source, load, text_of};
use retrycast::sim::{Fact, simulate};

use super::stage::{Run, facts};

/// A scenario with one class of turns that arrive so; traces are this text, whatever they are called.
fn read(arrivals: &str, provider: &str, step: &str, trace: &str) -> Result<Scenario, Vec<String>> {
    let text = format!(
        "horizon = \"1h\"\n{provider}\n[clients.plain]\nlayers = []\n[traffic.t]\nkind = \"turns\"\nclient = \"plain\"\n\
         arrivals = {arrivals}\nsteps = [{{ name = \"a\", latency = \"1s\", {step} }}]\n"
    );
    let open = |_: &str| text_of(trace);
    load(&Source { trace: &open, ..Source::new("trace.toml", &text) }).map_err(|refusal| match refusal {
        Refusal::Faulty { faults, .. } => faults.into_iter().map(|fault| fault.message).collect(),
        Refusal::Whole { message, .. } => vec![message],
    })
}

fn sound(arrivals: &str, trace: &str) -> Scenario {
    read(arrivals, "", "input_tokens = 1", trace).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

/// When the tasks arrive, in seconds.
fn arrived(scenario: &Scenario) -> Vec<f64> {
    let arrived = |fact: &Fact| match fact {
        Fact::TaskArrived { at, .. } => Some(at.as_secs_f64()),
        _ => None,
    };
    facts(scenario, 1).iter().filter_map(arrived).collect()
}

/// How large the requests are, input and output.
fn sizes(scenario: &Scenario) -> Vec<(u32, u32)> {
    let size = |fact: &Fact| match fact {
        Fact::RequestEnded { input_tokens, output_tokens, .. } => Some((*input_tokens, *output_tokens)),
        _ => None,
    };
    facts(scenario, 1).iter().filter_map(size).collect()
}

const CSV: &str = "when,model,in,out\r\n1000,small,10,1\r\n2000,large,20,2\r\n2000,small,30,3\r\n4500,large,40,4\r\n";

#[test]
fn one_file_feeds_several_classes_and_keeps_their_time() {
    let of = |more: &str| {
        let columns = "columns = { time = \"when\", input_tokens = \"in\", output_tokens = \"out\" }";
        let arrivals = format!("{{ trace = {{ file = \"t.csv\", {columns}, time_unit = \"ms\", {more} }} }}");
        let step = "input_tokens = \"trace\", output_tokens = \"trace\"";
        let scenario = read(&arrivals, "", step, CSV).unwrap_or_else(|faults| panic!("{faults:#?}"));
        (arrived(&scenario), sizes(&scenario))
    };
    assert_eq!(of(""), (vec![1.0, 2.0, 2.0, 4.5], vec![(10, 1), (20, 2), (30, 3), (40, 4)]));
    assert_eq!(of("where = { model = \"large\" }"), (vec![2.0, 4.5], vec![(20, 2), (40, 4)]));
    assert_eq!(of("where = { model = [\"small\", \"none\"], in = 30 }"), (vec![2.0], vec![(30, 3)]));
    assert_eq!(of("from = \"2s\", to = \"4500ms\""), (vec![0.0, 0.0], vec![(20, 2), (30, 3)]));
    assert_eq!(
        of("from = \"1s\", shift = \"1m\", rate = 2"),
        (vec![60.0, 60.5, 60.5, 61.75], vec![(10, 1), (20, 2), (30, 3), (40, 4)])
    );
    assert_eq!(of("spread = \"3s\"").0, [1.0, 2.0, 3.25, 4.5]);
    assert_eq!(of("spread = \"1s\"").0, [1.0, 2.0, 2.5, 4.5]);
}

#[test]
fn a_trace_begins_anew_until_the_run_ends() {
    let rows = |more: &str| {
        let arrivals = format!(
            "{{ trace = {{ file = \"t.csv\", columns = {{ time = \"when\" }}, time_unit = \"ms\", {more} }} }}"
        );
        arrived(&sound(&arrivals, CSV))
    };
    let each = rows("repeat = \"10m\"");
    assert_eq!((each.len(), &each[4..8]), (24, &[601.0, 602.0, 602.0, 604.5][..]));
    // By hand: 4.5 s hold four rows, so that the next round begins 1.125 s after the last row.
    assert_eq!(rows("repeat = true")[4..6], [6.625, 7.625]);
    assert_eq!(rows("repeat = true, to = \"5s\"")[4..6], [6.0, 7.0]);
    assert_eq!(rows("repeat = \"10m\", rate = 2")[4..6], [300.5, 301.0]);
}

#[test]
fn every_form_of_a_file_is_read() {
    let jsonl = "{\"t\": 0.5, \"u\": {\"n\": 1}, \"in\": 7}\n\n{\"t\": \"1.25\", \"in\": \"8\"}";
    let arrivals = "{ trace = { file = \"t.jsonl\", columns = { time = \"t\", input_tokens = \"in\" } } }";
    let scenario = read(arrivals, "", "input_tokens = \"trace\"", jsonl).unwrap();
    assert_eq!((arrived(&scenario), sizes(&scenario)), (vec![0.5, 1.25], vec![(7, 0), (8, 0)]));
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 23:59:59.9,5,6\r\n2023-11-17 00:00:00.1,7,8";
    assert_eq!(arrived(&sound("{ trace = { file = \"a\", format = \"azure\" } }", azure)), [0.0, 0.2]);
    let mooncake = "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 1, \"hash_ids\": [0]}\n".repeat(3);
    assert_eq!(arrived(&sound("{ trace = { file = \"m\", format = \"mooncake\" } }", &mooncake)), [0.0, 1.0, 2.0]);
    let unix = "t\n1700158623.979960001\n1700158624.979960001\n";
    let arrivals =
        "{ trace = { file = \"u.csv\", columns = { time = \"t\" }, time_unit = \"unix\", shift = \"10s\" } }";
    assert_eq!(arrived(&sound(arrivals, unix)), [10.0, 11.0]);
}

#[test]
fn faults_of_a_file_are_told_with_their_line_and_column() {
    let faults = |more: &str, trace: &str| {
        let arrivals =
            format!("{{ trace = {{ file = \"t.csv\", columns = {{ time = \"t\", input_tokens = \"n\" }}, {more} }} }}");
        read(&arrivals, "", "input_tokens = \"trace\"", trace).unwrap_err()
    };
    assert_eq!(
        faults("", "t,n\n1,5\n0,5\nx,5\n2,-5\n3\n4,1e9\n5,7\n6,x\n"),
        [
            "line 3 of `t.csv`, column \"t\", is earlier than the line before it",
            "line 4 of `t.csv`, column \"t\", is not a time, found \"x\"",
            "line 5 of `t.csv`, column \"n\", is no number of tokens, found \"-5\"",
            "line 6 of `t.csv`, column \"n\", is not there",
            "line 7 of `t.csv`, column \"n\", is no number of tokens, found \"1e9\"",
        ]
    );
    // Counted from the first row, there is nothing before it.
    for (unit, rows) in
        [("date", ["2023-11-16 18:17:09", "2023-11-16 18:17:03"]), ("unix", ["1700158629", "1700158623"])]
    {
        assert_eq!(
            faults(&format!("time_unit = \"{unit}\""), &format!("t,n\n{},5\n{},5\n", rows[0], rows[1])),
            ["line 3 of `t.csv`, column \"t\", is earlier than the line before it"]
        );
    }
    assert_eq!(faults("", "t,m\n1,5\n"), ["`t.csv` has no column \"n\""]);
    assert_eq!(faults("where = { n = 6, k = \"x\" }", "t,n\n1,5\n"), ["`t.csv` has no column \"k\""]);
    assert_eq!(faults("where = { n = 6 }", "t,n\n1,5\n"), ["`t.csv` has no rows"]);
    assert_eq!(faults("where = { n = 0.5 }", "t,n\n1,5\n"), ["must be what the column says, found 0.5"]);
    assert_eq!(faults("repeat = \"1s\"", "t,n\n0,5\n2,6\n"), ["`t.csv` lasts 2s, and is to begin anew after 1s"]);
    assert_eq!(faults("from = \"2s\", to = \"1s\"", "t,n\n0,5\n"), ["ends before it begins"]);
    assert_eq!(faults("shift = \"2h\"", "t,n\n0,5\n"), ["`t.csv` begins when the run is over, at 1h"]);
    let columns =
        |columns: &str| read(&format!("{{ trace = {{ file = \"t\", {columns} }} }}"), "", "input_tokens = 1", "t\n1\n");
    assert_eq!(columns("").unwrap_err(), ["says no column of times"]);
    assert_eq!(columns("columns = { tme = \"t\" }").unwrap_err(), ["says no column of times", "unknown key"]);
    assert_eq!(columns("format = \"azur\"").unwrap_err(), ["is none of the known words, found \"azur\""]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// No file makes the reader panic, in whatever form it is read.
    #[test]
    fn whatever_is_in_a_file_it_is_read_or_refused(bytes in file(), form in 0..4_usize) {
        let form = ["csv", "jsonl", "azure", "mooncake"][form];
        let arrivals = format!("{{ trace = {{ file = \"t\", format = \"{form}\", columns = {{ time = \"t\", input_tokens = \"n\" }}, repeat = true }} }}");
        let text = format!(
            "horizon = \"1s\"\n[provider.cache]\nblock_tokens = 1\n[clients.plain]\nlayers = []\n[traffic.t]\nkind = \"turns\"\n\
             client = \"plain\"\narrivals = {arrivals}\nsteps = [{{ name = \"a\", latency = \"1s\", input_tokens = \"trace\" }}]\n"
        );
        let open = |_: &str| -> retrycast::scenario::Opened { Ok(Box::new(std::io::Cursor::new(bytes.clone()))) };
        match load(&Source { trace: &open, ..Source::new("trace.toml", &text) }) {
            Ok(scenario) => drop(scenario.traffic[0].expected(retrycast::provider::Window { from: retrycast::units::SimTime::ZERO, to: scenario.horizon })),
            Err(Refusal::Faulty { faults, .. }) => prop_assert!(!faults.is_empty()),
            Err(Refusal::Whole { .. }) => prop_assert!(false, "a file is no whole refusal"),
        }
    }
}

/// Pieces of trace files in any order.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "t,n\n",
        "1",
        "-1",
        "99999999999999999999999",
        "1e400",
        "nan",
        ",",
        "\"",
        "\n",
        "\r\n",
        "\u{feff}",
        "{\"t\":1,\"n\":2}\n",
        "{\"t\":0,\"n\":1,\"timestamp\":0,\"output_length\":1,\"hash_ids\":[1,2]}\n",
        "[",
        "{",
        "2023-11-16 18:17:03.9",
        "\0",
        "hash_ids",
        "[1,18446744073709551616]",
        "TIMESTAMP,ContextTokens,GeneratedTokens,t,n\n",
        "2023-02-30 00:00:00",
        "{\"t\":1e308,\"n\":-0}\n",
        "0.0000000000000000000000001",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

/// The first 1,200 requests of the Mooncake conversation trace as they were published.
fn mooncake() -> String {
    let packed = std::fs::read_to_string("tests/data/mooncake_conversation.txt").unwrap();
    let (mut at, mut text) = (0_u64, String::new());
    for line in packed.lines() {
        let [gap, input, output, ranges] = line.splitn(4, ',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        at += gap.parse::<u64>().unwrap();
        let ids = ranges.split(' ').flat_map(|range| {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            from.parse::<u64>().unwrap()..=to.parse().unwrap()
        });
        let ids: Vec<u64> = ids.collect();
        writeln!(
            text,
            "{{\"timestamp\": {at}, \"input_length\": {input}, \"output_length\": {output}, \"hash_ids\": {ids:?}}}"
        )
        .unwrap();
    }
    text
}

#[test]
fn a_prompt_cache_reads_what_was_there_before() {
    let trace = mooncake();
    let run = |cache: &str| {
        let arrivals = "{ trace = { file = \"m.jsonl\", format = \"mooncake\" } }";
        let provider = format!("[provider.cache]\nblock_tokens = 512\n{cache}");
        let step = "input_tokens = \"trace\", output_tokens = \"trace\"";
        Run::of(&read(arrivals, &provider, step, &trace).unwrap(), 1)
    };
    // Computed by another program: each group of one instant spread over its 3 s, the longest known beginning of the
    // blocks of each request, times 512, at most its input.
    for (cache, cached) in [
        ("lifetime = \"forever\"", 3_905_283),
        ("", 3_867_907),
        ("refreshed = false", 3_816_707),
        ("lifetime = \"1m\"", 1_520_003),
        ("lifetime = \"1m\"\nrefreshed = false", 1_381_131),
        // The cache never holds more than the trace has.
        ("lifetime = \"forever\"\ncapacity = 100000", 3_905_283),
    ] {
        let run = run(cache);
        assert_eq!(run.count("classes.t.cached_input_tokens"), cached, "{cache}");
        assert_eq!(run.count("classes.t.admitted_input_tokens"), 16_848_754);
    }
    let [small, smaller] =
        ["capacity = 5000", "capacity = 500"].map(|cache| run(cache).count("classes.t.cached_input_tokens"));
    assert!(smaller < small && small < 3_867_907, "{smaller} {small}");
}

#[test]
fn a_limit_counts_what_the_cache_did_not_have() {
    // By hand: two requests of the same two blocks, 1,000 tokens each; the second one is read from the cache, so that a
    // limit of 1,500 uncached tokens an hour admits it, and a limit on all input does not.
    let trace = "{\"t\": 0, \"n\": 1000, \"b\": [7, 8]}\n{\"t\": 2, \"n\": 1000, \"b\": [7, 8]}\n";
    let arrivals =
        "{ trace = { file = \"t.jsonl\", columns = { time = \"t\", input_tokens = \"n\", hash_ids = \"b\" } } }";
    let delivered = |counts: &str| {
        let provider = format!(
            "[provider.cache]\nblock_tokens = 512\n[provider.limits.l]\ncounts = \"{counts}\"\namount = 1500\nper = \"1h\""
        );
        let scenario = read(arrivals, &provider, "input_tokens = \"trace\"", trace).unwrap();
        Run::of(&scenario, 1).count("classes.t.delivered")
    };
    assert_eq!([delivered("uncached_input_tokens"), delivered("input_tokens")], [2, 1]);
    let without = read("{ every = \"1s\" }", "[provider.cache]\nblock_tokens = 512", "input_tokens = 1", "");
    assert_eq!(without.unwrap_err(), ["no step takes its input from a trace that says the blocks of it"]);
}

#[test]
fn a_replay_has_the_rate_and_the_burstiness_of_what_was_recorded() {
    // The first 1,200 requests of the excerpt, each instant spread over its 3 s. Computed by another program from the
    // same rows.
    let times = arrived(&sound("{ trace = { file = \"m\", format = \"mooncake\" } }", &mooncake()));
    assert_eq!(times.len(), 1_200);
    let fano = |width: f64| {
        let mut bins = vec![0.0_f64; (times[1_199] / width) as usize];
        for at in &times {
            if let Some(bin) = bins.get_mut((at / width) as usize) {
                *bin += 1.0;
            }
        }
        let mean = bins.iter().sum::<f64>() / bins.len() as f64;
        bins.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / bins.len() as f64 / mean
    };
    let (fano, rate) = (fano(10.0), 1_200.0 / times[1_199]);
    assert!((fano - 1.365_976).abs() < 1e-6 && (rate - 2.903_818).abs() < 1e-6, "{fano} {rate}");
    // Replays are no draws: the seed changes nothing.
    let scenario = sound("{ trace = { file = \"m\", format = \"mooncake\" } }", &mooncake());
    assert!(simulate(&scenario, Seed(1)).timeline == simulate(&scenario, Seed(2)).timeline);
}

const CLIENTS: &str = "client_id,timestamp,rate,cv,pattern,param_1,param_2\n0,0,1.0,1.0,Gamma,1.0,1.0\n\
    0,600,0.5,1.2,Weibull,0.8,1.7\n4,600,0.2,8.6,Gamma,0.0135,370\n";
const QUANTILES: &str = "model,client_id,timestamp,field,mean,stddev,p10,p25,p50,p75,p90,p95,p99\n\
    m,0,0,input_tokens,100,0,100,100,100,100,100,100,100\nm,0,0,output_tokens,10,0,10,10,10,10,10,10,10\n\
    m,0,0,reason_ratio,0,0,x,x,x,x,x,x,x\n\
    m,4,0,input_tokens,500,0,500,500,500,500,500,500,500\nm,4,0,output_tokens,50,0,50,50,50,50,50,50,50\n\
    n,4,0,input_tokens,1,0,1,1,1,1,1,1,1\n";

fn crowd(more: &str, clients: &'static str, quantiles: &'static str) -> Result<Scenario, Vec<String>> {
    let step = if more.contains("tokens") {
        "input_tokens = \"trace\", output_tokens = \"trace\""
    } else {
        "input_tokens = 1"
    };
    let text = format!(
        "horizon = \"1h\"\n[clients.plain]\nlayers = []\n[traffic.t]\nkind = \"jobs\"\nworkers = 1000\nclient = \"plain\"\n\
         arrivals = {{ trace = {{ file = \"c.csv\", format = \"servegen\", {more} }} }}\n\
         steps = [{{ name = \"a\", latency = \"1s\", {step} }}]\n"
    );
    let open = |path: &str| text_of(if path == "c.csv" { clients } else { quantiles });
    load(&Source { trace: &open, ..Source::new("crowd.toml", &text) }).map_err(|refusal| match refusal {
        Refusal::Faulty { faults, .. } => faults.into_iter().map(|fault| fault.message).collect(),
        Refusal::Whole { message, .. } => vec![message],
    })
}

#[test]
fn sessions_and_recorded_clients_share_a_class() {
    // 1,020 arrivals of the trace, as below, and of one session whose tasks take 1 s a first one at once and 599 more.
    let text = "horizon = \"1h\"\n[clients.plain]\nlayers = []\n[traffic.t]\nkind = \"turns\"\nclient = \"plain\"\narrivals = [\n\
                { trace = { file = \"c.csv\", format = \"servegen\" } }, { sessions = 1, think = \"5s\" }]\n\
                steps = [{ name = \"a\", latency = \"1s\", input_tokens = 1 }]\n";
    let open = |_: &str| text_of(CLIENTS);
    let scenario = load(&Source { trace: &open, ..Source::new("both.toml", text) }).unwrap();
    let session = arrived(&scenario).len() - 1_020;
    assert!((599..=600).contains(&session), "{session}");
}

#[test]
fn clients_come_at_their_rates_with_their_sizes() {
    let of = |more: &str| {
        let scenario = crowd(more, CLIENTS, QUANTILES).unwrap_or_else(|faults| panic!("{faults:#?}"));
        (arrived(&scenario).len(), sizes(&scenario))
    };
    // By hand: 600 and 300 of one client, 120 of the other.
    assert_eq!(of("").0, 1_020);
    assert_eq!(of("clients = { cv = \">5\" }").0, 120);
    assert_eq!(of("clients = { cv = \"<=5\", rate = \">0.6\" }").0, 900);
    assert_eq!(of("clients = { ids = [4] }, repeat = \"20m\"").0, 360);
    assert_eq!(of("from = \"10m\", rate = 2, repeat = true").0, 12 * 420);
    let (_, sizes) = of("tokens = \"q.csv\", model = \"m\"");
    let count = |size: (u32, u32)| sizes.iter().filter(|other| **other == size).count();
    assert_eq!((sizes.len(), count((100, 10)), count((500, 50))), (1_020, 900, 120));
    // The other client's sizes are not known: those that are known are drawn in their place.
    let one = "model,client_id,timestamp,field,mean,stddev,p10,p25,p50,p75,p90,p95,p99\n\
        m,0,0,input_tokens,100,0,100,100,100,100,100,100,100\nm,0,0,output_tokens,10,0,10,10,10,10,10,10,10\n";
    let scenario = crowd("tokens = \"q.csv\"", CLIENTS, one).unwrap();
    assert!(super::traces::sizes(&scenario).iter().all(|size| *size == (100, 10)));
}

#[test]
fn what_is_wrong_with_clients_is_told() {
    let faults =
        |more: &str, clients: &'static str, quantiles: &'static str| crowd(more, clients, quantiles).unwrap_err();
    let header = "client_id,timestamp,rate,cv,pattern,param_1,param_2\n";
    assert_eq!(faults("", header, ""), ["`c.csv` has no rows"]);
    assert_eq!(
        faults(
            "",
            "client_id,timestamp,rate,cv,pattern,param_1,param_2\nx,0,1,1,Gamma,1,1\n0,0,-1,1,Gamma,1,1\n0,0,1,1,Beta,1,1\n0,600,1,1,Gamma,1,1\n0,900,1,1,Gamma,1,1\n",
            ""
        ),
        [
            "line 2 of `c.csv`, column \"client_id\", is no number of a client, found \"x\"",
            "line 3 of `c.csv`, column \"rate\", is no number from 0 to 1e6, found \"-1\"",
            "line 4 of `c.csv`, column \"pattern\", is neither Gamma nor Weibull, found \"Beta\"",
            "line 6 of `c.csv`, column \"timestamp\", is not behind the client's window before it",
        ]
    );
    assert_eq!(faults("clients = { cv = \">50\" }", CLIENTS, ""), ["`c.csv` has no such client in this time"]);
    assert_eq!(faults("clients = { cv = \"5\" }", CLIENTS, ""), ["must be a bound, found \"5\""]);
    assert_eq!(faults("tokens = \"q.csv\"", CLIENTS, QUANTILES), ["`q.csv` has sizes of several models"]);
    assert_eq!(faults("tokens = \"q.csv\", model = \"z\"", CLIENTS, QUANTILES), ["`q.csv` has no rows"]);
    assert_eq!(faults("columns = { time = \"t\" }", CLIENTS, ""), ["unknown key"]);
    assert_eq!(
        faults("repeat = \"1m\"", CLIENTS, ""),
        ["`c.csv` lasts 19m59.999999999s, and is to begin anew after 1m"]
    );
}
