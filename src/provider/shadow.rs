//! What the rate limits would have said to first requests, had no task ever sent another one: the same limits with the
//! same terms, which are only ever told of first requests. Whom the real ones refuse and these admit was refused because
//! of the retries of others.
//!
//! As long as the two stand alike there is one of them: they part at a retry that is charged and are one again where a
//! first request finds both the same, such as two full buckets.
//!
//! Limits on requests in flight have no shadow: how long their slots are taken depends on what the retries do. A request
//! for which one of them has no slot passes here all the same.

use super::limits::LimitsState;
use super::service::Abandoned;
use super::{Provider, Request};
use crate::policy::Course;
use crate::units::SimTime;

/// The limits without retries.
#[derive(Clone, Debug)]
pub(super) struct Shadow<'a> {
    limits: LimitsState<'a>,
    /// Whether they may be found to stand like the real ones.
    may_join: bool,
    /// Whether they stand like the real ones, which then stand for both.
    is_joined: bool,
    /// Whether the last request that was asked about was admitted.
    admitted: bool,
}

/// Whether it is known what first requests would have met without the retries: where there are rate limits, and either
/// all that they charge is known when a request is admitted, or so is when its service ends.
pub fn is_known(provider: &Provider) -> bool {
    let charges_later = LimitsState::new(&provider.limits).charges_later();
    let ends_are_known = provider.capacity.is_none() && provider.abandoned == Abandoned::Served;
    // What is cut off because a quota is used up depends on the retries too.
    let cuts = |limit: &super::Limit| limit.terms.as_ref().is_some_and(|terms| terms.when_used_up.is_some());
    !provider.limits.is_empty() && (!charges_later || ends_are_known && !provider.limits.iter().any(cuts))
}

impl<'a> Shadow<'a> {
    /// Limits of which nothing was used; `None` where it is not known what they would say.
    pub(super) fn of(provider: &'a Provider) -> Option<Shadow<'a>> {
        let limits = LimitsState::new(&provider.limits);
        let may_join = limits.are_plain_buckets();
        is_known(provider).then_some(Shadow { limits, may_join, is_joined: may_join, admitted: false })
    }

    /// Whether the request is a first one and fits; then it is charged. Where both stand alike, the real ones say it.
    #[inline]
    pub(super) fn admits(&mut self, now: SimTime, request: &Request<'_>) -> bool {
        self.admitted = false;
        if !request.is_first || self.is_joined {
            return false;
        }
        self.limits.move_to(now);
        match self.limits.longest_shortfall(now, request) {
            None => {
                self.limits.charge(now, request);
                self.admitted = true;
            }
            Some((limit, shortfall)) => {
                self.limits.refuse(limit, shortfall, now, request);
            }
        }
        self.admitted
    }

    /// The real limits will be charged for a request: for one that is not the first, these part from them.
    #[inline]
    pub(super) fn parts(&mut self, real: &LimitsState<'a>, request: &Request<'_>) {
        if self.is_joined && !request.is_first {
            self.limits.stand_like(real);
            self.is_joined = false;
        }
    }

    /// The real limits have been charged for a request: these may stand like them again.
    #[inline]
    pub(super) fn joins(&mut self, real: &LimitsState<'a>) {
        if self.may_join && self.admitted {
            self.is_joined = self.limits.stands_like(real);
        }
    }

    /// The real limits let a request pass for which there is no slot, and are not charged for it.
    pub(super) fn passes_alone(&mut self, real: &LimitsState<'a>, now: SimTime, request: &Request<'_>) {
        if self.is_joined && request.is_first {
            self.limits.stand_like(real);
            self.is_joined = false;
            self.limits.charge(now, request);
        }
    }

    /// The first request that was asked about last is served until then.
    pub(super) fn hold(&mut self, now: SimTime, until: SimTime, request: &Request<'_>, course: &Course) {
        if self.admitted {
            self.limits.hold(now, until, request, course);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::header::HintGrammar;
    use crate::policy::meter::Meter;
    use crate::policy::pacer::Counts;
    use crate::policy::token_bucket::TokenBucket;
    use crate::provider::{Limit, ModelSet, ProviderState, Service, default_refusal_latency};
    use crate::random::Seed;
    use crate::units::SimDuration;

    fn limit(name: &str, counts: Counts, amount: u64) -> Limit {
        let bucket = TokenBucket::new(amount, SimDuration::from_secs(60), SimDuration::from_secs(10)).unwrap();
        Limit {
            name: name.to_owned(),
            counts,
            meter: Meter::TokenBucket(bucket),
            status: 429,
            refusal_latency: default_refusal_latency(),
            hint: None,
            code: None,
            models: ModelSet::ALL,
            terms: None,
        }
    }

    /// Whether each of 4,000 requests, two thirds of them first ones, was displaced.
    fn displaced(provider: &Provider, joins: bool) -> (Vec<bool>, u32) {
        let mut state = ProviderState::new(provider, Seed(7).key()).with_shadow();
        let shadow = state.shadow_mut();
        (shadow.may_join, shadow.is_joined) = (joins, joins);
        let (mut now, mut joined) = (SimTime::ZERO, 0);
        let grammar = HintGrammar::default();
        let one = |n: u64| {
            let key = Seed(7).key().with(n);
            let draw = |what: u64| key.with(what).unit();
            // Busy and quiet stretches in turn.
            let pause = if (n / 200).is_multiple_of(2) { 0.4 } else { 3.0 };
            now += SimDuration::from_secs_f64(2.0 * pause * draw(1));
            let request = Request {
                class: 0,
                input_tokens: (draw(2) * 200.0) as u32,
                cached_tokens: 0,
                output_tokens: 1,
                max_tokens: None,
                key,
                model: 0,
                connect: SimDuration::ZERO,
                write: SimDuration::ZERO,
                sender: 0,
                step: 0,
                is_first: draw(3) < 0.66,
                ordinal: 0,
                grammar: &grammar,
            };
            let verdict = state.receive(now, &request, || Service::whole(SimDuration::from_secs(1)));
            joined += u32::from(state.shadow_mut().is_joined);
            verdict.displaced
        };
        ((0..4_000).map(one).collect(), joined)
    }

    #[test]
    fn limits_that_are_one_while_they_stand_alike_say_the_same_as_two() {
        let limits = vec![limit("rpm", Counts::Requests, 60), limit("itpm", Counts::InputTokens, 9_000)];
        let provider = Provider { limits, ..Provider::default() };
        let (together, joined) = displaced(&provider, true);
        let (apart, never) = displaced(&provider, false);
        assert_eq!(together, apart);
        assert!(joined > 400 && never == 0, "{joined} joined, {never} apart");
        assert!(together.iter().filter(|displaced| **displaced).count() > 50);
    }
}
