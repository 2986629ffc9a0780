//! An axis: settings that take one value after another. A grid of experiments has one or two of them, and a search has
//! one for each thing that it may choose.

/// What the values of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Names, tables, truth values: what has no scale.
    Choice,
    /// Numbers without a unit.
    Number,
    /// Amounts, written with `k`, `M` or `G`.
    Amount,
    /// Shares, written in percent.
    Share,
    /// Times, in seconds.
    Seconds,
    /// Rates, in events per second.
    PerSecond,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// What is written for it in a scenario or behind `--set PATH=`.
    pub text: String,
    /// Where it lies on the scale; `None` for a choice.
    pub number: Option<f64>,
}

/// The ends between which a number may be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
    /// Whether equal ratios, not equal differences, are equally far apart.
    pub log: bool,
    /// Whether only whole numbers are meant.
    pub whole: bool,
}

/// Settings that take one value after another, all the same one.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The paths of the settings, at least one.
    pub paths: Vec<String>,
    /// What the values are.
    pub quantity: Quantity,
    /// The values, at least one, in the order in which they were written.
    pub values: Vec<Value>,
    /// The ends, where a range was given and not a list.
    pub span: Option<Span>,
}

impl Axis {
    /// What `--set` is to say for one value: a text for each path.
    pub fn sets(&self, value: &Value) -> Vec<String> {
        self.paths.iter().map(|path| format!("{path}={}", value.text)).collect()
    }

    /// The shortest end of its first path that still says what is meant: `sdk.max_retries`, `share.pacer.amount`.
    pub fn name(&self) -> String {
        let parts: Vec<&str> = self.paths[0].split('.').collect();
        let known = ["clients", "layers", "provider", "limits", "faults", "guards", "traffic", "steps"];
        let from = parts.iter().rposition(|part| known.contains(part)).map_or(0, |at| at + 1);
        parts[from.min(parts.len() - 1)..].join(".")
    }

    /// Whether its values lie on a scale.
    pub fn is_scale(&self) -> bool {
        self.quantity != Quantity::Choice
    }
}

impl Span {
    /// The number that lies at a share of the way from one end to the other.
    pub fn at(&self, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        let number = if self.log {
            self.from * libm::pow(self.to / self.from, share)
        } else {
            self.from + share * (self.to - self.from)
        };
        if self.whole { number.round() } else { number }
    }

    /// The share of the way at which a number lies.
    pub fn share(&self, number: f64) -> f64 {
        let share = if self.log {
            libm::log(number / self.from) / libm::log(self.to / self.from)
        } else {
            (number - self.from) / (self.to - self.from)
        };
        share.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(path: &str) -> Axis {
        Axis { paths: vec![path.to_owned()], quantity: Quantity::Choice, values: Vec::new(), span: None }
    }

    #[test]
    fn a_name_is_what_is_not_said_by_everybody() {
        for (path, name) in [
            ("clients.batch.layers.sdk.max_retries", "sdk.max_retries"),
            ("guards.share.pacer.amount", "share.pacer.amount"),
            ("provider.faults.overload.probability", "overload.probability"),
            ("horizon", "horizon"),
            ("traffic.report.workers", "report.workers"),
        ] {
            assert_eq!(axis(path).name(), name);
        }
    }

    #[test]
    fn a_span_is_even_in_differences_or_in_ratios() {
        let even = Span { from: 1.0, to: 9.0, log: false, whole: true };
        assert_eq!([0.0, 0.3, 1.0].map(|share| even.at(share)), [1.0, 3.0, 9.0]);
        let log = Span { from: 1.0, to: 100.0, log: true, whole: false };
        assert!((log.at(0.5) - 10.0).abs() < 1e-9 && (log.share(10.0) - 0.5).abs() < 1e-9);
    }
}
