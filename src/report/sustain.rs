//! The verdict on metastability: whether an overload can outlive its cause, why, and how far from the threshold that is;
//! and in runs, whether it did.

use serde_json::{Value, json};

use super::quantity::{TimeUnit, Unit};
use super::story::Subject;
use crate::experiment::Figure;
use crate::explain::{Sustain, words};
use crate::provider::Abandoned;
use crate::provider::capacity::Late;
use crate::stats::proportion;

/// Whether an overload can outlive its cause, and why: sentences without full stops.
pub fn conditions(sustain: &Sustain) -> Vec<String> {
    let load = words::percent(sustain.load);
    let mut bottleneck = Vec::new();
    if sustain.load >= 1.0 && sustain.open_load < 1.0 {
        bottleneck.push(format!(
            "the servers are the bottleneck: without any wait {} would ask for {} what they do; no more than one task of \
             each waits, and whoever waits asks for nothing else",
            words::counted(u64::from(sustain.sessions), "session"),
            many(sustain.load)
        ));
        if !sustain.is_possible() {
            return bottleneck;
        }
    } else if sustain.load >= 1.0 {
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
    if sustain.late != Late::Served {
        return vec![
            "no overload can take every answer: the servers work for nobody whose answer would come too late"
                .to_owned(),
        ];
    }
    let late = match (sustain.queue, sustain.patience) {
        _ if sustain.doubles() => "what waits too long is sent again, and served for nobody".to_owned(),
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
        let safe = if sustain.failing_load.is_finite() && sustain.safe_load() > 0.0 {
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
        bottleneck.append(&mut said);
        return bottleneck;
    }
    let why = if sustain.can_be_late() { asked } else { late };
    let mut said = vec![format!("an overload ends with its cause, sooner or later: {why}")];
    said.extend(distance(sustain));
    said
}

/// How far it is until an overload could outlive its cause: a sentence without a full stop; `None` where no more load and
/// no more retries bring that about.
fn distance(sustain: &Sustain) -> Option<String> {
    let room = || {
        let room = sustain.enough_room.filter(|_| !sustain.can_be_late())?;
        Some(format!("room for {} to wait", Unit::Count.bare(room as f64)))
    };
    let is_near = sustain.safe_load().is_finite() && sustain.safe_requests().is_finite();
    let more = (!sustain.outgrows() && is_near).then(|| {
        format!(
            "{} of this load or {} requests for each call that fails",
            words::percent(sustain.safe_load()),
            Unit::Ratio.full(sustain.safe_requests())
        )
    });
    sustain.patience?;
    let both: Vec<String> = room().into_iter().chain(more).collect();
    (!both.is_empty()).then(|| format!("it could outlive it with {}", both.join(", and ")))
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
            let others = recovered(subject, n).map_or(String::new(), |text| format!("; {text}"));
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

/// How many of `n` runs came back, and when.
fn recovered(subject: &Subject<'_>, n: u64) -> Option<String> {
    let figure = subject.figure(&["recovery", "total_s"])?;
    let Figure::Many { statistic, .. } = figure else { return None };
    let Some(statistic) = statistic else { return Some("none had recovered by then".to_owned()) };
    let (low, high) = proportion::wilson(statistic.n, n);
    let unit = Unit::Time(TimeUnit::of(statistic.mean));
    // Where there are two ways, no number in their middle says when.
    let half = if statistic.modes.len() > 1 {
        String::new()
    } else {
        format!(", half of them within {}", unit.full(statistic.p50))
    };
    Some(format!(
        "{} of them recovered, {} [{} – {}], after {}{half}",
        Unit::Count.bare(statistic.n as f64),
        Unit::Share.full(statistic.n as f64 / n as f64),
        Unit::Share.full(low),
        Unit::Share.full(high),
        unit.figure(Some(figure)),
    ))
}

/// The verdict as a document; `None` where servers are not limited.
pub fn document(subject: &Subject<'_>) -> Option<Value> {
    let sustain = Sustain::of(subject.scenario)?;
    let counted = |figure: Option<&Figure>, all: u64| {
        let runs = match figure? {
            Figure::One(number) => u64::from(number.get()? > 0.5),
            Figure::Many { statistic, .. } => statistic.as_ref().map_or(0, |of| (of.mean * of.n as f64).round() as u64),
        };
        Some(share(runs, all))
    };
    let all = subject.result.replicates.unwrap_or(1);
    let recovery = subject.figure(&["recovery", "total_s"]);
    let back = recovery.map(|figure| match figure {
        Figure::One(number) => u64::from(number.get().is_some()),
        Figure::Many { statistic, .. } => statistic.as_ref().map_or(0, |of| of.n),
    });
    let reason: Vec<String> = verdict(subject).into_iter().chain(conditions(&sustain)).collect();
    Some(json!({
        "stuck": counted(subject.figure(&["capacity", "stuck"]), all),
        "recovered": back.map(|runs| share(runs, all)),
        "conditions": super::explain_json::of_servers(&sustain),
        "sentences": reason,
    }))
}

/// So many of all runs, with the 95 % interval of their share.
fn share(runs: u64, all: u64) -> Value {
    let (low, high) = proportion::wilson(runs, all);
    json!({ "runs": runs, "of": all, "share": runs as f64 / all as f64, "ci95": [low, high] })
}
