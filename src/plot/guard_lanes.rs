//! The strips of guards, each as its kind tells best what it did: how it stood, what was in use, who waited, who was
//! refused, to what rate it held.

use super::facts::capital;
use super::lanes::{
    Lane, Look, Words, lowest, means, panel, peaks, pressed, reaching, refused_bins, refused_shares, weight,
};
use super::number;
use super::panel::{Panel, Unit, View};
use super::scale::Scale;
use crate::observe::GuardSeries;
use crate::policy::shared_gate::Opens;
use crate::policy::{Guard, Mechanism, Scope, SharedGate};
use crate::report::words::readable;

/// The strip of what is left of a pacer's bucket, beside that of the callers that wait; none where that is nothing.
pub(super) fn of_bucket(view: &View<'_>, guard: &Guard, series: &GuardSeries) -> Option<Panel> {
    if !matches!(guard.mechanism, Mechanism::Pacer(_)) || series.level.is_empty() || !series.acted() {
        return None;
    }
    let main = lowest(view, &series.level);
    if main.most(view.axis) <= 0.0 {
        return None;
    }
    let each = number::each(main.width);
    let shown: Vec<f64> = main.shown(view.axis).map(|(_, _, left)| left).collect();
    let low = shown.iter().filter(|left| **left < 0.1).count() as f64 / shown.len().max(1) as f64;
    let mut how = vec![format!("lowest level in each {each}")];
    if series.instances > 1 {
        how.push(format!("of the emptiest of {}", whose(guard, series)));
    }
    let name = readable(&guard.name);
    let words = Words {
        title: format!("Pacer {name}: left of its bucket"),
        did: (
            number::share(low),
            format!("of the {} bins have less than a tenth of it left at times", number::bin(main.width)),
        ),
        how,
    };
    // Where there is room for few, what others did tells more.
    let weight = 0.5 * pressed(view, series);
    let lane = Lane { name, weight, look: Look::Level, main, second: None, bound: None, refused: None };
    panel(view, words, Scale { top: 1.0, step: 1.0 }, Unit::Percent, lane)
}

/// The strip of a guard that acted.
pub(super) fn of_guard(view: &View<'_>, guard: &Guard, series: &GuardSeries) -> Option<Panel> {
    let word = guard.mechanism.word();
    let name = if guard.name == word { capital(word) } else { format!("{} {}", capital(word), readable(&guard.name)) };
    let any = |values: &[f32]| values.iter().any(|value| *value > 0.0);
    if any(&series.shut) || any(&series.ajar) {
        return doors(view, guard, series, name);
    }
    if !series.bound.is_empty() && series.acted() {
        return limit(view, guard, series, name);
    }
    if matches!(guard.mechanism, Mechanism::Rate(_)) && !series.level.is_empty() && series.acted() {
        return rate(view, guard, series, name);
    }
    if !series.level.is_empty() && series.acted() && !matches!(guard.mechanism, Mechanism::Pacer(_)) {
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
    let is_ajar = ajar.most(view.axis) > 0.0;
    let (shut_word, shuts) = door_words(guard);
    let lasts = if several {
        format!("each for {share} of the run on average")
    } else {
        format!("for {} in all", number::time(open))
    };
    let mut did = if trips > 0.0 { format!("{shuts}, {lasts}") } else { format!("of the run {shut_word}, {lasts}") };
    did.extend(refusals(view, guard).map(|refused| format!("; {refused}")));
    did.extend(waits(view, guard).map(|waits| format!("; {waits}")));
    let ajar_word = ajar_word(guard).filter(|_| is_ajar);
    let mut how = vec![match ajar_word {
        Some(ajar_word) => format!("grey: {shut_word}; hatched: {ajar_word}"),
        None => format!("grey: {shut_word}"),
    }];
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

/// What a guard is called when it lets nobody through, and what it did when it shut.
const fn door_words(guard: &Guard) -> (&'static str, &'static str) {
    match guard.mechanism {
        Mechanism::Breaker(_) => ("open", "opened"),
        _ => ("closed", "closed"),
    }
}

/// What a guard does when it lets only some through; nothing where it never does.
const fn ajar_word(guard: &Guard) -> Option<&'static str> {
    match &guard.mechanism {
        Mechanism::Breaker(breaker) => match (breaker.half_open.probes > 0, breaker.ramp.is_some()) {
            (true, false) => Some("half open"),
            (false, true) => Some("lets a share pass"),
            (true, true) => Some("half open, or lets a share pass"),
            (false, false) => None,
        },
        Mechanism::Gate(SharedGate { opens, .. }) => match opens {
            Opens::All => None,
            Opens::Spread(_) => Some("those who waited pass one after another"),
            Opens::Each(_) => Some("callers pass one by one"),
            Opens::Ramp(_) => Some("lets a share pass"),
        },
        _ => None,
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
    let most = main.most(view.axis);
    let top = permits.unwrap_or(0.0).max(most);
    let refused = refused_bins(view, series);
    let mut how = vec![format!("most in each {}", number::each(main.width))];
    if series.instances > 1 {
        how.push(format!("of the fullest of {}", whose(guard, series)));
    }
    if refused.is_some() {
        how.push("marks above: calls were refused".to_string());
    }
    let size = permits.unwrap_or(top);
    let mut did: Vec<String> = Vec::new();
    did.extend(waits(view, guard));
    did.extend(refusals(view, guard));
    let number = format!("{} of {}", number::count(most), number::count(size));
    let said = format!("{things} out at once; {}", did.join("; "));
    let words = Words { title: format!("{name}: {things} in use"), did: (number, said), how };
    let weight = pressed(view, series);
    let lane = Lane { name, weight, look: Look::Level, main, second: None, bound: None, refused };
    panel(view, words, Scale { top: top.max(1.0), step: top.max(1.0) }, Unit::None, lane)
}

/// A limit that is learnt, and what of it is in use.
fn limit(view: &View<'_>, guard: &Guard, series: &GuardSeries, name: String) -> Option<Panel> {
    let several = series.instances > 1;
    // Of several nobody's use is that of the one with the lowest limit.
    let (main, bound) = if several {
        (means(view, &series.mean), means(view, &series.bound_mean))
    } else {
        (peaks(view, &series.level), lowest(view, &series.bound))
    };
    let refused = refused_bins(view, series);
    let each = number::each(main.width);
    let mut how = vec!["line: the limit; area: permits in use".to_string()];
    how.push(if several {
        format!("mean of {}, and of each {each}", whose(guard, series))
    } else {
        format!("lowest limit and most permits in each {each}")
    });
    if refused.is_some() {
        how.push("marks above: calls were refused".to_string());
    }
    let level = |key| figure(view, guard, key).map_or_else(|| number::count(0.0), number::count);
    let mut did = format!("is the limit; {} at the end", level("limit_at_end"));
    did.extend(waits(view, guard).map(|waits| format!("; {waits}")));
    did.extend(refusals(view, guard).map(|refused| format!("; {refused}")));
    let (low, high) = (level("lowest_limit"), level("highest_limit"));
    let number = if low == high { low } else { format!("{low} to {high}") };
    let words = Words { title: format!("{name}: limit and permits in use"), did: (number, did), how };
    let weight = pressed(view, series);
    let scale = reaching(bound.most(view.axis).max(main.most(view.axis)).max(1.0));
    let lane = Lane { name, weight, look: Look::Limit, main, second: None, bound: Some(bound), refused };
    panel(view, words, scale, Unit::None, lane)
}

/// A rate to which callers are held.
fn rate(view: &View<'_>, guard: &Guard, series: &GuardSeries, name: String) -> Option<Panel> {
    let mut main = lowest(view, &series.level);
    for rate in main.values.iter_mut().filter(|rate| rate.is_infinite()) {
        *rate = f64::NAN;
    }
    let each = number::each(main.width);
    let mut how = vec![if series.instances > 1 {
        format!("lowest in each {each} of {}", whose(guard, series))
    } else {
        format!("lowest in each {each}")
    }];
    how.push("no line: nobody is held to one".to_string());
    let per_second = |key| {
        figure(view, guard, key).map_or_else(
            || "0".to_string(),
            |rate| if rate < 10.0 { format!("{rate:.1}") } else { number::count(rate) },
        )
    };
    let mut did = format!("at the lowest, {}/s at the end", per_second("rate_at_end"));
    did.extend(waits(view, guard).map(|waits| format!("; {waits}")));
    let words = Words {
        title: format!("{name}: requests a second that may pass"),
        did: (format!("{}/s", per_second("lowest_rate")), did),
        how,
    };
    let weight = pressed(view, series);
    let scale = reaching(main.most(view.axis));
    let lane = Lane { name, weight, look: Look::Rate, main, second: None, bound: None, refused: None };
    panel(view, words, scale, Unit::Per(number::TimeUnit::Second), lane)
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
