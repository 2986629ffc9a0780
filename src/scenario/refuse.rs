//! Reading how a limit refuses.

use super::context::Read;
use super::distribution::{Measure, distribution};
use super::failures::code;
use crate::document::{Fault, Field};
use crate::policy::header::HintHeader;
use crate::provider::terms::Until;
use crate::provider::{HintForm, WHOLE_SECOND, default_refusal_latency};
use crate::random::Distribution;
use crate::units::SimDuration;

/// How a limit refuses.
pub(super) struct Refusal {
    /// The status.
    pub(super) status: u16,
    /// Seconds until it is back.
    pub(super) after: Distribution,
    /// Its hint.
    pub(super) hint: Option<HintForm>,
    /// The code in its body.
    pub(super) code: Option<String>,
    /// What its hint tells.
    pub(super) until: Until,
    /// The headers that carry it; none for `retry-after`.
    pub(super) headers: Vec<HintHeader>,
}

impl Refusal {
    /// A refusal that says nothing of when to come back.
    pub(super) fn without_hint() -> Refusal {
        Refusal { hint: None, ..Refusal::default() }
    }
}

/// Real providers say whole seconds.
const WHOLE_SECONDS: HintForm = HintForm { minimum: SimDuration::ZERO, round_up_to: WHOLE_SECOND };

impl Default for Refusal {
    fn default() -> Self {
        Refusal {
            status: 429,
            after: default_refusal_latency(),
            hint: Some(WHOLE_SECONDS),
            code: None,
            until: Until::Fits,
            headers: Vec::new(),
        }
    }
}

/// How a limit refuses; what is not said is as in `default`. A limit on what flows can also say what its hint tells and
/// in which headers.
pub(super) fn refusal(field: &Field<'_>, default: &Refusal, flows: bool) -> Option<Refusal> {
    let reader = field.table("status, after, hint and code")?;
    let status = reader.or("status", u64::from(default.status), |field| field.whole(400..=599));
    let after = reader.or("after", default_refusal_latency(), |field| distribution(field, Measure::Seconds));
    let hint = reader.or("hint", (default.hint, Until::Fits), |field| hint_form(field, flows));
    let headers = if flows { reader.or("headers", Vec::new(), headers) } else { Some(Vec::new()) };
    let code = reader.maybe("code", code);
    reader.finish();
    let (hint, until) = hint?;
    let code = code?.map(str::to_owned);
    Some(Refusal { status: status? as u16, after: after?, hint, code, until, headers: headers? })
}

/// The headers that carry a hint, each once.
fn headers(field: &Field<'_>) -> Option<Vec<HintHeader>> {
    let names = HintHeader::ALL.map(|(header, name)| (name, header));
    let items = field.list("headers", HintHeader::ALL.len())?;
    let mut all: Vec<HintHeader> = Vec::new();
    for item in &items {
        let header = item.word(&names)?;
        if all.contains(&header) {
            return item.wrong("is there twice", "keep one");
        }
        all.push(header);
    }
    Some(all)
}

fn hint_form(field: &Field<'_>, flows: bool) -> Read<(Option<HintForm>, Until)> {
    const EXACT: HintForm = HintForm { minimum: SimDuration::ZERO, round_up_to: SimDuration::ZERO };
    if field.node.as_table().is_none() {
        return field.word(&[("exact", Some(EXACT)), ("none", None)]).map(|form| (form, Until::Fits));
    }
    let reader = field.table("minimum and round_up_to")?;
    let minimum = reader.or("minimum", SimDuration::ZERO, Field::duration);
    let round_up_to = reader.or("round_up_to", WHOLE_SECOND, Field::duration);
    let constant = if flows { reader.maybe("constant", Field::positive_duration) } else { Some(None) };
    let words = [("fits", Until::Fits), ("reset", Until::Reset), ("full", Until::Full)];
    let until = if flows { reader.or("until", Until::Fits, |field| field.word(&words)) } else { Some(Until::Fits) };
    if let (Some(Some(_)), Some(field)) =
        (&constant, ["minimum", "round_up_to", "until"].iter().find_map(|key| reader.get(key)))
    {
        let message = "stands beside `constant`, which is always the same";
        reader.faults().add(Fault::new(field.key, message).hint("keep one of them"));
        return None;
    }
    reader.finish();
    if let Some(constant) = constant? {
        return Some((Some(HintForm { minimum: constant, round_up_to: SimDuration::ZERO }), Until::Constant));
    }
    Some((Some(HintForm { minimum: minimum?, round_up_to: round_up_to? }), until?))
}
