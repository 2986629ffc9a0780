//! What a run allocates, by how long it lasts. Read `max alloc`, the most bytes that are there at once, and `alloc`: ten
//! times the requests must not change the first by more than the latencies' histogram grows, and may change the second
//! only by the few times that a vector grows to a peak it has not had before. So nothing is allocated per event, and
//! memory does not depend on how many requests have passed.
//!
//! The allocator that counts is the benchmark's own: one of ours would need `unsafe`, which the package forbids.

use divan::{AllocProfiler, Bencher};
use retrycast::random::Seed;
use retrycast::scenario::{Source, load};
use retrycast::sim::simulate;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// 65,000 requests, and ten times as many: the bins of both have the same width. About 90 tasks in flight.
#[divan::bench(args = ["36m", "6h"], sample_count = 3, sample_size = 1)]
fn one_layer(bencher: Bencher<'_, '_>, horizon: &str) {
    bench(bencher, horizon, "30/s");
}

/// 100,000 tasks in flight.
#[divan::bench(args = ["18s", "180s"], sample_count = 2, sample_size = 1)]
fn one_layer_large(bencher: Bencher<'_, '_>, horizon: &str) {
    bench(bencher, horizon, "33333/s");
}

fn bench(bencher: Bencher<'_, '_>, horizon: &str, rate: &str) {
    let text = include_str!("scenarios/one_layer.toml");
    let sets = [format!("horizon={horizon}"), format!("traffic.live.arrivals={{poisson=\"{rate}\"}}")];
    let scenario = load(&Source { sets: &sets, ..Source::new("one_layer.toml", text) }).expect("it is a scenario");
    bencher.bench_local(|| simulate(&scenario, Seed(1)));
}
