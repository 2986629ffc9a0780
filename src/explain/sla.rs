//! A task is wanted within a stated time, and attempts, waits and timeouts may add up to more. The remedy must not be
//! worse than the fault: a timeout below the slow end of a step's answers fails requests that nothing was wrong with.
//! So attempts are cut first, the outermost layer's before the others', until what is left fits with such a timeout;
//! then the timeout is shortened as far as it has to be. Where not even one attempt fits, no setting of the client
//! helps, and that is what is said.

use super::class::{ClassExplanation, task_course};
use super::course::Course;
use super::ladder::attempts_bound;
use super::remedy::Remedy;
use super::service;
use super::warning::{Code, Warning};
use super::words;
use crate::policy::{Client, Element, RetryPolicy, Role, Timeouts};
use crate::scenario::Scenario;
use crate::units::SimDuration;

/// The share of the stated time that attempts and waits may take: the rest is for the caller's own work.
pub(super) const SHARE_OF_SLA: f64 = 0.7;
/// More attempts than this are not tried one by one.
const TRIED: u64 = 16;

/// The warning that a class may come too late, with what keeps it within its time.
pub(super) fn at_risk(scenario: &Scenario, index: usize, class: &ClassExplanation, client: &Client) -> Option<Warning> {
    let sla = class.sla?;
    let limit = sla.scaled(SHARE_OF_SLA);
    let Course { requests, wall, .. } = class.task_course;
    if wall.to <= limit || !client.elements().iter().any(|element| element.role.policy().is_some()) {
        return None;
    }
    let waits = class.task_course.waits().to;
    let what = match class.timeout {
        None if class.answered_within.is_some() => "no timeout stands over all of a request".into(),
        None => "its requests have no timeout".into(),
        Some(timeout) => format!(
            "{} × {} timeout and {} of waits are {}, above 70 %",
            words::bound(requests),
            words::duration(timeout),
            words::duration(waits),
            words::duration(wall.to)
        ),
    };
    let task = words::article(&class.task());
    let message = format!("{task} is wanted within {}: {what}", words::duration(sla));
    let (_, travel) = service::travel(&scenario.provider);
    let patience = service::at_least(service::slowest(&scenario.traffic[index])?.1 + travel);
    let attempt = Attempt { scenario, index, limit, patience };
    if let Some(remedies) = attempt.remedies(client) {
        return Some(Warning::all(Code::SlaAtRisk, message, remedies));
    }
    let path = format!("traffic.{}.sla", class.name);
    let steps = words::counted(class.steps.len() as u64, "step");
    let hint = format!(
        "no setting of `{}` fits: {steps} of up to {} each, tried once, take more than {}; raise `{path}` or make the \
         steps faster",
        client.name,
        words::duration(attempt.patience),
        words::duration(limit)
    );
    Some(Warning { code: Code::SlaAtRisk, message, hint, path })
}

/// The search for settings that fit.
struct Attempt<'a> {
    scenario: &'a Scenario,
    index: usize,
    limit: SimDuration,
    /// The least timeout that leaves a healthy system whole.
    patience: SimDuration,
}

impl Attempt<'_> {
    fn remedies(&self, client: &Client) -> Option<Vec<Remedy>> {
        let mut settings = client.clone();
        let mut remedies = Vec::new();
        let outermost_first = (0..client.elements().len()).rev();
        for at in outermost_first {
            if self.fits_patiently(&settings) {
                break;
            }
            let element = &client.elements()[at];
            let policy = element.role.policy().filter(|_| !element.role.is_fallback());
            let Some(attempts) = policy.map(attempts_bound).filter(|attempts| *attempts != Some(1)) else {
                continue;
            };
            let fewer = (1..attempts.unwrap_or(TRIED).min(TRIED)).rev();
            let with = |attempts| with(&settings, at, |policy| policy.max_attempts = Some(attempts as u32));
            let fitting = fewer.clone().find(|n| with(*n).is_some_and(|client| self.fits_patiently(&client)));
            let attempts = fitting.unwrap_or(1);
            settings = with(attempts)?;
            remedies.push(Remedy::attempts(client, element, attempts));
        }
        if !self.fits_patiently(&settings) {
            return None;
        }
        if !self.fits(&settings) {
            let course = self.course(&settings);
            let room = self.limit.saturating_sub(course.waits().to).scaled(1.0 / course.requests? as f64);
            let innermost = client.elements().iter().find(|element| has_timeout(element))?;
            let timeout = at_most(room).max(self.patience);
            remedies.push(Remedy::key(client, innermost, "timeout", &format!("\"{timeout}\"")));
        }
        Some(remedies)
    }

    fn course(&self, client: &Client) -> Course {
        task_course(self.scenario, self.index, client)
    }

    fn fits(&self, client: &Client) -> bool {
        self.course(client).wall.to <= self.limit
    }

    /// Whether it fits with a timeout as short as it may be; one that is shorter already stays.
    fn fits_patiently(&self, client: &Client) -> bool {
        let Some(innermost) = client.elements().iter().position(has_timeout) else {
            return false;
        };
        let shorten = |policy: &mut RetryPolicy| {
            policy.timeout = policy.timeout.and(Timeouts::each(self.patience));
        };
        with(client, innermost, shorten).is_some_and(|client| self.fits(&client))
    }
}

/// Whether the element can have a timeout.
fn has_timeout(element: &Element) -> bool {
    element.role.policy().is_some() && !element.role.is_fallback()
}

/// The client with another policy in one of its elements.
fn with(client: &Client, at: usize, change: impl FnOnce(&mut RetryPolicy)) -> Option<Client> {
    let mut elements: Vec<Element> = client.elements().to_vec();
    if let Role::Retry(policy) | Role::Queue(policy, _) = &mut elements[at].role {
        change(policy);
    }
    client.with_elements(elements)
}

/// A duration cut to whole seconds, below one to whole tenths, at least one of these.
pub(super) fn at_most(time: SimDuration) -> SimDuration {
    let second = SimDuration::from_secs(1);
    let step = if time >= second { second } else { SimDuration::from_millis(100) };
    step.times((time.as_nanos() / step.as_nanos()).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::explain;
    use crate::explain::fixture::incident;
    use crate::random::Distribution;
    use crate::random::distribution::Shape;

    fn warned(scenario: &Scenario) -> Warning {
        let found = explain(scenario).warnings.into_iter().find(|warning| warning.code == Code::SlaAtRisk);
        found.expect("a live class at risk")
    }

    fn with_latency(shape: Shape) -> Scenario {
        let mut scenario = incident(false);
        scenario.traffic[1].steps[0].latency = Distribution::new(shape).unwrap();
        scenario
    }

    #[test]
    fn a_timeout_is_never_cut_below_the_slow_end_of_the_answers() {
        // By hand: one answer in a thousand takes 2 · exp(0.927 − 0.045) = 4.83 s, so 5 s; 6 attempts of 5 s do not
        // fit into 21 s, 3 with 1.5 s of waits do, and leave 6.5 s for each.
        let spread = with_latency(Shape::LogNormal { mean: 2.0, sigma: 0.3 });
        assert_eq!(
            warned(&spread).hint,
            "set `clients.live.layers.app.max_attempts = 1` and `clients.live.layers.sdk.timeout = \"6s\"`"
        );
        // By hand: a constant 2 s may take 10 s; 2 attempts with 0.5 s of waits leave 10.25 s for each.
        assert_eq!(
            warned(&incident(false)).hint,
            "set `clients.live.layers.app.max_attempts = 1`, `clients.live.layers.sdk.max_retries = 1` and \
             `clients.live.layers.sdk.timeout = \"10s\"`"
        );
    }

    #[test]
    fn attempts_alone_are_cut_where_that_is_enough() {
        // By hand: 6 · 6 s and more are above 21 s, 3 · 6 + 1.5 s are not.
        let mut scenario = with_latency(Shape::LogNormal { mean: 2.0, sigma: 0.3 });
        scenario.clients[1] =
            with(&scenario.clients[1], 0, |p| p.timeout = Timeouts::each(SimDuration::from_secs(6))).unwrap();
        assert_eq!(warned(&scenario).hint, "set `clients.live.layers.app.max_attempts = 1`");
    }

    #[test]
    fn where_one_attempt_is_too_long_no_setting_is_suggested() {
        let scenario = with_latency(Shape::LogNormal { mean: 20.0, sigma: 0.3 });
        let warning = warned(&scenario);
        assert_eq!(warning.path, "traffic.live.sla");
        assert_eq!(
            warning.hint,
            "no setting of `live` fits: 1 step of up to 49 s each, tried once, take more than 21 s; raise \
             `traffic.live.sla` or make the steps faster"
        );
    }
}
