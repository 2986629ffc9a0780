//! Distributions as a scenario writes them: a plain value is constant, a table of one key is a shape.

use crate::document::Field;
use crate::random::Distribution;
use crate::random::distribution::Shape;
use crate::units::SimDuration;

/// The most tokens of one request.
const MOST_TOKENS: u64 = 1_000_000_000;

/// What is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Times, written as durations and drawn in seconds.
    Seconds,
    /// Tokens, written as quantities.
    Tokens,
}

impl Measure {
    fn value(self, field: &Field<'_>) -> Option<f64> {
        match self {
            Measure::Seconds => field.duration().map(SimDuration::as_secs_f64),
            Measure::Tokens => field.quantity(MOST_TOKENS),
        }
    }

    fn constant(self, field: &Field<'_>) -> Option<f64> {
        match self {
            Measure::Seconds => self.value(field),
            Measure::Tokens => field.whole(0..=MOST_TOKENS).map(|tokens| tokens as f64),
        }
    }

    /// A value above zero: a scale of zero would make every draw zero, or none.
    fn scale(self, field: &Field<'_>) -> Option<f64> {
        let value = self.value(field)?;
        if value > 0.0 { Some(value) } else { field.must("be above zero", self.example()) }
    }

    const fn example(self) -> &'static str {
        match self {
            Measure::Seconds => r#"write a duration such as "1.5s""#,
            Measure::Tokens => r#"write a quantity such as 1200 or "12k""#,
        }
    }
}

const FORMS: [&str; 6] = ["uniform", "exponential", "lognormal", "normal", "gamma", "weibull"];

/// The distribution that a value says.
pub(super) fn distribution(field: &Field<'_>, measure: Measure) -> Option<Distribution> {
    if field.node.as_table().is_none() {
        return Some(Distribution::constant(measure.constant(field)?));
    }
    let reader = field.table("one distribution")?;
    let chosen = reader.only(&FORMS);
    reader.finish();
    let (form, inner) = chosen?;
    let shape = if form == "uniform" { uniform(&inner, measure)? } else { shape(form, &inner, measure)? };
    // What the constructor refuses has been refused above, with words.
    Distribution::new(shape).or_else(|| inner.wrong("is no distribution that can be drawn", "use less extreme numbers"))
}

fn uniform(field: &Field<'_>, measure: Measure) -> Option<Shape> {
    let (low, high) = field.pair("the lowest and the highest value")?;
    let (low, high) = (measure.value(&low), measure.value(&high));
    let (low, high) = (low?, high?);
    if low > high {
        return field.wrong("ends below its beginning", "write the lower bound first");
    }
    Some(if low == high { Shape::Constant(low) } else { Shape::Uniform { low, high } })
}

/// The shapes that are named by their mean and, but for the exponential, by a width.
fn shape(form: &str, field: &Field<'_>, measure: Measure) -> Option<Shape> {
    let reader = field.table("its parameters")?;
    let mean = reader.need("mean", measure.example()).and_then(|field| measure.scale(&field));
    let width = match form {
        "lognormal" => reader.need("sigma", "write the standard deviation of the logarithm, such as 0.3"),
        "normal" => reader.need("sd", "write the standard deviation"),
        "gamma" => reader.need("cv", "write the standard deviation divided by the mean, such as 1.5"),
        "weibull" => reader.need("shape", "write the exponent, such as 1.5"),
        _ => None,
    };
    reader.finish();
    let width = match form {
        "exponential" => return Some(Shape::Exponential { mean: mean? }),
        "normal" => width.and_then(|field| measure.value(&field)),
        "weibull" => width.and_then(|field| field.number(0.1..=100.0)),
        _ => width.and_then(|field| field.number(0.0..=10.0)),
    };
    let (mean, width) = (mean?, width?);
    if width == 0.0 {
        return Some(Shape::Constant(mean));
    }
    Some(match form {
        "lognormal" => Shape::LogNormal { mean, sigma: width },
        "normal" => Shape::Normal { mean, sd: width },
        "gamma" => Shape::Gamma { mean, cv: width },
        _ => Shape::Weibull { mean, shape: width },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Faults, parse};

    fn read(value: &str, measure: Measure) -> Result<Shape, String> {
        let faults = Faults::default();
        let root = parse::own(&format!("a = {value}"));
        let entry = root.get("a").unwrap();
        let read = distribution(&Field::new(entry.key, &entry.node, &faults), measure);
        match faults.into_sorted().0.pop() {
            Some(fault) => Err(fault.message),
            None => Ok(read.unwrap().shape().clone()),
        }
    }

    #[test]
    fn every_form_is_read_in_its_unit() {
        use Measure::{Seconds, Tokens};
        for (value, measure, shape) in [
            ("\"250ms\"", Seconds, Shape::Constant(0.25)),
            ("1200", Tokens, Shape::Constant(1_200.0)),
            ("\"12.1k\"", Tokens, Shape::Constant(12_100.0)),
            ("{ uniform = [\"1s\", \"2s\"] }", Seconds, Shape::Uniform { low: 1.0, high: 2.0 }),
            ("{ exponential = { mean = \"2s\" } }", Seconds, Shape::Exponential { mean: 2.0 }),
            (
                "{ lognormal = { mean = \"12.1k\", sigma = 0.25 } }",
                Tokens,
                Shape::LogNormal { mean: 12_100.0, sigma: 0.25 },
            ),
            ("{ lognormal = { mean = 5, sigma = 0 } }", Tokens, Shape::Constant(5.0)),
            ("{ normal = { mean = 10, sd = 3 } }", Tokens, Shape::Normal { mean: 10.0, sd: 3.0 }),
            ("{ gamma = { mean = \"1s\", cv = 1.5 } }", Seconds, Shape::Gamma { mean: 1.0, cv: 1.5 }),
            ("{ weibull = { mean = \"1s\", shape = 2 } }", Seconds, Shape::Weibull { mean: 1.0, shape: 2.0 }),
        ] {
            assert_eq!(read(value, measure), Ok(shape), "{value}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        use Measure::{Seconds, Tokens};
        for (value, measure, message) in [
            ("{ uniform = [\"2s\", \"1s\"] }", Seconds, "ends below its beginning"),
            ("{ uniform = [\"2s\"] }", Seconds, "must have two elements, found 1"),
            ("{ exponential = { mean = \"0s\" } }", Seconds, "must be above zero, found \"0s\""),
            ("{ lognormal = { mean = 5, sigma = -1 } }", Tokens, "must be at least 0, found -1"),
            ("{ lognormal = { mean = 5, sigma = nan } }", Tokens, "must be a number, found NaN"),
            ("{ lognormal = { mean = 5 } }", Tokens, "lacks the key `sigma`"),
            ("{ lognormal = { mean = inf, sigma = 1 } }", Tokens, "must be at most 1000000000, found inf"),
            ("{ lognorml = { mean = 5, sigma = 1 } }", Tokens, "unknown key"),
            ("{}", Tokens, "says none of the things that it could"),
            ("\"2G\"", Tokens, "must be at most 1000000000, found \"2G\""),
            ("12.5", Tokens, "must be a whole number, found 12.5"),
            ("true", Seconds, "must be a duration, found true"),
        ] {
            assert_eq!(read(value, measure), Err(message.to_owned()), "{value}");
        }
    }
}
