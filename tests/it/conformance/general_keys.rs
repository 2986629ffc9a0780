//! A preset is no more than its general keys: a layer that is written out in them does the same without it, whatever
//! words were said.

use super::{Setup, client_of, libraries, read};
use retrycast::document::{Faults, Place, parse, set};
use retrycast::policy::Client;
use retrycast::preset::Preset;
use retrycast::scenario;

/// A layer of these words, written out without its preset.
fn written_out(preset: &Preset, sets: &[String]) -> String {
    let (mut root, faults) = (parse::own("[layer]"), Faults::default());
    for (number, text) in sets.iter().enumerate() {
        set::apply_below(&mut root, &["layer"], number, text, &faults);
    }
    let mut element = root.get("layer").and_then(|entry| entry.node.as_table()).cloned().unwrap_or_default();
    preset.expand(&mut element, Place::TOP, &faults);
    let keys = element.in_order().into_iter().map(|(key, entry)| format!(", {key} = {}", entry.node.value));
    let kind = preset.family.kind.word();
    format!(
        "horizon = \"1h\"\n[clients.c]\nlayers = [{{ name = \"p\", kind = \"{kind}\"{} }}]\n[traffic.t]\nkind = \
         \"jobs\"\nworkers = 1\nclient = \"c\"\narrivals = {{ at = [\"0s\"] }}\nsteps = [{{ name = \"s\", \
         input_tokens = 1, latency = \"1s\" }}]\n",
        keys.collect::<String>()
    )
}

fn same(one: &Client, other: &Client) -> bool {
    let (first, second) = (&one.elements()[0], &other.elements()[0]);
    (first.kind, &first.role, one.grammar()) == (second.kind, &second.role, other.grammar())
}

#[test]
fn every_measured_setting_can_be_written_in_general_keys() {
    let mut wrong = Vec::new();
    for library in libraries() {
        let preset = Preset::find(library.preset).unwrap();
        for case in read(library.file) {
            let Setup::Preset(sets) = (library.setup)(&case) else { continue };
            let Ok(spoken) = scenario::preset_client(library.preset, &sets) else { continue };
            match client_of(&written_out(&preset, &sets)) {
                Ok(written) if same(&spoken, &written) => {}
                // A scenario, unlike a probe, refuses what would go on for ever at one instant.
                Err(refusal) if refusal.contains("for ever at one instant") => {}
                other => wrong.push(format!("{} {}: {other:?}", library.file, case.id)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
