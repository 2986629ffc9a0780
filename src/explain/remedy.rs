//! What to write where. A preset speaks its library's words, and a file that says the same thing in a library's word
//! and in a general key is refused. So a remedy for something that the file spells out uses the word that the file
//! must have used; what came from a preset's defaults is set by its general key.

use crate::policy::{Client, Element};

/// A setting of an element: the path of its key, and the value as a scenario file writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The path of the key, from the top of the file.
    pub path: String,
    /// The value.
    pub value: String,
}

impl Remedy {
    /// Sets a general key of an element.
    pub fn key(client: &Client, element: &Element, key: &str, value: &str) -> Remedy {
        let path = format!("clients.{}.layers.{}.{key}", client.name, element.name);
        Remedy { path, value: value.to_owned() }
    }

    /// Takes the element away.
    pub fn off(client: &Client, element: &Element) -> Remedy {
        Remedy::key(client, element, "off", "true")
    }

    /// Limits the element to so many attempts, the first included.
    pub fn attempts(client: &Client, element: &Element, attempts: u64) -> Remedy {
        let retries = attempts.saturating_sub(1).to_string();
        match spoken_family(element, "max_attempts") {
            Some("anthropic-python" | "openai-python") => Remedy::key(client, element, "max_retries", &retries),
            Some("tenacity") => Remedy::key(client, element, "stop", &format!("{{ after_attempt = {attempts} }}")),
            // The library has no word for a single run.
            Some("rq") if attempts <= 1 => Remedy::off(client, element),
            Some("rq") => Remedy::key(client, element, "max", &retries),
            Some(_) | None => Remedy::key(client, element, "max_attempts", &attempts.to_string()),
        }
    }

    /// Gives a queue long waits between its runs.
    pub fn slow_runs(client: &Client, element: &Element) -> Remedy {
        // A queue that RQ speaks for has no backoff of its own unless it says an interval.
        match spoken_family(element, "backoff") {
            Some("rq") => Remedy::key(client, element, "interval", "[\"3m\", \"10m\"]"),
            Some(_) | None => Remedy::key(client, element, "backoff", "{ list = [\"3m\", \"10m\"] }"),
        }
    }

    /// Gives a layer that does not wait a ladder to climb.
    pub fn ladder(client: &Client, element: &Element) -> Remedy {
        match spoken_family(element, "backoff") {
            Some("tenacity") => {
                Remedy::key(client, element, "wait", "{ exponential = { multiplier = \"1s\", max = \"30s\" } }")
            }
            Some(_) | None => {
                Remedy::key(client, element, "backoff", "{ exponential = { initial = \"1s\", cap = \"30s\" } }")
            }
        }
    }
}

/// The family of the element's preset, where the file itself says what this general key stands for.
fn spoken_family<'a>(element: &'a Element, key: &str) -> Option<&'a str> {
    let preset = element.preset.as_deref()?;
    let family = preset.rsplit_once('-').map_or(preset, |(family, _)| family);
    element.unspoken.iter().all(|unspoken| unspoken != key).then_some(family)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixture::{client, inner, sdk};

    fn attempts(preset: Option<&str>, unspoken: &[&str], attempts: u64) -> String {
        let mut element = inner("e", sdk(3));
        element.preset = preset.map(str::to_owned);
        element.unspoken = unspoken.iter().map(|word| (*word).to_owned()).collect();
        let client = client("c", vec![element]);
        let remedy = Remedy::attempts(&client, &client.elements()[0], attempts);
        format!("{} = {}", remedy.path.trim_start_matches("clients.c.layers.e."), remedy.value)
    }

    #[test]
    fn attempts_are_set_in_the_words_that_the_file_uses() {
        assert_eq!(attempts(None, &[], 1), "max_attempts = 1");
        assert_eq!(attempts(Some("anthropic-python-1.13"), &[], 1), "max_retries = 0");
        assert_eq!(attempts(Some("anthropic-python-1.13"), &["max_attempts"], 3), "max_attempts = 3");
        assert_eq!(attempts(Some("tenacity-9.1"), &[], 2), "stop = { after_attempt = 2 }");
        assert_eq!(attempts(Some("rq-3.0"), &["backoff"], 2), "max = 1");
        assert_eq!(attempts(Some("rq-3.0"), &[], 1), "off = true");
    }
}
