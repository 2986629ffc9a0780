//! The interval of a share that was counted: Wilson 1927 ("Probable inference, the law of succession, and statistical
//! inference"). It never leaves 0 to 1, and says something where nothing, or everything, was counted.

/// The 97.5 % quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The 95 % interval of the share behind `k` of `n`.
pub fn wilson(k: u64, n: u64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let (n, share) = (n as f64, k as f64 / n as f64);
    let scale = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_wilson() {
        // Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662, 15 of 148 gives 0.0624 to 0.1605, 0 of 20 gives
        // 0 to 0.1611, 1 of 29 gives 0.0061 to 0.1718.
        for (k, n, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let (own_low, own_high) = wilson(k, n);
            assert!((own_low - low).abs() < 6e-5 && (own_high - high).abs() < 6e-5, "{own_low} {own_high}");
        }
        let (low, high) = wilson(30, 30);
        assert!((high - 1.0).abs() < 1e-12 && (low - 0.8865).abs() < 1e-4, "{low}");
    }
}
