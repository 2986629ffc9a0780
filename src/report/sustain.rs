//! The verdict on metastability: whether an overload can outlive its cause, why, and how far from the threshold that is;
//! and in runs, whether it did.

use super::quantity::{TimeUnit, Unit};
use super::story::Subject;
use crate::experiment::Figure;
use crate::explain::{Sustain, words};
use crate::provider::Abandoned;
use crate::stats::proportion;

/// Whether an overload can outlive its cause, and why: sentences without full stops.
pub fn conditions(sustain: &Sustain) -> Vec<String> {
    let load = words::percent(sustain.load);
    if sustain.load >= 1.0 {
        return vec![format!(
            "without any retry the servers are asked for {} what they do: the queue grows for ever",
            many(sustain.load)
        )];
    }
    if sustain.abandoned == Abandoned::Cancelled {
        return vec![
            "no overload can take every answer: the server stops when a caller leaves, and does nothing for nobody"
                .to_owned(),
        ];
    }
    let late = match (sustain.queue, sustain.patience) {
        (_, None) => "nobody gives up, so that every answer is in time".to_owned(),
        (None, Some(patience)) => {
            format!("the queue has no end and callers wait {}", words::duration(patience))
        }
        (Some(queue), Some(patience)) => {
            format!("a full queue is {} of work and callers wait {}", words::duration(queue), words::duration(patience))
        }
    };
    let asked = if sustain.failing_load.is_finite() {
        format!(
            "callers who get no answer ask for {} what the servers do, {load} of it without retries",
            many(sustain.failing_load)
        )
    } else {
        format!("callers who get no answer ask without end, and for {load} of what the servers do without retries")
    };
    if sustain.is_possible() {
        let safe = if sustain.failing_load.is_finite() {
            format!(
                "it cannot below {} of this load, or below {} requests for each call that fails",
                words::percent(sustain.safe_load()),
                Unit::Ratio.full(sustain.safe_requests())
            )
        } else {
            format!("it cannot below {} requests for each call that fails", Unit::Ratio.full(sustain.safe_requests()))
        };
        let mut said = vec![format!("an overload can outlive its cause: {late}, and {asked}"), safe];
        if sustain.abandoned != Abandoned::Served {
            said.push("it lasts less often where the server looks who still waits: only what is in service is done for nobody".to_owned());
        }
        return said;
    }
    let why = if sustain.can_be_late() { asked } else { late };
    vec![format!("an overload ends with its cause, sooner or later: {why}")]
}

/// `2.40 times`.
fn many(share: f64) -> String {
    format!("{} times", Unit::Ratio.full(share))
}

/// Whether the runs were stuck at their end: a sentence without a full stop; `None` where servers are not limited.
pub fn verdict(subject: &Subject<'_>) -> Option<String> {
    let stuck = subject.figure(&["capacity", "stuck"])?;
    let goodput = subject.figure(&["capacity", "goodput_at_end"])?;
    match stuck {
        Figure::One(number) => {
            let share = Unit::Share.full(goodput.center()?);
            let what = if number.get()? > 0.5 { "stuck" } else { "not stuck" };
            Some(format!("{what}: at the end {share} of what was asked for was answered in time"))
        }
        Figure::Many { statistic, .. } => {
            let statistic = statistic.as_ref()?;
            let (n, share) = (statistic.n, statistic.mean);
            let stuck = (share * n as f64).round() as u64;
            let (low, high) = proportion::wilson(stuck, n);
            let others = recovered(subject).filter(|_| stuck < n).map_or(String::new(), |text| format!("; {text}"));
            Some(format!(
                "stuck at the end in {} of {} runs: {} [{} – {}]{others}",
                Unit::Count.bare(stuck as f64),
                Unit::Count.bare(n as f64),
                Unit::Share.full(share),
                Unit::Share.full(low),
                Unit::Share.full(high),
            ))
        }
    }
}

/// When those were back that came back.
fn recovered(subject: &Subject<'_>) -> Option<String> {
    let figure = subject.figure(&["recovery", "total_s"])?;
    let seconds = figure.center()?;
    Some(format!("those that recovered did so after {}", Unit::Time(TimeUnit::of(seconds)).figure(Some(figure))))
}
