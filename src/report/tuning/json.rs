//! The tuning as a document for programs. It holds no path of a file and no time of day.

use serde_json::{Map, Value, json};

use super::{Tuned, cautions, finding};
use crate::experiment::measure::Kind;
use crate::experiment::{Axis, Quantity};
use crate::report::comparison::json::{METHOD as INTERVALS, cell, difference};
use crate::report::counting;
use crate::report::json::real;

/// The version of the document.
pub const FORMAT: &str = "retrycast.tune/1";

/// How it is searched, in words.
pub const METHOD: &str = "an Owen-scrambled Sobol sequence first, then generations bred by uniform crossover and \
    shrinking mutations, each a race by successive halving on paired seeds, with elitist selection by constrained \
    non-dominated sorting and crowding (NSGA-II); a time that is never counts as twice the run";

/// How the winner is chosen, in words.
pub const RULE: &str = "with one goal the lowest; with several the policy of the front whose least improvement on the \
    reference, relative to it, is largest";

/// The document.
pub fn document(tuned: &Tuned<'_>) -> Value {
    let tuning = tuned.tuning;
    json!({
        "format": FORMAT,
        "scenario": tuned.scenario.name,
        "title": tuned.scenario.title,
        "variant": tuned.scenario.variant,
        "reference": tuned.reference,
        "seed": tuned.seed,
        "method": METHOD,
        "rule": RULE,
        "intervals": INTERVALS,
        "counting": counting::SENTENCES,
        "effort": {
            "candidates": tuning.effort.candidates, "looked_at": tuning.found.candidates.len(),
            "is_whole": tuning.found.is_whole, "search_seeds": tuning.effort.seeds, "check_seeds": tuned.check,
        },
        "axes": tuned.axes.iter().zip(tuned.before).map(|(own, before)| axis(own, before.as_deref())).collect::<Value>(),
        "metrics": tuning.metrics.iter().enumerate().map(|(index, metric)| json!({
            "word": metric.word, "meaning": metric.meaning, "kind": kind(metric.kind), "is_goal": index < tuning.goals,
        })).collect::<Value>(),
        "constraints": tuning.constraints.iter().map(|constraint| json!({
            "text": constraint.text,
            "metric": tuning.metrics[constraint.metric].word,
            "bound": real(constraint.bound),
            "kept": tuning.winner.map(|winner| constraint.violation(tuning.means[winner][constraint.metric]) == 0.0),
        })).collect::<Value>(),
        "sized": tuning.sized.map(|sized| json!({ "axis": sized.axis, "most": sized.most })),
        "finding": finding(tuned),
        "warnings": cautions(tuned).into_iter().map(|caution| json!({
            "kind": caution.kind, "seen": caution.seen, "meaning": caution.meaning, "remedy": caution.remedy,
        })).collect::<Value>(),
        "reference_means": means(tuned, &tuning.reference),
        "winner": winner(tuned),
        "checks": checks(tuned),
        "candidates": candidates(tuned),
    })
}

/// The document as text: indented, with a line feed at its end.
pub fn text(tuned: &Tuned<'_>) -> String {
    format!("{:#}\n", document(tuned))
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => "count",
        Kind::Ratio => "ratio",
        Kind::Share => "share",
        Kind::Seconds => "seconds",
        Kind::Money => "money",
    }
}

const fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Choice => "choice",
        Quantity::Number => "number",
        Quantity::Amount => "amount",
        Quantity::Share => "share",
        Quantity::Seconds => "seconds",
        Quantity::PerSecond => "per_second",
    }
}

fn axis(axis: &Axis, before: Option<&str>) -> Value {
    let span = axis.span.map(
        |span| json!({ "from": real(span.from), "to": real(span.to), "is_log": span.log, "is_whole": span.whole }),
    );
    let values = axis.span.is_none().then(|| axis.values.iter().map(|value| value.text.as_str()).collect::<Vec<_>>());
    json!({
        "name": axis.name(), "paths": axis.paths, "quantity": quantity(axis.quantity), "values": values, "range": span,
        "reference": before,
    })
}

fn means(tuned: &Tuned<'_>, means: &[f64]) -> Value {
    let pairs = tuned.tuning.metrics.iter().zip(means);
    pairs.map(|(metric, mean)| (metric.word.clone(), real(*mean))).collect::<Map<String, Value>>().into()
}

fn winner(tuned: &Tuned<'_>) -> Value {
    let tuning = tuned.tuning;
    let Some(winner) = tuning.winner else { return Value::Null };
    let settings = tuned.axes.iter().zip(tuned.chosen());
    let settings =
        settings.flat_map(|(axis, text)| axis.paths.iter().map(move |path| (path.clone(), text.clone().into())));
    let saved = (0..tuning.goals).map(|goal| (tuning.metrics[goal].word.clone(), real(tuning.saved(winner, goal))));
    json!({
        "policy": winner,
        "keeps_constraints": tuning.keeps(winner),
        "settings": settings.collect::<Map<String, Value>>(),
        "means": means(tuned, &tuning.means[winner]),
        "saved": saved.collect::<Map<String, Value>>(),
    })
}

fn checks(tuned: &Tuned<'_>) -> Value {
    let tuning = tuned.tuning;
    let one = |checked: &crate::experiment::tune::Checked| {
        let numbers: Map<String, Value> = tuning
            .metrics
            .iter()
            .enumerate()
            .map(|(index, metric)| {
                let held = tuned.held(checked, index);
                let value = json!({
                    "reference": cell(&held.reference, metric.kind),
                    "winner": cell(&held.winner, metric.kind),
                    "difference": difference(held.winner.paired.as_ref(), held.verdict),
                });
                (metric.word.clone(), value)
            })
            .collect();
        json!({
            "world": checked.world.name, "what": checked.world.what, "sets": checked.world.sets,
            "is_seen": checked.is_seen, "numbers": numbers,
        })
    };
    tuning.checked.iter().map(one).collect()
}

fn candidates(tuned: &Tuned<'_>) -> Value {
    let tuning = tuned.tuning;
    let one = |(index, candidate): (usize, &crate::experiment::search::Candidate)| {
        json!({
            "values": candidate.texts,
            "generation": candidate.generation,
            "seeds": candidate.seeds,
            "means": means(tuned, &tuning.means[index]),
            "violation": candidate.standing.as_ref().map(|standing| real(standing.violation)),
            "is_front": tuning.found.front.contains(&index),
        })
    };
    tuning.found.candidates.iter().enumerate().map(one).collect()
}
