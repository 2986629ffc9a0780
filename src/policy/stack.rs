//! A client is one flat list of elements, innermost first: retry layers and guards alike. A call enters at the
//! outermost client element and a request leaves below the innermost one; decorators stand around calls, a job queue
//! around runs. Below the client there may be hops: gateways that retry by themselves, whose own requests the client
//! never sees.
//!
//! [`Client::advance`] is the whole of it: from where the cursor stands it walks inward (each element may let pass,
//! delay or refuse) until a request can be sent, and outward with an answer (each layer hands it on or tries again)
//! until the answer leaves the stack. It never waits; it says what to wait for. The event loop only interprets
//! [`Next`].

use super::answer::{Answer, Outcome};
use super::circuit_breaker::Gate;
pub use super::cursor::{Cursor, Input, Next, Waiting};
use super::deployments::Left;
pub use super::element::{Element, Kind, Place, Requeue, Resume, Role};
use super::fallback::Fallback;
use super::header::HintGrammar;
use super::hedge::Hedge;
pub use super::host::{Host, Note};
use super::retry::{GiveUp, LayerState, RetryPolicy};
use super::retry_budget::Passage;
use super::timeouts::{Course, Patience, Phases, Timeouts, shorter};
use super::turn::decide;
use crate::units::{SimDuration, SimTime};

/// A named client: what stands between application code and the provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// Its name in the scenario.
    pub name: String,
    /// Whether it is marked as used by tests only.
    pub for_tests: bool,
    pub(super) elements: Vec<Element>,
    /// Elements `0..hop_edge` lie between the client and the provider. Invariant: they are the ones of kind `Hop`.
    pub(super) hop_edge: usize,
    /// Elements `0..call_edge` are inside the call. Invariant: they are the ones of kind `Hop` and `Client`.
    call_edge: usize,
    /// Elements `0..queue_edge` are inside the run. Invariant: at most one element, the last, is outside.
    pub(super) queue_edge: usize,
    /// How long the client waits.
    patience: Patience,
    /// How long a hop waits for one of its own requests.
    pub(super) hop_patience: Patience,
    grammar: HintGrammar,
    /// Whether it has a fallback.
    pub(super) falls_back: bool,
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
        let hop_edge = elements.iter().filter(|element| element.kind == Kind::Hop).count();
        let call_edge = elements.iter().filter(|element| element.kind <= Kind::Client).count();
        let queue_edge = elements.len() - queues;
        let shortest = |part: &[Element]| {
            let policies = part.iter().filter_map(|element| element.role.policy());
            policies.fold(Timeouts::NONE, |all, policy| all.and(policy.timeout))
        };
        let shrinks = |part: &[Element]| part.iter().filter_map(|e| e.role.policy()).any(|p| p.timeout_shrinks);
        let part = |part: &[Element]| Patience::new(shortest(part), shrinks(part));
        let (patience, hop_patience) = (part(&elements[hop_edge..queue_edge]), part(&elements[..hop_edge]));
        let grammar = HintGrammar::plain();
        let falls_back = elements.iter().any(|element| element.role.is_fallback());
        Some(Client {
            name,
            for_tests,
            elements,
            hop_edge,
            call_edge,
            queue_edge,
            patience,
            hop_patience,
            grammar,
            falls_back,
        })
    }

    /// The elements, innermost first.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// The elements between the client and the provider.
    pub fn hops(&self) -> &[Element] {
        &self.elements[..self.hop_edge]
    }

    /// The hedge, where the client has one: the innermost element of what sends requests.
    pub fn hedge(&self) -> Option<&Hedge> {
        self.elements.iter().find_map(|element| match &element.role {
            Role::Hedge(hedge) => Some(hedge),
            Role::Retry(_) | Role::Queue(..) | Role::Guard(_) | Role::Fallback(_) => None,
        })
    }

    /// The elements inside a call, hops included.
    pub fn client_elements(&self) -> &[Element] {
        &self.elements[..self.call_edge]
    }

    /// The job queue's policy, where the stack has one.
    pub fn queue(&self) -> Option<(&RetryPolicy, Requeue)> {
        match &self.elements.last()?.role {
            Role::Queue(policy, requeue) => Some((policy, *requeue)),
            Role::Retry(_) | Role::Guard(_) | Role::Hedge(_) | Role::Fallback(_) => None,
        }
    }

    /// The longest time that one request may take in this client's world, total times that shrink it left out; `None`
    /// where nothing bounds it.
    pub fn timeout(&self) -> Option<SimDuration> {
        if self.hop_edge > 0 {
            return self.patience.timeouts.until_answered();
        }
        self.patience.timeouts.longest(self.patience.phases)
    }

    /// How long it waits for what of a request: the shortest time of all layers.
    pub const fn patience(&self) -> &Patience {
        &self.patience
    }

    /// The longest time that one request may take at the provider, total times that shrink it left out.
    pub fn innermost_timeout(&self) -> Option<SimDuration> {
        let hops = self.hop_patience.timeouts.longest(self.hop_patience.phases);
        shorter(hops.filter(|_| self.hop_edge > 0), self.timeout())
    }

    /// When a request is given up that is sent now and would go like this, and what is seen then; `None` where somebody
    /// waits to its end.
    #[inline]
    pub fn gives_up(&self, states: &[LayerState], now: SimTime, course: &Course) -> Option<(SimTime, Outcome)> {
        if self.hop_edge > 0 {
            return self.hop_patience.gives_up(now, self.left_in_hops(states, now), course);
        }
        self.patience.gives_up(now, self.left_at(states, now), course)
    }

    /// Whether somebody gives up a request that is sent at the beginning of the run and would go like this.
    pub fn ever_gives_up(&self, course: &Course) -> bool {
        let gives_up = |patience: &Patience| patience.gives_up(SimTime::ZERO, None, course).is_some();
        self.patience.shrinks || self.hop_patience.shrinks || gives_up(&self.patience) || gives_up(&self.hop_patience)
    }

    /// The longest time that a request which leaves the client for a hop now may take.
    pub(super) fn client_timeout_at(&self, states: &[LayerState], now: SimTime) -> Option<SimDuration> {
        shorter(self.patience.timeouts.until_answered(), self.left_at(states, now))
    }

    /// What is left for a request that leaves the client now, where some layer's attempts get no more than that.
    #[inline]
    pub(super) fn left_at(&self, states: &[LayerState], now: SimTime) -> Option<SimDuration> {
        if !self.patience.shrinks {
            return None;
        }
        let elements = self.elements[self.hop_edge..self.queue_edge].iter().zip(&states[self.hop_edge..]);
        elements.filter_map(|(element, state)| element.role.policy()?.left_at(state, now)).min()
    }

    /// The same client with other settings of its elements, which stand where they stood.
    pub fn with_elements(&self, elements: Vec<Element>) -> Option<Client> {
        let mut client = Client::new(self.name.clone(), self.for_tests, elements)?.with_grammar(self.grammar.clone());
        (client.patience.phases, client.hop_patience.phases) = (self.patience.phases, self.hop_patience.phases);
        Some(client)
    }

    /// The same client in a world in which these phases of a request take time.
    #[must_use]
    pub fn in_world(mut self, phases: Phases) -> Client {
        self.patience.phases = phases;
        self.hop_patience.phases = phases;
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

    /// The innermost fallback that asks another model than its first one, and the place of that model among its targets;
    /// `None` while the step's own model is asked.
    pub fn route(&self, states: &[LayerState]) -> Option<(usize, usize)> {
        let elements = self.elements.iter().zip(states).enumerate();
        elements
            .filter(|(_, (element, _))| element.role.is_fallback())
            .find_map(|(at, (_, state))| Fallback::target(state).map(|target| (at, target)))
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
            Input::Woken if self.is_in_hops(*cursor) && self.has_left_hops(states, now) => {
                self.leave_hops(Some(cursor.inside()), states, cursor, now, host)
            }
            Input::Woken => match self.overslept(states, *cursor, now, host) {
                Some((at, last)) => self.outward(at + 1, &self.let_out(at, last), states, cursor, now, host),
                None => Walk::GoesOn(cursor.inside()),
            },
            Input::Answered(answer) if answer.outcome == Outcome::TimedOut && self.has_left_hops(states, now) => {
                self.leave_hops(None, states, cursor, now, host)
            }
            Input::Answered(answer) => self.outward(0, &answer, states, cursor, now, host),
            Input::Joined(answer) => self.outward(self.queue_edge, &answer, states, cursor, now, host),
            Input::Refused(_) if self.is_in_hops(*cursor) && self.has_left_hops(states, now) => {
                self.leave_hops(Some(cursor.at as usize + 1), states, cursor, now, host)
            }
            Input::Refused(why) => {
                host.note(Note::Refused(cursor.at as usize, why));
                let at = cursor.at as usize;
                self.outward(at + 1, &self.let_out(at, Answer::failed(why)), states, cursor, now, host)
            }
        };
        // A guard that is asked again stands inside a call which has begun before.
        let mut asked_again = matches!(input, Input::Woken) && cursor.at_gate;
        loop {
            let below = match outward {
                Walk::Stops(next) => return next,
                Walk::GoesOn(below) => below,
            };
            outward = match self.inward(below, asked_again, states, cursor, now, host) {
                Inward::Stops(next) => return next,
                Inward::Refused(at, answer) => {
                    self.outward(at + 1, &self.let_out(at, answer), states, cursor, now, host)
                }
            };
            asked_again = false;
        }
    }

    /// The client gives up on a hop: what is under way from element `from` on, or in flight, is dropped, and the client
    /// sees a timeout.
    #[cold]
    fn leave_hops(
        &self,
        from: Option<usize>,
        states: &mut [LayerState],
        cursor: &mut Cursor,
        now: SimTime,
        host: &mut impl Host,
    ) -> Walk {
        self.drop_parts(from.unwrap_or(0), self.hop_edge, states, now, host);
        if from.is_some() && self.elements[cursor.at as usize].role.guard().is_some() {
            host.note(Note::LeftAtGuard);
        }
        self.outward(self.hop_edge, &Answer::TIMED_OUT, states, cursor, now, host)
    }

    /// Walks inward through the elements below `top`.
    #[inline]
    fn inward(
        &self,
        top: usize,
        asked_again: bool,
        states: &mut [LayerState],
        cursor: &mut Cursor,
        now: SimTime,
        host: &mut impl Host,
    ) -> Inward {
        for at in (0..top).rev() {
            if !(asked_again && at + 1 == top) {
                if at + 1 == self.call_edge {
                    host.note(Note::CallBegan);
                }
                if at + 1 == self.hop_edge {
                    states[at].since = now;
                    host.note(Note::RequestBegan);
                }
                host.note(Note::Entered(at));
            }
            match &self.elements[at].role {
                Role::Retry(policy) | Role::Fallback(Fallback { policy, .. }) => {
                    states[at] = LayerState::entered(now);
                    if let Some(budget) = &policy.budget {
                        host.call_passes(at, budget, Passage::Enters, now);
                    }
                }
                Role::Guard(guard) => match self.asked(at, *guard, states, now, host) {
                    Gate::Pass => {}
                    Gate::Picked(place) => states[at].attempts = Fallback::with_target(place),
                    // A reservation that is already made is not asked for again: the wait ends inside the guard.
                    Gate::Reserved(until) => {
                        cursor.stand(at, false);
                        return Inward::Stops(Next::Sleep {
                            until: self.no_longer_than_the_client_waits(until, at, states),
                            why: Waiting::Limiter,
                            holds_worker: true,
                        });
                    }
                    Gate::Park => {
                        cursor.stand(at, true);
                        let until = self.no_longer_than_the_client_waits(SimTime::NEVER, at, states);
                        return Inward::Stops(Next::Park(until));
                    }
                    Gate::Line(until) => {
                        cursor.stand(at, false);
                        return Inward::Stops(Next::Line(self.no_longer_than_the_client_waits(until, at, states)));
                    }
                    Gate::Wait(until) => {
                        cursor.stand(at, true);
                        return Inward::Stops(Next::Sleep {
                            until: self.no_longer_than_the_client_waits(until, at, states),
                            why: Waiting::Limiter,
                            holds_worker: true,
                        });
                    }
                    Gate::Refuse(why) => {
                        host.note(Note::Refused(at, why));
                        return Inward::Refused(at, Answer::failed(why));
                    }
                    Gate::NoneLeft(answers) => {
                        host.note(Note::Refused(at, Outcome::ShortCircuited));
                        return Inward::Refused(at, Answer { status: answers, ..Answer::SHORT_CIRCUITED });
                    }
                },
                Role::Hedge(_) => {}
                Role::Queue(..) => unreachable!("a run begins inside its queue"),
            }
        }
        if self.call_edge == 0 {
            host.note(Note::CallBegan);
        }
        Inward::Stops(Next::Send)
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
        let end = if cursor.is_part { self.queue_edge } else { self.elements.len() };
        let mut answer = *answer;
        let mut left = Left::Same;
        for at in from..end {
            if at == self.call_edge {
                host.note(Note::CallEnded(answer));
            }
            let budget = self.elements[at].role.policy().and_then(|policy| policy.budget.as_ref());
            if let Some(budget) = budget.filter(|_| states[at].paid > 0) {
                host.call_passes(at, budget, Passage::RetryEnds, now);
            }
            match &self.elements[at].role {
                Role::Guard(guard) => {
                    if let Some(place) = Fallback::target(&states[at]) {
                        left = host.came_back(*guard, place, &answer, now);
                    } else if host.passed_back(*guard, &answer, now) {
                        answer = Answer::SHORT_CIRCUITED;
                    }
                }
                Role::Hedge(_) => {}
                Role::Retry(_) | Role::Queue(..) | Role::Fallback(_) if answer.is_delivered() => {
                    if let Some(budget) = budget {
                        host.repay(at, budget, states[at].paid.checked_sub(1).map(u32::from));
                    }
                }
                Role::Retry(policy) | Role::Fallback(Fallback { policy, .. }) => {
                    let longest = self.no_longer_than_the_client_waits(SimTime::NEVER, at, states);
                    // Only the nearest layer goes elsewhere.
                    let mut left = std::mem::take(&mut left);
                    if self.elements[at].role.is_fallback() {
                        left = Left::Same;
                    }
                    match decide(policy, at, states, &answer, now, (left, longest), host) {
                        None => answer = answer.beyond_a_layer(),
                        Some(until) if until == now && self.is_unpaid(at, host).is_some() => {
                            host.note(Note::GaveUp(at, GiveUp::Suppressed));
                        }
                        Some(until) if until == now => return Walk::GoesOn(at),
                        Some(until) => {
                            cursor.stand(at, false);
                            return Walk::Stops(Next::Sleep {
                                until: until.min(longest),
                                why: Waiting::Retry,
                                holds_worker: policy.holds_worker,
                            });
                        }
                    }
                }
                Role::Queue(policy, requeue) => {
                    if let Some(at) = decide(policy, at, states, &answer, now, (Left::Same, SimTime::NEVER), host) {
                        let holds_queue = policy.holds_queue.contains(answer.status);
                        return Walk::Stops(Next::Requeue { at, requeue: *requeue, holds_queue });
                    }
                }
            }
            if let Some(budget) = budget {
                host.call_passes(at, budget, Passage::Leaves, now);
            }
            answer = self.let_out(at, answer);
        }
        if self.call_edge == end && from <= end {
            host.note(Note::CallEnded(answer));
        }
        Walk::Stops(Next::Done(answer))
    }
}

/// How a walk outward ends.
enum Walk {
    /// Nothing more can be done now.
    Stops(Next),
    /// It turns round and goes on inward below this element.
    GoesOn(usize),
}

/// How a walk inward ends.
enum Inward {
    /// Nothing more can be done now.
    Stops(Next),
    /// This guard refused, and this comes out of it: it turns round and goes on outward.
    Refused(usize, Answer),
}
