//! What hedges know of one another beside their budgets: how many are out, and how long the latest answers took.

use super::bank::Asker;
use super::budgets::Hedges;
use super::places::Places;
use crate::policy::{Hedge, HedgeDelay, LatestTimes, Scope};
use crate::random::Seed;
use crate::scenario::Scenario;
use crate::units::SimDuration;

/// One instance.
#[derive(Clone, Debug, Default)]
struct Known {
    /// How many requests are out that are not the first ones.
    out: u32,
    latest: LatestTimes,
}

/// All instances; none where no hedge looks at others.
pub(super) struct HedgeLimits {
    /// Where the instances of each hedge begin, and who shares one.
    bases: Vec<(usize, Scope)>,
    known: Vec<Known>,
    places: Option<Places>,
}

impl HedgeLimits {
    /// Nothing is out, and nothing was measured.
    pub(super) fn new(scenario: &Scenario, seed: Seed) -> HedgeLimits {
        let Hedges { all, .. } = Hedges::of(scenario);
        let places = (!all.is_empty()).then(|| Places::new(scenario, seed));
        let (mut bases, mut known) = (Vec::new(), Vec::new());
        for (hedge, scope) in all {
            bases.push((known.len(), scope));
            // It belongs to an element of one client.
            let count = match &places {
                Some(places) if scope != Scope::Client => places.count(scope),
                _ => 1,
            };
            let latest = match &hedge.delay {
                HedgeDelay::Measured(delay) => LatestTimes::none(delay),
                HedgeDelay::Fixed(_) => LatestTimes::default(),
            };
            known.extend((0..count).map(|_| Known { out: 0, latest: latest.clone() }));
        }
        HedgeLimits { bases, known, places }
    }

    fn of(&mut self, place: Option<usize>, asker: Asker) -> Option<&mut Known> {
        let (base, scope) = self.bases[place?];
        let at = base + self.places.as_ref()?.of(scope, asker, 0);
        Some(&mut self.known[at])
    }

    /// Whether one more may be out.
    pub(super) fn has_room(&mut self, place: Option<usize>, asker: Asker, hedge: &Hedge) -> bool {
        let Some(most) = hedge.at_most_out else { return true };
        self.of(place, asker).is_none_or(|known| known.out < most)
    }

    /// One more is out, or one less.
    pub(super) fn count(&mut self, place: Option<usize>, asker: Asker, goes_out: bool) {
        if let Some(known) = self.of(place, asker) {
            known.out = if goes_out { known.out + 1 } else { known.out.saturating_sub(1) };
        }
    }

    /// An answer took so long.
    pub(super) fn measure(&mut self, place: Option<usize>, asker: Asker, hedge: &Hedge, took: SimDuration) {
        if let (HedgeDelay::Measured(delay), Some(known)) = (&hedge.delay, self.of(place, asker)) {
            known.latest.add(delay, took);
        }
    }

    /// How long after one request the next one goes out; `None` where none does yet.
    pub(super) fn delay(&mut self, place: Option<usize>, asker: Asker, hedge: &Hedge) -> Option<SimDuration> {
        match &hedge.delay {
            HedgeDelay::Fixed(delay) => Some(*delay),
            HedgeDelay::Measured(delay) => self.of(place, asker)?.latest.delay(delay),
        }
    }
}
