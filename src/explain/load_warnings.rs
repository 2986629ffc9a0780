//! Warnings about what the classes together ask of a limit.

use super::load::{Demand, counts};
use super::remedy::Remedy;
use super::warning::{Code, Warning};
use super::words::{self, percent};
use crate::policy::pacer::Counts;
use crate::policy::{Guard, Mechanism, Pacer, Role};
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;
use crate::traffic::cost::mean_estimate;

/// All warnings about limits.
pub fn warnings(scenario: &Scenario, demands: &[Demand]) -> Vec<Warning> {
    let mut all = Vec::new();
    for (index, class) in scenario.traffic.iter().enumerate() {
        all.extend(too_large(scenario, class));
        for limit in &scenario.provider.limits {
            let of_limit: Vec<&Demand> = demands.iter().filter(|demand| demand.limit == limit.name).collect();
            all.extend(crowding_out(scenario, index, &of_limit));
        }
    }
    all
}

/// A background class that, once its queue is full, leaves others less of the limit than they need.
fn crowding_out(scenario: &Scenario, index: usize, demands: &[&Demand]) -> Option<Warning> {
    let class = &scenario.traffic[index];
    let own = demands.iter().find(|demand| demand.class == class.name)?;
    let live: Vec<&&Demand> =
        demands.iter().filter(|demand| is_live(scenario, &demand.class) && demand.usual() > 0.0).collect();
    let most = own.most().filter(|_| !class.is_live())?;
    let needed: f64 = live.iter().map(|demand| demand.usual()).sum();
    if live.is_empty() || needed + most <= 1.0 {
        return None;
    }
    let names: Vec<String> = live.iter().map(|demand| demand.class.clone()).collect();
    let take = if names.len() == 1 { "takes" } else { "take" };
    let (names, limit) = (words::list(&names), &own.limit);
    let total = if needed + most < 9.995 {
        format!("{} of what there is", percent(needed + most))
    } else {
        format!("{} times what there is", words::count((needed + most).round() as u64))
    };
    let Some(pacer) = pacer(scenario, class, own) else {
        let busy = own.busy_workers;
        let message = format!(
            "{} {} for {} and {names} for {}: {total}, for as long as the queue is full",
            words::counted(busy, &format!("busy {} worker", class.name)),
            if busy == 1 { "asks" } else { "ask" },
            words::part(most, limit),
            percent(needed),
        );
        let path = format!("clients.{}.layers", scenario.client_of(class).name);
        let hint = format!("add a pacer of at most {} of the limit to `{path}`", percent((1.0 - needed).max(0.0)));
        return Some(Warning { code: Code::WorkersExceedLimit, message, hint, path });
    };
    let message = format!(
        "{names} {take} {} and the pacer `{}` allows {}: {total}",
        words::part(needed, limit),
        pacer.name,
        percent(most)
    );
    let path = format!("guards.{}.pacer.amount", pacer.name);
    let room = (1.0 - needed).max(0.0) * limit_per(scenario, limit, pacer);
    if room < 1.0 {
        return Some(Warning { code: Code::PacerExceedsLimit, message, hint: format!("lower `{path}`"), path });
    }
    Some(Warning::set(Code::PacerExceedsLimit, message, Remedy { path, value: rounded(room) }).and("or less"))
}

fn is_live(scenario: &Scenario, name: &str) -> bool {
    scenario.traffic.iter().any(|class| class.name == name && class.is_live())
}

/// The pacer that holds the class back, where it is what limits it.
fn pacer<'a>(scenario: &'a Scenario, class: &TrafficClass, demand: &Demand) -> Option<&'a Guard> {
    let paced = demand.paced.filter(|paced| demand.busy.is_none_or(|busy| *paced <= busy))?;
    assert!(paced > 0.0, "a bucket refills");
    let counts = scenario.provider.limits.iter().find(|limit| limit.name == demand.limit)?.counts;
    let elements = scenario.client_of(class).elements().iter();
    let pacers = elements.filter_map(|element| match element.role {
        Role::Guard(guard) => {
            Some((&scenario.guards[guard], pacer_of(&scenario.guards[guard], counts)?.highest_rate()))
        }
        Role::Retry(_) | Role::Queue(..) | Role::Hedge(_) | Role::Fallback(_) => None,
    });
    pacers.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(guard, _)| guard)
}

fn pacer_of(guard: &Guard, counts: Counts) -> Option<&Pacer> {
    guard.pacer().filter(|pacer| pacer.counts == counts)
}

/// What the limit lets flow in one period of the pacer.
fn limit_per(scenario: &Scenario, limit: &str, guard: &Guard) -> f64 {
    let limit = scenario.provider.limits.iter().find(|candidate| candidate.name == limit);
    let rate = limit.and_then(crate::provider::Limit::per_second).unwrap_or_default();
    // What it credits twice it may be given half of.
    guard.pacer().map_or(0.0, |pacer| rate * pacer.bucket.per().as_secs_f64() / pacer.slept.times())
}

/// An amount as a file would say it, rounded down to two digits.
fn rounded(amount: f64) -> String {
    let mut step = 1_u64;
    let amount = amount as u64;
    while amount / step >= 100 {
        step *= 10;
    }
    let down = amount / step * step;
    if down >= 1_000_000 && down.is_multiple_of(1_000_000) {
        format!("\"{}M\"", down / 1_000_000)
    } else if down >= 1_000 && down.is_multiple_of(1_000) {
        format!("\"{}k\"", down / 1_000)
    } else {
        down.to_string()
    }
}

/// Requests whose mean size never fits: patience does not help them.
fn too_large(scenario: &Scenario, class: &TrafficClass) -> Vec<Warning> {
    let mut all = Vec::new();
    for limit in &scenario.provider.limits {
        let room = limit.largest();
        let counted = class.steps.iter().filter(|step| counts(scenario, limit, class, step));
        let large = counted.filter(|step| mean_estimate(limit, step) > room);
        all.extend(large.map(|step| {
            let message = format!(
                "step `{}` of {} asks for {} {} on average and `{}` never holds more than {}",
                step.name,
                class.name,
                words::count(mean_estimate(limit, step) as u64),
                limit.counts.word().replace('_', " "),
                limit.name,
                words::count(room as u64)
            );
            let path = format!("traffic.{}.steps.{}.{}", class.name, step.name, size_key(limit.counts));
            let hint = format!("make `{path}` smaller: no wait lets such a request pass");
            Warning { code: Code::RequestExceedsLimit, message, hint, path }
        }));
    }
    for element in scenario.client_of(class).elements() {
        let Role::Guard(guard) = element.role else { continue };
        let Mechanism::Size(check) = &scenario.guards[guard].mechanism else { continue };
        let name = &scenario.guards[guard].name;
        let large = class.steps.iter().filter(|step| step.input_tokens.mean() > check.at_most as f64);
        all.extend(large.map(|step| {
            let message = format!(
                "step `{}` of {} asks for {} input tokens on average and `{name}` lets no more than {} pass",
                step.name,
                class.name,
                words::count(step.input_tokens.mean() as u64),
                words::count(check.at_most)
            );
            let path = format!("traffic.{}.steps.{}.input_tokens", class.name, step.name);
            let hint = format!("make `{path}` smaller: no wait lets such a request pass");
            Warning { code: Code::RequestExceedsLimit, message, hint, path }
        }));
    }
    let windows = class.steps.iter().filter_map(|step| {
        let model = scenario.provider.models.get(scenario.provider.model(step.model.as_deref()) as usize)?;
        let (tokens, window) = (step.input_tokens.mean(), model.context_window?);
        (tokens > f64::from(window)).then(|| {
            let message = format!(
                "step `{}` of {} asks `{}` with {} input tokens on average, and its context window is {}",
                step.name,
                class.name,
                model.name,
                words::count(tokens as u64),
                words::count(u64::from(window))
            );
            let path = format!("traffic.{}.steps.{}.input_tokens", class.name, step.name);
            let hint = format!("make `{path}` smaller, or ask for a model with a larger window");
            Warning { code: Code::RequestExceedsLimit, message, hint, path }
        })
    });
    all.extend(windows);
    all
}

const fn size_key(counts: Counts) -> &'static str {
    match counts {
        Counts::Requests
        | Counts::InputTokens
        | Counts::UncachedInputTokens
        | Counts::TotalTokens
        | Counts::TokensInFlight
        | Counts::Spend => "input_tokens",
        Counts::OutputTokens => "output_tokens",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{incident, steps};
    use crate::explain::load::demands;

    fn of(scenario: &Scenario) -> Vec<Warning> {
        warnings(scenario, &demands(scenario))
    }

    #[test]
    fn half_of_the_limit_is_too_much_where_live_turns_need_53_percent() {
        let warnings = of(&incident(true));
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].code, Code::PacerExceedsLimit);
        assert_eq!(
            warnings[0].message,
            "live takes 53 % of `itpm` and the pacer `share` allows 50 %: 103 % of what there is"
        );
        // By hand: 700 k − 58.7 · 6.3 k = 330.2 k a minute are left.
        assert_eq!(warnings[0].hint, "set `guards.share.pacer.amount = \"330k\"` or less");
    }

    #[test]
    fn unpaced_workers_that_crowd_out_live_turns_are_named_with_their_share() {
        let warnings = of(&incident(false));
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].code, Code::WorkersExceedLimit);
        assert!(warnings[0].message.starts_with("8 busy report workers ask for 117 % of `itpm` and live for 53 %"));
    }

    #[test]
    fn fewer_workers_draw_no_warning() {
        // By hand: 3 / 8 of 117 % is 44 %, and 53 % for live turns: 97 %.
        let mut scenario = incident(false);
        scenario.traffic[0].kind = crate::traffic::TaskKind::Jobs { workers: 3, processes: 1 };
        assert_eq!(of(&scenario), []);
    }

    #[test]
    fn a_request_larger_than_the_bucket_is_said_to_be_so() {
        let mut scenario = incident(true);
        scenario.traffic[0].steps = steps(&["huge"], 800_000.0, 60_000.0);
        let warnings = of(&scenario);
        assert!(warnings.iter().any(|w| w.code == Code::RequestExceedsLimit
            && w.message == "step `huge` of report asks for 800,000 input tokens on average and `itpm` never holds more than 700,000"));
    }

    #[test]
    fn a_request_that_a_size_check_refuses_is_said_to_be_so() {
        let mut scenario = incident(true);
        scenario.traffic[0].steps = steps(&["huge"], 300_000.0, 60_000.0);
        scenario.guards[0].mechanism = Mechanism::Size(crate::policy::SizeCheck { at_most: 200_000 });
        let warnings = of(&scenario);
        let warning = warnings.iter().find(|warning| warning.code == Code::RequestExceedsLimit).unwrap();
        assert_eq!(
            warning.message,
            "step `huge` of report asks for 300,000 input tokens on average and `share` lets no more than 200,000 pass"
        );
    }

    #[test]
    fn a_pacer_that_credits_its_sleep_twice_takes_twice_its_share() {
        // By hand: 350 k of 700 k, twice, is all of it, and may be given half of what is left.
        let mut scenario = incident(true);
        let Mechanism::Pacer(pacer) = &mut scenario.guards[0].mechanism else { panic!("the share is a pacer's") };
        pacer.slept = crate::policy::pacer::Slept::Twice;
        let warnings = of(&scenario);
        assert_eq!(
            warnings[0].message,
            "live takes 53 % of `itpm` and the pacer `share` allows 100 %: 153 % of what there is"
        );
        assert_eq!(warnings[0].hint, "set `guards.share.pacer.amount = \"160k\"` or less");
    }

    #[test]
    fn amounts_are_rounded_down_to_two_digits() {
        let amounts = [7.0, 950.0, 1_234.0, 330_190.0, 1_270_000.0, 25_000_000.0].map(rounded);
        assert_eq!(amounts, ["7", "950", "1200", "\"330k\"", "\"1200k\"", "\"25M\""]);
    }
}
