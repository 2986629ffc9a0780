//! What is said of one number over many replicates.

/// One number over replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; `None` below two values.
    pub sd: Option<f64>,
    /// The 5 % quantile (type 7).
    pub p5: f64,
    /// The median (type 7).
    pub p50: f64,
    /// The 95 % quantile (type 7).
    pub p95: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The 95 % confidence interval of the mean (Student's t); `None` below two values.
    pub ci95: Option<(f64, f64)>,
    /// How many replicates define the number.
    pub n: u64,
    /// The modes, where the values fall into two or more groups; empty otherwise.
    pub modes: Vec<Mode>,
}

/// One group of a distribution that has several.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// The share of the values in it, from 0 to 1.
    pub share: f64,
    /// Their mean.
    pub mean: f64,
    /// The smallest of them.
    pub min: f64,
    /// The largest of them.
    pub max: f64,
}

impl Statistic {
    /// stub
    pub fn of(values: &[f64]) -> Option<Statistic> {
        let mut v: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
        if v.is_empty() {
            return None;
        }
        v.sort_unstable_by(f64::total_cmp);
        let q = |q| super::quantile::of_sorted(&v, q).unwrap();
        let mean = v.iter().sum::<f64>() / v.len() as f64;
        Some(Statistic {
            mean,
            sd: None,
            p5: q(0.05),
            p50: q(0.5),
            p95: q(0.95),
            min: v[0],
            max: v[v.len() - 1],
            ci95: None,
            n: v.len() as u64,
            modes: vec![],
        })
    }
}
