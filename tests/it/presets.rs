//! What every preset promises, seen from outside: its equivalent in general keys is one, its defaults are what it says
//! they are, and its words are refused with the near one when they are wrong.

use retrycast::document::Place;
use retrycast::metrics::summarize;
use retrycast::policy::{Client, Role};
use retrycast::preset::{FAMILIES, Preset, Source as Known, breakers};
use retrycast::random::Seed;
use retrycast::scenario::{Refusal, Source, load, preset_client};
use retrycast::sim::simulate;

/// Every version of every family.
fn presets() -> impl Iterator<Item = Preset> {
    let names = FAMILIES
        .into_iter()
        .flat_map(|family| family.versions.iter().map(move |version| format!("{}-{}", family.word, version.number)));
    names.map(|name| Preset::find(&name).expect("a family finds its own versions"))
}

/// The role and the grammar of a client of one layer.
fn heart(client: &Client) -> (Role, String) {
    (client.elements()[0].role.clone(), format!("{:?}", client.grammar()))
}

fn by_itself(preset: Preset, sets: &[&str]) -> (Role, String) {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    heart(
        &preset_client(&preset.name(), &sets)
            .unwrap_or_else(|refusal| panic!("{} {sets:?}: {refusal:#?}", preset.name())),
    )
}

#[test]
fn the_equivalent_in_general_keys_does_the_same() {
    for preset in presets() {
        let mut keys: Vec<String> = preset.in_general_keys().lines().map(str::to_owned).collect();
        // A layer that never stops and never waits is refused in a scenario, and ends here for both.
        let endless = ["tenacity", "cockatiel"].contains(&preset.family.word);
        if endless {
            keys.push("total_budget = \"1h\"".to_owned());
        }
        let text = format!(
            "horizon = \"1h\"\n[clients.one]\nlayers = [{{ name = \"layer\", {} }}]\n[traffic.t]\nkind = \"jobs\"\n\
             workers = 1\nclient = \"one\"\narrivals = {{ at = [\"0s\"] }}\n\
             steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n",
            keys.join(", ")
        );
        let scenario = load(&Source::new("one.toml", &text)).unwrap_or_else(|refusal| panic!("{text}\n{refusal:#?}"));
        let sets: &[&str] = if endless { &["total_budget=1h"] } else { &[] };
        assert_eq!(heart(&scenario.clients[0]), by_itself(preset, sets), "{}", preset.name());
        assert_eq!(scenario.clients[0].elements()[0].kind, preset.family.kind, "{}", preset.name());
    }
}

#[test]
fn a_default_that_is_spelled_out_is_the_default() {
    for preset in presets() {
        for word in preset.family.words {
            if let Some(default) = word.default() {
                let said = by_itself(preset, &[&format!("{}={default}", word.word)]);
                assert_eq!(said, by_itself(preset, &[]), "{} {} = {default}", preset.name(), word.word);
            }
        }
    }
}

/// The guard that these words of a breaker's preset make.
fn breaker(name: &str, words: &str) -> retrycast::policy::Mechanism {
    let text = format!(
        "horizon = \"1h\"\n[guards.b]\nbreaker = {{ {name}{words} }}\n[clients.one]\nlayers = [{{ guard = \"b\" }}]\n\
         [traffic.t]\nkind = \"jobs\"\nworkers = 1\nclient = \"one\"\narrivals = {{ at = [\"0s\"] }}\n\
         steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n"
    );
    let scenario = load(&Source::new("one.toml", &text)).unwrap_or_else(|refusal| panic!("{text}\n{refusal:#?}"));
    scenario.guards[0].mechanism.clone()
}

#[test]
fn a_breaker_is_its_general_keys_and_its_spelled_out_defaults() {
    for family in breakers::FAMILIES {
        let name = format!("preset = \"{}\"", family.word);
        // Two of them look at nothing, and never reopen, unless somebody says so.
        let needed = match family.word {
            "cockatiel" => ", ConsecutiveBreaker = 3, halfOpenAfter = \"10s\"",
            "failsafe" => ", consecutive_failures = 3, backoff = { constant = \"10s\" }",
            _ => "",
        };
        let plain = breaker(&name, needed);
        let general = match family.word {
            "cockatiel" | "failsafe" => ", consecutive = 3, open = \"10s\"",
            _ => "",
        };
        let keys = breakers::find(family.word).unwrap().keys().trim_end().replace('\n', ", ");
        assert_eq!(plain, breaker(&keys, general), "{}", family.word);
        for (word, _) in family.glossary() {
            if let Some(default) = word.default() {
                let said = breaker(&name, &format!("{needed}, {} = {default}", word.word));
                assert_eq!(said, plain, "{} {} = {default}", family.word, word.word);
            }
        }
    }
}

#[test]
fn a_slip_of_a_word_is_refused_with_the_near_one() {
    for preset in presets() {
        for word in preset.family.words.iter().filter(|word| word.word.len() > 5) {
            let slip = format!("{}x", word.word);
            let Err(Refusal::Faulty { faults, .. }) = preset_client(&preset.name(), &[format!("{slip}=1")]) else {
                panic!("{} takes `{slip}`", preset.name());
            };
            let hint = faults[0].hint.as_deref().unwrap_or_default();
            assert!(hint.contains(&format!("did you mean `{}`?", word.word)), "{slip}: {:?}", faults[0]);
            assert_ne!(faults[0].place, Place::TOP, "{slip} is shown where it was written");
        }
    }
}

#[test]
fn measured_and_documented_presets_can_be_told_apart() {
    let documented: Vec<&str> = FAMILIES
        .into_iter()
        .filter(|family| family.versions.iter().any(|version| matches!(version.source, Known::Documented(_))))
        .map(|family| family.word)
        .collect();
    let expected =
        ["envoy", "finagle", "client-go", "polly", "resilience4j", "sidekiq", "sqs", "temporal", "client-go-workqueue"];
    assert_eq!(documented, expected);
}

/// Requests for each call when 100 calls a second meet nothing but 503 for a minute.
fn amplification_in_an_outage(layer: &str) -> f64 {
    let text = format!(
        "horizon = \"70s\"\n[provider.faults.outage]\nrespond = {{ status = 503, after = \"100ms\" }}\n\
         [clients.one]\nlayers = [{{ {layer} }}]\n[traffic.t]\nkind = \"turns\"\nclient = \"one\"\n\
         arrivals = {{ poisson = [[\"0s\", \"100/s\"], [\"60s\", \"0/s\"]] }}\n\
         steps = [{{ name = \"s\", input_tokens = 1, latency = \"1s\" }}]\n"
    );
    let scenario = load(&Source::new("outage.toml", &text)).unwrap_or_else(|refusal| panic!("{refusal:#?}"));
    let figures = summarize(&scenario, &simulate(&scenario, Seed(1)));
    let count = |what: &str| figures.leaf(&["classes", "t", what]).and_then(|number| number.get()).unwrap_or(f64::NAN);
    count("requests") / count("calls")
}

#[test]
fn a_budget_of_deposits_bounds_what_an_outage_costs() {
    // By theory: a fifth of the 6,000 requests or so, and six times the reserve of 100, which is there once in 10 s.
    let amplification = amplification_in_an_outage("preset = \"finagle\"");
    assert!((1.27..=1.31).contains(&amplification), "{amplification}");
    let without_reserve = amplification_in_an_outage("preset = \"finagle\", minRetriesPerSec = 0");
    assert!((1.17..=1.2).contains(&without_reserve), "{without_reserve}");
}

#[test]
fn a_limit_on_retries_at_the_same_time_bounds_what_an_outage_costs() {
    let envoy = "preset = \"envoy\", retry_on = \"5xx\", num_retries = 5";
    assert!((amplification_in_an_outage(&format!("{envoy}, budget = \"none\"")) - 6.0).abs() < 1e-9);
    // By hand: each of three places is taken for 100 ms and a wait of 12.5 ms (first) to 125 ms (later), so that 13 to
    // 27 retries a second come on top of 100.
    let limited = amplification_in_an_outage(envoy);
    assert!((1.13..1.27).contains(&limited), "{limited}");
    // 20 % of those under way; a call alone lasts 100 ms, so about 10 to 25 are, of which 3 to 5 retry.
    let share = amplification_in_an_outage(&format!("{envoy}, retry_budget = {{ budget_percent = 20 }}"));
    assert!(share >= limited && share < 1.6, "{share}");
}
