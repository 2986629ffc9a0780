//! Heat maps: one number over two settings, a cell for each pair of values. One hue from pale to full, so that it reads
//! the same in grey; the number stands in the cell, so that no fact hangs on colour alone.

use plotters::style::RGBColor;

use super::font::Face;
use super::form::Form;
use super::sheet::{Frame, Phrase, Sheet};
use super::sweep::{Names, columns, heading, is_of_429};
use super::theme::Theme;
use crate::experiment::Axis;
use crate::random::math;
use crate::report::comparison::cell;
use crate::report::sweep::text::dagger;
use crate::report::sweep::{Shape, Swept};

/// The height of a cell, at most and at least.
const CELL: (f64, f64) = (40.0, 7.0);

/// The widest name of a value.
const WIDEST: f64 = 120.0;

/// The height of a map is about this where it has many rows.
const HEIGHT: f64 = 320.0;

/// The steps of a legend.
const STEPS: usize = 30;

/// The length of a legend.
const LEGEND: f64 = 90.0;

/// One map for each number; returns the lowest base line.
pub(super) fn maps(sheet: &mut Sheet, swept: &Swept<'_>, top: f64, theme: &Theme) -> f64 {
    let form = Form::WIDE;
    let [down, _] = swept.sweep.axes.as_slice() else { return top };
    let names = Names::of(swept);
    let columns = columns(swept.shown.len());
    let height = (HEIGHT / down.values.len() as f64).clamp(CELL.1, CELL.0) * down.values.len() as f64;
    let mut lowest = top;
    for (at, row) in swept.shown.iter().enumerate() {
        let (left, right) = columns[at % columns.len()];
        let y = top + 18.0 + (at / columns.len()) as f64 * (height + 118.0);
        let widest = names.of[0].iter().map(|name| Face::Regular.width(name, form.tick)).fold(0.0, f64::max);
        // Long names of values take room from the cells.
        let left = left + (widest.min(WIDEST) - 44.0).max(0.0);
        let frame = Frame { left, right, top: y, bottom: y + height };
        lowest = lowest.max(map(sheet, swept, *row, frame, &names, theme));
    }
    lowest
}

/// From pale to full.
struct Ramp {
    pale: RGBColor,
    full: RGBColor,
    low: f64,
    high: f64,
}

impl Ramp {
    fn color(&self, value: f64) -> RGBColor {
        let share =
            if self.high > self.low { ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0) } else { 0.0 };
        let mix = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8;
        RGBColor(mix(self.pale.0, self.full.0), mix(self.pale.1, self.full.1), mix(self.pale.2, self.full.2))
    }
}

/// The relative luminance of WCAG 2.
fn luminance(RGBColor(r, g, b): RGBColor) -> f64 {
    let linear = |channel: u8| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.040_45 { c / 12.92 } else { math::pow((c + 0.055) / 1.055, 2.4) }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/// The text colour that is read best on a ground.
fn on(ground: RGBColor, theme: &Theme) -> RGBColor {
    let contrast = |text: RGBColor| {
        let (a, b) = (luminance(text), luminance(ground));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    };
    let (dark, light) = (theme.other.on, theme.throttled.on);
    if contrast(dark) >= contrast(light) { dark } else { light }
}

fn map(sheet: &mut Sheet, swept: &Swept<'_>, row: usize, frame: Frame, names: &Names, theme: &Theme) -> f64 {
    let form = Form::WIDE;
    let sweep = swept.sweep;
    let [down, across] = sweep.axes.as_slice() else { return frame.bottom };
    let shape = swept.shape(row);
    let means = || sweep.points[..sweep.grid].iter().filter_map(|point| point.cells[row].mean());
    let full = if is_of_429(swept, row) { theme.throttled.fill } else { theme.second };
    // A difference that chance explains gets no colour.
    let is_flat = shape.is_none_or(Shape::is_flat);
    let high = if is_flat { f64::INFINITY } else { means().fold(f64::NEG_INFINITY, f64::max) };
    let ramp = Ramp { pale: theme.panel, full, low: means().fold(f64::INFINITY, f64::min), high };
    let (rows, wide) = (down.values.len(), across.values.len());
    let (width, height) = (frame.width() / wide as f64, frame.height() / rows as f64);
    // Numbers grow upwards, as on every axis; choices stand in their order.
    let upwards = down.is_scale();
    let place = |i: usize, j: usize| {
        let line = if upwards { rows - 1 - i } else { i };
        let (left, top) = (frame.left + j as f64 * width, frame.top + line as f64 * height);
        Frame { left, top, right: left + width, bottom: top + height }
    };
    let texts: Vec<String> = sweep.points[..sweep.grid]
        .iter()
        .map(|point| &point.cells[row])
        .map(|own| format!("{}{}", cell(own, swept.unit(row)), dagger(own)))
        .collect();
    let size = form.label.min(0.62 * height);
    let fits = size >= 10.5 && texts.iter().all(|text| Face::Regular.width(text, size) + 6.0 <= width);
    // A line in the page's colour parts cells, unless it would be most of what is seen.
    let gap = if width.min(height) > 16.0 { 1.0 } else { 0.0 };
    for i in 0..rows {
        for j in 0..wide {
            let point = sweep.point(&[i, j]);
            let own = &sweep.points[point].cells[row];
            let ground = match own.mean() {
                Some(mean) => ramp.color(mean),
                None if own.is_never() => theme.ink,
                None => theme.page,
            };
            let room = place(i, j);
            sheet.block(Frame { right: room.right - gap, bottom: room.bottom - gap, ..room }, ground);
            if fits {
                let phrase = Phrase::new(texts[point].clone(), Face::Regular, size, on(ground, theme));
                let x = room.left + (width - 1.0 - phrase.width()) / 2.0;
                sheet.write(x, room.top + height / 2.0 + 0.34 * size, &phrase);
            }
            if point == sweep.reference {
                let corner = [(0.0, 0.0), (11.0, 0.0), (0.0, 11.0)];
                let points = corner.iter().map(|(dx, dy)| (room.left + dx, room.top + dy)).collect();
                sheet.area(points, on(ground, theme));
            }
        }
    }
    let is_judged = !is_flat && sweep.measures[row].lower_is_better && !swept.is_fooled(row);
    if let (true, Some(shape)) = (is_judged, shape) {
        outline(sheet, &|i, j| shape.ties[sweep.point(&[i, j])], &place, (rows, wide), theme);
    }
    titles(sheet, swept, row, &frame, &ramp, is_flat, theme);
    marks(sheet, &frame, (down, across), names, &place, theme)
}

/// A line around the cells that belong together.
fn outline(
    sheet: &mut Sheet,
    is_in: &dyn Fn(usize, usize) -> bool,
    place: &dyn Fn(usize, usize) -> Frame,
    (rows, wide): (usize, usize),
    theme: &Theme,
) {
    for i in 0..rows {
        for j in 0..wide {
            if !is_in(i, j) {
                continue;
            }
            let own = place(i, j);
            let (left, right) = (own.left - 0.5, own.right - 0.5);
            let (top, bottom) = (own.top - 0.5, own.bottom - 0.5);
            // Neighbours by where they are drawn.
            let beside = |di: isize, dj: isize| {
                let at = (i.checked_add_signed(di), j.checked_add_signed(dj));
                matches!(at, (Some(i), Some(j)) if i < rows && j < wide && is_in(i, j))
            };
            let up = if rows > 1 && place(0, 0).top > place(1, 0).top { 1 } else { -1 };
            let edges = [
                (beside(up, 0), vec![(left, top), (right, top)]),
                (beside(-up, 0), vec![(left, bottom), (right, bottom)]),
                (beside(0, -1), vec![(left, top), (left, bottom)]),
                (beside(0, 1), vec![(right, top), (right, bottom)]),
            ];
            for (is_inside, edge) in edges {
                if !is_inside {
                    sheet.line(edge, theme.ink, 3.0);
                }
            }
        }
    }
}

/// The title and the legend of the ramp.
fn titles(sheet: &mut Sheet, swept: &Swept<'_>, row: usize, frame: &Frame, ramp: &Ramp, is_flat: bool, theme: &Theme) {
    let form = Form::WIDE;
    let (title, whose) = heading(swept, row);
    let baseline = frame.top - 30.0;
    let left = frame.left - 40.0;
    let phrase = Phrase::new(title, Face::Bold, form.heading, theme.ink);
    let phrase = phrase.and(format!("  {whose}"), Face::Regular, form.tick, theme.second);
    sheet.write(left, baseline, &phrase.fitted(frame.right - left));
    let below = frame.top - 10.0;
    if is_flat {
        let said = Phrase::new("no more than chance between its cells", Face::Regular, form.tick, theme.second);
        sheet.write(frame.left, below, &said.fitted(frame.width()));
        return;
    }
    let said = |end: f64| {
        let cells = swept.sweep.points[..swept.sweep.grid].iter().map(|point| &point.cells[row]);
        let text = cells.filter(|own| own.mean() == Some(end)).map(|own| cell(own, swept.unit(row))).next();
        Phrase::new(text.unwrap_or_default(), Face::Regular, form.tick, theme.second)
    };
    let (low, high) = (said(ramp.low), said(ramp.high));
    let from = (frame.left + low.width() + 8.0).round();
    sheet.write(frame.left, below, &low);
    for step in 0..STEPS {
        let value = ramp.low + (step as f64 + 0.5) / STEPS as f64 * (ramp.high - ramp.low);
        let x = |at: usize| from + at as f64 * LEGEND / STEPS as f64;
        sheet.block(Frame { left: x(step), right: x(step + 1), top: below - 10.0, bottom: below }, ramp.color(value));
    }
    sheet.write(from + LEGEND + 8.0, below, &high);
}

/// The values of both settings, and their names; returns the lowest base line.
fn marks(
    sheet: &mut Sheet,
    frame: &Frame,
    (down, across): (&Axis, &Axis),
    names: &Names,
    place: &dyn Fn(usize, usize) -> Frame,
    theme: &Theme,
) -> f64 {
    let form = Form::WIDE;
    let mut free = f64::NEG_INFINITY;
    let mut rows: Vec<usize> = (0..down.values.len()).collect();
    rows.sort_by(|a, b| place(*a, 0).top.total_cmp(&place(*b, 0).top));
    for i in rows {
        let room = place(i, 0);
        let baseline = room.top + room.height() / 2.0 + 0.34 * form.tick;
        if baseline < free + form.tick + 2.0 {
            continue;
        }
        free = baseline;
        let text = Phrase::new(names.of[0][i].clone(), Face::Regular, form.tick, theme.second);
        sheet.write_before(frame.left - 8.0, baseline, &text.fitted(WIDEST));
    }
    let baseline = frame.bottom + form.tick + 6.0;
    let mut free = f64::NEG_INFINITY;
    for (j, name) in names.of[1].iter().enumerate() {
        let room = place(0, j);
        let text = Phrase::new(name.clone(), Face::Regular, form.tick, theme.second);
        let left = room.left + (room.width() - text.width()) / 2.0;
        if left >= free + 8.0 {
            sheet.write(left, baseline, &text);
            free = left + text.width();
        }
    }
    let below = baseline + form.tick + 6.0;
    let name = |way: &str, axis: &Axis| {
        let way = Phrase::new(way, Face::Regular, form.tick, theme.third);
        way.and(axis.name(), Face::Bold, form.tick, theme.second)
    };
    let parts = [name(if down.is_scale() { "up: " } else { "down: " }, down), name("across: ", across)];
    let room = frame.width() - 16.0;
    let is_tight = parts.iter().map(Phrase::width).sum::<f64>() > room;
    let mut x = frame.left;
    for part in parts {
        let part = if is_tight { part.fitted(room / 2.0) } else { part };
        sheet.write(x, below, &part);
        x += part.width() + 16.0;
    }
    below
}
