//! What monitoring would have said, and when: each alert of the file, whether it fired or not. An alert that fires after
//! the damage is done is a finding too, so the tasks that had been hit by then stand beside the time.

use super::quantity::{TimeUnit, Unit, count};
use super::story::Subject;
use super::words::tasks;
use crate::experiment::Figure;
use crate::scenario::{Alert, Watched};

/// A sentence for each alert, without a full stop.
pub fn alerts(subject: &Subject<'_>) -> Vec<String> {
    subject.scenario.alerts.iter().filter_map(|alert| sentence(subject, alert)).collect()
}

fn sentence(subject: &Subject<'_>, alert: &Alert) -> Option<String> {
    let figure = |key| subject.figure(&["alerts", &alert.name, key]);
    let fired = figure("fired")?;
    let name = format!("`{}`", alert.name);
    let Some(at) = figure("fired_s").and_then(Figure::center) else { return Some(format!("{name} never fired")) };
    let minute = |seconds: f64| Unit::Time(TimeUnit::Minutes).bare(seconds - subject.scenario.origin.as_secs_f64());
    let within = |key| match figure(key).and_then(Figure::interval) {
        Some((low, high)) => format!(" [{}, {}]", minute(low), minute(high)),
        None => String::new(),
    };
    let who = tasks(&subject.scenario.traffic[alert.class]);
    let hit = Unit::Count.figure(figure("hit_before"));
    let start = match (subject.result.replicates, figure("fired_s")) {
        (Some(runs), Some(Figure::Many { statistic: Some(statistic), .. })) => {
            format!("{name} fired in {} of {} runs,", count(statistic.n as f64), count(runs as f64))
        }
        _ => format!("{name} fired"),
    };
    let mean = if subject.is_replicated() { " (means)" } else { "" };
    let end = match figure("cleared_s").and_then(Figure::center) {
        Some(cleared) => format!("cleared at minute {}{}{mean}", minute(cleared), within("cleared_s")),
        None => format!("was firing when the run ended{mean}"),
    };
    let again = fired.center().filter(|times| *times > 1.0).map_or(String::new(), |_| {
        let seconds = figure("firing_s").and_then(Figure::center).unwrap_or(0.0);
        let span = Unit::Time(TimeUnit::of(seconds)).full(seconds);
        format!("; it fired {} times, {span} in all", Unit::Count.brief(Some(fired)))
    });
    let (at, within, met) = (minute(at), within("fired_s"), met(alert.of));
    Some(format!("{start} at minute {at}{within}, when {hit} {who} had {met}, and {end}{again}"))
}

/// What those have met who are counted as hit.
const fn met(of: Watched) -> &'static str {
    match of {
        Watched::TasksWith429 | Watched::Requests429 => "met a 429",
        Watched::TasksWithOverload | Watched::RequestsOverload => "met a 529 or a 503",
        Watched::Failed => "failed",
        Watched::RequestsFailed | Watched::RequestsPerCall | Watched::Requests | Watched::Queue => "been refused",
    }
}

/// The rule in words, as "429 share of live turns above 2 % for 3 min".
pub fn rule(subject: &Subject<'_>, alert: &Alert) -> String {
    let side = if alert.above { "above" } else { "below" };
    let threshold = match alert.of {
        Watched::Queue => count(alert.threshold),
        Watched::RequestsPerCall => Unit::Ratio.full(alert.threshold),
        Watched::Requests => format!("{} a second", count(alert.threshold)),
        _ => Unit::Share.full(alert.threshold),
    };
    let time = |span: crate::units::SimDuration| {
        let seconds = span.as_secs_f64();
        Unit::Time(TimeUnit::of(seconds)).full(seconds)
    };
    let held = if alert.holds_for.is_zero() { String::new() } else { format!(" for {}", time(alert.holds_for)) };
    let class = &subject.scenario.traffic[alert.class].name;
    let over = if alert.of == Watched::Queue { String::new() } else { format!(", over {}", time(alert.over)) };
    format!("{} of {class} {side} {threshold}{held}{over}, looked at every {}", alert.of.word(), time(alert.every))
}
