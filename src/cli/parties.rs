//! Who shares what: the limit, the classes that must not pay, those that may have to wait, and the pacers that hold them
//! back. What the command line does not name is found in the file; where the file leaves a choice, it is refused with
//! what to write.

use anyhow::{anyhow, bail};

use super::headroom_args::HeadroomArgs;
use super::source::shown;
use crate::document::near;
use crate::experiment::headroom::{Flow, instances, pacer};
use crate::policy::pacer::Counts;
use crate::policy::{Mechanism, Role};
use crate::scenario::Scenario;

/// The parties of a limit.
#[derive(Clone, Debug)]
pub(super) struct Parties {
    /// The index of the limit.
    pub(super) limit: usize,
    /// The classes that must not pay.
    pub(super) live: Vec<String>,
    /// The classes that may have to wait.
    pub(super) background: Vec<String>,
    /// The pacers that hold them back.
    pub(super) pacers: Vec<Paced>,
}

/// A pacer that is a budget.
#[derive(Clone, Debug)]
pub(super) struct Paced {
    /// The guard's name.
    pub(super) name: String,
    /// What one unit of its `amount` lets pass for each second, over all its instances.
    pub(super) flow_per_unit: f64,
    /// Its amount now.
    pub(super) amount: f64,
}

impl Paced {
    /// What it lets pass now for each second.
    pub(super) fn flow(&self) -> f64 {
        self.amount * self.flow_per_unit
    }

    /// The path of its amount.
    pub(super) fn path(&self) -> String {
        format!("guards.{}.pacer.amount", self.name)
    }
}

impl Parties {
    /// What the limit lets flow for each second.
    pub(super) fn flow(&self, scenario: &Scenario) -> f64 {
        Flow::of(&scenario.provider.limits[self.limit]).per_second()
    }

    /// What the pacers let pass now, as a share of the limit.
    pub(super) fn share(&self, scenario: &Scenario) -> f64 {
        self.pacers.iter().map(Paced::flow).sum::<f64>() / self.flow(scenario)
    }
}

/// Finds all parties; a budget must be there where it is what moves.
pub(super) fn find(args: &HeadroomArgs, scenario: &Scenario, needs_budget: bool) -> anyhow::Result<Parties> {
    let live = live(args, scenario)?;
    let background: Vec<String> =
        scenario.traffic.iter().map(|class| class.name.clone()).filter(|name| !live.contains(name)).collect();
    if background.is_empty() {
        bail!(
            "nothing is in the background of `{}`: every class is live\nhint: name the classes that must not pay with \
             --live, and leave out those that may wait",
            shown(&args.scenario.file)
        );
    }
    let guards = guards(args, scenario, &background)?;
    if guards.is_empty() && needs_budget {
        return Err(without_budget(args, scenario, &background));
    }
    let limit = limit(args, scenario, &guards)?;
    let counts = scenario.provider.limits[limit].counts;
    let pacers = guards.into_iter().filter(|(_, found)| *found == counts).map(|(guard, _)| paced(scenario, guard));
    let pacers: Vec<Paced> = pacers.flatten().collect();
    if pacers.is_empty() && needs_budget {
        return Err(without_budget(args, scenario, &background));
    }
    Ok(Parties { limit, live, background, pacers })
}

fn live(args: &HeadroomArgs, scenario: &Scenario) -> anyhow::Result<Vec<String>> {
    let known: Vec<&str> = scenario.traffic.iter().map(|class| class.name.as_str()).collect();
    for name in args.live.iter().map(|name| name.trim()) {
        if !known.contains(&name) {
            bail!(
                "no class `{}` in `{}`\nhint: {}",
                name.escape_debug(),
                shown(&args.scenario.file),
                near::existing("classes", &known, name)
            );
        }
    }
    if !args.live.is_empty() {
        return Ok(args.live.iter().map(|name| name.trim().to_owned()).collect());
    }
    let turns: Vec<String> =
        scenario.traffic.iter().filter(|class| class.is_live()).map(|class| class.name.clone()).collect();
    if turns.is_empty() {
        bail!(
            "nobody in `{}` is live: no class is of kind \"turns\"\nhint: name the classes that must not pay with --live, \
             such as --live {}",
            shown(&args.scenario.file),
            known[0]
        );
    }
    Ok(turns)
}

/// The pacers that are the budget, each with what it counts.
fn guards(args: &HeadroomArgs, scenario: &Scenario, background: &[String]) -> anyhow::Result<Vec<(usize, Counts)>> {
    let counts = |guard: usize| scenario.guards[guard].pacer().map(|pacer| (guard, pacer.counts));
    let all: Vec<(usize, Counts)> = (0..scenario.guards.len()).filter_map(counts).collect();
    let name = |guard: &(usize, Counts)| scenario.guards[guard.0].name.as_str();
    let mut used: Vec<(usize, Counts)> = Vec::new();
    for class in scenario.traffic.iter().filter(|class| background.contains(&class.name)) {
        for limit in &scenario.provider.limits {
            let found = pacer(scenario, class, limit.counts).map(|guard| (guard, limit.counts));
            used.extend(found.filter(|found| !used.contains(found)));
        }
    }
    if args.background.is_empty() {
        return Ok(used);
    }
    let mut out = Vec::new();
    for wanted in args.background.iter().map(|name| name.trim()) {
        let Some(found) = all.iter().find(|guard| name(guard) == wanted) else {
            let known: Vec<&str> = all.iter().map(name).collect();
            bail!("no pacer `{}`\nhint: {}", wanted.escape_debug(), near::existing("pacers", &known, wanted));
        };
        if !is_used(scenario, found.0) {
            bail!(
                "the pacer `{wanted}` holds nobody back here: no client uses it, or its element is off\nhint: switch it \
                 on, such as --set clients.CLIENT.layers.{wanted}.off=false, or pick a variant that does"
            );
        }
        if !out.contains(found) {
            out.push(*found);
        }
    }
    Ok(out)
}

fn is_used(scenario: &Scenario, guard: usize) -> bool {
    let is_it = |role: &Role| matches!(role, Role::Guard(index) if *index == guard);
    scenario.clients.iter().any(|client| client.elements().iter().any(|element| is_it(&element.role)))
}

fn paced(scenario: &Scenario, guard: usize) -> Option<Paced> {
    let pacer = scenario.guards[guard].pacer()?;
    if scenario.guards[guard].scope.ends_with_task() {
        return None;
    }
    let amount = pacer.bucket.amount() as f64;
    let flow = pacer.highest_rate() * instances(scenario, guard) as f64;
    Some(Paced { name: scenario.guards[guard].name.clone(), flow_per_unit: flow / amount, amount })
}

fn limit(args: &HeadroomArgs, scenario: &Scenario, guards: &[(usize, Counts)]) -> anyhow::Result<usize> {
    let file = shown(&args.scenario.file);
    let names: Vec<&str> = scenario.provider.limits.iter().map(|limit| limit.name.as_str()).collect();
    if names.is_empty() {
        bail!(
            "`{file}` has no limit to share\nhint: describe it as [provider.limits.NAME], with counts, amount and per"
        );
    }
    if let Some(wanted) = &args.limit {
        return names.iter().position(|name| name == wanted).ok_or_else(|| {
            anyhow!(
                "no limit `{}` in `{file}`\nhint: {}",
                wanted.escape_debug(),
                near::existing("limits", &names, wanted)
            )
        });
    }
    let limits = scenario.provider.limits.iter().enumerate();
    let counted = limits.filter(|(_, limit)| guards.is_empty() || guards.iter().any(|(_, of)| *of == limit.counts));
    let fitting: Vec<usize> = counted.map(|(index, _)| index).collect();
    match fitting.as_slice() {
        [only] => Ok(*only),
        [] => {
            let counts: Vec<&str> = guards.iter().map(|(_, counts)| counts.word()).collect();
            bail!(
                "no limit counts what the pacers count ({})\nhint: give the pacer the `counts` of the limit that it is a \
                 share of",
                counts.join(", ")
            )
        }
        [first, ..] => {
            let which: Vec<String> = fitting.iter().map(|index| format!("`{}`", names[*index])).collect();
            bail!(
                "which limit is to be shared? There are {}\nhint: name one, such as --limit {}",
                which.join(", "),
                names[*first]
            )
        }
    }
}

/// Nothing holds the background back: what to write.
fn without_budget(args: &HeadroomArgs, scenario: &Scenario, background: &[String]) -> anyhow::Error {
    let file = shown(&args.scenario.file);
    let class = scenario.traffic.iter().find(|class| background.contains(&class.name));
    let client = class.map_or("CLIENT", |class| scenario.client_of(class).name.as_str());
    let is_pacer = |mechanism: &Mechanism| matches!(mechanism, Mechanism::Pacer(_));
    if let Some(idle) = scenario.guards.iter().find(|guard| is_pacer(&guard.mechanism)) {
        return anyhow!(
            "no budget holds the background of `{file}` back: its pacer `{0}` is in none of its clients, or off\nhint: \
             pick a variant in which it is on, or switch it on with --set clients.{client}.layers.NAME.off=false, where \
             NAME is the element with guard = \"{0}\"; or ask about the workers, with --over workers",
            idle.name
        );
    }
    let limit = scenario.provider.limits.first();
    let counts = limit.map_or("input_tokens", |limit| limit.counts.word());
    let half = limit.map_or(1, |limit| (Flow::of(limit).amount / 2).max(1));
    anyhow!(
        "no budget holds the background of `{file}` back\nhint: write one, and put it into the client of the jobs, or ask \
         about the workers, with --over workers\n      [guards.share]\n      pacer = {{ counts = \"{counts}\", amount = \
         {half}, per = \"{}\", when_empty = \"wait\" }}\n      scope = \"global\"\n      [clients.{client}]\n      \
         layers = [ …, {{ guard = \"share\" }} ]",
        limit.map_or_else(|| "1m".to_owned(), |limit| Flow::of(limit).per.to_string()),
    )
}
