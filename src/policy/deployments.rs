//! Deployments: one of several models is picked for each attempt, and one that failed is left out for a while, as routers of
//! language models do.
//!
//! A random pick is a race: each healthy deployment draws a number keyed by its name, divides its exponential time by its
//! weight, and the shortest time wins. So each wins by its share of the weights, and one that cools moves no draw of another.

use super::answer::Answer;
use super::ban::{Ban, BanState};
use super::circuit_breaker::Gate;
use super::classify::{OutcomeSet, StatusSet, is_among};
use crate::random::{Key, math};
use crate::units::{SimDuration, SimTime};

/// The settings of a choice among deployments.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployments {
    /// The deployments, from 1 to [`Deployments::MOST`].
    pub to: Vec<Deployment>,
    /// How one is picked.
    pub pick: Pick,
    /// Statuses that cool a deployment at once.
    pub at_once: StatusSet,
    /// Statuses of failures that count.
    pub statuses: StatusSet,
    /// Failures without a status that count.
    pub outcomes: OutcomeSet,
    /// How many of these within how long cool a deployment, and for how long.
    pub cooldown: Ban,
    /// The status of the refusal when all cool.
    pub status: u16,
}

/// One deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// The model that it is.
    pub model: String,
    /// Its weight in a random pick; above 0.
    pub weight: f64,
    /// The key word of its name.
    pub word: u64,
}

/// How a deployment is picked among the healthy ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// By chance, by the weights.
    Random,
    /// One after the other, those that cool passed over.
    RoundRobin,
    /// The first in order.
    First,
}

/// What is left for a retry after a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Left {
    /// The same as before: the layer waits as it says.
    #[default]
    Same,
    /// A healthy one of several: a retry goes there at once.
    Another,
    /// None: a retry would be refused.
    None,
}

/// What an instance knows of one deployment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Health {
    failures: BanState,
    did: DeploymentCounts,
}

/// What was counted of one deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeploymentCounts {
    /// How often it was picked.
    pub picked: u64,
    /// How often it was cooled.
    pub cooled: u64,
}

/// The state of one instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeploymentsState {
    each: Vec<Health>,
    /// The place after the one that was picked last.
    next: usize,
}

impl DeploymentsState {
    /// What was counted of each deployment, in order.
    pub fn counts(&self) -> impl Iterator<Item = &DeploymentCounts> {
        self.each.iter().map(|health| &health.did)
    }
}

impl Deployments {
    /// The most deployments of one choice.
    pub const MOST: usize = 8;

    /// All healthy.
    pub fn healthy(&self) -> DeploymentsState {
        DeploymentsState { each: vec![Health::default(); self.to.len()], next: 0 }
    }

    fn is_healthy(&self, health: &Health, now: SimTime) -> bool {
        self.cooldown.left(&health.failures, now) == SimDuration::ZERO
    }

    /// Picks one for an attempt whose draws this key is for: its place, or that none is left.
    pub fn pick(&self, state: &mut DeploymentsState, key: Key, now: SimTime) -> Gate {
        let healthy = |place: &usize| self.is_healthy(&state.each[*place], now);
        let places = 0..self.to.len();
        let picked = match self.pick {
            Pick::First => places.clone().find(healthy),
            Pick::RoundRobin => places.map(|step| (state.next + step) % self.to.len()).find(healthy),
            Pick::Random => {
                let time = |place: usize| {
                    let Deployment { weight, word, .. } = &self.to[place];
                    -math::ln(key.with(*word).stream().next_open()) / weight
                };
                places.filter(healthy).min_by(|a, b| time(*a).total_cmp(&time(*b)))
            }
        };
        let Some(place) = picked else { return Gate::NoneLeft(self.status) };
        state.next = (place + 1) % self.to.len();
        state.each[place].did.picked += 1;
        Gate::Picked(place as u8)
    }

    /// The result of an attempt at this one comes back; says what is left for a retry.
    pub fn came_back(&self, state: &mut DeploymentsState, place: usize, answer: &Answer, now: SimTime) -> Left {
        let health = &mut state.each[place];
        if self.cooldown.left(&health.failures, now) == SimDuration::ZERO {
            if is_among(answer, &self.at_once, OutcomeSet::EMPTY) {
                self.cooldown.begin(&mut health.failures, now);
            } else if is_among(answer, &self.statuses, self.outcomes) {
                self.cooldown.refused(&mut health.failures, now);
            }
            health.did.cooled += u64::from(self.cooldown.left(&health.failures, now) > SimDuration::ZERO);
        }
        match state.each.iter().any(|health| self.is_healthy(health, now)) {
            false => Left::None,
            true if self.to.len() > 1 => Left::Another,
            true => Left::Same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    fn two(pick: Pick, weights: [f64; 2]) -> Deployments {
        let one = |(model, weight): (&str, f64)| Deployment { model: model.into(), weight, word: Key::word(model) };
        Deployments {
            to: ["east", "west"].into_iter().zip(weights).map(one).collect(),
            pick,
            at_once: StatusSet::EMPTY.with(429),
            statuses: StatusSet::EMPTY.with_range(500, 599),
            outcomes: OutcomeSet::TIMEOUTS,
            cooldown: Ban { after: 2, within: SimDuration::from_mins(1), lasts: SimDuration::from_secs(5) },
            status: 429,
        }
    }

    fn second(n: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(n)
    }

    #[test]
    fn picks_follow_the_weights_and_a_deployment_that_cools_moves_no_other_pick() {
        // By theory: weights 3 and 1 are three quarters; 10,000 draws have a standard error of 0.0043.
        let deployments = two(Pick::Random, [3.0, 1.0]);
        let mut state = deployments.healthy();
        for n in 0..10_000 {
            deployments.pick(&mut state, Seed(1).key().with(n), SimTime::ZERO);
        }
        let picked: Vec<u64> = state.counts().map(|did| did.picked).collect();
        assert!((picked[0] as f64 / 10_000.0 - 0.75).abs() < 0.02, "{picked:?}");
        assert_eq!(picked[0] + picked[1], 10_000);
    }

    #[test]
    fn one_status_or_enough_failures_cool_and_when_all_cool_none_is_left() {
        let deployments = two(Pick::RoundRobin, [1.0, 1.0]);
        let (mut state, key) = (deployments.healthy(), Seed(1).key());
        let pick = |state: &mut DeploymentsState, now| deployments.pick(state, key, second(now));
        assert_eq!([pick(&mut state, 0), pick(&mut state, 0)], [Gate::Picked(0), Gate::Picked(1)]);
        // By hand: the first is out from 0 s to 5 s, the second after its second failure, from 1 s to 6 s.
        assert_eq!(deployments.came_back(&mut state, 0, &Answer::refused(429), second(0)), Left::Another);
        assert_eq!(deployments.came_back(&mut state, 1, &Answer::refused(400), second(0)), Left::Another);
        assert_eq!(deployments.came_back(&mut state, 1, &Answer::refused(500), second(0)), Left::Another);
        assert_eq!(pick(&mut state, 0), Gate::Picked(1));
        assert_eq!(deployments.came_back(&mut state, 1, &Answer::TIMED_OUT, second(1)), Left::None);
        let left = [1, 4, 5, 6, 6].map(|now| pick(&mut state, now));
        assert_eq!(left, [Gate::NoneLeft(429), Gate::NoneLeft(429), Gate::Picked(0), Gate::Picked(1), Gate::Picked(0)]);
        assert_eq!(state.counts().map(|did| did.cooled).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn the_first_healthy_one_is_picked_where_order_says_so() {
        let deployments = two(Pick::First, [1.0, 1.0]);
        let (mut state, key) = (deployments.healthy(), Seed(1).key());
        assert_eq!(deployments.pick(&mut state, key, second(0)), Gate::Picked(0));
        deployments.came_back(&mut state, 0, &Answer::refused(429), second(0));
        assert_eq!(deployments.pick(&mut state, key, second(1)), Gate::Picked(1));
        assert_eq!(deployments.pick(&mut state, key, second(5)), Gate::Picked(0));
    }
}
