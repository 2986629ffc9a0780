//! Reading one fault: when it can strike, whom, how probably, and what a struck request gets.

use super::capacity::{Degrading, degrading};
use super::context::{Context, Read, each};
use super::episodes::episodes;
use super::fault_file::{self, ReadWindow};
use super::fault_terms::{self, Wanted};
use super::limit_terms::classes;
use super::models::named;
use super::provider::{ReadProvider, When};
use super::respond::ReadRespond;
use crate::document::{Fault as Wrong, Field, Reader, near};
use crate::provider::{Fault, FaultTerms, ModelSet, Profile, Respond, Window};
use crate::units::SimTime;

/// The most classes that `by_class` names.
const MOST: usize = 64;

/// Names of default phases; a fault window of one of these names could not be told from it.
const TAKEN: [&str; 3] = ["before", "recovery", "after"];

/// Reads the fault of this name, and leaves with the provider what other parts must know of it.
pub(super) fn fault<'a>(
    name: &'a str,
    field: &Field<'a>,
    context: &Context<'_>,
    read: &mut ReadProvider<'a>,
) -> Option<Fault> {
    let before = context.faults.len();
    read.hangs.push(None);
    read.windows.push((name, When::Unknown));
    read.fault_models.push(None);
    read.fault_wants.push(Wanted::default());
    let reader = field.table("a fault's settings")?;
    let several = several(&reader, context);
    let window = match &several {
        Some(None) => reader.maybe("window", window),
        Some(Some(windows)) => Some(hull(windows)),
        None => None,
    };
    if let (Some(last), Some(window)) = (read.windows.last_mut(), window) {
        last.1 = window.map_or(When::Always, When::In);
    }
    if TAKEN.contains(&name) && window != Some(None) {
        let wrong = Wrong::new(field.key, format!("`{name}` is the name of a default phase"));
        context.faults.add(wrong.hint("call the fault by what happens, such as `overload`"));
    }
    let since = window.flatten().map_or(SimTime::ZERO, |window| window.from);
    if let (Some(last), Some(named)) = (read.fault_models.last_mut(), named(reader.get("models"))) {
        *last = named;
    }
    let windows = several.flatten().unwrap_or_default();
    let of_servers = degrading(&reader, window);
    if !matches!(of_servers, Some(None)) {
        reader.finish();
        return of_the_servers(name, &of_servers??, &windows, context, read);
    }
    let probability_field = reader.get("probability");
    let probability = match &probability_field {
        None => Profile::constant(1.0),
        Some(field) => profile(field, since, context),
    };
    let probability = probability.and_then(|profile| in_windows(profile, &windows, probability_field.as_ref()));
    let by_class = match reader.get("by_class") {
        None => Some(Vec::new()),
        Some(field) => by_class(&field, since, context),
    };
    let only = reader.maybe("classes", |field| classes(field, context));
    let episodes = reader.maybe("episodes", |field| episodes(name, field, since));
    let terms = fault_terms::terms(&reader, episodes.clone().flatten());
    let respond = reader.need("respond", r"write what a struck request gets, such as { status = 529 }");
    let respond = respond.and_then(|field| {
        let answer = super::respond::respond(&field)?;
        if let Some(last) = read.hangs.last_mut() {
            *last = answer.hangs;
        }
        Some(answer)
    });
    reader.finish();
    if let Some((_, when @ When::Always)) = read.windows.last_mut()
        && context.faults.len() > before
    {
        // The slip may have been the window's.
        *when = When::Unknown;
    }
    let (window, probability, by_class, respond) = (window?, probability?, by_class?, respond?);
    let (only, (mut terms, wanted)) = (only?, terms?);
    episodes?;
    if let Some(last) = read.fault_wants.last_mut() {
        *last = wanted;
    }
    terms.windows = phases(name, &windows);
    let never = Profile::constant(0.0)?;
    let of_class = |class: usize| match by_class.iter().find(|(named, _)| *named == class) {
        Some((_, profile)) => profile,
        None if only.as_ref().is_some_and(|only| !only.contains(&class)) => &never,
        None => &probability,
    };
    let probability = (0..context.classes.len()).map(|class| of_class(class).clone()).collect();
    let ReadRespond { respond, carried_out, .. } = respond;
    let (name, models, terms) = (name.to_owned(), ModelSet::ALL, Some(Box::new(terms)));
    let terms = terms.filter(|terms| !terms.is_plain());
    Some(Fault { name, window, probability, respond, models, carried_out, terms })
}

/// The windows of a fault that has several: `Some(None)` where it has one or none.
fn several(reader: &Reader<'_>, context: &Context<'_>) -> Read<Option<Vec<ReadWindow>>> {
    let read = reader.maybe("windows", |field| fault_file::windows(field, context));
    if let (Some(field), Some(_)) = (reader.get("windows"), reader.get("window")) {
        context.faults.add(Wrong::new(field.key, "says `windows` beside `window`").hint("keep one of them"));
        return None;
    }
    read
}

fn hull(windows: &[ReadWindow]) -> Option<Window> {
    Some(Window { from: windows.first()?.window.from, to: windows.last()?.window.to })
}

/// The phases of windows have names of their own.
pub(super) fn check_phases(faults: &[Option<Fault>], reader: &Reader<'_>) {
    let windows: Vec<(&str, &str)> = faults
        .iter()
        .flatten()
        .flat_map(|fault| fault.windows().into_iter().map(|(phase, _)| (fault.name.as_str(), phase)))
        .collect();
    for (fault, phase) in windows.iter().filter(|(fault, phase)| fault != phase) {
        if faults.iter().flatten().any(|other| other.name == *phase) {
            let message = format!("`{phase}` is a fault, and the name of a later window of `{fault}`");
            reader.faults().add(Wrong::new(reader.place(), message).hint("give one of them another name"));
        }
    }
}

/// The windows with the names of their phases: that of the fault, then with a number behind it. None for one window.
fn phases(name: &str, windows: &[ReadWindow]) -> Vec<(String, Window)> {
    if windows.len() < 2 {
        return Vec::new();
    }
    let named = |(n, read): (usize, &ReadWindow)| match n {
        0 => (name.to_owned(), read.window),
        n => (format!("{name}-{}", n + 1), read.window),
    };
    windows.iter().enumerate().map(named).collect()
}

/// A probability that is another one in some of the windows: it stays from the first instant of each to its last.
fn in_windows(profile: Profile, windows: &[ReadWindow], field: Option<&Field<'_>>) -> Option<Profile> {
    if windows.iter().all(|window| window.probability.is_none()) {
        return Some(profile);
    }
    let [(_, usual)] = profile.points() else {
        return field?.wrong(
            "changes over time, and a window says a probability of its own",
            "write one share here, or take it out of the windows",
        );
    };
    let mut points: Vec<(SimTime, f64)> = Vec::new();
    for ReadWindow { window, probability } in windows {
        let share = probability.unwrap_or(*usual);
        points.push((window.from, share));
        // The last instant of it: time is counted in whole nanoseconds.
        let last = SimTime::from_nanos(window.to.as_nanos() - 1);
        if last > window.from {
            points.push((last, share));
        }
    }
    Profile::through(points)
}

/// A fault that is one of the servers.
fn of_the_servers(
    name: &str,
    degrading: &Degrading,
    windows: &[ReadWindow],
    context: &Context<'_>,
    read: &mut ReadProvider<'_>,
) -> Option<Fault> {
    if windows.iter().any(|window| window.probability.is_some()) {
        let message = "a fault of the servers answers nobody: its windows have no probability";
        let hint = "leave it out: each is a beginning and an end";
        context.faults.add(Wrong::new(degrading.place, message).hint(hint));
        return None;
    }
    if windows.is_empty() {
        read.degrading.push(*degrading);
    }
    read.degrading.extend(windows.iter().map(|one| Degrading { window: one.window, ..*degrading }));
    let probability = vec![Profile::constant(0.0)?; context.classes.len()];
    let (name, respond, window) = (name.to_owned(), Respond::Degraded, Some(degrading.window));
    let terms = FaultTerms { windows: phases(&name, windows), ..FaultTerms::default() };
    let terms = Some(Box::new(terms)).filter(|terms| !terms.is_plain());
    Some(Fault { name, window, probability, respond, models: ModelSet::ALL, carried_out: None, terms })
}

/// A window of two times since the run began.
pub(super) fn window(field: &Field<'_>) -> Option<Window> {
    let (from, to) = field.pair(r#"the beginning and the end, such as ["10m", "32m"]"#)?;
    let (begins, ends) = (from.instant(), to.instant());
    let window = Window { from: begins?, to: ends? };
    if window.to < window.from {
        let hint = format!("write the start first: [{}, {}]", to.node.value, from.node.value);
        return field.wrong("ends before it begins", hint);
    }
    if window.to == window.from {
        return field.wrong("is empty: it ends when it begins", "write a later end, or leave the fault out");
    }
    Some(window)
}

/// A probability: a share, or points in time since `since`, here or in a file.
fn profile(field: &Field<'_>, since: SimTime, context: &Context<'_>) -> Option<Profile> {
    if field.node.as_table().is_some() {
        return fault_file::profile(field, since, context);
    }
    if field.node.as_array().is_none() {
        return Profile::constant(field.ratio()?);
    }
    let mut points = Vec::new();
    let mut sound = true;
    for item in field.list("points", 10_000)? {
        let point = item.pair(r#"a time and a share, such as ["7.5m", 0.55]"#).and_then(|(time, share)| {
            let (at, share) = (time.duration(), share.ratio());
            let at = since + at?;
            if points.last().is_some_and(|(last, _)| *last >= at) {
                return time.wrong("is not later than the point before it", "write the points in ascending time");
            }
            Some((at, share?))
        });
        match point {
            Some(point) => points.push(point),
            None => sound = false,
        }
    }
    if sound { Profile::through(points) } else { None }
}

fn by_class(field: &Field<'_>, since: SimTime, context: &Context<'_>) -> Option<Vec<(usize, Profile)>> {
    let reader = field.table("classes and their probabilities")?;
    let named = each(&reader, MOST, "classes", |name, field| {
        let class = context.classes.iter().position(|class| *class == name);
        let profile = profile(field, since, context);
        if class.is_none() {
            let hint = near::existing("classes", &context.classes, name);
            context.faults.add(Wrong::new(field.key, "no class has this name").hint(hint));
        }
        Some((class?, profile?))
    });
    reader.finish();
    named.into_iter().collect()
}
