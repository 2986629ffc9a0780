//! What makes a comparison mislead although each of its numbers is right: the slow ones died and what is left looks
//! fast, a mean lies between two groups where no run ends, the worlds were not the same, or chance explains it. Each
//! caution says what was seen, what it may mean, and what to try.

use super::Compared;
use super::finding::{is_of_survivors, loudest};
use super::label::{label, unit};
use super::rows::classes;
use super::signed::cell;
use crate::experiment::compare::NARROW;
use crate::experiment::measure::Part;
use crate::experiment::{Measure, Verdict};
use crate::report::quantity::{Unit, count};
use crate::report::words::{listed, tasks};
use crate::stats::Mode;

/// What was seen, what it may mean, and what to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// Its kind: `survivors`, `modes`, `worlds`, `closed`, `noise`, `never`, `few` or `unsure`.
    pub kind: &'static str,
    /// What was seen.
    pub seen: String,
    /// What it may mean.
    pub meaning: String,
    /// What to try.
    pub remedy: String,
}

/// The share of tasks by which failures must differ before latencies of the delivered ones are of other tasks.
const SURVIVORS: f64 = 0.01;

/// Fewer seeds than this give intervals that are wider than they need be, and rare things may not show at all.
const FEW: u64 = 20;

/// The most paths or rows that a caution lists.
const LISTED: usize = 6;

/// All cautions, the most important first.
pub fn cautions(compared: &Compared<'_>) -> Vec<Caution> {
    let mut out = Vec::new();
    for arm in compared.others() {
        out.extend(worlds(compared, arm));
    }
    out.extend(closed(compared));
    for arm in compared.others() {
        for class in classes(compared) {
            out.extend(survivors(compared, arm, &class.name, &tasks(class)));
        }
    }
    out.extend(modes(compared));
    for arm in compared.others() {
        out.extend(noise(compared, arm));
    }
    out.extend(never(compared));
    out.extend(unsure(compared));
    out.extend(few(compared));
    out
}

fn worlds(compared: &Compared<'_>, arm: usize) -> Option<Caution> {
    let own = &compared.arms[arm];
    let paths: Vec<String> = own
        .changes
        .iter()
        .filter(|change| change.is_of_the_world())
        .map(|change| format!("`{}`", change.path))
        .collect();
    if compared.comparison.is_same_world(arm) && paths.is_empty() {
        return None;
    }
    let first = &compared.reference().name;
    let shown = if paths.is_empty() { String::new() } else { format!(" in {}", shortened(&paths)) };
    Some(Caution {
        kind: "worlds",
        seen: format!("`{}` and `{first}` did not meet the same world: they differ{shown}", own.name),
        meaning: "a difference between them may come from the world and not from the policy".to_owned(),
        remedy: format!(
            "compare policies in one world: give both arms the same variant of it, or patch `{first}` with the policies \
             of `{}`",
            own.name
        ),
    })
}

/// Arrivals that depend on the answers, and so on the policy.
fn closed(compared: &Compared<'_>) -> Option<Caution> {
    let classes = compared.reference().scenario.traffic.iter().filter(|class| class.is_closed());
    let names: Vec<String> = classes.map(|class| format!("`{}`", class.name)).collect();
    (!names.is_empty()).then(|| Caution {
        kind: "closed",
        seen: format!("{} come in closed loops: the next task of a session waits for the fate of its last one", listed(&names)),
        meaning: "only think times are the same in all arms; a policy that answers sooner is offered more, and the tasks that \
                  two arms meet differ in number, time and size"
            .to_owned(),
        remedy: "judge by shares and by how much is delivered, not by counts of what went wrong".to_owned(),
    })
}

/// The first few of a list, and how many more there are.
fn shortened(items: &[String]) -> String {
    if items.len() <= LISTED {
        return listed(items);
    }
    format!("{} and {} more", items[..LISTED].join(", "), items.len() - LISTED)
}

fn survivors(compared: &Compared<'_>, arm: usize, class: &str, tasks: &str) -> Option<Caution> {
    let comparison = compared.comparison;
    let measures = &comparison.trial.measures;
    let of_class = |measure: &Measure| measure.class() == Some(class) && measure.part == Part::Whole;
    let row = |key: &str| measures.iter().position(|measure| of_class(measure) && measure.key == key);
    let lost = row("not_delivered_share")?;
    let share = |arm: usize| comparison.effects[arm][lost].cell.mean().unwrap_or(0.0);
    let (was, is) = (share(0), share(arm));
    let moved = matches!(comparison.verdict(arm, lost), Verdict::Better | Verdict::Worse);
    if !moved || (is - was).abs() < SURVIVORS {
        return None;
    }
    let fewer_lost = is < was;
    // A policy that loses more looks faster, one that loses fewer looks slower.
    let expected = if fewer_lost { Verdict::Worse } else { Verdict::Better };
    let times = (0..measures.len()).filter(|row| of_class(&measures[*row]) && is_of_survivors(&measures[*row]));
    let told = times.rev().find(|row| comparison.verdict(arm, *row) == expected)?;
    let cells = [0, arm].map(|arm| &comparison.effects[arm][told].cell);
    let largest = cells.iter().filter_map(|cell| cell.mean()).fold(0.0, f64::max);
    let [before, after] = cells.map(|value| cell(value, unit(measures[told].kind, largest)));
    let (name, first) = (&compared.arms[arm].name, &compared.reference().name);
    let (loser, keeper) = if fewer_lost { (first, name) } else { (name, first) };
    Some(Caution {
        kind: "survivors",
        seen: format!(
            "`{}` of {tasks} goes from {before} to {after}, while the share that was never delivered goes from {} to {}",
            label(&measures[told]),
            Unit::Share.full(was),
            Unit::Share.full(is)
        ),
        meaning: format!(
            "latency is of the survivors: what would have been slow under `{loser}` died there, and `{keeper}` \
             delivers it late"
        ),
        remedy: "judge by the rows over all that arrived, in which what was not delivered took for ever, and by what \
                 failed"
            .to_owned(),
    })
}

/// Rows with a mean between two groups: of an arm, or of the difference.
fn modes(compared: &Compared<'_>) -> Vec<Caution> {
    let comparison = compared.comparison;
    let mut out = Vec::new();
    for (row, measure) in comparison.trial.measures.iter().enumerate().filter(|(_, measure)| measure.headline) {
        for arm in 0..compared.arms.len() {
            let effect = &comparison.effects[arm][row];
            let own = effect.cell.statistic.as_ref().map_or(&[][..], |statistic| &statistic.modes);
            let of_difference = effect.paired.as_ref().and_then(|paired| paired.difference.as_ref());
            let of_difference = of_difference.map_or(&[][..], |statistic| &statistic.modes);
            let (what, modes): (_, &[Mode]) = if own.len() > 1 {
                (format!("in `{}`", compared.arms[arm].name), own)
            } else if of_difference.len() > 1 {
                (format!("between `{}` and `{}`", compared.arms[arm].name, compared.reference().name), of_difference)
            } else {
                continue;
            };
            let largest = modes.iter().map(|mode| mode.mean.abs()).fold(0.0, f64::max);
            out.push(Caution {
                kind: "modes",
                seen: format!(
                    "`{}`{} {what} has {}",
                    label(measure),
                    whose(compared, measure),
                    unit(measure.kind, largest).modes(modes)
                ),
                meaning: "runs go one of several ways, and the mean lies between them where hardly any run ends"
                    .to_owned(),
                remedy: "read the modes instead of the mean, and look at a seed of each way with `retrycast run`"
                    .to_owned(),
            });
        }
    }
    out
}

/// "of reports": needed where a row is told of outside its table.
fn whose(compared: &Compared<'_>, measure: &Measure) -> String {
    let class = classes(compared).into_iter().find(|class| measure.class() == Some(&class.name));
    class.map_or_else(String::new, |class| format!(" of {}", tasks(class)))
}

fn noise(compared: &Compared<'_>, arm: usize) -> Option<Caution> {
    let comparison = compared.comparison;
    let measures = &comparison.trial.measures;
    let loud: Vec<usize> =
        classes(compared).iter().filter(|class| class.is_live()).filter_map(|c| loudest(compared, &c.name)).collect();
    let rows = (0..measures.len()).filter(|row| measures[*row].headline || loud.contains(row));
    let names: Vec<String> = rows
        .filter(|row| comparison.verdict(arm, *row) == Verdict::Noise)
        .map(|row| format!("`{}`{}", label(&measures[row]), whose(compared, &measures[row])))
        .collect();
    if names.is_empty() {
        return None;
    }
    let n = compared.replicates();
    let (is, it) = if names.len() == 1 { ("is", "it") } else { ("are", "they") };
    Some(Caution {
        kind: "noise",
        seen: format!(
            "between `{}` and `{}` {} {is} within noise",
            compared.arms[arm].name,
            compared.reference().name,
            shortened(&names)
        ),
        meaning: format!("{it} may not differ at all, or by less than {} seeds can tell", count(n as f64)),
        remedy: format!(
            "take more seeds: four times as many, --replicates {}, halve an interval; or let --until-sure find how many",
            4 * n
        ),
    })
}

/// Times that never come in some seeds.
fn never(compared: &Compared<'_>) -> Option<Caution> {
    let comparison = compared.comparison;
    let row = comparison.find("recovery.total_s")?;
    let arms: Vec<String> = (0..compared.arms.len())
        .filter_map(|arm| {
            let cell = &comparison.effects[arm][row].cell;
            let seeds = format!("{} of {} seeds", count(cell.never as f64), count(cell.defined as f64));
            (cell.never > 0).then(|| format!("`{}` in {seeds}", compared.arms[arm].name))
        })
        .collect();
    (!arms.is_empty()).then(|| Caution {
        kind: "never",
        seen: format!("the run ends before it has recovered: {}", listed(&arms)),
        meaning: "the storm may sustain itself, or the run may be too short to see its end".to_owned(),
        remedy: format!("lengthen `horizon` (now {}) with --set horizon=…", compared.reference().scenario.length()),
    })
}

/// Where seeds were added until there were as many as are allowed, and it is still not sure.
fn unsure(compared: &Compared<'_>) -> Option<Caution> {
    let sureness = compared.comparison.sure.filter(|sureness| !sureness.is_sure)?;
    let (arm, row, times) = sureness.widest?;
    let measure = &compared.comparison.trial.measures[row];
    let n = compared.replicates();
    Some(Caution {
        kind: "unsure",
        seen: format!(
            "after {} seeds `{}`{} of `{}` is known {} times less well than was asked for",
            count(n as f64),
            label(measure),
            whose(compared, measure),
            compared.arms[arm].name,
            Unit::Ratio.bare(times)
        ),
        meaning: format!(
            "narrow is half an interval of {} of the larger mean; this number varies more from seed to seed",
            Unit::Share.full(NARROW)
        ),
        remedy: format!(
            "allow more seeds with --replicates {}, or live with its interval",
            count((n as f64 * times * times).ceil()).replace(',', "")
        ),
    })
}

fn few(compared: &Compared<'_>) -> Option<Caution> {
    let n = compared.replicates();
    (n < FEW).then(|| Caution {
        kind: "few",
        seen: format!("only {} {} met", count(n as f64), if n == 1 { "seed was" } else { "seeds were" }),
        meaning: "what happens in one run of twenty may not have shown, and intervals of rare things are too narrow"
            .to_owned(),
        remedy: "leave out --quick, or take more seeds with --replicates".to_owned(),
    })
}

/// A caution as the terminal writes it.
impl std::fmt::Display for Caution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "warning: {}; {}\nhint: {}", self.seen, self.meaning, self.remedy)
    }
}
