//! An explanation for the terminal: the finding first, then the fan of each class, which error is repeated by whom,
//! how the numbers come about, how long it takes, and what to change. 80 columns, no colour needed.

use std::fmt::Write as _;

use super::explain_answers::answers;
use super::explain_page::{WIDTH, line, put, wrap};
use super::explain_tree::tree;
use super::sustain::conditions;
use crate::explain::{
    ClassExplanation, Demand, Explanation, LayerExplanation, Outlasting, Part, Repetition, Verdict, words,
};
use crate::policy::Kind;
use crate::traffic::TaskKind;

/// The narrowest column that words can stand in beside a tree.
const COLUMN: usize = 32;
/// The width of the labels.
const LABEL: usize = 10;

/// The explanation as text, with a newline at its end.
pub fn text(explanation: &Explanation) -> String {
    let mut page = String::new();
    put(&mut page, "", &headline(explanation), 0);
    for class in &explanation.classes {
        page.push('\n');
        put(&mut page, "", &title(class), 0);
        page.push('\n');
        for part in class.parts() {
            if !class.others.is_empty() {
                let steps = if part.steps.len() == 1 { "step" } else { "steps" };
                put(&mut page, "  ", &format!("{steps} {}, client `{}`", part.step_names(), part.client), 2);
                page.push('\n');
            }
            page.push_str(&fan(part));
            page.push('\n');
            page.push_str(&answers(part));
            page.push('\n');
            if !class.others.is_empty() {
                part_numbers(&mut page, part);
                page.push('\n');
            }
        }
        page.push_str(&numbers(class));
        if let Some(outage) = &class.outage {
            field(&mut page, "outage", &outage.sentence());
            outage.bounds.iter().for_each(|bound| field(&mut page, "", &bound.words));
        }
        let demands = explanation.demands.iter().filter(|demand| demand.class == class.name);
        demands.for_each(|demand| field(&mut page, "load", &load(class, demand)));
    }
    if let Some(sustain) = &explanation.sustain {
        page.push('\n');
        for (i, sentence) in conditions(sustain).iter().enumerate() {
            field(&mut page, if i == 0 { "servers" } else { "" }, sentence);
        }
    }
    for warning in &explanation.warnings {
        page.push('\n');
        put(&mut page, "  warning: ", &warning.message, 11);
        put(&mut page, "  hint: ", &warning.hint, 8);
    }
    page
}

/// The finding: what one step and one task of each class can cost.
fn headline(explanation: &Explanation) -> String {
    let parts: Vec<String> = explanation
        .classes
        .iter()
        .map(|class| {
            let noun = class.task();
            let task = cost(class.worst.per_task);
            if class.step_count() > 1 {
                format!(
                    "one step of {} can cost {}, one {noun} {task}",
                    words::article(&noun),
                    requests(class.worst.per_call_site)
                )
            } else {
                format!("one {noun} can cost {}", requests(class.worst.per_task))
            }
        })
        .collect();
    let sentence = parts.join("; ");
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

pub(super) fn cost(number: Option<u64>) -> String {
    number.map_or_else(|| "without end".into(), words::count)
}

fn requests(number: Option<u64>) -> String {
    number.map_or_else(|| "requests without end".into(), |number| words::counted(number, "request"))
}

fn title(class: &ClassExplanation) -> String {
    let steps = words::counted(class.step_count() as u64, "step");
    let who = match class.kind {
        TaskKind::Jobs { workers, .. } => {
            let shared = class.pool.as_ref().map_or_else(String::new, |pool| format!(" of the pool `{pool}`"));
            format!("jobs, {}{shared}", words::counted(u64::from(workers), "worker"))
        }
        TaskKind::Turns => "turns, nobody queues".into(),
    };
    let sla = class.sla.map(|sla| format!(", wanted within {}", words::duration(sla))).unwrap_or_default();
    format!("{}   {who}, {steps}, client `{}`{sla}", class.name, class.client)
}

/// The tree with the layers beside it, or the layers alone where it does not fit.
fn fan(class: &ClassExplanation) -> String {
    let tree = tree(class).unwrap_or_default();
    let left = tree.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let beside = left > 0 && left + 4 + COLUMN <= WIDTH;
    let column = if beside { WIDTH - left - 4 } else { WIDTH - 2 };
    let layers: Vec<String> = class.layers.iter().rev().flat_map(|layer| layer_lines(layer, column)).collect();
    let mut text = String::new();
    if beside {
        for row in 0..tree.len().max(layers.len()) {
            let (left_text, right) =
                (tree.get(row).map_or("", String::as_str), layers.get(row).map_or("", String::as_str));
            let gap = " ".repeat(left - left_text.chars().count());
            line(&mut text, &format!("  {left_text}{gap}  {right}"));
        }
    } else {
        for row in tree.iter().chain(&layers) {
            line(&mut text, &format!("  {row}"));
        }
    }
    if class.layers.is_empty() {
        line(&mut text, "  no layers: each step is one request");
    }
    text
}

/// One layer: its name, and below it what it does.
fn layer_lines(layer: &LayerExplanation, width: usize) -> Vec<String> {
    let origin = match (&layer.preset, &layer.part) {
        (Some(preset), _) => format!(" ({})", preset_words(preset)),
        (None, Part::Guard { guard, .. }) => format!(" (guard {guard})"),
        (None, Part::Retry(_)) => String::new(),
    };
    let mut lines = vec![format!("{}{origin}", layer.name)];
    let facts = match &layer.part {
        Part::Guard { words, .. } => vec![words.clone()],
        Part::Retry(repetition) => repetition_facts(layer, repetition),
    };
    for fact in facts {
        lines.extend(wrap(&fact, width.saturating_sub(2)).into_iter().map(|row| format!("  {row}")));
    }
    lines
}

/// `anthropic-python-1.13` as `anthropic-python 1.13`.
fn preset_words(preset: &str) -> String {
    match preset.rsplit_once('-') {
        Some((family, version)) if version.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("{family} {version}")
        }
        Some(_) | None => preset.to_owned(),
    }
}

fn repetition_facts(layer: &LayerExplanation, repetition: &Repetition) -> Vec<String> {
    let attempts = match repetition.max_attempts {
        Some(attempts) => words::counted(attempts, repetition.unit),
        None => format!("{} without end", words::plural(2, repetition.unit)),
    };
    if repetition.max_attempts == Some(1) {
        return vec![format!("{attempts}, repeats nothing")];
    }
    let mut facts = vec![format!("{attempts}, {}", repetition.wait_words)];
    if let Some((place, resume)) = repetition.requeue_words() {
        facts.push(format!("{place}, {resume}"));
    }
    facts.push(format!("repeats {}", repetition.retries.join(", ")));
    if layer.kind != Kind::Queue {
        facts.push(repetition.hint_words.clone());
        if !repetition.holds_worker {
            facts.push("frees the worker while it waits".into());
        }
    }
    facts.extend(repetition.deadline_words.clone());
    if layer.unspoken.iter().any(|key| key == "max_attempts") {
        facts.push("attempts by default: the file does not say them".into());
    }
    facts
}

/// How the numbers of the steps of one client come about, in a class that has several.
fn part_numbers(page: &mut String, part: &ClassExplanation) {
    let step = part.how_one_step();
    field(page, "step", step.split_once(": ").map_or(step.as_str(), |(_, rest)| rest));
    field(page, "time", &step_time(part));
    for window in &part.outlasts {
        field(page, &window.name, &outlasting(window));
    }
}

/// How the numbers come about, what waits they bring, and what these last against.
fn numbers(class: &ClassExplanation) -> String {
    let mut text = String::new();
    let has_parts = !class.others.is_empty();
    for sentence in class.how() {
        match sentence.split_once(": ") {
            Some(("one step", _)) if has_parts => {}
            Some(("one step", rest)) => field(&mut text, "step", rest),
            Some((label, rest)) if label == format!("one {}", class.task_noun()) => {
                field(&mut text, class.task_noun(), rest);
            }
            Some(_) | None => field(&mut text, "", &sentence),
        }
    }
    if let Some(failure) = &class.late_failure {
        field(&mut text, "", &failure.reading());
    }
    if has_parts {
        let (waits, wall) = (class.task_course.waits(), class.task_course.wall);
        field(&mut text, "waits", &format!("a whole {}: up to {}", class.task_noun(), words::duration(waits.to)));
        field(&mut text, "time", &format!("a whole {}: up to {}", class.task_noun(), words::duration(wall.to)));
        return text;
    }
    field(&mut text, "waits", &waits(class));
    field(&mut text, "time", &time(class));
    for window in &class.outlasts {
        field(&mut text, &window.name, &outlasting(window));
    }
    text
}

fn waits(class: &ClassExplanation) -> String {
    let (step, task) = (&class.step_course, &class.task_course);
    if task.waits().to.is_zero() {
        return "none of its own".into();
    }
    let asleep = words::range(step.held.from, step.held.to);
    let kept = if class.kind == TaskKind::Turns { "" } else { ", the worker kept" };
    let mut sentence = format!("a step that fails: {} and {asleep} asleep{kept}", requests(step.requests));
    if class.step_count() > 1 || task.held != step.held {
        let _ = write!(sentence, "; a whole {}: up to {} asleep", class.task_noun(), words::duration(task.held.to));
    }
    if !task.freed.to.is_zero() {
        let _ = write!(sentence, " and {} between runs", words::range(task.freed.from, task.freed.to));
    }
    sentence
}

fn time(class: &ClassExplanation) -> String {
    let mut sentence = step_time(class);
    let (step, task) = (class.step_course.wall, class.task_course.wall);
    if class.timeout.is_none() {
        return sentence;
    }
    if task != step {
        let _ = write!(sentence, ", a {} at worst {}", class.task_noun(), words::duration(task.to));
    }
    if matches!(class.kind, TaskKind::Jobs { .. }) {
        sentence.push_str(", the time in the queue not counted");
    }
    sentence
}

fn step_time(class: &ClassExplanation) -> String {
    let Some(timeout) = class.timeout else {
        return match class.answered_within {
            None => "no timeout: a request that hangs takes for ever".into(),
            Some(time) => format!(
                "{} until an answer begins, and nothing over all of a request: one that connects, writes or flows slowly \
                 may take for ever",
                words::duration(time)
            ),
        };
    };
    let step = class.step_course.wall;
    format!(
        "{} for each request: a step that hangs takes {}",
        words::duration(timeout),
        words::range(step.from, step.to)
    )
}

fn outlasting(window: &Outlasting) -> String {
    let length = words::duration(window.length);
    let what = if window.is_limit {
        format!("refills in {length}")
    } else {
        let mean = if window.in_episodes { " on average" } else { "" };
        format!("lasts {length}{mean} ({})", window.answer.replace('_', " "))
    };
    if window.layers.is_empty() {
        return format!("{what}; no layer repeats a {}", window.answer);
    }
    let ladders: Vec<String> = window
        .layers
        .iter()
        .map(|(name, waits, verdict)| match verdict {
            Verdict::ByHint => format!("{name} follows the hint"),
            Verdict::Never | Verdict::Sometimes | Verdict::Always | Verdict::NotRepeated => {
                if waits.to.is_zero() {
                    format!("{name} none")
                } else {
                    format!("{name} {}", words::range(waits.from, waits.to))
                }
            }
        })
        .collect();
    let all = words::range(window.stack.from, window.stack.to);
    let verdict = match window.verdict {
        Verdict::Never => format!("all waits of a step, {all}, are over before it is"),
        Verdict::Sometimes => format!("all waits of a step, {all}, may outlast it"),
        Verdict::Always => format!("all waits of a step, {all}, outlast it"),
        Verdict::ByHint => "the hint says when the request fits".into(),
        Verdict::NotRepeated => "nothing waits".into(),
    };
    format!("{what}; waits: {}; {verdict}", ladders.join(", "))
}

fn load(class: &ClassExplanation, demand: &Demand) -> String {
    let mut parts = match demand.before {
        Some(before) => vec![format!("takes {} before the first fault", words::part(before, &demand.limit))],
        None => vec![format!("takes {} on average", words::part(demand.mean, &demand.limit))],
    };
    if words::times(demand.peak) != words::times(demand.usual()) {
        parts.push(format!("{} at its peak", words::times(demand.peak)));
    }
    if class.is_cached {
        parts.push("at most, for the cache keeps some of it".to_owned());
    }
    if let (Some(busy), TaskKind::Jobs { workers, .. }) = (demand.busy, class.kind) {
        let ask = if demand.busy_workers == 1 { "asks" } else { "ask" };
        let there = words::counted(demand.busy_workers, "busy worker");
        // The others stand in line before a semaphore.
        let of = if demand.busy_workers < u64::from(workers) { format!(" of {workers}") } else { String::new() };
        parts.push(format!("{there}{of} {ask} for {}", words::times(busy)));
    }
    if let Some(paced) = demand.paced {
        parts.push(match demand.requests_per_pass {
            Some(1) => format!("its pacer allows {}", words::times(paced)),
            Some(most) => format!(
                "its pacer allows calls for {}, and each can become {}: {} are asked for at worst",
                words::times(paced),
                words::counted(most, "request"),
                words::times(paced * most as f64)
            ),
            None => format!("its pacer allows calls for {}, each of requests without end", words::times(paced)),
        });
    }
    parts.join("; ")
}

fn field(text: &mut String, label: &str, words: &str) {
    let head = format!("  {label:<LABEL$}");
    if head.chars().count() > LABEL + 2 {
        line(text, &head);
        put(text, &" ".repeat(LABEL + 2), words, LABEL + 2);
    } else {
        put(text, &head, words, LABEL + 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::adversary::{any_client, guards};
    use crate::explain::explain;
    use crate::explain::fixture::{client, decorator, fixed, incident, inner, one_job, sdk};
    use crate::policy::RetryPolicy;
    use crate::units::SimDuration;

    fn page(fixes: bool) -> String {
        text(&explain(&incident(fixes)))
    }

    #[test]
    fn the_finding_comes_first() {
        let first = page(false).lines().take(2).collect::<Vec<_>>().join(" ");
        assert_eq!(
            first,
            "One step of a report job can cost 36 requests, one report job 108; one live turn can cost 6 requests."
        );
    }

    #[test]
    fn the_tree_shows_the_fan_from_one_step_to_36_requests() {
        let page = page(false);
        for row in [
            "  step ┬ run 1 ┬ call 1 ┬ request 1",
            "       │       │        ├ request 2  0.5 s",
            "       │       ├ call 2  after 2 s",
            "       ├ run 2  12 requests",
            "  3 × 4 × 3 = 36",
        ] {
            assert!(page.lines().any(|line| line.starts_with(row)), "{row}\n{page}");
        }
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for page in [page(false), page(true)] {
            let wide: Vec<&str> = page
                .lines()
                .filter(|line| line.chars().count() > WIDTH && !line.trim_start().starts_with('`'))
                .collect();
            assert_eq!(wide, Vec::<&str>::new());
        }
    }

    #[test]
    fn a_stack_too_wide_for_a_tree_is_listed() {
        let endless = RetryPolicy { max_attempts: None, ..fixed(1, SimDuration::from_secs(1)) };
        let scenario = one_job(client("c", vec![inner("sdk", sdk(40)), decorator("forever", endless)]), &["a"]);
        let page = text(&explain(&scenario));
        assert!(page.starts_with("One job can cost requests without end.\n"), "{page}");
        assert!(page.contains("forever\n") && !page.contains('┬'), "{page}");
    }

    #[test]
    fn any_stack_can_be_explained_on_a_page_and_as_a_document() {
        for case in 0..300 {
            let key = crate::random::Seed(11).key().with(case);
            let mut scenario = one_job(any_client(key), if case % 2 == 0 { &["a"] } else { &["a", "b"] });
            scenario.guards = guards().to_vec();
            let explanation = explain(&scenario);
            let page = text(&explanation);
            let wide = page.lines().find(|line| line.chars().count() > WIDTH && !line.trim_start().starts_with('`'));
            assert_eq!(wide, None, "case {case}");
            let document = crate::report::explain_json::json(&explanation);
            let class = &document["classes"]["job"];
            assert_eq!(class["max_requests_per_task"].as_u64(), explanation.classes[0].worst.per_task, "case {case}");
        }
    }
}
