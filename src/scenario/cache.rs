//! Reading the provider's cache of prompts.

use crate::document::Field;
use crate::provider::Cache;
use crate::units::SimDuration;

/// The lifetime of a cache that does not say it.
const LIFETIME: SimDuration = SimDuration::from_mins(5);

/// Reads the cache.
pub(super) fn cache(field: &Field<'_>) -> Option<Cache> {
    let reader = field.table("what is kept, and how long")?;
    let block_tokens = reader.need("block_tokens", "write how many tokens a block of the trace has, such as 512");
    let block_tokens = block_tokens.and_then(|field| field.whole(1..=1_000_000));
    let lifetime = reader.or("lifetime", Some(LIFETIME), |field| {
        if field.node.as_str() == Some("forever") { Some(None) } else { field.positive_duration().map(Some) }
    });
    let refreshed = reader.or("refreshed", true, Field::truth);
    let capacity = reader.maybe("capacity", |field| field.whole(1..=4_000_000_000).map(|blocks| blocks as u32));
    reader.finish();
    let (block_tokens, lifetime) = (block_tokens? as u32, lifetime?);
    Some(Cache { block_tokens, lifetime, refreshed: refreshed?, capacity: capacity? })
}
