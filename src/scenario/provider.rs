//! Reading the provider: its rate limits and what goes wrong on its side.

use super::cache::cache;
use super::capacity::{Degrading, capacity, degraded};
use super::context::{Context, Read, each};
use super::distribution::{Measure, distribution};
use super::fault;
use super::fault_terms::Wanted;
use super::limit::{self, ReadLimit};
use super::models::{Named, models};
use super::prices::{settle, tariff};
use crate::document::{Field, Place, Reader};
use crate::policy::TokenBucket;
use crate::policy::pacer::Counts;
use crate::provider::{
    Abandoned, Cache, Capacity, Fault, Limit, Model, Network, Prices, Provider, Slots, Tariff, Window,
};
use crate::units::parse::LARGEST;

/// The most limits and the most faults.
const MOST: usize = 64;

/// When a fault can strike, as other parts refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// At all times.
    Always,
    /// In a window.
    In(Window),
    /// It said so wrongly and that is reported.
    Unknown,
}

/// The provider with what cross checks need.
pub(super) struct ReadProvider<'a> {
    /// The limits; `None` where one is wrong.
    pub(super) limits: Vec<Option<Limit>>,
    /// The limits on requests in flight.
    pub(super) slots: Vec<Slots>,
    /// What becomes of requests whose callers have left; `None` where that is wrong.
    pub(super) abandoned: Option<Abandoned>,
    /// The faults; `None` where one is wrong.
    pub(super) faults: Vec<Option<Fault>>,
    /// When each fault can strike, by its name.
    pub(super) windows: Vec<(&'a str, When)>,
    /// For each fault, where it says that it hangs.
    pub(super) hangs: Vec<Option<Place>>,
    /// The models that it describes; `None` where one is wrong.
    pub(super) models: Option<Vec<Model>>,
    /// The models that each limit is for.
    pub(super) limit_models: Vec<Named>,
    /// The models that each limit on requests in flight is for.
    pub(super) slot_models: Vec<Named>,
    /// The models that each fault is for.
    pub(super) fault_models: Vec<Named>,
    /// What each fault refers to.
    pub(super) fault_wants: Vec<Wanted>,
    /// Its servers; `None` where that is wrong.
    pub(super) capacity: Read<Option<Capacity>>,
    /// The cache, and where it is said.
    pub(super) cache: Read<Option<Cache>>,
    pub(super) cache_place: Option<Place>,
    /// What faults do to the servers.
    pub(super) degrading: Vec<Degrading>,
    /// Its prices, if it has any for all models; `None` where they are wrong.
    pub(super) tariff: Read<Option<Tariff>>,
    /// The way to it; `None` where that is wrong.
    pub(super) network: Read<Option<Network>>,
    /// Where it stands.
    pub(super) place: Place,
}

/// Reads the provider.
pub(super) fn provider<'a>(field: Option<&Field<'a>>, context: &Context<'_>) -> ReadProvider<'a> {
    let mut read = ReadProvider {
        limits: Vec::new(),
        slots: Vec::new(),
        abandoned: Some(Abandoned::default()),
        faults: Vec::new(),
        windows: Vec::new(),
        hangs: Vec::new(),
        models: Some(Vec::new()),
        limit_models: Vec::new(),
        slot_models: Vec::new(),
        fault_models: Vec::new(),
        fault_wants: Vec::new(),
        capacity: Some(None),
        cache: Some(None),
        cache_place: None,
        degrading: Vec::new(),
        tariff: Some(None),
        network: Some(None),
        place: field.map_or(Place::TOP, Field::place),
    };
    let Some(reader) = field.and_then(|field| field.table("limits and faults")) else { return read };
    read.tariff = reader.maybe("prices", tariff);
    if let Some(limits) = reader.get("limits").and_then(|field| field.table("limits")) {
        let mut names = Vec::new();
        // Prices that are wrong are there all the same, so that no limit lacks them.
        let unknown = Tariff { currency: String::new(), all: Prices::default() };
        let tariff = read.tariff.as_ref().map_or(Some(&unknown), Option::as_ref);
        for limit in each(&limits, MOST, "limits", |name, field| Some(limit::limits(name, field, tariff, context))) {
            for limit in limit.unwrap_or_else(|| vec![None]) {
                let Some(limit) = limit else {
                    read.limits.push(None);
                    read.limit_models.push(None);
                    continue;
                };
                names.push(limit.name().to_owned());
                match limit {
                    ReadLimit::InFlight(slots, models) => {
                        read.slots.push(slots);
                        read.slot_models.push(models);
                    }
                    ReadLimit::Rate(limit, models) => {
                        read.limits.push(Some(*limit));
                        read.limit_models.push(models);
                    }
                }
            }
        }
        limit::check_names(&names, MOST, &limits);
        limits.finish();
    }
    if let Some(faults) = reader.get("faults").and_then(|field| field.table("faults")) {
        read.faults = each(&faults, MOST, "faults", |name, field| fault::fault(name, field, context, &mut read));
        fault::check_phases(&read.faults, &faults);
        faults.finish();
    }
    if let Some(field) = reader.get("models") {
        read.models = models(&field);
    }
    read.cache = reader.maybe("cache", cache);
    read.cache_place = reader.get("cache").map(|field| field.key);
    let has_servers = reader.get("capacity").is_some();
    read.capacity = reader.maybe("capacity", |field| capacity(field, context)).and_then(|read_capacity| {
        if read_capacity.is_none() && (read.degrading.is_empty() || has_servers) {
            return Some(None);
        }
        let usual = || Capacity::without_limit(context.classes.len());
        Some(Some(degraded(read_capacity.unwrap_or_else(usual), &read.degrading, context.faults)?))
    });
    let has_servers = has_servers || !read.degrading.is_empty();
    read.abandoned = reader.or("abandoned", Abandoned::default(), |field| abandoned(field, has_servers));
    read.network = reader.maybe("network", network);
    reader.finish();
    read
}

/// How long requests and answers travel.
fn network(field: &Field<'_>) -> Option<Network> {
    let reader = field.table("send and receive")?;
    let time = |key| reader.maybe(key, |field| distribution(field, Measure::Seconds));
    let (send, receive) = (time("send"), time("receive"));
    let says_nothing = matches!((&send, &receive), (Some(None), Some(None)));
    reader.finish();
    if says_nothing {
        return field.wrong("says nothing", r#"write how long requests travel, such as send = "10ms", or `receive`"#);
    }
    Some(Network { send: send?, receive: receive? })
}

fn abandoned(field: &Field<'_>, has_servers: bool) -> Option<Abandoned> {
    let words = [
        ("served", Abandoned::Served),
        ("skipped", Abandoned::Skipped),
        ("dequeued", Abandoned::Dequeued),
        ("cancelled", Abandoned::Cancelled),
    ];
    let abandoned = field.word(&words)?;
    if matches!(abandoned, Abandoned::Skipped | Abandoned::Dequeued) && !has_servers {
        let hint = r#"describe the servers as [provider.capacity], or write "served" or "cancelled""#;
        return field.wrong("nobody waits where servers are not limited", hint);
    }
    Some(abandoned)
}

impl ReadProvider<'_> {
    /// The settings; `None` where something is wrong.
    pub(super) fn settled(self, models: Vec<Model>) -> Option<Provider> {
        let limits = self.limits.into_iter().collect::<Option<_>>()?;
        let faults = self.faults.into_iter().collect::<Option<_>>()?;
        let (abandoned, capacity, network) = (self.abandoned?, self.capacity?, self.network?);
        let (cache, prices) = (self.cache?, settle(self.tariff?, &models));
        Some(Provider { limits, slots: self.slots, faults, models, abandoned, capacity, cache, prices, network })
    }
}

/// What limits and pacers count.
pub(super) fn counts(field: &Field<'_>) -> Option<Counts> {
    let all = [Counts::Requests, Counts::InputTokens, Counts::OutputTokens, Counts::TotalTokens];
    field.word(&all.map(|counts| (counts.word(), counts)))
}

/// The bucket of a limit or of a pacer.
pub(super) fn bucket(reader: &Reader<'_>) -> Option<TokenBucket> {
    let amount = reader.need("amount", r#"write how much flows in during `per`, such as "700k""#);
    let amount = amount.and_then(|field| field.whole(1..=LARGEST));
    let per = reader.need("per", r#"write the period of `amount`, such as "1m""#);
    let per = per.and_then(|field| field.positive_duration());
    let capacity_field = reader.get("capacity");
    let capacity = match &capacity_field {
        None => per,
        Some(field) => field.positive_duration(),
    };
    let (amount, per, capacity) = (amount?, per?, capacity?);
    let bucket = TokenBucket::new(amount, per, capacity)?;
    if bucket.capacity_tokens() < 1.0
        && let Some(field) = capacity_field
    {
        return field.must("be long enough to hold one", r#"write the time in which the bucket fills, such as "1m""#);
    }
    Some(bucket)
}
