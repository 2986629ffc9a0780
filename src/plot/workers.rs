//! What the workers do instead of working: a slot that sleeps until its next attempt is as busy as one that serves.

use super::facts::Guards;
use super::label::Label;
use super::number;
use super::panel::{Body, Note, Panel, Unit, View};
use super::scale::Scale;
use super::sheet::Sheet;
use super::steps::{Bins, Column, Ground};
use crate::observe::timeline::WorkerActivity;
use crate::report::words::readable;

/// The workers of one jobs class: how many do what, on average over each bin.
pub(super) struct Workers {
    pub(super) class: usize,
    /// In the order of [`WorkerActivity::ALL`].
    busy: Vec<Bins>,
}

/// Below this share of the workers' time, in all bins, a panel would look empty.
const SEEN: f64 = 0.005;

/// The classes whose jobs take so little of the workers' time that they have no panel, but some.
pub(super) fn left_out(view: &View<'_>) -> Vec<String> {
    let worked = |class: &usize| {
        let series = &view.facts.result.timeline.classes[*class].workers;
        let mut activities = WorkerActivity::ALL.into_iter().filter(|activity| *activity != WorkerActivity::Idle);
        activities.any(|activity| series[activity as usize].iter().any(|seconds| *seconds > 0.0))
    };
    let jobs = view.facts.jobs().into_iter().filter(worked);
    jobs.filter(|class| panel(view, *class).is_none()).map(|class| view.facts.tasks(class)).collect()
}

/// The panels of all jobs classes whose workers did anything that can be seen.
pub(super) fn panels(view: &View<'_>) -> Vec<Panel> {
    view.facts.jobs().into_iter().filter_map(|class| panel(view, class)).collect()
}

fn panel(view: &View<'_>, class: usize) -> Option<Panel> {
    let series = &view.facts.result.timeline.classes[class];
    let group = view.axis.group(view.bin(), 10.0);
    let busy: Vec<Bins> = series
        .workers
        .iter()
        .map(|seconds| {
            Bins::gather(seconds, view.bin(), group, view.end(), |bins, length| {
                bins.iter().map(|&s| f64::from(s)).sum::<f64>() / length
            })
        })
        .collect();
    let working = WorkerActivity::ALL.into_iter().filter(|activity| *activity != WorkerActivity::Idle);
    let most = working.map(|activity| busy[activity as usize].most(view.axis)).fold(0.0, f64::max);
    let workers = view.facts.class(class).workers();
    if most < SEEN * f64::from(workers) {
        return None;
    }
    let whose = if view.facts.jobs().len() > 1 { format!("{} ", view.facts.class(class).name) } else { String::new() };
    let title = if let Some(pool) = view.facts.scenario.pool_of(view.facts.class(class)) {
        let name = readable(&pool.name);
        format!("What the {} {name} workers do for {}", number::count(f64::from(workers)), view.facts.tasks(class))
    } else if workers == 1 {
        format!("What the {whose}worker does")
    } else {
        format!("What the {} {whose}workers do", number::count(f64::from(workers)))
    };
    Some(Panel {
        title,
        how: vec![format!("{} means", number::bin(busy[0].width))],
        height: 128.0,
        above: 0.0,
        scale: Scale::up_to(f64::from(workers)),
        unit: Unit::None,
        note: note(view, class),
        body: Body::Workers(Workers { class, busy }),
    })
}

impl Workers {
    /// Draws the layers; waiting is hatched, as it holds a slot without using it.
    pub(super) fn draw(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let theme = view.theme;
        let stack = ground.stack(&self.busy);
        for (activity, columns) in WorkerActivity::ALL.into_iter().zip(&stack) {
            match activity {
                WorkerActivity::Serving => sheet.steps(columns, theme.delivered.fill),
                WorkerActivity::Refused => sheet.steps(columns, theme.overloaded.fill),
                WorkerActivity::WaitingRetry => sheet.hatch(columns, theme.overloaded.fill, theme.window),
                WorkerActivity::WaitingLimiter => sheet.hatch(columns, theme.throttled.fill, theme.recovery),
                WorkerActivity::Idle => sheet.steps(columns, theme.idle),
            }
        }
        for pair in stack.windows(2) {
            sheet.seam(&pair[0], &pair[1], theme.page);
        }
    }

    /// Names each layer where it is thickest.
    pub(super) fn name(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        let (theme, form) = (view.theme, view.form);
        for (activity, columns) in WorkerActivity::ALL.into_iter().zip(ground.stack(&self.busy)) {
            let (names, color) = words(view.facts.guards(self.class), activity, theme);
            let mut write = |text: String, columns: &[Column]| match activity {
                WorkerActivity::Serving | WorkerActivity::Refused => {
                    Label::bold(text, color, form).inside(sheet, columns)
                }
                WorkerActivity::WaitingRetry | WorkerActivity::WaitingLimiter => {
                    Label::bold(text, color, form).plated(sheet, columns, theme.page)
                }
                WorkerActivity::Idle => Label::plain(text, color, form).inside(sheet, columns),
            };
            // A share is of the window, so it stands there or nowhere.
            let shared = self
                .share(view, activity)
                .is_some_and(|share| write(format!("{} {share}", names[0]), &in_window(view, self.class, &columns)));
            let _ = shared || names.iter().any(|name| write(name.clone(), &columns));
        }
    }

    /// The share of the workers' time in the worst window; not told of what is normal.
    fn share(&self, view: &View<'_>, activity: WorkerActivity) -> Option<String> {
        let told = match activity {
            WorkerActivity::Refused | WorkerActivity::WaitingRetry | WorkerActivity::WaitingLimiter => true,
            WorkerActivity::Serving | WorkerActivity::Idle => false,
        };
        let times = times(view, self.class).filter(|_| told)?;
        let all: f64 = times.iter().sum();
        (all > 0.0 && times[activity as usize] / all >= 0.01).then(|| number::share(times[activity as usize] / all))
    }
}

/// The columns that lie in the window whose shares are told; all of them where the shares are of the whole run.
fn in_window(view: &View<'_>, class: usize, columns: &[Column]) -> Vec<Column> {
    let name = window(view, class);
    let Some(window) = view.incident.windows.iter().find(|shade| name == Some(shade.name.as_str())) else {
        return columns.to_vec();
    };
    let (left, right) = (view.axis.x(window.from) - 0.01, view.axis.x(window.to) + 0.01);
    columns.iter().filter(|column| column.left >= left && column.right <= right).copied().collect()
}

/// What a worker waits for, where these guards hold it back.
fn held(guards: Guards) -> String {
    let kinds =
        [(guards.pacer, "a pacer"), (guards.breaker, "a breaker"), (guards.gate, "a gate"), (guards.line, "a permit")];
    let there: Vec<&str> = kinds.into_iter().filter_map(|(is_there, kind)| is_there.then_some(kind)).collect();
    match there.split_last() {
        None => "waits for a limiter".to_string(),
        Some((only, [])) => format!("waits for {only}"),
        Some((last, others)) => format!("waits for {} or {last}", others.join(", ")),
    }
}

fn words(
    guards: Guards,
    activity: WorkerActivity,
    theme: &super::theme::Theme,
) -> ([String; 2], plotters::style::RGBColor) {
    let (names, color) = match activity {
        WorkerActivity::Serving => (["delivers", "delivers"], theme.delivered.on),
        WorkerActivity::Refused => (["in a request that is refused", "refused"], theme.overloaded.on),
        WorkerActivity::WaitingRetry => (["asleep until the next attempt", "asleep"], theme.overloaded.text),
        WorkerActivity::WaitingLimiter => return ([held(guards), "waits".to_string()], theme.throttled.text),
        WorkerActivity::Idle => (["idle", "idle"], theme.second),
    };
    (names.map(str::to_string), color)
}

/// The names of the activities among the figures, in the order of [`WorkerActivity::ALL`].
const LEAVES: [&str; 5] = ["serving", "refused", "waiting_retry", "waiting_limiter", "idle"];

/// The window in which least time went into requests that were delivered.
fn window<'a>(view: &View<'a>, class: usize) -> Option<&'a str> {
    view.incident.worst(&view.facts, class, "amplification")
}

/// Worker seconds in the worst window, or in the whole run, by activity.
fn times(view: &View<'_>, class: usize) -> Option<[f64; 5]> {
    let name = view.facts.class(class).name.as_str();
    let mut times = [0.0; 5];
    for (time, leaf) in times.iter_mut().zip(LEAVES) {
        let path = match window(view, class) {
            Some(phase) => vec!["phases", phase, "classes", name, "worker_time_s", leaf],
            None => vec!["classes", name, "worker_time_s", leaf],
        };
        *time = view.facts.value(&path)?;
    }
    Some(times)
}

fn note(view: &View<'_>, class: usize) -> Option<Note> {
    let times = times(view, class)?;
    let all: f64 = times.iter().sum();
    let wasted: f64 = times[1..4].iter().sum();
    let place = window(view, class).map_or("in the whole run".to_string(), |phase| format!("in the {phase}"));
    let text = format!("of worker time {place} goes into requests that are refused and into waiting");
    (all > 0.0).then(|| Note::new(number::share(wasted / all), text))
}
