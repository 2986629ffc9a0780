//! The answer as a document for programs. It holds no path and no time of day.

use serde_json::{Value, json};

use super::{Asked, Over, arithmetic, cautions, findings, statement};
use crate::experiment::compare::Cell;
use crate::experiment::headroom::{Edge, Met, Point, Pressure};
use crate::report::counting;
use crate::report::json::{digest, real, statistic_value};

/// The version of the document.
pub const FORMAT: &str = "retrycast.headroom/1";

/// How the answer is made, in sentences.
pub const METHOD: &str = "A day is one seed. The share of days that meet the target has the bounds of Clopper and Pearson \
    1934, with the probability of error divided by the number of looks; a value is safe where the lower bound reaches \
    `days`, unsafe where the upper one does not. All values meet the same seeds.";

/// The document.
pub fn document(asked: &Asked<'_>) -> Value {
    let found = asked.found;
    let (goal, looks) = (asked.goal(), found.question.looks);
    let path = match &asked.over {
        Over::Setting(path) => Some(path.clone()),
        Over::Budget | Over::Workers | Over::Limit | Over::Live => None,
    };
    let names = found.cases.iter().map(|case| case.word()).chain(["all"]);
    let edges: serde_json::Map<String, Value> =
        names.zip(&found.edges).map(|(name, own)| (name.to_owned(), edge(asked, own))).collect();
    let bound = |found: &Option<(f64, String)>| {
        found.as_ref().map(|(number, text)| json!({"number": real(*number), "text": text}))
    };
    json!({
        "format": FORMAT,
        "scenario": asked.scenario.name,
        "title": asked.scenario.title,
        "variant": asked.scenario.variant,
        "seed": asked.seed,
        "over": asked.over.word(),
        "path": path,
        "paths": asked.paths,
        "limit": asked.limit(),
        "live": found.question.live,
        "background": found.question.background,
        "goal": {
            "target": real(goal.target),
            "within_s": goal.within.map(|within| real(within.as_secs_f64())),
            "days": real(goal.days),
            "confidence": real(goal.confidence),
            "statement": statement(asked),
        },
        "looks": {"first": looks.first, "most": looks.most, "error": real(goal.error(looks))},
        "method": METHOD,
        "counting": counting::SENTENCES,
        "answer": found.is_yes(),
        "low_is_safe": found.low_is_safe,
        "edges": edges,
        "present": found.present().map(|point| value(asked, point)),
        "bound": {"fluid": bound(&found.bound.fluid), "with_chance": bound(&found.bound.chance)},
        "pressure": found.pressure.as_ref().map(pressure),
        "arithmetic": arithmetic(asked),
        "findings": findings(asked),
        "warnings": cautions(asked).into_iter().map(|caution| json!({
            "kind": caution.kind, "seen": caution.seen, "meaning": caution.meaning, "remedy": caution.remedy,
        })).collect::<Value>(),
        "points": found.points.iter().map(|own| point(asked, own)).collect::<Value>(),
    })
}

/// The document as text: indented, with a line feed at its end.
pub fn text(asked: &Asked<'_>) -> String {
    format!("{:#}\n", document(asked))
}

fn value(asked: &Asked<'_>, point: &Point) -> Value {
    json!({"number": real(point.number), "text": point.text, "scaled": asked.scaled(point.number)})
}

fn edge(asked: &Asked<'_>, edge: &Edge) -> Value {
    let points = &asked.found.points;
    let at = |place: Option<usize>| place.map(|at| value(asked, &points[at]));
    json!({
        "safe": at(edge.safe),
        "next": at(edge.next),
        "unsafe": at(edge.not_safe),
        "safe_again": edge.again.iter().map(|place| value(asked, &points[*place])).collect::<Value>(),
    })
}

fn pressure(pressure: &Pressure) -> Value {
    let of = |flow: f64| real(flow / pressure.flow);
    json!({
        "flow_per_s": real(pressure.flow),
        "capacity": real(pressure.capacity),
        "live_share": of(pressure.live),
        "background_share": of(pressure.background),
        "background_without_backlog_share": of(pressure.wanted),
        "others_share": of(pressure.others),
        "slack_share": of(pressure.slack()),
        "bucket_lasts_s": pressure.lasts().map(real),
    })
}

fn point(asked: &Asked<'_>, point: &Point) -> Value {
    let mut out = value(asked, point);
    let cases: serde_json::Map<String, Value> =
        point.cases.iter().map(|met| (met.case.word().to_owned(), case(met))).collect();
    out["seeds"] = point.seeds.into();
    out["standing"] = point.standing(None).word().into();
    out["cases"] = cases.into();
    out
}

fn case(met: &Met) -> Value {
    let costs: serde_json::Map<String, Value> = met
        .costs
        .iter()
        .map(|cost| {
            let value = json!({
                "latency_all_p95_s": cell(&cost.latency),
                "failed_share": cell(&cost.failed),
                "not_delivered_share": cell(&cost.not_delivered),
                "queue_peak": cell(&cost.queue),
            });
            (cost.class.clone(), value)
        })
        .collect();
    json!({
        "standing": met.standing.word(),
        "kept": met.kept,
        "lower": real(met.lower),
        "upper": real(met.upper),
        "live_429": cell(&met.rate),
        "live_429_run": cell(&met.whole),
        "queue_back_s": cell(&met.drained),
        "background": costs,
        "digest": digest(met.digest),
    })
}

/// A number over the seeds in which it is defined and finite, and in how many it is never.
fn cell(cell: &Cell) -> Value {
    let mut value = statistic_value(cell.statistic.as_ref(), false);
    value["never_n"] = cell.never.into();
    value
}
