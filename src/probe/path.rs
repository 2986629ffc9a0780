//! One way through a client under a script: every attempt, when it was sent, what it got, and what was waited for.

use super::hedged::hedged;
use crate::policy::answer::Answer;
use crate::policy::backoff::Draws;
use crate::policy::circuit_breaker::Gate;
use crate::policy::retry::{GiveUp, LayerState, RetryPolicy};
use crate::policy::retry_budget::{BudgetState, Passage, RetryBudget};
use crate::policy::stack::{Client, Cursor, Host, Input, Next, Note};
use crate::provider::Script;
use crate::provider::script::Entry;
use crate::units::{SimDuration, SimTime};

/// More attempts than this are cut off.
pub(super) const MOST_ATTEMPTS: usize = 10_000;

/// One request of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) sent: SimTime,
    pub(super) ended: SimTime,
    pub(super) answer: Answer,
    /// The fallback that chose another model than the first, and the place of the model among its targets.
    pub(super) route: Option<(usize, usize)>,
    /// The layer that waited or tried again after it; `None` after the last one.
    pub(super) retried_by: Option<usize>,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The caller has its answer, good or bad.
    Answered,
    /// The last answer never comes and nothing gives up on it.
    Hangs,
    /// A wait, or an answer, goes past the latest instant of the model.
    TooLate,
    /// It was cut off, and nothing would ever have stopped the client.
    Endless,
    /// It was cut off; the client may stop later.
    CutOff,
}

/// One way through a client.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) attempts: Vec<Attempt>,
    pub(super) last: Answer,
    pub(super) end: End,
    /// Which layers handed the last failure on and why, innermost first.
    pub(super) gave_up: Vec<(usize, GiveUp)>,
}

impl Path {
    /// The wait before each attempt but the first: since the last one ended, or where that is still out, since it was
    /// sent.
    pub(super) fn waits(&self) -> impl ExactSizeIterator<Item = SimDuration> + '_ {
        self.attempts.windows(2).map(|pair| {
            let is_out = pair[0].ended > pair[1].sent || pair[0].answer == Answer::CANCELLED;
            pair[1].sent - if is_out { pair[0].sent } else { pair[0].ended }
        })
    }
}

/// The retry budgets of a client, by element.
#[derive(Clone, Debug)]
pub(super) struct Budgets(Vec<Option<BudgetState>>);

impl Budgets {
    /// All of them full.
    pub(super) fn full(client: &Client) -> Budgets {
        Budgets(vec![None; client.elements().len()])
    }

    pub(super) fn of(&mut self, element: usize, budget: &RetryBudget) -> &mut BudgetState {
        self.0[element].get_or_insert_with(|| budget.full())
    }

    /// The tokens that the innermost budget of tokens has left, where anybody has asked it yet.
    pub(super) fn tokens(&self) -> Option<f64> {
        self.0.iter().flatten().find_map(BudgetState::tokens)
    }
}

/// The world of a probe: random numbers of one source, budgets, guards that let pass.
struct World<'b, F> {
    draws: F,
    budgets: &'b mut Budgets,
    retried: Option<usize>,
    decided: u64,
    gave_up: Vec<(usize, GiveUp)>,
    kept: Answer,
}

impl<D: Draws, F: Fn(usize, u32, u64) -> D> Host for (&mut World<'_, F>, u64) {
    type Source = D;

    fn draws(&self, element: usize, attempt: u32) -> D {
        (self.0.draws)(element, attempt, self.1)
    }

    fn pass(&mut self, _: usize, _: SimTime) -> Gate {
        Gate::Pass
    }

    fn passed_back(&mut self, _: usize, _: &Answer, _: SimTime) -> bool {
        false
    }

    fn pay(
        &mut self,
        element: usize,
        budget: &RetryBudget,
        answer: &Answer,
        wanted: bool,
        now: SimTime,
    ) -> Option<u32> {
        budget.failed(self.0.budgets.of(element, budget), answer, wanted, now)
    }

    fn keep(&mut self, _: usize, answer: &Answer) {
        self.0.kept = *answer;
    }

    fn still_pays(&mut self, element: usize, budget: &RetryBudget) -> Option<Answer> {
        (!budget.still_allows(self.0.budgets.of(element, budget))).then_some(self.0.kept)
    }

    fn repay(&mut self, element: usize, budget: &RetryBudget, last_cost: Option<u32>) {
        budget.succeeded(self.0.budgets.of(element, budget), last_cost);
    }

    fn call_passes(&mut self, element: usize, budget: &RetryBudget, passage: Passage, now: SimTime) {
        budget.passes(self.0.budgets.of(element, budget), passage, now);
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Retried(element, _) => {
                self.0.retried = Some(element);
                self.0.decided += 1;
            }
            Note::GaveUp(element, why) => {
                self.0.gave_up.push((element, why));
            }
            Note::CallBegan
            | Note::CallEnded(_)
            | Note::RequestBegan
            | Note::Entered(_)
            | Note::Refused(..)
            | Note::LeftAtGuard => {}
        }
    }
}

/// Drives a client through a script. `draws` gives the random numbers of a wait: of an element, its attempt, and the
/// number of requests sent so far.
pub(super) fn walk<D: Draws>(
    client: &Client,
    script: &Script,
    draws: impl Fn(usize, u32, u64) -> D,
    most: usize,
) -> Path {
    walk_with(client, script, draws, most, &mut Budgets::full(client), SimTime::ZERO).0
}

/// The same of a call that begins at this instant, with budgets that calls before it may have spent. Says also how many
/// retries were decided, and when the call ended.
pub(super) fn walk_with<D: Draws>(
    client: &Client,
    script: &Script,
    draws: impl Fn(usize, u32, u64) -> D,
    most: usize,
    budgets: &mut Budgets,
    from: SimTime,
) -> (Path, u64, SimTime) {
    let mut world = World { draws, budgets, retried: None, decided: 0, gave_up: Vec::new(), kept: Answer::DELIVERED };
    let (path, end) = go(client, script, &mut world, most, from);
    (path, world.decided, end)
}

fn go<D: Draws, F: Fn(usize, u32, u64) -> D>(
    client: &Client,
    script: &Script,
    world: &mut World<'_, F>,
    most: usize,
    from: SimTime,
) -> (Path, SimTime) {
    let mut states = vec![LayerState::entered(from); client.elements().len()];
    let mut path = Path { attempts: Vec::new(), last: Answer::DELIVERED, end: End::Answered, gave_up: Vec::new() };
    let (mut cursor, mut input, mut now) = (Cursor::default(), Input::Begin, from);
    loop {
        // Waits that outlast the clock are still waits: a client without a bound goes on and on.
        if now == SimTime::NEVER {
            path.end = if goes_on_for_ever(client, script, &path) { End::Endless } else { End::TooLate };
            return (path, now);
        }
        world.retried = None;
        let sent = path.attempts.len() as u64;
        let next = client.advance(&mut states, &mut cursor, input, now, &mut (&mut *world, sent));
        if let (Some(layer), Some(attempt)) = (world.retried, path.attempts.last_mut()) {
            attempt.retried_by = Some(layer);
        }
        match next {
            Next::Send => {
                world.gave_up.clear();
                if path.attempts.len() >= most {
                    path.end = if goes_on_for_ever(client, script, &path) { End::Endless } else { End::CutOff };
                    return (path, now);
                }
                let (ended, answer) = if let Some(hedge) = client.hedge() {
                    hedged(client, hedge, script, &states, now, world.budgets, &mut path.attempts)
                } else {
                    let (ended, answer) = ask(client, script, &states, now, sent);
                    path.attempts.push(Attempt {
                        sent: now,
                        ended,
                        answer,
                        route: client.route(&states),
                        retried_by: None,
                    });
                    (ended, answer)
                };
                path.last = answer;
                if ended == SimTime::NEVER {
                    path.end = if ends_some_time(client, script.entry(sent)) { End::TooLate } else { End::Hangs };
                    return (path, now);
                }
                (now, input) = (ended, Input::Answered(answer));
            }
            // The guards of a probe let everybody pass.
            Next::Park(_) | Next::Line(_) => {
                path.end = End::Hangs;
                return (path, now);
            }
            Next::Sleep { until, .. } => (now, input) = (until, Input::Woken),
            Next::Requeue { at, .. } => (now, input) = (at, Input::Begin),
            Next::Done(answer) => {
                path.last = answer;
                path.gave_up = std::mem::take(&mut world.gave_up);
                return (path, now);
            }
        }
    }
}

/// Whether a path that was cut off would have gone on for ever: the script repeats its last answer, and the layer that
/// goes on has no bound on attempts, on time or on what retries cost.
fn goes_on_for_ever(client: &Client, script: &Script, path: &Path) -> bool {
    let layer = path.attempts.last().and_then(|attempt| attempt.retried_by);
    let policy = layer.and_then(|layer| client.elements()[layer].role.policy());
    let is_free = |policy: &RetryPolicy| {
        policy.max_attempts.is_none()
            && policy.deadline.is_none()
            && policy.budget.is_none()
            && policy.retries_by_kind.is_empty()
    };
    path.attempts.len() > script.entries().len() && policy.is_some_and(is_free)
}

/// Whether a request with this answer ends, however late: by itself, or because the client gives it up.
fn ends_some_time(client: &Client, entry: &Entry) -> bool {
    let course = entry.course(SimTime::ZERO, SimDuration::ZERO, SimDuration::ZERO);
    entry.after.is_some() || client.ever_gives_up(&course)
}

/// When request number `n` ends, and with what: the scripted answer, or the client's timeout.
pub(super) fn ask(client: &Client, script: &Script, states: &[LayerState], now: SimTime, n: u64) -> (SimTime, Answer) {
    let entry = script.entry(n);
    let course = entry.course(now, SimDuration::ZERO, SimDuration::ZERO);
    match client.gives_up(states, now, &course) {
        None => (course.ends, entry.answer(client.grammar(), course.ends)),
        Some((at, outcome)) => (at, Answer::failed(outcome)),
    }
}
