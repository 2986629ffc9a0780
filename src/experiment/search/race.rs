//! Successive halving: newborn candidates meet a few seeds, the better half of them meets twice as many, and so on. The
//! elite runs along at every rung, on its first seeds, so that a generation that is worse than its parents is seen early.

use super::dominance::{self, Standing};
use super::{Candidate, Judge};

/// How many seeds a candidate has met at the end of each rung.
pub fn rungs(seeds: u64) -> Vec<u64> {
    let seeds = seeds.max(1);
    let mut out: Vec<u64> = [8, 4, 2].into_iter().map(|part| seeds / part).filter(|rung| *rung >= 2).collect();
    out.push(seeds);
    out.dedup();
    out
}

/// Lets the candidates from an index on race, against each other and the elite.
pub(super) fn race<J: Judge>(
    all: &mut [Candidate],
    from: usize,
    elite: &[usize],
    ladder: &[u64],
    judge: &mut J,
) -> Result<(), J::Stop> {
    let mut running: Vec<usize> = (from..all.len()).collect();
    let mut met = 0;
    for rung in ladder.iter().copied() {
        run(all, &mut running, met..rung, judge)?;
        met = rung;
        // Ranked together: what an elder already does better need not survive.
        let rivals: Vec<usize> = elite.iter().chain(&running).copied().collect();
        let rows = rung as usize * judge.worlds();
        let standings: Vec<Standing> =
            rivals.iter().map(|index| judge.standing(&all[*index].genes, &all[*index].rows[..rows])).collect();
        let places = dominance::order(&standings).into_iter().map(|at| rivals[at]);
        let ahead: Vec<usize> = places.filter(|index| *index >= from).collect();
        running = ahead[..ahead.len().div_ceil(2)].to_vec();
    }
    Ok(())
}

/// Runs further seeds; who cannot be run leaves.
fn run<J: Judge>(
    all: &mut [Candidate],
    running: &mut Vec<usize>,
    seeds: std::ops::Range<u64>,
    judge: &mut J,
) -> Result<(), J::Stop> {
    let policies: Vec<&[String]> = running.iter().map(|index| all[*index].texts.as_slice()).collect();
    let rows = judge.rows(&policies, seeds.clone())?;
    let mut still = Vec::with_capacity(running.len());
    for (index, rows) in running.iter().zip(rows) {
        let candidate = &mut all[*index];
        let Some(rows) = rows else {
            candidate.seeds = 0;
            candidate.standing = None;
            continue;
        };
        candidate.rows.extend(rows);
        candidate.seeds = seeds.end;
        candidate.standing = Some(judge.standing(&candidate.genes, &candidate.rows));
        still.push(*index);
    }
    *running = still;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::rungs;

    #[test]
    fn rungs_double_and_end_with_all_seeds() {
        assert_eq!(rungs(32), [4, 8, 16, 32]);
        assert_eq!(rungs(8), [2, 4, 8]);
        assert_eq!(rungs(3), [3]);
        assert_eq!(rungs(1), [1]);
        assert_eq!(rungs(0), [1]);
    }
}
