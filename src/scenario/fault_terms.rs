//! Reading whom a fault strikes: at which steps and with which sizes of request. What it refers to, a step or another
//! fault's episodes, is looked up when all are known.

use super::context::Context;
use super::episodes::ReadEpisodes;
use super::provider::ReadProvider;
use super::traffic::ReadClass;
use crate::document::{Fault, Faults, Field, Place, Reader, near};
use crate::provider::FaultTerms;
use crate::provider::fault_terms::{Band, Curve, Follows, Measured};

/// The most points of a curve, and the most steps that are named.
const MOST: usize = 1_000;

/// The largest request.
const MOST_TOKENS: u64 = 1_000_000_000;

/// What a fault refers to.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// The steps that it strikes, each with its place; `None` for all.
    pub(super) steps: Option<Vec<(String, Place)>>,
    /// The fault whose episodes it shares, where that is written, and how probable it is otherwise.
    pub(super) shares: Option<(String, Place, f64)>,
    /// Where it looks at `max_tokens`.
    pub(super) max_tokens: Option<Place>,
}

/// The terms of a fault, and what they refer to.
pub(super) fn terms(reader: &Reader<'_>, episodes: Option<ReadEpisodes>) -> Option<(FaultTerms, Wanted)> {
    let (mut terms, mut wanted) = (FaultTerms::default(), Wanted::default());
    let mut sound = true;
    if let Some(field) = reader.get("steps") {
        wanted.steps = steps(&field);
        sound &= wanted.steps.is_some();
    }
    for ((of, key), by) in Measured::ALL.into_iter().zip(["by_input_tokens", "by_output_tokens", "by_max_tokens"]) {
        let (band_field, curve_field) = (reader.get(key), reader.get(by));
        if of == Measured::MaxTokens {
            wanted.max_tokens = band_field.as_ref().or(curve_field.as_ref()).map(Field::place);
        }
        if let Some(field) = band_field {
            let read = band(&field, of);
            sound &= read.is_some();
            terms.bands.extend(read);
        }
        if let Some(field) = curve_field {
            let read = curve(&field, of);
            sound &= read.is_some();
            terms.curves.extend(read);
        }
    }
    match episodes {
        None => {}
        Some(ReadEpisodes { path: Ok(path), otherwise }) => terms.episodes = Some(Follows { path, otherwise }),
        Some(ReadEpisodes { path: Err((name, place)), otherwise }) => wanted.shares = Some((name, place, otherwise)),
    }
    sound.then_some((terms, wanted))
}

fn steps(field: &Field<'_>) -> Option<Vec<(String, Place)>> {
    let items = field.list("steps", MOST)?;
    items.iter().map(|item| Some((item.text()?.to_owned(), item.place()))).collect()
}

fn band(field: &Field<'_>, of: Measured) -> Option<Band> {
    let reader = field.table("sizes: above, at_most")?;
    let [above, at_most] = ["above", "at_most"]
        .map(|key| reader.maybe(key, |field| field.whole(0..=MOST_TOKENS).map(|tokens| tokens as u32)));
    reader.finish();
    let band = Band { of, above: above?, at_most: at_most? };
    match band {
        Band { above: None, at_most: None, .. } => {
            field.wrong("says neither `above` nor `at_most`", r#"write a size, such as { above = "100k" }"#)
        }
        Band { above: Some(above), at_most: Some(most), .. } if most <= above => {
            field.wrong("holds no size: `at_most` is not larger than `above`", "write the smaller size as `above`")
        }
        _ => Some(band),
    }
}

fn curve(field: &Field<'_>, of: Measured) -> Option<Curve> {
    let items = field.list("points", MOST)?;
    let mut points: Vec<(u32, f64)> = Vec::new();
    let mut sound = true;
    for item in &items {
        let point = item.pair(r#"a size and a share, such as ["100k", 0.5]"#).and_then(|(size, share)| {
            let (tokens, share) = (size.whole(0..=MOST_TOKENS), share.ratio());
            let tokens = tokens? as u32;
            if points.last().is_some_and(|(last, _)| *last >= tokens) {
                return size.wrong("is not larger than the point before it", "write the points in ascending size");
            }
            Some((tokens, share?))
        });
        sound &= point.is_some();
        points.extend(point);
    }
    sound.then_some(Curve { of, points })
}

/// Looks up what the faults refer to.
pub(super) fn settle(provider: &mut ReadProvider<'_>, classes: &[Option<ReadClass>], context: &Context<'_>) {
    let faults = context.faults;
    let paths: Vec<_> = provider
        .faults
        .iter()
        .map(|fault| fault.as_ref().and_then(|fault| Some(fault.terms.as_ref()?.episodes.as_ref()?.path.clone())))
        .collect();
    let sound: Vec<bool> = provider.faults.iter().map(Option::is_some).collect();
    let names: Vec<&str> = provider.windows.iter().map(|(name, _)| *name).collect();
    let owners: Vec<&str> =
        names.iter().zip(&paths).filter(|(_, path)| path.is_some()).map(|(name, _)| *name).collect();
    for (fault, wanted) in provider.faults.iter_mut().zip(&provider.fault_wants) {
        let Some(fault) = fault else { continue };
        let mut terms = fault.terms.take().map_or_else(FaultTerms::default, |terms| *terms);
        if let Some((name, place, otherwise)) = &wanted.shares {
            let at = names.iter().position(|known| known == name);
            let otherwise = *otherwise;
            match at.map(|at| (&paths[at], sound[at])) {
                Some((Some(path), _)) => terms.episodes = Some(Follows { path: path.clone(), otherwise }),
                // What is wrong with it is said there.
                Some((None, false)) => {}
                Some((None, true)) => {
                    let message = format!("`{name}` describes no episodes");
                    let hint = near::existing("faults with episodes of their own", &owners, name);
                    faults.add(Fault::new(*place, message).hint(hint));
                }
                None => {
                    let hint = near::existing("faults with episodes of their own", &owners, name);
                    faults.add(Fault::new(*place, "no fault has this name").hint(hint));
                }
            }
        }
        if let Some(steps) = &wanted.steps {
            terms.steps = masks(steps, classes, faults);
        }
        if let Some(place) = wanted.max_tokens {
            check_max_tokens(place, classes, faults);
        }
        fault.terms = (!terms.is_plain()).then(|| Box::new(terms));
    }
}

/// The bits of the named steps in each class.
pub(super) fn masks(named: &[(String, Place)], classes: &[Option<ReadClass>], faults: &Faults) -> Vec<u64> {
    let all_read = classes.iter().all(Option::is_some);
    for (name, place) in named {
        let steps = || classes.iter().flatten().flat_map(|class| &class.class.steps).map(|step| step.name.as_str());
        if all_read && !steps().any(|step| step == name) {
            let mut known: Vec<&str> = Vec::new();
            steps().for_each(|step| {
                if !known.contains(&step) {
                    known.push(step);
                }
            });
            faults.add(Fault::new(*place, "no step has this name").hint(near::existing("steps", &known, name)));
        }
    }
    let of = |class: &Option<ReadClass>| {
        let steps = class.iter().flat_map(|class| &class.class.steps).enumerate();
        let named = steps.filter(|(_, step)| named.iter().any(|(name, _)| *name == step.name));
        named.fold(0_u64, |mask, (index, _)| mask | 1 << index)
    };
    classes.iter().map(of).collect()
}

/// A fault that looks at `max_tokens` spares whoever does not say them: somebody must.
fn check_max_tokens(place: Place, classes: &[Option<ReadClass>], faults: &Faults) {
    let mut steps = classes.iter().flatten().flat_map(|class| &class.class.steps);
    if classes.iter().all(Option::is_some) && !steps.any(|step| step.max_tokens.is_some()) {
        let message = "looks at `max_tokens`, and no step says them: nobody would be struck";
        faults.add(Fault::new(place, message).hint("give a step its `max_tokens`, or look at `output_tokens`"));
    }
}
