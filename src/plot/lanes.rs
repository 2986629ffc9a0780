//! What guards, retry budgets and hedges did: a low strip for each one that acted. What is shut is grey, as what it refuses is;
//! what is ajar or lets wait is hatched; a level is an area under a line with its bound in dashes. A hue is an answer of
//! the provider, and a guard gives none.

use super::guard_lanes::{of_bucket, of_guard};
use super::label::Label;
use super::panel::{Body, Note, Panel, Unit, View};
use super::scale::Scale;
use super::sheet::{Frame, Sheet};
use super::steps::{Bins, Column, Ground};
use crate::observe::GuardSeries;

/// The most strips in one picture.
const MOST: usize = 6;

/// The height of a strip in the wide layout.
const HEIGHT: f64 = 36.0;

/// The room above a strip for the marks of what was refused.
const MARKS: f64 = 8.0;

/// One strip.
pub(super) struct Lane {
    /// Whose it is.
    pub(super) name: String,
    /// How much of the bins it acted in: what tells most stands in the picture.
    pub(super) weight: f64,
    pub(super) look: Look,
    pub(super) main: Bins,
    /// A second series: what is ajar, on top of what is shut.
    pub(super) second: Option<Bins>,
    /// The bound of the level.
    pub(super) bound: Option<Bins>,
    /// Bins in which somebody was refused, marked above the strip.
    pub(super) refused: Option<Bins>,
}

/// How a strip is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// How many instances are shut and ajar; what they are called when they are shut.
    Doors(&'static str),
    /// A level.
    Level,
    /// A level under a limit that is learnt, as a line.
    Limit,
    /// A rate, which is not defined while nobody is held to it.
    Rate,
    /// How many wait.
    Waiting,
    /// The share that is refused.
    Refused,
}

/// What is said about a strip.
pub(super) struct Words {
    pub(super) title: String,
    /// What it did, as the number and the rest of the sentence.
    pub(super) did: (String, String),
    /// How to read it.
    pub(super) how: Vec<String>,
}

/// The strips of what acted, those that tell most, in the order of the scenario.
pub(super) fn panels(view: &View<'_>) -> Vec<Panel> {
    chosen(view).0
}

/// The names of those that acted and have no strip because others tell more.
pub(super) fn left_out(view: &View<'_>) -> Vec<String> {
    chosen(view).1
}

fn chosen(view: &View<'_>) -> (Vec<Panel>, Vec<String>) {
    let timeline = &view.facts.result.timeline;
    let guards = view.facts.scenario.guards.iter().zip(&timeline.guards);
    let panels = guards
        .flat_map(|(guard, series)| of_guard(view, guard, series).into_iter().chain(of_bucket(view, guard, series)));
    let mut all: Vec<Panel> = panels.collect();
    all.extend(timeline.budgets.iter().filter_map(|budget| super::budget_lanes::panel(view, budget)));
    all.extend(view.facts.jobs().into_iter().filter_map(|class| super::copies::panel(view, class)));
    let classes = 0..view.facts.scenario.traffic.len();
    all.extend(classes.filter_map(|class| super::hedge_lanes::panel(view, class)));
    let weight = |panel: &Panel| match &panel.body {
        Body::Lane(lane) => lane.weight,
        _ => 0.0,
    };
    let mut weights: Vec<f64> = all.iter().map(weight).collect();
    weights.sort_unstable_by(|a, b| b.total_cmp(a));
    let least = weights.get(MOST - 1).copied().unwrap_or(0.0);
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for panel in all {
        if weight(&panel) >= least && shown.len() < MOST {
            shown.push(panel);
        } else {
            others.push(panel.title);
        }
    }
    (shown, others)
}

/// The scale of a strip has no room for more marks than 0 and its top, a round number.
pub(super) fn reaching(value: f64) -> Scale {
    const NICE: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let mut size = 0.01;
    while size * 10.0 < value && size < 1e12 {
        size *= 10.0;
    }
    let top = NICE.into_iter().map(|nice| nice * size).find(|top| *top >= value * 0.999).unwrap_or(10.0 * size);
    Scale { top, step: top }
}

/// The share of those who came that were refused.
pub(super) fn refused_shares(view: &View<'_>, series: &GuardSeries) -> Bins {
    let pairs: Vec<(u32, u32)> = series.asked.iter().copied().zip(series.refused.iter().copied()).collect();
    // A share needs some calls to mean anything.
    let group = view.axis.group(view.bin(), 4.0);
    Bins::gather(&pairs, view.bin(), group, view.end(), |bins, _| {
        let (asked, refused) = bins.iter().fold((0u64, 0u64), |(a, r), (n, m)| (a + u64::from(*n), r + u64::from(*m)));
        if asked == 0 { 0.0 } else { (refused as f64 / asked as f64).min(1.0) }
    })
}

/// A strip as a panel; none where nothing of it lies on the axis.
pub(super) fn panel(view: &View<'_>, words: Words, scale: Scale, unit: Unit, lane: Lane) -> Option<Panel> {
    let on_axis = |bins: &Bins| bins.most(view.axis) > 0.0;
    let shown = match lane.look {
        Look::Doors(_) => on_axis(&lane.main) || lane.second.as_ref().is_some_and(on_axis),
        Look::Level | Look::Limit | Look::Rate => lane.weight > 0.0,
        Look::Waiting | Look::Refused => on_axis(&lane.main),
    };
    if !shown {
        return None;
    }
    let (number, did) = words.did;
    // A layout without a gutter says beside the title what it did.
    let how = if view.form.gutter > 0.0 {
        words.how
    } else {
        format!("{number} {did}").split("; ").map(str::to_owned).chain(words.how).collect()
    };
    Some(Panel {
        title: words.title,
        how,
        height: HEIGHT,
        above: if lane.refused.is_some() { MARKS } else { 0.0 },
        scale,
        unit,
        note: Some(Note::new(number, did).small()),
        body: Body::Lane(lane),
    })
}

/// A strip of a level, for what is no guard.
pub(super) struct LevelLane {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) did: (String, String),
    pub(super) how: Vec<String>,
    pub(super) scale: Scale,
    pub(super) unit: Unit,
    pub(super) main: Bins,
    pub(super) bound: Option<Bins>,
    pub(super) refused: Option<Bins>,
    pub(super) weight: f64,
}

impl LevelLane {
    /// The panel of the strip.
    pub(super) fn panel(self, view: &View<'_>) -> Option<Panel> {
        let words = Words { title: self.title, did: self.did, how: self.how };
        let (name, weight, main, bound, refused) = (self.name, self.weight, self.main, self.bound, self.refused);
        let lane = Lane { name, weight, look: Look::Level, main, second: None, bound, refused };
        panel(view, words, self.scale, self.unit, lane)
    }
}

/// The mean of each bin that can be seen.
pub(super) fn means(view: &View<'_>, values: &[f32]) -> Bins {
    let group = view.axis.group(view.bin(), 2.0);
    Bins::gather(values, view.bin(), group, view.end(), |bins, _| {
        bins.iter().map(|&value| f64::from(value)).sum::<f64>() / bins.len().max(1) as f64
    })
}

/// The highest value in each bin that can be seen.
pub(super) fn peaks(view: &View<'_>, values: &[f32]) -> Bins {
    let group = view.axis.group(view.bin(), 2.0);
    Bins::gather(values, view.bin(), group, view.end(), |bins, _| {
        bins.iter().fold(0.0, |a, &b| f64::max(a, f64::from(b)))
    })
}

/// The lowest value in each bin that can be seen.
pub(super) fn lowest(view: &View<'_>, values: &[f32]) -> Bins {
    let group = view.axis.group(view.bin(), 2.0);
    Bins::gather(values, view.bin(), group, view.end(), |bins, _| {
        bins.iter().fold(f64::INFINITY, |a, &b| f64::min(a, f64::from(b)))
    })
}

/// How many were refused in each bin that a mark fits into; nothing where nobody was.
pub(super) fn refused_bins(view: &View<'_>, series: &GuardSeries) -> Option<Bins> {
    let group = view.axis.group(view.bin(), 2.0);
    let bins = Bins::gather(&series.refused, view.bin(), group, view.end(), |bins, _| {
        bins.iter().map(|&n| f64::from(n)).sum()
    });
    (bins.most(view.axis) > 0.0).then_some(bins)
}

/// The share of the bins on the axis in which somebody was refused or waited.
pub(super) fn pressed(view: &View<'_>, series: &GuardSeries) -> f64 {
    let waiting = means(view, &series.waiting);
    let refused = refused_bins(view, series).unwrap_or_else(|| waiting.zero());
    weight(&waiting, &refused)
}

/// The share of the bins in which one or the other is there.
pub(super) fn weight(a: &Bins, b: &Bins) -> f64 {
    let acted = a.values.iter().zip(&b.values).filter(|(a, b)| **a > 0.0 || **b > 0.0).count();
    acted as f64 / a.values.len().max(1) as f64
}

impl Lane {
    /// Draws the strip.
    pub(super) fn draw(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let theme = view.theme;
        match self.look {
            Look::Doors(_) => {
                let layers = [&self.main].into_iter().chain(&self.second).cloned().collect::<Vec<_>>();
                let stack = ground.stack(&layers);
                sheet.steps(&stack[0], theme.other.fill);
                if let Some(ajar) = stack.get(1) {
                    sheet.hatch(ajar, theme.other.fill, theme.idle);
                    sheet.seam(&stack[0], ajar, theme.page);
                }
            }
            Look::Level => {
                let columns = ground.under(&self.main);
                sheet.steps(&columns, theme.band);
                sheet.ridge(&columns, theme.ink, 1.5);
                if let Some(bound) = &self.bound {
                    sheet.dashed(&ground.under(bound), theme.ink, theme.page);
                }
            }
            Look::Limit => {
                sheet.steps(&ground.under(&self.main), theme.band);
                if let Some(limit) = &self.bound {
                    sheet.ridge(&ground.under(limit), theme.ink, 1.5);
                }
            }
            Look::Rate => {
                let columns = ground.under(&self.main);
                sheet.steps(&columns, theme.band);
                sheet.ridge(&columns, theme.ink, 1.5);
            }
            Look::Waiting => sheet.hatch(&ground.under(&self.main), theme.throttled.fill, theme.recovery),
            Look::Refused => sheet.steps(&ground.under(&self.main), theme.other.fill),
        }
        if let Some(refused) = &self.refused {
            let (top, bottom) = (ground.frame.top - MARKS, ground.frame.top - MARKS + 5.0);
            let marked = refused.shown(view.axis).filter(|(_, _, n)| *n > 0.0);
            let columns: Vec<Column> = marked
                .map(|(from, to, _)| Column { left: view.axis.x(from), right: view.axis.x(to), top, bottom })
                .collect();
            sheet.steps(&columns, theme.ink);
            for column in &columns {
                sheet.take(Frame { left: column.left, right: column.right, top, bottom });
            }
        }
    }

    /// Names what is shut.
    pub(super) fn name(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let theme = view.theme;
        if let Look::Doors(shut) = self.look {
            Label::bold(shut, theme.other.on, view.form).inside(sheet, &ground.under(&self.main));
        }
    }
}
