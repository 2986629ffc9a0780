//! What the operator of the scenario did, and when: a reader who sees the curves turn wants to know by whom.

use super::quantity::{TimeUnit, Unit};
use super::story::Subject;
use super::words::{plural, readable, tasks};
use crate::scenario::{Act, Intervention};
use crate::units::SimTime;

/// A sentence for each intervention, in the order of time, without a full stop.
pub fn interventions(subject: &Subject<'_>) -> Vec<String> {
    let mut all: Vec<&Intervention> = subject.scenario.interventions.iter().collect();
    all.sort_by_key(|intervention| intervention.at);
    all.into_iter().map(|intervention| sentence(subject, intervention)).collect()
}

fn sentence(subject: &Subject<'_>, intervention: &Intervention) -> String {
    let origin = subject.scenario.origin.as_secs_f64();
    let minute = |at: SimTime| Unit::Time(TimeUnit::Minutes).bare(at.as_secs_f64() - origin);
    let at = minute(intervention.at);
    let until = (intervention.until < SimTime::NEVER).then(|| format!(" until minute {}", minute(intervention.until)));
    format!("`{}` at minute {at}{}: {}", intervention.name, until.unwrap_or_default(), what(subject, &intervention.act))
}

/// What is done, in words.
fn what(subject: &Subject<'_>, act: &Act) -> String {
    let class = |index: usize| &subject.scenario.traffic[index];
    match act {
        Act::Pause { class: index } => {
            format!("the workers of {} are paused", plural(&readable(&class(*index).name)))
        }
        Act::Purge { class: index } => {
            format!("the {} that wait are thrown away", plural(&readable(&class(*index).name)))
        }
        Act::Trip { guard } => format!("breaker `{}` is opened", subject.scenario.guards[*guard].name),
        Act::Deploy { class: index, other, share } => {
            let class = class(*index);
            let part = match (*share < 1.0, class.is_live()) {
                (false, _) => "all".to_owned(),
                (true, true) => Unit::Share.full(*share),
                (true, false) => format!("{} of the workers", Unit::Share.full(*share)),
            };
            format!("`{}` is deployed for {part} of {}", class.others[*other].client.name, tasks(class))
        }
        Act::Move { class: index, to } => {
            let pool = &subject.scenario.pools[*to].name;
            format!("the {} are given to the workers of `{pool}`", plural(&readable(&class(*index).name)))
        }
        Act::Limit { name, amount, of: None } => format!("`{name}` has {amount}"),
        Act::Limit { name, amount, of: Some(of) } => format!("`{name}` of `{of}` has {amount}"),
    }
}
