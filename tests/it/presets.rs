//! What every preset promises, seen from outside: its equivalent in general keys is one, its defaults are what it says
//! they are, and its words are refused with the near one when they are wrong.

use retrycast::document::Place;
use retrycast::policy::{Client, Role};
use retrycast::preset::{FAMILIES, Preset, Source as Known};
use retrycast::scenario::{Refusal, Source, load, preset_client};

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
