//! The space of a search: what each axis may be, and the way from a point of the unit cube to a policy.

use super::super::axis::{Axis, Quantity};
use crate::random::Seed;

/// The digits of a number that a search chooses: it knows no more, and a person reads no more.
const DIGITS: usize = 2;

/// The axes of a search.
#[derive(Clone, Copy)]
pub struct Space<'a> {
    /// What may be chosen.
    pub axes: &'a [Axis],
    /// Writes a number of a quantity.
    text: &'a dyn Fn(Quantity, f64) -> String,
}

impl<'a> Space<'a> {
    /// The space of these axes; `text` writes a number of a quantity as a scenario takes it.
    pub fn new(axes: &'a [Axis], text: &'a dyn Fn(Quantity, f64) -> String) -> Space<'a> {
        Space { axes, text }
    }

    /// How many different policies it holds; `None` where an axis is a range of numbers that are not whole, or where
    /// they are too many to count.
    pub fn size(&self) -> Option<u64> {
        self.axes.iter().try_fold(1_u64, |size, axis| size.checked_mul(levels(axis)?))
    }

    /// The value on each axis at a point, as text.
    pub fn texts(&self, genes: &[f64]) -> Vec<String> {
        self.axes.iter().zip(genes).map(|(axis, share)| self.value(axis, *share)).collect()
    }

    fn value(&self, axis: &Axis, share: f64) -> String {
        match &axis.span {
            Some(span) => {
                let exact = span.at(share);
                let number = match levels(axis) {
                    // Few whole numbers are each worth a look of their own.
                    Some(_) => exact,
                    None => rounded(exact).clamp(span.from, span.to),
                };
                (self.text)(axis.quantity, number)
            }
            None => axis.values[index(axis.values.len(), share)].text.clone(),
        }
    }

    /// What `--set` says for these values.
    pub fn sets(&self, texts: &[String]) -> Vec<String> {
        let sets = |(axis, text): (&Axis, &String)| -> Vec<String> {
            axis.paths.iter().map(|path| format!("{path}={text}")).collect()
        };
        self.axes.iter().zip(texts).flat_map(sets).collect()
    }

    /// So many points that are spread evenly: an Owen-scrambled Sobol sequence.
    pub(super) fn even(&self, points: usize, seed: Seed) -> Vec<Vec<f64>> {
        let scramble = seed.key().named("sobol").bits() as u32;
        // The crate's sequence has 256 dimensions and 2¹⁶ points; both are far above what a search takes.
        let point = |n: usize| {
            let axis = |at: usize| f64::from(sobol_burley::sample(n as u32 & 0xFFFF, at as u32 & 0xFF, scramble));
            (0..self.axes.len()).map(axis).collect()
        };
        (0..points).map(point).collect()
    }

    /// Every policy of a space that can be counted, the last axis fastest.
    pub(super) fn every(&self) -> Vec<Vec<f64>> {
        let mut out = vec![Vec::new()];
        for axis in self.axes {
            let levels = levels(axis).unwrap_or(1);
            let at = |level: u64| (level as f64 + 0.5) / levels as f64;
            let further = |genes: &Vec<f64>| -> Vec<Vec<f64>> {
                (0..levels).map(|level| genes.iter().copied().chain([at(level)]).collect()).collect()
            };
            out = out.iter().flat_map(further).collect();
        }
        out
    }
}

/// How many values an axis has; `None` for a range of numbers.
pub(super) fn levels(axis: &Axis) -> Option<u64> {
    match &axis.span {
        None => Some(axis.values.len() as u64),
        // Whole numbers of which every one was written out.
        Some(span) if span.whole && (span.to - span.from + 1.0) as usize == axis.values.len() => {
            Some(axis.values.len() as u64)
        }
        Some(_) => None,
    }
}

/// The index of the value at a share of the way.
fn index(values: usize, share: f64) -> usize {
    ((share * values as f64) as usize).min(values - 1)
}

fn rounded(number: f64) -> f64 {
    if number == 0.0 { 0.0 } else { format!("{number:.*e}", DIGITS - 1).parse().unwrap_or(number) }
}

#[cfg(test)]
mod tests {
    use super::super::super::axis::{Span, Value};
    use super::*;

    fn text(_: Quantity, number: f64) -> String {
        number.to_string()
    }

    fn axes() -> Vec<Axis> {
        let value = |text: &str| Value { text: text.to_owned(), number: text.parse().ok() };
        vec![
            Axis {
                paths: vec!["a".to_owned(), "b".to_owned()],
                quantity: Quantity::Choice,
                values: vec![value("x"), value("y")],
                span: None,
            },
            Axis {
                paths: vec!["n".to_owned()],
                quantity: Quantity::Number,
                values: ["1", "2", "3"].map(value).to_vec(),
                span: Some(Span { from: 1.0, to: 3.0, log: false, whole: true }),
            },
        ]
    }

    #[test]
    fn a_point_is_a_policy_and_every_policy_is_a_point() {
        let axes = axes();
        let space = Space::new(&axes, &text);
        assert_eq!(space.texts(&[0.49, 0.1]), ["x", "1"]);
        assert_eq!(space.texts(&[1.0, 1.0]), ["y", "3"]);
        assert_eq!(space.sets(&space.texts(&[0.5, 0.5])), ["a=y", "b=y", "n=2"]);
        assert_eq!(space.size(), Some(6));
        let every: Vec<Vec<String>> = space.every().iter().map(|genes| space.texts(genes)).collect();
        assert_eq!(every, [["x", "1"], ["x", "2"], ["x", "3"], ["y", "1"], ["y", "2"], ["y", "3"]]);
    }

    #[test]
    fn numbers_of_a_range_keep_two_digits_and_stay_in_it() {
        let span = Some(Span { from: 123.0, to: 4_567.0, log: true, whole: true });
        let axes = [Axis { paths: vec!["n".to_owned()], quantity: Quantity::Number, values: Vec::new(), span }];
        let space = Space::new(&axes, &text);
        assert_eq!(space.size(), None);
        let at = |share: f64| space.texts(&[share])[0].clone();
        // 123 · (4567/123)^½ = 749.5.
        assert_eq!([at(0.0), at(0.5), at(1.0)], ["123", "750", "4567"]);
    }

    #[test]
    fn the_first_points_are_even_on_each_axis() {
        let axes = axes();
        let space = Space::new(&axes, &text);
        for axis in 0..2 {
            // A (0, m, 1)-net: of 16 points one lies in each sixteenth.
            let mut cells: Vec<usize> =
                space.even(16, Seed(3)).iter().map(|genes| (genes[axis] * 16.0) as usize).collect();
            cells.sort_unstable();
            assert_eq!(cells, (0..16).collect::<Vec<_>>());
        }
        assert_ne!(space.even(4, Seed(3)), space.even(4, Seed(4)));
    }
}
