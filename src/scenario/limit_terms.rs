//! Reading the terms of a limit: what a request weighs, when and by which estimate it is charged, what a refusal costs.

use super::context::{Context, Read};
use super::limit_changes::changes;
use super::prices::prices;
use super::refuse::Refusal;
use crate::document::{Fault, Field, Reader};
use crate::policy::ban::Ban;
use crate::policy::pacer::Counts;
use crate::provider::terms::{Charge, Estimate, Settle, Terms, UsedUp, Weights};
use crate::provider::{ModelSet, Prices, Tariff};

/// Thousandths of a weight: what a file may say.
const THOUSAND: u64 = 1_000;

/// The weights of what is counted, where nothing else is said.
pub(super) const fn weights_of(counts: Counts) -> Weights {
    let (request, input, cached, output) = match counts {
        Counts::Requests => (1, 0, 0, 0),
        Counts::InputTokens => (0, 1, 1, 0),
        Counts::UncachedInputTokens => (0, 1, 0, 0),
        Counts::OutputTokens => (0, 0, 0, 1),
        Counts::TotalTokens | Counts::TokensInFlight | Counts::Spend => (0, 1, 1, 1),
    };
    Weights { request, input, cached, output, scale: 1 }
}

/// Reads the weights, or the prices of a limit on spend.
pub(super) fn weights(reader: &Reader<'_>, counts: Counts, tariff: Option<&Tariff>) -> Option<Weights> {
    let plain = weights_of(counts);
    if counts == Counts::Spend {
        if let Some(field) = reader.get("weights") {
            let message = "a limit on spend has prices and no weights";
            reader.faults().add(Fault::new(field.key, message).hint("write `prices` in dollars for a million tokens"));
            return None;
        }
        if let (None, Some(tariff)) = (reader.get("prices"), tariff) {
            return Some(tariff.all.weights());
        }
        let hint = "write the dollars for a million tokens, such as { input = 3, cached_input = 0.3, output = 15 }";
        return reader.need("prices", hint).and_then(|field| prices(&field)).map(Prices::weights);
    }
    if let Some(field) = reader.get("prices") {
        let message = "only a limit on spend has prices";
        reader.faults().add(Fault::new(field.key, message).hint("write `weights`, or `counts = \"spend\"`"));
        return None;
    }
    reader.or("weights", plain, |field| {
        let reader = field.table("request, input, cached_input and output")?;
        let one = |key, default: u64| reader.or(key, default * THOUSAND, thousandths);
        let (request, input) = (one("request", plain.request), one("input", plain.input));
        let (cached, output) = (one("cached_input", plain.cached), one("output", plain.output));
        reader.finish();
        let all = [request?, input?, cached?, output?];
        if all == [0; 4] {
            return field.must("weigh something", "write a weight above 0");
        }
        // Whole weights need no parts.
        let scale = if all.iter().all(|weight| weight.is_multiple_of(THOUSAND)) { 1 } else { THOUSAND };
        let [request, input, cached, output] = all.map(|weight| weight * scale / THOUSAND);
        Some(Weights { request, input, cached, output, scale })
    })
}

/// A number with at most three decimals, in thousandths.
pub(super) fn thousandths(field: &Field<'_>) -> Option<u64> {
    let number = field.number(0.0..=1e6)?;
    let whole = (number * 1e3 + 0.5) as u64;
    if (number * 1e3 - whole as f64).abs() > 1e-6 {
        return field.must("have at most three decimals", "round it");
    }
    Some(whole)
}

/// The classes that a limit counts.
pub(super) fn classes(field: &Field<'_>, context: &Context<'_>) -> Option<Vec<usize>> {
    let items = field.list("classes", 64)?;
    let mut all = Vec::new();
    for item in &items {
        let class = super::context::refer(item, &context.classes, "class", "classes")?;
        if all.contains(&class) {
            return item.wrong("is there twice", "keep one");
        }
        all.push(class);
    }
    Some(all)
}

/// Reads the terms; `Some(None)` where the limit is plain.
pub(super) fn terms(
    reader: &Reader<'_>,
    counts: Counts,
    weights: Weights,
    classes: ModelSet,
    refusal: Option<&Refusal>,
) -> Read<Option<Box<Terms>>> {
    let held = counts == Counts::TokensInFlight;
    let charge = charge(reader, held);
    let estimate = estimate(reader, counts, charge);
    let unset = reader.or("max_tokens", 0, |field| field.whole(1..=1_000_000_000));
    let settle = settle(reader, charge, held);
    let refused = reader.or("refused_costs", false, |field| refused_costs(field, counts));
    let lends = reader.or("debt", false, Field::truth);
    let when_used_up = when_used_up(reader, counts, charge);
    let ban = reader.maybe("ban", ban);
    let changes = reader.or("changes", Vec::new(), |field| changes(field, weights.scale));
    let (until, headers) = refusal.map_or_else(Default::default, |refusal| (refusal.until, refusal.headers.clone()));
    let terms = Terms {
        charge: charge?,
        estimate: estimate?,
        unset_max_tokens: unset? as u32,
        settle: settle?,
        charges_refused: refused?,
        lends: lends?,
        ban: ban?,
        classes,
        changes: changes?,
        until,
        headers,
        when_used_up: when_used_up?,
        ..Terms::plain(weights)
    };
    let is_plain = terms == Terms::plain(weights_of(counts))
        && !held
        && !matches!(counts, Counts::UncachedInputTokens | Counts::Spend);
    Some((!is_plain).then(|| Box::new(terms)))
}

fn charge(reader: &Reader<'_>, held: bool) -> Option<Charge> {
    let words =
        [("admission", Charge::Admission), ("streaming", Charge::Streaming), ("completion", Charge::Completion)];
    let field = reader.get("charge");
    if let (true, Some(field)) = (held, &field) {
        let message = "tokens in flight are taken at admission and given back at the end";
        reader.faults().add(Fault::new(field.key, message).hint("leave it out"));
        return None;
    }
    field.map_or(Some(Charge::Admission), |field| field.word(&words))
}

fn estimate(reader: &Reader<'_>, counts: Counts, charge: Option<Charge>) -> Option<Estimate> {
    let Some(field) = reader.get("estimate") else { return Some(Estimate::Actual) };
    if charge.is_some_and(|charge| charge != Charge::Admission) {
        let message = "what is charged as it is used is not estimated";
        reader.faults().add(Fault::new(field.key, message).hint("leave it out, or charge at admission"));
        return None;
    }
    if counts == Counts::Requests {
        reader.faults().add(Fault::new(field.key, "a request is one request").hint("leave it out"));
        return None;
    }
    if field.node.as_table().is_none() {
        return field.word(&[
            ("actual", Estimate::Actual),
            ("input", Estimate::Input),
            ("max_tokens", Estimate::MaxTokens),
            ("larger", Estimate::Larger),
            ("unweighted", Estimate::Unweighted),
        ]);
    }
    let table = field.table("fixed")?;
    let fixed = table.need("fixed", "write how much each request is taken to use, such as { fixed = 1000 }");
    let fixed = fixed.and_then(|field| field.whole(1..=1_000_000_000));
    table.finish();
    fixed.map(Estimate::Fixed)
}

fn settle(reader: &Reader<'_>, charge: Option<Charge>, held: bool) -> Option<Settle> {
    let Some(field) = reader.get("settle") else { return Some(Settle::Never) };
    if held || charge.is_some_and(|charge| charge != Charge::Admission) {
        let message = "only what is estimated at admission is settled";
        reader.faults().add(Fault::new(field.key, message).hint("leave it out"));
        return None;
    }
    field.word(&[("never", Settle::Never), ("surplus", Settle::Surplus), ("both", Settle::Both)])
}

/// What becomes of an answer whose output uses the limit up.
fn when_used_up(reader: &Reader<'_>, counts: Counts, charge: Option<Charge>) -> Read<Option<UsedUp>> {
    let Some(field) = reader.get("when_used_up") else { return Some(None) };
    let words = [("goes_on", None), ("cut", Some(UsedUp::Cut)), ("break", Some(UsedUp::Break))];
    let word = field.word(&words)?;
    let counts_output = !matches!(counts, Counts::Requests | Counts::InputTokens | Counts::UncachedInputTokens);
    if word.is_some() && (!counts_output || charge.is_some_and(|charge| charge != Charge::Streaming)) {
        let message = "only a limit that is charged for output as it flows can stop an answer";
        reader
            .faults()
            .add(Fault::new(field.key, message).hint("write charge = \"streaming\", and count output tokens"));
        return None;
    }
    Some(word)
}

fn refused_costs(field: &Field<'_>, counts: Counts) -> Option<bool> {
    let (word, other) = if counts == Counts::Requests { ("request", "tokens") } else { ("tokens", "request") };
    if field.node.as_str() == Some(other) {
        let hint = format!("write \"nothing\" or \"{word}\"");
        return field.wrong(format!("is not what this limit counts, found \"{other}\""), hint);
    }
    field.word(&[("nothing", false), (word, true)])
}

fn ban(field: &Field<'_>) -> Option<Ban> {
    let reader = field.table("after, within and lasts")?;
    let after = reader.need("after", "write after how many refusals");
    let after = after.and_then(|field| field.whole(1..=1_000_000));
    let within = reader.need("within", r#"write within how long, such as "1m""#);
    let within = within.and_then(|field| field.positive_duration());
    let lasts = reader.need("lasts", r#"write how long it lasts, such as "10m""#);
    let lasts = lasts.and_then(|field| field.positive_duration());
    reader.finish();
    Some(Ban { after: after? as u32, within: within?, lasts: lasts? })
}
