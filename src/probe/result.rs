//! What a probe found out.

use super::path::{Attempt, End, MOST_ATTEMPTS, Path, walk};
use crate::policy::answer::Outcome;
use crate::policy::backoff::Always;
use crate::policy::classify::StatusSet;
use crate::policy::retry::GiveUp;
use crate::policy::stack::{Client, Element, Role};
use crate::provider::Script;
use crate::random::{Key, Seed};
use crate::units::SimDuration;
use std::collections::BTreeMap;

/// How many ways are drawn between the two ends: enough for a mean within a few per cent.
const SAMPLES: u64 = 400;

/// The most attempts of all ways together; of long ways fewer are drawn, so that a probe takes a moment.
const MOST_SAMPLED: u64 = 400_000;

/// A range of durations with its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// The shortest.
    pub min: SimDuration,
    /// The mean, in seconds; NaN where it is random and only one way was drawn.
    pub mean_s: f64,
    /// The longest.
    pub max: SimDuration,
}

/// How many attempts there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// Always so many.
    Always(u64),
    /// It depends on the draws: how often each number came.
    Varying(BTreeMap<u64, u64>),
    /// More than so many; the probe looked no further.
    AtLeast(u64),
    /// The client never stops.
    Endless,
}

/// One attempt as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The scripted answer, as it was written.
    pub answer: String,
    /// The model that was asked, where a fallback had left its first one.
    pub model: Option<String>,
    /// The layer that tried again after it.
    pub retried_by: Option<String>,
}

/// What a client does with a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// How many attempts.
    pub attempts: Attempts,
    /// The wait before each attempt but the first; both ends are exact where no total time limit cuts them.
    pub waits: Vec<Span>,
    /// All waits together.
    pub total_wait: Span,
    /// From the first attempt until the caller has its answer; where that never comes, until the last one was sent.
    pub total: Span,
    /// What the caller gets: `ok`, `raised 429`, `returned 503`, `hangs`, `waits past 36 years`, `goes on`,
    /// `never stops`.
    pub outcome: String,
    /// The attempts of the middle way.
    pub shown: Vec<Shown>,
    /// Why it ends, in words; `None` after a success.
    pub why: Option<String>,
}

/// Asks a client what it does with a script.
pub fn probe(client: &Client, script: &Script, seed: Seed) -> Probe {
    let key = seed.key().named("probe");
    let first = sampled(client, script, key.with(0));
    match first.end {
        End::Endless | End::CutOff => return found(client, script, &first, std::slice::from_ref(&first)),
        End::Answered | End::Hangs | End::TooLate => {}
    }
    let samples = (MOST_SAMPLED / first.attempts.len().max(1) as u64).clamp(2, SAMPLES);
    let paths: Vec<Path> = (0..samples).map(|sample| sampled(client, script, key.with(sample))).collect();
    found(client, script, &first, &paths)
}

fn sampled(client: &Client, script: &Script, key: Key) -> Path {
    let draws =
        |element: usize, attempt: u32, sent: u64| key.with(element as u64).with(u64::from(attempt)).with(sent).stream();
    walk(client, script, draws, MOST_ATTEMPTS)
}

fn found(client: &Client, script: &Script, first: &Path, paths: &[Path]) -> Probe {
    let longest = paths.iter().map(|path| path.attempts.len()).max().unwrap_or(0);
    let waits = spans(client, script, paths, longest);
    let total_wait = sum_span(&waits, paths, |path| path.waits().sum(), client);
    let lasted = |path: &Path| {
        // What hangs has no end to count to.
        let until = |last: &Attempt| if path.end == End::Hangs { last.sent } else { last.ended };
        path.attempts.last().map_or(SimDuration::ZERO, |last| until(last).since(first_sent(path)))
    };
    let took: SimDuration = lasted(first).saturating_sub(first.waits().sum());
    let total = Span { min: total_wait.min + took, mean_s: mean(paths.iter().map(lasted)), max: total_wait.max + took };
    let total = Span { mean_s: if total.min == total.max { total.min.as_secs_f64() } else { total.mean_s }, ..total };
    Probe {
        attempts: attempts(first, paths),
        waits,
        total_wait,
        total,
        outcome: outcome(client, first),
        shown: shown(client, script, first),
        why: why(client, first),
    }
}

fn first_sent(path: &Path) -> crate::units::SimTime {
    path.attempts.first().map_or(crate::units::SimTime::ZERO, |attempt| attempt.sent)
}

fn attempts(first: &Path, paths: &[Path]) -> Attempts {
    match first.end {
        End::Endless => return Attempts::Endless,
        End::CutOff => return Attempts::AtLeast(first.attempts.len() as u64),
        End::Answered | End::Hangs | End::TooLate => {}
    }
    let mut counts = BTreeMap::new();
    for path in paths {
        *counts.entry(path.attempts.len() as u64).or_insert(0) += 1;
    }
    match counts.len() {
        1 => Attempts::Always(first.attempts.len() as u64),
        _ => Attempts::Varying(counts),
    }
}

/// The range of every wait: both ends of every draw, without the time limits that would end a path early, and where
/// such a limit cuts a wait, what was seen.
fn spans(client: &Client, script: &Script, paths: &[Path], longest: usize) -> Vec<Span> {
    let timeless = without_deadlines(client);
    let [low, high] = [0.0, 1.0].map(|end| walk(&timeless, script, |_, _, _| Always(end), longest));
    let ends: Vec<Vec<SimDuration>> = [&low, &high].map(|path| path.waits().collect()).to_vec();
    let mut all: Vec<_> = paths.iter().map(Path::waits).collect();
    (0..longest.saturating_sub(1))
        .map(|n| {
            let seen: Vec<SimDuration> = all.iter_mut().filter_map(Iterator::next).collect();
            let bounds = ends.iter().filter_map(|waits| waits.get(n)).chain(&seen);
            let min = bounds.clone().min().copied().unwrap_or_default();
            span(min, bounds.max().copied().unwrap_or_default(), &seen)
        })
        .collect()
}

/// A range with the mean of what was seen in it.
fn span(min: SimDuration, max: SimDuration, seen: &[SimDuration]) -> Span {
    Span { min, max, mean_s: if min == max { min.as_secs_f64() } else { mean(seen.iter().copied()) } }
}

/// The mean in seconds of what was drawn more than once; NaN else.
fn mean(seen: impl ExactSizeIterator<Item = SimDuration>) -> f64 {
    let n = seen.len();
    if n < 2 { f64::NAN } else { seen.map(SimDuration::as_secs_f64).sum::<f64>() / n as f64 }
}

/// The range of a sum of waits: the sums of both ends where every path takes all of them, else what was seen.
fn sum_span(waits: &[Span], paths: &[Path], sum: impl Fn(&Path) -> SimDuration, client: &Client) -> Span {
    let sums: Vec<SimDuration> = paths.iter().map(sum).collect();
    let all_alike = paths.iter().all(|path| path.attempts.len() == waits.len() + 1);
    if all_alike && !has_deadline(client) {
        return span(waits.iter().map(|w| w.min).sum(), waits.iter().map(|w| w.max).sum(), &sums);
    }
    let (min, max) = (sums.iter().min().copied().unwrap_or_default(), sums.iter().max().copied().unwrap_or_default());
    span(min, max, &sums)
}

fn has_deadline(client: &Client) -> bool {
    client.elements().iter().any(|element| element.role.policy().is_some_and(|policy| policy.deadline.is_some()))
}

/// The same client without total time limits.
fn without_deadlines(client: &Client) -> Client {
    let elements = client.elements().iter().map(|element| {
        let mut element: Element = element.clone();
        if let Role::Retry(policy) | Role::Queue(policy, _) = &mut element.role {
            let keeps_attempts = policy.max_attempts.filter(|_| !policy.stops_at_both);
            (policy.deadline, policy.max_attempts) = (None, keeps_attempts);
            policy.stops_at_both = false;
        }
        element
    });
    client.with_elements(elements.collect()).unwrap_or_else(|| client.clone())
}

fn shown(client: &Client, script: &Script, path: &Path) -> Vec<Shown> {
    let name = |element: usize| client.elements()[element].name.clone();
    let model = |(element, target): (usize, usize)| {
        client.elements()[element].role.fallback().and_then(|fallback| fallback.to.get(target).cloned())
    };
    let attempts = path.attempts.iter().zip(0..);
    attempts
        .map(|(attempt, n)| Shown {
            answer: match attempt.answer.outcome {
                Outcome::TimedOut | Outcome::ConnectTimedOut | Outcome::WriteTimedOut | Outcome::Silent
                    if script.entry(n).after.is_some() =>
                {
                    format!("{} (timeout)", script.entry(n).text)
                }
                Outcome::Cancelled => format!("{} (cancelled)", script.entry(n).text),
                _ => script.entry(n).text.clone(),
            },
            model: attempt.route.and_then(model),
            retried_by: attempt.retried_by.map(name),
        })
        .collect()
}

/// What the caller gets.
pub(super) fn outcome(client: &Client, path: &Path) -> String {
    match path.end {
        End::Hangs => return "hangs".to_owned(),
        End::TooLate => return "waits past 36 years".to_owned(),
        End::Endless => return "never stops".to_owned(),
        End::CutOff => return "goes on".to_owned(),
        End::Answered => {}
    }
    let answer = path.last;
    if answer.is_delivered() {
        return "ok".to_owned();
    }
    let what = match answer.outcome {
        Outcome::Refused => answer.status.to_string(),
        other => other.word().replace('_', " "),
    };
    let returned = path.gave_up.first().is_some_and(|(element, why)| {
        let hands_back = client.elements()[*element].role.policy().map(|policy| policy.hands_back).unwrap_or_default();
        let responses = match why {
            GiveUp::NotRetried => hands_back.unretried,
            GiveUp::Exhausted | GiveUp::Deadline | GiveUp::HintTooLong | GiveUp::Suppressed => hands_back.exhausted,
            GiveUp::HintBroken => StatusSet::EMPTY,
        };
        answer.outcome == Outcome::Refused && responses.contains(answer.status)
    });
    if returned { format!("returned {what}") } else { format!("raised {what}") }
}

fn why(client: &Client, path: &Path) -> Option<String> {
    if path.last.is_delivered() && path.end == End::Answered {
        return None;
    }
    match path.end {
        End::Hangs => return Some("no answer comes, and no timeout of a layer ends the wait".to_owned()),
        End::TooLate => return Some("its waits go past the 36 years that are looked at".to_owned()),
        End::Endless => return Some(format!("nothing stops it; cut off after {MOST_ATTEMPTS} attempts")),
        End::CutOff => return Some(format!("the probe looks at {MOST_ATTEMPTS} attempts; the client goes on")),
        End::Answered => {}
    }
    let mut before = None;
    let reasons: Vec<String> = path
        .gave_up
        .iter()
        .map(|(element, why)| {
            let name = &client.elements()[*element].name;
            // The same of several layers is said once.
            if before.replace(*why) == Some(*why) { format!("`{name}`") } else { gave_up(name, *why) }
        })
        .collect();
    (!reasons.is_empty()).then(|| reasons.join(", then "))
}

fn gave_up(name: &str, why: GiveUp) -> String {
    match why {
        GiveUp::NotRetried => format!("`{name}` does not repeat this"),
        GiveUp::Exhausted => format!("`{name}` has used its attempts"),
        GiveUp::Deadline => format!("the total time of `{name}` does not allow another attempt"),
        GiveUp::HintTooLong => format!("`{name}` gives up over the hint"),
        GiveUp::HintBroken => format!("`{name}` fails over the hint itself"),
        GiveUp::Suppressed => format!("the retry budget of `{name}` does not allow another attempt"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Source, load};

    /// A client of one layer with these settings.
    fn client(settings: &str) -> Client {
        let text = format!(
            "horizon = \"1h\"\n[clients.c]\nlayers = [{{ name = \"a\", retry_on = \"any\", {settings} }}]\n\
             [traffic.t]\nkind = \"turns\"\nclient = \"c\"\narrivals = {{ at = [\"0s\"] }}\n\
             steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n"
        );
        load(&Source::new("c.toml", &text)).unwrap_or_else(|refusal| panic!("{refusal:?}")).clients.remove(0)
    }

    fn ask(client: &Client, answers: &str) -> Probe {
        probe(client, &Script::parse(answers, 0.0).unwrap(), Seed(1))
    }

    #[test]
    fn a_bound_beyond_the_probe_is_not_called_endless() {
        let many = ask(&client("max_attempts = 20000, backoff = { fixed = \"1s\" }"), "429 forever");
        assert_eq!((many.attempts, many.outcome.as_str()), (Attempts::AtLeast(10_000), "goes on"));
        let bounded = ask(&client("max_attempts = 9000, backoff = { fixed = \"1s\" }"), "429 forever");
        assert_eq!((bounded.attempts, bounded.outcome.as_str()), (Attempts::Always(9_000), "raised 429"));
        let endless = ask(&client("max_attempts = \"unlimited\", backoff = { fixed = \"1s\" }"), "429 forever");
        assert_eq!((endless.attempts, endless.outcome.as_str()), (Attempts::Endless, "never stops"));
    }

    #[test]
    fn a_mean_of_one_draw_is_not_given() {
        let settings = "max_attempts = \"unlimited\", backoff = { fixed = \"1s\" }, jitter = \"full\"";
        let random = ask(&client(settings), "429 forever");
        assert!(random.waits[0].mean_s.is_nan() && random.total.mean_s.is_nan(), "{:?}", random.waits[0]);
        let fixed = ask(&client("max_attempts = \"unlimited\", backoff = { fixed = \"1s\" }"), "429 forever");
        assert_eq!(fixed.waits[0].mean_s, 1.0);
    }

    #[test]
    fn a_wait_of_centuries_is_no_hang() {
        // Forty waits of a year.
        let slow = client("max_attempts = 41, backoff = { fixed = \"366d\" }");
        let late = ask(&slow, "429 forever");
        assert_eq!(late.outcome, "waits past 36 years");
        let patient = client("max_attempts = 2, backoff = { fixed = \"1s\" }");
        assert_eq!(ask(&patient, "hang").outcome, "hangs");
        // By hand: a first request of 2 s, a wait of 1 s, and then nothing: 3 s are all that can be told.
        for silence in ["hang", "connect_hang", "silence at=5s"] {
            let stuck = ask(&patient, &format!("slow=2s 503, {silence}"));
            let total = SimDuration::from_secs(3);
            assert_eq!((stuck.outcome.as_str(), stuck.total.min, stuck.total.max), ("hangs", total, total));
        }
    }
}
