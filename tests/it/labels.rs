//! Limits of a key, a workspace, an organisation: who is counted by which, by hand.

use retrycast::random::Seed;
use retrycast::scenario::{Refusal, Scenario, Source, load};
use retrycast::sim::{Fact, simulate};

use super::stage::facts;

/// Turns of three classes each second for one minute, the third of two steps; a client that makes one attempt.
fn read(limits: &str, labels: [&str; 4]) -> Result<Scenario, Refusal> {
    let [a, b, c, write] = labels;
    let class = |name: &str, labels: &str, steps: &str| {
        format!(
            "[traffic.{name}]\nkind = \"turns\"\nclient = \"one\"\narrivals = {{ every = \"1s\" }}\n{labels}\nsteps = [{steps}]\n"
        )
    };
    let step = |name: &str, rest: &str| format!("{{ name = \"{name}\", input_tokens = 1, latency = \"1ms\"{rest} }}, ");
    let text = format!(
        "horizon = \"1m\"\n{limits}\n[clients.one]\nlayers = [{{ name = \"app\", max_attempts = 1, retry_on = \"any\", timeout = \"30s\" }}]\n{}{}{}",
        class("a", a, &step("turn", "")),
        class("b", b, &step("turn", "")),
        class("c", c, &(step("plan", "") + &step("write", write))),
    );
    load(&Source::new("labels.toml", &text))
}

const LABELS: [&str; 4] = [
    "labels = { key = \"k1\", workspace = \"research\" }",
    "labels = { key = \"k2\", workspace = \"prod\" }",
    "labels = { key = \"k1\", workspace = \"prod\" }",
    ", labels = { key = \"k3\" }",
];

/// How many requests of each class and step got through: a, b, c at its first and at its second step.
fn delivered(limits: &str) -> [usize; 4] {
    let scenario = read(limits, LABELS).unwrap_or_else(|refusal| panic!("{limits}: {refusal:#?}"));
    let facts = facts(&scenario, 1);
    [(0, 0), (1, 0), (2, 0), (2, 1)].map(|wanted| {
        let of = |fact: &&Fact| {
            matches!(fact, Fact::RequestEnded { class, step, answer, .. }
                if (*class, *step) == wanted && answer.is_delivered())
        };
        facts.iter().filter(of).count()
    })
}

/// A limit of so many requests in the minute.
fn limit(name: &str, amount: u32, rest: &str) -> String {
    format!(
        "[provider.limits.{name}]\ncounts = \"requests\"\namount = {amount}\nper = \"1m\"\nalgorithm = \"fixed_window\"\n{rest}\n"
    )
}

#[test]
fn a_limit_counts_those_who_have_its_labels() {
    // By hand: 60 turns each; the limit of research lets 10 through and those alone.
    assert_eq!(delivered(""), [60, 60, 60, 60]);
    assert_eq!(delivered(&limit("research", 10, "where = { workspace = \"research\" }")), [10, 60, 60, 60]);
    // Both labels at once; the second step of c goes on another key.
    assert_eq!(delivered(&limit("one", 10, "where = { workspace = \"prod\", key = \"k1\" }")), [60, 60, 10, 10]);
    assert_eq!(delivered(&limit("one", 10, "where = { workspace = \"prod\", key = \"k3\" }")), [60, 60, 60, 10]);
    // All of c by its class, whatever its labels.
    assert_eq!(delivered(&limit("one", 20, "classes = [\"c\"]")), [60, 60, 10, 10]);
    assert_eq!(delivered(&limit("one", 10, "classes = [\"c\"]\nwhere = { key = \"k3\" }")), [60, 60, 60, 10]);
}

#[test]
fn a_workspace_has_a_lower_limit_beside_that_of_its_organisation() {
    // By hand: in seconds 0 to 9 a and b both get through, 20 of the organisation's 30, and research is used up; b goes on
    // until the organisation's are, at 20. A refusal costs nothing. Of c nobody is counted.
    let both = limit("organisation", 30, "classes = [\"a\", \"b\"]")
        + &limit("research", 10, "where = { workspace = \"research\" }");
    assert_eq!(delivered(&both), [10, 20, 60, 60]);
}

#[test]
fn each_value_of_a_label_has_a_limit_of_its_own() {
    // By hand: key k1 is that of a and of the first step of c: in each second a comes first, and both use 5 of the 10.
    let each = limit("rpm", 10, "each = \"key\"");
    assert_eq!(delivered(&each), [5, 10, 5, 5]);
    let scenario = read(&each, LABELS).unwrap();
    let names: Vec<&str> = scenario.provider.limits.iter().map(|limit| limit.name.as_str()).collect();
    assert_eq!(names, ["rpm-k1", "rpm-k2", "rpm-k3"]);
    let outcome = simulate(&scenario, Seed(1));
    assert_eq!(outcome.limits.iter().map(|limit| limit.admitted).collect::<Vec<_>>(), [10, 10, 5]);
    assert_eq!(delivered(&limit("rpm", 10, "each = \"workspace\"")), [10, 4, 3, 3]);
    // Of those that a limit counts anyway.
    let each = limit("rpm", 10, "each = \"key\"\nwhere = { workspace = \"prod\" }");
    assert_eq!(delivered(&each), [60, 10, 10, 10]);
}

#[test]
fn requests_in_flight_are_counted_by_label_too() {
    let slots = |rest: &str| format!("[provider.limits.busy]\ncounts = \"in_flight\"\namount = 1\n{rest}\n");
    // All three classes ask at the same instant, and one request is served at a time.
    assert_eq!(delivered(&slots("each = \"workspace\"")), [60, 60, 0, 0]);
    assert_eq!(delivered(&slots("where = { key = \"k1\" }")), [60, 60, 0, 0]);
    assert_eq!(delivered(&slots("each = \"key\"")), [60, 60, 0, 0]);
    assert_eq!(delivered(&slots("where = { key = \"k3\" }")), [60, 60, 60, 60]);
}

#[test]
fn what_is_wrong_with_labels_is_said() {
    let said = |limits: &str, labels: [&str; 4]| match read(limits, labels) {
        Err(Refusal::Faulty { faults, .. }) => {
            let all =
                faults.into_iter().map(|fault| format!("{}\n  {}\n", fault.message, fault.hint.unwrap_or_default()));
            all.collect::<String>()
        }
        other => panic!("{limits}: {other:#?}"),
    };
    for (rest, expected) in [
        ("where = { workspcae = \"research\" }", "did you mean `workspace`?"),
        ("where = { workspace = \"reserach\" }", "nobody has \"reserach\" as `workspace`"),
        ("where = { workspace = \"reserach\" }", "did you mean `research`?"),
        ("where = { workspace = \"research\", key = \"k2\" }", "holds for nobody"),
        ("where = { workspace = 7 }", "must be a string, found 7"),
        ("each = \"kye\"", "did you mean `key`?"),
        ("each = \"key\"\nclasses = [\"b\"]\nmodels = 3", "must be a list"),
    ] {
        let said = said(&limit("x", 9, rest), LABELS);
        assert!(said.contains(expected), "{rest}:\n{said}");
    }
    for (labels, expected) in [
        ("labels = 7", "must be a table of labels"),
        ("labels = { key = 7 }", "must be a text of one line, found 7"),
        ("labels = { class = \"x\" }", "`class` is no label"),
        ("lables = { key = \"x\" }", "did you mean `labels`?"),
    ] {
        let said = said("", [labels, "", "", ""]);
        assert!(said.contains(expected), "{labels}:\n{said}");
    }
}
