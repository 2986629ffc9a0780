//! The SDKs of Anthropic and `OpenAI` for Python, which share their retry code.

use super::{Case, Library, Setup, seconds};

pub(crate) const LIBRARIES: [Library; 5] = [
    python("anthropic-python-0.25.9", "anthropic-python-0.25"),
    python("anthropic-python-1.13.0", "anthropic-python-1.13"),
    python("anthropic-python-2.14.0", "anthropic-python-2.14"),
    python("openai-python-1.109.1", "openai-python-1.109"),
    python("openai-python-3.57.0", "openai-python-3.57"),
];

const fn python(file: &'static str, preset: &'static str) -> Library {
    Library { file, tier: 1, preset, setup }
}

fn setup(case: &Case) -> Setup {
    if case.id == "200_malformed_json" {
        return Setup::OutOfScope("a body that is no JSON: the model has no bodies");
    }
    let mut sets = Vec::new();
    if let Some(retries) = case.whole("request_max_retries").or(case.whole("max_retries")) {
        sets.push(format!("max_retries={retries}"));
    }
    // This one does not look at the timeout of its client, only at that of a call.
    let of_client = case.number("timeout").filter(|_| !case.file.starts_with("anthropic-python-0.25"));
    if let Some(timeout) = case.number("request_timeout").or(of_client) {
        sets.push(format!("timeout={}", seconds(timeout)));
    }
    Setup::Preset(sets)
}
