//! Requests over time, stacked by what was answered. The line over them is what the arriving tasks need: the gap
//! between the two is the amplification. All classes stand on one scale, so that one request is as high in one panel
//! as in the next; a class that would vanish on it gets a scale of its own and says so.

use super::facts::{Facts, Guards};
use super::label::Label;
use super::number::{self, TimeUnit};
use super::panel::{Body, Note, Panel, Unit, View};
use super::scale::Scale;
use super::sheet::{Frame, Sheet};
use super::steps::{Bins, Column, Ground};
use crate::observe::timeline::AnswerKind;
use crate::report::story::OUTLIVED;

/// The height of the panel with the largest values.
const TALL: f64 = 208.0;
/// From this many requests per request needed on, the retries of turns are the story, and not what they met.
const AMPLIFIED: f64 = 1.5;
/// A panel lower than this share of the tallest would show nothing: it gets a scale of its own.
const VISIBLE: f64 = 0.12;

/// The answers to the requests of one class.
pub(super) struct Answers {
    class: usize,
    /// Rates by kind, in the order of [`AnswerKind::ALL`].
    rates: Vec<Bins>,
    /// Requests of the whole run, by kind.
    counts: [u64; 5],
    /// What arriving tasks need, as a rate.
    need: Option<Bins>,
    /// Whether this panel names the need and the moment at which the provider comes back.
    tells: bool,
}

/// The panels of all classes that sent anything.
pub(super) fn panels(view: &View<'_>) -> Vec<Panel> {
    beside(view, &[view])
}

/// The panels of one of several runs that stand beside each other: a class has the same scale in all of them.
pub(super) fn beside(view: &View<'_>, all: &[&View<'_>]) -> Vec<Panel> {
    let units = all.iter().map(|view| unit(view, &view.facts.classes()));
    let unit = units.min_by(|a, b| a.seconds().total_cmp(&b.seconds())).unwrap_or(TimeUnit::Second);
    let mut own: Vec<Answers> = Vec::new();
    for class in view.facts.classes() {
        let answers = Answers::of(view, class, unit, own.is_empty());
        if answers.total().most(view.axis) > 0.0 {
            own.push(answers);
        }
    }
    let most_of = |name: &str| all.iter().map(|view| most(view, name, unit)).fold(0.0, f64::max);
    let names = all.iter().flat_map(|view| &view.facts.scenario.traffic);
    let peak = names.map(|class| most_of(&class.name)).fold(0.0, f64::max);
    let shared = Scale::covering(peak, 5.0, false);
    let mut same = 0;
    own.into_iter()
        .map(|answers| {
            let most = most_of(&view.facts.class(answers.class).name);
            let own = most < VISIBLE * peak;
            let scale = if own { Scale::covering(most, 2.0, false) } else { part_of(&shared, most) };
            same += usize::from(!own);
            let word = if own { Some("a scale of its own") } else { (same > 1).then_some("same scale as above") };
            let height = if own { TALL / 2.0 } else { TALL * scale.top / shared.top };
            answers.panel(view, scale, height, unit, word)
        })
        .collect()
}

/// The largest rate of the class of this name; 0 where there is none.
fn most(view: &View<'_>, name: &str, unit: TimeUnit) -> f64 {
    let class = view.facts.classes().into_iter().find(|&class| view.facts.class(class).name == name);
    class.map_or(0.0, |class| Answers::of(view, class, unit, false).total().most(view.axis))
}

/// The unit of time in which the largest mean rate reads well.
fn unit(view: &View<'_>, classes: &[usize]) -> TimeUnit {
    let most = classes
        .iter()
        .map(|&class| Answers::of(view, class, TimeUnit::Second, false).total().most(view.axis))
        .fold(0.0, f64::max);
    [TimeUnit::Second, TimeUnit::Minute, TimeUnit::Hour]
        .into_iter()
        .find(|unit| most * unit.seconds() >= 0.5)
        .unwrap_or(TimeUnit::Day)
}

/// The lower part of a shared scale that a class needs: at least half of it, so that its gutter number has room.
fn part_of(shared: &Scale, most: f64) -> Scale {
    let steps = (most / shared.step - 1e-6).ceil().max((shared.top / shared.step / 2.0).ceil());
    Scale { top: steps * shared.step, step: shared.step }
}

impl Answers {
    fn of(view: &View<'_>, class: usize, unit: TimeUnit, tells: bool) -> Answers {
        let series = &view.facts.result.timeline.classes[class];
        let live = view.facts.class(class).is_live();
        // Live rates are low and even: wider bins show their mean, not their noise.
        let group = view.axis.group(view.bin(), if live { 10.0 } else { 3.0 });
        let size = unit.seconds();
        let rates: Vec<Bins> =
            series.answers.iter().map(|counts| Bins::rates(counts, view.bin(), group, view.end(), size)).collect();
        let counts = AnswerKind::ALL.map(|kind| series.answers[kind as usize].iter().map(|&n| u64::from(n)).sum());
        let need = (!live).then(|| need(view, class, size)).flatten();
        Answers { class, rates, counts, need, tells }
    }

    /// The class.
    pub(super) const fn class(&self) -> usize {
        self.class
    }

    /// All requests, whatever was answered.
    pub(super) fn total(&self) -> Bins {
        self.rates[1..].iter().fold(self.rates[0].clone(), |sum, rate| sum.plus(rate))
    }

    fn panel(self, view: &View<'_>, scale: Scale, height: f64, unit: TimeUnit, word: Option<&str>) -> Panel {
        let name = view.facts.named(self.class);
        let mut how = vec![format!("by answer, {} bins", number::bin(self.rates[0].width))];
        how.extend(word.map(str::to_string));
        if self.need.is_some() {
            let steps = view.facts.class(self.class).steps.len();
            how.push(format!("the line is what the arriving jobs need: {} each", number::of(steps as f64, "request")));
        }
        Panel {
            title: format!("{name} requests per {}", unit.word()),
            how,
            height,
            above: 0.0,
            scale,
            unit: Unit::Per(unit),
            note: note(view, self.class),
            body: Body::Answers(self),
        }
    }

    /// Draws the areas and the need.
    pub(super) fn draw(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let stack = ground.stack(&self.rates);
        for (kind, columns) in AnswerKind::ALL.into_iter().zip(&stack) {
            sheet.steps(columns, view.theme.hue(kind).fill);
        }
        for (i, above) in stack.iter().enumerate().skip(1) {
            // The layer below may be any of those under it: an absent one has no height.
            for below in &stack[..i] {
                sheet.seam(&resting(above, below), above, view.theme.page);
            }
        }
        if let Some(need) = &self.need {
            let line = ground.under(&within(need, ground.top));
            sheet.ridge(&line, view.theme.page, 4.5);
            sheet.ridge(&line, view.theme.ink, 2.0);
        }
    }

    /// Names the areas, the need and the moment.
    pub(super) fn name(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let stack = ground.stack(&self.rates);
        let skyline = ground.under(&self.total());
        if let Some(need) = &self.need {
            keep_clear(sheet, &ground.under(need));
        }
        let turn = self.tells.then(|| turn(sheet, view, ground, &skyline)).flatten();
        // Once is enough: the titles of further panels say it too.
        if let Some(need) = self.need.as_ref().filter(|_| self.tells) {
            name_need(sheet, view, &stack, &ground.under(need));
        }
        for kind in self.by_amount() {
            self.name_kind(sheet, view, ground, &stack, kind);
        }
        if let Some((frame, label)) = turn {
            let corner = (frame.left + 7.0, frame.top + 4.0);
            label.at(sheet, &skyline, &ground.frame.grown(4.0), corner);
        }
    }

    /// The kinds that are worth a name: at least one request in two hundred, and every 429.
    fn by_amount(&self) -> Vec<AnswerKind> {
        let total: u64 = self.counts.iter().sum();
        let of = |kind: AnswerKind| self.counts[kind as usize];
        let worth = |kind: &AnswerKind| of(*kind) > 0 && (*kind == AnswerKind::Throttled || of(*kind) * 200 >= total);
        let mut kinds: Vec<AnswerKind> = AnswerKind::ALL.into_iter().filter(worth).collect();
        kinds.sort_by_key(|&kind| std::cmp::Reverse(of(kind)));
        kinds
    }

    /// Names an area inside it, or else above the longest stretch in which nothing lies on it.
    fn name_kind(
        &self,
        sheet: &mut Sheet,
        view: &View<'_>,
        ground: &Ground<'_>,
        stack: &[Vec<Column>],
        kind: AnswerKind,
    ) {
        let (hue, form) = (view.theme.hue(kind), view.form);
        let name = word(&view.facts, self.class, kind);
        let requests = number::of(self.counts[kind as usize] as f64, "request");
        let columns = &stack[kind as usize];
        let short = Label::bold(&name, hue.on, form);
        let long = short.clone().with(&requests, hue.on, form);
        if long.inside(sheet, columns) || short.inside(sheet, columns) {
            return;
        }
        let skyline = ground.under(&self.total());
        let bare = Label::bold(name, hue.text, form);
        let counted = bare.clone().going_on(&format!(" {requests}"), view.theme.second, form);
        let stretches = uncovered(columns, &skyline);
        let mut tries = stretches.iter().take(3);
        let named = tries.any(|&stretch| {
            counted.above(sheet, &skyline, &ground.frame, stretch)
                || bare.above(sheet, &skyline, &ground.frame, stretch)
        });
        if let (false, Some(&largest)) = (named, stretches.first()) {
            bare.pointing(sheet, &skyline, &ground.frame, largest);
        }
    }
}

/// The stretches in which an area can be seen and nothing lies on it, the largest first.
fn uncovered(columns: &[Column], skyline: &[Column]) -> Vec<(f64, f64)> {
    // Below three pixels there is nothing that a name could point at; a gap of a few bins is no end.
    const GAP: f64 = 24.0;
    let mut runs: Vec<(f64, f64, f64)> = Vec::new();
    for (column, top) in columns.iter().zip(skyline) {
        let thick = column.bottom - column.top;
        if thick < 3.0 || column.top > top.top + 1.0 {
            continue;
        }
        let area = thick * (column.right - column.left);
        match runs.last_mut() {
            Some(run) if column.left - run.1 <= GAP => *run = (run.0, column.right, run.2 + area),
            Some(_) | None => runs.push((column.left, column.right, area)),
        }
    }
    runs.sort_by(|a, b| b.2.total_cmp(&a.2));
    runs.into_iter().map(|(left, right, _)| (left, right)).collect()
}

/// The parts of `below` that `above` rests on.
fn resting(above: &[Column], below: &[Column]) -> Vec<Column> {
    let rests = |(high, low): (&Column, &Column)| {
        if (high.bottom - low.top).abs() < 0.01 { *low } else { Column { bottom: low.top, ..*low } }
    };
    above.iter().zip(below).map(rests).collect()
}

/// What the arriving tasks of a class need, as a rate per `size` seconds.
fn need(view: &View<'_>, class: usize, size: f64) -> Option<Bins> {
    let series = &view.facts.result.timeline.classes[class];
    let steps = view.facts.class(class).steps.len() as f64;
    let group = view.axis.group(view.wide(), 24.0);
    let mut bins = Bins::rates(&series.wide_arrivals, view.wide(), group, view.end(), size * steps);
    if bins.values.is_empty() {
        bins = Bins::rates(&series.arrivals, view.bin(), view.axis.group(view.bin(), 24.0), view.end(), size * steps);
    }
    (bins.most(view.axis) > 0.0).then_some(bins)
}

/// The need where it fits on the scale: a line along the upper edge would say that it ends there.
fn within(need: &Bins, top: f64) -> Bins {
    let fits = |value: &f64| if *value <= top { *value } else { f64::NAN };
    Bins { values: need.values.iter().map(fits).collect(), ..need.clone() }
}

/// Keeps labels off a line.
fn keep_clear(sheet: &mut Sheet, line: &[Column]) {
    for (i, column) in line.iter().enumerate() {
        sheet.take(Frame { left: column.left, right: column.right, top: column.top - 3.0, bottom: column.top + 3.0 });
        if let Some(next) = line.get(i + 1) {
            let (top, bottom) = (column.top.min(next.top), column.top.max(next.top));
            sheet.take(Frame { left: column.right - 3.0, right: column.right + 3.0, top, bottom });
        }
    }
}

/// Names the line of the need inside the area over which it runs, close above it.
fn name_need(sheet: &mut Sheet, view: &View<'_>, stack: &[Vec<Column>], line: &[Column]) {
    for (kind, columns) in AnswerKind::ALL.into_iter().zip(stack) {
        // The part of the area that lies above the line, and not far above it.
        let near: Vec<Column> = columns
            .iter()
            .filter_map(|column| {
                let under = line.iter().find(|piece| piece.right > column.left)?;
                let (top, bottom) = (column.top.max(under.top - 40.0), column.bottom.min(under.top - 2.0));
                // Where nothing is needed there is no line to be named.
                let named = under.bottom - under.top > 1.0;
                Some(Column { top: if named { top.min(bottom) } else { bottom }, bottom, ..*column })
            })
            .collect();
        let color = view.theme.hue(kind).on;
        let mut forms = ["what the arriving jobs need", "needed"].into_iter();
        if forms.any(|text| Label::bold(text, color, view.form).inside(sheet, &near)) {
            return;
        }
    }
}

/// The moment at which the provider comes back and everyone who waited goes on: an upright line with a cause.
fn turn(sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>, skyline: &[Column]) -> Option<(Frame, Label)> {
    let end = view.incident.end;
    let class = view.facts.jobs().into_iter().next()?;
    if view.incident.windows.is_empty() || end <= view.axis.from || end >= view.axis.to {
        return None;
    }
    let series = &view.facts.result.timeline.classes[class];
    let queued = series.queue.get((end / view.bin()) as usize).copied().unwrap_or(0);
    let workers = view.facts.workers_at(class, (end / view.bin()) as usize);
    if queued == 0 {
        return None;
    }
    let moment = format!("{} {}", view.axis.unit.word(), view.axis.says(end));
    let jobs = number::of(f64::from(queued), "waiting job");
    let text = if goes_on(view, class, end) {
        format!("{moment}: {} and {jobs} go on at once", number::of(f64::from(workers), "worker"))
    } else {
        format!("{moment}: the provider is back, with {jobs}")
    };
    let label = Label::bold(text, view.theme.ink, view.form);
    let x = view.axis.x(end).round();
    let corner = (x + 7.0, ground.frame.top + 4.0);
    let place = label.frame_at(corner);
    let roof = skyline.iter().filter(|c| c.right > place.left && c.left < place.right).map(|c| c.top);
    let fits = place.right <= ground.frame.right && place.bottom <= roof.fold(f64::INFINITY, f64::min);
    if !fits {
        return None;
    }
    sheet.upright(x, ground.frame.top, ground.frame.bottom, view.theme.ink);
    sheet.take(Frame { left: x - 2.0, right: x + 3.0, ..ground.frame });
    Some((Frame { left: x, ..ground.frame }, label))
}

/// Whether those who waited really go on at this instant: nothing of their own holds them back, and within a minute
/// clearly more of their requests get past the fault than in the minute before.
fn goes_on(view: &View<'_>, class: usize, end: f64) -> bool {
    const SPAN: f64 = 60.0;
    let struck = view.incident.windows.iter().filter(|window| window.to >= end).map(|window| window.kind);
    let struck: Vec<AnswerKind> = struck.collect();
    let series = &view.facts.result.timeline.classes[class];
    let past = |from: f64, to: f64| -> f64 {
        let (first, last) = ((from / view.bin()).round() as usize, (to / view.bin()).round() as usize);
        let kinds = AnswerKind::ALL.into_iter().filter(|kind| !struck.contains(kind));
        let counts = kinds.map(|kind| &series.answers[kind as usize]);
        counts.flat_map(|counts| counts.iter().take(last).skip(first)).map(|&n| f64::from(n)).sum()
    };
    let span = SPAN.max(view.bin()).min(end);
    let held = view.facts.guards(class) != Guards::default();
    !held && past(end, end + span) > 1.5 * past(end - span, end) + 1.0
}

/// What an answer is called, with the status that this class really got.
fn word(facts: &Facts<'_>, class: usize, kind: AnswerKind) -> String {
    let name = facts.class(class).name.as_str();
    let got = |status: &str| facts.value(&["classes", name, "responses", status]).is_some_and(|n| n > 0.0);
    match kind {
        AnswerKind::Delivered => "200 delivered".to_string(),
        AnswerKind::Throttled => "429 throttled".to_string(),
        AnswerKind::Overloaded => match (got("529"), got("503")) {
            (true, true) => "529 and 503 overloaded".to_string(),
            (true, false) => "529 overloaded".to_string(),
            (false, true) => "503 overloaded".to_string(),
            (false, false) => "overloaded".to_string(),
        },
        AnswerKind::Lost => match (got("timeout"), got("dropped")) {
            (true, false) => "timeout".to_string(),
            (false, true) => "dropped".to_string(),
            (true, true) | (false, false) => "timeout or dropped".to_string(),
        },
        AnswerKind::Other => other(facts, name),
    }
}

/// The errors that are neither limit nor overload, by their statuses where these are few.
fn other(facts: &Facts<'_>, class: &str) -> String {
    const NAMED: [&str; 6] = ["200", "429", "503", "529", "timeout", "dropped"];
    let responses = facts.result.figures.at(&["classes", class, "responses"]).map_or(&[][..], |tree| tree.branches());
    let met = |status: &&str| facts.value(&["classes", class, "responses", status]).is_some_and(|n| n > 0.0);
    let names = responses.iter().map(|(status, _)| status.as_str());
    let statuses: Vec<&str> = names.filter(|status| !NAMED.contains(status)).filter(met).collect();
    match statuses[..] {
        [only] => format!("{only} errors"),
        [one, another] => format!("{one} and {another} errors"),
        [] | [_, _, _, ..] => "other errors".to_string(),
    }
}

/// The number beside the panel: for jobs how much was sent for what was needed; for turns who met the overload, where
/// that is not less than what their retries made of it.
fn note(view: &View<'_>, class: usize) -> Option<Note> {
    let facts = &view.facts;
    let name = facts.class(class).name.as_str();
    let live = facts.class(class).is_live();
    let met = ["tasks_with_overload_share", "offered"];
    let amplified = view.incident.worst(facts, class, "amplification");
    let factor_in = |phase: Option<&str>| {
        let leaf = ["classes", name, "amplification"];
        facts.value(&phase.map_or(leaf.to_vec(), |phase| [&["phases", phase][..], &leaf].concat()))
    };
    let overloaded = facts.value(&["classes", name, met[0]]).is_some_and(|share| share > 0.0);
    let of_overload = live && overloaded && factor_in(amplified).is_none_or(|factor| factor < AMPLIFIED);
    let window = if of_overload { view.incident.worst(facts, class, met[0]) } else { amplified };
    let path = |leaf| match window {
        Some(phase) => vec!["phases", phase, "classes", name, leaf],
        None => vec!["classes", name, leaf],
    };
    let place = window.map_or("in the whole run".to_string(), |phase| format!("in the {phase}"));
    if let (true, Some(share), Some(offered)) = (of_overload, facts.value(&path(met[0])), facts.value(&path(met[1]))) {
        let text = format!("of {} {} {place} met a 529 or 503", number::count(offered), facts.tasks(class));
        return Some(Note::new(number::share(share), text).spread(facts.spread(&path(met[0]), number::share)));
    }
    let factor = facts.value(&path("amplification"))?;
    let followed = facts.value(&path("amplification_by_task"));
    if let (Some(_), Some(followed)) = (window, followed.filter(|followed| *followed > OUTLIVED * factor)) {
        let inside = number::factor(factor);
        let text = format!(
            "what the {} of the window needed, to their end; {inside}× {place} itself",
            if live { "turns" } else { "jobs" }
        );
        let note = Note::new(format!("{}×", number::factor(followed)), text);
        return Some(note.spread(facts.spread(&path("amplification_by_task"), number::factor)));
    }
    let sent = facts.value(&path("requests")).map(number::count);
    let needed = facts.value(&path("steps_offered")).map(number::count);
    // The panel shows what hops make of them: only behind hops the two differ.
    let behind = facts.value(&path("provider_requests")).map(number::count).filter(|n| Some(n) != sent.as_ref());
    let behind = behind.map_or_else(String::new, |n| format!(", {n} at the provider"));
    let counts = match (sent, needed) {
        (Some(sent), Some(needed)) => format!(": {sent}\u{a0}requests for {needed}{behind}"),
        (Some(_) | None, _) => String::new(),
    };
    let text = format!("what was needed {place}{counts}");
    let number = format!("{}×", number::factor(factor));
    Some(Note::new(number, text).spread(facts.spread(&path("amplification"), number::factor)))
}
