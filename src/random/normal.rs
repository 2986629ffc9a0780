//! The standard normal distribution. Its quantile turns one uniform into one normal draw, without rejection and
//! without a table: a draw costs exactly one word of its stream, and a larger uniform always gives a larger draw, so
//! two settings that share a word stay paired.

use super::math;

/// The standard normal quantile of `p`, which lies strictly between 0 and 1, with a relative error of about 10⁻¹⁶
/// (Wichura 1988, "The percentage points of the normal distribution", algorithm AS 241, routine PPND16).
pub fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * rational(&CENTRE, r);
    }
    // The smaller tail, so that nothing is lost close to 1.
    let r = libm::sqrt(-math::ln(if q < 0.0 { p } else { 1.0 - p }));
    let z = if r <= 5.0 { rational(&TAIL, r - 1.6) } else { rational(&FAR_TAIL, r - 5.0) };
    if q < 0.0 { -z } else { z }
}

/// The probability that a standard normal draw exceeds `z`.
pub fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The density of the standard normal distribution at `z`.
pub fn density(z: f64) -> f64 {
    /// 1 / √(2π)
    const PEAK: f64 = 0.398_942_280_401_432_7;
    PEAK * math::exp(-0.5 * z * z)
}

/// A numerator and a denominator, constant terms first.
type Rational = [[f64; 8]; 2];

fn rational(&[numerator, denominator]: &Rational, x: f64) -> f64 {
    let horner = |coefficients: [f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    horner(numerator) / horner(denominator)
}

const CENTRE: Rational = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];

const TAIL: Rational = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

const FAR_TAIL: Rational = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_7e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_matches_tabulated_points() {
        // Standard tables, 15 digits.
        for (p, z) in [
            (0.5, 0.0),
            (0.841_344_746_068_542_9, 1.0),
            (0.95, 1.644_853_626_951_472_7),
            (0.975, 1.959_963_984_540_054),
            (0.999, 3.090_232_306_167_813_5),
            (1e-9, -5.997_807_015_007_687),
            (1e-15, -7.941_345_326_170_997),
        ] {
            assert!((quantile(p) - z).abs() < 1e-14 * (1.0 + z.abs()), "{p}: {}", quantile(p));
        }
    }

    #[test]
    fn the_quantile_inverts_the_distribution_in_every_region() {
        // erfc is an independent implementation; both are right to a few units in the last place.
        for n in 0..2_000 {
            let z = -8.0 + 0.004 * f64::from(n);
            let p = upper_tail(-z);
            assert!((quantile(p) - z).abs() < 2e-13 * (1.0 + z.abs()), "{z}");
            assert!((quantile(1.0 - 0.25 * p) + quantile(0.25 * p)).abs() < 1e-9 || p < 1e-7, "{z}");
        }
    }

    #[test]
    fn the_quantile_never_falls_where_two_approximations_meet() {
        // |q| = 0.425 and r = 5, where p = exp(−25).
        for seam in [0.075, 0.925, libm::exp(-25.0)] {
            let around: Vec<f64> = (-50..50).map(|n| quantile(seam * (1.0 + f64::from(n) * 1e-12))).collect();
            assert!(around.windows(2).all(|pair| pair[0] <= pair[1]), "{seam}");
        }
    }
}
