//! What became of the tasks. A latency without the failures beside it praises a policy for giving up, so the share
//! that never arrived stands under every quantile, and a quantile that it would make meaningless is not printed.

use crate::experiment::Figure;
use crate::explain::Sustain;
use crate::report::alerts::alerts;
use crate::report::effects::{cached, effects, first_tokens, wasted};
use crate::report::guards::guards;
use crate::report::hedges::hedges;
use crate::report::interventions::interventions;
use crate::report::jobs::{deliveries, pools};
use crate::report::quantity::{TimeUnit, Unit, modes_of};
use crate::report::servers::servers;
use crate::report::story::{Scope, Story, Subject};
use crate::report::sustain::{conditions, verdict};
use crate::report::warning::SURVIVORS;
use crate::report::words::{readable, tasks};
use crate::traffic::TrafficClass;

use super::page::{Page, left, tinted};

/// Writes fates, latency and recovery of the class that causes the storm.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>, story: &Story<'_>) {
    page.blank();
    let name = tasks(story.cause);
    let label = name.chars().count().max("recovery".len()).min(20);
    let mut item = Item { page, label };
    let place = match story.scope {
        Scope::Whole => "in all".to_owned(),
        Scope::Phase(phase) => format!("in the {}", readable(phase)),
    };
    item.write(&name, &fates(subject, story, story.scope, &place));
    if story.scope != Scope::Whole {
        item.write("", &fates(subject, story, Scope::Whole, "in all"));
    }
    for (i, text) in latency(subject, story).iter().enumerate() {
        item.write(if i == 0 { "latency" } else { "" }, text);
    }
    if let Some(text) = recovery(subject) {
        item.write("recovery", &text);
    }
    for (i, text) in guards(subject).iter().enumerate() {
        item.write(if i == 0 { "guards" } else { "" }, text);
    }
    for (i, text) in hedges(subject).iter().enumerate() {
        item.write(if i == 0 { "hedges" } else { "" }, text);
    }
    for (i, text) in interventions(subject).iter().enumerate() {
        item.write(if i == 0 { "operator" } else { "" }, text);
    }
    for (i, text) in alerts(subject).iter().enumerate() {
        item.write(if i == 0 { "alerts" } else { "" }, text);
    }
    let held = verdict(subject)
        .into_iter()
        .chain(Sustain::of(subject.scenario).as_ref().map(conditions).into_iter().flatten());
    for (i, text) in held.enumerate() {
        item.write(if i == 0 { "verdict" } else { "" }, &text);
    }
    let at_server: Vec<String> = servers(subject).into_iter().chain(wasted(subject)).collect();
    let rest = [
        ("streams", first_tokens(subject)),
        ("cache", cached(subject)),
        ("effects", effects(subject)),
        ("jobs", deliveries(subject)),
        ("workers", pools(subject)),
        ("server", at_server),
    ];
    for (label, texts) in rest {
        for (i, text) in texts.iter().enumerate() {
            item.write(if i == 0 { label } else { "" }, text);
        }
    }
}

/// Writes a label with its text beside it.
struct Item<'a> {
    page: &'a mut Page,
    label: usize,
}

impl Item<'_> {
    fn write(&mut self, label: &str, text: &str) {
        let text = tinted(text);
        if self.page.is_narrow() {
            let first = if label.is_empty() { String::new() } else { format!("{label}: ") };
            self.page.hanging("  ", "    ", &format!("{first}{text}"));
            return;
        }
        let rest = " ".repeat(2 + self.label + 2);
        self.page.hanging(&format!("  {}  ", left(label, self.label)), &rest, &text);
    }
}

/// "140 arrived in the overload: 67 delivered, 73 failed, 0 unfinished".
fn fates(subject: &Subject<'_>, story: &Story<'_>, scope: Scope<'_>, place: &str) -> String {
    let figure = |key: &str| subject.of(scope, &story.cause.name, &[key]);
    let fate = |key: &str| format!("{} {key}", Unit::Count.brief(figure(key)));
    let mut fates = vec![fate("delivered"), fate("failed")];
    if figure("abandoned").and_then(Figure::center).is_some_and(|n| n > 0.0) {
        fates.push(fate("abandoned"));
    }
    fates.push(fate("unfinished"));
    let mean = if subject.is_replicated() { " on average" } else { "" };
    format!("{} arrived {place}{mean}: {}", Unit::Count.brief(figure("offered")), fates.join(", "))
}

/// Quantiles of the delivered, then what they leave out, then what is normal.
fn latency(subject: &Subject<'_>, story: &Story<'_>) -> Vec<String> {
    let figure = |keys: &[&str]| story.figure(subject, keys);
    let Some(max) = figure(&["latency_s", "max"]).and_then(Figure::center) else {
        let place = match story.scope {
            Scope::Whole => "in all".to_owned(),
            Scope::Phase(phase) => format!("in the {}", readable(phase)),
        };
        let who = tasks(story.cause);
        return vec![format!("none of the {who} that arrived {place} was delivered, so they have no latency")];
    };
    let unit = |seconds| Unit::Time(TimeUnit::of(seconds));
    let lost = story.value(subject, &["not_delivered_share"]).unwrap_or(0.0);
    let keys: &[&str] = if lost > SURVIVORS { &["p50", "max"] } else { &["p50", "p95", "max"] };
    let quantiles: Vec<String> = keys
        .iter()
        .map(|key| {
            let value = figure(&["latency_s", key]);
            let modes = value.map_or(&[][..], modes_of);
            if modes.len() > 1 {
                return format!("{key} in {}", unit(max).modes(modes));
            }
            let text = value.and_then(Figure::center).map_or_else(|| "–".to_owned(), |v| unit(v).full(v));
            format!("{key} {text}")
        })
        .collect();
    let delivered = Unit::Count.brief(figure(&["delivered"]));
    let mean = if subject.is_replicated() { ", means" } else { "" };
    let mut out = vec![format!("of the {delivered} delivered{mean}: {}", quantiles.join(", "))];
    if lost > 0.0 {
        out.push(left_out(lost));
    }
    if let Some(normal) = normal(subject, story) {
        out.push(normal);
    }
    out
}

/// "52 % never arrived, so no p50 or p95 over all of them exists".
fn left_out(lost: f64) -> String {
    let share = Unit::Share.full(lost);
    if lost > 0.5 {
        format!("{share} never arrived, so no p50 or p95 over all of them exists")
    } else if lost > SURVIVORS {
        format!("{share} never arrived, so no p95 over all of them exists")
    } else {
        format!("{share} never arrived")
    }
}

fn normal(subject: &Subject<'_>, story: &Story<'_>) -> Option<String> {
    let is_elsewhere = matches!(story.scope, Scope::Phase(phase) if phase != "before");
    let p50 = subject.value(Scope::Phase("before"), &story.cause.name, &["latency_s", "p50"])?;
    is_elsewhere.then(|| format!("before: p50 {}", Unit::Time(TimeUnit::of(p50)).full(p50)))
}

/// "7 min after the overload: queue 6, live 429s 7, requests per call 5 min".
fn recovery(subject: &Subject<'_>) -> Option<String> {
    let (fault, last) = *subject.windows().last()?;
    let after = format!("after the {}", readable(fault));
    let total = subject.figure(&["recovery", "total_s"])?;
    if last.to >= subject.scenario.horizon {
        return Some(format!("not seen: the run ends with the {}", readable(fault)));
    }
    let unit = Unit::Time(TimeUnit::of(total.center().unwrap_or(0.0)));
    let parts = [("queue", "queue_s"), ("live 429s", "live_429_s"), ("requests per call", "requests_per_call_s")];
    let has_live = subject.scenario.traffic.iter().any(TrafficClass::is_live);
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, key)| has_live || *key != "live_429_s")
        .filter_map(|(name, key)| {
            let figure = subject.figure(&["recovery", key])?;
            Some(format!(
                "{name} {}",
                figure.center().map_or_else(|| "never".to_owned(), |v| Unit::Time(TimeUnit::of(v)).full(v))
            ))
        })
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    let text = match total {
        Figure::One(number) if number.get().is_none() => format!("not within the run{parts}"),
        Figure::Many { statistic: None, .. } => format!("in none of the runs{parts}"),
        Figure::Many { statistic: Some(s), .. } if subject.result.replicates.is_some_and(|all| s.n < all) => {
            let (n, all) = (s.n as f64, subject.result.replicates.unwrap_or(0) as f64);
            let runs = format!("in {} of {} runs", Unit::Count.bare(n), Unit::Count.bare(all));
            format!("{} {after}, {runs}{parts}", unit.figure(Some(total)))
        }
        Figure::One(_) | Figure::Many { .. } => format!("{} {after}{parts}", unit.figure(Some(total))),
    };
    let fixed =
        subject.scenario.phases.iter().find(|phase| phase.name == "recovery").map_or_else(String::new, |phase| {
            let length = phase.window.length().as_secs_f64();
            format!("; the phase `recovery` is the file's: {}", Unit::Time(TimeUnit::of(length)).full(length))
        });
    Some(format!("{text}{fixed}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn no_p95_is_printed_where_more_than_a_twentieth_never_arrived() {
        let (scenario, result) = (fixture::scenario(), fixture::single());
        let subject = Subject::new(&scenario, &result);
        let story = Story::of(&subject).unwrap();
        let lines = latency(&subject, &story);
        assert_eq!(lines[0], "of the 67 delivered: p50 17.3 min, max 18.8 min");
        assert_eq!(lines[1], "52 % never arrived, so no p50 or p95 over all of them exists");
        assert_eq!(lines[2], "before: p50 39 s");
    }

    #[test]
    fn each_quantile_has_its_own_unit() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        let path = ["phases", "overload", "classes", "report", "latency_s", "p50"];
        fixture::set(&mut result.figures, &path, 10.0);
        let subject = Subject::new(&scenario, &result);
        let lines = latency(&subject, &Story::of(&subject).unwrap());
        assert_eq!(lines[0], "of the 67 delivered: p50 10 s, max 18.8 min");
        fixture::set(&mut result.figures, &["phases", "overload", "classes", "report", "latency_s", "max"], f64::NAN);
        let subject = Subject::new(&scenario, &result);
        let lines = latency(&subject, &Story::of(&subject).unwrap());
        assert_eq!(lines, ["none of the reports that arrived in the overload was delivered, so they have no latency"]);
    }

    #[test]
    fn the_measured_recovery_is_told_from_the_phase_and_without_live_classes_of_no_live_429s() {
        let (mut scenario, result) = (fixture::scenario(), fixture::single());
        scenario.traffic.truncate(1);
        let window = crate::provider::Window {
            from: crate::units::SimTime::from_secs_f64(1_920.0),
            to: crate::units::SimTime::from_secs_f64(2_280.0),
        };
        scenario.phases = vec![crate::scenario::NamedPhase { name: "recovery".into(), window }];
        assert_eq!(
            recovery(&Subject::new(&scenario, &result)).unwrap(),
            "7 min after the overload (queue 6 min, requests per call 5 min); the phase `recovery` is the file's: 6 min"
        );
    }

    #[test]
    fn a_p95_is_printed_where_nearly_all_arrived() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        let path = ["phases", "overload", "classes", "report", "not_delivered_share"];
        fixture::set(&mut result.figures, &path, 0.04);
        let subject = Subject::new(&scenario, &result);
        let lines = latency(&subject, &Story::of(&subject).unwrap());
        assert_eq!(lines[..2], ["of the 67 delivered: p50 17.3 min, p95 18.7 min, max 18.8 min", "4 % never arrived"]);
    }
}
