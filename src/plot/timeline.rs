//! One run in one picture: panels over one time axis, from the one that causes to the ones that suffer. It answers
//! when what broke, and who paid.

use super::axis::TimeAxis;
use super::calls::CallRows;
use super::facts::Facts;
use super::font::Face;
use super::form::Form;
use super::incident::Incident;
use super::number;
use super::panel::{Panel, TICK_GAP, View};
use super::paragraph;
use super::picture::Picture;
use super::range::Range;
use super::sheet::{Phrase, Sheet};
use super::theme::Theme;
use super::{answers, lanes, level, queue, servers as rooms, share, tracks, workers};
use crate::experiment::RunResult;
use crate::policy::pacer::Counts;
use crate::report::guards::guards;
use crate::report::servers::servers;
use crate::report::story::Subject;
use crate::scenario::Scenario;

/// What the picture cannot know by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The finding in one sentence with numbers; a semicolon is a good place for a line break.
    pub title: String,
    /// The command that prints the picture.
    pub command: String,
}

/// The timeline of a run.
pub fn timeline(result: &RunResult, scenario: &Scenario, theme: &Theme, words: &Words, form: &Form) -> Picture {
    let facts = Facts { result, scenario };
    let incident = Incident::of(&facts);
    let range = Range::of(&facts, &incident);
    let form = &roomy(facts, &incident, &range, theme, *form);
    let axis = TimeAxis::new(&range, scenario, form);
    let view = View { facts, incident: &incident, range: &range, axis: &axis, theme, form };
    let panels = panels(&view);

    let mut sheet = Sheet::default();
    let mut y = if form.whole { head(&mut sheet, &view, words) } else { 0.0 };
    let strips = y + if form.whole { 22.0 } else { 2.0 };
    let calls = CallRows::of(&facts, &axis);
    let calls_top = strips + incident.height(form);
    y = calls_top + calls.height(form);
    let tops = tops(&panels, form, y);
    let bottom = tops.last().map_or(y, |(_, bottom)| *bottom);
    incident.shade(&mut sheet, &axis, (y, bottom), theme);
    incident.draw(&mut sheet, &facts, &axis, strips, theme, form);
    calls.draw(&mut sheet, &axis, calls_top, theme, form);
    for (panel, (top, _)) in panels.iter().zip(&tops) {
        panel.draw(&mut sheet, &view, *top);
    }
    if panels.is_empty() {
        y = nothing(&mut sheet, &view, y);
    } else {
        y = axis.foot(&mut sheet, bottom, theme, form);
    }
    y = if form.whole { foot(&mut sheet, &view, words, &panels, y) } else { y + 6.0 };
    Picture {
        width: form.width as u32,
        height: y.ceil() as u32,
        title: words.title.clone(),
        description: description(&view, &panels),
        ground: theme.page,
        marks: sheet.marks,
    }
}

fn panels(view: &View<'_>) -> Vec<Panel> {
    // A run that can be told task by task needs no rates and shares of them.
    let mut panels = tracks::panels(view);
    if panels.is_empty() {
        panels.extend(answers::panels(view));
        panels.extend(share::panels(view));
    }
    panels.extend(level::panels(view));
    panels.extend(rooms::panels(view));
    panels.extend(lanes::panels(view));
    panels.extend(queue::panels(view));
    panels.extend(workers::panels(view));
    panels
}

/// The layout with enough room at the left for the longest mark of a value axis.
fn roomy(facts: Facts<'_>, incident: &Incident, range: &Range, theme: &Theme, form: Form) -> Form {
    let axis = TimeAxis::new(range, facts.scenario, &form);
    let view = View { facts, incident, range, axis: &axis, theme, form: &form };
    let widest = panels(&view).iter().map(|panel| panel.marks_width(&form)).fold(0.0, f64::max);
    Form { left: form.left.max((widest + form.margin / 2.0 + TICK_GAP).ceil()), ..form }
}

/// The upper and lower edge of each panel's scale.
fn tops(panels: &[Panel], form: &Form, top: f64) -> Vec<(f64, f64)> {
    let mut y = top;
    panels
        .iter()
        .map(|panel| {
            let top = y + form.gap + panel.above;
            y = top + panel.height(form);
            (top.round(), y.round())
        })
        .collect()
}

/// Title and subtitle; returns the lowest base line.
fn head(sheet: &mut Sheet, view: &View<'_>, words: &Words) -> f64 {
    let (form, theme) = (view.form, view.theme);
    let width = form.width - 2.0 * form.margin;
    let mut y = 10.0;
    for line in paragraph::title(&words.title, width, Face::Bold, form.title) {
        y += 1.25 * form.title;
        sheet.write(form.margin, y, &Phrase::new(line, Face::Bold, form.title, theme.ink));
    }
    subtitle(sheet, view, y + 30.0)
}

/// Scenario, variant, seed and size; returns the lowest base line.
fn subtitle(sheet: &mut Sheet, view: &View<'_>, mut y: f64) -> f64 {
    const SIZE: f64 = 15.0;
    let (form, theme, facts) = (view.form, view.theme, &view.facts);
    let bold = |phrase: Phrase, text: &str| phrase.and(text, Face::Bold, SIZE, theme.second);
    let plain = |phrase: Phrase, text: &str| phrase.and(text, Face::Regular, SIZE, theme.second);
    let mut line = bold(Phrase::default(), &facts.scenario.name);
    if facts.scenario.variants.len() > 1 {
        line = bold(plain(line, " · variant "), &facts.scenario.variant);
    }
    let runs = match facts.seeds() {
        Some(seeds) => format!("the first of {} runs", number::count(seeds as f64)),
        None => "one run".to_string(),
    };
    line = plain(line, &format!(" · seed {} · {runs}", facts.result.seed.0));
    let room = form.width - 2.0 * form.margin;
    let size = size(facts);
    let whole = plain(line.clone(), &format!(" · {size}"));
    if whole.width() <= room {
        sheet.write(form.margin, y, &whole);
        return y;
    }
    sheet.write(form.margin, y, &line.fitted(room));
    for text in paragraph::wrap(&super::facts::capital(&size), room, Face::Regular, SIZE) {
        y += 21.0;
        sheet.write(form.margin, y, &Phrase::new(text, Face::Regular, SIZE, theme.second));
    }
    y
}

/// How large the run is: `500 report jobs for 8 workers and 7,044 live turns; 700,000 input tokens per minute`.
fn size(facts: &Facts<'_>) -> String {
    // A few tasks of many classes are told in their rows.
    let tracks = &facts.result.tracks;
    let rows = !tracks.is_empty() && facts.scenario.traffic.len() > 3;
    let classes: Vec<String> = facts
        .classes()
        .into_iter()
        .filter(|_| !rows)
        .map(|i| {
            let arrived: u64 = facts.result.timeline.classes[i].arrivals.iter().map(|&n| u64::from(n)).sum();
            let workers = match facts.class(i).workers() {
                0 => String::new(),
                n => {
                    let pool = facts.scenario.pool_of(facts.class(i));
                    let most = if pool.is_some_and(|pool| pool.scale.is_some()) { "up to " } else { "" };
                    let whose = if pool.is_some() { "shared worker" } else { "worker" };
                    format!(" for {most}{}", number::of(f64::from(n), whose))
                }
            };
            let tasks = facts.tasks(i);
            let tasks = number::of(arrived as f64, tasks.strip_suffix('s').unwrap_or(&tasks));
            format!("{tasks}{workers}")
        })
        .collect();
    let limits: Vec<String> = facts
        .scenario
        .provider
        .limits
        .iter()
        .map(|limit| {
            let what = match limit.counts {
                Counts::Requests => "requests",
                Counts::InputTokens => "input tokens",
                Counts::UncachedInputTokens => "uncached input tokens",
                Counts::OutputTokens => "output tokens",
                Counts::TotalTokens | Counts::TokensInFlight => "tokens",
                Counts::Spend => "dollars",
            };
            let amount = number::count(limit.amount());
            match limit.meter.per() {
                Some(per) => format!("{amount} {what} per {}", number::each(per.as_secs_f64())),
                None => format!("{amount} {what} in flight"),
            }
        })
        .collect();
    let slots = facts.scenario.provider.slots.iter();
    let slots = slots.map(|slots| format!("{} in flight", number::of(f64::from(slots.amount), "request")));
    let servers = facts.scenario.provider.capacity.iter().filter_map(rooms::size);
    let limits: Vec<String> = limits.into_iter().chain(slots).chain(servers).collect();
    let mut parts = vec![if rows {
        format!("{} tasks of {} classes", tracks.len(), facts.scenario.traffic.len())
    } else {
        enumerated(&classes)
    }];
    if !limits.is_empty() {
        parts.push(format!("limit{}: {}", if limits.len() > 1 { "s" } else { "" }, limits.join(", ")));
    }
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// `a`, `a and b`, `a, b and c`.
fn enumerated(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A run in which nothing happened; returns the lowest base line.
fn nothing(sheet: &mut Sheet, view: &View<'_>, y: f64) -> f64 {
    let text = "Nothing was sent in this run: there is nothing to show.";
    let phrase = Phrase::new(text, Face::Regular, view.form.heading, view.theme.second);
    sheet.write(view.form.margin, y + 40.0, &phrase);
    y + 60.0
}

/// How it was counted, what is missing, and the command; returns the height of the picture.
fn foot(sheet: &mut Sheet, view: &View<'_>, words: &Words, panels: &[Panel], y: f64) -> f64 {
    const SIZE: f64 = 12.5;
    const LEADING: f64 = 18.0;
    let (form, theme) = (view.form, view.theme);
    let room = form.width - 2.0 * form.margin;
    let command = paragraph::wrap(&words.command, room, Face::Mono, SIZE);
    let beside = command.first().map_or(0.0, |line| Face::Mono.width(line, SIZE) + 40.0);
    let text = paragraph::wrap(
        &counted(view, panels),
        room - if command.len() == 1 { beside } else { 0.0 },
        Face::Regular,
        SIZE,
    );
    let narrow = command.len() == 1 && beside < 0.6 * room;
    let text = if narrow { text } else { paragraph::wrap(&counted(view, panels), room, Face::Regular, SIZE) };
    let first = y + 36.0;
    let mut last = first;
    for (i, line) in text.iter().enumerate() {
        last = first + i as f64 * LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Regular, SIZE, theme.third));
    }
    if narrow {
        let phrase = Phrase::new(&words.command, Face::Mono, SIZE, theme.second);
        sheet.write_before(form.width - form.margin, first, &phrase);
    } else {
        for line in &command {
            last += LEADING;
            sheet.write(form.margin, last, &Phrase::new(line, Face::Mono, SIZE, theme.second));
        }
    }
    last + form.margin
}

/// How it was counted, and what is left out.
fn counted(view: &View<'_>, panels: &[Panel]) -> String {
    let facts = &view.facts;
    let mut sentences = Vec::new();
    if !panels.is_empty() {
        sentences
            .push("Requests stand where they were sent; a phase counts those of calls that began in it.".to_string());
    }
    if facts.seeds().is_some() {
        sentences.push(
            "Curves are of the seed, numbers are means over all runs with their 5 – 95\u{a0}% in brackets.".to_string(),
        );
    }
    let subject = Subject::new(facts.scenario, facts.result);
    sentences.extend(guards(&subject).iter().map(|did| format!("{}.", super::facts::capital(did))));
    sentences.extend(servers(&subject).map(|did| format!("{}.", super::facts::capital(&did))));
    let others = lanes::left_out(view);
    if !others.is_empty() {
        sentences.push(format!("Not drawn, as others acted for longer: {}.", enumerated(&others)));
    }
    let small = super::workers::left_out(view);
    if !small.is_empty() {
        let share = "0.5\u{a0}% of the workers' time";
        sentences.push(format!("Not drawn, as it never takes {share}: the work on {}.", enumerated(&small)));
    }
    sentences.extend(absent(view, panels));
    let timeline = &facts.result.timeline;
    let cuts = [
        view.range.lead.map(|start| (start, view.axis.from, view.range.ahead(timeline))),
        view.range.cut.map(|end| (view.axis.to, end, view.range.beyond(timeline))),
    ];
    let hidden: Vec<String> = cuts.into_iter().flatten().map(|cut| not_shown(view, cut)).collect();
    if !hidden.is_empty() {
        sentences.push(format!("Not shown: {}.", hidden.join("; ")));
    }
    sentences.join(" ")
}

/// A part of the run that the axis does not show, and what fails in it.
fn not_shown(view: &View<'_>, (from, until, (failed, throttled)): (f64, f64, (u64, u64))) -> String {
    let word = view.axis.unit.word();
    let [from, until] = [from, until].map(|at| view.axis.says(at));
    let what = if failed + throttled == 0 {
        "in which nothing failed and no 429 was met".to_string()
    } else {
        let tasks = if failed == 1 { "task" } else { "tasks" };
        let requests = if throttled == 1 { "request was" } else { "requests were" };
        let [failed, throttled] = [failed, throttled].map(|n| number::count(n as f64));
        format!("in which {failed} {tasks} failed and {throttled} {requests} answered 429")
    };
    format!("{word}s {from} to {until}, {what}")
}

/// Which panels there would be if there were anything to show.
fn absent(view: &View<'_>, panels: &[Panel]) -> Option<String> {
    use super::panel::Body;
    let has = |is: fn(&Body) -> bool| panels.iter().any(|panel| is(&panel.body));
    let facts = &view.facts;
    let mut missing = Vec::new();
    // The fate of every task is in its row, where there are rows.
    let told = has(|body| matches!(body, Body::Tracks(_)));
    if !told && facts.live().is_empty() {
        missing.push("no live turns".to_string());
    } else if !told && !has(|body| matches!(body, Body::Share(_))) {
        missing.push("no live turn met a 429 or failed".to_string());
    }
    let provider = &facts.scenario.provider;
    if provider.limits.is_empty() && provider.slots.is_empty() && provider.capacity.is_none() {
        missing.push("the provider has no limit".to_string());
    } else if !provider.limits.is_empty() && !has(|body| matches!(body, Body::Level(_))) {
        missing.push("no limit was drawn on in the time shown".to_string());
    }
    if !told && facts.jobs().is_empty() {
        missing.push("no jobs, so no queue and no workers".to_string());
    } else if !told && !has(|body| matches!(body, Body::Queue(_))) {
        missing.push("no job had to wait and none failed".to_string());
    }
    (!missing.is_empty() && !panels.is_empty())
        .then(|| format!("Left out, as there is nothing to show: {}.", missing.join("; ")))
}

/// The picture in words, for those who do not see it.
fn description(view: &View<'_>, panels: &[Panel]) -> String {
    let titles: Vec<String> = panels.iter().map(|panel| panel.title.to_lowercase()).collect();
    let word = view.axis.unit.word();
    format!(
        "{} panels on one time axis from {word} {} to {word} {}: {}.",
        panels.len(),
        view.axis.says(view.axis.from),
        view.axis.says(view.axis.to),
        enumerated(&titles)
    )
}
