//! Whose a guard or a budget may be: what ends with a call can stand inside of calls only.

use super::check::Parts;
use super::guards::ReadGuard;
use crate::document::{Fault, Faults, Field, Place};
use crate::policy::{Client, Kind, Mechanism, Scope};

/// Who shares an instance of a guard.
pub(super) fn guard_scope(field: &Field<'_>) -> Option<Scope> {
    let mut scopes = [Scope::Global; 8];
    scopes[..7].copy_from_slice(&BUDGET_SCOPES);
    field.word(&scopes.map(|scope| (scope.word(), scope)))
}

/// Who shares a budget, which belongs to a layer of one client.
pub(super) const BUDGET_SCOPES: [Scope; 7] =
    [Scope::Call, Scope::Run, Scope::Task, Scope::Worker, Scope::Process, Scope::Class, Scope::Client];

/// What of a guard needs somebody who outlives the task.
pub(super) fn check_guard(mechanism: &Mechanism, scope: Scope, place: Place, faults: &Faults) {
    let message = match mechanism {
        Mechanism::Breaker(breaker) if breaker.pauses_workers && scope.ends_with_task() => {
            format!("is one for each {}, and workers pause between tasks", scope.word())
        }
        Mechanism::Semaphore(_) | Mechanism::Concurrency(_) if scope == Scope::Call => {
            "is one for each call, which does one thing at a time".to_owned()
        }
        Mechanism::Breaker(_)
        | Mechanism::Pacer(_)
        | Mechanism::Semaphore(_)
        | Mechanism::Size(_)
        | Mechanism::Throttle(_)
        | Mechanism::Concurrency(_)
        | Mechanism::Gate(_)
        | Mechanism::Rate(_)
        | Mechanism::Deployments(_) => return,
    };
    faults.add(Fault::new(place, message).hint(r#"write scope = "process", or another one that lives on"#));
}

/// What ends with a call is asked inside of calls: not by what stands around them. Of two choices the outer one would pick
/// in vain.
pub(super) fn check_places(client: &Client, parts: &Parts<'_>, faults: &Faults) {
    let guards = client.elements().iter().filter_map(|element| parts.guard(element.role.guard()?));
    if let Some(inner) = guards.filter(|read| read.guard.deployments().is_some()).nth(1) {
        let message = format!("picks a deployment in `{}`, where another guard does that too", client.name);
        faults.add(Fault::new(inner.name, message).hint("keep one of them, or put a fallback around it"));
    }
    for element in client.elements().iter().filter(|element| element.kind > Kind::Client) {
        let Some(ReadGuard { guard, scope, .. }) = element.role.guard().and_then(|index| parts.guard(index)) else {
            continue;
        };
        if guard.scope == Scope::Call {
            let message =
                format!("is one for each call, and `{}` stands around the calls of `{}`", element.name, client.name);
            let hint = r#"write scope = "run", or move the element inward and give it `kind = "client"`"#;
            faults.add(Fault::new(*scope, message).hint(hint));
        }
    }
}

/// The same for the budget of a layer of this kind.
pub(super) fn check_budget(scope: Scope, kind: Kind, place: Place, faults: &Faults) {
    let (message, hint) = match (kind, scope) {
        (Kind::Decorator, Scope::Call) => {
            ("is one for each call, and the layer stands around calls", r#"write scope = "run""#)
        }
        (Kind::Queue, Scope::Call | Scope::Run) => {
            ("ends with the run, and the queue stands around runs", r#"write scope = "task""#)
        }
        _ => return,
    };
    faults.add(Fault::new(place, message).hint(hint));
}
