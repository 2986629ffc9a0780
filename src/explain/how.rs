//! How a bound comes about, in words: the same product that `worst` computes, said so that a reader can follow it.

use super::class::{ClassExplanation, LateFailure};
use super::layer::Repetition;
use super::words::{bound, count, counted, list, ordinal, plural};
use crate::policy::stack::Resume;

impl ClassExplanation {
    /// How the most requests of a task come about, one sentence for each step of the thought.
    pub fn how(&self) -> Vec<String> {
        let mut sentences = vec![self.how_one_step()];
        sentences.push(self.how_task());
        if let (Some(one), Some(all)) = (self.worst_of_one_answer(), self.step_worst.per_call_site)
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

    /// The steps that use this client, such as "`rubric` and `write`".
    pub fn step_names(&self) -> String {
        list(&self.steps.iter().map(|step| format!("`{step}`")).collect::<Vec<_>>())
    }

    /// The layers that can repeat something, outermost first.
    pub fn repeating(&self) -> impl Iterator<Item = (&str, &Repetition)> {
        let layers = self.layers.iter().rev().filter_map(|layer| Some((layer.name.as_str(), layer.repetition()?)));
        layers.filter(|(_, repetition)| repetition.max_attempts != Some(1) && !repetition.retries.is_empty())
    }

    /// How the most requests of one step come about.
    pub fn how_one_step(&self) -> String {
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
        format!("one step: {} = {}", factors.join(" × "), requests(self.step_worst.per_call_site))
    }

    fn how_task(&self) -> String {
        let steps = self.steps.len() as u64;
        let (task, noun) = (requests(self.worst.per_task), self.task_noun());
        if let Some(delivery) = &self.delivery {
            return format!("one {noun}: {task}; {}", delivery.words());
        }
        if !self.at_once.is_empty() {
            let groups = self
                .at_once
                .iter()
                .map(|group| list(&group.iter().map(|step| format!("`{step}`")).collect::<Vec<_>>()));
            let groups: Vec<String> = groups.collect();
            return format!("one {noun}: {task}; {} run at once, and each may cost what it can", groups.join("; "));
        }
        if !self.others.is_empty() {
            let each = self.parts().map(|part| format!("{} ({})", bound(part.step_worst.per_step), part.step_names()));
            let each: Vec<String> = each.collect();
            let runs = self.worst.runs.map_or_else(|| "runs without end".into(), |runs| counted(runs, "run"));
            return format!("one {noun}: a step costs up to {} requests in a run; {task} over {runs}", each.join(", "));
        }
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
    /// What a job costs that fails after good steps, as a sentence that a reader can hold against a measured number.
    pub fn reading(&self) -> String {
        let earlier = self.steps - 1;
        let (start, late) = (self.refused_from_the_start(), self.answered_on(1));
        let run = if earlier <= 3 {
            format!("{}{}", "1 + ".repeat(earlier as usize), count(self.per_step))
        } else {
            format!("{} + {}", count(earlier), count(self.per_step))
        };
        let surplus = late - start;
        let also = if surplus <= self.per_step {
            format!(
                ", or if one step gets through once, on its {} request ({} + {surplus})",
                ordinal(surplus),
                count(start)
            )
        } else {
            String::new()
        };
        format!(
            "a job that fails costs {} if its first step never gets through ({} × {}), {} if only its last step never \
             does ({} × ({run})){also}",
            count(start),
            self.runs,
            count(self.per_step),
            count(late),
            self.runs,
        )
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
    fn the_published_42_can_be_found() {
        // By hand: 3 · 12 = 36, 3 · (1 + 1 + 12) = 42 and 36 + 6 = 42.
        assert_eq!(
            explain(&incident(false)).classes[0].late_failure.unwrap().reading(),
            "a job that fails costs 36 if its first step never gets through (3 × 12), 42 if only its last step never \
             does (3 × (1 + 1 + 12)), or if one step gets through once, on its 6th request (36 + 6)"
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
