//! A client is one flat list of elements, innermost first: retry layers and guards alike. A call enters at the
//! outermost client element and a request leaves below the innermost one; decorators stand around calls, a job queue
//! around runs.
//!
//! [`Client::advance`] is the whole of it: from where the cursor stands it walks inward (each element may let pass,
//! delay or refuse) until a request can be sent, and outward with an answer (each layer hands it on or tries again)
//! until the answer leaves the stack. It never waits; it says what to wait for. The event loop only interprets
//! [`Next`].

use super::answer::{Answer, Outcome};
use super::backoff::Draws;
use super::circuit_breaker::Gate;
pub use super::element::{Element, Kind, Place, Requeue, Resume, Role};
use super::header::HintGrammar;
use super::retry::{Decision, GiveUp, LayerState, RetryPolicy};
use super::retry_budget::{Passage, RetryBudget};
use super::timeouts::{Course, Patience, Phases, Timeouts};
use crate::units::{SimDuration, SimTime};

/// A named client: what stands between application code and the provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// Its name in the scenario.
    pub name: String,
    /// Whether it is marked as used by tests only.
    pub for_tests: bool,
    elements: Vec<Element>,
    /// Elements `0..call_edge` are inside the call. Invariant: they are the ones of kind `Client`.
    call_edge: usize,
    /// Elements `0..queue_edge` are inside the run. Invariant: at most one element, the last, is outside.
    queue_edge: usize,
    patience: Patience,
    grammar: HintGrammar,
}

/// Where an execution stands in its client's stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    at: u8,
    /// Whether a guard, not a retry layer, is being waited for, and asks again.
    at_gate: bool,
}

/// What happened while nobody was looking at the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A step begins.
    Begin,
    /// The wait is over.
    Woken,
    /// The provider answered, or its silence ended.
    Answered(Answer),
}

/// What has to happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A request goes out.
    Send,
    /// Nothing until this instant.
    Sleep {
        /// When to go on.
        until: SimTime,
        /// What is waited for.
        why: Waiting,
        /// Whether the worker is kept meanwhile.
        holds_worker: bool,
    },
    /// Nothing until a guard on the way changes; then it is asked again.
    Park,
    /// The run is over and failed; the queue wants another one.
    Requeue {
        /// When the job may be taken again.
        at: SimTime,
        /// Where it is put and where it goes on.
        requeue: Requeue,
    },
    /// The step is over, with this answer; if it failed, so is the task.
    Done(Answer),
}

/// What a sleeping execution waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Its next attempt.
    Retry,
    /// A limiter or a breaker on its own side.
    Limiter,
}

/// Something that happened at an element, for those who count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A call began: application code asked the client.
    CallBegan,
    /// The call came back.
    CallEnded(Answer),
    /// An element was reached from the outside.
    Entered(usize),
    /// A retry layer goes for one more attempt after this wait.
    Retried(usize, SimDuration),
    /// A retry layer handed a failure outward.
    GaveUp(usize, GiveUp),
    /// A guard refused.
    Refused(usize),
}

/// What a stack needs of the world around it.
pub trait Host {
    /// Where random numbers come from.
    type Source: Draws;
    /// The random numbers of one wait of the element at this index: keyed by its name, run, call and attempt.
    fn draws(&self, element: usize, attempt: u32) -> Self::Source;
    /// What the guard says to someone who wants to pass.
    fn pass(&mut self, guard: usize, now: SimTime) -> Gate;
    /// A result passes outward through the guard's place.
    fn passed_back(&mut self, guard: usize, answer: &Answer, now: SimTime);
    /// The retry budget of the element at this index hears of a failure; says what a retry costs, where one is wanted
    /// and allowed.
    fn pay(&mut self, element: usize, budget: &RetryBudget, answer: &Answer, wanted: bool, now: SimTime)
    -> Option<u32>;
    /// The retry budget of the element at this index hears of a success, after a last retry that cost so much.
    fn repay(&mut self, element: usize, budget: &RetryBudget, last_cost: Option<u32>);
    /// The retry budget of the element at this index hears of a call that moves.
    fn call_passes(&mut self, element: usize, budget: &RetryBudget, passage: Passage, now: SimTime);
    /// Something to count.
    fn note(&mut self, note: Note);
}

impl Client {
    /// A client of these elements, innermost first. `None` where kinds decrease outward, where more than the last
    /// element is of kind queue, or where there are more than 32.
    pub fn new(name: String, for_tests: bool, elements: Vec<Element>) -> Option<Client> {
        let ordered = elements.windows(2).all(|pair| pair[0].kind <= pair[1].kind);
        let queues = elements.iter().filter(|element| element.kind == Kind::Queue).count();
        if !ordered || queues > 1 || elements.len() > 32 {
            return None;
        }
        let call_edge = elements.iter().filter(|element| element.kind == Kind::Client).count();
        let queue_edge = elements.len() - queues;
        let policies = elements[..queue_edge].iter().filter_map(|element| element.role.policy());
        let timeouts = policies.fold(Timeouts::NONE, |all, policy| all.and(policy.timeout));
        let shrinks = elements.iter().any(|element| element.role.policy().is_some_and(|p| p.timeout_shrinks));
        let patience = Patience::new(timeouts, shrinks);
        let grammar = HintGrammar::plain();
        Some(Client { name, for_tests, elements, call_edge, queue_edge, patience, grammar })
    }

    /// The elements, innermost first.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// The elements inside a call.
    pub fn client_elements(&self) -> &[Element] {
        &self.elements[..self.call_edge]
    }

    /// The job queue's policy, where the stack has one.
    pub fn queue(&self) -> Option<(&RetryPolicy, Requeue)> {
        match &self.elements.last()?.role {
            Role::Queue(policy, requeue) => Some((policy, *requeue)),
            Role::Retry(_) | Role::Guard(_) => None,
        }
    }

    /// The longest time that one request may take in this client's world, total times that shrink it left out; `None`
    /// where nothing bounds it.
    pub fn timeout(&self) -> Option<SimDuration> {
        self.patience.timeouts.longest(self.patience.phases)
    }

    /// How long it waits for what of a request: the shortest time of all layers.
    pub const fn patience(&self) -> &Patience {
        &self.patience
    }

    /// When the client gives up a request that it sends now and that would go like this, and what it sees then; `None`
    /// where it waits to its end.
    #[inline]
    pub fn gives_up(&self, states: &[LayerState], now: SimTime, course: &Course) -> Option<(SimTime, Outcome)> {
        let mut left = None;
        if self.patience.shrinks {
            let elements = self.elements[..self.queue_edge].iter().zip(states);
            left = elements.filter_map(|(element, state)| element.role.policy()?.left_at(state, now)).min();
        }
        self.patience.gives_up(now, left, course)
    }

    /// The same client in a world in which these phases of a request take time.
    #[must_use]
    pub fn in_world(mut self, phases: Phases) -> Client {
        self.patience.phases = phases;
        self
    }

    /// How the client reads hints.
    pub const fn grammar(&self) -> &HintGrammar {
        &self.grammar
    }

    /// The same client with another way of reading hints.
    #[must_use]
    pub fn with_grammar(mut self, grammar: HintGrammar) -> Client {
        self.grammar = grammar;
        self
    }

    /// The index of the job queue's element, where the stack has one.
    pub const fn queue_element(&self) -> Option<usize> {
        if self.queue_edge < self.elements.len() { Some(self.queue_edge) } else { None }
    }

    /// Moves the execution on from where it stands, as far as nothing has to be waited for. `states` has one entry
    /// for each element.
    pub fn advance(
        &self,
        states: &mut [LayerState],
        cursor: &mut Cursor,
        input: Input,
        now: SimTime,
        host: &mut impl Host,
    ) -> Next {
        let mut outward = match input {
            Input::Begin => Walk::GoesOn(self.queue_edge),
            Input::Woken => Walk::GoesOn(cursor.at as usize + usize::from(cursor.at_gate)),
            Input::Answered(answer) => self.outward(0, &answer, states, cursor, now, host),
        };
        // A guard that is asked again stands inside a call which has begun before.
        let mut asked_again = matches!(input, Input::Woken) && cursor.at_gate;
        loop {
            let below = match outward {
                Walk::Stops(next) => return next,
                Walk::GoesOn(below) => below,
            };
            outward = match self.inward(below, asked_again, states, cursor, now, host) {
                Walk::Stops(next) => return next,
                Walk::GoesOn(from) => self.outward(from, &Answer::SHORT_CIRCUITED, states, cursor, now, host),
            };
            asked_again = false;
        }
    }

    /// Walks inward through the elements below `top`. It goes on outward where a guard refuses.
    #[inline]
    fn inward(
        &self,
        top: usize,
        asked_again: bool,
        states: &mut [LayerState],
        cursor: &mut Cursor,
        now: SimTime,
        host: &mut impl Host,
    ) -> Walk {
        for at in (0..top).rev() {
            if at + 1 == self.call_edge && !(asked_again && at + 1 == top) {
                host.note(Note::CallBegan);
            }
            if !(asked_again && at + 1 == top) {
                host.note(Note::Entered(at));
            }
            match &self.elements[at].role {
                Role::Retry(policy) => {
                    states[at] = LayerState::entered(now);
                    if let Some(budget) = &policy.budget {
                        host.call_passes(at, budget, Passage::Enters, now);
                    }
                }
                Role::Guard(guard) => match host.pass(*guard, now) {
                    Gate::Pass => {}
                    // A reservation that is already made is not asked for again: the wait ends inside the guard.
                    Gate::Reserved(until) => {
                        *cursor = Cursor { at: at as u8, at_gate: false };
                        return Walk::Stops(Next::Sleep { until, why: Waiting::Limiter, holds_worker: true });
                    }
                    Gate::Park => {
                        *cursor = Cursor { at: at as u8, at_gate: true };
                        return Walk::Stops(Next::Park);
                    }
                    Gate::Wait(until) => {
                        *cursor = Cursor { at: at as u8, at_gate: true };
                        return Walk::Stops(Next::Sleep { until, why: Waiting::Limiter, holds_worker: true });
                    }
                    Gate::Refuse => {
                        host.note(Note::Refused(at));
                        return Walk::GoesOn(at + 1);
                    }
                },
                Role::Queue(..) => unreachable!("a run begins inside its queue"),
            }
        }
        if self.call_edge == 0 {
            host.note(Note::CallBegan);
        }
        Walk::Stops(Next::Send)
    }

    /// Carries an answer outward from element `from`. It goes on inward where a layer tries again at once.
    #[inline]
    fn outward(
        &self,
        from: usize,
        answer: &Answer,
        states: &mut [LayerState],
        cursor: &mut Cursor,
        now: SimTime,
        host: &mut impl Host,
    ) -> Walk {
        for at in from..self.elements.len() {
            if at == self.call_edge {
                host.note(Note::CallEnded(*answer));
            }
            let budget = self.elements[at].role.policy().and_then(|policy| policy.budget.as_ref());
            if let Some(budget) = budget.filter(|_| states[at].paid > 0) {
                host.call_passes(at, budget, Passage::RetryEnds, now);
            }
            match &self.elements[at].role {
                Role::Guard(guard) => host.passed_back(*guard, answer, now),
                Role::Retry(_) | Role::Queue(..) if answer.is_delivered() => {
                    if let Some(budget) = budget {
                        host.repay(at, budget, states[at].paid.checked_sub(1).map(u32::from));
                    }
                }
                Role::Retry(policy) => match decide(policy, at, states, answer, now, host) {
                    None => {}
                    Some(until) if until == now => return Walk::GoesOn(at),
                    Some(until) => {
                        *cursor = Cursor { at: at as u8, at_gate: false };
                        return Walk::Stops(Next::Sleep {
                            until,
                            why: Waiting::Retry,
                            holds_worker: policy.holds_worker,
                        });
                    }
                },
                Role::Queue(policy, requeue) => {
                    if let Some(at) = decide(policy, at, states, answer, now, host) {
                        return Walk::Stops(Next::Requeue { at, requeue: *requeue });
                    }
                }
            }
            if let Some(budget) = budget {
                host.call_passes(at, budget, Passage::Leaves, now);
            }
        }
        if self.call_edge == self.elements.len() {
            host.note(Note::CallEnded(*answer));
        }
        Walk::Stops(Next::Done(*answer))
    }
}

/// One leg of the walk through a stack.
enum Walk {
    /// Nothing more can be done now.
    Stops(Next),
    /// The walk turns round and goes on from here: inward below this element, or outward from it on.
    GoesOn(usize),
}

/// When element `at` tries again, or `None` where it hands the failure on.
fn decide(
    policy: &RetryPolicy,
    at: usize,
    states: &mut [LayerState],
    answer: &Answer,
    now: SimTime,
    host: &mut impl Host,
) -> Option<SimTime> {
    let attempt = states[at].attempts;
    // The policy asks the host for two things, one after the other: random numbers and the budget.
    let host = std::cell::RefCell::new(host);
    let pay = |wanted| {
        let budget = policy.budget.as_ref()?;
        host.borrow_mut().pay(at, budget, answer, wanted, now)
    };
    let decision = policy.decide(&mut states[at], answer, now, || host.borrow().draws(at, attempt), pay);
    let host = host.into_inner();
    match decision {
        Decision::Retry { at: until } => {
            host.note(Note::Retried(at, until - now));
            Some(until)
        }
        Decision::GiveUp(why) => {
            host.note(Note::GaveUp(at, why));
            None
        }
    }
}
