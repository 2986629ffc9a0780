//! What arithmetic says, beside the simulation, and why the two differ.

use super::{Asked, Over, share};
use crate::report::quantity::{TimeUnit, Unit};

/// The simulated edge counts as that of the arithmetic where it is no further away than this share of it.
const NEAR: f64 = 0.01;

/// The sentences: the flows, the bound, the margin for chance, the difference.
pub fn arithmetic(asked: &Asked<'_>) -> Vec<String> {
    let found = asked.found;
    let mut out = Vec::new();
    let limit = asked.limit();
    if let Some(pressure) = &found.pressure {
        let of = |flow: f64| share((flow / pressure.flow * 1e3).round() / 1e3);
        let others = if pressure.others > 0.0 { format!(", others {}", of(pressure.others)) } else { String::new() };
        out.push(format!(
            "Of `{limit}`, {} need {} at their busiest{others}. Without a backlog {} need {} at their busiest, and with one \
             they take {} for as long as it lasts.",
            asked.live(),
            of(pressure.live),
            asked.background(),
            of(pressure.wanted),
            of(pressure.background),
        ));
        out.extend(pressure.lasts().map(|seconds| {
            let unit = Unit::Time(TimeUnit::of(seconds));
            let left = pressure.flow - pressure.background - pressure.others;
            let only = if left > 0.0 {
                format!("Only if {} needed less than {} would it last for ever.", asked.live(), of(left))
            } else {
                "A backlog alone takes all that flows in.".to_owned()
            };
            format!(
                "That is {} more than flows in: a full bucket lasts {} of backlog, and then live traffic pays. {only}",
                of(-pressure.slack()),
                unit.full(seconds),
            )
        }));
    }
    let word = |text: &str| asked.value(text);
    let side = if found.low_is_safe { "at most" } else { "at least" };
    match (&found.bound.fluid, &found.bound.chance) {
        (Some((_, fluid)), Some((_, chance))) if fluid != chance => out.push(format!(
            "As even flows that gives {side} {}; with the chance in live arrivals and sizes {side} {}, where {} of them \
             find the bucket empty during a backlog without end.",
            word(fluid),
            word(chance),
            share(asked.goal().target)
        )),
        (Some((_, fluid)), Some(_)) => out.push(format!(
            "As even flows that gives {side} {}, and chance, against which the bucket stands, takes next to nothing off.",
            word(fluid)
        )),
        (Some((_, fluid)), None) => {
            out.push(format!("As even flows that gives {side} {}; the bucket leaves no room for chance.", word(fluid)));
        }
        (None, _) => out.push("Within the range of the search the flows set no bound.".to_owned()),
    }
    out.extend(difference(asked));
    out
}

/// Why the simulated edge is, or is not, where arithmetic puts it.
fn difference(asked: &Asked<'_>) -> Option<String> {
    let found = asked.found;
    let safe = found.safe()?;
    let fluid = found.bound.fluid.as_ref()?.0;
    let chance = found.bound.chance.as_ref().map_or(fluid, |(number, _)| *number);
    let is_beyond = |one: f64, other: f64| {
        let slack = NEAR * other.abs();
        if found.low_is_safe { one > other + slack } else { one < other - slack }
    };
    let whose = match &asked.over {
        Over::Budget | Over::Live => asked.value(&safe.text),
        Over::Workers | Over::Limit | Over::Setting(_) => safe.text.clone(),
    };
    let next = found.edge().next.map(|at| found.points[at].number);
    Some(if is_beyond(safe.number, fluid) {
        format!(
            "The simulation goes further, to {whose}: the backlog ends, or its work dies, before the bucket is empty."
        )
    } else if next.is_some_and(|next| is_beyond(chance, next)) {
        format!(
            "The simulation stops earlier, at {whose}: bursts, retries and the worst stretch of a bad day ask for more \
             than the even flows of the arithmetic."
        )
    } else {
        format!("The simulation agrees, with {whose}: the backlog lasts about as long as the arithmetic needs.")
    })
}
