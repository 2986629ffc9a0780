//! What the server did that nobody wanted: work done twice, work that was reported as failed, work for callers who had
//! left. A class without any of it is not mentioned.

use crate::experiment::Figure;

use super::quantity::{TimeUnit, Unit};
use super::story::{Scope, Subject};
use super::words::listed;

/// For each class with repeated or failed effects a sentence without a full stop.
pub fn effects(subject: &Subject<'_>) -> Vec<String> {
    by_class(subject, |name, number| {
        let all = number("effects").unwrap_or(0.0);
        let brief = |key: &str| number(key).map(|_| Unit::Count.brief(subject.of(Scope::Whole, name, &[key])));
        let said = [
            brief("repeated_effects").map(|n| format!("{n} of {} effects were repetitions", Unit::Count.bare(all))),
            brief("failed_with_effect").map(|n| format!("{n} failed although the server had done the step")),
            brief("repeated_output").map(|n| format!("{n} requests followed output that was already shown")),
        ];
        said.into_iter().flatten().collect()
    })
}

/// For each class whose callers left the server at work a sentence without a full stop.
pub fn wasted(subject: &Subject<'_>) -> Vec<String> {
    by_class(subject, |_, number| {
        let full = |seconds: f64| Unit::Time(TimeUnit::of(seconds)).full(seconds);
        let (Some(all), Some(wasted)) = (number("server_s"), number("wasted_server_s")) else { return Vec::new() };
        vec![format!("{} of {} of service were for callers who had left", full(wasted), full(all))]
    })
}

/// For each class what the provider's cache spared it.
pub fn cached(subject: &Subject<'_>) -> Vec<String> {
    by_class(subject, |_, number| {
        let Some(all) = number("admitted_input_tokens") else { return Vec::new() };
        let share = Unit::Share.full(number("cached_input_share").unwrap_or(0.0));
        vec![format!("{share} of {} admitted input tokens were read from the cache", Unit::Count.bare(all))]
    })
}

/// For each class with a first token its quantiles.
pub fn first_tokens(subject: &Subject<'_>) -> Vec<String> {
    by_class(subject, |name, _| {
        let quantile = |key: &str| {
            let seconds = subject.of(Scope::Whole, name, &["first_token_s", key]).and_then(Figure::center)?;
            Some(format!("{key} {}", Unit::Time(TimeUnit::of(seconds)).full(seconds)))
        };
        let quantiles: Vec<String> = ["p50", "p95", "max"].into_iter().filter_map(quantile).collect();
        if quantiles.is_empty() { Vec::new() } else { vec![format!("first token after {}", quantiles.join(", "))] }
    })
}

/// What there is to say of each class, behind its name where there are several. `say` is given the class and its
/// numbers above zero.
fn by_class(subject: &Subject<'_>, say: impl Fn(&str, &dyn Fn(&str) -> Option<f64>) -> Vec<String>) -> Vec<String> {
    let classes = &subject.scenario.traffic;
    let sentence = |name: &str| {
        let number = |key: &str| subject.value(Scope::Whole, name, &[key]).filter(|value| *value > 0.0);
        let said = say(name, &number);
        let name = if classes.len() > 1 { format!("{name}: ") } else { String::new() };
        let mean = if subject.is_replicated() { ", means over the runs" } else { "" };
        (!said.is_empty()).then(|| format!("{name}{}{mean}", listed(&said)))
    };
    classes.iter().filter_map(|class| sentence(&class.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Number, Tree};
    use crate::report::fixture;

    #[test]
    fn only_what_was_done_twice_or_for_nobody_is_said() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        let sentences = |result: &crate::experiment::RunResult| {
            let subject = Subject::new(&scenario, result);
            [effects(&subject), wasted(&subject), first_tokens(&subject)].concat()
        };
        assert_eq!(sentences(&result), Vec::<String>::new());
        let Tree::Table(top) = &mut result.figures else { panic!("figures are a table") };
        let classes = top.iter_mut().find(|(name, _)| name == "classes").map(|(_, classes)| classes);
        let Some(Tree::Table(classes)) = classes else { panic!("there are classes") };
        for (name, class) in classes.iter_mut() {
            let Tree::Table(figures) = class else { panic!("a class is a table") };
            let leaf = |value| Tree::Leaf(Figure::One(Number::real(value)));
            let mut put = |key: &str, value: Tree<Figure>| figures.push((key.to_owned(), value));
            put("effects", leaf(12.0));
            put("server_s", leaf(135.0));
            if name == "live" {
                put("repeated_effects", leaf(2.0));
                put("failed_with_effect", leaf(1.0));
                put("wasted_server_s", leaf(90.0));
                put("first_token_s", Tree::Table(vec![("p50".to_owned(), leaf(0.6)), ("max".to_owned(), leaf(3.0))]));
            }
        }
        assert_eq!(
            sentences(&result),
            [
                "live: 2 of 12 effects were repetitions and 1 failed although the server had done the step",
                "live: 90 s of 2.2 min of service were for callers who had left",
                "live: first token after p50 0.6 s, max 3 s",
            ]
        );
    }
}
