//! What stands in a client one by one: a retry layer, a job queue around it, or a guard, each at its place between the
//! request and the job.

use super::fallback::Fallback;
use super::guard::Scope;
use super::hedge::Hedge;
use super::retry::RetryPolicy;
use super::retry_budget::RetryBudget;

/// Where an element belongs; kinds never decrease from the inside to the outside of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Between the client and the provider: a gateway, a proxy or a mesh that retries by itself. The client sees none
    /// of its requests, only what comes back in the end.
    Hop,
    /// Inside the client library: what it does belongs to one call.
    Client,
    /// Application code around a call.
    Decorator,
    /// The job queue around a run.
    Queue,
}

impl Kind {
    /// The word for it in scenario files.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Hop => "hop",
            Kind::Client => "client",
            Kind::Decorator => "decorator",
            Kind::Queue => "queue",
        }
    }
}

/// Where in the queue a retried job goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind all that wait.
    Back,
    /// Ahead of all that wait.
    Front,
}

/// Where a retried job goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// At its first step: what was already done is done, and paid, again.
    Restart,
    /// At the step that failed: finished steps keep their result.
    FailedStep,
}

/// What a job queue adds to a retry policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requeue {
    /// Where a retried job is put.
    pub place: Place,
    /// Where it goes on.
    pub resume: Resume,
}

/// What an element does.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// It repeats failures.
    Retry(RetryPolicy),
    /// It repeats failed runs of a job through the queue.
    Queue(RetryPolicy, Requeue),
    /// It gates: the guard of this index in the scenario.
    Guard(usize),
    /// It sends a request again while the first one is still out.
    Hedge(Hedge),
    /// It asks other models after a failure.
    Fallback(Fallback),
}

impl Role {
    /// The retry policy, where the element has one; a fallback is a layer that repeats, with another model.
    pub const fn policy(&self) -> Option<&RetryPolicy> {
        match self {
            Role::Retry(policy) | Role::Queue(policy, _) => Some(policy),
            Role::Fallback(fallback) => Some(fallback.policy()),
            Role::Guard(_) | Role::Hedge(_) => None,
        }
    }

    /// The budget that pays for its retries or hedges, where it has one, and who shares it.
    pub fn budget(&self) -> Option<(&RetryBudget, Scope)> {
        match self {
            Role::Hedge(hedge) => hedge.budget.as_ref().map(|(budget, scope)| (budget, *scope)),
            role => {
                let policy = role.policy()?;
                Some((policy.budget.as_ref()?, policy.budget_scope))
            }
        }
    }

    /// The index of the guard, where the element is one.
    pub const fn guard(&self) -> Option<usize> {
        match self {
            Role::Guard(guard) => Some(*guard),
            Role::Retry(_) | Role::Queue(..) | Role::Hedge(_) | Role::Fallback(_) => None,
        }
    }

    /// The fallback, where the element is one.
    pub const fn fallback(&self) -> Option<&Fallback> {
        match self {
            Role::Fallback(fallback) => Some(fallback),
            Role::Retry(_) | Role::Queue(..) | Role::Guard(_) | Role::Hedge(_) => None,
        }
    }

    /// Whether it repeats with other models.
    pub const fn is_fallback(&self) -> bool {
        self.fallback().is_some()
    }
}

/// One element of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its name; jitter is keyed by it, so that adding another layer moves no draw of this one.
    pub name: String,
    /// Where it belongs.
    pub kind: Kind,
    /// What it does.
    pub role: Role,
    /// The preset it came from, such as `anthropic-python-1.13`.
    pub preset: Option<String>,
    /// The settings that came from the preset's defaults and that the file does not spell out.
    pub unspoken: Vec<String>,
}
