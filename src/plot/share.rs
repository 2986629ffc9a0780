//! Who pays: the share of live tasks that met at least one 429, by the time of their arrival. The grey band is what
//! other seeds gave, so that one can see whether this one is typical.

use super::label::Label;
use super::number;
use super::panel::{Body, Note, Panel, Unit, View};
use super::queue::{MARKS, crosses, failures, width_of};
use super::scale::Scale;
use super::sheet::Sheet;
use super::steps::{Bins, Ground};

/// From this share on, failures are said beside the 429s.
const MANY: f64 = 0.05;

/// The share of one live class.
pub(super) struct Share {
    pub(super) class: usize,
    pub(super) met: Bins,
    band: Option<(Bins, Bins)>,
    failures: Bins,
}

/// The panels of all live classes in which a 429 was met, here or with other seeds.
pub(super) fn panels(view: &View<'_>) -> Vec<Panel> {
    view.facts.live().into_iter().filter_map(|class| panel(view, class)).collect()
}

fn panel(view: &View<'_>, class: usize) -> Option<Panel> {
    let series = &view.facts.result.timeline.classes[class];
    // A share needs enough tasks to mean anything: bins are joined where the axis is long, never split.
    let group = view.axis.group(view.wide(), 12.0);
    let met: Vec<(u32, u32)> = series.wide_arrivals.iter().copied().zip(series.wide_with_429.iter().copied()).collect();
    let share = Bins::gather(&met, view.wide(), group, view.end(), |bins, _| {
        let (arrived, hit) = bins.iter().fold((0u64, 0u64), |(a, h), (n, m)| (a + u64::from(*n), h + u64::from(*m)));
        if arrived == 0 { f64::NAN } else { hit as f64 / arrived as f64 }
    });
    let band = band(view, class);
    let most = share.most(view.axis);
    let widest = band.as_ref().map_or(0.0, |(_, high)| high.most(view.axis));
    let failures = failures(view, class);
    let (met, failed) = (most.max(widest) > 0.0, failures.most(view.axis) > 0.0);
    if !met && !failed {
        return None;
    }
    // Head room for the name of the highest bin.
    let reach = (1.2 * most).max(1.1 * widest).min(1.0);
    let mut how = Vec::new();
    if met {
        how.push(format!("share of those that arrived in each {}", number::each(share.width)));
    }
    if let (Some(_), Some(seeds)) = (&band, view.facts.seeds()) {
        how.push(format!("grey: 5 – 95\u{a0}% of {} seeds", number::count(seeds as f64)));
    }
    let tasks = view.facts.tasks(class);
    if failed {
        how.push(format!("each × is {} in which {tasks} failed for good", width_of(failures.width)));
    }
    let fate = if met { "met a 429" } else { "failed for good" };
    Some(Panel {
        title: format!("{} that {fate}", super::facts::capital(&tasks)),
        how,
        height: if met { 118.0 } else { 24.0 },
        above: if failed { MARKS } else { 0.0 },
        // Marks alone need no scale but its foot.
        scale: if met { Scale::of_shares(reach) } else { Scale { top: 1.0, step: 2.0 } },
        unit: if met { Unit::Percent } else { Unit::None },
        note: note(view, class),
        body: Body::Share(Share { class, met: share, band, failures }),
    })
}

fn band(view: &View<'_>, class: usize) -> Option<(Bins, Bins)> {
    let band = view.facts.result.share_429_bands.get(class)?;
    band_bins(view, &band.p5, &band.p95)
}

/// The two edges of a band in wide bins; `None` where there is none.
pub(super) fn band_bins(view: &View<'_>, p5: &[f64], p95: &[f64]) -> Option<(Bins, Bins)> {
    let bins = |values: &[f64]| Bins { width: view.wide(), end: view.end(), values: values.to_vec() };
    let known = !p5.is_empty() && p5.len() == p95.len();
    known.then(|| (bins(p5), bins(p95)))
}

impl Share {
    /// Whether no 429 was met, so that there is nothing but the marks of failures.
    pub(super) fn is_marks_alone(&self) -> bool {
        self.met.values.iter().all(|share| share.is_nan() || *share <= 0.0) && self.band.is_none()
    }

    /// Draws the band, the share over it, and the band's upper edge over both.
    pub(super) fn draw(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        if let Some((low, high)) = &self.band {
            sheet.steps(&ground.between(low, high), view.theme.band);
        }
        sheet.steps(&ground.under(&self.met), view.theme.throttled.fill);
        if let Some((low, high)) = &self.band {
            sheet.rim(&ground.between(low, high), view.theme.axis);
        }
        crosses(sheet, view, ground, &self.failures);
    }

    /// Names the worst bin.
    pub(super) fn name(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let shown = self.met.shown(view.axis).filter(|(_, _, value)| *value > 0.0);
        let Some((from, to, worst)) = shown.max_by(|a, b| a.2.total_cmp(&b.2)) else { return };
        let mut high = self.met.clone();
        if let Some((_, band)) = &self.band {
            let value_of = |i: usize| band.at(high.span(i).0).unwrap_or(0.0);
            let values = (0..high.values.len()).map(|i| high.values[i].max(value_of(i))).collect();
            high = Bins { values, ..high };
        }
        let skyline = ground.under(&high);
        let text = format!("at most {}", number::share(worst));
        let stretch = (view.axis.x(from), view.axis.x(to));
        Label::bold(text, view.theme.throttled.text, view.form).pointing(sheet, &skyline, &ground.frame, stretch);
    }
}

/// How many failed for good, where that is more than met a 429.
fn failed(view: &View<'_>, class: usize) -> Option<Note> {
    let facts = &view.facts;
    let name = facts.class(class).name.as_str();
    let at = |leaf| facts.value(&["classes", name, leaf]);
    let (failed, offered) = (at("failed").filter(|n| *n > 0.0)?, at("offered")?);
    if failed <= at("tasks_with_429").unwrap_or(0.0) {
        return None;
    }
    let number = format!("{} of {}", number::count(failed), number::count(offered));
    let text = format!("{} failed for good", facts.tasks(class));
    Some(Note::new(number, text).spread(facts.spread(&["classes", name, "failed"], number::count)))
}

/// The phase in which most tasks met a 429, and how many.
fn note(view: &View<'_>, class: usize) -> Option<Note> {
    const LEAF: &str = "tasks_with_429_share";
    let facts = &view.facts;
    let name = facts.class(class).name.as_str();
    let worst = facts.by_phase(class, LEAF).into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(phase, _)| phase);
    let path = |leaf| match worst {
        Some(phase) => vec!["phases", phase, "classes", name, leaf],
        None => vec!["classes", name, leaf],
    };
    if let Some(note) = failed(view, class) {
        return Some(note);
    }
    let share = facts.value(&path(LEAF))?;
    let offered = facts.value(&path("offered")).map_or(String::new(), |n| format!("{} ", number::count(n)));
    let when = worst.map_or("in the run".to_string(), |phase| {
        let bound = |leaf| facts.value(&["phases", phase, leaf]);
        match (bound("from_s"), bound("to_s")) {
            (Some(from), Some(to)) => format!("in the phase {phase} ({})", view.axis.says_span(from, to)),
            (Some(_) | None, _) => format!("in the phase {phase}"),
        }
    });
    // A 429 that is outlived is a delay; one that is not is worth a word.
    let failed = facts.value(&path("failed")).zip(facts.value(&path("offered")));
    let failed = failed.filter(|(failed, offered)| *failed >= MANY * offered && *failed > 0.0);
    let failed = failed.map_or(String::new(), |(failed, _)| format!("; {} failed for good", number::count(failed)));
    let text = format!("of {offered}{} {when} met a 429{failed}", facts.tasks(class));
    let note = Note::new(number::share(share), text).spread(facts.spread(&path(LEAF), number::share));
    Some(if share > 0.0 { note.loud(view.theme.throttled.text) } else { note })
}
