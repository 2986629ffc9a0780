//! What semaphores and connection pools do to those who share them: how many of a class are under way at once, and
//! whether its workers stand in line.

use super::ladder::attempts_bound;
use super::remedy::Remedy;
use super::warning::{Code, Warning};
use super::words;
use crate::policy::{Client, Element, Guard, Mechanism, Role, Scope, Semaphore, WhenFull};
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;

/// The most of a class's runs that can be past its semaphores at once; `None` where there is no bound beside its
/// workers. Steps with other clients add up.
pub fn at_once(scenario: &Scenario, class: &TrafficClass) -> Option<u64> {
    let mut tightest: Vec<(&str, u64)> = Vec::new();
    for client in scenario.clients_of(class) {
        let bounds = semaphores(scenario, client).filter_map(|(_, guard, semaphore)| {
            let permits = u64::from(semaphore.permits);
            let most = match guard.scope {
                // A worker has one run at a time anyway.
                Scope::Worker | Scope::Call | Scope::Run | Scope::Task => return None,
                Scope::Process => permits * processes(class),
                Scope::Class | Scope::Client | Scope::Global => permits,
            };
            Some((guard.name.as_str(), most))
        });
        let bound = bounds.min_by_key(|(_, most)| *most)?;
        if !tightest.contains(&bound) {
            tightest.push(bound);
        }
    }
    Some(tightest.iter().map(|(_, most)| most).sum())
}

/// Workers of a class that can be in requests at the same time.
pub fn busy_workers(scenario: &Scenario, class: &TrafficClass) -> u64 {
    u64::from(class.workers()).min(at_once(scenario, class).unwrap_or(u64::MAX))
}

/// The semaphores of a client with their places.
fn semaphores<'a>(
    scenario: &'a Scenario,
    client: &'a Client,
) -> impl Iterator<Item = (usize, &'a Guard, &'a Semaphore)> {
    client.elements().iter().enumerate().filter_map(|(at, element)| {
        let Role::Guard(index) = element.role else { return None };
        let guard = &scenario.guards[index];
        Some((at, guard, guard.permits()?))
    })
}

const fn processes(class: &TrafficClass) -> u64 {
    class.processes() as u64
}

/// All warnings about semaphores and pools.
pub fn warnings(scenario: &Scenario) -> Vec<Warning> {
    let guards = scenario.guards.iter().filter_map(|guard| too_few_permits(scenario, guard));
    let used = |index: usize| scenario.traffic.iter().any(|class| class.client == index);
    let clients = scenario.clients.iter().enumerate().filter(|(index, _)| used(*index));
    let of_clients = clients.flat_map(|(index, client)| {
        [pool_outside(scenario, client), workers_and_permits(scenario, index, client)].into_iter().flatten()
    });
    guards.chain(of_clients).collect()
}

/// Fewer permits than workers: the others stand in line, and take no other job meanwhile.
fn too_few_permits(scenario: &Scenario, guard: &Guard) -> Option<Warning> {
    let Mechanism::Semaphore(semaphore) = &guard.mechanism else { return None };
    let uses = |class: &&TrafficClass| {
        let mut all = scenario.clients_of(class).flat_map(|client| semaphores(scenario, client));
        !class.is_live() && all.any(|(_, used, _)| used.name == guard.name)
    };
    let classes: Vec<&TrafficClass> = scenario.traffic.iter().filter(uses).collect();
    // Those who share one instance, where it is shared by most.
    let alone = || classes.iter().max_by_key(|class| workers(class, guard.scope)).map(|class| vec![*class]);
    let contenders = match guard.scope {
        Scope::Worker | Scope::Call | Scope::Run | Scope::Task => None,
        Scope::Process | Scope::Class => alone(),
        Scope::Client => {
            let of_one = |class: &&TrafficClass| classes.iter().copied().filter(|c| c.client == class.client).collect();
            classes.iter().map(of_one).max_by_key(|group: &Vec<&TrafficClass>| all_workers(group, guard.scope))
        }
        Scope::Global => Some(classes.clone()),
    }?;
    let (permits, there) = (u64::from(semaphore.permits), all_workers(&contenders, guard.scope));
    if there <= permits {
        return None;
    }
    let names: Vec<String> = contenders.iter().map(|class| class.name.clone()).collect();
    let (code, what) = if semaphore.is_pool {
        (Code::PoolBelowWorkers, "connection")
    } else {
        (Code::SemaphoreBelowWorkers, "permit")
    };
    let of_process = if guard.scope == Scope::Process { " of a process" } else { "" };
    let rest = match semaphore.when_full {
        WhenFull::Reject => "the others are refused at once".to_owned(),
        WhenFull::Wait(_) if semaphore.line.is_some() => {
            "the others stand in line, or are refused where it is full".to_owned()
        }
        WhenFull::DropFirst => "the others stand in line, whose first are refused when it is full".to_owned(),
        WhenFull::Block(_) => "the others stand in line, and all are refused when it is full".to_owned(),
        WhenFull::Wait(None) => "the others stand in line, and take no other job meanwhile".to_owned(),
        WhenFull::Wait(Some(longest)) => {
            format!("the others stand in line, and fail after {}", words::duration(longest))
        }
    };
    let message = format!(
        "`{}` has {} for {there} {} workers{of_process}: when all are busy, {rest}",
        guard.name,
        words::counted(permits, what),
        words::list(&names),
    );
    let remedy = match (&contenders[..], semaphore.is_pool) {
        ([class], false) => Remedy { path: format!("traffic.{}.workers", class.name), value: permits.to_string() },
        (_, false) => Remedy { path: format!("guards.{}.semaphore.permits", guard.name), value: there.to_string() },
        (_, true) => Remedy { path: format!("guards.{}.pool.connections", guard.name), value: there.to_string() },
    };
    Some(Warning::set(code, message, remedy))
}

/// The workers of a class that share an instance.
fn workers(class: &TrafficClass, scope: Scope) -> u64 {
    let all = u64::from(class.workers());
    if scope == Scope::Process { all.div_ceil(processes(class)) } else { all }
}

fn all_workers(classes: &[&TrafficClass], scope: Scope) -> u64 {
    classes.iter().map(|class| workers(class, scope)).sum()
}

/// A pool around something that repeats: a connection is held while nothing is sent.
fn pool_outside(scenario: &Scenario, client: &Client) -> Option<Warning> {
    let (at, guard, _) = semaphores(scenario, client).find(|(_, _, semaphore)| semaphore.is_pool)?;
    let repeats = |element: &&Element| element.role.policy().is_some_and(|policy| attempts_bound(policy) != Some(1));
    let inside = client.elements()[..at].iter().find(repeats)?;
    let message = format!(
        "the pool `{}` stands outside of `{}`: a connection is held while that waits to try again, which no HTTP client does",
        guard.name, inside.name
    );
    let path = format!("clients.{}.layers", client.name);
    let hint = format!("put `{}` first in `{path}`", client.elements()[at].name);
    Some(Warning { code: Code::PoolOutsideRetries, message, hint, path })
}

/// A job that sleeps without its worker keeps its permit. Its worker takes the next job, which stands in line for that
/// permit; when all do, the first job finds no worker to go on with.
fn workers_and_permits(scenario: &Scenario, index: usize, client: &Client) -> Option<Warning> {
    let class = scenario.traffic.iter().find(|class| class.client == index && !class.is_live())?;
    let frees = |element: &&Element| {
        element.role.policy().is_some_and(|policy| !policy.holds_worker && attempts_bound(policy) != Some(1))
    };
    let (guard, inside) = semaphores(scenario, client).find_map(|(at, guard, semaphore)| {
        let inside = client.elements()[..at].iter().find(frees)?;
        (semaphore.when_full == WhenFull::Wait(None)).then_some((guard, inside))
    })?;
    let message = format!(
        "`{}` frees its worker while it waits and `{}` around it keeps the permit: when all {} stand in line for permits, \
         the jobs that hold them find no worker, for ever",
        inside.name,
        guard.name,
        words::counted(u64::from(class.workers()), &format!("{} worker", class.name))
    );
    Some(Warning::set(Code::PermitsWithoutWorkers, message, Remedy::key(client, inside, "holds_worker", "true")))
}

/// What becomes of those who find no permit, who see this error if they wait in vain.
pub(super) fn without_permit(semaphore: &Semaphore, error: &str) -> String {
    let most = words::count(u64::from(semaphore.line.unwrap_or_default()));
    match semaphore.when_full {
        WhenFull::Reject => "refuses the rest at once".to_owned(),
        WhenFull::Wait(_) if semaphore.line.is_some() => {
            format!("{most} wait in line at most, the rest is refused")
        }
        WhenFull::Wait(None) => "the rest waits in line".to_owned(),
        WhenFull::Wait(Some(longest)) => {
            format!("the rest waits in line, {} at most, then a {error}", words::duration(longest))
        }
        WhenFull::DropFirst => format!("{most} wait in line at most, the next one takes the place of the first"),
        WhenFull::Block(penalty) => {
            let penalty = words::duration(penalty);
            format!("{most} wait in line at most, the next one empties it and blocks all for {penalty}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{client, element, inner, one_job, sdk};
    use crate::policy::{Kind, RetryPolicy};
    use crate::units::SimDuration;

    /// One jobs class with so many workers in two processes, a semaphore around its SDK and a pool inside or outside.
    fn scenario(workers: u32, permits: u32, scope: Scope, is_pool: bool) -> Scenario {
        let guard = element("slots", Kind::Client, Role::Guard(0));
        let mut scenario = one_job(client("c", vec![inner("sdk", sdk(3)), guard]), &["a"]);
        scenario.traffic[0].kind = crate::traffic::TaskKind::Jobs { workers, processes: 2 };
        let when_full = WhenFull::Wait(is_pool.then_some(SimDuration::from_secs(5)));
        let semaphore = Semaphore { permits, when_full, line: None, is_pool };
        scenario.guards = vec![Guard { name: "slots".into(), mechanism: Mechanism::Semaphore(semaphore), scope }];
        scenario
    }

    #[test]
    fn a_semaphore_bounds_how_many_are_under_way() {
        let bound = |scope| at_once(&scenario(50, 10, scope, false), &scenario(50, 10, scope, false).traffic[0]);
        assert_eq!([Scope::Worker, Scope::Process, Scope::Class, Scope::Global].map(bound), {
            [None, Some(20), Some(10), Some(10)]
        });
    }

    #[test]
    fn workers_who_stand_in_line_are_counted() {
        let said = warnings(&scenario(50, 10, Scope::Client, false));
        assert_eq!(said.len(), 1);
        assert_eq!(
            said[0].message,
            "`slots` has 10 permits for 50 job workers: when all are busy, the others stand in line, and take no other \
             job meanwhile"
        );
        assert_eq!(said[0].hint, "set `traffic.job.workers = 10`");
        // By hand: 25 workers of each process share a pool of 24.
        let pool = warnings(&scenario(50, 24, Scope::Process, true));
        assert_eq!(pool.iter().map(|w| w.code).collect::<Vec<_>>(), [Code::PoolBelowWorkers, Code::PoolOutsideRetries]);
        assert!(pool[0].message.starts_with("`slots` has 24 connections for 25 job workers of a process"), "{pool:?}");
        assert_eq!(pool[0].hint, "set `guards.slots.pool.connections = 25`");
        assert_eq!(warnings(&scenario(50, 25, Scope::Process, false)), []);
    }

    #[test]
    fn a_permit_that_is_kept_without_a_worker_is_warned_about() {
        let mut scenario = scenario(8, 8, Scope::Client, false);
        assert_eq!(warnings(&scenario), []);
        let slots = element("slots", Kind::Client, Role::Guard(0));
        let freeing = RetryPolicy { holds_worker: false, ..sdk(3) };
        scenario.clients[0] = client("c", vec![inner("sdk", freeing.clone()), slots.clone()]);
        let said = warnings(&scenario);
        assert_eq!(
            said[0].message,
            "`sdk` frees its worker while it waits and `slots` around it keeps the permit: when all 8 job workers stand in \
             line for permits, the jobs that hold them find no worker, for ever"
        );
        assert_eq!((said.len(), said[0].hint.as_str()), (1, "set `clients.c.layers.sdk.holds_worker = true`"));
        // Inside, the permit is given back before the wait.
        scenario.clients[0] = client("c", vec![slots, inner("sdk", freeing)]);
        assert_eq!(warnings(&scenario), []);
    }

    #[test]
    fn a_semaphore_of_each_worker_bounds_nothing() {
        assert_eq!(warnings(&scenario(50, 1, Scope::Worker, false)), []);
    }
}
