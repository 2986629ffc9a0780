//! What guards and retry budgets did: a low strip for each one that acted. What is shut is grey, as what it refuses is;
//! what is ajar or lets wait is hatched; a level is an area under a line with its bound in dashes. A hue is an answer of
//! the provider, and a guard gives none.

use super::facts::capital;
use super::label::Label;
use super::number;
use super::panel::{Body, Note, Panel, Unit, View};
use super::scale::Scale;
use super::sheet::{Frame, Sheet};
use super::steps::{Bins, Column, Ground};
use crate::observe::GuardSeries;
use crate::policy::{Guard, Mechanism, Scope};
use crate::report::words::readable;

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
    weight: f64,
    look: Look,
    main: Bins,
    /// A second series: what is ajar, on top of what is shut.
    second: Option<Bins>,
    /// The bound of the level.
    bound: Option<Bins>,
    /// Bins in which somebody was refused, marked above the strip.
    refused: Option<Bins>,
}

/// How a strip is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// How many instances are shut and ajar; what they are called when they are shut.
    Doors(&'static str),
    /// A level.
    Level,
    /// How many wait.
    Waiting,
    /// The share that is refused.
    Refused,
}

/// What is said about a strip.
struct Words {
    title: String,
    /// What it did, as the number and the rest of the sentence.
    did: (String, String),
    /// How to read it.
    how: Vec<String>,
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
    let mut all: Vec<Panel> = guards.filter_map(|(guard, series)| of_guard(view, guard, series)).collect();
    all.extend(timeline.budgets.iter().filter_map(|budget| super::budget_lanes::panel(view, budget)));
    all.extend(view.facts.jobs().into_iter().filter_map(|class| super::copies::panel(view, class)));
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

fn of_guard(view: &View<'_>, guard: &Guard, series: &GuardSeries) -> Option<Panel> {
    let word = guard.mechanism.word();
    let name = if guard.name == word { capital(word) } else { format!("{} {}", capital(word), readable(&guard.name)) };
    let any = |values: &[f32]| values.iter().any(|value| *value > 0.0);
    if any(&series.shut) || any(&series.ajar) {
        return doors(view, guard, series, name);
    }
    if !series.level.is_empty() && series.acted() {
        return level(view, guard, series, name);
    }
    if any(&series.waiting) {
        return waiting(view, guard, series, name);
    }
    series.acted().then(|| refused(view, guard, series, name)).flatten()
}

/// A number of a guard's figures, with what chance made of it.
fn figure(view: &View<'_>, guard: &Guard, key: &str) -> Option<f64> {
    view.facts.value(&["guards", &guard.name, key]).filter(|n| *n > 0.0)
}

/// "212 calls refused"; nothing where there were none.
fn refusals(view: &View<'_>, guard: &Guard) -> Option<String> {
    figure(view, guard, "refused").map(|n| format!("{} refused", number::of(n, "call")))
}

/// "90 waits of 2 s on average".
fn waits(view: &View<'_>, guard: &Guard) -> Option<String> {
    let (waits, waited) = (figure(view, guard, "waits")?, figure(view, guard, "waited_s")?);
    Some(format!("{} of {} on average", number::of(waits, "wait"), number::time(waited / waits)))
}

fn doors(view: &View<'_>, guard: &Guard, series: &GuardSeries, name: String) -> Option<Panel> {
    let [shut, ajar] = [&series.shut, &series.ajar].map(|values| means(view, values));
    let several = series.instances > 1;
    let timeline = &view.facts.result.timeline;
    let length = view.facts.scenario.length();
    let each = f64::from(series.instances.max(1));
    let open = series.shut_s(timeline.bin, length) / each;
    let trips = figure(view, guard, "trips").or_else(|| figure(view, guard, "closings")).map_or(0.0, |trips| trips);
    let share = number::share(open / length.as_secs_f64().max(1e-9));
    let [shut_word, ajar_word, shuts] = door_words(guard);
    let lasts = if several {
        format!("each for {share} of the run on average")
    } else {
        format!("for {} in all", number::time(open))
    };
    let mut did = if trips > 0.0 { format!("{shuts}, {lasts}") } else { format!("of the run {shut_word}, {lasts}") };
    did.extend(refusals(view, guard).map(|refused| format!("; {refused}")));
    did.extend(waits(view, guard).map(|waits| format!("; {waits}")));
    let mut how = vec![format!("grey: {shut_word}; hatched: {ajar_word}")];
    how.push(if several {
        format!("how many of {}, mean of each {}", whose(guard, series), number::each(shut.width))
    } else {
        format!("share of each {}", number::each(shut.width))
    });
    let weight = weight(&shut, &ajar);
    let words = Words { title: name.clone(), did: (share_or_trips(trips, &share), did), how };
    let scale = if several { Scale { top: each, step: each } } else { Scale { top: 1.0, step: 2.0 } };
    let lane =
        Lane { name, weight, look: Look::Doors(shut_word), main: shut, second: Some(ajar), bound: None, refused: None };
    panel(view, words, scale, Unit::None, lane)
}

/// What a guard is called when it lets nobody through, when it lets a few through to try, and what it did when it shut.
const fn door_words(guard: &Guard) -> [&'static str; 3] {
    match guard.mechanism {
        Mechanism::Breaker(_) => ["open", "half open", "opened"],
        _ => ["closed", "trying", "closed"],
    }
}

fn share_or_trips(trips: f64, share: &str) -> String {
    if trips > 0.0 { format!("{}×", number::count(trips)) } else { share.to_string() }
}

/// "8, one for each worker".
fn whose(guard: &Guard, series: &GuardSeries) -> String {
    let scope = match guard.scope {
        // How many there were at a time is not counted.
        Scope::Call | Scope::Run | Scope::Task => return format!("one for each {}", guard.scope.word()),
        Scope::Worker => "worker",
        Scope::Process => "process",
        Scope::Class => "class",
        Scope::Client => "client",
        Scope::Global => return "one for all".to_string(),
    };
    format!("{}, one for each {scope}", number::count(f64::from(series.instances)))
}

fn level(view: &View<'_>, guard: &Guard, series: &GuardSeries, name: String) -> Option<Panel> {
    let (permits, things) = match &guard.mechanism {
        Mechanism::Semaphore(semaphore) => {
            (Some(f64::from(semaphore.permits)), if semaphore.is_pool { "connections" } else { "permits" })
        }
        _ => (None, "permits"),
    };
    let main = peaks(view, &series.level);
    let bound = (!series.bound.is_empty()).then(|| lowest(view, &series.bound));
    let most = main.most(view.axis);
    let top = permits.unwrap_or(0.0).max(most).max(bound.as_ref().map_or(0.0, |bound| bound.most(view.axis)));
    let refused = refused_bins(view, series);
    let mut how = vec![format!("most in each {}", number::each(main.width))];
    if series.instances > 1 {
        how.push(format!("of the fullest of {}", whose(guard, series)));
    }
    if bound.is_some() {
        how.push("dashed: the limit".to_string());
    }
    if refused.is_some() {
        how.push("marks above: calls were refused".to_string());
    }
    let size = bound.as_ref().map(|bound| bound.most(view.axis)).or(permits).unwrap_or(top);
    let mut did: Vec<String> = Vec::new();
    did.extend(waits(view, guard));
    did.extend(refusals(view, guard));
    let number = format!("{} of {}", number::count(most), number::count(size));
    let said = format!("{things} out at once; {}", did.join("; "));
    let words = Words { title: format!("{name}: {things} in use"), did: (number, said), how };
    let weight = pressed(view, series);
    let lane = Lane { name, weight, look: Look::Level, main, second: None, bound, refused };
    panel(view, words, Scale { top: top.max(1.0), step: top.max(1.0) }, Unit::None, lane)
}

fn waiting(view: &View<'_>, guard: &Guard, series: &GuardSeries, name: String) -> Option<Panel> {
    let main = means(view, &series.waiting);
    let most = main.most(view.axis);
    let (waits, waited) = (figure(view, guard, "waits")?, figure(view, guard, "waited_s")?);
    let did = (
        number::time(waited / waits),
        format!("on average before it in {}, {} in all", number::of(waits, "wait"), number::time(waited)),
    );
    let how = vec![format!("mean of each {}", number::each(main.width))];
    let words = Words { title: format!("{name}: callers waiting"), did, how };
    let scale = reaching(most);
    let weight = pressed(view, series);
    let lane = Lane { name, weight, look: Look::Waiting, main, second: None, bound: None, refused: None };
    panel(view, words, scale, Unit::None, lane)
}

fn refused(view: &View<'_>, guard: &Guard, series: &GuardSeries, name: String) -> Option<Panel> {
    let main = refused_shares(view, series);
    let refused = figure(view, guard, "refused")?;
    let did =
        (number::count(refused), format!("calls refused, at most {} of them", number::share(main.most(view.axis))));
    let how = vec![format!("share of the calls of each {}", number::each(main.width))];
    let words = Words { title: format!("{name}: calls refused"), did, how };
    let weight = pressed(view, series);
    let lane = Lane { name, weight, look: Look::Refused, main, second: None, bound: None, refused: None };
    panel(view, words, Scale { top: 1.0, step: 1.0 }, Unit::Percent, lane)
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
fn panel(view: &View<'_>, words: Words, scale: Scale, unit: Unit, lane: Lane) -> Option<Panel> {
    let on_axis = |bins: &Bins| bins.most(view.axis) > 0.0;
    let shown = match lane.look {
        Look::Doors(_) => on_axis(&lane.main) || lane.second.as_ref().is_some_and(on_axis),
        Look::Level => lane.weight > 0.0,
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
        format!("{number} {did}").split("; ").map(str::to_owned).collect()
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
fn means(view: &View<'_>, values: &[f32]) -> Bins {
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

fn weight(a: &Bins, b: &Bins) -> f64 {
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
