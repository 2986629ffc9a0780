//! The answers of a scripted server.
//!
//! A comma list of `STATUS`, `drop`, `unreachable`, `cut`, `hang`, `silence`, `stream_failed`, `stream_broken`, each
//! with `key=value` headers or fields behind it and perhaps `slow=DURATION` before it; values may be quoted, since
//! dates hold commas. The last answer repeats for ever, and the word `forever` may say so.

use super::header_text::said;
use crate::policy::answer::{Answer, Code, Outcome};
use crate::policy::header::{HintGrammar, HintHeader, Said};
use crate::units::SimDuration;
use crate::units::parse;

/// What a scripted server answers, in order; the last answer repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Invariant: at least one.
    entries: Vec<Entry>,
}

/// One scripted answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// As it was written, without its fields' quotes.
    pub text: String,
    /// Until it is there; `None` never.
    pub after: Option<SimDuration>,
    outcome: Outcome,
    status: u16,
    should_retry: Option<bool>,
    code: Code,
    hints: Vec<(HintHeader, Said)>,
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

const FORMS: &str = "write a status from 200 to 599, or one of drop, unreachable, cut, hang, silence, stream_failed, \
                     stream_broken, such as '429 retry-after=2, 200'";

impl Script {
    /// The script of this text; dates are read as seen at `now_unix_s`. All faults are found, not only the first.
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

    /// All answers in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl Entry {
    /// The answer as a client with this grammar sees it.
    pub fn answer(&self, grammar: &HintGrammar) -> Answer {
        Answer {
            outcome: self.outcome,
            status: self.status,
            should_retry: self.should_retry,
            hint: grammar.read(&self.hints),
            code: self.code,
        }
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
        outcome: Outcome::Refused,
        status: 0,
        should_retry: None,
        code: Code::NONE,
        hints: Vec::new(),
    };
    let mut head = false;
    for word in &words {
        let piece = &text[word.clone()];
        if let Some((key, value)) = piece.split_once('=') {
            field(&mut read, key, value.trim_matches(['"', '\'']), now_unix_s)
                .map_err(|(message, hint)| fault(word.clone(), message, &hint))?;
        } else if piece == "forever" {
            if !is_last {
                return Err(fault(word.clone(), "`forever` ends a script".into(), "put this answer last"));
            }
        } else if head {
            let message = format!("is a second answer, found {piece}");
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
    Ok(read)
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
        "ok" => Outcome::Delivered,
        _ => {
            let status = word.parse::<u16>().ok().filter(|status| (200..=599).contains(status));
            let Some(status) = status else { return Err(format!("is no answer, found {word}")) };
            // Whatever succeeds is counted as a 200.
            let fails = status >= 400;
            read.status = if fails { status } else { 200 };
            if fails { Outcome::Refused } else { Outcome::Delivered }
        }
    };
    match read.outcome {
        Outcome::TimedOut | Outcome::Silent => read.after = None,
        Outcome::Delivered if read.status == 0 => read.status = 200,
        _ => {}
    }
    Ok(())
}

/// Headers by which AWS services name an error, beside the field `error_code`.
const CODE_FIELDS: [&str; 3] = ["error_code", "error-code", "x-amzn-errortype"];

fn field(read: &mut Entry, key: &str, value: &str, now_unix_s: f64) -> Result<(), (String, String)> {
    let key = key.to_ascii_lowercase();
    if key == "slow" {
        let after = parse::duration(value)
            .map_err(|misread| (misread.to_string(), "write slow=3s before a status".to_owned()))?;
        read.after = read.after.map(|_| after);
        return Ok(());
    }
    if CODE_FIELDS.contains(&key.as_str()) {
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
        return Err((format!("is no header, found {key}"), "write a header as name=value".to_owned()));
    }
    let known = HintHeader::ALL
        .iter()
        .find(|(_, name)| *name == key || key.starts_with("x-ratelimit-reset") && *name == "x-ratelimit-reset");
    if let Some((header, _)) = known {
        read.hints.push((*header, said(*header, value, now_unix_s)));
    }
    // Any other header may stand there; no library looks at it.
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::answer::Hint;

    fn script(text: &str) -> Script {
        Script::parse(text, 0.0).unwrap()
    }

    fn faults(text: &str) -> Vec<String> {
        Script::parse(text, 0.0).unwrap_err().into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn the_last_answer_repeats() {
        let script = script("529, 529, 200");
        let statuses: Vec<u16> = (0..5).map(|n| script.entry(n).answer(&HintGrammar::plain()).status).collect();
        assert_eq!(statuses, [529, 529, 200, 200, 200]);
    }

    #[test]
    fn headers_fields_and_quotes_are_read() {
        let script =
            script("slow=3s 429 retry-after='7' x-should-retry=false error_code=\"a, b\" x-other=1, drop forever");
        let first = script.entry(0);
        let answer = first.answer(&HintGrammar::plain());
        assert_eq!(first.after, Some(SimDuration::from_secs(3)));
        assert_eq!((answer.status, answer.should_retry), (429, Some(false)));
        assert_eq!((answer.hint, answer.code), (Hint::After(SimDuration::from_secs(7)), Code::named("a, b")));
        assert_eq!(script.entry(1).answer(&HintGrammar::plain()).outcome, Outcome::Dropped);
        assert_eq!(script.entries().len(), 2);
    }

    #[test]
    fn every_fault_of_a_script_is_found() {
        assert_eq!(faults("429,, 700"), ["is empty", "is no answer, found 700"]);
        assert_eq!(faults("429 forever, 200"), ["`forever` ends a script"]);
        assert_eq!(faults("429 200"), ["is a second answer, found 200"]);
        assert_eq!(faults("retry-after=2"), ["has fields and no answer"]);
        assert_eq!(faults("slow=3 200").len(), 1);
        assert_eq!(faults(""), ["is empty"]);
    }

    #[test]
    fn what_never_comes_has_no_time() {
        assert_eq!(script("hang").entry(0).after, None);
        assert_eq!(script("silence").entry(0).after, None);
    }
}
