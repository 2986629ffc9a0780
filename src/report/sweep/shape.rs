//! What a number does over a grid: where it is least, what cannot be told from the least, and where it is most. One
//! point in ten looks best by luck alone; so each judgement is of paired differences, with intervals that are wide enough
//! for all of its questions at once.

use crate::experiment::Sweep;
use crate::stats::Shift;

/// What a number does over some points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The points, in the order of the values.
    pub line: Vec<usize>,
    /// Where among them it is least.
    pub least: usize,
    /// Where it is most.
    pub most: usize,
    /// For each, whether it cannot be told from the least.
    pub ties: Vec<bool>,
    /// Whether least and most differ by more than chance explains; `None` where they are equal in every seed.
    pub moves: Option<bool>,
}

impl Shape {
    /// The shape of a measure over these points; `None` where it is defined at none of them.
    pub fn of(sweep: &Sweep, row: usize, line: Vec<usize>) -> Option<Shape> {
        let rank = |at: usize| rank(sweep, row, line[at]);
        let defined = || (0..line.len()).filter(|at| rank(*at).is_some());
        let least = defined().min_by(|a, b| by_rank(rank(*a), rank(*b)))?;
        let most = defined().rev().max_by(|a, b| by_rank(rank(*a), rank(*b)))?;
        let others = line.len() - 1;
        let is_tie = |at: usize| {
            rank(at).is_some() && (at == least || sweep.shift(row, line[least], line[at], others) != Shift::Up)
        };
        let ties = (0..line.len()).map(is_tie).collect();
        // The two ends were chosen among all pairs.
        let moves = match sweep.shift(row, line[least], line[most], line.len() * others / 2) {
            Shift::Equal => None,
            shift => Some(shift == Shift::Up),
        };
        Some(Shape { line, least, most, ties, moves })
    }

    /// Whether it differs anywhere by more than chance explains.
    pub fn is_flat(&self) -> bool {
        self.moves != Some(true)
    }

    /// The stretch around the least of what cannot be told from it: its first and its last position.
    pub fn stretch(&self) -> (usize, usize) {
        let from = (0..self.least).rev().take_while(|at| self.ties[*at]).last().unwrap_or(self.least);
        let to = (self.least + 1..self.line.len()).take_while(|at| self.ties[*at]).last().unwrap_or(self.least);
        (from, to)
    }
}

/// By what points are put in order: in how many seeds a time is never, then the mean of the others.
pub(super) fn rank(sweep: &Sweep, row: usize, point: usize) -> Option<(u64, f64)> {
    let cell = &sweep.points[point].cells[row];
    Some((cell.never, if cell.is_never() { f64::INFINITY } else { cell.mean()? }))
}

/// Two ranks in order.
pub(super) fn by_rank(one: Option<(u64, f64)>, other: Option<(u64, f64)>) -> std::cmp::Ordering {
    one.partial_cmp(&other).unwrap_or(std::cmp::Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Point;
    use crate::random::Seed;
    use crate::random::distribution::{Distribution, Shape as Law};

    /// A sweep of one number with these values at its points.
    fn swept(points: Vec<Vec<f64>>) -> Sweep {
        Sweep {
            axes: Vec::new(),
            seed: Seed(1),
            replicates: points[0].len() as u64,
            measures: Vec::new(),
            grid: points.len(),
            points: points.into_iter().map(|values| Point::new(Vec::new(), vec![values])).collect(),
            reference: 0,
            is_sure: None,
        }
    }

    fn shape(points: Vec<Vec<f64>>) -> Shape {
        let line = (0..points.len()).collect();
        Shape::of(&swept(points), 0, line).unwrap()
    }

    #[test]
    fn the_least_has_a_stretch_of_what_cannot_be_told_from_it() {
        // Eight worlds; the third point is least by luck alone, the fourth is higher in every world.
        let around =
            |mean: f64, luck: f64| (0..8).map(|n| mean + luck * f64::from(n % 2 * 2 - 1)).collect::<Vec<f64>>();
        let valley = shape(vec![around(9.0, 0.1), around(5.0, 0.4), around(4.9, 0.0), around(7.0, 0.1)]);
        assert_eq!((valley.least, valley.most, valley.moves), (2, 0, Some(true)));
        assert_eq!(valley.ties, [false, true, true, false]);
        assert_eq!(valley.stretch(), (1, 2));
        let level = shape(vec![vec![3.0; 8]; 4]);
        assert_eq!((level.moves, level.is_flat(), level.stretch()), (None, true, (0, 3)));
    }

    #[test]
    fn a_time_that_is_never_in_many_seeds_is_not_the_least_however_short_its_mean() {
        let never = f64::INFINITY;
        let points = vec![vec![30.0; 20], [vec![20.0; 12], vec![never; 8]].concat(), vec![never; 20]];
        let found = shape(points);
        assert_eq!((found.least, found.most), (0, 2));
        // Eight of eight on one side are 1 in 128 by chance.
        assert_eq!(found.ties, [true, false, false]);
    }

    #[test]
    fn where_nothing_differs_something_seems_to_move_in_at_most_one_sweep_of_twenty() {
        let law = Distribution::new(Law::Normal { mean: 10.0, sd: 1.0 }).unwrap();
        let key = Seed(23).key().named("level");
        let moves = |sweep: &u64| {
            let mut stream = key.with(*sweep).stream();
            let points = (0..10).map(|_| (0..20).map(|_| law.sample(&mut stream)).collect()).collect();
            !shape(points).is_flat()
        };
        let found = (0..200).filter(moves).count();
        // 5 % of 200 at most, and three standard errors of it: 10 + 9. Judged by itself, the widest of 45 pairs would
        // differ in more than half of them.
        assert!((1..=19).contains(&found), "{found}");
    }
}
