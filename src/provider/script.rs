//! The answers of a scripted server.
//!
//! A comma list of `STATUS`, `drop`, `unreachable`, `cut`, `hang`, `connect_hang`, `silence`, `stream_failed`,
//! `stream_broken`, each with `key=value` headers or fields behind it and perhaps `slow=DURATION` before it; values may
//! be quoted, since dates hold commas. Further durations say when the phases of the request end: `connect=`, `write=`,
//! `first_token=`, and `at=` with `for=` a silence in the middle. The last answer repeats for ever, and the word
//! `forever` may say so.

use super::header_text::said;
pub use super::script_entry::Entry;
use super::script_entry::{MOST_HINTS, Phases};
use crate::policy::answer::{Code, Outcome};
use crate::policy::header::{HintHeader, Said};
use crate::units::{SimDuration, SimTime, parse};

/// What a scripted server answers, in order; the last answer repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Invariant: at least one.
    entries: Vec<Entry>,
}

/// What is wrong with a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFault {
    /// Where: byte offsets into the text.
    pub span: std::ops::Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

/// The most answers of a script.
const MOST_ENTRIES: usize = 100_000;

const FORMS: &str = "write a status from 200 to 599, or one of drop, unreachable, cut, hang, connect_hang, silence, \
                     stream_failed, stream_broken, such as '429 retry-after=2, 200'";

impl Script {
    /// The script of this text; `now_unix_s` is what the clock shows when the run begins, for dates. All faults are found, not only the first.
    pub fn parse(text: &str, now_unix_s: f64) -> Result<Script, Vec<ScriptFault>> {
        let (mut entries, mut faults) = (Vec::new(), Vec::new());
        let pieces = pieces(text, ',');
        for (index, piece) in pieces.iter().enumerate() {
            match entry(text, piece.clone(), index + 1 == pieces.len(), now_unix_s) {
                Ok(read) => entries.push(read),
                Err(fault) => faults.push(fault),
            }
        }
        if entries.len() > MOST_ENTRIES {
            let message = format!("has more than {MOST_ENTRIES} answers");
            faults.push(ScriptFault { span: 0..text.len(), message, hint: "the last answer repeats".into() });
        }
        if faults.is_empty() { Ok(Script { entries }) } else { Err(faults) }
    }

    /// The answer to request number `n`, from 0.
    pub fn entry(&self, n: u64) -> &Entry {
        let last = self.entries.len() - 1;
        &self.entries[usize::try_from(n).map_or(last, |n| n.min(last))]
    }

    /// The statuses of failures in it.
    pub fn statuses(&self) -> Vec<u16> {
        self.entries.iter().map(|entry| entry.status).filter(|status| *status >= 400).collect()
    }

    /// Whether the answer that repeats is a failure that takes no time.
    pub fn fails_at_once(&self) -> bool {
        let (now, none) = (SimTime::ZERO, SimDuration::ZERO);
        self.entries.last().is_some_and(|last| !last.is_delivered() && last.course(now, none, none).ends == now)
    }

    /// All answers in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// The spans between separators that stand outside quotes.
fn pieces(text: &str, separator: char) -> Vec<std::ops::Range<usize>> {
    let (mut out, mut from, mut quote) = (Vec::new(), 0, None);
    for (at, letter) in text.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None if letter == separator || separator == ' ' && letter.is_whitespace() => {
                out.push(from..at);
                from = at + letter.len_utf8();
            }
            Some(_) | None => {}
        }
    }
    out.push(from..text.len());
    out
}

fn entry(text: &str, span: std::ops::Range<usize>, is_last: bool, now_unix_s: f64) -> Result<Entry, ScriptFault> {
    let part = &text[span.clone()];
    let words: Vec<std::ops::Range<usize>> = pieces(part, ' ')
        .into_iter()
        .map(|word| span.start + word.start..span.start + word.end)
        .filter(|word| !word.is_empty())
        .collect();
    let fault = |at: std::ops::Range<usize>, message: String, hint: &str| ScriptFault {
        span: at,
        message,
        hint: hint.to_owned(),
    };
    let mut read = Entry {
        text: words.iter().map(|word| text[word.clone()].replace(['"', '\''], "")).collect::<Vec<_>>().join(" "),
        after: Some(SimDuration::ZERO),
        phases: Phases::default(),
        outcome: Outcome::Refused,
        status: 0,
        should_retry: None,
        code: Code::NONE,
        hints: Vec::new(),
        dates: Vec::new(),
    };
    let mut head = false;
    let mut keys: Vec<String> = Vec::new();
    for word in &words {
        let piece = &text[word.clone()];
        if let Some((key, value)) = piece.split_once('=') {
            let key = key.to_ascii_lowercase();
            let (key, value) = (key.as_str(), value.trim_matches(['"', '\'']));
            if keys.iter().any(|earlier| earlier == key) {
                return Err(fault(word.clone(), format!("`{}` is there twice", shown(key)), "keep one"));
            }
            keys.push(key.to_owned());
            field(&mut read, key, value, now_unix_s).map_err(|(message, hint)| fault(word.clone(), message, &hint))?;
        } else if piece == "forever" {
            if !is_last {
                return Err(fault(word.clone(), "`forever` ends a script".into(), "put this answer last"));
            }
        } else if head {
            let message = format!("is a second answer, found {}", shown(piece));
            return Err(fault(word.clone(), message, "put a comma between two answers"));
        } else {
            head = true;
            kind(&mut read, piece).map_err(|message| fault(word.clone(), message, FORMS))?;
        }
    }
    if !head {
        let message = if part.trim().is_empty() { "is empty" } else { "has fields and no answer" };
        return Err(fault(span, message.into(), FORMS));
    }
    match incoherent(&read) {
        Some((message, hint)) => Err(fault(span, message.into(), hint)),
        None => Ok(read),
    }
}

/// A silence that the answer does not have, and what to write instead.
fn incoherent(read: &Entry) -> Option<(&'static str, &'static str)> {
    if let (Some(at), Some(_), Some(after), Outcome::Delivered) =
        (read.phases.at, read.phases.gap, read.after, read.outcome)
        && at >= after
    {
        let hint = "write how long it takes in front, such as slow=10s at=3s for=25s 200";
        return Some(("is over before it falls silent", hint));
    }
    match (read.phases.at, read.phases.gap) {
        (None, Some(_)) => Some(("goes silent at no time", "write when it does, such as at=3s")),
        (Some(_), None) if read.outcome != Outcome::Silent => {
            Some(("goes silent and does not say for how long", "write for=25s beside it, or `silence` for ever"))
        }
        (Some(_), Some(_)) if read.outcome != Outcome::Delivered => {
            Some(("goes on after a silence, and only a success does", "write a status such as 200, or leave out `for`"))
        }
        _ => None,
    }
}

fn kind(read: &mut Entry, word: &str) -> Result<(), String> {
    read.outcome = match word {
        "drop" | "dropped" => Outcome::Dropped,
        "unreachable" | "refused" => Outcome::Unreachable,
        "cut" => Outcome::CutShort,
        "silence" => Outcome::Silent,
        "stream_failed" => Outcome::StreamFailed,
        "stream_broken" => Outcome::StreamBroken,
        "hang" => Outcome::TimedOut,
        "connect_hang" => Outcome::ConnectTimedOut,
        "ok" => Outcome::Delivered,
        _ => {
            let status = word.parse::<u16>().ok().filter(|status| (200..=599).contains(status));
            let Some(status) = status else { return Err(format!("is no answer, found {}", shown(word))) };
            // Whatever succeeds is counted as a 200.
            let fails = status >= 400;
            read.status = if fails { status } else { 200 };
            if fails { Outcome::Refused } else { Outcome::Delivered }
        }
    };
    match read.outcome {
        Outcome::TimedOut | Outcome::ConnectTimedOut | Outcome::Silent => read.after = None,
        Outcome::Delivered if read.status == 0 => read.status = 200,
        _ => {}
    }
    Ok(())
}

/// Headers by which AWS services name an error, beside the field `error_code`.
const CODE_FIELDS: [&str; 3] = ["error_code", "error-code", "x-amzn-errortype"];

/// The phase of this name.
fn phase<'p>(phases: &'p mut Phases, key: &str) -> Option<&'p mut Option<SimDuration>> {
    match key {
        "connect" => Some(&mut phases.connect),
        "write" => Some(&mut phases.write),
        "first_token" => Some(&mut phases.first_token),
        "at" => Some(&mut phases.at),
        "for" => Some(&mut phases.gap),
        _ => None,
    }
}

fn field(read: &mut Entry, key: &str, value: &str, now_unix_s: f64) -> Result<(), (String, String)> {
    if key == "slow" {
        let after = parse::duration(value)
            .map_err(|misread| (misread.to_string(), "write slow=3s before a status".to_owned()))?;
        read.after = read.after.map(|_| after);
        return Ok(());
    }
    if let Some(phase) = phase(&mut read.phases, key) {
        let length = parse::duration(value)
            .map_err(|misread| (misread.to_string(), format!("write a duration such as {key}=3s")))?;
        *phase = Some(length);
        return Ok(());
    }
    if CODE_FIELDS.contains(&key) {
        read.code = Code::named(value);
        return Ok(());
    }
    if key == "x-should-retry" {
        read.should_retry = match value {
            "true" => Some(true),
            "false" => Some(false),
            // Libraries compare with these two words exactly and pass over anything else.
            _ => None,
        };
        return Ok(());
    }
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
        return Err((format!("is no header, found {}", shown(key)), "write a header as name=value".to_owned()));
    }
    let known = HintHeader::ALL
        .iter()
        .find(|(_, name)| *name == key || key.starts_with("x-ratelimit-reset") && *name == "x-ratelimit-reset");
    if let Some((header, _)) = known {
        if read.hints.len() == MOST_HINTS {
            return Err((format!("is one hint more than {MOST_HINTS}"), "leave some out".to_owned()));
        }
        let said = said(*header, value, now_unix_s);
        read.hints.push((*header, said));
        read.dates.push(matches!(said, Said::Date(_)) && !value.trim().starts_with('@'));
    }
    // Any other header may stand there, since no library looks at it; but not one that was meant to be looked at.
    match meant(key).filter(|_| known.is_none()) {
        Some(meant) => Err((format!("is not known, found {}", shown(key)), format!("did you mean `{meant}`?"))),
        None => Ok(()),
    }
}

/// The known field that this one looks like: one slip in a short name, two in a long one.
fn meant(key: &str) -> Option<&'static str> {
    const LONGEST: usize = 64;
    let headers = HintHeader::ALL.iter().map(|(_, name)| *name);
    let known = headers.chain(CODE_FIELDS).chain(["slow", "first_token", "x-should-retry"]);
    let distance = |name: &&str| {
        let slips = strsim::osa_distance(key, name);
        (slips <= (name.len() / 4).min(2)).then_some(slips)
    };
    known.filter(|_| key.len() <= LONGEST).filter_map(|name| Some((distance(&name)?, name))).min().map(|(_, name)| name)
}

/// A word of a script as a message shows it: not longer than a line, and nothing in it that steers a terminal.
fn shown(word: &str) -> String {
    let mut shown: String = word.chars().take(60).flat_map(char::escape_debug).collect();
    if word.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Course;
    use crate::policy::answer::Hint;
    use crate::policy::header::HintGrammar;
    use crate::units::SimTime;

    fn script(text: &str) -> Script {
        Script::parse(text, 0.0).unwrap()
    }

    fn faults(text: &str) -> Vec<String> {
        Script::parse(text, 0.0).unwrap_err().into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn the_last_answer_repeats() {
        let script = script("529, 529, 200");
        let statuses: Vec<u16> =
            (0..5).map(|n| script.entry(n).answer(&HintGrammar::plain(), SimTime::ZERO).status).collect();
        assert_eq!(statuses, [529, 529, 200, 200, 200]);
    }

    #[test]
    fn a_date_comes_nearer_and_a_date_from_now_does_not() {
        let after = |text: &str, seconds: f64| {
            script(text).entry(0).answer(&HintGrammar::plain(), SimTime::from_secs_f64(seconds)).hint
        };
        let wait = |seconds| Hint::After(SimDuration::from_secs(seconds));
        let date = "429 retry-after='Thu, 01 Jan 1970 00:01:00 GMT'";
        assert_eq!([0.0, 20.0].map(|at| after(date, at)), [wait(60), wait(40)]);
        assert_eq!(after(date, 60.0), Hint::None);
        assert_eq!([0.0, 20.0].map(|at| after("429 retry-after=@date+60", at)), [wait(60), wait(60)]);
        assert_eq!([0.0, 20.0].map(|at| after("429 retry-after=60", at)), [wait(60), wait(60)]);
    }

    #[test]
    fn headers_fields_and_quotes_are_read() {
        let script =
            script("slow=3s 429 retry-after='7' x-should-retry=false error_code=\"a, b\" x-other=1, drop forever");
        let first = script.entry(0);
        let answer = first.answer(&HintGrammar::plain(), SimTime::ZERO);
        assert_eq!(first.after, Some(SimDuration::from_secs(3)));
        assert_eq!((answer.status, answer.should_retry), (429, Some(false)));
        assert_eq!((answer.hint, answer.code), (Hint::After(SimDuration::from_secs(7)), Code::named("a, b")));
        assert_eq!(script.entry(1).answer(&HintGrammar::plain(), SimTime::ZERO).outcome, Outcome::Dropped);
        assert_eq!(script.entries().len(), 2);
    }

    #[test]
    fn every_fault_of_a_script_is_found() {
        assert_eq!(faults("429,, 700"), ["is empty", "is no answer, found 700"]);
        assert_eq!(faults("429 forever, 200"), ["`forever` ends a script"]);
        assert_eq!(faults("429 200"), ["is a second answer, found 200"]);
        assert_eq!(faults("retry-after=2"), ["has fields and no answer"]);
        assert_eq!(faults("slow=3 200").len(), 1);
        assert_eq!(faults("429 retry-after=1 Retry-After=2"), ["`retry-after` is there twice"]);
        assert_eq!(faults(&"x".repeat(1_000_000))[0].chars().count(), "is no answer, found ".len() + 61);
        assert_eq!(faults("4\u{1b}29"), ["is no answer, found 4\\u{1b}29"]);
        assert_eq!(faults(""), ["is empty"]);
    }

    #[test]
    fn a_header_that_looks_like_a_known_one_is_refused_and_any_other_is_let_pass() {
        for slip in ["retry-afer", "retryafter", "retry_after", "x-should-rety", "x-retry-after"] {
            assert_eq!(faults(&format!("429 {slip}=2")), [format!("is not known, found {slip}")]);
        }
        let known = ["retry-after", "x-ratelimit-reset-tokens", "x-amzn-errortype"];
        let others = ["allow", "date", "server", "x-ratelimit-limit", "x-ratelimit-remaining", "x-request-id", "via"];
        for header in known.into_iter().chain(others) {
            assert!(Script::parse(&format!("429 {header}=2"), 0.0).is_ok(), "{header}");
        }
    }

    #[test]
    fn what_never_comes_has_no_time() {
        for never in ["hang", "connect_hang", "silence"] {
            assert_eq!(script(never).entry(0).after, None, "{never}");
        }
    }

    #[test]
    fn every_phase_of_a_request_can_be_scripted() {
        let course = |text: &str| {
            let course = script(text).entry(0).course(SimTime::ZERO, SimDuration::ZERO, SimDuration::ZERO);
            let Course { connected, written, first, quiet, resumes, ends } = course;
            [connected, written, first, quiet, resumes, ends]
                .map(|at| if at == SimTime::NEVER { None } else { Some(at.as_secs_f64()) })
        };
        let all = |second: f64| [Some(0.0), Some(0.0), Some(second), Some(second), Some(second), Some(second)];
        assert_eq!((course("slow=3s 429"), course("cut")), (all(3.0), all(0.0)));
        // By hand: connected after 1 s, written after 3 s; first byte 2 s and silence 4 s after that.
        let phases = "connect=1s write=2s first_token=2s at=4s for=25s slow=10s 200";
        assert_eq!(course(phases), [1.0, 3.0, 5.0, 7.0, 32.0, 38.0].map(Some));
        assert_eq!(course("connect_hang"), [None; 6]);
        assert_eq!(course("hang"), [Some(0.0), Some(0.0), None, None, None, None]);
        assert_eq!(course("silence at=3s"), [Some(0.0), Some(0.0), Some(3.0), Some(3.0), None, None]);
        assert_eq!(course("slow=2s unreachable"), [None, None, None, None, None, Some(2.0)]);
    }

    #[test]
    fn a_silence_that_the_answer_does_not_have_is_refused() {
        assert_eq!(faults("200 for=3s"), ["goes silent at no time"]);
        assert_eq!(faults("200 at=3s"), ["goes silent and does not say for how long"]);
        // An answer that is there at once has nothing left to fall silent over.
        assert_eq!(faults("at=3s for=25s 200, slow=3s at=3s for=1s 200"), ["is over before it falls silent"; 2]);
        assert!(Script::parse("slow=4s at=3s for=25s 200", 0.0).is_ok());
        assert_eq!(faults("silence at=3s for=3s, 529 at=1s for=1s").len(), 2);
        assert_eq!(faults("200 first_tokn=3s"), ["is not known, found first_tokn"]);
        assert_eq!(faults("200 connect=soon").len(), 1);
    }
}
