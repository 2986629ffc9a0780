//! What arithmetic says, without a run. A backlog takes all that it is allowed to, for as long as it lasts; what is left
//! of the limit must carry live traffic.
//!
//! - *Fluid*: live traffic at its busiest and the background at its most, both as even flows, fit into the limit. It
//!   knows means alone. Beyond it, a backlog that lasts long enough empties the bucket, after a time that is known.
//! - *With chance*: live requests come one by one and have different sizes, so that a bucket of C tokens runs empty
//!   now and then although the flows fit. With a backlog that never ends, what is missing from a full bucket is the work
//!   in a single-server queue that is served at the rate that is left over, and the probability that more than C is
//!   missing is about exp(−2 C · slack / v), where v is the variance of what live traffic asks for in a second
//!   (Kingman 1962, "On queues in heavy traffic"; for arrivals that are not Poisson, with their own variance). The slack
//!   at which that probability is the target is the margin below the fluid bound.
//!
//! Both are of a backlog without end; neither knows retries, failures, breakers and what happens in the storm itself.

use crate::explain::load;
use crate::policy::Role;
use crate::policy::pacer::Counts;
use crate::provider::Limit;
use crate::random::math::ln;
use crate::scenario::Scenario;
use crate::traffic::cost::mean_cost;
use crate::traffic::{ArrivalProcess, Step, TrafficClass};
use crate::units::SimDuration;

/// What is asked of a limit while a backlog lasts. Flows are in units of the limit for each second.
#[derive(Clone, Debug, PartialEq)]
pub struct Pressure {
    /// What the limit lets flow.
    pub flow: f64,
    /// What its bucket holds.
    pub capacity: f64,
    /// What the live classes ask for at their busiest.
    pub live: f64,
    /// The variance of what they ask for in a second.
    pub variance: f64,
    /// The most that the background can ask for on end: all its workers busy, held back by its pacers.
    pub background: f64,
    /// What it asks for by itself at its busiest, without a backlog.
    pub wanted: f64,
    /// What other classes ask for at their busiest.
    pub others: f64,
    /// What the background's pacers let pass at once.
    pub burst: f64,
}

/// What a limit lets flow, as far as arithmetic goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// How much in a period.
    pub amount: u64,
    /// The period.
    pub per: SimDuration,
    /// The most at once.
    pub capacity: f64,
}

impl Flow {
    /// The flow of a limit; one on what is held at once is as if it were over each second.
    pub fn of(limit: &Limit) -> Flow {
        let per = limit.meter.per().unwrap_or(SimDuration::from_secs(1));
        Flow { amount: (limit.amount()).round() as u64, per, capacity: limit.largest().min(limit.amount() * 1e6) }
    }

    /// How much in a second.
    pub fn per_second(&self) -> f64 {
        self.amount as f64 / self.per.as_secs_f64()
    }
}

/// Where the safe values end by arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// By the flows alone, with its text; `None` where no value of the range is the last one.
    pub fluid: Option<(f64, String)>,
    /// With the margin for chance.
    pub chance: Option<(f64, String)>,
}

impl Pressure {
    /// The pressure in a scenario.
    pub fn of(scenario: &Scenario, limit: usize, live: &[String], background: &[String]) -> Pressure {
        let limit = &scenario.provider.limits[limit];
        let Flow { capacity, .. } = Flow::of(limit);
        let flow = Flow::of(limit).per_second();
        let demands = load::demands(scenario);
        let class = |name: &str| scenario.traffic.iter().find(|class| class.name == name);
        let mut pressure = Pressure {
            flow,
            capacity,
            live: 0.0,
            variance: 0.0,
            background: 0.0,
            wanted: 0.0,
            others: 0.0,
            burst: 0.0,
        };
        // Classes behind one pacer share what it lets pass.
        let mut shared: Vec<(usize, f64)> = Vec::new();
        for demand in demands.iter().filter(|demand| demand.limit == limit.name) {
            let peak = demand.peak * flow;
            if live.contains(&demand.class) {
                pressure.live += peak;
                pressure.variance += class(&demand.class).map_or(0.0, |class| {
                    let counted = |step: &&Step| load::counts(scenario, limit, class, step);
                    let steps: Vec<&Step> = class.steps.iter().filter(counted).collect();
                    variance(class, &steps, limit, peak)
                });
            } else if background.contains(&demand.class) {
                pressure.wanted += peak;
                let busy = demand.busy.map_or(peak, |busy| busy * flow);
                match class(&demand.class).and_then(|class| pacer(scenario, class, limit.counts)) {
                    Some(guard) => match shared.iter_mut().find(|(known, _)| *known == guard) {
                        Some((_, sum)) => *sum += busy,
                        None => shared.push((guard, busy)),
                    },
                    None => pressure.background += busy,
                }
            } else {
                pressure.others += peak;
            }
        }
        for (guard, busy) in shared {
            if let Some(pacer) = scenario.guards[guard].pacer() {
                let instances = instances(scenario, guard) as f64;
                pressure.background += busy.min(instances * pacer.highest_rate());
                pressure.burst += instances * pacer.bucket.capacity_tokens();
            }
        }
        pressure
    }

    /// What is left over; negative where more is asked for than flows.
    pub fn slack(&self) -> f64 {
        self.flow - self.live - self.background - self.others
    }

    /// The slack at which live requests find the bucket empty with this probability.
    pub fn margin(&self, target: f64) -> f64 {
        let capacity = self.capacity - self.burst;
        match () {
            () if self.variance <= 0.0 || target >= 1.0 => 0.0,
            () if target <= 0.0 || capacity <= 0.0 => f64::INFINITY,
            () => -ln(target) * self.variance / (2.0 * capacity),
        }
    }

    /// How long a full bucket lasts, in seconds; `None` where it does for ever.
    pub fn lasts(&self) -> Option<f64> {
        let slack = self.slack();
        (slack < 0.0).then(|| self.capacity / -slack)
    }
}

/// How many instances of a guard its background classes have.
pub fn instances(scenario: &Scenario, guard: usize) -> u64 {
    use crate::policy::guard::Scope;
    let users = || scenario.traffic.iter().filter(|class| uses(scenario, class, guard));
    let processes = |class: &TrafficClass| u64::from(class.processes());
    // Workers that classes share are the same ones.
    let shared = |class: &&TrafficClass| {
        let is_first = |pool| {
            users().find(|other| other.queueing.pool == Some(pool)).map(|first| &first.name) == Some(&class.name)
        };
        class.queueing.pool.is_none_or(is_first)
    };
    let found: u64 = match scenario.guards[guard].scope {
        // As many as there are tasks, whatever number that is.
        Scope::Call | Scope::Run | Scope::Task => u64::MAX,
        Scope::Worker => users().filter(shared).map(|class| u64::from(class.workers()).max(1)).sum(),
        Scope::Process => users().filter(shared).map(processes).sum(),
        Scope::Class => users().count() as u64,
        Scope::Client => {
            let mut clients: Vec<usize> = users().map(|class| class.client).collect();
            clients.sort_unstable();
            clients.dedup();
            clients.len() as u64
        }
        Scope::Global => 1,
    };
    found.max(1)
}

fn uses(scenario: &Scenario, class: &TrafficClass, guard: usize) -> bool {
    let is_it = |role: &Role| matches!(role, Role::Guard(index) if *index == guard);
    scenario.clients_of(class).any(|client| client.elements().iter().any(|element| is_it(&element.role)))
}

/// The pacer of a class's own client that counts this.
pub fn pacer(scenario: &Scenario, class: &TrafficClass, counts: Counts) -> Option<usize> {
    scenario.client_of(class).elements().iter().find_map(|element| match element.role {
        // What each task paces by itself bounds nothing together.
        Role::Guard(guard) if !scenario.guards[guard].scope.ends_with_task() => {
            scenario.guards[guard].pacer().filter(|pacer| pacer.counts == counts).map(|_| guard)
        }
        Role::Guard(_) | Role::Retry(_) | Role::Queue(..) | Role::Hedge(_) | Role::Fallback(_) => None,
    })
}

/// The variance for each second of what a class asks for at this flow: of the sizes, and of how many arrive.
fn variance(class: &TrafficClass, steps: &[&Step], limit: &Limit, flow: f64) -> f64 {
    let mean: f64 = steps.iter().map(|step| mean_cost(limit, step)).sum();
    let of = |step: &&Step| match limit.counts {
        Counts::Requests => 0.0,
        Counts::InputTokens | Counts::UncachedInputTokens => step.input_tokens.variance(),
        Counts::OutputTokens => step.output_tokens.variance(),
        Counts::TotalTokens | Counts::TokensInFlight | Counts::Spend => {
            step.input_tokens.variance() + step.output_tokens.variance()
        }
    };
    let sizes: f64 = steps.iter().map(of).sum();
    // Counts of evenly spaced arrivals do not vary, those of gaps of another kind as the square of their coefficient of
    // variation, of what is there at the beginning not at all; of a list of instants nothing is known.
    let wildness = class.arrivals.iter().map(|process| match process {
        ArrivalProcess::Every { .. } | ArrivalProcess::Backlog(_) => 0.0,
        ArrivalProcess::Sessions(sessions) => sessions.wildness(),
        ArrivalProcess::Spaced { gap, .. } => gap.variance(),
        ArrivalProcess::Poisson { .. }
        | ArrivalProcess::Count { .. }
        | ArrivalProcess::At(_)
        | ArrivalProcess::Crowd(_)
        | ArrivalProcess::Replay(_) => 1.0,
    });
    let spread = wildness.fold(0.0, f64::max) * mean * mean;
    if mean > 0.0 { flow / mean * (sizes + spread) } else { 0.0 }
}

impl Bound {
    /// The values at which nothing is left over, and at which no more than the margin is; between two neighbours on
    /// a straight line, which they are for budgets, workers and amounts.
    pub(super) fn of(
        pressures: &[(f64, Pressure)],
        low_is_safe: bool,
        target: f64,
        text: impl Fn(f64) -> String,
    ) -> Bound {
        let last = |left: &dyn Fn(&Pressure) -> f64| {
            let mut values: Vec<(f64, f64)> = pressures.iter().map(|(number, p)| (*number, left(p))).collect();
            if !low_is_safe {
                values.reverse();
            }
            let pair = values.windows(2).find(|pair| pair[0].1 >= 0.0 && pair[1].1 < 0.0)?;
            let [(from, above), (to, below)] = [pair[0], pair[1]];
            let number = if below.is_finite() { from + (to - from) * above / (above - below) } else { from };
            Some((number, text(number)))
        };
        Bound { fluid: last(&Pressure::slack), chance: last(&|pressure| pressure.slack() - pressure.margin(target)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::incident;
    use crate::random::Distribution;
    use crate::random::distribution::Shape;

    #[test]
    fn the_incidents_bound_is_the_one_worked_out_by_hand() {
        let names = |name: &str| vec![name.to_owned()];
        let mut scenario = incident(true);
        let live = scenario.traffic.iter_mut().find(|class| class.name == "live").unwrap();
        live.steps[0].input_tokens = Distribution::new(Shape::LogNormal { mean: 6_300.0, sigma: 0.25 }).unwrap();
        let pressure = Pressure::of(&scenario, 0, &names("live"), &names("report"));
        // By hand: 58.7 · 6,300 = 369,810 a minute of 700,000 leave 330,190; the pacer takes 350,000; a minute's bucket
        // of 700,000 lasts 700,000 / 19,810 = 35.3 minutes.
        let minute = |value: f64| value * 60.0;
        assert!(
            (minute(pressure.live) - 369_810.0).abs() < 1e-6 && (minute(pressure.background) - 350_000.0).abs() < 1e-6
        );
        assert!((minute(pressure.slack()) + 19_810.0).abs() < 1e-6);
        assert!((pressure.lasts().unwrap() - 700_000.0 / 19_810.0 * 60.0).abs() < 1e-6);
        // 58.7 · 6,300² · exp(0.25²) a minute is the variance; ln 100 of it, over twice what the bucket holds less the
        // pacer's three seconds, is the margin.
        let variance = 58.7 * 6_300.0 * 6_300.0 * libm::exp(0.0625);
        let margin = libm::log(100.0) * variance / (2.0 * (700_000.0 - 17_500.0));
        assert!((minute(pressure.margin(0.01)) - margin).abs() < 1e-6 * margin, "{}", minute(pressure.margin(0.01)));
    }
}
