//! Reading how a limit refuses.

use super::context::Read;
use super::distribution::{Measure, distribution};
use super::failures::code;
use crate::document::Field;
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
        Refusal { status: 429, after: default_refusal_latency(), hint: Some(WHOLE_SECONDS), code: None }
    }
}

/// How a limit refuses; what is not said is as in `default`.
pub(super) fn refusal(field: &Field<'_>, default: &Refusal) -> Option<Refusal> {
    let reader = field.table("status, after, hint and code")?;
    let status = reader.or("status", u64::from(default.status), |field| field.whole(400..=599));
    let after = reader.or("after", default_refusal_latency(), |field| distribution(field, Measure::Seconds));
    let hint = reader.or("hint", default.hint, hint_form);
    let code = reader.maybe("code", code);
    reader.finish();
    Some(Refusal { status: status? as u16, after: after?, hint: hint?, code: code?.map(str::to_owned) })
}

fn hint_form(field: &Field<'_>) -> Read<Option<HintForm>> {
    const EXACT: HintForm = HintForm { minimum: SimDuration::ZERO, round_up_to: SimDuration::ZERO };
    if field.node.as_table().is_none() {
        return field.word(&[("exact", Some(EXACT)), ("none", None)]);
    }
    let reader = field.table("minimum and round_up_to")?;
    let minimum = reader.or("minimum", SimDuration::ZERO, Field::duration);
    let round_up_to = reader.or("round_up_to", WHOLE_SECOND, Field::duration);
    reader.finish();
    Some(Some(HintForm { minimum: minimum?, round_up_to: round_up_to? }))
}
