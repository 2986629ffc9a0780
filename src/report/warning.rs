//! Some results mislead although every number in them is right: the run stopped too early, or the slow ones died and
//! what is left looks fast. A warning says what was seen and what to try; thresholds keep it silent over noise.

use crate::experiment::Figure;
use crate::traffic::TrafficClass;

use super::quantity::Unit;
use super::story::{Scope, Story, Subject};
use super::words::{capitalised, counted, readable, requests, tasks};

/// Unfinished tasks below this share are the ordinary edge of a run: the last arrivals have had no time.
const UNFINISHED: f64 = 0.01;

/// From this share of tasks that never arrived on, a quantile of the delivered ones describes survivors.
pub const SURVIVORS: f64 = 0.05;

/// What was seen, and what to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What was seen.
    pub text: String,
    /// What to try.
    pub hint: String,
}

/// The warnings of a run.
pub fn warnings(subject: &Subject<'_>) -> Vec<Warning> {
    let mut out = Vec::new();
    out.extend(not_recovered(subject));
    out.extend(unfinished(subject));
    out.extend(survivors(subject));
    out.extend(impossible(subject));
    out
}

fn horizon(subject: &Subject<'_>) -> String {
    format!("`horizon` (now {})", subject.scenario.length())
}

fn not_recovered(subject: &Subject<'_>) -> Option<Warning> {
    let (fault, last) = *subject.windows().last()?;
    let figure = subject.figure(&["recovery", "total_s"])?;
    let sent = |class: &TrafficClass| subject.value(Scope::Whole, &class.name, &["requests"]);
    if subject.scenario.traffic.iter().all(|class| sent(class) == Some(0.0)) {
        // Where nobody asks for anything there is no storm.
        return None;
    }
    if last.to >= subject.scenario.horizon {
        return Some(Warning {
            text: format!("the run ends inside the window `{fault}`, so its recovery is not seen"),
            hint: format!("lengthen {}", horizon(subject)),
        });
    }
    let text = match figure {
        Figure::One(number) if number.get().is_none() => "the run ended before it had recovered".to_owned(),
        Figure::One(_) => return None,
        Figure::Many { statistic, .. } => {
            let all = subject.result.replicates.unwrap_or(0);
            let never = all.saturating_sub(statistic.as_ref().map_or(0, |statistic| statistic.n));
            if never == 0 || (never as f64) < UNFINISHED * all as f64 {
                return None;
            }
            let (never, all) = (Unit::Count.bare(never as f64), Unit::Count.bare(all as f64));
            format!("{never} of {all} runs ended before they had recovered; recovery times are of the others")
        }
    };
    Some(Warning { text, hint: format!("the storm may sustain itself; lengthen {} and look again", horizon(subject)) })
}

fn unfinished(subject: &Subject<'_>) -> Vec<Warning> {
    let classes = subject.scenario.traffic.iter();
    classes
        .filter_map(|class| {
            let value = |key| subject.value(Scope::Whole, &class.name, &[key]);
            let (unfinished, offered) = (value("unfinished")?, value("offered")?);
            (unfinished >= 2.0 && unfinished >= UNFINISHED * offered).then(|| Warning {
                text: format!(
                    "{} of {} were unfinished when the run ended, and are neither delivered nor failed",
                    Unit::Count.bare(unfinished),
                    counted(offered.round(), class)
                ),
                hint: format!("lengthen {}, or end the arrivals earlier", horizon(subject)),
            })
        })
        .collect()
}

fn survivors(subject: &Subject<'_>) -> Option<Warning> {
    let story = Story::of(subject)?;
    let (failed, offered) = (story.value(subject, &["failed_share"])?, story.value(subject, &["offered"])?);
    let abandoned = story.value(subject, &["abandoned"]).unwrap_or(0.0);
    let share = failed + abandoned / offered;
    if share <= SURVIVORS || story.value(subject, &["delivered"]).unwrap_or(0.0) == 0.0 {
        return None;
    }
    let place = match story.scope {
        Scope::Whole => String::new(),
        Scope::Phase(phase) => format!(" of the {}", readable(phase)),
    };
    let who = tasks(story.cause);
    Some(Warning {
        text: format!(
            "{} of the {who}{place} failed{}: latency is of the ones that survived",
            Unit::Share.full(share),
            if abandoned > 0.0 { " or were abandoned" } else { "" }
        ),
        hint: format!(
            "compare latencies only beside the failed share; a policy that loses no {} may look slower",
            super::words::task(story.cause)
        ),
    })
}

/// Requests that a limit can never admit are refused until their task gives up.
fn impossible(subject: &Subject<'_>) -> Vec<Warning> {
    let limits = subject.scenario.provider.limits.iter();
    let warn = |limit: &crate::provider::Limit| {
        let figure = subject.figure(&["limits", &limit.name, "impossible"]);
        let n = figure.and_then(Figure::center).filter(|n| *n > 0.0)?;
        let number = requests(&Unit::Count.brief(figure));
        let (was, it) = if n == 1.0 { ("was", "it") } else { ("were", "them") };
        let mean = if subject.is_replicated() { " on average" } else { "" };
        Some(Warning {
            text: format!("{number}{mean} {was} larger than `{}` can ever admit: no wait lets {it} pass", limit.name),
            hint: format!(
                "the limit holds {} {} when full; send smaller requests, or raise `provider.limits.{}.{}`",
                Unit::Count.bare(limit.largest()),
                limit.counts.word().replace('_', " "),
                limit.name,
                if matches!(limit.meter, crate::policy::Meter::TokenBucket(_)) { "capacity" } else { "amount" },
            ),
        })
    };
    limits.filter_map(warn).collect()
}

/// A warning as the terminal writes it.
impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "warning: {}\nhint: {}", self.text, self.hint)
    }
}

impl Warning {
    /// The warning as a sentence for running text.
    pub fn sentence(&self) -> String {
        format!("{}. {}.", capitalised(&self.text), capitalised(&self.hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn survivors_are_called_survivors() {
        let (scenario, result) = (fixture::scenario(), fixture::single());
        let seen = warnings(&Subject::new(&scenario, &result));
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].text, "52 % of the reports of the overload failed: latency is of the ones that survived");
    }

    #[test]
    fn a_run_that_never_recovers_says_so_with_the_horizon() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        fixture::set(&mut result.figures, &["recovery", "total_s"], f64::NAN);
        let seen = warnings(&Subject::new(&scenario, &result));
        assert_eq!(seen[0].text, "the run ended before it had recovered");
        assert!(seen[0].hint.contains("`horizon` (now 2h)"), "{}", seen[0].hint);
    }

    #[test]
    fn requests_that_no_limit_can_admit_are_warned_about() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        fixture::set(&mut result.figures, &["limits", "itpm", "impossible"], 12.0);
        let seen = warnings(&Subject::new(&scenario, &result));
        assert_eq!(seen[1].text, "12 requests were larger than `itpm` can ever admit: no wait lets them pass");
        assert_eq!(
            seen[1].hint,
            "the limit holds 700,000 input tokens when full; send smaller requests, or raise \
             `provider.limits.itpm.capacity`"
        );
    }

    #[test]
    fn a_world_without_requests_has_no_storm() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        fixture::set(&mut result.figures, &["recovery", "total_s"], f64::NAN);
        for class in &scenario.traffic {
            fixture::set(&mut result.figures, &["classes", &class.name, "requests"], 0.0);
        }
        let seen = warnings(&Subject::new(&scenario, &result));
        assert!(!seen.iter().any(|warning| warning.text.contains("recovered")), "{seen:?}");
    }

    #[test]
    fn a_few_unfinished_tasks_are_no_reason_to_warn() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        let path = ["classes", "report", "unfinished"];
        fixture::set(&mut result.figures, &path, 1.0);
        assert_eq!(warnings(&Subject::new(&scenario, &result)).len(), 1);
        fixture::set(&mut result.figures, &path, 30.0);
        assert!(warnings(&Subject::new(&scenario, &result))[0].text.starts_with("30 of 299 reports were unfinished"));
    }
}
