//! `rand_distr` is generic over its float, and over `f64` it calls whatever mathematics the build happens to link: the
//! C library's, or `libm`'s, which differ in the last bit of every tenth logarithm. [`Portable`] is an `f64` whose
//! mathematics is `libm`'s, so that the draws of `rand_distr`'s distributions are the same bits everywhere.
//!
//! The four primitive distributions that the others draw from are defined here too, each with one word per draw.

use std::num::FpCategory;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use num_traits::float::FloatCore;
use num_traits::{Float, Num, NumCast, One, ToPrimitive, Zero};
use rand::Rng;
use rand_distr::{Distribution, Exp1, Open01, OpenClosed01, StandardNormal};

use super::normal;

/// An `f64` that computes the same bits on every machine.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Portable(pub(super) f64);

impl Distribution<Portable> for Open01 {
    /// The midpoint of one of 2⁵² equal parts: never 0 and never 1.
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Portable {
        Portable(((rng.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64))
    }
}

impl Distribution<Portable> for OpenClosed01 {
    /// A multiple of 2⁻⁵³: never 0.
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Portable {
        Portable(((rng.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64))
    }
}

impl Distribution<Portable> for Exp1 {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Portable {
        let u: Portable = OpenClosed01.sample(rng);
        -u.ln()
    }
}

impl Distribution<Portable> for StandardNormal {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Portable {
        let u: Portable = Open01.sample(rng);
        Portable(normal::quantile(u.0))
    }
}

/// Implements an operator of two floats, which IEEE 754 defines exactly.
macro_rules! operator {
    ($($name:ident, $method:ident;)*) => {$(
        impl $name for Portable {
            type Output = Portable;
            #[inline]
            fn $method(self, rhs: Portable) -> Portable {
                Portable($name::$method(self.0, rhs.0))
            }
        }
    )*};
}

operator! { Add, add; Sub, sub; Mul, mul; Div, div; Rem, rem; }

impl Neg for Portable {
    type Output = Portable;
    #[inline]
    fn neg(self) -> Portable {
        Portable(-self.0)
    }
}

impl Zero for Portable {
    fn zero() -> Self {
        Portable(0.0)
    }

    fn is_zero(&self) -> bool {
        self.0 == 0.0
    }
}

impl One for Portable {
    fn one() -> Self {
        Portable(1.0)
    }
}

impl Num for Portable {
    type FromStrRadixErr = num_traits::ParseFloatError;

    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        <f64 as Num>::from_str_radix(text, radix).map(Portable)
    }
}

impl ToPrimitive for Portable {
    fn to_i64(&self) -> Option<i64> {
        self.0.to_i64()
    }

    fn to_u64(&self) -> Option<u64> {
        self.0.to_u64()
    }

    fn to_f64(&self) -> Option<f64> {
        Some(self.0)
    }
}

impl NumCast for Portable {
    #[inline]
    fn from<T: ToPrimitive>(n: T) -> Option<Self> {
        n.to_f64().map(Portable)
    }
}

/// Constants of the type.
macro_rules! constants {
    ($($method:ident = $value:expr;)*) => {$(
        #[inline]
        fn $method() -> Self {
            Portable($value)
        }
    )*};
}

/// Questions whose answer is in the bits.
macro_rules! questions {
    ($($method:ident -> $answer:ty;)*) => {$(
        #[inline]
        fn $method(self) -> $answer {
            self.0.$method()
        }
    )*};
}

/// Functions of one float.
macro_rules! functions {
    ($($method:ident = $function:path;)*) => {$(
        #[inline]
        fn $method(self) -> Self {
            Portable($function(self.0))
        }
    )*};
}

/// Functions of two floats.
macro_rules! functions_of_two {
    ($($method:ident = $function:path;)*) => {$(
        #[inline]
        fn $method(self, other: Self) -> Self {
            Portable($function(self.0, other.0))
        }
    )*};
}

impl Float for Portable {
    constants! {
        nan = f64::NAN;
        infinity = f64::INFINITY;
        neg_infinity = f64::NEG_INFINITY;
        neg_zero = -0.0;
        min_value = f64::MIN;
        min_positive_value = f64::MIN_POSITIVE;
        epsilon = f64::EPSILON;
        max_value = f64::MAX;
    }

    questions! {
        is_nan -> bool;
        is_infinite -> bool;
        is_finite -> bool;
        is_normal -> bool;
        is_sign_positive -> bool;
        is_sign_negative -> bool;
        classify -> FpCategory;
    }

    functions! {
        floor = libm::floor;
        ceil = libm::ceil;
        round = libm::round;
        trunc = libm::trunc;
        abs = libm::fabs;
        signum = f64::signum;
        sqrt = libm::sqrt;
        cbrt = libm::cbrt;
        exp = libm::exp;
        exp2 = libm::exp2;
        exp_m1 = libm::expm1;
        ln = libm::log;
        ln_1p = libm::log1p;
        log2 = libm::log2;
        log10 = libm::log10;
        sin = libm::sin;
        cos = libm::cos;
        tan = libm::tan;
        asin = libm::asin;
        acos = libm::acos;
        atan = libm::atan;
        sinh = libm::sinh;
        cosh = libm::cosh;
        tanh = libm::tanh;
        asinh = libm::asinh;
        acosh = libm::acosh;
        atanh = libm::atanh;
    }

    functions_of_two! {
        powf = libm::pow;
        hypot = libm::hypot;
        atan2 = libm::atan2;
        abs_sub = libm::fdim;
        max = f64::max;
        min = f64::min;
    }

    fn fract(self) -> Self {
        self - self.trunc()
    }

    fn recip(self) -> Self {
        Portable(1.0 / self.0)
    }

    fn mul_add(self, a: Self, b: Self) -> Self {
        Portable(libm::fma(self.0, a.0, b.0))
    }

    fn powi(self, n: i32) -> Self {
        Portable(libm::pow(self.0, n as f64))
    }

    fn log(self, base: Self) -> Self {
        self.ln() / base.ln()
    }

    fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }

    fn integer_decode(self) -> (u64, i16, i8) {
        FloatCore::integer_decode(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_primitive_draws_stay_inside_their_intervals() {
        /// A generator that always gives one word.
        struct Fixed(u64);
        impl rand::TryRng for Fixed {
            type Error = std::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok((self.0 >> 32) as u32)
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(self.0)
            }
            fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Self::Error> {
                to.fill(self.0 as u8);
                Ok(())
            }
        }
        for word in [0, u64::MAX] {
            let open: Portable = Open01.sample(&mut Fixed(word));
            assert!(open.0 > 0.0 && open.0 < 1.0);
            let closed: Portable = OpenClosed01.sample(&mut Fixed(word));
            assert!(closed.0 > 0.0 && closed.0 <= 1.0);
            let exponential: Portable = Exp1.sample(&mut Fixed(word));
            // −ln 2⁻⁵³ = 36.74.
            assert!((0.0..36.8).contains(&exponential.0));
            let normal: Portable = StandardNormal.sample(&mut Fixed(word));
            // The quantile of 2⁻⁵³ is −8.21.
            assert!(normal.0.abs() < 8.3);
        }
    }

    #[test]
    fn the_float_agrees_with_the_platform_to_rounding() {
        // Each pair differs by a few units in the last place at most; a mixed-up name would show.
        let x = Portable(0.7);
        let y = Portable(1.9);
        for (ours, theirs) in [
            (x.exp(), 2.013_752_707_470_476_6),
            (x.ln(), -0.356_674_943_938_732_4),
            (x.powf(y), 0.507_792_492_856_053_9),
            (y.sqrt(), 1.378_404_875_209_022),
            (y.log(x), -1.799_548_572_390_463_8),
            (y.powi(3), 6.859),
            (y.fract(), 0.9),
            (y.recip(), 0.526_315_789_473_684_2),
            (x.atan2(y), 0.352_990_387_826_910_45),
        ] {
            assert!((ours.0 - theirs).abs() < 1e-14, "{ours:?} {theirs}");
        }
    }
}
