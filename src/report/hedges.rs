//! What hedging cost: requests that were sent beside others, and those that a budget or a limit kept back.

use super::quantity::Unit;
use super::story::{Scope, Subject};
use crate::experiment::Figure;

/// A sentence for each class that hedged or wanted to, without a full stop.
pub fn hedges(subject: &Subject<'_>) -> Vec<String> {
    let classes = &subject.scenario.traffic;
    let sentence = |name: &str| {
        let figure = |key: &str| subject.of(Scope::Whole, name, &[key]);
        let center = |key| figure(key).and_then(Figure::center).filter(|n| *n > 0.0);
        let brief = |key| Unit::Count.brief(figure(key));
        let sent = center("hedges").map(|_| {
            let share = center("requests").map_or_else(String::new, |_| format!(" of {} requests", brief("requests")));
            format!("{}{share} were hedges, sent before the first one of their call had succeeded", brief("hedges"))
        });
        let kept = center("suppressed_hedges")
            .map(|_| format!("{} more were kept back by a budget or a limit of hedges", brief("suppressed_hedges")));
        let said: Vec<String> = [sent, kept].into_iter().flatten().collect();
        let name = if classes.len() > 1 { format!("{name}: ") } else { String::new() };
        let mean = if subject.is_replicated() { ", means over the runs" } else { "" };
        (!said.is_empty()).then(|| format!("{name}{}{mean}", said.join("; ")))
    };
    classes.iter().filter_map(|class| sentence(&class.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Number, Tree};
    use crate::report::fixture;

    #[test]
    fn hedges_are_told_and_who_sent_none_is_not_mentioned() {
        let (scenario, mut result) = (fixture::scenario(), fixture::single());
        let number = |n| Tree::Leaf(Figure::One(Number::count(n)));
        let table = |all: &[(&str, u64)]| {
            Tree::Table(all.iter().map(|(name, value)| ((*name).to_owned(), number(*value))).collect())
        };
        let class = table(&[("requests", 1200), ("hedges", 210), ("suppressed_hedges", 32)]);
        result.figures =
            Tree::Table(vec![("classes".to_owned(), Tree::Table(vec![(scenario.traffic[0].name.clone(), class)]))]);
        let name = &scenario.traffic[0].name;
        assert_eq!(
            hedges(&Subject::new(&scenario, &result)),
            [format!(
                "{name}: 210 of 1,200 requests were hedges, sent before the first one of their call had succeeded; 32 more \
                 were kept back by a budget or a limit of hedges"
            )]
        );
        result.figures = Tree::Table(Vec::new());
        assert_eq!(hedges(&Subject::new(&scenario, &result)), Vec::<String>::new());
    }
}
