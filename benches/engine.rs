//! The event loop on whole scenarios, read from their files as the command line reads them. Read the throughput column:
//! simulated requests per second of one thread, or of all threads together.

use std::sync::atomic::AtomicBool;

use divan::Bencher;
use divan::counter::ItemsCount;
use retrycast::experiment;
use retrycast::observe::Outcome;
use retrycast::random::Seed;
use retrycast::scenario::{Scenario, Source, load};
use retrycast::sim::simulate;

fn main() {
    divan::main();
}

/// The scenario of a file below the package's folder.
fn scenario(path: &str, variant: Option<&str>) -> Scenario {
    let whole = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&whole).expect("the file is there");
    load(&Source { variant, ..Source::new(path, &text) }).expect("the file is a scenario")
}

fn requests(outcome: &Outcome) -> u64 {
    outcome.classes.iter().flat_map(|class| &class.cells).map(|cell| cell.requests).sum()
}

fn bench(bencher: Bencher<'_, '_>, path: &str, variant: Option<&str>) {
    let scenario = scenario(path, variant);
    let count = ItemsCount::new(requests(&simulate(&scenario, Seed(1))));
    bencher.counter(count).bench_local(|| simulate(&scenario, Seed(1)));
}

/// A million requests, about 90 tasks in flight.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn rs1(bencher: Bencher<'_, '_>) {
    bench(bencher, "benches/scenarios/rs1.toml", None);
}

/// 2.8 million requests, about 100,000 tasks in flight.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn rs1_large(bencher: Bencher<'_, '_>) {
    bench(bencher, "benches/scenarios/rs1.toml", Some("large"));
}

/// One class of turns, one layer, no faults.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn one_layer(bencher: Bencher<'_, '_>) {
    bench(bencher, "benches/scenarios/one_layer.toml", None);
}

/// The incident, with all its guards.
#[divan::bench(args = ["before", "after"])]
fn report_storm(bencher: Bencher<'_, '_>, variant: &str) {
    bench(bencher, "scenarios/report_storm.toml", Some(variant));
}

/// 64 replicates of the incident, on so many threads.
#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn replicates(bencher: Bencher<'_, '_>, threads: usize) {
    const REPLICATES: u64 = 64;
    let scenario = scenario("scenarios/report_storm.toml", None);
    let one = requests(&simulate(&scenario, Seed(1)));
    // Replicates differ by a percent or two in how many requests they make.
    bencher.counter(ItemsCount::new(one * REPLICATES)).bench_local(|| {
        let never = AtomicBool::new(false);
        experiment::run(&scenario, Seed(1), Some(REPLICATES), Some(threads), experiment::Terms::new(&never))
    });
}
