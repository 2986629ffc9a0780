//! What a tuning is asked for, from the words of the command line: numbers, bounds, and where to begin.

use anyhow::{anyhow, bail};

use super::axis_args::number;
use super::engine::Refused;
use super::metric_args::metric;
use super::tune::wrong;
use super::tune_args::TuneArgs;
use crate::document::{Text, near};
use crate::experiment::measure::{Kind, measures};
use crate::experiment::tune::metric::words;
use crate::experiment::tune::{Constraint, Metrics, World};
use crate::experiment::{Axis, Measure, Quantity};
use crate::scenario::{Refusal, Scenario};

/// The goals of a tuning that is asked for none, as far as the scenario has them.
const GOALS: [&str; 4] = ["amplification", "live-429", "failed", "slowest"];

/// What is shown beside the goals.
const SHOWN: [&str; 6] = ["amplification", "live-429", "failed", "slowest", "live-failed", "recovery"];

/// The most goals: with more nearly every policy is on the front.
const MOST_GOALS: usize = 6;

/// What is aimed at.
#[derive(Debug)]
pub(super) struct Aim {
    /// The numbers, the goals first.
    pub(super) metrics: Metrics,
    /// How many of them are goals.
    pub(super) goals: usize,
    /// What has to be kept.
    pub(super) constraints: Vec<Constraint>,
}

/// Reads goals and constraints; what is sized has no goals.
pub(super) fn aim(args: &TuneArgs, scenario: &Scenario, bounds: &[String], is_sized: bool) -> anyhow::Result<Aim> {
    let all = measures(&[scenario]);
    let mut metrics = Metrics::default();
    for word in &args.goal {
        let known = metrics.all.len();
        take(&mut metrics, "--goal", word.trim(), &all)?;
        if metrics.all.len() == known {
            return Err(wrong("--goal", &format!("`{}` stands there twice", word.trim()), "name each goal once"));
        }
    }
    if args.goal.is_empty() && !is_sized {
        for word in GOALS {
            metrics.take(word, &all);
        }
    }
    let goals = metrics.all.len();
    if goals == 0 && !is_sized {
        return Err(wrong("--goal", "there is nothing to tune for", "name a number that `compare` measures"));
    }
    if goals > MOST_GOALS {
        let hint = format!("name at most {MOST_GOALS}, and make bounds of the others with --constraint");
        return Err(wrong("--goal", &format!("{goals} goals are too many"), &hint));
    }
    let constraints = bounds.iter().map(|text| constraint(text, &mut metrics, &all));
    let constraints: Vec<Constraint> = constraints.collect::<Result<_, _>>()?;
    if constraints.is_empty() && is_sized {
        return Err(wrong("--constraint", "without a bound every size will do", FORM));
    }
    for word in SHOWN {
        metrics.take(word, &all);
    }
    Ok(Aim { metrics, goals, constraints })
}

/// Takes a number in by its word.
fn take(metrics: &mut Metrics, option: &str, word: &str, all: &[Measure]) -> anyhow::Result<usize> {
    // Anything with a dot is a path, or the end of one.
    if word.contains('.') {
        let path = all[metric(option, word, all)?].path();
        return metrics.take(&path, all).ok_or_else(|| wrong(option, "is measured nowhere", "name another number"));
    }
    metrics.take(word, all).ok_or_else(|| {
        let what = format!("this scenario has no number `{}`", word.escape_debug());
        let known: Vec<&str> = words().map(|(word, _)| word).collect();
        wrong(option, &what, &near::existing("numbers", &known, word))
    })
}

const FORM: &str = "write --constraint 'failed <= 0.5' or --constraint 'slowest <= 30m'";

fn constraint(text: &str, metrics: &mut Metrics, all: &[Measure]) -> anyhow::Result<Constraint> {
    let parts = text.split_once("<=").map(|parts| (parts, false)).or_else(|| Some((text.split_once(">=")?, true)));
    let Some(((word, bound), at_least)) = parts else {
        return Err(wrong("--constraint", &format!("has no `<=`, found `{}`", text.escape_debug()), FORM));
    };
    let metric = take(metrics, "--constraint", word.trim(), all)?;
    let found = number(bound.trim());
    let kind = metrics.all[metric].kind;
    let fits = |quantity: Quantity, number: f64| match kind {
        Kind::Seconds => quantity == Quantity::Seconds || number == 0.0,
        Kind::Share => matches!(quantity, Quantity::Share | Quantity::Number) && (0.0..=1.0).contains(&number),
        Kind::Count | Kind::Ratio | Kind::Money => matches!(quantity, Quantity::Number | Quantity::Amount),
    };
    let Some((_, bound)) = found.filter(|(quantity, number)| fits(*quantity, *number)) else {
        let form = match kind {
            Kind::Seconds => "a duration, such as 30m",
            Kind::Share => "a share, such as 5%",
            Kind::Count | Kind::Ratio | Kind::Money => "a number, such as 1.5",
        };
        let what = format!("is no bound for `{}`, found `{}`", word.trim(), bound.trim().escape_debug());
        return Err(wrong("--constraint", &what, &format!("write {form}")));
    };
    Ok(Constraint { metric, at_least, bound, text: text.split_whitespace().collect::<Vec<_>>().join(" ") })
}

/// Refuses an axis none of whose values the file takes: its path is wrong, or its unit.
pub(super) fn refuse_unusable(
    axes: &[Axis],
    load: &dyn Fn(&[String]) -> anyhow::Result<Scenario>,
) -> anyhow::Result<()> {
    for (index, axis) in axes.iter().enumerate() {
        let earlier = axes[..index].iter().flat_map(|other| &other.paths);
        if let Some(path) = earlier.clone().find(|path| axis.paths.contains(path)) {
            bail!("`--vary {path}`: stands there twice\nhint: give each setting once");
        }
        let mut first = None;
        let mut any = false;
        for value in &axis.values {
            match load(&axis.sets(value)) {
                Ok(_) => {
                    any = true;
                    break;
                }
                Err(error) => first = first.or(Some(error)),
            }
        }
        if let Some(error) = first.filter(|_| !any) {
            return Err(in_axis(error, axis));
        }
    }
    Ok(())
}

/// A slip in an axis is shown as one.
fn in_axis(error: anyhow::Error, axis: &Axis) -> anyhow::Error {
    let Some(Refused(Refusal::Faulty { faults, left_out: 0, .. })) = error.downcast_ref::<Refused>() else {
        return error;
    };
    // Paths that move together give one fault each.
    let all_in_sets = faults.iter().all(|fault| matches!(fault.place.text, Text::Set(_)));
    match faults.first().filter(|_| all_in_sets) {
        Some(fault) => {
            let hint = fault.hint.as_ref().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
            anyhow!("`--vary {}`: {}{hint}", axis.paths.join(","), fault.message)
        }
        None => error,
    }
}

/// Two worlds of one name could not be told apart.
pub(super) fn refuse_twice<'a>(worlds: impl Iterator<Item = &'a World>) -> anyhow::Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for world in worlds {
        if names.contains(&world.name.as_str()) {
            bail!("two worlds have the name `{}`\nhint: name each once", world.name);
        }
        names.push(&world.name);
    }
    Ok(())
}

/// What a file says on an axis.
pub(super) fn setting(axis: &Axis, settings: &[(String, String)]) -> Option<String> {
    let path = &axis.paths[0];
    let written = settings.iter().find(|(known, _)| known == path).map(|(_, value)| value.clone());
    // An element that is not off says nothing of it.
    written.or_else(|| (path.rsplit('.').next() == Some("off")).then(|| "false".to_owned()))
}

/// The point at which a file stands. Where it says nothing that may be chosen, that is the first of a list, in which
/// people write the usual first, and the middle of a range.
pub(super) fn genes(axes: &[Axis], settings: &[(String, String)]) -> Vec<f64> {
    let bare = |text: &str| text.trim_matches('"').to_owned();
    let gene = |axis: &Axis| -> Option<f64> {
        let own = bare(&setting(axis, settings)?);
        if let Some(span) = axis.span {
            let (_, number) = number(&own)?;
            return (span.from..=span.to).contains(&number).then(|| span.share(number));
        }
        let same =
            |text: &str| bare(text) == own || number(&bare(text)).zip(number(&own)).is_some_and(|(a, b)| a.1 == b.1);
        let index = axis.values.iter().position(|value| same(&value.text))?;
        Some((index as f64 + 0.5) / axis.values.len() as f64)
    };
    let usual = |axis: &Axis| if axis.span.is_some() { 0.5 } else { 0.5 / axis.values.len() as f64 };
    axes.iter().map(|axis| gene(axis).unwrap_or_else(|| usual(axis))).collect()
}
