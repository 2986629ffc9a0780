//! The finding is the one sentence that a reader takes away. It says what the retries made of the load and who paid,
//! and it is built from the figures: a sentence that someone typed goes stale with the next seed.

use crate::experiment::Figure;

use super::quantity::{Unit, modes_of};
use super::story::{Scope, Story, Subject};
use super::words::{capitalised, counted, readable, spelled, tasks};

/// Below this many requests per request needed nothing was amplified worth a headline.
const AMPLIFIED: f64 = 1.5;

/// The smallest share of tasks that a finding calls out: below 1 % it is noise in most runs.
const NOTABLE: f64 = 0.01;

/// From this share on, failure is said to be total.
const ALL: f64 = 0.999;

/// The finding of a run, in one sentence.
pub fn finding(subject: &Subject<'_>) -> String {
    let Some(story) = Story::of(subject) else {
        return "Nothing arrived, so nothing was sent.".to_owned();
    };
    if !(story.value(subject, &["offered"]).unwrap_or(0.0) > 0.0) {
        return format!("No {} arrived{}, so nothing was sent.", tasks(story.cause), during(&story));
    }
    let amplification = story.value(subject, &["amplification"]).unwrap_or(1.0);
    let effects = effects(subject, &story);
    let sentence = if amplification >= AMPLIFIED {
        format!("{}; {}", multiplied(subject, &story), or_spared(effects, &story))
    } else {
        endured(subject, &story, &effects)
    };
    format!("{}.", capitalised(&sentence))
}

/// "three stacked retry layers turned 420 requests into 3,920".
fn multiplied(subject: &Subject<'_>, story: &Story<'_>) -> String {
    let needed = Unit::Count.brief(story.figure(subject, &["steps_offered"]));
    let sent = Unit::Count.figure(story.figure(subject, &["requests"]));
    let verb = if subject.is_replicated() { "turn" } else { "turned" };
    let verb = if subject.is_replicated() && layers(subject, story) == 1 { "turns" } else { verb };
    let unprovoked = if story.scope == Scope::Whole { "without any fault window, " } else { "" };
    format!("{unprovoked}{} {verb} {needed} requests into {sent}", stack(subject, story))
}

/// "three stacked retry layers rode out the overload: 1.3 requests per request needed, no report lost".
fn endured(subject: &Subject<'_>, story: &Story<'_>, effects: &[String]) -> String {
    let ratio = Unit::Ratio.figure(story.figure(subject, &["amplification"]));
    let needed = format!("{ratio} requests per request needed");
    let place = match story.scope {
        Scope::Whole => "a run without fault windows".to_owned(),
        Scope::Phase(phase) => format!("the {}", readable(phase)),
    };
    let stack = stack(subject, story);
    if effects.is_empty() {
        let rode = if !subject.is_replicated() { "rode out" } else if layers(subject, story) == 1 { "rides out" } else { "ride out" };
        let lost = if story.cause.is_live() {
            format!("no {} failed or met a 429", super::words::task(story.cause))
        } else {
            format!("no {} lost", super::words::task(story.cause))
        };
        return format!("{stack} {rode} {place}: {needed}, {lost}");
    }
    let spent = if !subject.is_replicated() { "sent" } else if layers(subject, story) == 1 { "sends" } else { "send" };
    format!("{stack} {spent} only {needed} in {place}, but {}", effects.join(", and "))
}

/// What the storm did to people, worst first; empty where nothing bad happened.
fn effects(subject: &Subject<'_>, story: &Story<'_>) -> Vec<String> {
    let failed = failed(subject, story);
    let live = met_429(subject);
    let late = not_recovered(subject);
    let total = failed.as_ref().is_some_and(|(_, share)| *share >= ALL);
    let mut out = Vec::new();
    match (failed, live) {
        (Some((text, _)), _) if total => out.push(text),
        (_, Some(text)) => out.push(text),
        (Some((text, _)), None) => out.push(text),
        (None, None) => {}
    }
    out.extend(late);
    out
}

fn or_spared(effects: Vec<String>, story: &Story<'_>) -> String {
    if effects.is_empty() {
        format!("no {} was lost for it", super::words::task(story.cause))
    } else {
        effects.join(", and ")
    }
}

/// "73 of 140 reports failed", with the share.
fn failed(subject: &Subject<'_>, story: &Story<'_>) -> Option<(String, f64)> {
    let (failed, offered) = (story.value(subject, &["failed"])?, story.value(subject, &["offered"])?);
    let share = failed / offered;
    if !(share >= NOTABLE || (failed >= 1.0 && !subject.is_replicated())) {
        return None;
    }
    let tense = if subject.is_replicated() { "fail" } else { "failed" };
    if share >= ALL {
        return Some((format!("every one of {} {tense}", counted(offered.round(), story.cause)), share));
    }
    let failed = Unit::Count.figure(story.figure(subject, &["failed"]));
    Some((format!("{failed} of {} {tense}", counted(offered.round(), story.cause)), share))
}

/// "the recovery burst gave 23 % of live turns a 429".
fn met_429(subject: &Subject<'_>) -> Option<String> {
    let (class, scope) = Story::of(subject)?.live?;
    let figure = subject.of(scope, &class.name, &["tasks_with_429_share"])?;
    if figure.center()? < NOTABLE {
        return None;
    }
    let share = share(figure);
    let who = tasks(class);
    let many = subject.is_replicated();
    Some(match scope {
        Scope::Phase("recovery") => {
            format!("the recovery burst {} {share} of {who} a 429", if many { "gives" } else { "gave" })
        }
        Scope::Phase(phase) => {
            format!("{share} of {who} {} a 429 in the phase `{phase}`", if many { "meet" } else { "met" })
        }
        Scope::Whole => format!("{share} of {who} {} a 429", if many { "meet" } else { "met" }),
    })
}

/// A share whose values form two groups is given by its range: its mean is a share that no run has.
fn share(figure: &Figure) -> String {
    if modes_of(figure).len() > 1 { Unit::Share.brief(Some(figure)) } else { Unit::Share.figure(Some(figure)) }
}

/// "the run ended before it had recovered", where a fault window lies in the run and its end is inside.
fn not_recovered(subject: &Subject<'_>) -> Option<String> {
    let (_, last) = *subject.windows().last()?;
    let figure = subject.figure(&["recovery", "total_s"])?;
    match (figure, subject.result.replicates) {
        _ if last.to >= subject.scenario.horizon => None,
        (Figure::One(number), _) if number.get().is_none() => {
            Some("it had not recovered when the run ended".to_owned())
        }
        (Figure::Many { statistic, .. }, Some(all)) => {
            let recovered = statistic.as_ref().map_or(0, |statistic| statistic.n);
            let never = all.saturating_sub(recovered);
            (never as f64 >= NOTABLE * all as f64 && never > 0).then(|| {
                format!("{} of {} runs do not recover before they end", Unit::Count.bare(never as f64), Unit::Count.bare(all as f64))
            })
        }
        (Figure::One(_), _) | (Figure::Many { .. }, None) => None,
    }
}

fn during(story: &Story<'_>) -> String {
    match story.scope {
        Scope::Whole => String::new(),
        Scope::Phase(phase) => format!(" in the {}", readable(phase)),
    }
}

fn layers(subject: &Subject<'_>, story: &Story<'_>) -> usize {
    story.retry_layers(subject).len()
}

/// "three stacked retry layers", "one retry layer", "a client without retries".
fn stack(subject: &Subject<'_>, story: &Story<'_>) -> String {
    match layers(subject, story) {
        0 => "a client without retries".to_owned(),
        1 => "one retry layer".to_owned(),
        n => format!("{} stacked retry layers", spelled(n as f64)),
    }
}
