//! The waits of a class's layers against the windows and limits that they meet: do they reach past them?

use super::answers::{of_fault, word};
use super::course::of_answer;
use super::ladder::{Ladder, Span, attempts_bound};
use crate::policy::{Answer, Client, Hint, HintRule, RetryPolicy};
use crate::provider::ModelSet;
use crate::scenario::Scenario;
use crate::units::SimDuration;

/// Whether waits outlast a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Even the longest waits end inside it.
    Never,
    /// It depends on the jitter.
    Sometimes,
    /// Even the shortest waits reach past it.
    Always,
    /// The waits follow the server's hint, which says when it is over.
    ByHint,
    /// The answer is not repeated at all.
    NotRepeated,
}

impl Verdict {
    /// The word for it in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Never => "never",
            Verdict::Sometimes => "sometimes",
            Verdict::Always => "always",
            Verdict::ByHint => "by_hint",
            Verdict::NotRepeated => "not_repeated",
        }
    }

    fn of(waits: Span, length: SimDuration) -> Verdict {
        if waits.from >= length {
            Verdict::Always
        } else if waits.to >= length {
            Verdict::Sometimes
        } else {
            Verdict::Never
        }
    }
}

/// The waits of a class against one window.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlasting {
    /// The name of the fault or the limit.
    pub name: String,
    /// Whether it is a rate limit: its length is the time from empty to full.
    pub is_limit: bool,
    /// How long it lasts; of episodes on average.
    pub length: SimDuration,
    /// Whether it comes in episodes.
    pub in_episodes: bool,
    /// The word of the answer it gives.
    pub answer: String,
    /// Each layer that repeats the answer, innermost first, with its own ladder.
    pub layers: Vec<(String, Span, Verdict)>,
    /// All waits of a step, over all runs.
    pub stack: Span,
    /// Whether these outlast it.
    pub verdict: Verdict,
}

/// The waits of a client against all windows and limits that the class can meet.
pub fn outlasts(scenario: &Scenario, class: usize, client: &Client) -> Vec<Outlasting> {
    let asked = scenario.models_of(&scenario.traffic[class]);
    let meets = |models: ModelSet| asked.iter().any(|model| models.contains(*model));
    let faults = scenario.provider.faults.iter().filter(|fault| meets(fault.models)).filter_map(|fault| {
        let length = fault.stretch().filter(|_| fault.peak(class) > 0.0)?;
        let answers = of_fault(&fault.respond, client.grammar()).into_iter();
        let in_episodes = fault.comes_in_episodes();
        let one = move |answer| Outlasting { in_episodes, ..outlasting(client, &fault.name, length, answer, false) };
        Some(answers.map(one))
    });
    let faults = faults.flatten();
    let limits = scenario.provider.limits.iter().filter(|limit| meets(limit.models) && limit.meter.span().is_some());
    let limits =
        limits.filter(|limit| super::load::counts_class(scenario, limit, &scenario.traffic[class])).map(|limit| {
            let least = limit.hint.map(|form| form.hint(SimDuration::from_nanos(1)));
            let answer = Answer::refused(limit.status).with_hint(least);
            outlasting(client, &limit.name, limit.meter.span().unwrap_or_default(), answer, true)
        });
    let goes_elsewhere = goes_elsewhere(scenario, client);
    faults.chain(limits).map(|found| if goes_elsewhere { found.at_once() } else { found }).collect()
}

/// Whether a retry may go to another deployment, without a wait.
fn goes_elsewhere(scenario: &Scenario, client: &Client) -> bool {
    let mut guards = client.elements().iter().filter_map(|element| element.role.guard());
    guards.any(|guard| scenario.guards[guard].deployments().is_some_and(|choice| choice.to.len() > 1))
}

impl Outlasting {
    /// The same where any of the waits may be left out, and the hints with them.
    fn at_once(mut self) -> Outlasting {
        let length = self.length;
        let left_out = |span: &mut Span, verdict: &mut Verdict| {
            span.from = SimDuration::ZERO;
            if *verdict != Verdict::NotRepeated {
                *verdict = Verdict::of(*span, length);
            }
        };
        self.layers.iter_mut().for_each(|(_, span, verdict)| left_out(span, verdict));
        left_out(&mut self.stack, &mut self.verdict);
        self
    }
}

/// `answer` carries its hint; a rate limit's hint is the least that it sends.
fn outlasting(client: &Client, name: &str, length: SimDuration, answer: Answer, is_limit: bool) -> Outlasting {
    let repeating: Vec<(&str, &RetryPolicy)> = client
        .elements()
        .iter()
        .filter(|element| !element.role.is_fallback())
        .filter_map(|element| Some((element.name.as_str(), element.role.policy()?)))
        .filter(|(_, policy)| policy.retry_on.repeats(&answer) && attempts_bound(policy) != Some(1))
        .collect();
    // The hint of a rate limit says when the request fits: a layer that obeys it needs no long ladder of its own.
    let follows =
        |policy: &RetryPolicy| is_limit && policy.hint_in(&answer) != Hint::None && policy.hint != HintRule::Ignore;
    let layers: Vec<(String, Span, Verdict)> = repeating
        .iter()
        .map(|(name, policy)| {
            let total = Ladder::with_hint(policy, policy.hint_in(&answer).wait()).total;
            let verdict = if follows(policy) { Verdict::ByHint } else { Verdict::of(total, length) };
            ((*name).to_owned(), total, verdict)
        })
        .collect();
    let stack = of_answer(client, &answer).waits();
    let verdict = if layers.is_empty() {
        Verdict::NotRepeated
    } else if repeating.iter().any(|(_, policy)| follows(policy)) {
        Verdict::ByHint
    } else {
        Verdict::of(stack, length)
    };
    let word = word(&answer);
    Outlasting { name: name.to_owned(), is_limit, length, answer: word, layers, stack, verdict, in_episodes: false }
}
