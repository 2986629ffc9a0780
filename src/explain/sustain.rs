//! Can an overload outlive its cause? Where servers are few, two conditions decide (Bronson et al. 2021; Huang et al.
//! 2022, "Metastable failures in the wild"): the queue can grow longer than callers wait, so that all answers come too
//! late; and the requests of callers who then retry are more than the servers do, so that the queue never shrinks.
//! Where one of them fails, an overload ends with its cause, sooner or later.
//!
//! Everything here is mean rates and the longest of what layers may do. Just past a threshold the escape is a slow
//! random event: the conditions say what is possible, a run with replicates how often it happens.

use super::load::{usual_rate, usual_rate_of_loops};
use super::remedy::Remedy;
use super::warning::{Code, Warning};
use crate::policy::answer::Answer;
use crate::policy::guard::Scope;
use crate::policy::retry_budget::RetryBudget;
use crate::policy::{Client, Element, RetryPolicy, Role};
use crate::provider::capacity::Late;
use crate::provider::{Abandoned, Capacity};
use crate::scenario::Scenario;
use crate::traffic::{Sessions, TrafficClass};
use crate::units::{SimDuration, SimTime};

/// What servers are asked for, and what they can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Sustain {
    /// Servers.
    pub servers: u32,
    /// Work that is asked for without a retry, as a share of what the servers do (utilisation ρ). Of closed loops it is
    /// what they would ask for if nobody waited.
    pub load: f64,
    /// What of it is asked for whether or not others are answered: without closed loops.
    pub open_load: f64,
    /// How many sessions closed loops have: so many of their tasks wait at most.
    pub sessions: u32,
    /// The same where no call succeeds before its last attempt; infinite where attempts have no end.
    pub failing_load: f64,
    /// What of that is there however little is asked for: what the reserves of retry budgets pay.
    pub reserved_load: f64,
    /// How long the servers take for a full queue; `None` for a queue without end.
    pub queue: Option<SimDuration>,
    /// The longest that some caller waits for an answer; `None` where nobody gives up.
    pub patience: Option<SimDuration>,
    /// Whether some client sends again what is late, while the servers may have done with the first for nobody.
    pub hedges: bool,
    /// What becomes of those whose callers have left.
    pub abandoned: Abandoned,
    /// What becomes of those who cannot be answered in time.
    pub late: Late,
    /// From how many waiting requests on the servers are busy for longer than the longest patience; `None` where nobody
    /// gives up, or nothing is asked for.
    pub enough_room: Option<u64>,
}

impl Sustain {
    /// What can be said of a scenario; `None` where servers are not limited in number.
    pub fn of(scenario: &Scenario) -> Option<Sustain> {
        let capacity = scenario.provider.capacity.as_ref()?;
        let servers = capacity.servers.at(SimTime::ZERO);
        if servers == u32::MAX {
            return None;
        }
        let per_second = f64::from(servers);
        let (mut load, mut open_load, mut failing_load, mut requests) = (0.0, 0.0, 0.0, 0.0);
        let mut earned_load = 0.0;
        let mut patience: Option<SimDuration> = None;
        for class in &scenario.traffic {
            let rate = usual_rate(scenario, class);
            let open = rate - usual_rate_of_loops(scenario, class);
            let of_loops = of_loops(scenario, capacity, class) / per_second;
            failing_load += of_loops;
            earned_load += of_loops;
            let calls = open * class.steps.len() as f64;
            for step in 0..class.steps.len() {
                let client = scenario.client_at(class, step);
                let work = service_time(scenario, capacity, class, step);
                load += rate * work / per_second;
                if open > 0.0 {
                    open_load += open * work / per_second;
                    let reserve = |budget: &RetryBudget, scope| reserve(budget, scope, class) / calls;
                    failing_load += open * work * attempts(client, capacity, reserve) / per_second;
                    earned_load += open * work * attempts(client, capacity, |_, _| 0.0) / per_second;
                }
                requests += rate;
                // Who never gives up is no reason for more requests.
                if let Some(limit) = client.innermost_timeout() {
                    patience = Some(patience.map_or(limit, |known| known.max(limit)));
                }
            }
        }
        let mean_work = if requests > 0.0 { load * per_second / requests } else { 0.0 };
        let queue = (capacity.room < u32::MAX)
            .then(|| SimDuration::from_secs_f64(f64::from(capacity.room) * mean_work / per_second));
        let abandoned = scenario.provider.abandoned;
        let late = capacity.late;
        let enough = |patience: SimDuration| (patience.as_secs_f64() * per_second / mean_work).floor() as u64 + 1;
        let enough_room = patience.filter(|_| mean_work > 0.0).map(enough);
        let mut clients = scenario.traffic.iter().flat_map(|class| scenario.clients_of(class));
        let hedges = clients.any(|client| client.hedge().is_some());
        let sessions = scenario.traffic.iter().map(TrafficClass::sessions).sum();
        Some(Sustain {
            servers,
            load,
            open_load,
            sessions,
            failing_load,
            reserved_load: if failing_load > earned_load { failing_load - earned_load } else { 0.0 },
            queue,
            patience,
            hedges,
            abandoned,
            late,
            enough_room,
        })
    }

    /// Whether all answers can come too late.
    pub fn can_be_late(&self) -> bool {
        if self.doubles() {
            return true;
        }
        let Some(patience) = self.patience else { return false };
        // What is in service is finished for nobody, also where the server looks who still waits.
        self.abandoned != Abandoned::Cancelled
            && self.late == Late::Served
            && self.queue.is_none_or(|queue| queue > patience)
    }

    /// Whether a queue alone makes work for nobody: what waits for too long is sent again, and all of it is served.
    pub fn doubles(&self) -> bool {
        self.hedges && self.abandoned == Abandoned::Served && self.late == Late::Served
    }

    /// Whether callers who retry ask for more than the servers do.
    pub fn outgrows(&self) -> bool {
        self.failing_load > 1.0
    }

    /// Whether an overload can outlive its cause.
    pub fn is_possible(&self) -> bool {
        self.can_be_late() && self.outgrows()
    }

    /// The share of the present load from which on callers who retry ask for more than the servers do: below it no overload
    /// can outlive its cause. 0 where the reserves of budgets alone are more.
    pub fn safe_load(&self) -> f64 {
        if self.reserved_load <= 0.0 {
            return 1.0 / self.failing_load;
        }
        ((1.0 - self.reserved_load) / (self.failing_load - self.reserved_load)).max(0.0)
    }

    /// The same in requests of a failing call, at the present load.
    pub fn safe_requests(&self) -> f64 {
        1.0 / self.load
    }
}

/// The warning that retries can keep an overload alive, with a budget that lets it die.
pub(super) fn warning(scenario: &Scenario) -> Option<Warning> {
    let sustain = Sustain::of(scenario).filter(|sustain| sustain.is_possible() && sustain.load < 1.0)?;
    let capacity = scenario.provider.capacity.as_ref()?;
    let clients = scenario.traffic.iter().flat_map(|class| scenario.clients_of(class));
    let (client, layer) = clients
        .flat_map(|client| client.elements().iter().map(move |element| (client, element)))
        .find(|(_, element)| of_element(element, capacity, f64::INFINITY) > 1.0)?;
    // A fifth less than what the servers have left for retries.
    let hundredths = (80.0 * (1.0 / sustain.load - 1.0)).floor();
    let message =
        "when an overload is over, retries can keep the servers busy for callers who have left, and it goes on";
    let inside = if matches!(layer.role, Role::Hedge(_)) { "hedge.budget" } else { "budget" };
    let path = format!("clients.{}.layers.{}.{inside}", client.name, layer.name);
    if hundredths < 1.0 {
        let hint = "ask for less, or let fewer wait: with `provider.capacity.queue`".to_owned();
        return Some(Warning { code: Code::OverloadOutlivesCause, message: message.to_owned(), hint, path });
    }
    let value = format!(
        "{{ quota = {{ capacity = 1000, cost = 100, deposit = {hundredths}, refund = 0, retried_refund = 0 }} }}"
    );
    Some(Warning::set(Code::OverloadOutlivesCause, message.to_owned(), Remedy { path, value }))
}

/// The work that the closed loops of a class ask for in a second while nothing succeeds: a session brings its next task
/// when all attempts at one have run into their timeouts. A task ends at whichever step makes it dearest.
fn of_loops(scenario: &Scenario, capacity: &Capacity, class: &TrafficClass) -> f64 {
    let of = |sessions: &Sessions| {
        let (mut work, mut time, mut most) = (0.0, sessions.period(0.0), 0.0_f64);
        for step in 0..class.steps.len() {
            let client = scenario.client_at(class, step);
            let own = service_time(scenario, capacity, class, step);
            let waits = client.innermost_timeout().map_or(own, SimDuration::as_secs_f64);
            // What has no end takes all of a session's time.
            match attempts(client, capacity, |_, _| f64::INFINITY) {
                endless if endless.is_infinite() => most = most.max(own / waits.max(1e-9)),
                attempts => (work, time) = (work + attempts * own, time + attempts * waits),
            }
            most = most.max(work / time.max(1e-9));
        }
        f64::from(sessions.count) * most
    };
    class.loops().map(of).sum()
}

/// The mean work of one request of a step, in seconds.
fn service_time(scenario: &Scenario, capacity: &Capacity, class: &TrafficClass, step: usize) -> f64 {
    let settings = &class.steps[step];
    let model = scenario.provider.models.get(scenario.provider.model(settings.model.as_deref()) as usize);
    let own = model.and_then(|model| model.latency.as_ref()).unwrap_or(&settings.latency);
    own.mean()
        + capacity.per_input_token.as_secs_f64() * settings.input_tokens.mean()
        + capacity.per_output_token.as_secs_f64() * settings.output_tokens.mean()
}

/// The requests of one call that never succeeds, in the long run: a budget lets through what it is paid for.
///
/// `reserve` is how many retries of each call the reserves of an element's budgets pay, if it has any.
fn attempts(client: &Client, capacity: &Capacity, reserve: impl Fn(&RetryBudget, Scope) -> f64) -> f64 {
    let of = |element: &Element| {
        let reserve = element.role.budget().map_or(0.0, |(budget, scope)| reserve(budget, scope));
        of_element(element, capacity, reserve)
    };
    client.elements().iter().map(of).product()
}

/// The same of one element, for each call that comes to it.
fn of_element(element: &Element, capacity: &Capacity, reserve: f64) -> f64 {
    let paid = element.role.budget().map_or(f64::INFINITY, |(budget, _)| pays_for(budget, reserve));
    match &element.role {
        // What is late is sent again, whatever comes of it.
        Role::Hedge(hedge) => f64::from(hedge.max).min(1.0 + paid),
        role => role.policy().map_or(1.0, |policy| of_layer(policy, capacity, paid)),
    }
}

/// The retries in a second that are always there for the calls of a class: in each instance of the budget.
fn reserve(budget: &RetryBudget, scope: Scope, class: &TrafficClass) -> f64 {
    let RetryBudget::Deposits(deposits) = budget else { return 0.0 };
    let instances = match scope {
        Scope::Worker => class.workers().max(1),
        Scope::Process => class.processes(),
        Scope::Class | Scope::Client | Scope::Global => 1,
        // Each call, run or task begins with a whole reserve.
        Scope::Call | Scope::Run | Scope::Task if deposits.per_second > 0 => return f64::INFINITY,
        Scope::Call | Scope::Run | Scope::Task => 0,
    };
    f64::from(deposits.per_second) * f64::from(instances)
}

/// The same of a retry layer whose budget, if any, pays for so many retries of each call.
fn of_layer(policy: &RetryPolicy, capacity: &Capacity, paid: f64) -> f64 {
    if !policy.retry_on.matches(&Answer::TIMED_OUT) && !policy.retry_on.matches(&capacity.refusal()) {
        return 1.0;
    }
    let most = policy.max_attempts.map_or(f64::INFINITY, f64::from);
    most.min(1.0 + paid)
}

/// The retries that a budget pays for with each call, in the long run, while nothing succeeds; `reserve` of them out of its
/// reserve.
fn pays_for(budget: &RetryBudget, reserve: f64) -> f64 {
    match budget {
        RetryBudget::ActiveShare(_) => f64::INFINITY,
        // What comes back with time pays for as many as it can, however few calls there are.
        RetryBudget::Quota(quota) if quota.refill_thousandths > 0 => f64::INFINITY,
        // Nothing is given back while nothing succeeds.
        RetryBudget::Quota(quota) => f64::from(quota.deposit) / f64::from(quota.cost.max(1)),
        // Each failure is one of a call: where all of them fail, no share below all of them leaves a retry.
        RetryBudget::Throttle(_) | RetryBudget::FailureShare(_) => 0.0,
        RetryBudget::Deposits(deposits) if deposits.per_second == 0 => deposits.pays_for(),
        RetryBudget::Deposits(deposits) => deposits.pays_for() + reserve,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Source, load};

    fn sustain(variant: &str) -> Sustain {
        let text = std::fs::read_to_string("scenarios/metastable.toml").unwrap();
        let source = Source { variant: Some(variant), ..Source::new("metastable.toml", &text) };
        Sustain::of(&load(&source).unwrap()).unwrap()
    }

    #[test]
    fn the_two_conditions_are_those_of_the_published_case() {
        // By hand: 8 a second of 0.1 s are 0.8 of one server; three tries 2.4; a budget of a fifth 0.96, of 0.3 1.04.
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        let plain = sustain("retries");
        near(plain.load, 0.8);
        near(plain.failing_load, 2.4);
        near(plain.safe_load(), 1.0 / 2.4);
        near(plain.safe_requests(), 1.25);
        assert!(plain.is_possible() && plain.queue.is_none());
        near(sustain("budget").failing_load, 0.96);
        near(sustain("large_budget").failing_load, 1.04);
        let possible = ["budget", "large_budget", "once", "cancelled", "short_queue"].map(|v| sustain(v).is_possible());
        assert_eq!(possible, [false, true, false, false, false]);
        // Eleven requests of 0.1 s are more than the second that callers wait.
        assert_eq!(plain.enough_room, Some(11));
    }

    #[test]
    fn each_instance_of_a_budget_has_a_reserve() {
        // By hand: 80 a second of 0.1 s, 12 servers; 80 · 1.2 + 40 · 10, 80 · 1.2 + 10 and 80 · 1.2 a second of 120.
        let text = std::fs::read_to_string("scenarios/budget_each.toml").unwrap();
        let of = |variant| {
            let source = Source { variant: Some(variant), ..Source::new("budget_each.toml", &text) };
            Sustain::of(&load(&source).unwrap()).unwrap()
        };
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        near(of("each").failing_load, 496.0 / 120.0);
        near(of("each").safe_load(), 0.0);
        near(of("shared").failing_load, 106.0 / 120.0);
        // 110 / 96 of the load: 110 and the reserve of 10 are what the servers do.
        near(of("shared").safe_load(), 110.0 / 96.0);
        near(of("no_reserve").failing_load, 96.0 / 120.0);
        assert_eq!(
            ["each", "shared", "no_reserve", "three_tries"].map(|v| of(v).is_possible()),
            [true, false, false, true]
        );
    }

    #[test]
    fn the_remedy_of_the_warning_is_one() {
        let text = std::fs::read_to_string("scenarios/metastable.toml").unwrap();
        let warned = warning(&load(&Source::new("metastable.toml", &text)).unwrap()).unwrap();
        assert_eq!(warned.path, "clients.caller.layers.sdk.budget");
        let set = warned.hint.trim_start_matches("set `").trim_end_matches('`').replacen(" = ", "=", 1);
        let source = Source { sets: &[set], ..Source::new("metastable.toml", &text) };
        assert_eq!(warning(&load(&source).unwrap()), None);
    }

    #[test]
    fn a_hedge_may_keep_an_overload_alive_although_nobody_gives_up() {
        // By hand: 6 a second of 0.1 s are 0.6 of one server, and twice that where everything is late.
        let load = |more: &str, set: &str| {
            let text = format!(
                "horizon = \"1h\"\n[provider]\n{more}\ncapacity.servers = 1\n[clients.one]\n\
                 layers = [{{ name = \"late\", hedge = {{ max = 2, delay = \"1s\" }} }}]\n[traffic.turn]\nkind = \"turns\"\n\
                 client = \"one\"\narrivals = {{ poisson = \"6/s\" }}\n\
                 steps = [{{ name = \"say\", input_tokens = 1, latency = \"100ms\" }}]\n"
            );
            let sets = [set.to_owned()];
            let sets = if set.is_empty() { &[][..] } else { &sets[..] };
            load(&Source { sets, ..Source::new("hedged.toml", &text) }).unwrap()
        };
        let sustain = Sustain::of(&load("", "")).unwrap();
        assert!((sustain.failing_load - 1.2).abs() < 1e-9 && sustain.patience.is_none() && sustain.is_possible());
        for notices in ["skipped", "dequeued", "cancelled"] {
            let scenario = load(&format!("abandoned = \"{notices}\""), "");
            assert!(!Sustain::of(&scenario).unwrap().is_possible());
        }
        let warned = warning(&load("", "")).unwrap();
        assert_eq!(warned.path, "clients.one.layers.late.hedge.budget");
        let set = warned.hint.trim_start_matches("set `").trim_end_matches('`').replacen(" = ", "=", 1);
        assert_eq!(warning(&load("", &set)), None);
    }
}
