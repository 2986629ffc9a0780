//! What monitoring would have said, and when: each alert of the file, whether it fired or not. An alert that fires after
//! the damage is done is a finding too, so the tasks that had been hit by then stand beside the time.

use super::quantity::{TimeUnit, Unit, count};
use super::story::Subject;
use super::words::tasks;
use crate::experiment::Figure;
use crate::scenario::{Alert, Watched};

/// A sentence for each alert, without a full stop.
pub fn alerts(subject: &Subject<'_>) -> Vec<String> {
    subject.scenario.alerts.iter().filter_map(|alert| sentence(subject, alert)).collect()
}

fn sentence(subject: &Subject<'_>, alert: &Alert) -> Option<String> {
    let figure = |key| subject.figure(&["alerts", &alert.name, key]);
    let fired = figure("fired")?;
    let name = format!("`{}`", alert.name);
    let Some(at) = figure("fired_s").and_then(Figure::center) else { return Some(format!("{name} never fired")) };
    let minute = |seconds: f64| Unit::Time(TimeUnit::Minutes).bare(seconds - subject.scenario.origin.as_secs_f64());
    let within = |key| match figure(key).and_then(Figure::interval) {
        Some((low, high)) => format!(" [{}, {}]", minute(low), minute(high)),
        None => String::new(),
    };
    let who = tasks(&subject.scenario.traffic[alert.class]);
    let hit = Unit::Count.figure(figure("hit_before"));
    let fired_at = figure("fired_s");
    let start = match (subject.result.replicates, fired_at) {
        (Some(runs), Some(Figure::Many { statistic: Some(statistic), .. })) => {
            format!("{name} fired in {} of {} runs,", count(statistic.n as f64), count(runs as f64))
        }
        _ => format!("{name} fired"),
    };
    // A mean says nothing of the runs that ended before.
    let left = runs_of(fired_at).saturating_sub(runs_of(figure("cleared_s")));
    let end = match figure("cleared_s").and_then(Figure::center) {
        Some(cleared) if left == 0 => format!("cleared at minute {}{}", minute(cleared), within("cleared_s")),
        Some(cleared) => format!(
            "cleared at minute {}{}; in {} of them it was firing when the run ended",
            minute(cleared),
            within("cleared_s"),
            count(left as f64)
        ),
        None => "was firing when the run ended".to_owned(),
    };
    let again = fired.center().filter(|times| *times > 1.0).map_or(String::new(), |_| {
        let seconds = figure("firing_s").and_then(Figure::center).unwrap_or(0.0);
        let span = Unit::Time(TimeUnit::of(seconds)).full(seconds);
        format!("; it fired {} times, {span} in all", Unit::Count.brief(Some(fired)))
    });
    let (at, within, met) = (minute(at), within("fired_s"), met(alert.of));
    Some(format!("{start} at minute {at}{within}, when {hit} {who} had {met}, and {end}{again}"))
}

/// In how many runs a figure over replicates is defined.
fn runs_of(figure: Option<&Figure>) -> u64 {
    match figure {
        Some(Figure::Many { statistic: Some(statistic), .. }) => statistic.n,
        Some(Figure::Many { statistic: None, .. } | Figure::One(_)) | None => 0,
    }
}

/// What those have met who are counted as hit.
const fn met(of: Watched) -> &'static str {
    match of {
        Watched::TasksWith429 | Watched::Requests429 => "met a 429",
        Watched::TasksWithOverload | Watched::RequestsOverload => "met a 529 or a 503",
        Watched::Failed => "failed",
        Watched::RequestsFailed | Watched::RequestsPerCall | Watched::Requests | Watched::Queue => "been refused",
    }
}

/// The rule in words, as "429 share of live turns above 2 % for 3 min".
pub fn rule(subject: &Subject<'_>, alert: &Alert) -> String {
    let side = if alert.above { "above" } else { "below" };
    let threshold = match alert.of {
        Watched::Queue => count(alert.threshold),
        Watched::RequestsPerCall => Unit::Ratio.full(alert.threshold),
        Watched::Requests => format!("{} a second", count(alert.threshold)),
        _ => Unit::Share.full(alert.threshold),
    };
    let time = |span: crate::units::SimDuration| {
        let seconds = span.as_secs_f64();
        Unit::Time(TimeUnit::of(seconds)).full(seconds)
    };
    let held = if alert.holds_for.is_zero() { String::new() } else { format!(" for {}", time(alert.holds_for)) };
    let class = &subject.scenario.traffic[alert.class].name;
    let over = if alert.of == Watched::Queue { String::new() } else { format!(", over {}", time(alert.over)) };
    format!("{} of {class} {side} {threshold}{held}{over}, looked at every {}", alert.of.word(), time(alert.every))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Number, Tree};
    use crate::report::fixture;
    use crate::units::SimDuration;

    fn alert() -> Alert {
        let minute = SimDuration::from_mins(1);
        Alert {
            name: "paging".into(),
            class: 1,
            of: Watched::TasksWith429,
            threshold: 0.02,
            above: true,
            over: minute,
            holds_for: minute.times(3),
            clears_after: SimDuration::ZERO,
            every: SimDuration::from_secs(15),
            minimum: 1,
        }
    }

    /// What is said where the figures are these.
    fn said(replicates: Option<u64>, figures: Vec<(&str, Figure)>) -> String {
        let (mut scenario, mut result) = (fixture::scenario(), fixture::single());
        scenario.alerts = vec![alert()];
        result.replicates = replicates;
        let table = figures.into_iter().map(|(key, figure)| (key.to_owned(), Tree::Leaf(figure)));
        let table = Tree::Table(vec![("paging".to_owned(), Tree::Table(table.collect()))]);
        result.figures = Tree::Table(vec![("alerts".to_owned(), table)]);
        alerts(&Subject::new(&scenario, &result)).remove(0)
    }

    #[test]
    fn runs_in_which_it_never_cleared_are_not_left_out_of_the_sentence() {
        let many = |n: u64, mean: f64| {
            let mut statistic = fixture::statistic(mean, mean, mean);
            statistic.n = n;
            Figure::Many { statistic: Some(statistic), whole: false }
        };
        let of = |cleared: Figure| {
            let fired = [("fired", many(200, 0.9)), ("fired_s", many(180, 2_100.0)), ("hit_before", many(180, 26.0))];
            said(Some(200), fired.into_iter().chain([("cleared_s", cleared)]).collect())
        };
        // The first fault of the fixture begins at minute 10, which is minute 0 of all reports.
        let start =
            "`paging` fired in 180 of 200 runs, at minute 25 [25, 25], when 26 [26, 26] live turns had met a 429, and ";
        assert_eq!(of(many(180, 2_400.0)), format!("{start}cleared at minute 30 [30, 30]"));
        let some = format!("{start}cleared at minute 30 [30, 30]; in 30 of them it was firing when the run ended");
        assert_eq!(of(many(150, 2_400.0)), some);
        let none = Figure::Many { statistic: None, whole: false };
        assert_eq!(of(none), format!("{start}was firing when the run ended"));
    }

    #[test]
    fn a_single_run_says_when_and_an_idle_alert_says_so() {
        let one = |value: f64| Figure::One(Number::real(value));
        let never = vec![("fired", one(0.0)), ("fired_s", one(f64::NAN))];
        assert_eq!(said(None, never), "`paging` never fired");
        let twice = vec![
            ("fired", one(2.0)),
            ("fired_s", one(2_100.0)),
            ("cleared_s", one(2_400.0)),
            ("hit_before", one(26.0)),
            ("firing_s", one(400.0)),
        ];
        assert_eq!(
            said(None, twice),
            "`paging` fired at minute 25, when 26 live turns had met a 429, and cleared at minute 30; it fired 2 times, \
             6.7 min in all"
        );
    }
}
