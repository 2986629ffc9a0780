//! stub replaced by the full store
use crate::units::SimDuration;

/// Latencies.
#[derive(Clone, Debug, Default)]
pub struct LatencyStore {
    values: Vec<SimDuration>,
}
impl LatencyStore {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds one.
    pub fn record(&mut self, value: SimDuration) {
        self.values.push(value);
    }
    /// Adds all of another.
    pub fn merge(&mut self, other: &LatencyStore) {
        self.values.extend_from_slice(&other.values);
    }
    /// How many.
    pub fn count(&self) -> u64 {
        self.values.len() as u64
    }
    /// Mean seconds.
    pub fn mean(&self) -> Option<f64> {
        (!self.values.is_empty())
            .then(|| self.values.iter().map(|v| v.as_secs_f64()).sum::<f64>() / self.values.len() as f64)
    }
    /// Quantile seconds, type 7.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let mut v = self.values.clone();
        v.sort_unstable();
        if v.is_empty() {
            return None;
        }
        let h = q * (v.len() - 1) as f64;
        let i = h as usize;
        let a = v[i].as_secs_f64();
        let b = v[(i + 1).min(v.len() - 1)].as_secs_f64();
        Some(a + (b - a) * (h - i as f64))
    }
    /// Largest, seconds.
    pub fn max(&self) -> Option<f64> {
        self.values.iter().max().map(|v| v.as_secs_f64())
    }
}
