//! The rate limits at work: what is used of each, whether a request fits into all of them, and what it is charged. A
//! request must fit into every limit that counts it, and is charged to all of them or to none.

use super::Request;
use super::holds::{Cut, Holds, Ticket};
use super::limit::Limit;
use super::terms::{Charge, Terms};
use crate::policy::Course;
use crate::policy::ban::BanState;
use crate::policy::meter::{Meter, MeterState};
use crate::units::{SimDuration, SimTime};

/// The limits of a provider in a run.
#[derive(Clone, Debug)]
pub struct LimitsState<'a> {
    limits: &'a [Limit],
    /// Each limit's meter with the amount that it has now.
    meters: Vec<Meter>,
    levels: Vec<MeterState>,
    /// What few limits have.
    rare: Option<Box<Rare>>,
}

/// The states of what few limits have.
#[derive(Clone, Debug, Default)]
struct Rare {
    bans: Vec<BanState>,
    holds: Holds,
    /// The limits that charge or give back later, one bit each; and those of them that charge while they stream.
    late: u64,
    streaming: u64,
    /// Amounts that change, in order: when, which limit, to what.
    changes: Vec<(SimTime, usize, u64)>,
    changed: usize,
    charges_refused: bool,
    /// The limits that stop an answer that uses them up, one bit each.
    stopping: u64,
}

impl<'a> LimitsState<'a> {
    /// Limits of which nothing was used yet.
    pub fn new(limits: &'a [Limit]) -> Self {
        let meters: Vec<Meter> = limits.iter().map(|limit| limit.meter).collect();
        let levels = meters.iter().map(Meter::unused).collect();
        let rare = limits.iter().any(|limit| limit.terms.is_some()).then(|| Box::new(Rare::of(limits)));
        LimitsState { limits, meters, levels, rare }
    }

    /// Charges, refunds and changes of amounts that are due by now.
    #[inline]
    pub(super) fn move_to(&mut self, now: SimTime) {
        if self.rare.is_some() {
            self.catch_up(now);
        }
    }

    fn catch_up(&mut self, now: SimTime) {
        let Some(rare) = &mut self.rare else { return };
        loop {
            let change = rare.changes.get(rare.changed).copied().filter(|(at, ..)| *at <= now);
            let due = rare.holds.next().filter(|at| *at <= now);
            match (due, change) {
                // What ends at an instant ends before a setting changes.
                (Some(at), change) if change.is_none_or(|(changes, ..)| at <= changes) => {
                    rare.holds.settle_next(self.limits, &self.meters, &mut self.levels);
                }
                (_, Some((at, limit, amount))) => {
                    rare.changed += 1;
                    self.meters[limit].change(&mut self.levels[limit], amount, at);
                }
                _ => return,
            }
        }
    }

    /// The limit that the request would have to wait for longest, and how long; `None` where it fits into all.
    #[inline]
    pub(super) fn longest_shortfall(&mut self, now: SimTime, request: &Request<'_>) -> Option<(usize, SimDuration)> {
        let mut longest: Option<(usize, SimDuration)> = None;
        let rare = self.rare.as_deref();
        let states = self.meters.iter().zip(&mut self.levels);
        for (index, (limit, (meter, level))) in self.limits.iter().zip(states).enumerate() {
            let shortfall = match &limit.terms {
                _ if !limit.models.contains(request.model) => continue,
                None => meter.shortfall(level, limit.counts.cost(request.input_tokens, request.output_tokens), now),
                Some(terms) if !terms.classes.contains(request.sender) => continue,
                Some(terms) => shortfall(terms, meter, level, rare, now, request).max(banned(terms, rare, index, now)),
            };
            if !shortfall.is_zero() && longest.is_none_or(|(_, known)| shortfall > known) {
                longest = Some((index, shortfall));
            }
        }
        longest
    }

    /// This limit refuses the request: what the refusal costs is charged. Says what its hint tells.
    pub(super) fn refuse(
        &mut self,
        index: usize,
        mut wait: SimDuration,
        now: SimTime,
        request: &Request<'_>,
    ) -> SimDuration {
        let limit = &self.limits[index];
        if let (Some(ban), Some(rare)) = (limit.terms.as_ref().and_then(|terms| terms.ban), &mut self.rare) {
            ban.refused(&mut rare.bans[index], now);
        }
        if self.charge_refused(now, request)
            && let Some(terms) = &limit.terms
        {
            let (level, rare) = (&mut self.levels[index], self.rare.as_deref());
            wait = shortfall(terms, &self.meters[index], level, rare, now, request);
        }
        if self.can_never_admit(index, request) {
            wait = SimDuration::MAX;
        }
        if let Some(terms) = &limit.terms {
            let banned = banned(terms, self.rare.as_deref(), index, now);
            if banned > wait || wait == SimDuration::MAX && !banned.is_zero() {
                return banned;
            }
        }
        limit.told(&self.meters[index], &self.levels[index], wait, now)
    }

    /// Whether their states are a few numbers each, and nothing beside them.
    pub(super) fn are_plain_buckets(&self) -> bool {
        let is_small = |meter: &Meter| {
            matches!(meter, Meter::TokenBucket(_) | Meter::LeakyBucket(_) | Meter::Gcra(_) | Meter::FixedWindow(_))
        };
        self.rare.is_none() && self.meters.iter().all(is_small)
    }

    /// As much is used of each as of others with the same settings.
    pub(super) fn stand_like(&mut self, other: &LimitsState<'_>) {
        self.levels.clone_from_slice(&other.levels);
    }

    /// Whether as much is used of each as of others with the same settings.
    pub(super) fn stands_like(&self, other: &LimitsState<'_>) -> bool {
        self.levels == other.levels
    }

    /// Whether some limit charges or gives back something after the admission.
    pub fn charges_later(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.late != 0)
    }

    /// Whether some limit charges refused requests.
    pub fn charges_refused(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.charges_refused)
    }

    /// A request was refused, by whichever limit: it is charged to those that charge refusals. Whether there are such.
    pub(super) fn charge_refused(&mut self, now: SimTime, request: &Request<'_>) -> bool {
        if !self.charges_refused() {
            return false;
        }
        for (index, limit) in self.limits.iter().enumerate() {
            let Some(terms) = limit.terms.as_ref().filter(|terms| terms.charges_refused) else { continue };
            if limit.covers(request.sender, request.model) {
                let cost = terms.estimated(request.size());
                self.meters[index].charge_refused(&mut self.levels[index], cost, now);
            }
        }
        true
    }

    /// The request is admitted: it is charged.
    #[inline]
    pub(super) fn charge(&mut self, now: SimTime, request: &Request<'_>) {
        let states = self.meters.iter().zip(&mut self.levels);
        for (limit, (meter, level)) in self.limits.iter().zip(states) {
            let cost = match &limit.terms {
                _ if !limit.models.contains(request.model) => continue,
                None => limit.counts.cost(request.input_tokens, request.output_tokens),
                Some(terms) if !terms.classes.contains(request.sender) => continue,
                Some(terms) => match terms.estimated(request.size()) {
                    // What is charged later does not open a window now.
                    0 => continue,
                    cost => cost,
                },
            };
            meter.charge(level, cost, now);
        }
    }

    /// A request that was admitted is served until then.
    #[inline]
    pub(super) fn hold(&mut self, now: SimTime, until: SimTime, request: &Request<'_>, course: &Course) -> Ticket {
        match &mut self.rare {
            Some(rare) if rare.late != 0 => rare.hold(self.limits, now, until, request, course),
            _ => Ticket::default(),
        }
    }

    /// The service of a request begins.
    pub(super) fn begin(&mut self, ticket: Ticket, now: SimTime, course: &Course) {
        if let Some(rare) = &mut self.rare {
            rare.holds.begin(ticket, now, course);
        }
    }

    /// A request is served no longer.
    pub(super) fn cut(&mut self, ticket: Ticket, now: SimTime) {
        if let Some(rare) = &mut self.rare {
            rare.holds.cut(ticket, now);
        }
    }

    /// Whether some limit stops answers that use it up.
    pub fn stops_answers(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.stopping != 0)
    }

    /// Charges what is due by now, and says which requests that cuts short, one by one.
    pub(super) fn next_cut(&mut self, now: SimTime) -> Option<Cut> {
        self.catch_up(now);
        self.rare.as_mut()?.holds.next_cut()
    }

    /// When something is due next of what is served.
    pub(super) fn next_due(&self) -> Option<SimTime> {
        self.rare.as_ref()?.holds.next()
    }

    /// The meter of a limit with the amount that it has now, and what is used of it.
    pub fn of(&self, index: usize) -> (&Meter, &MeterState) {
        (&self.meters[index], &self.levels[index])
    }

    /// Whether a limit can never admit the request, however long it waits.
    pub fn can_never_admit(&self, index: usize, request: &Request<'_>) -> bool {
        let (limit, meter) = (&self.limits[index], &self.meters[index]);
        let cost = limit.estimated(request);
        let needs_any = limit.terms.as_ref().is_some_and(|terms| terms.needs_any(cost));
        !needs_any && cost > meter.largest()
    }
}

impl Rare {
    fn of(limits: &[Limit]) -> Rare {
        let mut rare = Rare { bans: vec![BanState::default(); limits.len()], ..Rare::default() };
        for (index, limit) in limits.iter().enumerate() {
            let Some(terms) = &limit.terms else { continue };
            rare.late |= u64::from(terms.is_late() || matches!(limit.meter, Meter::InFlight(_))) << index;
            rare.streaming |= u64::from(terms.charge == Charge::Streaming) << index;
            rare.charges_refused |= terms.charges_refused;
            rare.stopping |= u64::from(terms.when_used_up.is_some()) << index;
            rare.changes.extend(terms.changes.iter().map(|(at, amount)| (*at, index, *amount)));
        }
        rare.changes.sort_by_key(|(at, ..)| *at);
        rare
    }

    fn hold(&mut self, all: &[Limit], now: SimTime, until: SimTime, request: &Request<'_>, course: &Course) -> Ticket {
        let covers = |(index, limit): (usize, &Limit)| {
            u64::from(limit.covers(request.sender, request.model)) << index & self.late
        };
        let limits = all.iter().enumerate().map(covers).fold(0, |all, one| all | one);
        if limits == 0 {
            return Ticket::default();
        }
        let streams = limits & self.streaming != 0;
        self.holds.take(limits, streams, now, until, request.size(), course)
    }
}

/// How long until the request fits into a limit with terms.
fn shortfall(
    terms: &Terms,
    meter: &Meter,
    level: &mut MeterState,
    rare: Option<&Rare>,
    now: SimTime,
    request: &Request<'_>,
) -> SimDuration {
    let cost = terms.estimated(request.size());
    let wait = if terms.needs_any(cost) { meter.until_any(level, now) } else { meter.shortfall(level, cost, now) };
    match meter {
        // It fits when others have gone; nobody can know sooner than when the next of them goes.
        Meter::InFlight(amount) if wait == SimDuration::MAX && cost <= *amount => {
            let next = rare.and_then(|rare| rare.holds.next());
            next.map_or(wait, |next| next.since(now).max(SimDuration::from_nanos(1)))
        }
        _ => wait,
    }
}

/// How long a limit still bans everybody.
fn banned(terms: &Terms, rare: Option<&Rare>, index: usize, now: SimTime) -> SimDuration {
    match (&terms.ban, rare) {
        (Some(ban), Some(rare)) => ban.left(&rare.bans[index], now),
        _ => SimDuration::ZERO,
    }
}
