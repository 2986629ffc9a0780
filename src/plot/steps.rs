//! A bin is a flat piece: nothing is smoothed and no slope is drawn that nobody measured. Series are gathered into
//! bins that are wide enough to be seen, and bins become columns of pixels.

use plotters::style::RGBColor;

use super::axis::TimeAxis;
use super::sheet::{Frame, Sheet};

/// Values in bins of equal width that begin with the run; the last one ends at `end`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bins {
    /// The width in seconds.
    pub(super) width: f64,
    /// The end of the run in seconds.
    pub(super) end: f64,
    /// One value for each bin; NaN where it is not defined.
    pub(super) values: Vec<f64>,
}

impl Bins {
    /// `group` narrow bins make one; `fold` makes its value of theirs and of its length in seconds.
    pub(super) fn gather<T: Copy>(
        series: &[T],
        bin: f64,
        group: usize,
        end: f64,
        fold: impl Fn(&[T], f64) -> f64,
    ) -> Bins {
        let width = bin * group as f64;
        let values = series.chunks(group).enumerate().map(|(i, chunk)| {
            let length = ((i + 1) as f64 * width).min(end) - i as f64 * width;
            if length > 0.0 { fold(chunk, length) } else { 0.0 }
        });
        Bins { width, end, values: values.collect() }
    }

    /// Counts per `unit` seconds.
    pub(super) fn rates(counts: &[u32], bin: f64, group: usize, end: f64, unit: f64) -> Bins {
        Bins::gather(counts, bin, group, end, |chunk, length| {
            chunk.iter().map(|&n| f64::from(n)).sum::<f64>() / length * unit
        })
    }

    /// The beginning and the end of bin `i` in seconds.
    pub(super) fn span(&self, i: usize) -> (f64, f64) {
        (i as f64 * self.width, ((i + 1) as f64 * self.width).min(self.end))
    }

    /// Bins that lie at least partly on the axis, with their values.
    pub(super) fn shown<'a>(&'a self, axis: &'a TimeAxis) -> impl Iterator<Item = (f64, f64, f64)> + 'a {
        self.values.iter().enumerate().filter_map(|(i, &value)| {
            let (from, to) = self.span(i);
            (to > axis.from && from < axis.to && to > from).then_some((from, to, value))
        })
    }

    /// The largest value on the axis; 0 where there is none.
    pub(super) fn most(&self, axis: &TimeAxis) -> f64 {
        self.shown(axis).map(|(_, _, value)| value).fold(0.0, f64::max)
    }

    /// The value at an instant in seconds.
    pub(super) fn at(&self, seconds: f64) -> Option<f64> {
        self.values.get((seconds / self.width) as usize).copied()
    }

    /// The sum of two series with the same bins.
    pub(super) fn plus(&self, other: &Bins) -> Bins {
        let values = self.values.iter().zip(&other.values).map(|(a, b)| a + b).collect();
        Bins { width: self.width, end: self.end, values }
    }

    /// A series of zeros with the same bins.
    pub(super) fn zero(&self) -> Bins {
        Bins { width: self.width, end: self.end, values: vec![0.0; self.values.len()] }
    }
}

/// A flat piece on the sheet: pixels from an upper to a lower edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    /// Its left edge.
    pub(super) left: f64,
    /// Its right edge.
    pub(super) right: f64,
    /// Its upper edge.
    pub(super) top: f64,
    /// Its lower edge.
    pub(super) bottom: f64,
}

impl Column {
    const fn thickness(&self) -> f64 {
        self.bottom - self.top
    }
}

/// Where a series stands: a frame, its time axis and the value at its upper edge.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    /// The room of the panel.
    pub(super) frame: Frame,
    /// The time axis.
    pub(super) axis: &'a TimeAxis,
    /// The value at the upper edge; the lower one is 0.
    pub(super) top: f64,
}

impl Ground<'_> {
    /// The height of a value.
    pub(super) fn y(&self, value: f64) -> f64 {
        let share = if self.top > 0.0 { (value / self.top).clamp(0.0, 1.0) } else { 0.0 };
        self.frame.bottom - share * self.frame.height()
    }

    /// The columns between two series with the same bins; bins that are not defined are left out.
    pub(super) fn between(&self, lower: &Bins, upper: &Bins) -> Vec<Column> {
        lower
            .shown(self.axis)
            .zip(upper.shown(self.axis))
            .filter(|((_, _, low), (_, _, high))| !low.is_nan() && !high.is_nan())
            .map(|((from, to, low), (_, _, high))| Column {
                left: self.axis.x(from),
                right: self.axis.x(to),
                top: self.y(high),
                bottom: self.y(low),
            })
            .collect()
    }

    /// The columns from the base line up.
    pub(super) fn under(&self, upper: &Bins) -> Vec<Column> {
        self.between(&upper.zero(), upper)
    }

    /// The columns of several series with the same bins, each on top of the one before.
    pub(super) fn stack(&self, layers: &[Bins]) -> Vec<Vec<Column>> {
        let mut lower = layers.first().map(Bins::zero);
        layers
            .iter()
            .map(|layer| {
                let upper = lower.as_ref().map_or_else(|| layer.clone(), |lower| lower.plus(layer));
                let columns = self.between(lower.as_ref().unwrap_or(&layer.zero()), &upper);
                lower = Some(upper);
                columns
            })
            .collect()
    }
}

/// Columns that follow on each other and are thick enough to be seen.
fn pieces(columns: &[Column]) -> impl Iterator<Item = &[Column]> {
    columns
        .chunk_by(|a, b| (b.left - a.right).abs() < 0.01 && (a.thickness() > 0.05) == (b.thickness() > 0.05))
        .filter(|piece| piece[0].thickness() > 0.05)
}

/// The points of one edge from left to right; a point between equal heights is left out.
fn edge(columns: &[Column], height: impl Fn(&Column) -> f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for column in columns {
        let y = height(column);
        match points.last_mut() {
            Some(last) if (last.1 - y).abs() < 0.01 => last.0 = column.right,
            Some(_) | None => points.extend([(column.left, y), (column.right, y)]),
        }
    }
    points
}

impl Sheet {
    /// Fills columns.
    pub(super) fn steps(&mut self, columns: &[Column], color: RGBColor) {
        for piece in pieces(columns) {
            let mut outline = edge(piece, |column| column.top);
            let lower = edge(piece, |column| column.bottom);
            outline.extend(lower.into_iter().rev());
            self.area(outline, color);
        }
    }

    /// Draws the upper edge of columns, also where they are flat.
    pub(super) fn ridge(&mut self, columns: &[Column], color: RGBColor, width: f64) {
        for piece in columns.chunk_by(|a, b| (b.left - a.right).abs() < 0.01) {
            self.line(edge(piece, |column| column.top), color, width);
        }
    }

    /// Draws the upper edge of columns in dashes, on a plain line that parts it from what it lies on.
    pub(super) fn dashed(&mut self, columns: &[Column], color: RGBColor, under: RGBColor) {
        const DASH: f64 = 4.0;
        const GAP: f64 = 3.0;
        for piece in columns.chunk_by(|a, b| (b.left - a.right).abs() < 0.01) {
            let points = edge(piece, |column| column.top);
            self.line(points.clone(), under, 2.5);
            // Labels keep off it, level or upright.
            for way in points.windows(2) {
                let [(left, right), (top, bottom)] =
                    [(way[0].0, way[1].0), (way[0].1, way[1].1)].map(|(a, b)| (f64::min(a, b), f64::max(a, b)));
                self.take(Frame { left, top, right, bottom }.grown(1.5));
            }
            let mut dash: Vec<(f64, f64)> = Vec::new();
            // How far along the present dash or gap the way has come.
            let mut done = 0.0;
            let mut is_dash = true;
            for way in points.windows(2) {
                let ((x, y), (to_x, to_y)) = (way[0], way[1]);
                let length = (to_x - x).abs() + (to_y - y).abs();
                let at = |share: f64| (x + (to_x - x) * share, y + (to_y - y) * share);
                let mut along = 0.0;
                while along < length {
                    if is_dash && dash.is_empty() {
                        dash.push(at(along / length));
                    }
                    let step = (if is_dash { DASH } else { GAP }) - done;
                    if along + step > length {
                        done += length - along;
                        break;
                    }
                    along += step;
                    if is_dash {
                        dash.push(at(along / length));
                        self.line(std::mem::take(&mut dash), color, 1.25);
                    }
                    (done, is_dash) = (0.0, !is_dash);
                }
                if is_dash && !dash.is_empty() {
                    dash.push((to_x, to_y));
                }
            }
            self.line(dash, color, 1.25);
        }
    }

    /// Draws the upper edge of columns where there is anything below it.
    pub(super) fn rim(&mut self, columns: &[Column], color: RGBColor) {
        for piece in pieces(columns) {
            let mut points = edge(piece, |column| column.top);
            points.insert(0, (piece[0].left, piece[0].bottom));
            let last = piece[piece.len() - 1];
            points.push((last.right, last.bottom));
            self.line(points, color, 1.0);
        }
    }

    /// Parts a layer from the one below it by a line in the colour of the page, where both can be seen.
    pub(super) fn seam(&mut self, below: &[Column], above: &[Column], color: RGBColor) {
        let both: Vec<Column> = below
            .iter()
            .zip(above)
            .filter(|(low, high)| low.thickness() >= 2.0 && high.thickness() >= 2.0)
            .map(|(low, _)| *low)
            .collect();
        self.ridge(&both, color, 1.0);
    }

    /// Fills columns with slanted stripes on a ground.
    pub(super) fn hatch(&mut self, columns: &[Column], stripe: RGBColor, ground: RGBColor) {
        self.steps(columns, ground);
        for piece in pieces(columns) {
            self.stripes(piece, stripe);
        }
    }

    /// Stripes rise to the right at 45°. Each is cut where it leaves the columns, level above and below.
    fn stripes(&mut self, piece: &[Column], color: RGBColor) {
        const PITCH: f64 = 8.5;
        const HALF: f64 = 2.1;
        let top = piece.iter().map(|column| column.top).fold(f64::INFINITY, f64::min);
        let bottom = piece.iter().map(|column| column.bottom).fold(f64::NEG_INFINITY, f64::max);
        let (first, last) = (piece[0].left + top, piece[piece.len() - 1].right + bottom);
        // A stripe is the line x + y = sum; sums are whole multiples, so that stripes of neighbours meet.
        let mut sum = (first / PITCH).ceil() * PITCH;
        while sum < last {
            for (from, to) in crossings(piece, sum) {
                let (low, high) = (sum - from, sum - to);
                let left = |x: f64| (x - HALF).clamp(piece[0].left, piece[piece.len() - 1].right);
                let right = |x: f64| (x + HALF).clamp(piece[0].left, piece[piece.len() - 1].right);
                self.area(vec![(left(from), low), (right(from), low), (right(to), high), (left(to), high)], color);
            }
            sum += PITCH;
        }
    }
}

/// Where the line x + y = sum lies in the columns, as spans of x that follow on each other.
fn crossings(piece: &[Column], sum: f64) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for column in piece {
        let (from, to) = (column.left.max(sum - column.bottom), column.right.min(sum - column.top));
        if to - from < 0.05 {
            continue;
        }
        match spans.last_mut() {
            Some(last) if (from - last.1).abs() < 0.01 => last.1 = to,
            Some(_) | None => spans.push((from, to)),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::style::BLACK;

    fn column(left: f64, top: f64) -> Column {
        Column { left, right: left + 10.0, top, bottom: 100.0 }
    }

    #[test]
    fn a_last_bin_that_the_horizon_cuts_keeps_its_rate() {
        // 10 in 10 s, then 5 in the 5 s that are left: 1/s throughout.
        let bins = Bins::rates(&[10, 5], 10.0, 1, 15.0, 1.0);
        assert_eq!(bins.values, [1.0, 1.0]);
        assert_eq!(bins.span(1), (10.0, 15.0));
    }

    #[test]
    fn equal_neighbours_make_one_piece_of_the_edge() {
        let points = edge(&[column(0.0, 50.0), column(10.0, 50.0), column(20.0, 60.0)], |c| c.top);
        assert_eq!(points, [(0.0, 50.0), (20.0, 50.0), (20.0, 60.0), (30.0, 60.0)]);
    }

    #[test]
    fn a_bin_of_nothing_parts_an_area_in_two() {
        let mut sheet = Sheet::default();
        sheet.steps(&[column(0.0, 50.0), column(10.0, 100.0), column(20.0, 60.0)], BLACK);
        assert_eq!(sheet.marks.len(), 2);
    }

    #[test]
    fn a_stripe_runs_through_neighbours_in_one_piece() {
        assert_eq!(crossings(&[column(0.0, 50.0), column(10.0, 50.0)], 100.0), [(0.0, 20.0)]);
    }
}
