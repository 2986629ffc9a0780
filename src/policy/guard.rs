//! A guard stands somewhere in a stack and may forbid or delay what passes. It has a name, because several clients may
//! share one, and a scope, because whether eight workers share a breaker or own eight decides when it trips.

use super::adaptive_throttle::AdaptiveThrottle;
use super::answer::Outcome;
use super::circuit_breaker::{CircuitBreaker, WhenOpen};
use super::pacer::Pacer;
use super::semaphore::{Semaphore, WhenFull};

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
            Mechanism::Pacer(_) => None,
            Mechanism::Semaphore(semaphore) => semaphore.can_refuse().then_some(semaphore.refusal()),
            Mechanism::Size(_) => Some(Outcome::TooLarge),
            Mechanism::Throttle(_) => Some(Outcome::ShortCircuited),
        }
    }

    /// Whether a refusal takes no time at all.
    pub const fn refuses_at_once(&self) -> bool {
        match self {
            Mechanism::Breaker(breaker) => matches!(breaker.when_open, WhenOpen::Reject),
            Mechanism::Pacer(_) => false,
            Mechanism::Semaphore(semaphore) => {
                matches!(semaphore.when_full, WhenFull::Reject) || semaphore.line.is_some()
            }
            Mechanism::Size(_) | Mechanism::Throttle(_) => true,
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
        }
    }
}

impl Guard {
    /// Whether it decides by chance.
    pub const fn is_by_chance(&self) -> bool {
        matches!(&self.mechanism, Mechanism::Throttle(_))
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
