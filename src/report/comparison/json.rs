//! The comparison as a document for programs: every measure, not only those of the page. It holds no path and no time
//! of day, so that equal comparisons give equal bytes.

use serde_json::{Map, Value, json};

use super::finding::findings;
use super::{Change, Compared, cautions};
use crate::experiment::compare::{Effect, NARROW, narrowest};
use crate::experiment::measure::{Kind, Of, Part};
use crate::experiment::{Measure, Verdict};
use crate::report::counting;
use crate::report::json::{digest, real, statistic_value};
use crate::stats::Paired;

/// The version of the document.
pub const FORMAT: &str = "retrycast.compare/1";

/// How intervals are made, in words.
pub(crate) const METHOD: &str =
    "Student's t over the differences within each seed; where one side is never, the sign test";

/// The document.
pub fn document(compared: &Compared<'_>) -> Value {
    json!({
        "format": FORMAT,
        "scenario": compared.reference().scenario.name,
        "title": compared.reference().scenario.title,
        "seed": compared.comparison.trial.seed.0,
        "replicates": compared.replicates(),
        "reference": compared.reference().name,
        "method": METHOD,
        "sure": sure(compared),
        "counting": counting::SENTENCES,
        "arms": (0..compared.arms.len()).map(|arm| arm_value(compared, arm)).collect::<Value>(),
        "findings": compared.others().zip(findings(compared)).map(|(arm, said)| {
            json!({ "arm": compared.arms[arm].name, "text": said })
        }).collect::<Value>(),
        "warnings": cautions(compared).into_iter().map(|caution| json!({
            "kind": caution.kind, "seen": caution.seen, "meaning": caution.meaning, "remedy": caution.remedy,
        })).collect::<Value>(),
        "measures": measures(compared),
    })
}

/// The document as text: indented, with a line feed at its end.
pub fn text(compared: &Compared<'_>) -> String {
    format!("{:#}\n", document(compared))
}

fn sure(compared: &Compared<'_>) -> Value {
    let Some(sureness) = compared.comparison.sure else { return Value::Null };
    let widest = sureness.widest.map(|(arm, row, times)| {
        json!({
            "arm": compared.arms[arm].name,
            "measure": compared.comparison.trial.measures[row].path(),
            "times_too_wide": real(times),
        })
    });
    json!({ "is_sure": sureness.is_sure, "share_of_mean": NARROW, "widest": widest })
}

fn arm_value(compared: &Compared<'_>, arm: usize) -> Value {
    let (facts, own) = (&compared.arms[arm], &compared.comparison.trial.arms[arm]);
    json!({
        "name": facts.name,
        "scenario": facts.scenario.name,
        "variant": facts.scenario.variant,
        "digest": digest(own.digest),
        "world_digest": digest(own.world_digest),
        "is_same_world": compared.comparison.is_same_world(arm),
        "changes": facts.changes.iter().map(change).collect::<Value>(),
    })
}

pub(crate) fn change(change: &Change) -> Value {
    json!({ "path": change.path, "from": change.from, "to": change.to, "is_of_the_world": change.is_of_the_world() })
}

fn measures(compared: &Compared<'_>) -> Value {
    let comparison = compared.comparison;
    let one = |(row, measure): (usize, &Measure)| {
        let mut value = describe(measure);
        let arms: Map<String, Value> = compared
            .arms
            .iter()
            .zip(&comparison.effects)
            .map(|(arm, effects)| (arm.name.clone(), cell(&effects[row], measure.kind)))
            .collect();
        let differences: Map<String, Value> = compared
            .others()
            .map(|arm| {
                let paired = comparison.effects[arm][row].paired.as_ref();
                (compared.arms[arm].name.clone(), difference(paired, comparison.verdict(arm, row)))
            })
            .collect();
        value.insert("arms".to_owned(), arms.into());
        value.insert("differences".to_owned(), differences.into());
        Value::Object(value)
    };
    comparison.trial.measures.iter().enumerate().map(one).collect()
}

/// What a measure is.
pub(crate) fn describe(measure: &Measure) -> Map<String, Value> {
    let phase = match &measure.part {
        Part::Whole => Value::Null,
        Part::Phase(name) => name.as_str().into(),
    };
    let (of, name) = match &measure.of {
        Of::Class { name, .. } => ("class", Some(name)),
        Of::Layer { class } => ("layer", Some(class)),
        Of::Limit(name) => ("limit", Some(name)),
        Of::Run => ("run", None),
    };
    let kind = match measure.kind {
        Kind::Count => "count",
        Kind::Ratio => "ratio",
        Kind::Share => "share",
        Kind::Seconds => "seconds",
        Kind::Money => "money",
    };
    let narrow = measure.headline.then(|| real(narrowest(measure.kind)));
    let fields = json!({
        "path": measure.path(), "phase": phase, "of": of, "name": name, "key": measure.key, "kind": kind,
        "lower_is_better": measure.lower_is_better, "is_headline": measure.headline, "narrow": narrow,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The statistic of one arm, with the seeds in which it is never.
pub(crate) fn cell(effect: &Effect, kind: Kind) -> Value {
    let mut value = statistic_value(effect.cell.statistic.as_ref(), kind == Kind::Count);
    value["never"] = effect.cell.never.into();
    value
}

/// A difference, with its interval and in how many seeds it went which way.
pub(crate) fn difference(paired: Option<&Paired>, verdict: Verdict) -> Value {
    let statistic = paired.and_then(|paired| paired.difference.as_ref());
    let mut value = statistic_value(statistic, false);
    let counts = paired.map_or((0, 0, 0), |paired| (paired.lower, paired.equal, paired.higher));
    value["lower"] = counts.0.into();
    value["equal"] = counts.1.into();
    value["higher"] = counts.2.into();
    value["verdict"] = verdict.word().into();
    value
}
