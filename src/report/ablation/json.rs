//! The ablation as a document for programs. It holds no path and no time of day.

use serde_json::{Map, Value, json};

use super::{Ablated, cautions, findings};
use crate::experiment::Verdict;
use crate::report::comparison::json::{METHOD, cell, change, describe, difference};
use crate::report::counting;
use crate::report::json::{digest, statistic_value};

/// The version of the document.
pub const FORMAT: &str = "retrycast.ablate/1";

/// The document.
pub fn document(ablated: &Ablated<'_>) -> Value {
    let (compared, ablation) = (&ablated.compared, ablated.ablation);
    let combination = |(arm, facts): (usize, &crate::report::comparison::ArmFacts<'_>)| {
        let own = &compared.comparison.trial.arms[arm];
        let on = (0..ablation.fixes.len()).filter(|fix| ablation.combinations[arm].has(*fix));
        json!({
            "name": facts.name,
            "on": on.map(|fix| ablation.fixes[fix].as_str()).collect::<Vec<_>>(),
            "digest": digest(own.digest),
            "world_digest": digest(own.world_digest),
            "is_same_world": compared.comparison.is_same_world(arm),
            "changes": facts.changes.iter().map(change).collect::<Value>(),
        })
    };
    json!({
        "format": FORMAT,
        "scenario": compared.reference().scenario.name,
        "title": compared.reference().scenario.title,
        "variant": compared.reference().scenario.variant,
        "seed": compared.comparison.trial.seed.0,
        "replicates": compared.replicates(),
        "method": METHOD,
        "counting": counting::SENTENCES,
        "fixes": ablation.fixes,
        "combinations": compared.arms.iter().enumerate().map(combination).collect::<Value>(),
        "findings": findings(ablated),
        "warnings": cautions(ablated).into_iter().map(|caution| json!({
            "kind": caution.kind, "seen": caution.seen, "meaning": caution.meaning, "remedy": caution.remedy,
        })).collect::<Value>(),
        "measures": (0..compared.comparison.trial.measures.len()).map(|row| measure(ablated, row)).collect::<Value>(),
    })
}

/// The document as text: indented, with a line feed at its end.
pub fn text(ablated: &Ablated<'_>) -> String {
    format!("{:#}\n", document(ablated))
}

fn measure(ablated: &Ablated<'_>, row: usize) -> Value {
    let (ablation, comparison) = (ablated.ablation, ablated.compared.comparison);
    let measure = &comparison.trial.measures[row];
    let mut value = describe(measure);
    let arms = ablated.compared.arms.iter().zip(&comparison.effects);
    let combinations: Map<String, Value> =
        arms.map(|(arm, effects)| (arm.name.clone(), cell(&effects[row], measure.kind))).collect();
    let verdict = |paired: &crate::stats::Paired| Verdict::of(measure, paired.shift());
    let fixes: Map<String, Value> = ablation
        .fixes
        .iter()
        .zip(&ablation.contributions[row])
        .map(|(fix, own)| {
            let value = json!({
                "alone": difference(Some(&own.alone), verdict(&own.alone)),
                "last": difference(Some(&own.last), verdict(&own.last)),
                "on_average": own.shapley.as_ref().map(|worth| statistic_value(Some(worth), false)),
            });
            (fix.clone(), value)
        })
        .collect();
    let all = ablation.all_arm();
    value.insert("combinations".to_owned(), combinations.into());
    value.insert(
        "total".to_owned(),
        difference(comparison.effects[all][row].paired.as_ref(), comparison.verdict(all, row)),
    );
    value.insert("fixes".to_owned(), fixes.into());
    let interaction = ablation.interactions[row].as_ref().map(|left| statistic_value(Some(left), false));
    value.insert("interaction".to_owned(), interaction.into());
    Value::Object(value)
}
