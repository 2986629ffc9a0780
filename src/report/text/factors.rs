//! Each layer alone looks harmless; the table shows them beside each other, because they multiply.

use crate::metrics::Tree;
use crate::policy::Client;
use crate::report::headline::place;
use crate::report::quantity::{Unit, count};
use crate::report::story::{Scope, Story, Subject, WorstCase};
use crate::report::words::{readable, requests, task};

use super::page::{Page, cut, left, width};

/// One layer: what it can multiply by, and what it did.
struct Factor {
    name: String,
    at_worst: Option<String>,
    measured: f64,
}

/// Writes the layers of the class that causes the storm; nothing where its figures have no factors.
pub(super) fn write(page: &mut Page, subject: &Subject<'_>, story: &Story<'_>) {
    let worst = subject.worst.iter().find(|worst| worst.class == story.cause.name);
    let factors = factors(subject, story, worst);
    if factors.is_empty() {
        return;
    }
    page.blank();
    // The factors of hops stand in the same row, and what they multiply to is what the provider sees.
    let hops = story.through_hops(subject).unwrap_or(1.0);
    let product = story.value(subject, &["amplification_by_task"]).map(|product| product * hops);
    let equals =
        product.map_or_else(String::new, |product| format!("= {} per step, to the end", Unit::Ratio.bare(product)));
    let worst_line = worst.map(|worst| at_worst(worst, story));
    let measured = Measured { label: place(story.scope), is_mean: subject.is_replicated() };
    if !page.is_narrow() && across(page, &factors, worst_line.as_deref(), &measured, &equals) {
        window_line(page, subject, story, 2 + measured.columns());
        return;
    }
    down(page, &factors, worst_line.as_deref(), &measured, &equals);
    window_line(page, subject, story, 2);
}

/// What the measured factors are of.
struct Measured {
    label: String,
    is_mean: bool,
}

impl Measured {
    /// The columns of the labels before the factors.
    fn columns(&self) -> usize {
        width(&self.label).max("at worst".len()) + 3
    }

    fn head(&self) -> &'static str {
        if self.is_mean { "mean" } else { "" }
    }
}

/// The factors, outermost first; guards that changed nothing are left out.
fn factors(subject: &Subject<'_>, story: &Story<'_>, worst: Option<&WorstCase>) -> Vec<Factor> {
    let client = subject.scenario.client_of(story.cause);
    let path = story.scope.path(&story.cause.name, &["factors"]);
    let branches = subject.result.figures.at(&path).map_or(&[][..], Tree::branches);
    let elements = || subject.scenario.clients_of(story.cause).flat_map(Client::elements);
    let queue = client.queue().and_then(|_| client.elements().last());
    let mut out = Vec::new();
    for (key, leaf) in branches {
        let Tree::Leaf(figure) = leaf else { continue };
        let Some(measured) = figure.center() else { continue };
        let element = match key.as_str() {
            "runs" => queue,
            name => elements().find(|element| element.name == name),
        };
        let retries = element.is_some_and(|element| element.role.policy().is_some());
        if !retries && (measured - 1.0).abs() < 5e-4 {
            continue;
        }
        let attempts = worst.and_then(|worst| {
            let (_, attempts) = worst.attempts.iter().find(|(name, _)| Some(name) == element.map(|e| &e.name))?;
            Some(attempts.map_or_else(|| "∞".to_owned(), |n| count(n as f64)))
        });
        let name = match (key.as_str(), element) {
            ("steps_reached", None) => "reached".to_owned(),
            (key, None) => readable(key),
            (_, Some(element)) => readable(&element.name),
        };
        out.push(Factor { name, at_worst: attempts, measured });
    }
    out
}

/// "36 per step, 108 per report".
fn at_worst(worst: &WorstCase, story: &Story<'_>) -> String {
    let number = |n: Option<u64>| n.map_or_else(|| "∞".to_owned(), |n| count(n as f64));
    let (step, whole) = (number(worst.per_step), number(worst.per_task));
    if story.cause.steps.len() == 1 && step == whole {
        format!("= {step} per {}", task(story.cause))
    } else {
        format!("= {step} per step, {whole} per {}", task(story.cause))
    }
}

/// One column for each layer; false where the page is not wide enough.
fn across(page: &mut Page, factors: &[Factor], worst: Option<&str>, measured: &Measured, equals: &str) -> bool {
    let label = measured.columns();
    let bare: Vec<String> = factors.iter().map(|factor| Unit::Ratio.bare(factor.measured)).collect();
    let widths: Vec<usize> = factors
        .iter()
        .zip(&bare)
        .map(|(factor, bare)| {
            let at_worst = factor.at_worst.as_deref().map_or(0, width);
            width(&factor.name).max(width(bare)).max(at_worst)
        })
        .collect();
    let total: usize = 2 + label + widths.iter().map(|w| w + 3).sum::<usize>();
    if total + worst.map_or(0, width).max(width(equals)) > page.width() {
        return false;
    }
    let row = |head: &str, cells: Vec<String>, between: &str, end: &str| {
        let cells: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| left(cell, *width)).collect();
        format!("  {}{} {end}", left(head, label), cells.join(between))
    };
    page.line(&row(measured.head(), factors.iter().map(|factor| factor.name.clone()).collect(), "   ", ""));
    if let Some(worst) = worst {
        let cells = factors.iter().map(|factor| factor.at_worst.clone().unwrap_or_else(|| "1".to_owned())).collect();
        page.line(&row("at worst", cells, " × ", worst));
    }
    page.line(&row(&measured.label, bare, " × ", equals));
    true
}

/// One line for each layer.
fn down(page: &mut Page, factors: &[Factor], worst: Option<&str>, measured: &Measured, equals: &str) {
    let names = factors.iter().map(|factor| width(&factor.name)).max().unwrap_or(0).clamp(10, page.width() / 2 - 4);
    let head = if worst.is_some() { "at worst   " } else { "" };
    let label = Some(measured.label.as_str()).filter(|label| 2 + names + 3 + head.len() + width(label) <= page.width());
    page.line(&format!("  {}   {head}{}", left(measured.head(), names), label.unwrap_or("measured")));
    for (i, factor) in factors.iter().enumerate() {
        let sign = if i == 0 { ' ' } else { '×' };
        let at_worst = match (worst, &factor.at_worst) {
            (Some(_), Some(n)) => left(&format!("{sign} {n}"), 11),
            (Some(_), None) => left("", 11),
            (None, _) => String::new(),
        };
        let ratio = format!("{sign} {}", Unit::Ratio.bare(factor.measured));
        page.line(&format!("  {}   {at_worst}{ratio}", left(&cut(&factor.name, names), names)));
    }
    if let Some(worst) = worst {
        page.hanging("  at worst ", "  ", worst);
    }
    page.paragraph("  ", &format!("{} {equals}", measured.label));
}

/// The figure that people quote counts the window; the product follows its tasks to their end. Both stand here.
fn window_line(page: &mut Page, subject: &Subject<'_>, story: &Story<'_>, indent: usize) {
    let figure = |key| story.figure(subject, &[key]);
    let needed = Unit::Count.brief(figure("steps_offered"));
    let sent = Unit::Count.brief(figure("requests"));
    let ratio = Unit::Ratio.brief(figure("amplification"));
    let place = match story.scope {
        Scope::Whole => "in the whole run".to_owned(),
        Scope::Phase(phase) => format!("in the {} itself", readable(phase)),
    };
    let indent = " ".repeat(indent);
    let behind = story.through_hops(subject).and_then(|_| figure("provider_requests"));
    let behind =
        behind.map_or_else(String::new, |sent| format!(", and {} at the provider", Unit::Count.brief(Some(sent))));
    page.paragraph(&indent, &format!("{place} {} became {sent}: × {ratio}{behind}", requests(&needed)));
}
