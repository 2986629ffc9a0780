//! What is still to come, and what is lost: the jobs that wait for a worker, and a × for each bin in which jobs
//! failed for good.

use super::facts::capital;
use super::label::Label;
use super::number;
use super::panel::{Body, Note, Panel, Unit, View};
use super::scale::Scale;
use super::share::band_bins;
use super::sheet::{Frame, Sheet};
use super::steps::{Bins, Column, Ground};

/// Half the size of a ×.
const CROSS: f64 = 3.0;
/// The room above the scale that is kept for the ×.
pub(super) const MARKS: f64 = 22.0;

/// The queue of one jobs class.
pub(super) struct Queue {
    pub(super) class: usize,
    pub(super) length: Bins,
    pub(super) band: Option<(Bins, Bins)>,
    pub(super) failures: Bins,
}

/// The panels of all jobs classes in which anything waited or failed.
pub(super) fn panels(view: &View<'_>) -> Vec<Panel> {
    view.facts.jobs().into_iter().filter_map(|class| panel(view, class)).collect()
}

fn panel(view: &View<'_>, class: usize) -> Option<Panel> {
    let series = &view.facts.result.timeline.classes[class];
    let group = view.axis.group(view.bin(), 2.0);
    let length = Bins::gather(&series.queue, view.bin(), group, view.end(), |bins, _| {
        f64::from(bins.iter().max().copied().unwrap_or(0))
    });
    let failures = failures(view, class);
    let band = view.facts.result.queue_bands.get(class).and_then(|band| band_bins(view, &band.p5, &band.p95));
    let most = length.most(view.axis).max(band.as_ref().map_or(0.0, |(_, high)| high.most(view.axis)));
    let failed = failures.most(view.axis) > 0.0;
    if most <= 0.0 && !failed {
        return None;
    }
    // Head room for the name of the longest.
    let scale = Scale::covering(1.15 * most, 3.0, true);
    let mut how = vec![format!("most in each {}", number::each(length.width))];
    if let (Some(_), Some(seeds)) = (&band, view.facts.seeds()) {
        how.push(format!("grey: 5 – 95\u{a0}% of {} seeds", number::count(seeds as f64)));
    }
    if failed {
        how.push(format!("each × is {} in which jobs failed for good", width_of(failures.width)));
    }
    Some(Panel {
        title: format!("{} waiting in the queue", capital(&view.facts.tasks(class))),
        how,
        height: 96.0,
        above: if failed { MARKS } else { 0.0 },
        scale,
        unit: Unit::None,
        note: note(view, class),
        body: Body::Queue(Queue { class, length, band, failures }),
    })
}

/// The tasks of a class that failed for good, in bins as wide as a mark.
pub(super) fn failures(view: &View<'_>, class: usize) -> Bins {
    let series = &view.facts.result.timeline.classes[class];
    // A × is six pixels wide: closer ones would be a smear.
    let group = view.axis.group(view.bin(), 2.0 * CROSS + 1.0);
    Bins::gather(&series.failures, view.bin(), group, view.end(), |bins, _| bins.iter().map(|&n| f64::from(n)).sum())
}

/// A × above the scale for each bin in which anything failed.
pub(super) fn crosses(sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>, failures: &Bins) {
    let y = (ground.frame.top - MARKS / 2.0).round();
    for (from, to, failed) in failures.shown(view.axis) {
        if failed > 0.0 {
            cross_at(sheet, view, f64::midpoint(view.axis.x(from), view.axis.x(to)), y);
        }
    }
}

/// The width of a bin with its article.
pub(super) fn width_of(seconds: f64) -> String {
    let each = number::each(seconds);
    if each.chars().next().is_some_and(|c| c.is_ascii_digit()) { each } else { format!("a {each}") }
}

impl Queue {
    /// Draws the band, the queue and the marks.
    pub(super) fn draw(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        if let Some((low, high)) = &self.band {
            sheet.steps(&ground.between(low, high), view.theme.band);
        }
        sheet.ridge(&ground.under(&self.length), view.theme.ink, 1.75);
        crosses(sheet, view, ground, &self.failures);
    }

    /// Names the queue at the moment when the provider is back, or else at its longest.
    pub(super) fn name(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let end = view.incident.end;
        let at_end = self.length.at(end).filter(|n| *n > 0.0 && end > view.axis.from && end < view.axis.to);
        let longest = self.length.shown(view.axis).max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.total_cmp(&a.0)));
        let (at, length) = match (at_end, longest) {
            (Some(length), _) => (end, length),
            (None, Some((from, to, length))) => (f64::midpoint(from, to), length),
            (None, None) => return,
        };
        if length <= 0.0 {
            return;
        }
        let (x, y) = (view.axis.x(at).round(), ground.y(length));
        let text = format!("{} at {} {}", number::count(length), view.axis.unit.word(), view.axis.says(at));
        let label = Label::bold(text, view.theme.ink, view.form);
        let mut high = ground.under(&self.length);
        if let Some((_, band)) = &self.band {
            high = higher(high, &ground.under(band));
        }
        let corner = (x + 9.0, y - 24.0);
        let named = label.at(sheet, &high, &ground.frame.grown(2.0), corner)
            || label.above(sheet, &high, &ground.frame, (x - 60.0, x + 60.0));
        if named {
            sheet.disc((x, y), 5.0, view.theme.page);
            sheet.disc((x, y), 3.5, view.theme.ink);
        }
    }
}

/// The skyline of two rows of columns.
fn higher(fine: Vec<Column>, coarse: &[Column]) -> Vec<Column> {
    fine.into_iter()
        .map(|column| {
            let over = coarse.iter().filter(|other| other.left < column.right && other.right > column.left);
            Column { top: over.map(|other| other.top).fold(column.top, f64::min), ..column }
        })
        .collect()
}

/// A × at a place.
pub(super) fn cross_at(sheet: &mut Sheet, view: &View<'_>, x: f64, y: f64) {
    let ink = view.theme.ink;
    sheet.line(vec![(x - CROSS, y - CROSS), (x + CROSS, y + CROSS)], ink, 1.5);
    sheet.line(vec![(x - CROSS, y + CROSS), (x + CROSS, y - CROSS)], ink, 1.5);
    sheet.take(Frame { left: x - CROSS, right: x + CROSS, top: y - CROSS, bottom: y + CROSS });
}

fn note(view: &View<'_>, class: usize) -> Option<Note> {
    let facts = &view.facts;
    let name = facts.class(class).name.as_str();
    let at = |leaf: &[&str]| {
        let path: Vec<&str> = ["classes", name].iter().chain(leaf).copied().collect();
        facts.value(&path)
    };
    let (failed, offered) = (at(&["failed"])?, at(&["offered"])?);
    let delivered = at(&["delivered"]).map_or(String::new(), |n| format!("; {} delivered", number::count(n)));
    let slowest =
        at(&["latency_s", "max"]).map_or(String::new(), |s| format!(", the slowest after {}", number::time(s)));
    // What the end of the run cuts off is neither: without it the numbers would not add up.
    let rest = |fate: &'static str| {
        let some = at(&[fate]).filter(|n| *n > 0.0);
        some.map_or(String::new(), |n| format!(", {} {fate}", number::count(n)))
    };
    let (abandoned, unfinished) = (rest("abandoned"), rest("unfinished"));
    let text = format!("{} failed for good{abandoned}{unfinished}{delivered}{slowest}", facts.tasks(class));
    let number = format!("{} of {}", number::count(failed), number::count(offered));
    Some(Note::new(number, text).spread(facts.spread(&["classes", name, "failed"], number::count)))
}
