//! What of a request's input the provider's cache has.

use crate::observe::ledger::ClassLedger;
use crate::provider::{CacheState, Request, Verdict};
use crate::sim::record::Run;
use crate::traffic::TrafficClass;
use crate::units::SimTime;

/// How many of a run's input tokens come from a cache.
#[inline]
pub(super) fn cached_tokens(class: &TrafficClass, run: &Run, cache: Option<&CacheState<'_>>, now: SimTime) -> u32 {
    if let Some(cache) = cache {
        let blocks = blocks(class, run);
        if !blocks.is_empty() {
            return cache.read(now, blocks, run.input_tokens);
        }
    }
    let said = class.sizes.as_ref().and_then(|sizes| sizes.cached(run.task.index, run.step as usize));
    said.map_or_else(|| class.steps[run.step as usize].cached.of(run.input_tokens), |said| said.min(run.input_tokens))
}

/// What is admitted is in the cache from now on, and is counted.
#[inline]
pub(super) fn keep_input(
    cache: &mut Option<CacheState<'_>>,
    verdict: &Verdict,
    class: &TrafficClass,
    ledger: &mut ClassLedger,
    run: &Run,
    request: &Request<'_>,
) {
    if verdict.admitted
        && let Some(cache) = cache
    {
        cache.store(run.sent, blocks(class, run));
        let counts = &mut ledger.cached[run.call_cell as usize];
        counts.input += u64::from(request.input_tokens);
        counts.cached += u64::from(request.cached_tokens);
    }
}

/// The blocks of a run's input; none where they are not known.
fn blocks<'a>(class: &'a TrafficClass, run: &Run) -> &'a [u32] {
    class.sizes.as_ref().map_or(&[], |sizes| sizes.blocks(run.task.index, run.step as usize))
}
