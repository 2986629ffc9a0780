//! Reading prices: of all models, of one model, of a limit on spend. The words are the same everywhere.

use crate::document::{Fault, Field, Reader};
use crate::provider::{Model, Prices, Tariff};

/// The currency where none is said.
const CURRENCY: &str = "USD";

/// Reads the prices of the provider, with the word for their currency.
pub(super) fn tariff(field: &Field<'_>) -> Option<Tariff> {
    let reader = field.table("input, cached_input, output, request and currency")?;
    let currency = reader.or("currency", CURRENCY.to_owned(), currency);
    let all = read(&reader);
    reader.finish();
    Some(Tariff { all: all?, currency: currency? })
}

/// The provider's prices: `None` where nobody says any. Where only models have prices, the others cost nothing.
pub(super) fn settle(read: Option<Tariff>, models: &[Model]) -> Option<Box<Tariff>> {
    let has_own = models.iter().any(|model| model.prices.is_some());
    let free = || Tariff { currency: CURRENCY.to_owned(), all: Prices::default() };
    read.or_else(|| has_own.then(free)).map(Box::new)
}

/// Reads prices in dollars, or in whatever the currency is: for a million tokens, and for a request.
pub(super) fn prices(field: &Field<'_>) -> Option<Prices> {
    let reader = field.table("input, cached_input, output and request")?;
    if let Some(field) = reader.get("currency") {
        let message = "all prices are in one currency";
        reader.faults().add(Fault::new(field.key, message).hint("write it in [provider.prices]"));
        return None;
    }
    let prices = read(&reader);
    reader.finish();
    prices
}

fn read(reader: &Reader<'_>) -> Option<Prices> {
    let price = |key, hint| reader.need(key, hint).and_then(|field| of_tokens(&field));
    let input = price("input", "write the dollars for a million input tokens");
    let output = price("output", "write the dollars for a million output tokens");
    let cached = reader.maybe("cached_input", of_tokens);
    let request = reader.or("request", 0, of_request);
    let (input, cached, output) = (input?, cached?, output?);
    Some(Prices { request: request?, input, cached: cached.unwrap_or(input), output })
}

/// Dollars for a million tokens are billionths of a dollar for a thousandth of one.
fn of_tokens(field: &Field<'_>) -> Option<u64> {
    super::limit_terms::thousandths(field)
}

/// Dollars for a request, with at most six decimals, in billionths.
fn of_request(field: &Field<'_>) -> Option<u64> {
    let number = field.number(0.0..=1e3)?;
    let whole = (number * 1e6 + 0.5) as u64;
    if (number * 1e6 - whole as f64).abs() > 1e-4 {
        return field.must("have at most six decimals", "round it");
    }
    Some(whole * 1_000)
}

fn currency(field: &Field<'_>) -> Option<String> {
    let text = field.text()?;
    let is_word = (1..=8).contains(&text.chars().count()) && text.chars().all(|c| !c.is_control() && c != ' ');
    if is_word { Some(text.to_owned()) } else { field.must("be one short word", r#"write a code such as "EUR""#) }
}
