//! What was lost of the tasks that cause the storm: those that failed and those that were abandoned, in a few words. Neither
//! is passed over: a policy that throws jobs away has fewer that fail.

use super::causes::are_dead_letters;
use super::finding::{ALL, NOTABLE};
use super::quantity::Unit;
use super::story::{Story, Subject};
use super::words::{counted, task};

/// "no report lost", or how few.
pub(super) fn lost(subject: &Subject<'_>, story: &Story<'_>) -> String {
    let some = |key: &'static str| {
        let figure = story.figure(subject, &[key]);
        figure.filter(|figure| figure.center().is_some_and(|n| n > 0.0)).map(|figure| Unit::Count.figure(Some(figure)))
    };
    let offered = counted(story.value(subject, &["offered"]).unwrap_or(0.0).round(), story.cause);
    match (some("failed"), some("abandoned")) {
        (None, None) => format!("no {} lost", task(story.cause)),
        (Some(failed), None) => format!("{failed} of {offered} lost"),
        (None, Some(abandoned)) => format!("{abandoned} of {offered} abandoned"),
        (Some(failed), Some(abandoned)) => format!("{failed} of {offered} lost and {abandoned} abandoned"),
    }
}

/// "73 of 140 reports failed", with the share of those that failed or were abandoned.
pub(super) fn failed(subject: &Subject<'_>, story: &Story<'_>) -> Option<(String, f64)> {
    let (failed, offered) = (story.value(subject, &["failed"])?, story.value(subject, &["offered"])?);
    let abandoned = story.value(subject, &["abandoned"]).unwrap_or(0.0);
    let share = (failed + abandoned) / offered;
    if !(share >= NOTABLE || (failed + abandoned >= 1.0 && !subject.is_replicated())) {
        return None;
    }
    let is_present = subject.is_replicated();
    let (fail, one, many) = match (is_present, are_dead_letters(subject, story)) {
        (true, false) => ("fail", "is", "are"),
        (false, false) => ("failed", "was", "were"),
        (true, true) => ("become dead letters", "is", "are"),
        (false, true) => ("became dead letters", "was", "were"),
    };
    let of_one = match (failed > 0.0, abandoned > 0.0) {
        (false, true) => format!("{one} abandoned"),
        (true, true) => format!("{fail} or {one} abandoned"),
        (_, false) => fail.to_owned(),
    }
    .replace("dead letters", "a dead letter");
    if share >= ALL && offered.round() == 1.0 {
        let of_one = if is_present && failed > 0.0 {
            of_one.replacen("fail", "fails", 1).replacen("become", "becomes", 1)
        } else {
            of_one
        };
        return Some((format!("the only {} {of_one}", task(story.cause)), share));
    }
    if share >= ALL {
        return Some((format!("every one of {} {of_one}", counted(offered.round(), story.cause)), share));
    }
    let number = |key| Unit::Count.figure(story.figure(subject, &[key]));
    let offered = counted(offered.round(), story.cause);
    let text = match (failed > 0.0, abandoned > 0.0) {
        (false, true) => format!("{} of {offered} {many} abandoned", number("abandoned")),
        (true, true) => {
            format!("{} of {offered} {fail} and {} {many} abandoned", number("failed"), number("abandoned"))
        }
        (_, false) => format!("{} of {offered} {fail}", number("failed")),
    };
    Some((text, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{self, set};

    #[test]
    fn tasks_that_were_abandoned_are_not_passed_over() {
        let said = |failed: f64, abandoned: f64| {
            let (scenario, mut result) = (fixture::scenario(), fixture::single());
            let at = |key| ["phases", "overload", "classes", "report", key];
            set(&mut result.figures, &at("failed"), failed);
            set(&mut result.figures, &at("abandoned"), abandoned);
            let subject = Subject::new(&scenario, &result);
            let story = Story::of(&subject).unwrap();
            (self::failed(&subject, &story).unwrap().0, lost(&subject, &story))
        };
        let both = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(said(62.0, 0.0), both("62 of 140 reports failed", "62 of 140 reports lost"));
        assert_eq!(
            said(62.0, 75.0),
            both("62 of 140 reports failed and 75 were abandoned", "62 of 140 reports lost and 75 abandoned")
        );
        assert_eq!(said(0.0, 75.0), both("75 of 140 reports were abandoned", "75 of 140 reports abandoned"));
        assert_eq!(said(65.0, 75.0).0, "every one of 140 reports failed or was abandoned");
        assert_eq!(said(0.0, 140.0).0, "every one of 140 reports was abandoned");
    }
}
