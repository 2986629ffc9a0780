//! Which of several policies are better when there is more than one goal: constrained dominance, non-dominated fronts
//! and crowding, as in NSGA-II (Deb, Pratap, Agarwal and Meyarivan 2002).

use std::cmp::Ordering;

/// How good a policy is; less is better everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// By how much it breaks the constraints, each relative to its bound; 0 where it keeps them all.
    pub violation: f64,
    /// The value of each goal.
    pub values: Vec<f64>,
}

impl Standing {
    /// Whether it is better than the other: it breaks constraints less, or keeps them too and is at least as good in
    /// each goal and better in one.
    pub fn dominates(&self, other: &Standing) -> bool {
        match self.violation.total_cmp(&other.violation) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                let pairs = || self.values.iter().zip(&other.values);
                pairs().all(|(own, other)| own <= other) && pairs().any(|(own, other)| own < other)
            }
        }
    }
}

/// The fronts, the best first: none of a front dominates another of it.
pub fn fronts(standings: &[Standing]) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..standings.len()).collect();
    let mut fronts = Vec::new();
    while !left.is_empty() {
        let beaten = |one: &usize| left.iter().any(|other| standings[*other].dominates(&standings[*one]));
        let (rest, front): (Vec<usize>, Vec<usize>) = left.iter().partition(|one| beaten(one));
        fronts.push(front);
        left = rest;
    }
    fronts
}

/// How lonely each of a front is: the way around it to its neighbours, added up over the goals; the ends are infinitely so.
fn crowding(standings: &[Standing], front: &[usize]) -> Vec<f64> {
    let mut lonely = vec![0.0_f64; front.len()];
    let goals = front.first().map_or(0, |index| standings[*index].values.len());
    for goal in 0..goals {
        let value = |at: usize| standings[front[at]].values[goal];
        let mut order: Vec<usize> = (0..front.len()).collect();
        order.sort_by(|a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
        let (first, last) = (order[0], order[order.len() - 1]);
        lonely[first] = f64::INFINITY;
        lonely[last] = f64::INFINITY;
        let width = value(last) - value(first);
        if width > 0.0 && width.is_finite() {
            for three in order.windows(3) {
                lonely[three[1]] += (value(three[2]) - value(three[0])) / width;
            }
        }
    }
    lonely
}

/// All of them, the best first: by front, within a front the lonelier first, then in their own order. With one goal that
/// is the order of its values.
pub fn order(standings: &[Standing]) -> Vec<usize> {
    let mut out = Vec::with_capacity(standings.len());
    for front in fronts(standings) {
        let lonely = crowding(standings, &front);
        let mut order: Vec<usize> = (0..front.len()).collect();
        order.sort_by(|a, b| lonely[*b].total_cmp(&lonely[*a]).then(a.cmp(b)));
        out.extend(order.into_iter().map(|at| front[at]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(violation: f64, values: &[f64]) -> Standing {
        Standing { violation, values: values.to_vec() }
    }

    #[test]
    fn fronts_are_those_of_a_drawing() {
        // Two goals: (1, 4), (2, 2) and (4, 1) are beaten by none, (2, 4) and (3, 3) by one of them each, (5, 5) by all.
        let all = [[5.0, 5.0], [1.0, 4.0], [3.0, 3.0], [2.0, 2.0], [4.0, 1.0], [2.0, 4.0]].map(|v| standing(0.0, &v));
        assert_eq!(fronts(&all), [vec![1, 3, 4], vec![2, 5], vec![0]]);
        assert_eq!(order(&all), [1, 4, 3, 2, 5, 0]);
    }

    #[test]
    fn who_keeps_the_constraints_is_better_than_who_does_not() {
        let all = [standing(0.5, &[0.0]), standing(0.0, &[9.0]), standing(0.1, &[1.0]), standing(0.0, &[8.0])];
        assert_eq!(order(&all), [3, 1, 2, 0]);
    }

    #[test]
    fn the_lonelier_of_a_front_comes_first_and_its_ends_before_all() {
        let all = [[0.0, 10.0], [1.0, 9.0], [2.0, 8.0], [6.0, 4.0], [10.0, 0.0]].map(|v| standing(0.0, &v));
        // Ends, then 6 with (10 − 2)/10 twice, then 2 with (6 − 1)/10 twice, then 1 with 2/10 twice.
        assert_eq!(order(&all), [0, 4, 3, 2, 1]);
    }

    #[test]
    fn what_is_not_defined_is_behind_everything() {
        let all = [standing(0.0, &[f64::INFINITY]), standing(0.0, &[3.0])];
        assert_eq!(order(&all), [1, 0]);
        assert_eq!(order(&[]), Vec::<usize>::new());
    }
}
