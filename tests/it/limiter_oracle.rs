//! An hour of real requests against seven limiters: how many each refuses was computed by another program with exact
//! integers, and a limiter that rounds, drifts or treats a boundary otherwise gets another number. The traces lie in
//! `tests/data`, where a page says whose they are.

use std::fmt::Write as _;

use retrycast::scenario::{Scenario, Source, load, text_of};

use super::stage::Run;

const LIMITERS: [&str; 7] = ["bucket_60", "bucket_10", "bucket_1", "fixed_60", "fixed_10", "fixed_1", "sliding_60"];

fn data(name: &str) -> String {
    std::fs::read_to_string(format!("tests/data/{name}")).unwrap()
}

/// The trace as it was published: dates with seven digits behind the second, lines that end in CR and LF, none at the
/// end of the last.
fn published(trace: &str) -> String {
    let packed = match trace {
        "code" => data("azure_llm_2023_code.txt"),
        _ => data("azure_llm_2023_conv.txt"),
    };
    let mut text = "TIMESTAMP,ContextTokens,GeneratedTokens".to_owned();
    let mut at: u64 = (18 * 3_600 + 17 * 60 + 3) * 10_000_000 + 9_799_600;
    for line in packed.lines() {
        let (gap, tokens) = line.split_once(',').unwrap();
        at += gap.parse::<u64>().unwrap();
        let (second, part) = (at / 10_000_000, at % 10_000_000);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(text, "\r\n2023-11-16 {hour:02}:{minute:02}:{second:02}.{part:07},{tokens}").unwrap();
    }
    text
}

fn scenario(trace: &str, variant: &str, sets: &[String]) -> Scenario {
    let text = data("limiter_oracle.toml");
    let trace = |_: &str| text_of(trace);
    let source =
        Source { variant: Some(variant), sets, trace: &trace, ..Source::new("tests/data/limiter_oracle.toml", &text) };
    load(&source).unwrap_or_else(|refusal| panic!("{refusal:#?}"))
}

fn refused(run: &Run, limiter: &str) -> u64 {
    run.count(&format!("limits.{limiter}.refused"))
}

/// One row of the table: seven cells.
fn row(line: &str, trace: &str) -> usize {
    let cells: Vec<&str> = line.split(',').collect();
    let set = |limiter: &&str| {
        let limit = format!("provider.limits.{limiter}");
        [format!("{limit}.counts={}", cells[1]), format!("{limit}.amount={}", cells[2])]
    };
    let sets: Vec<String> = LIMITERS.iter().flat_map(set).collect();
    let run = Run::of(&scenario(trace, "base", &sets), 1);
    for (limiter, expected) in LIMITERS.iter().zip(&cells[3..]) {
        assert_eq!(refused(&run, limiter).to_string(), *expected, "{limiter} of {line}");
    }
    LIMITERS.len()
}

fn table(trace: &str, counts: &str) {
    let text = published(trace);
    let table = data("limiter_oracle.csv");
    let rows = table.lines().filter(|line| line.starts_with(&format!("{trace},{counts},")));
    assert_eq!(rows.map(|line| row(line, &text)).sum::<usize>(), 35);
}

#[test]
fn bursts_of_code_requests_are_refused_as_often_as_they_must_be() {
    table("code", "requests");
}

#[test]
fn bursts_of_code_tokens_are_refused_as_often_as_they_must_be() {
    table("code", "input_tokens");
}

#[test]
fn conversations_by_requests_are_refused_as_often_as_they_must_be() {
    table("conv", "requests");
}

#[test]
fn conversations_by_tokens_are_refused_as_often_as_they_must_be() {
    table("conv", "input_tokens");
}

#[test]
fn what_is_reserved_for_answers_is_refused_as_if_it_were_used() {
    // A bucket of a minute by input and actual output, and by input and a reservation of 256, 1,024 and 4,096 tokens
    // that is never given back; the last of them as a generic cell rate algorithm, which decides alike.
    for (trace, amount, expected) in
        [("code", 639_330, [163, 376, 1_188, 4_341]), ("conv", 906_430, [0, 0, 247, 8_693])]
    {
        let limiters = ["bucket_60", "bucket_10", "bucket_1", "fixed_60"];
        let sets = limiters.map(|limiter| format!("provider.limits.{limiter}.amount={amount}"));
        let run = Run::of(&scenario(&published(trace), "reserved", &sets), 1);
        assert_eq!(limiters.map(|limiter| refused(&run, limiter)), expected, "{trace}");
    }
}

#[test]
fn a_request_that_never_fits_is_told_from_one_that_comes_too_soon() {
    // By hand, from the trace: of the requests of at most 7,437 tokens, those above 1,261,485 / 60 = 21,024 are none; of
    // 315,372 a minute, 5,256 in a second, those of 5,257 and more can never be admitted.
    let set = |limiter: &&str| {
        let limit = format!("provider.limits.{limiter}");
        [format!("{limit}.counts=input_tokens"), format!("{limit}.amount=315372")]
    };
    let sets: Vec<String> = LIMITERS.iter().flat_map(set).collect();
    let text = published("code");
    let large = text.lines().skip(1).filter(|line| line.split(',').nth(1).unwrap().parse::<u32>().unwrap() > 5_256);
    let large = large.count() as u64;
    let run = Run::of(&scenario(&text, "base", &sets), 1);
    let impossible = LIMITERS.map(|limiter| run.count(&format!("limits.{limiter}.impossible")));
    assert_eq!(impossible, [0, 0, large, 0, 0, large, 0]);
    assert!(large > 500, "{large}");
}
