//! The proof of `worst`: an adversary plays against the real stack. It chooses every answer, and whether each guard
//! refuses, and its best strategy is found by dynamic programming over what the stack remembers. The formulas must
//! give exactly the same number.

use std::collections::BTreeMap;

use super::fixture::{client, element, fixed, inner, queue};
use super::worst::Worst;
use crate::policy::circuit_breaker::{BreakerCounts, Gate, WhenOpen};
use crate::policy::recovery::{HalfOpen, Late, OnClose, OpenTime};
use crate::policy::retry::LayerState;
use crate::policy::retry_budget::Passage;
use crate::policy::stack::{Cursor, Host, Input, Next, Note, Resume};
use crate::policy::trip::Trip;
use crate::policy::{
    Answer, CircuitBreaker, Classification, Client, Guard, Kind, Mechanism, Outcome, OutcomeSet, RetryBudget, Role,
    Scope, Semaphore, StatusSet, WhenFull,
};
use crate::random::{Key, Seed, Stream};
use crate::units::{SimDuration, SimTime};

/// What is counted.
#[derive(Clone, Copy)]
enum Counted {
    /// Every request of the task.
    All,
    /// The requests of one step.
    Step(usize),
}

struct Game<'a> {
    client: &'a Client,
    choices: &'a [Answer],
    steps: usize,
    counted: Counted,
    /// The most requests from a request that is about to be sent, by step and attempts begun.
    known: BTreeMap<(usize, Vec<u32>), u64>,
}

/// A world in which the first few guards that are asked refuse where a bit is set, and all later ones let pass.
struct Referee {
    refusals: u32,
}

impl Host for Referee {
    type Source = Stream;

    fn draws(&self, _: usize, _: u32) -> Stream {
        Seed(1).key().stream()
    }

    fn pass(&mut self, guard: usize, _: SimTime) -> Gate {
        let refuses = self.refusals & 1 == 1;
        self.refusals >>= 1;
        match guards()[guard].mechanism.refusal() {
            Some(refusal) if refuses => Gate::Refuse(refusal),
            Some(_) | None => Gate::Pass,
        }
    }

    fn passed_back(&mut self, _: usize, _: &Answer, _: SimTime) -> bool {
        false
    }

    fn pay(&mut self, _: usize, _: &RetryBudget, _: &Answer, _: bool, _: SimTime) -> Option<u32> {
        None
    }

    fn repay(&mut self, _: usize, _: &RetryBudget, _: Option<u32>) {}

    fn call_passes(&mut self, _: usize, _: &RetryBudget, _: Passage, _: SimTime) {}

    fn note(&mut self, _: Note) {}
}

impl Game<'_> {
    fn most(&mut self) -> u64 {
        let mut states = vec![LayerState::default(); self.client.elements().len()];
        if let Some(queue) = self.client.queue_element() {
            states[queue] = LayerState::entered(SimTime::ZERO);
        }
        self.go_on(0, &states, Input::Begin)
    }

    /// The most requests from here, over all that the guards may say.
    fn go_on(&mut self, step: usize, states: &[LayerState], input: Input) -> u64 {
        (0..8).map(|refusals| self.go_on_after(step, states.to_vec(), input, refusals)).max().unwrap_or(0)
    }

    fn go_on_after(&mut self, step: usize, mut states: Vec<LayerState>, input: Input, refusals: u32) -> u64 {
        let (mut cursor, mut input, mut now) = (Cursor::default(), input, SimTime::ZERO);
        let mut referee = Referee { refusals };
        loop {
            match self.client.advance(&mut states, &mut cursor, input, now, &mut referee) {
                Next::Send => return self.send(step, &states),
                Next::Park(_) | Next::Line(_) => unreachable!("the referee lets nobody wait"),
                Next::Sleep { until, .. } => (now, input) = (until, Input::Woken),
                Next::Requeue { requeue, .. } => {
                    let step = match requeue.resume {
                        Resume::Restart => 0,
                        Resume::FailedStep => step,
                    };
                    return self.go_on(step, &states, Input::Begin);
                }
                Next::Done(answer) if answer.is_delivered() && step + 1 < self.steps => {
                    return self.go_on(step + 1, &states, Input::Begin);
                }
                Next::Done(_) => return 0,
            }
        }
    }

    fn send(&mut self, step: usize, states: &[LayerState]) -> u64 {
        let key = (step, states.iter().map(|state| state.attempts).collect::<Vec<u32>>());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let this = match self.counted {
            Counted::All => 1,
            Counted::Step(counted) => u64::from(counted == step),
        };
        let choices = self.choices;
        let rest = choices.iter().map(|answer| self.go_on(step, states, Input::Answered(*answer))).max().unwrap_or(0);
        self.known.insert(key, this + rest);
        this + rest
    }
}

fn most(client: &Client, choices: &[Answer], steps: usize, counted: Counted) -> u64 {
    Game { client, choices, steps, counted, known: BTreeMap::new() }.most()
}

fn choices() -> Vec<Answer> {
    let marked = |status, retry| Answer { should_retry: Some(retry), ..Answer::refused(status) };
    vec![
        Answer::DELIVERED,
        Answer::refused(429),
        Answer::refused(529),
        Answer::refused(400),
        Answer::DROPPED,
        marked(529, false),
        marked(400, true),
    ]
}

/// A breaker that refuses.
pub(crate) fn breaker() -> Guard {
    let settings = CircuitBreaker {
        counts: BreakerCounts::Responses,
        statuses: StatusSet::ERRORS,
        outcomes: OutcomeSet::FAILURES,
        trip: Trip::share(1, 0.0),
        open: OpenTime::fixed(SimDuration::from_secs(1)),
        when_open: WhenOpen::Reject,
        gates_retries: false,
        pauses_workers: false,
        half_open: HalfOpen::with(0, WhenOpen::Reject),
        late: Late::IGNORED,
        on_close: OnClose::Clear,
        hides_the_last_failure: false,
        ramp: None,
    };
    Guard { name: "breaker".into(), mechanism: Mechanism::Breaker(settings), scope: Scope::Client }
}

/// A breaker and a semaphore that refuse.
pub(crate) fn guards() -> [Guard; 2] {
    let semaphore = Semaphore { permits: 1, when_full: WhenFull::Reject, line: None, is_pool: false };
    let slots = Guard { name: "slots".into(), mechanism: Mechanism::Semaphore(semaphore), scope: Scope::Client };
    [breaker(), slots]
}

/// A stack drawn at random: up to three elements that retry or gate, and perhaps a queue.
pub(crate) fn any_client(key: Key) -> Client {
    let mut stream = key.stream();
    let mut below = |limit: u32| (stream.next_unit() * f64::from(limit)) as u32;
    let mut elements = Vec::new();
    let count = below(4);
    let client_elements = below(count + 1);
    for at in 0..count {
        let kind = if at < client_elements { Kind::Client } else { Kind::Decorator };
        let role = if below(4) == 0 {
            Role::Guard(below(2) as usize)
        } else {
            let wait = SimDuration::from_secs(u64::from(below(2)));
            let retry_on = any_classification(&mut below);
            Role::Retry(crate::policy::RetryPolicy { retry_on, ..fixed(1 + below(3), wait) })
        };
        elements.push(element(&format!("e{at}"), kind, role));
    }
    if below(3) > 0 {
        let resume = if below(2) == 0 { Resume::Restart } else { Resume::FailedStep };
        let mut last = queue(1 + below(3), &[], resume);
        if let Role::Queue(policy, _) = &mut last.role
            && below(2) == 0
        {
            policy.retry_on = any_classification(&mut below);
        }
        elements.push(last);
    }
    client("random", elements)
}

fn any_classification(below: &mut impl FnMut(u32) -> u32) -> Classification {
    // A layer for refusals of a guard alone is the one case in which failing costs less than succeeding.
    if below(5) == 0 {
        let nothing = super::fixture::some(&[], false, false);
        let refusal = if below(2) == 0 { Outcome::ShortCircuited } else { Outcome::LimiterFull };
        return Classification { outcomes: OutcomeSet::EMPTY.with(refusal), ..nothing };
    }
    let mut statuses = StatusSet::EMPTY;
    for status in [429, 529, 400] {
        if below(2) == 0 {
            statuses = statuses.with(status);
        }
    }
    let mut outcomes = OutcomeSet::EMPTY;
    for outcome in [Outcome::Dropped, Outcome::ShortCircuited, Outcome::LimiterFull] {
        if below(2) == 0 {
            outcomes = outcomes.with(outcome);
        }
    }
    Classification { statuses, outcomes, obeys_should_retry: below(3) == 0, ..Classification::default() }
}

#[test]
fn no_strategy_of_the_provider_beats_the_formulas_and_one_reaches_them() {
    // Against dynamic programming over the real stack: 600 stacks, 1 to 3 steps each.
    let (choices, guards) = (choices(), guards());
    for case in 0..600 {
        let client = any_client(Seed(5).key().with(case));
        let steps = 1 + (case % 3) as usize;
        let worst = Worst::of(&client, &guards, &choices, steps as u64);
        let task = most(&client, &choices, steps, Counted::All);
        assert_eq!(worst.per_task, Some(task), "case {case}: {client:#?}");
        let site = (0..steps).map(|step| most(&client, &choices, steps, Counted::Step(step))).max();
        assert_eq!(worst.per_call_site, site, "case {case}: {client:#?}");
        let call = Client::new("call".into(), false, client.client_elements().to_vec()).unwrap();
        assert_eq!(worst.per_call, Some(most(&call, &choices, 1, Counted::All)), "case {case}: {client:#?}");
    }
}

#[test]
fn a_mixture_of_errors_can_cost_more_than_any_single_one() {
    // By hand: inside repeats 503 only, outside 429 only. All 503: 4, all 429: 3, mixed: three 503s and then a 429,
    // three times: 12.
    let only = |status, attempts| crate::policy::RetryPolicy {
        retry_on: super::fixture::some(&[status], false, false),
        ..fixed(attempts, SimDuration::ZERO)
    };
    let client = client("mixed", vec![inner("inside", only(503, 4)), inner("outside", only(429, 3))]);
    let choices = [Answer::DELIVERED, Answer::refused(503), Answer::refused(429)];
    assert_eq!(most(&client, &choices, 1, Counted::All), 12);
    assert_eq!(Worst::of(&client, &[], &choices, 1).per_task, Some(12));
}
