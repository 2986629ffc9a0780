//! How near each retry budget was to keeping retries back: its level, the bound from which on nobody retries, and where
//! retries were kept back.

use super::lanes::{LevelLane, lowest, peaks, pressed, reaching, refused_bins, refused_shares};
use super::number;
use super::panel::{Panel, Unit, View};
use super::scale::Scale;
use super::steps::Bins;
use crate::observe::BudgetSeries;
use crate::report::words::readable;

/// The strip of a budget that kept a retry back.
pub(super) fn panel(view: &View<'_>, budget: &BudgetSeries) -> Option<Panel> {
    let (series, gauge) = (&budget.series, budget.gauge);
    let refused = refused_bins(view, series)?;
    // Of budgets that come and go with a task there is no level.
    let has_level = !series.level.is_empty();
    let main = if !has_level {
        refused_shares(view, series)
    } else if gauge.falls {
        lowest(view, &series.level)
    } else {
        peaks(view, &series.level)
    };
    let moving = (!series.bound.is_empty()).then(|| lowest(view, &series.bound));
    let fixed = gauge.bound.map(|bound| Bins { values: vec![bound; main.values.len()], ..main.clone() });
    let bound = moving.or(fixed).filter(|_| has_level);
    let highest = main.most(view.axis).max(bound.as_ref().map_or(0.0, |bound| bound.most(view.axis)));
    let is_share = gauge.top == Some(1.0) || !has_level;
    let scale = match gauge.top.map(|top| if is_share { 1.0 } else { top }).or((!has_level).then_some(1.0)) {
        Some(top) => Scale { top, step: top },
        None => reaching(highest.max(1.0)),
    };
    let several = series.instances > 1;
    let way = if gauge.falls { "lowest" } else { "highest" };
    let mut how = vec![if several {
        let instances = number::of(f64::from(series.instances), "instance");
        format!("{way} of {instances} in each {}, in {}", number::each(main.width), gauge.unit)
    } else {
        format!("{way} in each {}, in {}", number::each(main.width), gauge.unit)
    }];
    if has_level {
        how.push("dashed: from here on no retries".to_string());
    } else {
        how = vec![format!("share of the retries wanted in each {} that were kept back", number::each(main.width))];
    }
    how.push("marks above: retries kept back".to_string());
    let sum = |counts: &[u32]| counts.iter().map(|n| f64::from(*n)).sum::<f64>();
    let (kept, wanted) = (sum(&series.refused), sum(&series.asked));
    let seed = if view.facts.seeds().is_some() { " with this seed" } else { "" };
    let did =
        (number::count(kept), format!("of {} retries that were wanted were kept back{seed}", number::count(wanted)));
    LevelLane {
        name: format!("{}.{}", budget.client, budget.layer),
        title: format!("Retry budget of {} in {}", readable(&budget.layer), readable(&budget.client)),
        did,
        how,
        scale,
        unit: if is_share { Unit::Percent } else { Unit::None },
        main,
        bound,
        refused: Some(refused),
        weight: pressed(view, series),
    }
    .panel(view)
}
