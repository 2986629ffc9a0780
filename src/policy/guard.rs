//! A guard stands somewhere in a stack and may forbid or delay what passes. It has a name, because several clients may
//! share one, and a scope, because whether eight workers share a breaker or own eight decides when it trips.

use super::adaptive_concurrency::AdaptiveConcurrency;
use super::adaptive_throttle::AdaptiveThrottle;
use super::answer::Outcome;
use super::circuit_breaker::{BreakerCounts, CircuitBreaker, WhenOpen};
use super::cubic_rate::CubicRate;
use super::deployments::Deployments;
use super::pacer::Pacer;
use super::semaphore::{Semaphore, WhenFull};
use super::shared_gate::SharedGate;

/// Who shares one instance of a guard's state, and how long it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each call has its own, which is gone with it.
    Call,
    /// Each run of a task has its own, which is gone with it.
    Run,
    /// Each task has its own, which its runs share.
    Task,
    /// Each worker of a class has its own.
    Worker,
    /// Each process (a group of workers) has its own; turns of a class share one.
    Process,
    /// Each traffic class has its own.
    Class,
    /// Each client has its own, whichever classes use it.
    Client,
    /// Everybody shares one.
    Global,
}

impl Scope {
    /// The word for it in scenario files.
    pub const fn word(self) -> &'static str {
        match self {
            Scope::Call => "call",
            Scope::Run => "run",
            Scope::Task => "task",
            Scope::Worker => "worker",
            Scope::Process => "process",
            Scope::Class => "class",
            Scope::Client => "client",
            Scope::Global => "global",
        }
    }

    /// Whether an instance lives no longer than the task that made it.
    pub const fn ends_with_task(self) -> bool {
        matches!(self, Scope::Call | Scope::Run | Scope::Task)
    }
}

/// How a guard decides.
#[derive(Clone, Debug, PartialEq)]
pub enum Mechanism {
    /// Stops sending while the upstream fails.
    Breaker(CircuitBreaker),
    /// Reserves requests or tokens before the call.
    Pacer(Pacer),
    /// Bounds how many are past its place at once.
    Semaphore(Semaphore),
    /// Keeps requests back that are too large.
    Size(SizeCheck),
    /// Refuses by chance while the provider accepts too few.
    Throttle(AdaptiveThrottle),
    /// Bounds how many are past its place at once, by what it learns of their results.
    Concurrency(AdaptiveConcurrency),
    /// Lets nobody pass for as long as a response has asked for.
    Gate(SharedGate),
    /// Holds requests to a rate that falls when the provider throttles, and grows again.
    Rate(CubicRate),
    /// Picks one of several models for each attempt, and leaves those out for a while that failed.
    Deployments(Deployments),
}

/// A check of a request's size before it is sent. It has no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeCheck {
    /// The most input tokens of a request that may pass.
    pub at_most: u64,
}

impl Mechanism {
    /// What a refusal of this guard is for the layers outside; `None` where it never refuses.
    pub fn refusal(&self) -> Option<Outcome> {
        match self {
            Mechanism::Breaker(breaker) => (breaker.when_open == WhenOpen::Reject).then_some(Outcome::ShortCircuited),
            Mechanism::Pacer(_) | Mechanism::Rate(_) => None,
            Mechanism::Semaphore(semaphore) => semaphore.can_refuse().then_some(semaphore.refusal()),
            Mechanism::Size(_) => Some(Outcome::TooLarge),
            Mechanism::Throttle(_) | Mechanism::Deployments(_) => Some(Outcome::ShortCircuited),
            Mechanism::Concurrency(limit) => limit.semaphore.can_refuse().then_some(limit.semaphore.refusal()),
            Mechanism::Gate(gate) => gate.rejects.then_some(Outcome::ShortCircuited),
        }
    }

    /// Whether a refusal takes no time at all.
    pub const fn refuses_at_once(&self) -> bool {
        match self {
            Mechanism::Breaker(breaker) => matches!(breaker.when_open, WhenOpen::Reject),
            Mechanism::Pacer(_) | Mechanism::Rate(_) => false,
            Mechanism::Semaphore(semaphore) | Mechanism::Concurrency(AdaptiveConcurrency { semaphore, .. }) => {
                matches!(semaphore.when_full, WhenFull::Reject) || semaphore.line.is_some()
            }
            Mechanism::Gate(gate) => gate.rejects,
            Mechanism::Size(_) | Mechanism::Throttle(_) | Mechanism::Deployments(_) => true,
        }
    }

    /// Whether what is followed of it over time comes nearer to its bound when it falls: a rate, or what is left of a
    /// bucket.
    pub const fn has_a_falling_level(&self) -> bool {
        match self {
            Mechanism::Rate(_) | Mechanism::Pacer(_) => true,
            Mechanism::Breaker(_)
            | Mechanism::Semaphore(_)
            | Mechanism::Size(_)
            | Mechanism::Throttle(_)
            | Mechanism::Concurrency(_)
            | Mechanism::Gate(_)
            | Mechanism::Deployments(_) => false,
        }
    }

    /// The word for it in scenario files.
    pub const fn word(&self) -> &'static str {
        match self {
            Mechanism::Breaker(_) => "breaker",
            Mechanism::Pacer(_) => "pacer",
            Mechanism::Semaphore(semaphore) if semaphore.is_pool => "pool",
            Mechanism::Semaphore(_) => "semaphore",
            Mechanism::Size(_) => "size",
            Mechanism::Throttle(_) => "throttle",
            Mechanism::Concurrency(_) => "concurrency",
            Mechanism::Gate(_) => "gate",
            Mechanism::Rate(_) => "rate",
            Mechanism::Deployments(_) => "deployments",
        }
    }
}

impl Guard {
    /// Whether it decides by chance.
    pub const fn is_by_chance(&self) -> bool {
        match &self.mechanism {
            Mechanism::Throttle(_) => true,
            Mechanism::Gate(gate) => gate.is_by_chance(),
            Mechanism::Breaker(breaker) => breaker.ramp.is_some(),
            Mechanism::Pacer(_)
            | Mechanism::Semaphore(_)
            | Mechanism::Size(_)
            | Mechanism::Concurrency(_)
            | Mechanism::Rate(_)
            | Mechanism::Deployments(_) => false,
        }
    }

    /// The breaker that it is, where it is one.
    pub const fn breaker(&self) -> Option<&CircuitBreaker> {
        if let Mechanism::Breaker(breaker) = &self.mechanism { Some(breaker) } else { None }
    }

    /// Whether it is shown every response of the provider.
    pub const fn counts_responses(&self) -> bool {
        match &self.mechanism {
            Mechanism::Breaker(breaker) => matches!(breaker.counts, BreakerCounts::Responses),
            Mechanism::Gate(_) => true,
            Mechanism::Pacer(_)
            | Mechanism::Semaphore(_)
            | Mechanism::Size(_)
            | Mechanism::Throttle(_)
            | Mechanism::Concurrency(_)
            | Mechanism::Rate(_)
            | Mechanism::Deployments(_) => false,
        }
    }

    /// The permits that it hands out, of an adaptive limit as many as it may ever have.
    pub const fn permits(&self) -> Option<&Semaphore> {
        match &self.mechanism {
            Mechanism::Semaphore(semaphore) => Some(semaphore),
            Mechanism::Concurrency(limit) => Some(&limit.semaphore),
            _ => None,
        }
    }

    /// Whether those who find no permit stand in its line.
    pub const fn has_permits(&self) -> bool {
        self.permits().is_some()
    }

    /// Whether the times of results matter to it, from its place.
    pub const fn learns_from_times(&self) -> bool {
        matches!(&self.mechanism, Mechanism::Concurrency(_))
    }

    /// The pacer that it is, where it is one.
    pub const fn pacer(&self) -> Option<&Pacer> {
        if let Mechanism::Pacer(pacer) = &self.mechanism { Some(pacer) } else { None }
    }

    /// The choice among deployments that it is, where it is one.
    pub const fn deployments(&self) -> Option<&Deployments> {
        if let Mechanism::Deployments(deployments) = &self.mechanism { Some(deployments) } else { None }
    }

    /// Whether it is a pool of connections.
    pub const fn is_pool(&self) -> bool {
        matches!(&self.mechanism, Mechanism::Semaphore(semaphore) if semaphore.is_pool)
    }
}

/// One named guard.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// Its name in the scenario.
    pub name: String,
    /// How it decides.
    pub mechanism: Mechanism,
    /// Who shares its state.
    pub scope: Scope,
}
