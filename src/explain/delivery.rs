//! What the delivery of a queue adds to the worst case: messages that are handed out again while a run of them goes on,
//! or after their worker has died, and limits on how often that may happen.

use super::class::ClassExplanation;
use super::course::product;
use super::remedy::Remedy;
use super::warning::{Code, Warning};
use super::words;
use super::worst::Worst;
use crate::policy::stack::Resume;
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;
use crate::units::SimDuration;

/// How often the delivery alone may run what stands for one attempt of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryBound {
    /// Runs of one message; `None` where nothing bounds them.
    pub runs_of_a_message: Option<u64>,
    /// Receives of one job over all its messages; `None` for no limit.
    pub receives: Option<u64>,
    /// After how long a message is put back whose run goes on; `None` where only a worker's death brings it back.
    pub visibility: Option<SimDuration>,
}

impl DeliveryBound {
    /// What bounds the runs of a class, where its delivery changes anything.
    pub fn of(scenario: &Scenario, class: &TrafficClass) -> Option<DeliveryBound> {
        let delivery = class.queueing.delivery.as_ref()?;
        let pool = scenario.pool_of(class);
        let prefetches = pool.is_some_and(|pool| pool.prefetch.is_some());
        let crashes = scenario.pools_of(class).any(|pool| pool.crashes.is_some());
        let bound = DeliveryBound {
            runs_of_a_message: delivery.most_runs(prefetches, crashes),
            receives: delivery.receives_at_most.map(u64::from),
            visibility: delivery.visibility.filter(|_| delivery.makes_copies(prefetches)),
        };
        (bound.runs_of_a_message != Some(1) || bound.receives.is_some()).then_some(bound)
    }

    /// The runs of a job whose queue would make so many by itself.
    fn runs(&self, queue: Option<u64>) -> Option<u64> {
        let runs = product(queue, self.runs_of_a_message);
        runs.into_iter().chain(self.receives).min()
    }

    /// The worst case with the delivery. `steps` of the task; `resume` of the queue layer, if there is one.
    pub fn widen(&self, worst: &Worst, steps: u64, resume: Option<Resume>) -> Worst {
        let runs = self.runs(worst.runs);
        let over_all = |known: Option<u64>, of_one_run: Option<u64>| match (known, worst.runs, runs) {
            // Every run may cost what one run costs at most; where the queue restarts the task its bound is exact.
            (Some(known), Some(own), Some(all)) if own == 1 || resume == Some(Resume::Restart) => {
                product(Some(known / own), Some(all))
            }
            (Some(known), Some(own), Some(all)) if all <= own => Some(known),
            (_, _, all) => product(of_one_run, all),
        };
        let all_steps = |of_step: Option<u64>| product(of_step, Some(steps));
        Worst {
            runs,
            calls_per_task: over_all(worst.calls_per_task, all_steps(worst.calls_per_step)),
            per_call_site: over_all(worst.per_call_site, worst.per_step),
            per_task: over_all(worst.per_task, all_steps(worst.per_step)),
            ..*worst
        }
    }

    /// The bound in words, for behind the queue's own.
    pub fn words(&self) -> String {
        let why = match self.visibility {
            Some(visibility) => format!("puts it back {} after it was handed out", words::duration(visibility)),
            None => "puts it back when its worker has died".into(),
        };
        match (self.runs_of_a_message, self.receives) {
            (Some(1), Some(receives)) => format!("a job is handed out {} at most", times(receives)),
            (None | Some(_), Some(receives)) => {
                format!("the queue {why}, and hands a job out {} at most", times(receives))
            }
            (Some(runs), None) => format!("the queue {why}, so that a message is run {} at most", times(runs)),
            (None, None) => format!("the queue {why}, without end"),
        }
    }
}

fn times(number: u64) -> String {
    words::counted(number, "time")
}

/// Messages that come back while an ordinary run of them goes on.
pub fn warnings(scenario: &Scenario, classes: &[ClassExplanation]) -> Vec<Warning> {
    let all = scenario.traffic.iter().zip(classes);
    all.filter_map(|(class, explanation)| {
        let visibility = explanation.delivery?.visibility?;
        let run: f64 = class.stages().map(|stage| longest(class, stage)).sum();
        if run <= visibility.as_secs_f64() {
            return None;
        }
        let run = SimDuration::from_secs_f64(run);
        let message = format!(
            "a {} takes about {} when all goes well, and its message is put back after {}: it runs again while the first \
             run goes on",
            explanation.task(),
            words::duration(run),
            words::duration(visibility)
        );
        let path = format!("traffic.{}.queue.visibility", class.name);
        // Twice as long leaves room for retries.
        let seconds = (run.as_secs_f64() * 2.0).ceil() as u64;
        let value = format!("\"{}\"", SimDuration::from_secs(seconds));
        Some(Warning::set(Code::JobOutlivesVisibility, message, Remedy { path, value }))
    })
    .collect()
}

/// The mean time of the slowest step of a stage, in seconds.
fn longest(class: &TrafficClass, stage: std::ops::Range<usize>) -> f64 {
    stage.map(|step| class.steps[step].latency.mean()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::explain;
    use crate::explain::fixture::{client, one_job, queue};
    use crate::traffic::Delivery;

    fn bound(delivery: Delivery, attempts: u32, resume: Resume) -> (Option<u64>, Option<u64>) {
        let mut scenario = one_job(client("c", vec![queue(attempts, &[], resume)]), &["a", "b"]);
        scenario.traffic[0].queueing.delivery = Some(Box::new(delivery));
        let worst = explain(&scenario).classes[0].worst;
        (worst.runs, worst.per_task)
    }

    #[test]
    fn copies_multiply_what_the_queue_makes_and_receives_bound_both() {
        let late = Delivery { late: true, visibility: Some(SimDuration::from_secs(300)), ..Delivery::default() };
        // By hand, two steps of one request, three runs of the queue: without end; each run twice; five in all.
        assert_eq!(bound(late.clone(), 3, Resume::Restart), (None, None));
        let twice = Delivery { redeliveries_at_most: Some(1), ..late.clone() };
        assert_eq!(bound(twice, 3, Resume::Restart), (Some(6), Some(12)));
        let five = Delivery { receives_at_most: Some(5), ..late.clone() };
        assert_eq!(bound(five.clone(), 3, Resume::Restart), (Some(5), Some(10)));
        assert_eq!(bound(five, 3, Resume::FailedStep), (Some(5), Some(10)));
        // Two receives end the queue's three runs.
        let two = Delivery { receives_at_most: Some(2), ..Delivery::default() };
        assert_eq!(bound(two, 3, Resume::Restart), (Some(2), Some(4)));
        // A message that is acknowledged when its run begins does not come back.
        assert_eq!(bound(Delivery::default(), 3, Resume::Restart), (Some(3), Some(6)));
    }

    #[test]
    fn a_visibility_below_the_work_is_worth_a_warning() {
        let warned = |seconds| {
            let visibility = Some(SimDuration::from_secs(seconds));
            let mut scenario = one_job(client("c", Vec::new()), &["a", "b"]);
            scenario.traffic[0].queueing.delivery =
                Some(Box::new(Delivery { late: true, visibility, ..Delivery::default() }));
            let warnings = explain(&scenario).warnings;
            warnings.into_iter().find(|warning| warning.code == Code::JobOutlivesVisibility).map(|warning| warning.hint)
        };
        // Two steps of one second each.
        assert_eq!(warned(1).as_deref(), Some("set `traffic.job.queue.visibility = \"4s\"`"));
        assert_eq!(warned(2), None);
    }
}
