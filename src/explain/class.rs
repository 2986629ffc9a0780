//! One traffic class: its layers, what they multiply to in each case, and against which windows their waits can last.

use super::answers::{AnswerKind, choices, refusals, refusing, shown};
use super::course::{Course, courses, of_task, product};
use super::delivery::DeliveryBound;
use super::ladder::{Ladder, Span, attempts_bound};
use super::layer::LayerExplanation;
use super::outage::Outage;
use super::outlasting::{Outlasting, outlasts};
use super::worst::Worst;
use crate::policy::stack::Resume;
use crate::policy::{Answer, Client, RetryPolicy, Role};
use crate::scenario::Scenario;
use crate::traffic::{TaskKind, TrafficClass};
use crate::units::SimDuration;

/// What one traffic class can do at worst.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassExplanation {
    /// Its name.
    pub name: String,
    /// Jobs or turns.
    pub kind: TaskKind,
    /// The pool whose workers it shares.
    pub pool: Option<String>,
    /// The name of its client.
    pub client: String,
    /// The names of the steps that use this client.
    pub steps: Vec<String>,
    /// The time within which a task is wanted.
    pub sla: Option<SimDuration>,
    /// Whether a cache may keep some of its input, which nobody can tell without a run.
    pub is_cached: bool,
    /// Its layers and guards, innermost first.
    pub layers: Vec<LayerExplanation>,
    /// The most requests at each level, whatever is answered, over all steps of the class.
    pub worst: Worst,
    /// The same for the steps that use this client, as if there were no others.
    pub step_worst: Worst,
    /// What happens when every request gets the same answer.
    pub by_answer: Vec<AnswerCase>,
    /// The longest that one request may take.
    pub timeout: Option<SimDuration>,
    /// The longest until an answer in one piece is there, on a connection that stands.
    pub answered_within: Option<SimDuration>,
    /// The worst way through one step in one run.
    pub step_course: Course,
    /// The worst way through a whole task.
    pub task_course: Course,
    /// The worst way up to each layer, innermost first as `layers`.
    pub layer_courses: Vec<Course>,
    /// What a job costs that fails at its last step, where a queue restarts it.
    pub late_failure: Option<LateFailure>,
    /// The waits against each fault window and each rate limit.
    pub outlasts: Vec<Outlasting>,
    /// The steps that use another client: what is said above of one client is said here of each.
    pub others: Vec<ClassExplanation>,
    /// How often the delivery of the queue may run a job, where it changes anything; it is in `worst`.
    pub delivery: Option<DeliveryBound>,
    /// The names of the steps of each group that runs at once.
    pub at_once: Vec<Vec<String>>,
    /// What guards and retry budgets leave of it in an outage; `None` where there are none.
    pub outage: Option<Outage>,
}

/// Every request gets the same answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerCase {
    /// The answer's word.
    pub word: String,
    /// The layers that repeat it and have more than one attempt, outermost first, with their attempts.
    pub layers: Vec<(String, Option<u64>)>,
    /// Requests of one call.
    pub per_call: Option<u64>,
    /// Requests of one step, over all runs.
    pub per_call_site: Option<u64>,
    /// Runs that are used up.
    pub runs: Option<u64>,
    /// All waits of one step, over all runs, hints left out.
    pub waits: Span,
}

/// A job that gets past all steps but the last one in every run, where a queue restarts it from its first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateFailure {
    /// Runs.
    pub runs: u64,
    /// Steps of the task.
    pub steps: u64,
    /// Requests of the failing step in one run.
    pub per_step: u64,
    /// Requests of one call.
    pub per_call: u64,
}

impl LateFailure {
    /// Requests of the job when each earlier step is answered on its request number `n`, from 1.
    pub const fn answered_on(&self, n: u64) -> u64 {
        self.runs * ((self.steps - 1) * n + self.per_step)
    }

    /// Requests of a job whose first step never gets through.
    pub const fn refused_from_the_start(&self) -> u64 {
        self.runs * self.per_step
    }
}

impl ClassExplanation {
    /// The explanation of one class of a scenario.
    pub fn of(scenario: &Scenario, class_index: usize) -> ClassExplanation {
        let class = &scenario.traffic[class_index];
        let mut parts =
            by_client(scenario, class).into_iter().map(|(client, steps)| part(scenario, class_index, client, &steps));
        let Some(mut whole) = parts.next() else {
            return part(scenario, class_index, scenario.client_of(class), &[]);
        };
        whole.others = parts.collect();
        whole.at_once =
            class.groups().map(|group| group.map(|step| class.steps[step].name.clone()).collect()).collect();
        if !whole.others.is_empty() || class.has_groups() {
            let stages = stages(class, |step| scenario.client_at(class, step));
            whole.worst = Worst::of_stages(&stages, &scenario.guards, &choices(&scenario.provider));
            let course = of_task(&stages, |client, policy| repeats_something(scenario, client)(policy));
            whole.task_course = Course { requests: whole.worst.per_task, ..course };
            whole.late_failure = None;
        }
        whole.outage = Outage::of(scenario, class);
        whole.delivery = DeliveryBound::of(scenario, class);
        if let Some(bound) = whole.delivery {
            let resume = scenario.client_of(class).queue().map(|(_, requeue)| requeue.resume);
            whole.worst = bound.widen(&whole.worst, class.steps.len() as u64, resume);
            whole.task_course = Course { requests: whole.worst.per_task, ..whole.task_course };
            whole.late_failure = None;
        }
        whole
    }

    /// How many steps a task has.
    pub fn step_count(&self) -> usize {
        self.parts().map(|part| part.steps.len()).sum()
    }

    /// The class's parts by the clients of their steps: itself, and then the others.
    pub fn parts(&self) -> impl Iterator<Item = &ClassExplanation> {
        std::iter::once(self).chain(&self.others)
    }

    /// Whether someone waits for each task: a live turn, or a stated limit on its time.
    pub const fn someone_waits(&self) -> bool {
        matches!(self.kind, TaskKind::Turns) || self.sla.is_some()
    }

    /// What one task is called.
    pub const fn task_noun(&self) -> &'static str {
        match self.kind {
            TaskKind::Jobs { .. } => "job",
            TaskKind::Turns => "turn",
        }
    }

    /// One task of the class, such as "report job"; a class that is called after it says it once.
    pub fn task(&self) -> String {
        let noun = self.task_noun();
        let name = self.name.replace('_', " ");
        match name.as_str() {
            name if name == noun || name.strip_suffix('s') == Some(noun) => noun.to_owned(),
            name if name.ends_with(&format!(" {noun}")) => name.to_owned(),
            name => format!("{name} {noun}"),
        }
    }

    /// The most requests of one call site when it always gets the same answer: what a mixture of answers may exceed.
    pub fn worst_of_one_answer(&self) -> Option<u64> {
        self.by_answer.iter().map(|case| case.per_call_site.unwrap_or(u64::MAX)).max().filter(|most| *most < u64::MAX)
    }
}

/// The different clients of a class's steps, each with the steps that use it; the class's own comes first where a step
/// uses it.
pub(super) fn by_client<'a>(scenario: &'a Scenario, class: &'a TrafficClass) -> Vec<(&'a Client, Vec<usize>)> {
    let mut parts: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
    for (index, step) in class.steps.iter().enumerate() {
        match parts.iter_mut().find(|(other, _)| *other == step.other) {
            Some((_, steps)) => steps.push(index),
            None => parts.push((step.other, vec![index])),
        }
    }
    parts.sort_by_key(|(other, _)| other.is_some());
    parts.into_iter().map(|(_, steps)| (scenario.client_at(class, steps[0]), steps)).collect()
}

/// The steps of a class that use one client, as if the class had no others.
fn part(scenario: &Scenario, class_index: usize, client: &Client, steps: &[usize]) -> ClassExplanation {
    let class = &scenario.traffic[class_index];
    let kinds = shown(&scenario.provider, &scenario.guards, client);
    let worst = Worst::of(client, &scenario.guards, &choices(&scenario.provider), steps.len() as u64);
    let repeats = repeats_something(scenario, client);
    let layer_courses = courses(client, &repeats, None);
    let inside = client.elements().len() - usize::from(client.queue().is_some());
    let bare = Course::request(client.innermost_timeout());
    let step = if inside == 0 { bare } else { layer_courses[inside - 1] };
    let task_course = of_task(&vec![vec![client]; steps.len()], |_, policy| repeats(policy));
    ClassExplanation {
        name: class.name.clone(),
        kind: class.kind,
        pool: scenario.pool_of(class).map(|pool| pool.name.clone()),
        client: client.name.clone(),
        steps: steps.iter().map(|step| class.steps[*step].name.clone()).collect(),
        sla: class.sla,
        is_cached: scenario.provider.cache.is_some()
            && class.sizes.as_ref().is_some_and(|sizes| sizes.block_count() > 0),
        layers: (0..client.elements().len())
            .map(|at| LayerExplanation::of(client, at, &scenario.guards, &kinds))
            .collect(),
        step_worst: worst,
        worst,
        by_answer: kinds.iter().map(|kind| answer_case(scenario, client, kind)).collect(),
        timeout: client.timeout(),
        answered_within: client.patience().timeouts.until_answered(),
        step_course: Course { requests: worst.per_step, ..step },
        task_course: Course { requests: worst.per_task, ..task_course },
        layer_courses,
        late_failure: late_failure(client, &worst, steps.len() as u64),
        outlasts: outlasts(scenario, class_index, client),
        others: Vec::new(),
        delivery: None,
        at_once: Vec::new(),
        outage: None,
    }
}

/// The clients of a class's stages, step by step.
fn stages<'a>(class: &TrafficClass, client_of: impl Fn(usize) -> &'a Client) -> Vec<Vec<&'a Client>> {
    class.stages().map(|stage| stage.map(&client_of).collect()).collect()
}

/// Whether a policy of this client repeats anything that can come out of what is inside it.
fn repeats_something(scenario: &Scenario, client: &Client) -> impl Fn(&RetryPolicy) -> bool {
    let choices = choices(&scenario.provider);
    let refusals = refusals(&scenario.guards, client);
    move |policy: &RetryPolicy| {
        let failure = |answer: &Answer| !answer.is_delivered() && policy.retry_on.repeats(answer);
        choices.iter().chain(&refusals).any(failure)
    }
}

/// The worst way through a whole task of a class with another client than its own.
pub(super) fn task_course(scenario: &Scenario, class: usize, client: &Client) -> Course {
    let class = &scenario.traffic[class];
    let own = by_client(scenario, class).first().map_or_else(Vec::new, |(_, steps)| steps.clone());
    let of_step = |step| if own.contains(&step) { client } else { scenario.client_at(class, step) };
    of_task(&stages(class, of_step), |client, policy| repeats_something(scenario, client)(policy))
}

fn answer_case(scenario: &Scenario, client: &Client, kind: &AnswerKind) -> AnswerCase {
    // A refusal of a guard is seen by the layers outside it only, and costs no request.
    let outside = refusing(&scenario.guards, client, &kind.answer).unwrap_or(0);
    let mut case = AnswerCase {
        word: kind.word.clone(),
        layers: Vec::new(),
        per_call: Some(u64::from(kind.answer.outcome.was_sent())),
        per_call_site: None,
        runs: Some(1),
        waits: Span::ZERO,
    };
    case.per_call_site = case.per_call;
    for (at, element) in client.elements().iter().enumerate().skip(outside) {
        if let (Role::Hedge(hedge), true) = (&element.role, kind.answer.outcome.was_sent()) {
            let most = Some(u64::from(hedge.max));
            case.layers.insert(0, (element.name.clone(), most));
            case.per_call_site = product(case.per_call_site, most);
            case.per_call = product(case.per_call, most);
        }
        let Some(policy) =
            element.role.policy().filter(|policy| policy.retry_on.repeats(&client.seen_at(at, &kind.answer)))
        else {
            continue;
        };
        let attempts = attempts_bound(policy);
        if attempts == Some(1) {
            continue;
        }
        case.layers.insert(0, (element.name.clone(), attempts));
        case.per_call_site = product(case.per_call_site, attempts);
        case.waits = case.waits.times(attempts).then(Ladder::own(policy).total);
        if at < client.client_elements().len() {
            case.per_call = product(case.per_call, attempts);
        }
        if matches!(element.role, Role::Queue(..)) {
            case.runs = attempts;
        }
    }
    case
}

fn late_failure(client: &Client, worst: &Worst, steps: u64) -> Option<LateFailure> {
    let (_, requeue) = client.queue()?;
    let failure = LateFailure { runs: worst.runs?, steps, per_step: worst.per_step?, per_call: worst.per_call? };
    (requeue.resume == Resume::Restart && steps > 1 && failure.runs > 1).then_some(failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{client, decorator, element, fixed, incident, inner, one_job, queue, sdk, some};
    use crate::explain::{Verdict, explain};
    use crate::policy::{Guard, Kind, Mechanism, Scope, Semaphore, SizeCheck, WhenFull};
    use crate::provider::{Fault, ModelSet, Profile, Respond, Window};
    use crate::random::Distribution;
    use crate::units::SimTime;

    fn case<'a>(class: &'a ClassExplanation, word: &str) -> &'a AnswerCase {
        class.by_answer.iter().find(|case| case.word == word).expect("a row for it")
    }

    #[test]
    fn the_product_depends_on_which_error_each_layer_repeats() {
        // By hand: 4 · 3 · 3 = 36 for dropped connections, 4 · 1 · 3 = 12 for 503, 1 · 1 · 3 = 3 for 400.
        let only = |retry_on, attempts| RetryPolicy { retry_on, ..fixed(attempts, SimDuration::ZERO) };
        let stack = vec![
            inner("http", only(some(&[429, 503], true, true), 4)),
            decorator("chain", only(some(&[], false, true), 3)),
            queue(3, &[], Resume::Restart),
        ];
        let explanation = explain(&one_job(client("c", stack), &["step"]));
        let class = &explanation.classes[0];
        let product = |word| case(class, word).per_call_site;
        assert_eq!(["dropped", "503", "timeout", "400"].map(product), [36, 12, 12, 3].map(Some));
        let names: Vec<&str> = case(class, "503").layers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["queue", "http"]);
        // Mixed answers reach the largest of them and no more; one run of 4 and two of 12 lie below it.
        assert_eq!((class.worst.per_task, class.worst_of_one_answer()), (Some(36), Some(36)));
    }

    #[test]
    fn a_short_circuit_spends_runs_and_no_request() {
        let explanation = explain(&incident(true));
        let short = case(&explanation.classes[0], "short_circuited");
        assert_eq!((short.per_call_site, short.runs), (Some(0), Some(3)));
        assert_eq!(short.layers, [("queue".to_owned(), Some(3))]);
        assert!(explanation.classes[1].by_answer.iter().all(|case| case.word != "short_circuited"));
    }

    #[test]
    fn each_refusal_of_a_guard_has_a_row_and_is_seen_by_the_layers_outside_of_it() {
        // By hand: `again` repeats anything three times; the SDK inside of the semaphore does not see its refusals.
        let semaphore = Semaphore { permits: 5, when_full: WhenFull::Reject, line: None, is_pool: false };
        let pool = Semaphore { permits: 5, when_full: WhenFull::Wait(None), line: None, is_pool: true };
        let guard = |name: &str, mechanism| Guard { name: name.into(), mechanism, scope: Scope::Client };
        let stack = vec![
            element("sockets", Kind::Client, Role::Guard(1)),
            element("fits", Kind::Client, Role::Guard(2)),
            inner("sdk", fixed(2, SimDuration::ZERO)),
            element("slots", Kind::Client, Role::Guard(0)),
            decorator("again", fixed(3, SimDuration::ZERO)),
        ];
        let mut scenario = one_job(client("c", stack), &["step"]);
        scenario.guards = vec![
            guard("slots", Mechanism::Semaphore(semaphore)),
            guard("sockets", Mechanism::Semaphore(pool)),
            guard("fits", Mechanism::Size(SizeCheck { at_most: 1 })),
        ];
        let explanation = explain(&scenario);
        let class = &explanation.classes[0];
        let layers = |word| case(class, word).layers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!((layers("limiter_full"), layers("too_large")), (vec!["again"], vec!["again", "sdk"]));
        assert_eq!(
            [case(class, "limiter_full"), case(class, "too_large")].map(|case| case.per_call_site),
            [Some(0); 2]
        );
        // A pool that waits for ever never refuses.
        assert!(class.by_answer.iter().all(|case| case.word != "pool_timeout"));
        assert_eq!(class.worst.per_task, Some(6));
    }

    #[test]
    fn a_reader_finds_the_incidents_42() {
        // By hand: 3 · (1 + 1 + 12) = 42; refused from the start 3 · 12 = 36; on the 12th request 3 · 36 = 108.
        let late = explain(&incident(false)).classes[0].late_failure.expect("a queue that restarts");
        assert_eq!([late.answered_on(1), late.answered_on(12), late.refused_from_the_start()], [42, 108, 36]);
        assert_eq!(explain(&incident(true)).classes[0].late_failure, None);
    }

    #[test]
    fn ladders_are_held_against_the_windows_they_meet() {
        let old = explain(&incident(false));
        let overload = &old.classes[0].outlasts[0];
        // By hand: 3 · (10.5 to 12) = 31.5 to 36 s of waits against 22 min.
        assert_eq!((overload.name.as_str(), overload.verdict), ("overload", Verdict::Never));
        let seconds = SimDuration::from_secs_f64;
        assert_eq!(overload.stack, Span { from: seconds(31.5), to: seconds(36.0) });
        // The limit says when the request fits, and the SDK obeys it while the decorator does not.
        let limit = &old.classes[0].outlasts[1];
        assert_eq!((limit.name.as_str(), limit.answer.as_str()), ("itpm", "429"));
        assert_eq!((limit.length, limit.verdict), (SimDuration::from_mins(1), Verdict::ByHint));
        assert_eq!(limit.layers.iter().map(|(_, _, v)| *v).collect::<Vec<_>>()[..2], [Verdict::ByHint, Verdict::Never]);
    }

    #[test]
    fn a_window_of_thirty_seconds_needs_eight_retries() {
        // By hand: up to 6 retries wait 23.5 s at most; 7 wait 23.6 to 31.5 s, 8 wait 29.6 to 39.5 s and 9 wait 35.6
        // to 47.5 s.
        let verdict = |retries: u32| {
            let mut scenario = one_job(client("c", vec![inner("sdk", sdk(retries + 1))]), &["step"]);
            let to = SimTime::ZERO + SimDuration::from_secs(30);
            scenario.provider.faults.push(Fault {
                name: "brownout".into(),
                window: Some(Window { from: SimTime::ZERO, to }),
                probability: Profile::constant(1.0).into_iter().collect(),
                carried_out: None,
                terms: None,
                respond: Respond::Status {
                    status: 529,
                    after: Distribution::constant(0.0),
                    hint: None,
                    should_retry: None,
                    code: None,
                },
                models: ModelSet::ALL,
            });
            explain(&scenario).classes[0].outlasts[0].verdict
        };
        let expected = [Verdict::Never, Verdict::Never, Verdict::Sometimes, Verdict::Sometimes, Verdict::Always];
        assert_eq!([2, 6, 7, 8, 9].map(verdict), expected);
    }

    #[test]
    fn a_client_without_elements_sends_one_request_a_step() {
        let class = &explain(&one_job(client("bare", Vec::new()), &["a", "b"])).classes[0];
        assert_eq!((class.worst.per_call, class.worst.per_task), (Some(1), Some(2)));
        assert_eq!(class.task_course.requests, Some(2));
        let guarded = client("guarded", vec![element("pacer", Kind::Client, Role::Guard(0))]);
        let mut scenario = one_job(guarded, &["a"]);
        scenario.guards = incident(true).guards;
        assert_eq!(explain(&scenario).classes[0].worst.per_task, Some(1));
    }
}
