//! New policies from good ones: uniform crossover of two parents, then mutations. A number takes a step that shrinks from
//! generation to generation, a choice jumps. No policy is looked at twice.

use std::collections::BTreeSet;

use super::Candidate;
use super::space::{Space, levels};
use crate::random::{Key, Seed, Stream};

/// The steps of numbers in the first generation and in the last one, as shares of the whole range.
const STEPS: (f64, f64) = (0.25, 0.04);

/// How often a child is tried before a place stays empty: then the neighbourhood is known.
const TRIES: u64 = 24;

/// Breeds policies and remembers all that there were.
pub struct Breeder<'a> {
    space: &'a Space<'a>,
    key: Key,
    known: BTreeSet<Vec<String>>,
}

impl<'a> Breeder<'a> {
    /// A breeder whose draws come from a seed.
    pub fn new(space: &'a Space<'a>, seed: Seed) -> Breeder<'a> {
        Breeder { space, key: seed.key().named("breed"), known: BTreeSet::new() }
    }

    /// The points that are new policies, as candidates of a generation.
    pub fn admit(&mut self, points: Vec<Vec<f64>>, generation: usize) -> Vec<Candidate> {
        points.into_iter().filter_map(|genes| self.candidate(genes, generation)).collect()
    }

    fn candidate(&mut self, genes: Vec<f64>, generation: usize) -> Option<Candidate> {
        let texts = self.space.texts(&genes);
        let is_new = self.known.insert(texts.clone());
        is_new.then(|| Candidate { genes, texts, generation, seeds: 0, rows: Vec::new(), standing: None })
    }

    /// So many children of parents, the best parent first; `progress` is the share of all generations that this one ends.
    pub fn breed(&mut self, parents: &[&[f64]], children: usize, generation: usize, progress: f64) -> Vec<Candidate> {
        if parents.is_empty() {
            return Vec::new();
        }
        let step = STEPS.0 * libm::pow(STEPS.1 / STEPS.0, progress);
        let mut born = Vec::new();
        for child in 0..children {
            let key = self.key.with(generation as u64).with(child as u64);
            let born_now = (0..TRIES).find_map(|attempt| {
                let mut stream = key.with(attempt).stream();
                // Who finds nothing new looks further away.
                let wider = 1.0 + attempt as f64 / 4.0;
                let genes = self.child(parents, (step * wider).min(0.5), &mut stream);
                self.candidate(genes, generation)
            });
            born.extend(born_now);
        }
        born
    }

    fn child(&self, parents: &[&[f64]], step: f64, stream: &mut Stream) -> Vec<f64> {
        let mut pick = || (stream.next_unit() * parents.len() as f64) as usize;
        // The better of two: parents come in the order of how good they are.
        let (one, other) = (pick().min(pick()), pick().min(pick()));
        let rate = (1.5 / self.space.axes.len() as f64).min(0.5);
        // One axis changes at least: a copy would be known.
        let forced = (stream.next_unit() * self.space.axes.len() as f64) as usize;
        let genes = parents[one].iter().zip(parents[other]).enumerate();
        genes
            .map(|(axis, (a, b))| {
                let own = if stream.next_unit() < 0.5 { *a } else { *b };
                let (mutates, draw, other) = (stream.next_unit() < rate, stream.next_unit(), stream.next_unit());
                if mutates || axis == forced { self.mutated(axis, own, step, (draw, other)) } else { own }
            })
            .collect()
    }

    /// Another value of one axis.
    fn mutated(&self, axis: usize, own: f64, step: f64, (draw, other): (f64, f64)) -> f64 {
        let axis = &self.space.axes[axis];
        match levels(axis) {
            Some(1) => own,
            Some(levels) if axis.is_scale() => {
                // At least one level up or down.
                let width = (step * levels as f64).max(1.0);
                let far = 1.0 + (draw * width).floor();
                let signed = if other < 0.5 { -far } else { far };
                reflected(own + signed / levels as f64)
            }
            Some(levels) => {
                let now = (own * levels as f64) as u64;
                let jump = 1 + (draw * (levels - 1) as f64) as u64;
                (((now.min(levels - 1) + jump) % levels) as f64 + 0.5) / levels as f64
            }
            // The difference of two uniforms: mostly short steps, and none beyond twice the usual one.
            None => reflected(own + 2.0 * step * (draw - other)),
        }
    }
}

/// A share that went over an end comes back from it.
fn reflected(share: f64) -> f64 {
    let share = share.abs();
    (if share > 1.0 { 2.0 - share } else { share }).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::super::axis::{Axis, Quantity, Span, Value};
    use super::*;

    fn text(_: Quantity, number: f64) -> String {
        number.to_string()
    }

    #[test]
    fn children_are_new_near_their_parents_and_within_the_space() {
        let span = Some(Span { from: 0.0, to: 1.0, log: false, whole: false });
        let number = Axis { paths: vec!["n".to_owned()], quantity: Quantity::Number, values: Vec::new(), span };
        let words = ["x", "y", "z"].map(|word| Value { text: word.to_owned(), number: None });
        let choice =
            Axis { paths: vec!["c".to_owned()], quantity: Quantity::Choice, values: words.to_vec(), span: None };
        let axes = [number, choice];
        let space = Space::new(&axes, &text);
        let mut breeder = Breeder::new(&space, Seed(1));
        let parents = breeder.admit(vec![vec![0.5, 0.5], vec![0.5, 0.5], vec![0.6, 0.9]], 0);
        assert_eq!(parents.len(), 2, "the second is the first once more");
        let genes: Vec<&[f64]> = parents.iter().map(|parent| parent.genes.as_slice()).collect();
        let children = breeder.breed(&genes, 20, 5, 1.0);
        assert!(children.len() >= 15, "{}", children.len());
        for child in &children {
            assert!((0.0..=1.0).contains(&child.genes[0]) && (0.0..=1.0).contains(&child.genes[1]), "{child:?}");
        }
        let near = children.iter().filter(|child| (0.3..=0.8).contains(&child.genes[0])).count();
        assert!(near >= children.len() * 3 / 4, "{near} of {}", children.len());
        let mut all: Vec<&Vec<String>> = parents.iter().chain(&children).map(|one| &one.texts).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), parents.len() + children.len());
    }

    #[test]
    fn a_share_that_leaves_the_range_comes_back() {
        assert_eq!([-0.25, 1.25, 0.5, -3.0].map(reflected), [0.25, 0.75, 0.5, 0.0]);
    }
}
