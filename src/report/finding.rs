//! The finding is the one sentence that a reader takes away. It says what the retries made of the load and who paid,
//! and it is built from the figures: a sentence that someone typed goes stale with the next seed.

use crate::experiment::Figure;

use super::causes;
use super::lost::{failed, lost};
use super::quantity::{TimeUnit, Unit, modes_of};
use super::story::{Multiplied, Scope, Story, Subject};
use super::tally::tally;
use super::words::{capitalised, counted, readable, requests, spelled, tasks};

/// Below this many requests per request needed nothing was amplified worth a headline.
const AMPLIFIED: f64 = 1.5;

/// A shorter time to recover, in seconds, is no news.
const A_WHILE: f64 = 60.0;

/// The smallest share of tasks that a finding calls out: below 1 % it is noise in most runs.
pub(super) const NOTABLE: f64 = 0.01;

/// From this share on, failure is said to be total.
pub(super) const ALL: f64 = 0.999;

/// The finding of a run, in one sentence.
pub fn finding(subject: &Subject<'_>) -> String {
    if let Some(tally) = tally(subject) {
        return tally;
    }
    let Some(story) = Story::of(subject) else {
        return "Nothing arrived, so nothing was sent.".to_owned();
    };
    if story.value(subject, &["offered"]).is_none_or(|offered| offered <= 0.0) {
        return format!("No {} arrived{}, so nothing was sent.", tasks(story.cause), during(&story));
    }
    let amplification = story.multiplied(subject).map_or(1.0, |multiplied| multiplied.ratio);
    let effects = effects(subject, &story);
    let sentence = if let Some(handed_out) = causes::handed_out(subject, &story) {
        std::iter::once(handed_out).chain(effects).collect::<Vec<_>>().join(", and ")
    } else if amplification >= AMPLIFIED {
        let lost = if effects.is_empty() { lost(subject, &story) } else { effects.join(", and ") };
        format!("{}; {lost}", multiplied(subject, &story))
    } else if let Some(refused) = causes::refused(subject, &story).filter(|_| !effects.is_empty()) {
        // Of how many it is stands there already.
        let of_all =
            format!(" of {} ", counted(story.value(subject, &["offered"]).unwrap_or(0.0).round(), story.cause));
        format!("{refused}; {}", effects.join(", and ").replacen(&of_all, " ", 1))
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
    let verb = if subject.is_replicated() && layers(subject, story) < 2 { "turns" } else { verb };
    if let Some(Multiplied { to_the_end: true, ratio, .. }) = story.multiplied(subject) {
        let steps = story.value(subject, &["steps_offered"]).unwrap_or(0.0);
        let all = Unit::Count.bare((ratio * steps).round());
        let own = if layers(subject, story) < 2 && subject.is_replicated() { "turns" } else { verb };
        return format!(
            "{} {own} {} of the {} into {all} by the time its {} were done",
            stack(subject, story),
            requests(&needed),
            place_words(story),
            tasks(story.cause)
        );
    }
    let unprovoked = if story.scope == Scope::Whole { "without any fault window, " } else { "" };
    format!("{unprovoked}{} {verb} {} into {sent}", stack(subject, story), requests(&needed))
}

/// "three stacked retry layers rode out the overload: 1.3 requests per request needed, no report lost".
fn endured(subject: &Subject<'_>, story: &Story<'_>, effects: &[String]) -> String {
    let multiplied = story.multiplied(subject);
    let key = multiplied.map_or("amplification", |multiplied| multiplied.key);
    let ratio = Unit::Ratio.figure(story.figure(subject, &[key]));
    let is_less = multiplied.is_some_and(|multiplied| multiplied.ratio < 0.995);
    let to_the_end = if key == "amplification" { "" } else { ", to the end" };
    let needed = format!("{ratio} requests per request needed{to_the_end}");
    let place = match story.scope {
        Scope::Whole => "a run without fault windows".to_owned(),
        Scope::Phase(phase) => format!("the {}", readable(phase)),
    };
    let stack = stack(subject, story);
    if effects.is_empty() {
        let rode = if !subject.is_replicated() {
            "rode out"
        } else if layers(subject, story) < 2 {
            "rides out"
        } else {
            "ride out"
        };
        let lost = lost(subject, story);
        return format!("{stack} {rode} {place}: {needed}, {lost}");
    }
    let spent = if !subject.is_replicated() {
        "sent"
    } else if layers(subject, story) < 2 {
        "sends"
    } else {
        "send"
    };
    if is_less {
        // Fewer requests than needed were not saved: the tasks gave up before they sent them.
        return format!(
            "{stack} {spent} fewer requests than {place} needed ({ratio} for each), and {}",
            effects.join(", and ")
        );
    }
    format!("{stack} {spent} only {needed} in {place}, but {}", effects.join(", and "))
}

/// What the storm did to people, worst first; empty where nothing bad happened.
fn effects(subject: &Subject<'_>, story: &Story<'_>) -> Vec<String> {
    let failed = failed(subject, story);
    let live = met_429(subject);
    let late = not_recovered(subject);
    let total = failed.as_ref().is_some_and(|(_, share)| *share >= ALL);
    let mut out = Vec::new();
    out.extend(match (failed, live) {
        (Some((text, _)), _) if total => Some(text),
        (_, Some(text)) => Some(text),
        (failed, None) => failed.map(|(text, _)| text),
    });
    let late = late.or_else(|| slow_to_recover(subject).filter(|_| !out.is_empty()));
    out.extend(late);
    out
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
                format!(
                    "{} of {} runs do not recover before they end",
                    Unit::Count.bare(never as f64),
                    Unit::Count.bare(all as f64)
                )
            })
        }
        (Figure::One(_), _) | (Figure::Many { .. }, None) => None,
    }
}

/// "it took 11.8 min more to recover", where that is longer than the last fault window, and a minute at least.
fn slow_to_recover(subject: &Subject<'_>) -> Option<String> {
    let (_, last) = *subject.windows().last()?;
    let figure = subject.figure(&["recovery", "total_s"])?;
    let took = figure.center().filter(|took| *took >= A_WHILE && *took > last.length().as_secs_f64())?;
    let said = Unit::Time(TimeUnit::of(took)).figure(Some(figure));
    Some(format!("it {} {said} more to recover", if subject.is_replicated() { "takes" } else { "took" }))
}

/// Where the story is, as the object of a sentence.
fn place_words(story: &Story<'_>) -> String {
    match story.scope {
        Scope::Whole => "run".to_owned(),
        Scope::Phase(phase) => readable(phase),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::RunResult;
    use crate::report::fixture::{self, put, scenario, set, statistic};
    use crate::scenario::Scenario;

    const REPORT: [&str; 4] = ["phases", "overload", "classes", "report"];
    const LIVE_429: [&str; 5] = ["phases", "recovery", "classes", "live", "tasks_with_429_share"];

    fn check(change: impl FnOnce(&mut Scenario, &mut RunResult), sentence: &str) {
        let (mut scenario, mut result) = (scenario(), fixture::single());
        change(&mut scenario, &mut result);
        assert_eq!(finding(&Subject::new(&scenario, &result)), sentence);
    }

    fn at(key: &'static str) -> Vec<&'static str> {
        [&REPORT[..], &[key]].concat()
    }

    /// A world in which 420 requests needed became 546, and nobody lost anything.
    fn calm(result: &mut RunResult) {
        let both = [("amplification", 1.3), ("amplification_by_task", 1.3)];
        for (key, value) in [("requests", 546.0), ("failed", 0.0), ("failed_share", 0.0)].into_iter().chain(both) {
            set(&mut result.figures, &at(key), value);
        }
        set(&mut result.figures, &LIVE_429, 0.0);
        // The live class sent fewer requests than it needed, so the reports stay the cause.
        set(&mut result.figures, &["phases", "overload", "classes", "live", "requests"], 1_318.0);
    }

    #[test]
    fn the_published_run_says_who_paid() {
        check(
            |_, _| {},
            "Three stacked retry layers turned 420 requests into 3,920; the recovery burst gave 23 % of live turns a 429.",
        );
    }

    #[test]
    fn a_calm_run_rode_out_its_window() {
        check(
            |_, result| calm(result),
            "Three stacked retry layers rode out the overload: 1.30 requests per request needed, no report lost.",
        );
    }

    #[test]
    fn amplification_without_a_victim_says_so() {
        check(
            |_, result| {
                calm(result);
                set(&mut result.figures, &at("requests"), 1_260.0);
                set(&mut result.figures, &at("amplification"), 3.0);
                set(&mut result.figures, &at("amplification_by_task"), 3.0);
            },
            "Three stacked retry layers turned 420 requests into 1,260; no report lost.",
        );
    }

    #[test]
    fn a_few_lost_reports_on_average_are_not_none() {
        let (scenario, mut result) = (scenario(), fixture::replicated());
        put(&mut result.figures, &LIVE_429, statistic(0.001, 0.0, 0.005));
        put(&mut result.figures, &at("failed"), statistic(0.7, 0.0, 2.0));
        put(&mut result.figures, &at("requests"), statistic(725.0, 690.0, 760.0));
        for key in ["amplification", "amplification_by_task"] {
            put(&mut result.figures, &at(key), statistic(1.73, 1.6, 1.8));
        }
        assert_eq!(
            finding(&Subject::new(&scenario, &result)),
            "Three stacked retry layers turn 420 requests into 725 [690, 760]; 0.7 [0, 2] of 140 reports lost."
        );
    }

    #[test]
    fn failures_are_named_where_no_live_turn_suffered() {
        check(
            |_, result| set(&mut result.figures, &LIVE_429, 0.0),
            "Three stacked retry layers turned 420 requests into 3,920; 73 of 140 reports failed.",
        );
    }

    #[test]
    fn total_failure_comes_before_everything_else() {
        check(
            |_, result| set(&mut result.figures, &at("failed"), 140.0),
            "Three stacked retry layers turned 420 requests into 3,920; every one of 140 reports failed.",
        );
    }

    #[test]
    fn a_run_that_ended_too_early_says_so() {
        check(
            |_, result| set(&mut result.figures, &["recovery", "total_s"], f64::NAN),
            "Three stacked retry layers turned 420 requests into 3,920; the recovery burst gave 23 % of live turns a \
             429, and it had not recovered when the run ended.",
        );
    }

    #[test]
    fn a_way_back_that_is_longer_than_the_window_is_told() {
        // The window lasts 90 min or less, as every recovery of the others does.
        check(
            |_, result| set(&mut result.figures, &["recovery", "total_s"], 10_800.0),
            "Three stacked retry layers turned 420 requests into 3,920; the recovery burst gave 23 % of live turns a \
             429, and it took 3 h more to recover.",
        );
    }

    #[test]
    fn requests_that_come_after_the_window_are_not_forgotten() {
        check(
            |_, result| {
                calm(result);
                set(&mut result.figures, &at("amplification"), 0.9);
                set(&mut result.figures, &at("requests"), 378.0);
                set(&mut result.figures, &at("amplification_by_task"), 4.0);
            },
            "Three stacked retry layers turned 420 requests of the overload into 1,680 by the time its reports were \
             done; no report lost.",
        );
    }

    #[test]
    fn less_than_was_needed_is_no_praise() {
        check(
            |_, result| {
                calm(result);
                set(&mut result.figures, &at("amplification"), 0.6);
                set(&mut result.figures, &at("amplification_by_task"), 0.62);
                set(&mut result.figures, &at("failed"), 70.0);
            },
            "Three stacked retry layers sent fewer requests than the overload needed (0.600 for each), and 70 of 140 \
             reports failed.",
        );
    }

    #[test]
    fn a_single_task_is_not_every_one_of_one() {
        check(
            |_, result| {
                set(&mut result.figures, &at("failed"), 1.0);
                set(&mut result.figures, &at("offered"), 1.0);
                set(&mut result.figures, &at("steps_offered"), 1.0);
                set(&mut result.figures, &at("requests"), 3.0);
            },
            "Three stacked retry layers turned 1 request into 3; the only report failed.",
        );
    }

    #[test]
    fn a_layer_of_one_attempt_retries_nothing() {
        check(
            |scenario, result| {
                calm(result);
                let mut once = fixture::layer(1);
                once.name = "sdk".into();
                scenario.clients[0] = crate::policy::Client::new("batch".into(), false, vec![once]).unwrap();
            },
            "A client without retries rode out the overload: 1.30 requests per request needed, no report lost.",
        );
    }

    #[test]
    fn one_layer_is_not_a_stack() {
        check(
            |scenario, _| scenario.traffic[0].client = 1,
            "One retry layer turned 420 requests into 3,920; the recovery burst gave 23 % of live turns a 429.",
        );
    }

    #[test]
    fn without_a_job_class_the_live_one_is_the_cause() {
        check(
            |scenario, result| {
                scenario.traffic.remove(0);
                result.timeline.classes.remove(0);
                set(&mut result.figures, &LIVE_429, 0.0);
            },
            "One retry layer sent only 1.41 requests per request needed in the overload, but 12 of 1,318 live turns failed.",
        );
    }

    #[test]
    fn without_fault_windows_the_whole_run_is_told() {
        check(
            |scenario, result| {
                scenario.provider.faults.clear();
                set(&mut result.figures, &["classes", "live", "tasks_with_429_share"], 0.0);
            },
            "Without any fault window, three stacked retry layers turned 897 requests into 4,873; 77 of 299 reports failed.",
        );
    }

    #[test]
    fn replicates_speak_of_means_with_their_intervals() {
        let (scenario, mut result) = (scenario(), fixture::replicated());
        assert_eq!(
            finding(&Subject::new(&scenario, &result)),
            "Three stacked retry layers turn 420 requests into 3,913 [3,859, 3,959]; the recovery burst gives \
             20 % [15, 24] of live turns a 429."
        );
        put(&mut result.figures, &LIVE_429, statistic(0.0, 0.0, 0.0));
        let mut recovery = statistic(492.0, 360.0, 636.0);
        recovery.n = 900;
        put(&mut result.figures, &["recovery", "total_s"], recovery);
        assert_eq!(
            finding(&Subject::new(&scenario, &result)),
            "Three stacked retry layers turn 420 requests into 3,913 [3,859, 3,959]; 79 [71, 88] of 140 reports fail, \
             and 100 of 1,000 runs do not recover before they end."
        );
    }
}
