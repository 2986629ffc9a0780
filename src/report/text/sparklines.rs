//! Sparklines put cause and effect under each other on one time axis: one column for each wide bin, or for a whole
//! number of them where the run is longer than the page is wide. A zero is a dot, because a blank is read as no data;
//! the largest value stands at the end, because a sparkline has no axis.

use crate::observe::Timeline;
use crate::observe::timeline::{ClassSeries, WorkerActivity};
use crate::report::headline::Tint;
use crate::report::quantity::Unit;
use crate::report::story::{Story, Subject};
use crate::report::words::{readable, task, tasks};

use super::page::{Page, left, painted, right, width};

/// The widest label.
const LABEL: usize = 24;
/// The widest value at the end of a line.
const VALUE: usize = 7;
/// A rate below this, per second, is told per minute.
const SLOW: f64 = 0.95;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The span of time that is shown, in columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct View {
    pub(super) from_s: f64,
    pub(super) column_s: f64,
    pub(super) columns: usize,
}

impl View {
    fn column(&self, seconds: f64) -> usize {
        (((seconds - self.from_s) / self.column_s).max(0.0) as usize).min(self.columns)
    }
}

/// One line: what it shows, a value for each column, and the largest of them in words.
pub(super) struct Spark {
    pub(super) label: String,
    pub(super) values: Vec<Option<f64>>,
    pub(super) top: f64,
    pub(super) end: String,
    pub(super) tint: Tint,
    /// Whether it is shown where several runs stand below each other.
    pub(super) is_telling: bool,
}

/// Writes the sparklines with their ruler.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>, story: &Story<'_>) {
    let timeline = &subject.result.timeline;
    if timeline.wides == 0 || timeline.bins == 0 || timeline.wide.is_zero() {
        return;
    }
    let label = if page.is_narrow() { 0 } else { LABEL };
    let room = page.width() - 2 - label - if page.is_narrow() { 0 } else { VALUE + 1 };
    let view = view(subject, room);
    let sparks = sparks(subject, story, &view, is_slow(subject, story, &view));
    page.blank();
    let indent = " ".repeat(2 + label);
    let recovery = recovery_span(subject);
    let ruler = ruler(subject, &view, recovery);
    if !ruler.trim().is_empty() {
        let most = if page.is_narrow() { String::new() } else { right("most", VALUE) };
        page.line(&format!("{indent}{} {most}", left(&ruler, view.columns)));
    }
    for spark in sparks {
        let line = painted(&drawn(&spark.values, spark.top), spark.tint);
        if page.is_narrow() {
            let end = spark.end.trim();
            let end = if end.starts_with('≥') { end.to_owned() } else { format!("most {end}") };
            page.line(&format!("  {}, {end}", spark.label));
            page.line(&format!("  {line}"));
        } else {
            let end = right(&spark.end, VALUE);
            page.line(&format!("  {}{} {end}", left(&spark.label, label), left(&line, view.columns)));
        }
    }
    page.line(&format!("{indent}{}", axis(subject, &view, recovery)));
    let per = view.column_s / timeline.wide.as_secs_f64();
    if per > 1.0 {
        let column = crate::units::SimDuration::from_secs_f64(view.column_s);
        page.line(&format!("{indent}one column is {column}"));
    }
    if let Some(cut) = cut(subject, &view) {
        page.paragraph(&indent, &cut);
    }
}

/// What is shown: the fault windows and the recovery with some quiet time on both sides, or the whole run.
pub(super) fn view(subject: &Subject<'_>, room: usize) -> View {
    let timeline = &subject.result.timeline;
    let (wide, horizon) = (timeline.wide.as_secs_f64(), subject.scenario.horizon.as_secs_f64());
    let (from, to) = match (subject.windows().first(), subject.windows().last()) {
        (Some((_, first)), Some((_, last))) => {
            let recovered = last.to.as_secs_f64() + recovery_s(subject).unwrap_or(f64::INFINITY);
            let end = recovered.max(last_loss_s(timeline)).min(horizon);
            let length = end - first.from.as_secs_f64();
            (first.from.as_secs_f64() - (0.15 * length).max(2.0 * wide), end + (0.3 * length).max(4.0 * wide))
        }
        _ => (0.0, horizon),
    };
    let from = (from.max(0.0) / wide).floor();
    let wides = (to.min(horizon) / wide).ceil() - from;
    let per_column = (wides / room as f64).ceil().max(1.0);
    View { from_s: from * wide, column_s: per_column * wide, columns: (wides / per_column).ceil().max(1.0) as usize }
}

/// From the end of the last window until things were measured to be back; a phase of that name may be fixed otherwise.
fn recovery_span(subject: &Subject<'_>) -> Option<(f64, f64)> {
    let end = subject.windows().iter().map(|(_, window)| window.to.as_secs_f64()).fold(f64::NAN, f64::max);
    Some((end, end + recovery_s(subject)?))
}

fn recovery_s(subject: &Subject<'_>) -> Option<f64> {
    subject.figure(&["recovery", "total_s"])?.center()
}

/// The end of the last narrow bin in which a task failed for good.
fn last_loss_s(timeline: &Timeline) -> f64 {
    let last = timeline.classes.iter().filter_map(|series| series.failures.iter().rposition(|n| *n > 0)).max();
    last.map_or(0.0, |i| timeline.bin_start(i + 1).as_secs_f64())
}

/// `├─ overload 22 min ─┤recovery`.
pub(super) fn ruler(subject: &Subject<'_>, view: &View, recovery: Option<(f64, f64)>) -> String {
    let mut cells = vec![' '; view.columns];
    let mut put = |at: usize, text: &str, end: usize| {
        for (cell, c) in cells[at..end.min(view.columns)].iter_mut().zip(text.chars()) {
            *cell = c;
        }
    };
    for (name, window) in subject.windows() {
        let (from, to) = (view.column(window.from.as_secs_f64()), view.column(window.to.as_secs_f64()));
        if to > from {
            let minutes = Unit::Time(crate::report::quantity::TimeUnit::of(window.length().as_secs_f64()));
            let length = minutes.full(window.length().as_secs_f64());
            put(
                from,
                &bracket(&[format!(" {} {length} ", readable(name)), format!(" {} ", readable(name))], to - from),
                to,
            );
        }
    }
    if let Some((from, to)) = recovery {
        let (from, to) = (view.column(from), view.column(to));
        let fitting = ["recovery", "recov.", "rec."].into_iter().find(|word| word.len() <= to.saturating_sub(from));
        if let Some(word) = fitting {
            put(from, word, to);
        }
    }
    cells.into_iter().collect()
}

/// A bracket of this many columns around the longest of the texts that fits.
fn bracket(texts: &[String], columns: usize) -> String {
    if columns < 2 {
        return "┬".repeat(columns);
    }
    let text = texts.iter().find(|text| width(text) + 3 <= columns).map_or("", String::as_str);
    let dashes = columns - 2 - width(text);
    let before = dashes.min(1);
    format!("├{}{text}{}┤", "─".repeat(before), "─".repeat(dashes - before))
}

/// Minutes (or seconds, or hours) since the origin, under the columns where something begins or ends.
pub(super) fn axis(subject: &Subject<'_>, view: &View, recovery: Option<(f64, f64)>) -> String {
    let origin = subject.scenario.origin.as_secs_f64();
    let length = view.column_s * view.columns as f64;
    let unit = crate::report::quantity::TimeUnit::of(length);
    let mut marks = vec![view.from_s];
    marks.extend(subject.windows().iter().flat_map(|(_, w)| [w.from.as_secs_f64(), w.to.as_secs_f64()]));
    marks.extend(recovery.map(|(_, to)| to));
    if subject.windows().is_empty() {
        marks.extend((1..4).map(|i| view.from_s + length * f64::from(i) / 4.0));
    }
    let label = |seconds: f64| {
        let value = ((seconds - origin) / unit.seconds() * 10.0).round() / 10.0;
        let text = if value.fract() == 0.0 { format!("{:.0}", value.abs()) } else { format!("{:.1}", value.abs()) };
        if value < 0.0 { format!("−{text}") } else { text }
    };
    let end = (view.from_s + length).min(subject.scenario.horizon.as_secs_f64().max(view.from_s + view.column_s));
    let last = format!("{} {}", label(end), unit.sign());
    let last_at = view.columns.saturating_sub(width(&last));
    let mut line = String::new();
    for mark in marks {
        let (at, text) = (view.column(mark), label(mark));
        let free = if line.is_empty() { 0 } else { width(&line) + 1 };
        if at >= free && at + width(&text) < last_at {
            line = format!("{}{text}", left(&line, at));
        }
    }
    format!("{}{last}", left(&line, last_at))
}

/// What of the run is not shown, where something is not.
fn cut(subject: &Subject<'_>, view: &View) -> Option<String> {
    let horizon = subject.scenario.horizon.as_secs_f64();
    let end = view.from_s + view.column_s * view.columns as f64;
    let unit = crate::report::quantity::TimeUnit::of(end - view.from_s);
    let time = |seconds: f64| crate::report::quantity::Unit::Time(unit).full(seconds);
    let before = (view.from_s > 0.0).then(|| format!("the first {}", time(view.from_s)));
    let after = (horizon > end).then(|| format!("the last {}", time(horizon - end)));
    let parts: Vec<String> = before.into_iter().chain(after).collect();
    (!parts.is_empty()).then(|| format!("cut off: {}", parts.join(" and ")))
}

pub(super) fn drawn(values: &[Option<f64>], top: f64) -> String {
    values
        .iter()
        .map(|value| match value {
            None => ' ',
            Some(value) if *value <= 0.0 || top <= 0.0 => '·',
            Some(value) => LEVELS[((value / top * 8.0).ceil() as usize).clamp(1, 8) - 1],
        })
        .collect()
}

/// The lines, cause first: what was sent, who was refused, why, what is left to do, what the workers do meanwhile.
pub(super) fn sparks(subject: &Subject<'_>, story: &Story<'_>, view: &View, per_minute: bool) -> Vec<Spark> {
    let timeline = &subject.result.timeline;
    let mut out = Vec::new();
    let Some(cause) = timeline.classes.get(story.cause_index) else { return out };
    let rate = rate(timeline, cause, view);
    let (scale, unit) = if per_minute { (60.0, "min") } else { (1.0, "s") };
    let rate: Vec<Option<f64>> = rate.iter().map(|value| value.map(|value| value * scale)).collect();
    let most = top(&rate);
    let end = if most < 9.95 { format!("{most:.1}") } else { Unit::Count.bare(most) };
    out.push(Spark {
        label: format!("{} requests /{unit}", readable(&story.cause.name)),
        values: rate,
        top: most,
        end,
        tint: Tint::Plain,
        is_telling: true,
    });
    let live = subject.scenario.traffic.iter().zip(&timeline.classes).filter(|(class, _)| class.is_live());
    for (class, series) in live.take(2) {
        let values: Vec<Option<f64>> = (0..view.columns)
            .map(|column| {
                let bins = wide_bins(timeline, view, column);
                let arrived: u32 = series.wide_arrivals.get(bins.clone())?.iter().sum();
                let met: u32 = series.wide_with_429.get(bins)?.iter().sum();
                Some(if arrived == 0 { 0.0 } else { f64::from(met) / f64::from(arrived) })
            })
            .collect();
        let most = top(&values);
        out.push(Spark {
            label: format!("{} with a 429", tasks(class)),
            values,
            top: most,
            end: Unit::Share.full(most),
            tint: Tint::Throttled,
            is_telling: true,
        });
    }
    for (limit, curve) in subject.scenario.provider.limits.iter().zip(&timeline.limits).take(2) {
        let shares: Vec<f64> = curve.lowest.iter().map(|share| (f64::from(*share) * 1e6).round() / 1e6).collect();
        let values = gathered(timeline, view, &shares, |bins| bins.iter().copied().fold(1.0, f64::min));
        out.push(Spark {
            label: format!("lowest `{}` left", limit.name),
            end: at_least(values.iter().flatten().copied().fold(1.0, f64::min)),
            values,
            top: 1.0,
            tint: Tint::Plain,
            is_telling: false,
        });
    }
    if !story.cause.is_live() {
        let queue: Vec<f64> = cause.queue.iter().map(|n| f64::from(*n)).collect();
        let values = gathered(timeline, view, &queue, |bins| bins.iter().copied().fold(0.0, f64::max));
        let most = top(&values);
        out.push(Spark {
            label: format!("{} in the queue", tasks(story.cause)),
            values,
            top: most,
            end: Unit::Count.bare(most),
            tint: Tint::Plain,
            is_telling: true,
        });
        let waiting = [WorkerActivity::WaitingRetry, WorkerActivity::WaitingLimiter];
        let asleep: Vec<f64> = (0..timeline.bins)
            .map(|i| {
                waiting.iter().filter_map(|kind| cause.workers[*kind as usize].get(i)).map(|s| f64::from(*s)).sum()
            })
            .collect();
        let values = gathered(timeline, view, &asleep, |bins| {
            bins.iter().sum::<f64>() / (bins.len() as f64 * timeline.bin.as_secs_f64())
        });
        let most = top(&values);
        let workers = story.cause.workers();
        out.push(Spark {
            label: format!("workers waiting, of {}", Unit::Count.bare(f64::from(workers))),
            values,
            top: f64::from(workers),
            end: format!("{most:.1}"),
            tint: Tint::Plain,
            is_telling: false,
        });
    }
    for spark in &mut out {
        if width(&spark.label) > LABEL - 1 {
            spark.label = shortened(&spark.label, story);
        }
    }
    out
}

/// Requests per second of a class.
fn rate(timeline: &Timeline, class: &ClassSeries, view: &View) -> Vec<Option<f64>> {
    let sent: Vec<f64> = (0..timeline.bins)
        .map(|i| class.answers.iter().filter_map(|kind| kind.get(i)).map(|n| f64::from(*n)).sum())
        .collect();
    gathered(timeline, view, &sent, |bins| bins.iter().sum::<f64>() / (bins.len() as f64 * timeline.bin.as_secs_f64()))
}

/// Whether the rate of the class that causes the storm reads better per minute.
pub(super) fn is_slow(subject: &Subject<'_>, story: &Story<'_>, view: &View) -> bool {
    let timeline = &subject.result.timeline;
    timeline.classes.get(story.cause_index).is_none_or(|cause| top(&rate(timeline, cause, view)) < SLOW)
}

/// "≥32 %"; a limit that was all but empty says so.
fn at_least(share: f64) -> String {
    format!("≥{}", Unit::Share.full(if share < 0.001 { 0.0 } else { share }))
}

/// A label too long for its column loses the end of the name that makes it long, never a part of a number.
fn shortened(label: &str, story: &Story<'_>) -> String {
    let name = task(story.cause);
    let over = width(label) + 2 - LABEL;
    let kept: String = name.chars().take(name.chars().count().saturating_sub(over).max(3)).collect();
    let text = label.replacen(&name, &format!("{kept}…"), 1);
    text.chars().take(LABEL - 1).collect()
}

fn top(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().copied().fold(0.0, f64::max)
}

fn wide_bins(timeline: &Timeline, view: &View, column: usize) -> std::ops::Range<usize> {
    let wide = timeline.wide.as_secs_f64();
    let first = ((view.from_s + view.column_s * column as f64) / wide).round() as usize;
    let per_column = (view.column_s / wide).round().max(1.0) as usize;
    first.min(timeline.wides)..(first + per_column).min(timeline.wides)
}

/// One value for each column, made of the narrow bins that begin in it.
fn gathered(timeline: &Timeline, view: &View, narrow: &[f64], of: impl Fn(&[f64]) -> f64) -> Vec<Option<f64>> {
    let bin = timeline.bin.as_secs_f64().max(1e-9);
    let at = |seconds: f64| ((seconds / bin).ceil() as usize).min(narrow.len());
    (0..view.columns)
        .map(|column| {
            let from = view.from_s + view.column_s * column as f64;
            let bins = &narrow[at(from)..at(from + view.column_s).max(at(from))];
            (!bins.is_empty()).then(|| of(bins))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_a_dot_and_no_data_a_blank() {
        assert_eq!(drawn(&[Some(0.0), None, Some(0.01), Some(0.5), Some(1.0)], 1.0), "· ▁▄█");
    }

    #[test]
    fn what_was_left_at_least_is_never_less_than_nothing() {
        assert_eq!([0.0, 0.0004, 0.02, 0.32].map(at_least), ["≥0 %", "≥0 %", "≥2 %", "≥32 %"]);
    }

    #[test]
    fn what_is_cut_off_is_said() {
        let (scenario, result) = (crate::report::fixture::scenario(), crate::report::fixture::single());
        let subject = Subject::new(&scenario, &result);
        let cut = cut(&subject, &view(&subject, 46));
        assert_eq!(cut.unwrap(), "cut off: the first 5 min and the last 72 min");
        let whole = View { from_s: 0.0, column_s: 600.0, columns: 12 };
        assert_eq!(super::cut(&subject, &whole), None);
    }

    #[test]
    fn a_bracket_names_its_window_where_it_fits() {
        let names = [" overload 22 min ".to_owned(), " overload ".to_owned()];
        assert_eq!(bracket(&names, 22), "├─ overload 22 min ──┤");
        assert_eq!(bracket(&names, 14), "├─ overload ─┤");
        assert_eq!(bracket(&names, 5), "├───┤");
        assert_eq!(bracket(&names, 1), "┬");
    }
}
