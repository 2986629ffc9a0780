//! All policies that were looked at, as a table: one row each, the values of its axes and the means of its numbers.

use std::io;

use super::Tuned;
use crate::report::csv::cell;

/// `tune.csv`. Times are in seconds; a cell that is not defined is empty. A time that is never counts as twice the run.
pub fn table(tuned: &Tuned<'_>) -> io::Result<Vec<u8>> {
    let tuning = tuned.tuning;
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let head = ["policy", "generation", "seeds"].map(str::to_owned).into_iter();
    let axes = tuned.axes.iter().map(|axis| axis.paths.join(" "));
    let numbers = tuning.metrics.iter().map(|metric| metric.word.clone());
    let tail = ["violation", "is_front", "is_winner"].map(str::to_owned);
    writer.write_record(head.chain(axes).chain(numbers).chain(tail))?;
    for (index, candidate) in tuning.found.candidates.iter().enumerate() {
        let mut record = vec![index.to_string(), candidate.generation.to_string(), candidate.seeds.to_string()];
        record.extend(candidate.texts.iter().cloned());
        let means = &tuning.means[index];
        record
            .extend((0..tuning.metrics.len()).map(|metric| cell(means.get(metric).copied().filter(|m| m.is_finite()))));
        record.push(cell(candidate.standing.as_ref().map(|standing| standing.violation).filter(|v| v.is_finite())));
        record.push(u8::from(tuning.found.front.contains(&index)).to_string());
        record.push(u8::from(tuning.winner == Some(index)).to_string());
        writer.write_record(record)?;
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}
