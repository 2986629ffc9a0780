//! How many requests can one call, one call site, one task cost at worst? The provider is an adversary: it chooses
//! each answer, success included, to make the stack send as much as it can.
//!
//! Let `f(x)` be the most requests with which the elements up to a place can end in answer `x`. A bare request has
//! `f = 1` for all it may answer. Around it, a layer of `n` attempts repeats `n − 1` times what costs most among the
//! answers it repeats, and then ends in `x`:
//!
//! `f′(x) = (n − 1) · max { f(r) : r repeated } + f(x)`
//!
//! for every `x`, success included: a success on the last request costs as much as a failure. A layer that repeats
//! nothing which can come out of the inside adds nothing. With `M` for the stack of one step, `S` steps and `R` runs:
//!
//! - a queue that restarts the task pays `R · S · M`: in every run all steps but the last succeed on their last
//!   request, and the last one fails;
//! - a queue that resumes at the failed step pays `S · M + (R − 1) · M`: each step is passed once, and each failed run
//!   costs one more failing step.
//!
//! What is counted is what reaches the provider: the requests that a hop sends by itself, and all that a hedge sends for
//! one, are among them.
//!
//! A total time limit only bounds `n`, by the shortest waits and answers that take no time, so that with one the
//! numbers are bounds that may not be reached. Open breakers only take requests away.

use super::answers::refusal;
use super::ladder::attempts_bound;
use crate::policy::stack::Resume;
use crate::policy::{Answer, Client, Element, Guard, Kind, RetryPolicy, Role};

/// Stands for "no bound" inside saturating arithmetic.
const ENDLESS: u64 = u64::MAX;

/// The most requests at each level of a stack; `None` is without bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Runs of a task; 1 without a queue layer.
    pub runs: Option<u64>,
    /// Calls that one step makes in one run.
    pub calls_per_step: Option<u64>,
    /// Calls of a task, over all its runs.
    pub calls_per_task: Option<u64>,
    /// Requests of one call.
    pub per_call: Option<u64>,
    /// Requests of one step in one run.
    pub per_step: Option<u64>,
    /// Requests of one step, over all runs.
    pub per_call_site: Option<u64>,
    /// Requests of a task, over all steps and runs.
    pub per_task: Option<u64>,
}

impl Worst {
    /// What `client` can do to a task of so many steps, when each request may get any of `choices`.
    pub fn of(client: &Client, guards: &[Guard], choices: &[Answer], steps: u64) -> Worst {
        Worst::of_stages(&vec![vec![client]; steps as usize], guards, choices)
    }

    /// What a class can do to a task whose stages have steps with these clients, in order; the steps of one stage run at
    /// once. All have the same queue layer, if any.
    pub fn of_stages(stages: &[Vec<&Client>], guards: &[Guard], choices: &[Answer]) -> Worst {
        let clients = || stages.iter().flatten();
        let steps: Vec<StepTally> = clients().map(|client| StepTally::of(client, guards, choices)).collect();
        let queue = clients().next().and_then(|client| client.queue());
        let tallies: Vec<&Tally> = steps.iter().map(|step| &step.step).collect();
        let most = |of: fn(&StepTally) -> &Tally| steps.iter().map(|step| of(step).worst()).max().unwrap_or(0);
        let runs = queue.map_or(1, |(policy, _)| runs(&tallies, policy));
        let again = queue.map(|(policy, requeue)| Again { policy, resume: requeue.resume, runs: runs - 1 });
        let calls: Vec<&Tally> = steps.iter().map(|step| &step.calls).collect();
        let lengths: Vec<usize> = stages.iter().map(Vec::len).collect();
        let costs = |tallies: &[&Tally]| stage_costs(tallies, &lengths, again);
        let at_once = lengths.iter().any(|length| *length > 1);
        Worst {
            runs: finite(runs),
            calls_per_step: finite(most(|step| &step.calls)),
            calls_per_task: finite(task(&costs(&calls), again)),
            per_call: finite(most(|step| &step.requests)),
            per_step: finite(most(|step| &step.step)),
            per_call_site: finite(
                tallies.iter().map(|step| step.site(again, tallies.len(), at_once)).max().unwrap_or(0),
            ),
            per_task: finite(task(&costs(&tallies), again)),
        }
    }
}

/// What one step can cost.
struct StepTally {
    /// Requests of one call.
    requests: Tally,
    /// Requests of the step in one run.
    step: Tally,
    /// Its calls in one run.
    calls: Tally,
}

impl StepTally {
    fn of(client: &Client, guards: &[Guard], choices: &[Answer]) -> StepTally {
        let inside = &client.elements()[..client.queue_element().unwrap_or(client.elements().len())];
        let call = client.client_elements();
        let (hops, own) = call.split_at(client.hops().len());
        let behind = Tally::through(Tally::one_each(choices), client, hops, guards);
        let requests = Tally::through(behind.seen_through_hops(client), client, own, guards);
        let step = Tally::through(requests.clone(), client, &inside[call.len()..], guards);
        let began = Tally { most: requests.most.iter().map(|(answer, _)| (*answer, 1)).collect() };
        let calls = Tally::through(began, client, &inside[call.len()..], guards);
        StepTally { requests, step, calls }
    }
}

/// What a queue adds: more runs.
#[derive(Clone, Copy)]
struct Again<'a> {
    policy: &'a RetryPolicy,
    resume: Resume,
    /// How many, beyond the first.
    runs: u64,
}

/// The most requests with which the elements up to some place can end in each answer.
#[derive(Clone)]
struct Tally {
    most: Vec<(Answer, u64)>,
}

impl Tally {
    fn one_each(choices: &[Answer]) -> Tally {
        Tally { most: choices.iter().map(|answer| (*answer, 1)).collect() }
    }

    fn through(mut self, client: &Client, elements: &[Element], guards: &[Guard]) -> Tally {
        for element in elements {
            match &element.role {
                Role::Retry(policy) | Role::Queue(policy, _) => self.repeat(policy),
                Role::Fallback(fallback) => self.repeat(fallback.policy()),
                Role::Guard(guard) => self.gate(&guards[*guard], client),
                Role::Hedge(hedge) => self.send_several(u64::from(hedge.max)),
            }
            if element.role.policy().is_some() {
                // With that status it goes on outward, whatever else carries it.
                self.most.iter_mut().for_each(|(answer, _)| *answer = answer.beyond_a_layer());
            }
        }
        self
    }

    /// What the client sees of what a hop ends in. It may also give up on the hop at any time.
    fn seen_through_hops(self, client: &Client) -> Tally {
        if client.hops().is_empty() {
            return self;
        }
        let mut seen = Tally { most: Vec::with_capacity(self.most.len()) };
        if client.ever_leaves_hops() {
            seen.most.push((Answer::TIMED_OUT, self.worst()));
        }
        for (answer, requests) in self.most {
            let answer = answer.through_a_hop();
            match seen.most.iter_mut().find(|(known, _)| *known == answer) {
                Some((_, most)) => *most = requests.max(*most),
                None => seen.most.push((answer, requests)),
            }
        }
        seen
    }

    /// A hedge may send all of its requests before the first answer is back.
    fn send_several(&mut self, most: u64) {
        for (_, requests) in &mut self.most {
            *requests = requests.saturating_mul(most);
        }
    }

    fn repeat(&mut self, policy: &RetryPolicy) {
        let Some(dearest) = self.dearest_repeated(policy) else { return };
        let more = attempts_bound(policy).map_or(ENDLESS, |n| n - 1).saturating_mul(dearest);
        for (_, requests) in &mut self.most {
            *requests = requests.saturating_add(more);
        }
    }

    /// A guard that refuses adds one more way to end, for no request.
    fn gate(&mut self, guard: &Guard, client: &Client) {
        let Some(refusal) = refusal(guard, client) else { return };
        if !self.most.iter().any(|(answer, _)| *answer == refusal) {
            self.most.push((refusal, 0));
        }
    }

    /// The most requests with which something ends that the policy repeats; `None` where nothing does.
    fn dearest_repeated(&self, policy: &RetryPolicy) -> Option<u64> {
        let repeated = self.most.iter().filter(|(answer, _)| !answer.is_delivered() && policy.retry_on.repeats(answer));
        repeated.map(|(_, requests)| *requests).max()
    }

    fn worst(&self) -> u64 {
        self.most.iter().map(|(_, requests)| *requests).max().unwrap_or(0)
    }

    fn delivered(&self) -> u64 {
        self.most.iter().filter(|(answer, _)| answer.is_delivered()).map(|(_, requests)| *requests).max().unwrap_or(0)
    }

    /// One step over all runs. Where the queue restarts, a step before the last one is passed again in every run; where
    /// steps run at once, another one may be what fails the run.
    fn site(&self, again: Option<Again<'_>>, steps: usize, at_once: bool) -> u64 {
        let again = again.map_or(0, |again| {
            let dearest = self.dearest_repeated(again.policy).unwrap_or(0);
            let each = match again.resume {
                Resume::Restart | Resume::FailedStep if at_once => self.worst(),
                Resume::Restart if steps > 1 => dearest.max(self.delivered()),
                Resume::Restart | Resume::FailedStep => dearest,
            };
            again.runs.saturating_mul(each)
        });
        self.worst().saturating_add(again)
    }
}

/// What a stage of a task can cost: a step, or several that run at once.
#[derive(Clone, Copy, Default)]
struct StageCost {
    /// However it ends.
    worst: u64,
    /// When it is passed.
    delivered: u64,
    /// When it fails so that the queue tries again; `None` where it cannot.
    repeated: Option<u64>,
}

/// The costs of stages of these lengths.
fn stage_costs(steps: &[&Tally], lengths: &[usize], again: Option<Again<'_>>) -> Vec<StageCost> {
    let mut steps = steps.iter();
    let stage = |length: &usize| {
        let mut cost = StageCost::default();
        for step in steps.by_ref().take(*length) {
            let worst = step.worst();
            let own = again.and_then(|again| step.dearest_repeated(again.policy));
            // One of those that run at once fails the run; the others cost what they can.
            let with_others = own.map(|own| cost.worst.saturating_add(own));
            let beside_others = cost.repeated.map(|repeated| repeated.saturating_add(worst));
            cost.repeated = with_others.max(beside_others);
            cost.worst = cost.worst.saturating_add(worst);
            cost.delivered = cost.delivered.saturating_add(step.delivered());
        }
        cost
    };
    lengths.iter().map(stage).collect()
}

/// All stages over all runs: the last run ends at whichever stage makes it dearest, and so does each run before it.
fn task(stages: &[StageCost], again: Option<Again<'_>>) -> u64 {
    let (mut passed, mut last, mut failed, mut dearest) = (0_u64, 0_u64, 0_u64, 0_u64);
    for stage in stages {
        last = last.max(passed.saturating_add(stage.worst));
        if let Some(repeated) = stage.repeated {
            failed = failed.max(passed.saturating_add(repeated));
            dearest = dearest.max(repeated);
        }
        passed = passed.saturating_add(stage.delivered);
    }
    let again = again.map_or(0, |again| {
        again.runs.saturating_mul(match again.resume {
            Resume::Restart => failed,
            Resume::FailedStep => dearest,
        })
    });
    last.saturating_add(again)
}

/// Runs of a task; 1 where the queue repeats nothing that a run can end in.
fn runs(steps: &[&Tally], policy: &RetryPolicy) -> u64 {
    let repeated = steps.iter().any(|step| step.dearest_repeated(policy).is_some());
    if repeated { attempts_bound(policy).unwrap_or(ENDLESS) } else { 1 }
}

const fn finite(number: u64) -> Option<u64> {
    if number == ENDLESS { None } else { Some(number) }
}

/// What one attempt of an element is called, inside its client.
pub fn unit(client: &Client, at: usize) -> &'static str {
    let retries = |element: &Element| element.role.policy().is_some();
    let elements = client.elements();
    match elements[at].kind {
        Kind::Queue => "run",
        Kind::Hop | Kind::Client | Kind::Decorator if !elements[..at].iter().any(retries) => "request",
        Kind::Decorator if !elements[..at].iter().any(|e| e.kind == Kind::Decorator && retries(e)) => "call",
        Kind::Hop | Kind::Client | Kind::Decorator => "try",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::answers::choices;
    use crate::explain::fixture::{client, decorator, fixed, incident, inner, queue, sdk};
    use crate::provider::Provider;
    use crate::units::SimDuration;

    fn worst(client: &Client, steps: u64) -> Worst {
        Worst::of(client, &incident(true).guards, &choices(&Provider::default()), steps)
    }

    #[test]
    fn the_incidents_bounds_are_those_worked_out_by_hand() {
        // By hand, old: 3, 4 · 3 = 12, 3 · 12 = 36, 3 · 3 · 12 = 108; 3 · 4 · 3 = 36 calls.
        let old = worst(&incident(false).clients[0], 3);
        assert_eq!([old.per_call, old.per_step, old.per_call_site, old.per_task], [3, 12, 36, 108].map(Some));
        assert_eq!([old.runs, old.calls_per_step, old.calls_per_task], [3, 4, 36].map(Some));
        // New: 4, 3 · 4 = 12, three failed calls of 4 and two late successes of 4 = 20; 5 calls.
        let new = worst(&incident(true).clients[0], 3);
        assert_eq!([new.per_call, new.per_step, new.per_call_site, new.per_task], [4, 4, 12, 20].map(Some));
        assert_eq!(new.calls_per_task, Some(5));
    }

    #[test]
    fn without_checkpoints_the_fixed_client_costs_36_again() {
        // By hand: 3 runs · 3 steps · 4 requests, in 9 calls.
        let client = client("batch", vec![inner("sdk", sdk(4)), queue(3, &[3, 10], Resume::Restart)]);
        let worst = worst(&client, 3);
        assert_eq!([worst.per_call_site, worst.per_task, worst.calls_per_task], [12, 36, 9].map(Some));
    }

    #[test]
    fn the_same_word_in_three_libraries_multiplies_to_72() {
        // Measured: openai 3.57.0 (retries 2) in tenacity 9.2.1 (6 attempts) in celery 5.7.0 (retries 3): 72.
        let stack = vec![
            inner("sdk", sdk(3)),
            decorator("decorator", fixed(6, SimDuration::ZERO)),
            queue(4, &[], Resume::Restart),
        ];
        assert_eq!(worst(&client("a", stack), 1).per_task, Some(72));
        // By hand: one setting of 3 retries that lands in two layers: (1 + 3)² = 16.
        let twice = vec![inner("one", sdk(4)), inner("other", sdk(4))];
        assert_eq!(worst(&client("b", twice), 1).per_task, Some(16));
    }

    #[test]
    fn zero_retries_are_one_request_and_no_limit_is_no_bound() {
        assert_eq!(worst(&client("none", vec![inner("sdk", sdk(1))]), 1).per_task, Some(1));
        assert_eq!(worst(&client("empty", Vec::new()), 3).per_task, Some(3));
        let endless = RetryPolicy { max_attempts: None, ..fixed(1, SimDuration::from_secs(1)) };
        let worst = worst(&client("endless", vec![inner("sdk", sdk(3)), decorator("forever", endless)]), 2);
        assert_eq!([worst.per_call, worst.per_step, worst.per_task], [Some(3), None, None]);
    }
}
