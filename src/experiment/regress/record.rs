//! What is kept of a scenario: its settings, digests, and the numbers of each seed.

use crate::experiment::trial::Trial;
use crate::random::Key;
use crate::scenario::Scenario;

/// The digits that are kept of a number: a difference in the seventh is of no policy.
const DIGITS: usize = 6;

/// Everything that was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The version of the program that recorded it.
    pub program: String,
    /// The seed; replicate 0 uses it as it is.
    pub seed: u64,
    /// How many seeds each scenario met.
    pub replicates: u64,
    /// The files and folders that were asked for.
    pub sources: Vec<String>,
    /// Each variant of each file.
    pub recorded: Vec<Recorded>,
}

/// One variant of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The file, as it was named, with slashes.
    pub file: String,
    /// The variant.
    pub variant: String,
    /// What the file says for this variant: dotted paths and values as TOML.
    pub settings: Vec<(String, String)>,
    /// A fingerprint of each element of each client as it came out, presets included.
    pub elements: Vec<(String, u64)>,
    /// The sum of the digests of all runs.
    pub digest: u64,
    /// The sum of the digests of all worlds.
    pub world_digest: u64,
    /// What was measured.
    pub columns: Vec<Column>,
}

/// The values of one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its path, as [`crate::experiment::Measure::path`] writes it.
    pub path: String,
    /// One value for each seed, of six digits. NaN is a number that is not defined there, infinity a time that is never.
    pub values: Vec<f64>,
}

impl Recorded {
    /// What is kept of a trial of one arm.
    pub fn of(file: String, scenario: &Scenario, settings: Vec<(String, String)>, trial: &Trial) -> Recorded {
        let column = |(index, measure): (usize, &crate::experiment::Measure)| Column {
            path: measure.path(),
            values: trial.values(0, index).into_iter().map(rounded).collect(),
        };
        Recorded {
            file,
            variant: scenario.variant.clone(),
            settings,
            elements: elements(scenario),
            digest: trial.arms[0].digest,
            world_digest: trial.arms[0].world_digest,
            columns: trial.measures.iter().enumerate().map(column).collect(),
        }
    }

    /// The values of the measure at this path.
    pub fn values(&self, path: &str) -> Option<&[f64]> {
        self.columns.iter().find(|column| column.path == path).map(|column| column.values.as_slice())
    }

    /// The name of the file without its folder and its ending.
    pub fn stem(&self) -> &str {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        name.strip_suffix(".toml").unwrap_or(name)
    }
}

/// Fingerprints of the elements of all clients, as `CLIENT.ELEMENT`.
fn elements(scenario: &Scenario) -> Vec<(String, u64)> {
    let mut out: Vec<(String, u64)> = Vec::new();
    for client in &scenario.clients {
        for element in client.elements() {
            let name = format!("{}.{}", client.name, element.name);
            let print = Key::default().named(&format!("{element:?}")).bits();
            match out.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = Key::default().with(*known).with(print).bits(),
                None => out.push((name, print)),
            }
        }
    }
    out
}

/// A number with the digits that are kept.
pub fn rounded(value: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return if value == 0.0 { 0.0 } else { value };
    }
    // Decimal rounding through text is exact; through a power of ten it would not be.
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_kept_and_whole_numbers_stay_whole() {
        assert_eq!(rounded(9.311_904_761_904_763), 9.311_90);
        assert_eq!(rounded(123_456.0), 123_456.0);
        assert_eq!(rounded(1_234_567.0), 1_234_570.0);
        assert_eq!(rounded(-0.000_123_456_7), -0.000_123_457);
        assert!(rounded(f64::NAN).is_nan() && rounded(f64::INFINITY).is_infinite());
        assert!(rounded(-0.0).is_sign_positive());
    }
}
