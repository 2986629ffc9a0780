//! Published results, replayed: what a paper or another simulator found with the same settings comes out here within
//! three standard errors of both, or within 2 % where that is more. The table in `docs/validation.md` holds both numbers.
//!
//! In the ordinary run each replay has few replicates, and a few of the larger ones are left out. `PEERS=full` runs all of
//! them with all replicates and compares the table with the page; with `SNAPSHOTS=overwrite` it renews the page:
//!
//!     PEERS=full SNAPSHOTS=overwrite cargo test --release --test it peers
//!
//! - `queues`: a queue that outlives its cause: `DesCartes`, happy-simulator, "retrystorm".
//! - `budgets`: retries against a server that fails whatever the load: Brooker 2022.
//! - `collapse`: a server that slows down the more it has to do: Brooker 2022; and the edge of a real one: Huang 2022.
//! - `limiter`: backoff against a sliding window: backoff-simulator.
//! - `layers`: what layers multiply to, in closed form and in reports.
//! - `contention`, `ticks`: worlds that the product does not have, driven by its waits and its random numbers.

mod budgets;
mod collapse;
mod contention;
mod layers;
mod limiter;
mod queues;
mod ticks;

use std::fmt::Write as _;
use std::path::Path;

use retrycast::random::Seed;
use retrycast::scenario::Scenario;
use snapbox::{Data, assert_data_eq};

use super::stage::{Run, read};

/// Whether everything runs, with all replicates.
fn is_full() -> bool {
    std::env::var_os("PEERS").is_some_and(|value| value == "full")
}

/// So many replicates, or fewer in the ordinary run.
fn replicates(full: u64, few: u64) -> u64 {
    if is_full() { full } else { few }
}

/// A mean with its standard error.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    mean: f64,
    error: f64,
}

/// What was published: a number with so many decimals, and how many replicates stand behind it.
#[derive(Clone, Copy, Debug)]
struct Published {
    mean: f64,
    decimals: usize,
    /// The standard deviation of one replicate, where it was published; else ours is taken for both.
    sd: Option<f64>,
    replicates: f64,
}

impl Published {
    /// A number of one run, without an error.
    const fn once(mean: f64, decimals: usize) -> Published {
        Published { mean, decimals, sd: None, replicates: 1.0 }
    }

    /// A mean of so many replicates, without an error.
    const fn of(replicates: u32, mean: f64, decimals: usize) -> Published {
        Published { replicates: replicates as f64, ..Published::once(mean, decimals) }
    }

    /// The same with the standard deviation of one replicate.
    const fn with_sd(self, sd: f64) -> Published {
        Published { sd: Some(sd), ..self }
    }

    /// A formula, or a number that does not depend on chance.
    const fn exact(mean: f64, decimals: usize) -> Published {
        Published { replicates: f64::INFINITY, ..Published::once(mean, decimals) }
    }
}

/// One number, there and here.
#[derive(Clone, Debug)]
struct Number {
    published: Published,
    found: Estimate,
    /// The standard error of what was published, its rounding included.
    published_error: f64,
}

impl Number {
    /// From the replicates of this program.
    fn new(published: Published, values: &[f64]) -> Number {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let sd = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { published.sd.unwrap_or(0.0) };
        let rounding = (0..published.decimals).fold(1.0, |unit, _| unit / 10.0) / 12.0_f64.sqrt();
        let theirs = published.sd.unwrap_or(sd) / published.replicates.sqrt();
        Number {
            published,
            found: Estimate { mean, error: sd / n.sqrt() },
            published_error: if published.replicates.is_finite() { libm::hypot(theirs, rounding) } else { 0.0 },
        }
    }

    /// How far apart they are, in standard errors of both.
    fn apart(&self) -> f64 {
        let difference = (self.found.mean - self.published.mean).abs();
        let error = libm::hypot(self.found.error, self.published_error);
        if difference < 1e-9 * self.published.mean.abs().max(1.0) { 0.0 } else { difference / error }
    }

    /// How far apart they are, as a share of what was published.
    fn share(&self) -> f64 {
        (self.found.mean - self.published.mean).abs() / self.published.mean.abs()
    }

    fn agrees(&self) -> bool {
        self.apart() <= 3.0 || self.share() <= 0.02
    }
}

/// Where it was published, what is replayed, and the numbers, each with its word in the situation.
struct Row {
    source: &'static str,
    situation: String,
    numbers: Vec<Number>,
}

impl Row {
    fn new(source: &'static str, situation: impl Into<String>, numbers: Vec<Number>) -> Row {
        Row { source, situation: situation.into(), numbers }
    }

    fn cells(&self, value: impl Fn(&Number) -> f64) -> String {
        let texts = self.numbers.iter().map(|number| {
            let text = format!("{:.*}", number.published.decimals, value(number));
            text.strip_prefix("-0")
                .filter(|rest| rest.chars().all(|c| "0.".contains(c)))
                .map_or(text.clone(), |rest| format!("0{rest}"))
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    fn apart(&self) -> String {
        let furthest = self.numbers.iter().max_by(|one, other| one.apart().total_cmp(&other.apart()));
        match furthest {
            None => String::new(),
            Some(number) if number.apart() > 3.0 => format!("{:.1} % of it", 100.0 * number.share()),
            Some(number) if number.apart() == 0.0 => "equal".to_owned(),
            Some(number) => format!("{:.1}", number.apart()),
        }
    }

    /// The numbers that do not agree, in words.
    fn faults(&self) -> Vec<String> {
        let wrong = self.numbers.iter().enumerate().filter(|(_, number)| !number.agrees());
        let said = |(place, number): (usize, &Number)| {
            let Number { published, found, published_error } = number;
            format!(
                "{}: {}: number {}: {} ± {} instead of {} ± {published_error}, {:.1} errors apart",
                self.source,
                self.situation,
                place + 1,
                found.mean,
                found.error,
                published.mean,
                number.apart()
            )
        };
        wrong.map(said).collect()
    }
}

/// What so many replicates of a scenario say of each run.
fn each<const N: usize>(scenario: &Scenario, seed: u64, n: u64, of: impl Fn(&Run) -> [f64; N]) -> [Vec<f64>; N] {
    let mut all = [const { Vec::new() }; N];
    for k in 0..n {
        let values = of(&Run::of(scenario, Seed(seed).replicate(k).0));
        all.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
    }
    all
}

/// The page that holds the table.
fn page() -> (std::path::PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/validation.md");
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// The numbers agree, and the page has a row for each of these.
fn hold(rows: fn() -> Vec<Row>) {
    if is_full() {
        return;
    }
    let (rows, (_, page)) = (rows(), page());
    let faults: Vec<String> = rows.iter().flat_map(Row::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for row in rows {
        let line = format!("| {} | {} | {} |", row.source, row.situation, row.cells(|number| number.published.mean));
        assert!(page.contains(&line), "docs/validation.md has no row\n{line}");
    }
}

#[test]
fn the_table_on_the_page_is_todays() {
    if !is_full() {
        return;
    }
    let all = [
        queues::rows(),
        budgets::rows(),
        collapse::rows(),
        limiter::rows(),
        contention::rows(),
        ticks::rows(),
        layers::rows(),
    ];
    let mut table =
        String::from("| source | situation | published | this program | apart |\n| --- | --- | --- | --- | --- |\n");
    let all: Vec<Row> = all.into_iter().flatten().collect();
    for row in &all {
        let (published, found) = (row.cells(|number| number.published.mean), row.cells(|number| number.found.mean));
        writeln!(table, "| {} | {} | {published} | {found} | {} |", row.source, row.situation, row.apart()).unwrap();
    }
    let faults: Vec<String> = all.iter().flat_map(Row::faults).collect();
    assert!(faults.is_empty(), "{table}\n{}", faults.join("\n"));
    let (path, page) = page();
    let (open, close) = ("<!-- published -->\n", "<!-- end of published -->");
    let (head, rest) = page.split_once(open).expect("a mark");
    let (_, tail) = rest.split_once(close).expect("a mark");
    assert_data_eq!(format!("{head}{open}{table}{close}{tail}"), Data::read_from(&path, None).raw());
}
