//! Several runs of one world in one picture: a column for each arm, the same panels in each, on the same scales. The
//! first arm is drawn again as a dashed outline over the others, so that what is gone can be seen. Beside each row
//! stands the difference over all seeds, for one look at a single seed proves nothing.

use super::axis::TimeAxis;
use super::facts::Facts;
use super::font::Face;
use super::form::Form;
use super::gutter;
use super::incident::Incident;
use super::number;
use super::panel::{Body, Panel, Row, View};
use super::paragraph;
use super::picture::Picture;
use super::range::Range;
use super::sheet::{Phrase, Sheet};
use super::theme::Theme;
use super::{answers, level, queue, share, workers};
use crate::report::comparison::{Compared, findings};

/// The most arms that stand side by side: narrower columns would show nothing.
const MOST: usize = 4;

/// The room between two columns.
const GAP: f64 = 30.0;

/// The size of the text below the title.
const SIZE: f64 = 15.0;

/// The picture of a comparison: the first run of each arm.
pub fn comparison(compared: &Compared<'_>, command: &str, theme: &Theme) -> Picture {
    let shown = compared.arms.len().min(MOST);
    let facts: Vec<Facts<'_>> = (0..shown)
        .map(|arm| Facts { result: &compared.comparison.trial.arms[arm].first, scenario: compared.arms[arm].scenario })
        .collect();
    let incidents: Vec<Incident> = facts.iter().map(Incident::of).collect();
    let ranges = facts.iter().zip(&incidents).map(|(facts, incident)| Range::of(facts, incident));
    let range = ranges.reduce(|a, b| a.joined(&b)).unwrap_or(Range { from: 0.0, to: 1.0, lead: None, cut: None });
    let wide = Form::WIDE;
    let width = (wide.right() - wide.left - (shown - 1) as f64 * GAP) / shown as f64;
    let forms: Vec<Form> = (0..shown)
        .map(|arm| {
            let left = (wide.left + arm as f64 * (width + GAP)).round();
            Form::column(left, (left + width).round())
        })
        .collect();
    let axes: Vec<TimeAxis> =
        facts.iter().zip(&forms).map(|(facts, form)| TimeAxis::new(&range, facts.scenario, form)).collect();
    let views: Vec<View<'_>> = (0..shown)
        .map(|arm| View {
            facts: facts[arm],
            incident: &incidents[arm],
            range: &range,
            axis: &axes[arm],
            theme,
            form: &forms[arm],
        })
        .collect();
    let rows = rows(&views);

    let mut sheet = Sheet::default();
    let said = findings(compared);
    // Title and gutter are of the last arm: where there are several, the fixes pile up to it.
    let title = said.last().map_or_else(String::new, |said| said.replace('`', ""));
    let mut y = head(&mut sheet, compared, &title, theme);
    y = columns(&mut sheet, compared, &views, y + 34.0);
    let strips = y + 12.0;
    let above = incidents.iter().zip(&forms).map(|(incident, form)| incident.height(form)).fold(0.0, f64::max);
    y = strips + above;
    let (tops, bottom) = tops(&rows, y);
    for view in &views {
        view.incident.shade(&mut sheet, view.axis, (y, bottom), theme);
        view.incident.draw(&mut sheet, &view.facts, view.axis, strips, theme, view.form);
    }
    for (line, top) in rows.iter().zip(&tops) {
        line.draw(&mut sheet, &views, *top);
        gutter::draw(&mut sheet, compared, &line.row, *top, theme);
    }
    let mut foot_y = bottom;
    for view in &views {
        foot_y = foot_y.max(view.axis.foot(&mut sheet, bottom, theme, view.form));
    }
    let height = foot(&mut sheet, compared, &views, command, foot_y, theme);
    Picture {
        width: wide.width as u32,
        height: height.ceil() as u32,
        title,
        description: description(compared, &rows, shown),
        ground: theme.page,
        marks: sheet.marks,
    }
}

/// One row of panels: the same thing in each arm.
struct Line {
    row: Row,
    panels: Vec<Panel>,
}

/// The panels of all arms, row by row; each row has one scale and one height.
fn rows(views: &[View<'_>]) -> Vec<Line> {
    let all: Vec<&View<'_>> = views.iter().collect();
    let mut columns: Vec<Vec<(Row, Panel)>> = views
        .iter()
        .map(|view| {
            let mut panels = answers::beside(view, &all);
            panels.extend(share::panels(view));
            panels.extend(level::panels(view));
            panels.extend(queue::panels(view));
            panels.extend(workers::panels(view));
            panels.into_iter().map(|panel| (panel.row(view), panel)).collect()
        })
        .collect();
    let mut keys: Vec<Row> = Vec::new();
    for (row, _) in columns.iter().flatten() {
        if !keys.contains(row) {
            keys.push(row.clone());
        }
    }
    // Kinds stay in their order; classes of one kind in the order in which arms have them.
    keys.sort_by_key(|(kind, _)| *kind);
    keys.into_iter()
        .map(|row| {
            let found: Vec<Option<Panel>> = columns
                .iter_mut()
                .map(|column| {
                    let at = column.iter().position(|(own, _)| *own == row)?;
                    Some(column.remove(at).1)
                })
                .collect();
            line(row, found)
        })
        .collect()
}

/// Gives the panels of a row the largest of their scales, and arms without one an empty one.
fn line(row: Row, found: Vec<Option<Panel>>) -> Line {
    let present = || found.iter().flatten();
    // A panel of marks alone has no scale of its own; it is lower than one that has.
    let rank = |panel: &Panel| (panel.height, panel.scale.top);
    let largest = present().max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
    let (scale, unit, title) = match largest {
        Some(panel) => (panel.scale, panel.unit, panel.title.clone()),
        None => return Line { row, panels: Vec::new() },
    };
    let height = present().map(|panel| panel.height).fold(0.0, f64::max);
    let above = present().map(|panel| panel.above).fold(0.0, f64::max);
    let panels = found
        .into_iter()
        .map(|panel| match panel {
            Some(panel) => Panel { title: title.clone(), scale, unit, height, above, note: None, ..panel },
            None => Panel {
                title: title.clone(),
                how: Vec::new(),
                height,
                above,
                scale,
                unit,
                note: None,
                body: Body::Nothing,
            },
        })
        .collect();
    Line { row, panels }
}

impl Line {
    fn draw(&self, sheet: &mut Sheet, views: &[View<'_>], top: f64) {
        let outline = self.panels.first().and_then(Panel::outline);
        for (arm, (panel, view)) in self.panels.iter().zip(views).enumerate() {
            let other = outline.as_ref().filter(|_| arm > 0);
            panel.draw_beside(sheet, view, top, arm == 0, other);
        }
    }
}

/// The upper edge of each row's scale, and the lower edge of the last one.
fn tops(rows: &[Line], top: f64) -> (Vec<f64>, f64) {
    let form = Form::WIDE;
    let mut y = top;
    let mut tops = Vec::new();
    for line in rows {
        let Some(panel) = line.panels.first() else { continue };
        let top = (y + form.gap + panel.above).round();
        tops.push(top);
        // A gutter note needs its room however low the panel is.
        y = top + panel.height(&form).max(gutter::HEIGHT);
    }
    let bottom = match (tops.last(), rows.last().and_then(|line| line.panels.first())) {
        (Some(top), Some(panel)) => top + panel.height(&form),
        _ => y,
    };
    (tops, bottom)
}

/// Title and subtitle; returns the lowest base line.
fn head(sheet: &mut Sheet, compared: &Compared<'_>, title: &str, theme: &Theme) -> f64 {
    let form = Form::WIDE;
    let width = form.width - 2.0 * form.margin;
    let mut y = 10.0;
    for line in paragraph::title(title, width, Face::Bold, form.title) {
        y += 1.25 * form.title;
        sheet.write(form.margin, y, &Phrase::new(line, Face::Bold, form.title, theme.ink));
    }
    y += 30.0;
    let n = compared.replicates();
    let seeds = format!(
        " · seed {} in every column · differences are of {} seeds, with their 95\u{a0}% interval",
        compared.comparison.trial.seed.0,
        number::count(n as f64)
    );
    let line = Phrase::new(&compared.reference().scenario.name, Face::Bold, SIZE, theme.second);
    sheet.write(form.margin, y, &line.and(seeds, Face::Regular, SIZE, theme.second).fitted(width));
    y
}

/// The names of the arms over their columns; returns the base line.
fn columns(sheet: &mut Sheet, compared: &Compared<'_>, views: &[View<'_>], y: f64) -> f64 {
    for (arm, view) in compared.arms.iter().zip(views) {
        let name = Phrase::new(&arm.name, Face::Bold, SIZE + 2.0, view.theme.ink);
        let what = match arm.changes.len() {
            0 => String::new(),
            1 => "  one setting differs".to_string(),
            n => format!("  {} settings differ", number::count(n as f64)),
        };
        let phrase = name.and(what, Face::Regular, SIZE, view.theme.second);
        sheet.write(view.form.left, y, &phrase.fitted(view.form.right() - view.form.left));
    }
    let form = Form::WIDE;
    let last = compared.arms.len() - 1;
    let head = if compared.arms.len() == 2 {
        "difference".to_string()
    } else {
        format!("{} against {}", compared.arms[last].name, compared.reference().name)
    };
    let theme = views[0].theme;
    let head = Phrase::new(head, Face::Bold, SIZE + 2.0, theme.ink);
    sheet.write(form.gutter_left(), y, &head.fitted(form.width - form.margin - form.gutter_left()));
    y
}

/// What the marks mean, and the command; returns the height of the picture.
fn foot(sheet: &mut Sheet, compared: &Compared<'_>, views: &[View<'_>], command: &str, y: f64, theme: &Theme) -> f64 {
    const NOTE: f64 = 12.5;
    const LEADING: f64 = 18.0;
    let form = Form::WIDE;
    let room = form.width - 2.0 * form.margin;
    let mut sentences = vec![format!(
        "Dashed: {}, drawn again over the others. Requests stand where they were sent; panels of a row share their \
         scale.",
        compared.reference().name
    )];
    if compared.arms.len() > views.len() {
        let hidden: Vec<&str> = compared.arms[views.len()..].iter().map(|arm| arm.name.as_str()).collect();
        sentences.push(format!("Not drawn: {}.", hidden.join(", ")));
    }
    if let Some((view, end)) = views.first().and_then(|view| view.range.cut.map(|end| (view, end))) {
        let [from, to] = [view.axis.to, end].map(|at| view.axis.says(at));
        sentences.push(format!("Not shown: {}s {from} to {to}.", view.axis.unit.word()));
    }
    let text = sentences.join(" ");
    let mut last = y + 16.0;
    for line in paragraph::wrap(&text, room, Face::Regular, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Regular, NOTE, theme.third));
    }
    for line in paragraph::wrap(command, room, Face::Mono, NOTE) {
        last += LEADING;
        sheet.write(form.margin, last, &Phrase::new(line, Face::Mono, NOTE, theme.second));
    }
    last + form.margin
}

/// The picture in words, for those who do not see it.
fn description(compared: &Compared<'_>, rows: &[Line], shown: usize) -> String {
    let names: Vec<&str> = compared.arms[..shown].iter().map(|arm| arm.name.as_str()).collect();
    let titles: Vec<String> =
        rows.iter().filter_map(|line| line.panels.first()).map(|panel| panel.title.to_lowercase()).collect();
    format!(
        "{} columns, {}, with {} rows of panels on common scales: {}.",
        names.len(),
        names.join(" and "),
        titles.len(),
        titles.join(", ")
    )
}
