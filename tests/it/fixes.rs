//! Fixes: what they change, in which order, and the exact words with which nonsense is refused.

use std::fmt::Write as _;

use retrycast::scenario::{Refusal, Scenario, Source, load, settings};

use super::scenario_errors::SOUND;

/// The sound scenario with more at its end.
fn with(more: &str, variant: Option<&str>, fixes: &[&str], sets: &[&str]) -> Result<Scenario, Refusal> {
    let text = format!("{SOUND}{more}");
    let [fixes, sets] = [fixes, sets].map(|texts| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    load(&Source { variant, fixes: &fixes, sets: &sets, ..Source::new("sound.toml", &text) })
}

const TWO: &str = "[fixes.one]\nclients.batch.layers.queue.max = 5\n\
    [fixes.off]\nclients.batch.layers.again.off = true\n";

/// The most attempts of a layer, and whether it is there.
fn attempts(scenario: &Scenario, layer: &str) -> Option<u64> {
    let elements = scenario.clients[0].elements();
    let policy = elements.iter().find(|element| element.name == layer)?.role.policy()?;
    policy.max_attempts.map(u64::from)
}

#[test]
fn a_fix_is_off_until_it_is_asked_for_and_a_set_wins_over_it() {
    let plain = with(TWO, None, &[], &[]).unwrap();
    assert_eq!(plain.fixes, ["one", "off"]);
    assert_eq!((attempts(&plain, "queue"), attempts(&plain, "again")), (Some(3), Some(4)));
    let both = with(TWO, None, &["off", "one"], &[]).unwrap();
    assert_eq!((attempts(&both, "queue"), attempts(&both, "again")), (Some(6), None));
    assert_eq!(attempts(&with(TWO, None, &["one"], &["clients.batch.layers.queue.max=7"]).unwrap(), "queue"), Some(8));
    // A variant stands below the fixes that are asked for, and above the ones that it names itself.
    let own = format!("{TWO}[variants.own]\nfixes = [\"one\", \"off\"]\nclients.batch.layers.queue.max = 6\n");
    assert_eq!(attempts(&with(&own, Some("calmer"), &["one"], &[]).unwrap(), "queue"), Some(6));
    let own = with(&own, Some("own"), &[], &[]).unwrap();
    assert_eq!((attempts(&own, "queue"), attempts(&own, "again")), (Some(7), None));
}

#[test]
fn what_a_fix_may_not_be_is_refused_in_so_many_words() {
    let said = |more: &str, variant: Option<&str>, fixes: &[&str], sets: &[&str]| match with(more, variant, fixes, sets)
    {
        Ok(_) => "accepted".to_owned(),
        Err(Refusal::Whole { message, hint }) => format!("{message} | {}", hint.unwrap_or_default()),
        Err(Refusal::Faulty { faults, .. }) => faults.iter().fold(String::new(), |mut out, fault| {
            let between = if out.is_empty() { "" } else { "\n" };
            write!(out, "{between}{} | {}", fault.message, fault.hint.as_deref().unwrap_or_default()).unwrap();
            out
        }),
    };
    for (more, variant, fixes, expected) in [
        (TWO, None, &["of"][..], "no fix `of` in `sound.toml` | fixes are `one`, `off`; did you mean `off`?"),
        ("", None, &["one"], "no fix `one` in `sound.toml` | describe it as [fixes.NAME] with the changes below it"),
        ("fixes = 3\n", None, &[], "must be a string, found 3 | write it in quotes"),
        (
            "[fixes]\nx = 3\n",
            None,
            &[],
            "must be a table of changes, found a number | write [fixes.NAME] and the changes below it",
        ),
        ("[fixes.x]\n", None, &[], "changes nothing | write what it changes below it, or leave it out"),
        (
            "[fixes.x]\nhorizon = \"2h\"\n",
            None,
            &[],
            "a fix cannot change `horizon` | leave it out, or write a variant",
        ),
        (
            "[fixes.\"x y\"]\ntitle = \"x\"\n",
            None,
            &[],
            "is no name, found \"x y\" | names are made of letters, digits, `_` and `-`, at most 64 of them",
        ),
        (
            "[fixes.x]\nclients.batch.layers.quue.max = 1\n",
            None,
            &["x"],
            "no layer has this name | layers are `sdk`, `share`, `fuse`, `again`, `queue`; did you mean `queue`?",
        ),
        (
            "[fixes.x]\nclients.batch.layers.queue.max = 1\n[fixes.y]\nclients.batch.layers.queue.max = 2\n",
            None,
            &["x", "y"],
            "`x` gives `clients.batch.layers.queue.max` another value | leave one of the two fixes out, or make them one",
        ),
        ("[variants.x]\nfixes = [\"off\"]\n", None, &[], "no fix has this name | there are no fixes"),
    ] {
        assert_eq!(said(more, variant, fixes, &[]), expected, "{more}");
    }
    // Two fixes may say the same, and be alternatives as long as only one is on.
    let same = "[fixes.x]\nclients.batch.layers.queue.max = 1\n[fixes.y]\nclients.batch.layers.queue.max = 1\n";
    assert_eq!(said(same, None, &["x", "y"], &[]), "accepted");
    let set = said(TWO, None, &[], &["fixes.one.title=x"]);
    assert_eq!(set, "fixes are applied before `--set` | set the value itself; it is set whichever fixes are on");
}

#[test]
fn settings_are_the_file_as_it_stands_after_variant_fixes_and_sets() {
    let (text, fixes, sets) =
        (format!("{SOUND}{TWO}"), ["one".to_owned()], ["provider.limits.itpm.amount=5".to_owned()]);
    let source = Source { variant: Some("calm"), fixes: &fixes, sets: &sets, ..Source::new("sound.toml", &text) };
    let all = settings(&source).unwrap();
    let value = |path: &str| all.iter().find(|(known, _)| known == path).map(|(_, value)| value.as_str());
    assert_eq!(value("provider.faults.overload.probability"), Some("0"));
    assert_eq!(value("clients.batch.layers.queue.max"), Some("5"));
    assert_eq!(value("provider.limits.itpm.amount"), Some("5"));
    assert_eq!(value("clients.batch.layers.again.off"), None);
    assert!(!all.iter().any(|(path, _)| path.starts_with("fixes") || path.starts_with("variants")));
}
