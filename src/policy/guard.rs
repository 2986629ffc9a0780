//! A guard stands somewhere in a stack and may forbid or delay what passes. It has a name, because several clients may
//! share one, and a scope, because whether eight workers share a breaker or own eight decides when it trips.

use super::circuit_breaker::CircuitBreaker;
use super::pacer::Pacer;

/// Who shares one instance of a guard's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
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
            Scope::Worker => "worker",
            Scope::Process => "process",
            Scope::Class => "class",
            Scope::Client => "client",
            Scope::Global => "global",
        }
    }
}

/// How a guard decides.
#[derive(Clone, Debug, PartialEq)]
pub enum Mechanism {
    /// Stops sending while the upstream fails.
    Breaker(CircuitBreaker),
    /// Reserves requests or tokens before the call.
    Pacer(Pacer),
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
