//! Each hint of `explain` is applied to the incident and simulated: a remedy must not make worse what it is a remedy
//! for. Paired runs with the same seeds, so that a difference is the setting's.

use retrycast::explain::{Code, Warning, explain};
use retrycast::scenario::Scenario;

use super::stage::{Run, shipped};

const SEEDS: [u64; 2] = [1, 2];

/// The settings between the back-ticks of a hint, as `--set` takes them; none where the hint is no setting.
fn settings(warning: &Warning) -> Vec<String> {
    if !warning.hint.starts_with("set ") {
        return Vec::new();
    }
    let pieces = warning.hint.split('`').skip(1).step_by(2);
    pieces.filter_map(|piece| piece.split_once(" = ")).map(|(path, value)| format!("{path}={value}")).collect()
}

/// What a warning is about: the number that its remedy must not raise, and by which factor chance may.
fn metric(warning: &Warning) -> (&'static str, f64) {
    let live = warning.path.starts_with("clients.live");
    // Slow runs are for jobs that would be lost: those that live on send requests again.
    if warning.code == Code::NestedRetry && warning.path.contains(".queue.") {
        return ("classes.report.failed", 1.0);
    }
    match warning.code {
        Code::TooManyAttempts => ("classes.live.max_requests_per_task", 1.0),
        Code::UnboundedHint | Code::SlaAtRisk | Code::TimeoutBelowLatency => ("classes.live.latency_s.max", 1.0),
        Code::PacerExceedsLimit | Code::WorkersExceedLimit => ("classes.live.tasks_with_429", 1.05),
        Code::FixedWaitWithoutJitter
        | Code::RetryAtOnce
        | Code::NestedRetry
        | Code::RetriesInTestClient
        | Code::UnspokenRetries
        | Code::RestartPaysAgain
        | Code::BreakerSpendsRuns
        | Code::FanOutWithoutLimit
        | Code::PacerOutsideRetries
        | Code::RequestExceedsLimit
        | Code::SemaphoreBelowWorkers
        | Code::PoolBelowWorkers
        | Code::PoolOutsideRetries
        | Code::OverloadOutlivesCause
        | Code::PermitsWithoutWorkers
        | Code::JobOutlivesVisibility => (if live { "classes.live.requests" } else { "classes.report.requests" }, 1.02),
    }
}

fn runs(scenario: &Scenario) -> Vec<Run> {
    SEEDS.iter().map(|seed| Run::of(scenario, *seed)).collect()
}

fn sum(runs: &[Run], path: &str) -> f64 {
    runs.iter().map(|run| run.number(path)).sum()
}

#[test]
fn no_hint_makes_worse_what_it_is_a_remedy_for() {
    for variant in ["before", "after"] {
        let scenario = shipped("report_storm", variant, &[]);
        let base = runs(&scenario);
        let remedies = explain(&scenario).warnings.into_iter().map(|warning| (settings(&warning), warning));
        let remedies: Vec<(Vec<String>, Warning)> = remedies.filter(|(settings, _)| !settings.is_empty()).collect();
        assert!(remedies.len() >= 5, "{remedies:#?}");
        for (sets, warning) in &remedies {
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let changed = runs(&shipped("report_storm", variant, &sets));
            let (path, slack) = metric(warning);
            let (old, new) = (sum(&base, path), sum(&changed, path));
            assert!(new <= old * slack, "{variant}: {sets:?} takes {path} from {old} to {new}");
            // And a healthy system stays whole: nobody fails before the overload who did not.
            for class in ["live", "report"] {
                let path = format!("phases.before.classes.{class}.failed");
                assert!(sum(&changed, &path) <= sum(&base, &path), "{variant}: {sets:?} fails {class}s in quiet times");
            }
        }
    }
}
