//! An explanation as JSON. The keys are a contract, versioned by `format`; unbounded numbers are `null`.

use serde_json::{Map, Value, json};

use crate::explain::Outlasting;
use crate::explain::class::{AnswerCase, ClassExplanation};
use crate::explain::outage::{Bound, OUTAGE, Outage};
use crate::explain::{Course, Demand, Explanation, LayerExplanation, Part, Repetition, Span, Sustain, Warning};
use crate::units::SimDuration;

/// The version of the format.
pub const FORMAT: &str = "retrycast.explain/1";

/// The explanation as one JSON document.
pub fn json(explanation: &Explanation) -> Value {
    let classes: Map<String, Value> =
        explanation.classes.iter().map(|class| (class.name.clone(), of_class(class))).collect();
    let mut document = json!({
        "format": FORMAT,
        "scenario": explanation.scenario,
        "variant": explanation.variant,
        "classes": classes,
        "demand": explanation.demands.iter().map(of_demand).collect::<Vec<_>>(),
        "warnings": explanation.warnings.iter().map(of_warning).collect::<Vec<_>>(),
    });
    if let Some(sustain) = &explanation.sustain {
        document["servers"] = of_servers(sustain);
    }
    document
}

/// What servers are asked for, and whether an overload can outlive its cause.
pub(super) fn of_servers(sustain: &Sustain) -> Value {
    let finite = |number: f64| number.is_finite().then_some(number);
    json!({
        "servers": sustain.servers,
        "load": sustain.load,
        "failing_load": finite(sustain.failing_load),
        "full_queue_s": sustain.queue.map(SimDuration::as_secs_f64),
        "patience_s": sustain.patience.map(SimDuration::as_secs_f64),
        "enough_room": sustain.enough_room,
        "can_be_late": sustain.can_be_late(),
        "outgrows": sustain.outgrows(),
        "can_outlive_its_cause": sustain.is_possible(),
        "safe_load": finite(sustain.safe_load()),
        "safe_requests": finite(sustain.safe_requests()),
    })
}

fn of_class(class: &ClassExplanation) -> Value {
    let worst = &class.worst;
    let by_answer: Map<String, Value> =
        class.by_answer.iter().map(|case| (case.word.clone(), of_answer(case))).collect();
    let mut fields = json!({
        "client": class.client,
        "kind": class.task_noun(),
        "steps": class.steps,
        "sla_s": class.sla.map(SimDuration::as_secs_f64),
        "timeout_s": class.timeout.map(SimDuration::as_secs_f64),
        "layers": class.layers.iter().zip(&class.layer_courses)
            .map(|(layer, course)| of_layer(layer, course)).collect::<Vec<_>>(),
        "max_runs_per_task": worst.runs,
        "max_calls_per_task": worst.calls_per_task,
        "max_requests_per_call": worst.per_call,
        "max_requests_per_step_and_run": worst.per_step,
        "max_requests_per_call_site": worst.per_call_site,
        "max_requests_per_task": worst.per_task,
        "how": class.how(),
        "by_answer": by_answer,
        "waits": {
            "step_s": span(class.step_course.waits()),
            "task_s": span(class.task_course.waits()),
            "task_held_s": span(class.task_course.held),
            "task_freed_s": span(class.task_course.freed),
        },
        "wall_time": {
            "step_s": span(class.step_course.wall),
            "task_s": span(class.task_course.wall),
        },
        "late_failure": class.late_failure.map(|late| json!({
            "answered_at_once": late.answered_on(1),
            "answered_on_last": late.answered_on(late.per_step),
            "refused_from_the_start": late.refused_from_the_start(),
            "readings": [late.reading()],
        })),
        "windows": class.outlasts.iter().map(of_window).collect::<Vec<_>>(),
    });
    if let Some(outage) = &class.outage {
        fields["outage"] = of_outage(outage);
    }
    if !class.others.is_empty() {
        fields["steps"] = class.parts().flat_map(|part| part.steps.clone()).collect();
        fields["own_steps"] = class.steps.clone().into();
        fields["other_steps"] = class.others.iter().map(of_class).collect();
    }
    fields
}

/// What guards and budgets leave of a class in an outage.
fn of_outage(outage: &Outage) -> Value {
    let bound = |bound: &Bound| {
        json!({
            "name": bound.name,
            "kind": bound.kind,
            "instances": bound.instances,
            "max_requests": bound.requests,
            "on_average": bound.on_average,
            "max_in_flight": bound.at_once,
            "max_requests_per_call_in_the_long_run": bound.per_call,
            "retries_at_once": bound.lump,
            "words": bound.words,
        })
    };
    json!({
        "lasts_s": OUTAGE.as_secs_f64(),
        "max_requests": outage.requests,
        "max_requests_per_minute": outage.per_minute(),
        "by": outage.by,
        "on_average": outage.on_average,
        "bounds": outage.bounds.iter().map(bound).collect::<Vec<_>>(),
    })
}

fn of_layer(layer: &LayerExplanation, course: &Course) -> Value {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    put("name", json!(layer.name));
    put("kind", json!(layer.kind.word()));
    put("preset", json!(layer.preset));
    put("unspoken", json!(layer.unspoken));
    match &layer.part {
        Part::Guard { guard, words } => {
            put("guard", json!(guard));
            put("does", json!(words));
        }
        Part::Retry(repetition) => {
            put("unit", json!(repetition.unit));
            put("max_attempts", json!(repetition.max_attempts));
            put("retries", json!(repetition.retries));
            let repeats: Map<String, Value> =
                repetition.repeats.iter().map(|(word, repeated)| (word.clone(), json!(repeated))).collect();
            put("repeats", Value::Object(repeats));
            put("waits", of_waits(repetition));
            put("hint", json!(repetition.hint_words));
            put("hint_bound_s", json!(repetition.hint_bound.map(SimDuration::as_secs_f64)));
            put("timeout_s", json!(repetition.timeout.map(SimDuration::as_secs_f64)));
            put("total_budget", json!(repetition.deadline_words));
            put("holds_worker", json!(repetition.holds_worker));
            if let Some((place, resume)) = repetition.requeue_words() {
                put("requeue", json!(place));
                put("resume", json!(resume));
            }
            put("max_requests", json!(course.requests));
            put("all_waits_s", span(course.waits()));
            put("wall_time_s", span(course.wall));
        }
    }
    Value::Object(fields)
}

fn of_waits(repetition: &Repetition) -> Value {
    json!({
        "words": repetition.wait_words,
        "each_s": repetition.ladder.waits.iter().map(|wait| span(*wait)).collect::<Vec<_>>(),
        "total_s": span(repetition.ladder.total),
    })
}

fn of_answer(case: &AnswerCase) -> Value {
    json!({
        "layers": case.layers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "factors": case.layers.iter().map(|(_, attempts)| attempts).collect::<Vec<_>>(),
        "max_requests_per_call": case.per_call,
        "max_requests_per_call_site": case.per_call_site,
        "runs": case.runs,
        "waits_s": span(case.waits),
    })
}

fn of_window(window: &Outlasting) -> Value {
    let layers: Map<String, Value> = window
        .layers
        .iter()
        .map(|(name, waits, verdict)| (name.clone(), json!({ "waits_s": span(*waits), "outlasts": verdict.word() })))
        .collect();
    json!({
        "name": window.name,
        "kind": if window.is_limit { "limit" } else { "fault" },
        "length_s": window.length.as_secs_f64(),
        "answer": window.answer,
        "layers": layers,
        "waits_s": span(window.stack),
        "outlasts": window.verdict.word(),
    })
}

fn of_demand(demand: &Demand) -> Value {
    json!({
        "limit": demand.limit,
        "class": demand.class,
        "share_before": demand.before,
        "share_mean": demand.mean,
        "share_peak": demand.peak,
        "share_busy_workers": demand.busy,
        "share_paced": demand.paced,
        "requests_per_pass": demand.requests_per_pass,
    })
}

fn of_warning(warning: &Warning) -> Value {
    json!({
        "code": warning.code.word(),
        "message": warning.message,
        "hint": warning.hint,
        "path": warning.path,
    })
}

/// A range in seconds; an end without bound is `null`.
fn span(span: Span) -> Value {
    let end = |time: SimDuration| (time < SimDuration::MAX).then(|| time.as_secs_f64());
    json!([end(span.from), end(span.to)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::explain;
    use crate::explain::fixture::{client, decorator, fixed, incident, inner, one_job, sdk};
    use crate::policy::RetryPolicy;

    #[test]
    fn the_contract_holds_the_incidents_numbers() {
        for (fixes, site, task) in [(false, 36, 108), (true, 12, 20)] {
            let document = json(&explain(&incident(fixes)));
            assert_eq!(document["format"], "retrycast.explain/1");
            let report = &document["classes"]["report"];
            assert_eq!(report["max_requests_per_call_site"], site);
            assert_eq!(report["max_requests_per_task"], task);
            assert!(report["layers"].as_array().is_some_and(|layers| !layers.is_empty()));
        }
    }

    #[test]
    fn numbers_without_bound_are_null() {
        let endless = RetryPolicy { max_attempts: None, ..fixed(1, SimDuration::from_secs(1)) };
        let scenario = one_job(client("c", vec![inner("sdk", sdk(3)), decorator("forever", endless)]), &["a"]);
        let document = json(&explain(&scenario));
        let job = &document["classes"]["job"];
        assert_eq!(job["max_requests_per_call"], 3);
        assert!(job["max_requests_per_task"].is_null() && job["layers"][1]["max_attempts"].is_null());
        assert!(job["waits"]["task_s"][1].is_null());
    }

    #[test]
    fn warnings_carry_their_code_and_the_path_to_set() {
        let document = json(&explain(&incident(true)));
        let found = document["warnings"].as_array().unwrap();
        assert!(found.iter().any(|w| w["code"] == "pacer-exceeds-limit" && w["path"] == "guards.share.pacer.amount"));
    }
}
