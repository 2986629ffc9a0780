//! What moves: the budget of the background, its workers, the limit, what live traffic needs, or any setting. A knob
//! turns a number into a scenario, through the same texts as `--set` takes wherever the file has a word for it.

use anyhow::{anyhow, bail};

use super::axis_args::{self, number, text_of};
use super::engine::{self, Asked};
use super::headroom_args::HeadroomArgs;
use super::parties::{Parties, find};
use super::source::Source;
use crate::experiment::axis::{Axis, Span};
use crate::experiment::headroom::{Flow, Pressure, Settings};
use crate::experiment::{Arm, Quantity, Stopped};
use crate::provider::{Limit, Window};
use crate::report::headroom::{Over, Scale};
use crate::scenario::Scenario;

/// How fine a share is told: a percentage point.
const POINT: f64 = 0.01;

/// The values of a range that is not told how many: halvings find the rest.
const PARTS: f64 = 200.0;

/// What moves, and over which values.
#[derive(Debug)]
pub(super) struct Knob<'a> {
    args: &'a HeadroomArgs,
    source: &'a Source,
    /// Who shares what.
    pub(super) parties: Parties,
    /// What moves.
    pub(super) over: Over,
    /// The settings that are changed, where a file has them.
    pub(super) paths: Vec<String>,
    /// What the values are.
    quantity: Quantity,
    /// The values of the first look.
    pub(super) grid: Vec<f64>,
    /// The distance of two values that are told apart; `None` where only the grid is meant.
    step: Option<f64>,
    /// The value that the file has now.
    pub(super) present: Option<f64>,
    /// What the limit lets flow, and what live traffic needs of it, as the file is.
    flow: f64,
    need: f64,
    /// How a value reads in another unit.
    pub(super) scale: Option<Scale>,
}

impl<'a> Knob<'a> {
    /// Reads `--over` and finds who is meant.
    pub(super) fn of(args: &'a HeadroomArgs, source: &'a Source, base: &Scenario) -> anyhow::Result<Knob<'a>> {
        let (name, range) = match args.over.split_once('=') {
            Some((name, range)) => (name.trim(), Some(range.trim())),
            None => (args.over.trim(), None),
        };
        let over = match name {
            "budget" => Over::Budget,
            "workers" => Over::Workers,
            "limit" => Over::Limit,
            "live" => Over::Live,
            path if range.is_some() => Over::Setting(path.to_owned()),
            other => bail!(
                "`--over`: `{}` is nothing that moves\nhint: write budget, workers, limit, live or PATH=VALUES",
                other.escape_debug()
            ),
        };
        let parties = find(args, base, over == Over::Budget)?;
        let flow = parties.flow(base);
        let need = Pressure::of(base, parties.limit, &parties.live, &parties.background).live / flow;
        let mut knob = Knob {
            args,
            source,
            parties,
            over,
            paths: Vec::new(),
            quantity: Quantity::Share,
            grid: Vec::new(),
            step: Some(POINT),
            present: None,
            flow,
            need,
            scale: None,
        };
        match knob.over.clone() {
            Over::Budget => knob.budget(base),
            Over::Workers => knob.workers(base)?,
            Over::Limit => knob.limit(base),
            Over::Live => knob.live(base)?,
            Over::Setting(_) => {}
        }
        if let Some(range) = range {
            knob.within(range)?;
        }
        Ok(knob)
    }

    fn budget(&mut self, base: &Scenario) {
        let limit = &base.provider.limits[self.parties.limit];
        self.paths = self.parties.pacers.iter().map(super::parties::Paced::path).collect();
        self.present = Some(tidy(self.parties.share(base)));
        self.grid = vec![0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
        self.scale = Some(Scale { per_unit: Flow::of(limit).amount as f64, unit: unit_of(limit) });
    }

    fn workers(&mut self, base: &Scenario) -> anyhow::Result<()> {
        let jobs: Vec<_> = base.traffic.iter().filter(|class| self.parties.background.contains(&class.name)).collect();
        let jobs: Vec<_> = jobs.into_iter().filter(|class| class.workers() > 0).collect();
        let [class] = jobs.as_slice() else {
            let names: Vec<String> = jobs.iter().map(|class| format!("`{}`", class.name)).collect();
            bail!(
                "whose workers are to move? Classes with workers are {}\nhint: name one, such as --over \
                 traffic.{}.workers=1..16",
                names.join(", "),
                jobs.first().map_or("NAME", |class| class.name.as_str())
            );
        };
        let now = class.workers();
        let processes = class.processes();
        if let Some(pool) = base.pool_of(class).filter(|pool| pool.scale.is_some()) {
            bail!(
                "the workers of `{}` follow its queue\nhint: move `workers.{}.scale.to` with `sweep`",
                class.name,
                pool.name
            );
        }
        self.paths = vec![match base.pool_of(class) {
            Some(pool) => format!("workers.{}.count", pool.name),
            None => format!("traffic.{}.workers", class.name),
        }];
        self.quantity = Quantity::Number;
        self.step = Some(1.0);
        self.present = Some(f64::from(now));
        let most = (4 * now).max(8);
        let mut at = processes.max(1);
        while at < most {
            self.grid.push(f64::from(at));
            at = (at + 1).max(at * 3 / 2);
        }
        self.grid.push(f64::from(most));
        Ok(())
    }

    fn limit(&mut self, base: &Scenario) {
        let limit = &base.provider.limits[self.parties.limit];
        let now = Flow::of(limit).amount as f64;
        self.paths = std::iter::once(format!("provider.limits.{}.amount", limit.name))
            .chain(self.parties.pacers.iter().map(super::parties::Paced::path))
            .collect();
        self.quantity = Quantity::Amount;
        self.step = Some((now * POINT).max(1.0).round());
        self.present = Some(now);
        self.grid = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 2.0].map(|share| (share * now).round()).to_vec();
        self.scale = Some(Scale { per_unit: 1.0, unit: unit_of(limit) });
    }

    fn live(&mut self, base: &Scenario) -> anyhow::Result<()> {
        for class in base.traffic.iter().filter(|class| self.parties.live.contains(&class.name)) {
            if class.arrivals.iter().any(|process| process.denser(2.0).is_none()) {
                bail!(
                    "the arrivals of `{}` are a list of instants, which cannot grow\nhint: describe them as a rate, such \
                     as arrivals = {{ poisson = \"60/min\" }}, or let a trace go on with `repeat = true`",
                    class.name
                );
            }
        }
        if self.need <= 0.0 {
            bail!("live traffic asks nothing of the limit\nhint: name another limit with --limit");
        }
        let present = tidy(self.need);
        self.present = Some(present);
        self.grid = vec![0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
        let tasks: f64 = base
            .traffic
            .iter()
            .filter(|class| self.parties.live.contains(&class.name))
            .map(|class| class.expected(Window { from: crate::units::SimTime::ZERO, to: base.horizon }))
            .sum();
        let minutes = base.length().as_secs_f64() / 60.0;
        self.scale = Some(Scale { per_unit: tasks / minutes / present, unit: "tasks a minute".to_owned() });
        Ok(())
    }

    /// Takes the values from a range or a list.
    fn within(&mut self, range: &str) -> anyhow::Result<()> {
        let name = match &self.over {
            Over::Setting(path) => path.clone(),
            Over::Budget | Over::Workers | Over::Limit | Over::Live => {
                self.args.over.split('=').next().unwrap_or_default().to_owned()
            }
        };
        let Axis { paths, quantity, values, span } = axis_args::axis("--over", &format!("{name}={range}"))?;
        let numbers: Option<Vec<f64>> = values.iter().map(|value| value.number).collect();
        let Some(mut numbers) = numbers else {
            bail!("`--over {name}`: has values without an order\nhint: write numbers, or use compare for a choice");
        };
        numbers.sort_by(f64::total_cmp);
        if numbers.len() < 2 {
            bail!("`--over {name}`: one value is no range\nhint: write FROM..TO, or several values");
        }
        let expected = self.quantity;
        match &self.over {
            Over::Setting(_) => {
                self.quantity = quantity;
                self.step = span.map(|span: Span| if span.whole { 1.0 } else { (span.to - span.from) / PARTS });
                self.present = self.found(&paths);
                self.paths = paths;
            }
            Over::Budget | Over::Live if quantity != expected || numbers[0] <= 0.0 => {
                bail!("`--over {name}`: is a share of the limit\nhint: write it above 0 %, such as {name}=20%..60%")
            }
            Over::Workers | Over::Limit
                if quantity == Quantity::Share || numbers[0] < 1.0 || numbers.iter().any(|n| n.fract() != 0.0) =>
            {
                bail!("`--over {name}`: is an amount\nhint: write whole numbers from 1 up")
            }
            Over::Budget | Over::Workers | Over::Limit | Over::Live => {
                self.step = span.and(self.step);
                // A value outside of what was asked for is still where the file stands.
            }
        }
        self.grid = numbers;
        Ok(())
    }

    /// The number that the file has for the first of these settings.
    fn found(&self, paths: &[String]) -> Option<f64> {
        let settings = engine::settings(self.source, self.asked(&self.args.scenario.set)).ok()?;
        let (_, text) = settings.into_iter().find(|(path, _)| Some(path) == paths.first())?;
        number(text.trim_matches('"')).map(|(_, number)| number)
    }

    fn asked<'b>(&'b self, sets: &'b [String]) -> Asked<'b> {
        Asked { variant: self.args.scenario.variant.as_deref(), fixes: &[], sets }
    }

    /// What `--set` says for a value.
    pub(super) fn sets(&self, value: f64) -> Vec<String> {
        let pacers = |flow: f64| {
            let now: f64 = self.parties.pacers.iter().map(super::parties::Paced::flow).sum();
            self.parties.pacers.iter().map(move |pacer| {
                let amount = pacer.amount * flow / now;
                format!("{}={}", pacer.path(), amount.round().max(1.0))
            })
        };
        match &self.over {
            Over::Budget => pacers(value * self.flow).collect(),
            Over::Workers => vec![format!("{}={}", self.paths[0], value.round())],
            Over::Limit => {
                let now = self.present.unwrap_or(value);
                let total: f64 = self.parties.pacers.iter().map(super::parties::Paced::flow).sum();
                let own = format!("{}={}", self.paths[0], value.round());
                std::iter::once(own).chain(pacers(total * value / now)).collect()
            }
            Over::Live => Vec::new(),
            Over::Setting(_) => {
                self.paths.iter().map(|path| format!("{path}={}", text_of(self.quantity, value))).collect()
            }
        }
    }
}

impl Settings for Knob<'_> {
    type Error = anyhow::Error;

    fn scenario(&self, value: f64) -> anyhow::Result<Scenario> {
        // What the file has now stays exactly as it is written.
        let is_present = self.present.is_some_and(|now| now.total_cmp(&value).is_eq());
        let own = if is_present { Vec::new() } else { self.sets(value) };
        let sets: Vec<String> = self.args.scenario.set.iter().cloned().chain(own).collect();
        let tried = |error: anyhow::Error| {
            let sets = &sets[self.args.scenario.set.len()..];
            anyhow!(
                "`--over` tries {}, and that is no scenario\nhint: ask for other values, such as --over WORD=FROM..TO\n{error}",
                sets.join(", ")
            )
        };
        let mut scenario = engine::load_with(self.source, self.asked(&sets))
            .map_err(|error| if is_present { error } else { tried(error) })?;
        if self.over == Over::Live && !is_present {
            let factor = value / self.need;
            for class in scenario.traffic.iter_mut().filter(|class| self.parties.live.contains(&class.name)) {
                let denser = class.arrivals.iter().map(|process| process.denser(factor));
                class.arrivals = denser.collect::<Option<_>>().unwrap_or_else(|| class.arrivals.clone());
            }
        }
        Ok(scenario)
    }

    fn between(&self, one: f64, other: f64) -> Option<f64> {
        let step = self.step?;
        let low = (one.min(other) / step + 1e-6).floor() as i64;
        let high = (one.max(other) / step - 1e-6).ceil() as i64;
        let middle = tidy(i64::midpoint(low, high) as f64 * step);
        (middle > one.min(other) && middle < one.max(other)).then_some(middle)
    }

    fn text(&self, value: f64) -> String {
        // A tenth of a point is as fine as anyone sets a share.
        let value = if self.quantity == Quantity::Share { (value * 1e3).round() / 1e3 } else { value };
        let text = text_of(self.quantity, value);
        if self.quantity == Quantity::Share { text.replace('%', " %") } else { text }
    }

    fn halted(&self, value: f64, why: Stopped) -> anyhow::Error {
        match why {
            Stopped::Interrupted => anyhow!(Interrupted),
            Stopped::Endless(endless) => {
                let name = self.text(value);
                match self.scenario(value) {
                    Ok(scenario) => engine::endless_arm(&Arm { name: &name, scenario: &scenario }, &endless),
                    Err(error) => error,
                }
            }
        }
    }
}

/// What a limit counts, and in what time: `input tokens a minute`.
fn unit_of(limit: &Limit) -> String {
    let per = match Flow::of(limit).per.to_string().as_str() {
        "1s" => "a second".to_owned(),
        "1m" => "a minute".to_owned(),
        "1h" => "an hour".to_owned(),
        "1d" => "a day".to_owned(),
        other => format!("in {other}"),
    };
    format!("{} {per}", limit.counts.word().replace('_', " "))
}

/// The user asked to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// A number without the noise of its last binary digits.
fn tidy(number: f64) -> f64 {
    format!("{number:.9}").parse().unwrap_or(number)
}
