//! The sentences that all reports of a check share.

use super::{Facts, Regressed};
use crate::experiment::measure::{Measure, Of, Part};
use crate::experiment::regress::{Case, Outcome, Pairing, Row, State};
use crate::report::comparison::{Change, cell, interval, label, size, unit};
use crate::report::quantity::{Unit, count};
use crate::report::words::readable;

/// Below this the chance is not written out.
const SUREST: f64 = 1e-6;

/// A number as people call it, with the class or limit that it is of.
pub fn title(measure: &Measure) -> String {
    let phase = match &measure.part {
        Part::Phase(phase) => format!(", {}", readable(phase)),
        Part::Whole => String::new(),
    };
    // Below a heading of requests these are short; here they stand alone.
    let alone = label(&Measure { part: Part::Whole, ..measure.clone() });
    let name = match measure.key.as_str() {
        "provider_requests" => "requests at the provider",
        "amplification_by_task" => "amplification to the end",
        "requests_per_call_peak" => "most requests per call",
        _ => &alone,
    };
    match &measure.of {
        Of::Class { name: class, .. } => format!("{}: {name}{phase}", readable(class)),
        Of::Layer { class } => format!("{}: factor of {alone}{phase}", readable(class)),
        Of::Limit(_) | Of::Run => alone,
    }
}

/// What was recorded, what is now, and the difference with its interval: `9.31`, `12.2`, `+2.91 ± 0.03`.
pub fn moved(row: &Row) -> [String; 3] {
    let unit = row_unit(row);
    let difference = if let Some((mean, half)) = row.difference {
        interval(mean, half, row.measure.kind, unit)
    } else {
        let seeds = |cell: &crate::experiment::compare::Cell| {
            format!("{} of {}", count(cell.never as f64), count(cell.defined as f64))
        };
        format!("never in {} → {} seeds", seeds(&row.from), seeds(&row.to))
    };
    [cell(&row.from, unit), cell(&row.to, unit), difference]
}

/// How far the number might have moved.
pub fn tolerated(row: &Row) -> String {
    let from = row.from.statistic.as_ref().map_or(0.0, |statistic| statistic.mean);
    size(row.tolerance.allows(from), row.measure.kind, row_unit(row))
}

fn row_unit(row: &Row) -> Unit {
    unit(row.measure.kind, row.from.mean().unwrap_or(0.0).max(row.to.mean().unwrap_or(0.0)))
}

/// The same numbers with those at the end that repeat what an earlier one of the same class says, such as a number of
/// the whole run that all came from one phase.
pub fn telling_first(rows: Vec<&Row>) -> Vec<&Row> {
    let mut seen: Vec<(Option<&str>, [String; 3])> = Vec::new();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for row in rows {
        let key = (row.measure.class(), moved(row));
        if seen.contains(&key) {
            again.push(row);
        } else {
            seen.push(key);
            first.push(row);
        }
    }
    first.append(&mut again);
    first
}

/// How sure a difference is.
pub fn sureness(p: f64) -> String {
    if p < SUREST {
        return "p < 0.000001".to_owned();
    }
    // Two digits that count.
    let decimals = (2..8).find(|places| p * (0..*places).fold(1.0, |ten, _| ten * 10.0_f64) >= 9.5).unwrap_or(8);
    format!("p = {p:.decimals$}")
}

/// The first sentence: what the check found.
pub fn finding(regressed: &Regressed<'_>) -> String {
    let check = regressed.check;
    let failing = check.cases.iter().filter(|case| case.is_failure()).count();
    let worst = check.cases.iter().filter_map(|case| case.failures().first().map(|row| (case, *row)));
    let worst =
        worst.max_by(|(_, a), (_, b)| a.measure.headline.cmp(&b.measure.headline).then(a.excess.total_cmp(&b.excess)));
    if let Some((case, row)) = worst {
        let [from, to, difference] = moved(row);
        let more = regressed.failures() - 1;
        let others = if more == 0 {
            String::new()
        } else {
            format!("; {} {} moved too, in {}", count(more as f64), numbers(more, "other"), cases(failing))
        };
        let word = match row.outcome {
            Outcome::Worse => "worse",
            Outcome::Better => "better, which the tolerances do not allow",
            _ => "moved",
        };
        return format!("{word}: {} {from} → {to} ({difference}), in {}{others}.", title(&row.measure), named(case));
    }
    let states = |wanted: &dyn Fn(&Case) -> bool| check.cases.iter().filter(|case| wanted(case)).count();
    let missing = states(&|case| case.state == State::Missing || !case.gone.is_empty());
    let worlds = states(&|case| case.is_same_world == Some(false));
    if missing + worlds > 0 {
        let mut parts = Vec::new();
        if worlds > 0 {
            parts.push(format!("{} met another world than was recorded", cases(worlds)));
        }
        if missing > 0 {
            parts.push(format!("{} lack what was recorded", cases(missing)));
        }
        return format!("no number is worse, but {}.", parts.join(", and "));
    }
    if check.is_unsure() {
        return format!(
            "no answer: with {} seeds no difference can be sure, whatever it is.",
            count(check.replicates as f64)
        );
    }
    let better: usize = check.cases.iter().map(|case| case.with(Outcome::Better).len()).sum();
    let same = states(&|case| case.state == State::Same);
    let did = if same == check.cases.len() {
        "every run did exactly what was recorded".to_owned()
    } else if better > 0 {
        format!("{} {} better", count(better as f64), if better == 1 { "is" } else { "are" })
    } else {
        format!("{} of {} did exactly what was recorded", count(same as f64), cases(check.cases.len()))
    };
    format!("no number is worse in {}: {did}.", cases(check.cases.len()))
}

fn numbers(n: usize, other: &str) -> String {
    format!("{other} {}", if n == 1 { "number" } else { "numbers" })
}

fn cases(n: usize) -> String {
    format!("{} {}", count(n as f64), if n == 1 { "variant" } else { "variants" })
}

/// A case as sentences name it.
pub fn named(case: &Case) -> String {
    format!("`{}`, variant `{}`", case.file, case.variant)
}

/// What changed, as far as files and program show it; nothing where nothing did.
pub fn causes(case: &Case, facts: &Facts) -> Vec<String> {
    let mut out: Vec<String> = facts.changes.iter().map(change).collect();
    if out.is_empty() && case.state == State::Compared {
        if !facts.elements.is_empty() {
            let names: Vec<String> = facts.elements.iter().map(|name| format!("`{name}`")).collect();
            out.push(format!(
                "no setting of the file differs; what the program makes of {} does: a default of a preset changed",
                names.join(", ")
            ));
        } else if case.pairing == Pairing::Paired || case.is_same_world == Some(false) {
            out.push(
                "no setting of the file differs: the program itself, or a trace beside the file, changed".to_owned(),
            );
        }
    }
    out
}

fn change(change: &Change) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not written".to_owned());
    let world = if change.is_of_the_world() { " (of the world, not of a policy)" } else { "" };
    format!("{}: {} → {}{world}", change.path, value(&change.from), value(&change.to))
}

/// What is wrong with a case beside its numbers.
pub fn troubles(case: &Case) -> Vec<String> {
    let mut out = Vec::new();
    if case.state == State::Missing {
        out.push("it was recorded and is not there any more; record the baseline again where that is meant".to_owned());
    }
    if case.is_same_world == Some(false) {
        out.push(
            "its traffic or faults are not those that were recorded: this is no change of a policy, and numbers are \
             compared as two samples; record the baseline again where that is meant"
                .to_owned(),
        );
    }
    if !case.gone.is_empty() {
        out.push(format!("numbers that were recorded are not measured any more: {}", few(&case.gone)));
    }
    out
}

/// What is new in a case, which fails nothing.
pub fn news(case: &Case) -> Option<String> {
    if case.state == State::New {
        return Some("it is not in the baseline, so nothing is known of how it was".to_owned());
    }
    (!case.new.is_empty()).then(|| format!("numbers that are not in the baseline: {}", few(&case.new)))
}

fn few(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), count(more as f64)),
    }
}

/// How the check was made and what p means.
pub fn method(regressed: &Regressed<'_>) -> String {
    let check = regressed.check;
    let seeds = count(check.replicates as f64);
    let same = check.cases.iter().filter(|case| case.state == State::Same).count();
    let (how, test) = match check.pairing {
        Pairing::Paired => (
            format!("{seeds} seeds each, those of the baseline, each compared with itself"),
            "signed ranks (Wilcoxon 1945)",
        ),
        Pairing::Unpaired => (
            format!("{seeds} seeds each, others than those of the baseline"),
            "rank sums (Wilcoxon 1945; Mann and Whitney 1947)",
        ),
    };
    let all = check.cases.len();
    let exactly = if (1..all).contains(&same) {
        format!("; {} did exactly what was recorded", cases(same))
    } else {
        String::new()
    };
    let family = if check.family == 0 {
        "no number needed a test".to_owned()
    } else {
        format!(
            "p is of {test}, corrected for {} numbers (Holm 1979, Tarone 1990) so that at most {} of checks of equal \
             policies fail; ± is half of the 95 % interval of a mean difference",
            count(check.family as f64),
            Unit::Share.full(check.false_alarms)
        )
    };
    format!("{}: {how}{exactly}; {family}.", cases(all))
}

/// What to do about too few seeds.
pub fn caution(regressed: &Regressed<'_>) -> Option<String> {
    regressed.check.is_unsure().then(|| {
        "too few seeds: numbers moved by more than is tolerated, and so few seeds could do that by chance; record and \
         check with more, such as --replicates 40"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_has_two_digits_that_count() {
        for (p, text) in [
            (0.5, "p = 0.50"),
            (0.012_3, "p = 0.012"),
            (0.000_451, "p = 0.00045"),
            (0.000_001_2, "p = 0.0000012"),
            (1e-9, "p < 0.000001"),
        ] {
            assert_eq!(sureness(p), text);
        }
    }
}
