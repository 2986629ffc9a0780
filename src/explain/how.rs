//! How a bound comes about, in words: the same product that `worst` computes, said so that a reader can follow it.

use super::class::{ClassExplanation, LateFailure};
use super::layer::Repetition;
use super::words::{bound, count, counted, ordinal, plural};
use crate::policy::stack::Resume;

impl ClassExplanation {
    /// How the most requests of a task come about, one sentence for each step of the thought.
    pub fn how(&self) -> Vec<String> {
        let mut sentences = vec![self.how_one_step()];
        sentences.push(self.how_task());
        if let (Some(one), Some(all)) = (self.worst_of_one_answer(), self.worst.per_call_site)
            && one < all
        {
            sentences.push(format!(
                "no single error costs that much: {} is the most with the same answer every time, {} takes a mixture",
                count(one),
                count(all)
            ));
        }
        sentences
    }

    /// The layers that can repeat something, outermost first.
    pub fn repeating(&self) -> impl Iterator<Item = (&str, &Repetition)> {
        let layers = self.layers.iter().rev().filter_map(|layer| Some((layer.name.as_str(), layer.repetition()?)));
        layers.filter(|(_, repetition)| repetition.max_attempts != Some(1) && !repetition.retries.is_empty())
    }

    fn how_one_step(&self) -> String {
        let factors: Vec<String> = self
            .repeating()
            .map(|(name, repetition)| match repetition.max_attempts {
                Some(attempts) => format!("{} (`{name}`)", counted(attempts, repetition.unit)),
                None => format!("{} without end (`{name}`)", plural(2, repetition.unit)),
            })
            .collect();
        if factors.is_empty() {
            return "one step: 1 request, nothing is repeated".into();
        }
        format!("one step: {} = {}", factors.join(" × "), requests(self.worst.per_call_site))
    }

    fn how_task(&self) -> String {
        let steps = self.steps.len() as u64;
        let (task, noun) = (requests(self.worst.per_task), self.task_noun());
        let (Some(per_step), Some(runs)) = (self.worst.per_step, self.worst.runs) else {
            return format!("one {noun}: {task}");
        };
        let resume = self.layers.last().and_then(|layer| layer.repetition()?.requeue).map(|requeue| requeue.resume);
        let each = counted(per_step, "request");
        match resume.filter(|_| runs > 1) {
            None if steps == 1 => format!("one {noun}: {task}, in one step"),
            None => format!("one {noun}: {} × {each} = {task}", counted(steps, "step")),
            Some(_) if steps == 1 => format!("one {noun}: {} × {each} = {task}", counted(runs, "run")),
            Some(Resume::Restart) => format!(
                "one {noun}: {} × {} × {each} = {task}: in each run all steps but the last get through on their last \
                 request, then the last one fails",
                counted(runs, "run"),
                counted(steps, "step"),
            ),
            Some(Resume::FailedStep) => format!(
                "one {noun}: ({} + {}) × {each} = {task}: each step gets through once, on its last request, and each \
                 failed run costs one more failing step",
                counted(steps, "step"),
                counted(runs - 1, "failed run"),
            ),
        }
    }
}

impl LateFailure {
    /// What a job costs that fails after good steps, as sentences that a reader can hold against a measured number.
    pub fn readings(&self) -> Vec<String> {
        let (runs, per_step) = (self.runs, self.per_step);
        let earlier = self.steps - 1;
        let (start, late) = (self.refused_from_the_start(), self.answered_on(1));
        let sum = |n: u64| {
            if earlier <= 3 {
                format!("{}{}", format!("{n} + ").repeat(earlier as usize), count(per_step))
            } else {
                format!("{} × {n} + {}", count(earlier), count(per_step))
            }
        };
        let mut readings = vec![
            format!("{} when its first step never gets through: {runs} × {}", count(start), count(per_step)),
            format!(
                "{} when each run fails at its last step and every step before is answered at once: {runs} × ({})",
                count(late),
                sum(1)
            ),
        ];
        if per_step > 2 {
            readings.push(format!(
                "{} when these steps are refused once first, {} when they get through on the last request",
                count(self.answered_on(2)),
                count(self.answered_on(per_step))
            ));
        }
        let surplus = late - start;
        if let Some(ways) = self.ways(surplus) {
            readings.push(format!(
                "{} also when everything is refused but {ways} in one run: {} + {}",
                count(late),
                count(start),
                count(surplus)
            ));
            if self.per_call > 1 {
                readings.push(format!(
                    "the requests tell the two apart: steps answered at once leave {} requests missing from {} per call",
                    count(runs * earlier * (self.per_call - 1)),
                    count(self.per_call)
                ));
            }
        }
        readings
    }

    /// Late successes within one run that cost `surplus` requests more.
    fn ways(&self, surplus: u64) -> Option<String> {
        let mut ways = Vec::new();
        if surplus <= self.per_step {
            ways.push(format!("one step, which gets through on its {} request,", ordinal(surplus)));
        }
        if self.steps > 2 && surplus.is_multiple_of(2) && surplus / 2 <= self.per_step {
            ways.push(format!("two steps, on their {} each,", ordinal(surplus / 2)));
        }
        (!ways.is_empty()).then(|| ways.join(" or "))
    }
}

fn requests(number: Option<u64>) -> String {
    match number {
        Some(number) => counted(number, "request"),
        None => format!("requests {}", bound(None)),
    }
}

#[cfg(test)]
mod tests {
    use crate::explain::explain;
    use crate::explain::fixture::{client, fixed, incident, inner, one_job, some};
    use crate::policy::RetryPolicy;
    use crate::units::SimDuration;

    #[test]
    fn the_incidents_products_can_be_followed() {
        let old = explain(&incident(false));
        let how = old.classes[0].how();
        assert_eq!(how[0], "one step: 3 runs (`queue`) × 4 calls (`decorator`) × 3 requests (`sdk`) = 36 requests");
        assert!(
            how[1].starts_with("one job: 3 runs × 3 steps × 12 requests = 108 requests: in each run"),
            "{}",
            how[1]
        );
        let new = explain(&incident(true));
        let how = new.classes[0].how();
        assert!(how[1].starts_with("one job: (3 steps + 2 failed runs) × 4 requests = 20 requests"), "{}", how[1]);
    }

    #[test]
    fn every_reading_of_the_published_42_is_offered() {
        // By hand: 3 · (1 + 1 + 12); 36 + 6, one step on its 6th request or two on their 3rd; the first reading takes
        // 6 calls of one request instead of three: 12 missing.
        let readings = explain(&incident(false)).classes[0].late_failure.unwrap().readings();
        assert_eq!(
            readings,
            [
                "36 when its first step never gets through: 3 × 12",
                "42 when each run fails at its last step and every step before is answered at once: 3 × (1 + 1 + 12)",
                "48 when these steps are refused once first, 108 when they get through on the last request",
                "42 also when everything is refused but one step, which gets through on its 6th request, or two \
                 steps, on their 3rd each, in one run: 36 + 6",
                "the requests tell the two apart: steps answered at once leave 12 requests missing from 3 per call",
            ]
        );
    }

    #[test]
    fn a_mixture_is_said_to_be_one() {
        let only = |status, attempts| RetryPolicy {
            retry_on: some(&[status], false, false),
            ..fixed(attempts, SimDuration::ZERO)
        };
        let scenario =
            one_job(client("c", vec![inner("inside", only(503, 4)), inner("outside", only(429, 3))]), &["a"]);
        let how = explain(&scenario).classes[0].how();
        assert_eq!(
            how.last().unwrap(),
            "no single error costs that much: 4 is the most with the same answer every time, 12 takes a mixture"
        );
    }
}
