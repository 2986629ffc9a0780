//! Why turns are refused: what is left under each limit of the provider, at its lowest in each bin.

use super::facts::{Guards, capital};
use super::label::Label;
use super::number;
use super::panel::{Body, Note, Panel, Unit, View};
use super::scale::Scale;
use super::sheet::Sheet;
use super::steps::{Bins, Column, Ground};
use crate::observe::timeline::WorkerActivity;
use crate::policy::pacer::Counts;
use crate::provider::Limit;
use crate::traffic::cost::mean_cost;

/// Below this share a limit is called low, and its lowest stretch gets a name.
const LOW: f64 = 0.1;

/// What a worker does while its job asks for the limit, now or after a wait.
const BUSY: [WorkerActivity; 3] = [WorkerActivity::Serving, WorkerActivity::Refused, WorkerActivity::WaitingRetry];

/// What is left of one limit.
pub(super) struct Level {
    pub(super) limit: usize,
    pub(super) left: Bins,
}

/// The panels of all limits that were used at all.
pub(super) fn panels(view: &View<'_>) -> Vec<Panel> {
    let limits = &view.facts.scenario.provider.limits;
    let series = &view.facts.result.timeline.limits;
    (0..limits.len().min(series.len())).filter_map(|i| panel(view, i, &limits[i], &series[i].lowest)).collect()
}

fn panel(view: &View<'_>, i: usize, limit: &Limit, series: &[f32]) -> Option<Panel> {
    let group = view.axis.group(view.bin(), 2.0);
    let left = Bins::gather(series, view.bin(), group, view.end(), |bins, _| {
        bins.iter().map(|&share| f64::from(share)).fold(1.0, f64::min)
    });
    // A limit that nobody drew on has nothing to show.
    left.shown(view.axis).find(|(_, _, share)| *share < 0.999)?;
    let several = view.facts.scenario.provider.limits.len() > 1;
    let mut how = if several { vec![limit.name.clone()] } else { Vec::new() };
    how.push(format!("lowest level in each {}", number::each(left.width)));
    how.push(format!("full at {}", amount(limit)));
    Some(Panel {
        title: format!("{} limit left", capital(counted(limit.counts))),
        how,
        height: 96.0,
        above: 0.0,
        scale: Scale { top: 1.0, step: 0.5 },
        unit: Unit::Percent,
        note: note(view, limit),
        body: Body::Level(Level { limit: i, left }),
    })
}

const fn counted(counts: Counts) -> &'static str {
    match counts {
        Counts::Requests => "request",
        Counts::InputTokens | Counts::UncachedInputTokens => "input-token",
        Counts::OutputTokens => "output-token",
        Counts::TotalTokens | Counts::TokensInFlight => "token",
        Counts::Spend => "dollar",
    }
}

/// What the limit holds: `700,000 input tokens`.
fn amount(limit: &Limit) -> String {
    format!(
        "{} {}s",
        number::count(if limit.largest().is_finite() { limit.largest() } else { limit.amount() }),
        counted(limit.counts).replace('-', " ")
    )
}

impl Level {
    /// Draws what is left.
    pub(super) fn draw(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let columns = ground.under(&self.left);
        sheet.steps(&columns, view.theme.room);
        sheet.ridge(&columns, view.theme.delivered.fill, 1.5);
    }

    /// Names the longest stretch in which next to nothing is left, with its cause.
    pub(super) fn name(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let shown: Vec<(f64, f64, f64)> = self.left.shown(view.axis).collect();
        let stretches = shown.chunk_by(|a, b| (a.2 < LOW) == (b.2 < LOW)).filter(|bins| bins[0].2 < LOW);
        let length = |bins: &&[(f64, f64, f64)]| bins[bins.len() - 1].1 - bins[0].0;
        let Some(longest) = stretches.max_by(|a, b| length(a).total_cmp(&length(b))) else { return };
        let above: Vec<Column> = longest
            .iter()
            .map(|&(from, to, share)| Column {
                left: view.axis.x(from),
                right: view.axis.x(to),
                top: ground.frame.top,
                bottom: ground.y(share),
            })
            .collect();
        let lowest = longest.iter().map(|(_, _, share)| *share).fold(1.0, f64::min);
        let word = if lowest < 0.02 { "empty".to_string() } else { format!("down to {}", number::share(lowest)) };
        let color = view.theme.throttled.text;
        let short = Label::bold(&word, color, view.form);
        let span = (longest[0].0, longest[longest.len() - 1].1);
        let asked = self.demand(view).filter(|(_, demand)| *demand >= 1.0 && Self::is_asked(view, span));
        let Some((workers, demand)) = asked else {
            short.inside(sheet, &above);
            return;
        };
        let ask = if workers == 1 { "asks" } else { "ask" };
        let cause = format!("{} {ask}", number::of(f64::from(workers), "busy worker"));
        // From ten times on, percent are no measure.
        let (rest, brief) = if demand < 9.995 {
            (format!("for {} of the limit", number::share(demand)), format!("for {}", number::share(demand)))
        } else {
            let times = number::count(demand);
            (format!("for {times} times the limit"), format!("for {times} times it"))
        };
        let two = Label::bold(format!("{word}: {cause}"), color, view.form).with(rest, color, view.form);
        let three = Label::bold(word, color, view.form).with(cause, color, view.form);
        let three = three.with(brief, color, view.form);
        let _ = two.inside(sheet, &above) || three.inside(sheet, &above) || short.inside(sheet, &above);
    }

    /// Whether the workers are what the limit is short for in this stretch: most of them are at it, and no pacer
    /// or semaphore of their own holds them back.
    fn is_asked(view: &View<'_>, (from, to): (f64, f64)) -> bool {
        let bins = (from / view.bin()).floor() as usize..(to / view.bin()).ceil() as usize;
        let jobs = view.facts.jobs();
        let held = |kinds: Guards| kinds.pacer || kinds.line;
        let paced = jobs.iter().any(|&class| held(view.facts.guards(class)));
        let there = f64::from(view.facts.workers_of(&jobs));
        let series = jobs.iter().map(|&class| &view.facts.result.timeline.classes[class].workers);
        let busy: f64 = series
            .flat_map(|workers| BUSY.iter().map(|&activity| &workers[activity as usize]))
            .flat_map(|seconds| seconds.get(bins.start..bins.end.min(seconds.len())).unwrap_or_default())
            .map(|&seconds| f64::from(seconds))
            .sum();
        !paced && busy >= 0.5 * there * (to - from)
    }

    /// How many workers there are, and which share of the limit they use when all are busy and nothing is refused.
    fn demand(&self, view: &View<'_>) -> Option<(u32, f64)> {
        let limit = &view.facts.scenario.provider.limits[self.limit];
        let flow = limit.per_second()?;
        let jobs = view.facts.jobs();
        let workers = view.facts.workers_of(&jobs);
        let demand: f64 = jobs
            .iter()
            .map(|&class| {
                let class = view.facts.class(class);
                let shares = |other: &&usize| view.facts.class(**other).queueing.pool == class.queueing.pool;
                let sharing = class.queueing.pool.map_or(1, |_| jobs.iter().filter(shares).count());
                let cost: f64 = class.steps.iter().map(|step| mean_cost(limit, step)).sum();
                let time: f64 = class.steps.iter().map(|step| step.latency.mean()).sum();
                if time > 0.0 { f64::from(class.workers()) / sharing as f64 * cost / time } else { 0.0 }
            })
            .sum();
        (workers > 0).then_some((workers, demand / flow))
    }
}

fn note(view: &View<'_>, limit: &Limit) -> Option<Note> {
    let facts = &view.facts;
    let below = ["limits", limit.name.as_str(), "below_tenth_s"];
    let lowest = ["limits", limit.name.as_str(), "lowest_share"];
    if let Some(time) = facts.value(&below).filter(|time| *time > 0.0) {
        let text = "with less than a tenth of it left";
        return Some(Note::new(number::time(time), text).spread(facts.spread(&below, number::time)));
    }
    let share = facts.value(&lowest)?;
    let text = "of the limit is always left";
    Some(Note::new(number::share(share), text).spread(facts.spread(&lowest, number::share)))
}
