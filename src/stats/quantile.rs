//! stub
/// Type 7.
pub fn of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    if sorted.is_empty() {
        return None;
    }
    let h = q * (sorted.len() - 1) as f64;
    let i = h as usize;
    let (a, b) = (sorted[i], sorted[(i + 1).min(sorted.len() - 1)]);
    Some(a + (b - a) * (h - i as f64))
}
