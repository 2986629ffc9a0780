//! Every measured case of every library, through the same stack that the event loop drives: attempts and outcome
//! exactly, each wait within the range that the model gives, its mean within sampling error.
//!
//! A library's file translates the settings that were measured into its preset's own words. A case that no sane
//! vocabulary should hold is out of scope, with its reason; there may be at most 2 % of those in the first tier and
//! 10 % in the second.

mod anthropic;
mod aws;
mod calls;
mod case;
mod general_keys;
mod grpc;
mod guards;
mod http;
mod npm;
mod python;
mod rust;
mod script;
mod stacked;
mod verdict;

use case::{Case, read, seconds};
use retrycast::policy::Client;
use retrycast::probe::probe;
use retrycast::random::Seed;
use retrycast::scenario;
use script::{parsed, script, script_of};
use serde_json::Value;

/// One library at one version.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    /// The file under `tests/conformance/`, without its ending.
    pub(crate) file: &'static str,
    /// 1 or 2.
    pub(crate) tier: u8,
    /// The preset that stands for it.
    pub(crate) preset: &'static str,
    /// A case's settings in the preset's words.
    pub(crate) setup: fn(&Case) -> Setup,
}

/// What a case is run with.
pub(crate) enum Setup {
    /// The preset with these `--set`s, relative to it.
    Preset(Vec<String>),
    /// The same, and these answers in place of the measured ones: an error that has no word in a measured script.
    Scripted(Vec<String>, &'static str),
    /// The client `c` of this scenario, with a script for each step of its task.
    Steps(String, Vec<Vec<Value>>),
    /// The library refuses these settings, and so does the preset.
    Refused(Vec<String>),
    /// Not run, and why.
    OutOfScope(&'static str),
}

/// All libraries.
fn libraries() -> Vec<Library> {
    let all: [&[Library]; 8] = [
        &anthropic::LIBRARIES,
        &python::LIBRARIES,
        &stacked::LIBRARIES,
        &http::LIBRARIES,
        &aws::LIBRARIES,
        &grpc::LIBRARIES,
        &npm::LIBRARIES,
        &rust::LIBRARIES,
    ];
    all.into_iter().flatten().copied().collect()
}

/// How many cases of a tier there are, and how many of them are out of scope.
#[derive(Clone, Copy, Default)]
struct Tier {
    all: u32,
    out_of_scope: u32,
}

impl Tier {
    fn row(self, number: usize) -> String {
        let (run, percent) = (self.all - self.out_of_scope, self.share() * 100.0);
        format!("| {number} | {} | {run} | {} | {percent:.1} % |", self.all, self.out_of_scope)
    }

    fn share(self) -> f64 {
        f64::from(self.out_of_scope) / f64::from(self.all)
    }
}

#[expect(clippy::print_stdout, reason = "how many cases were run is part of the result")]
#[test]
fn every_measured_retry_layer_does_what_its_preset_does() {
    let (mut failures, mut left_out, mut table) = (Vec::new(), Vec::new(), Vec::new());
    let mut tiers = [Tier::default(); 2];
    for library in libraries() {
        let cases = read(library.file);
        let mut out_of_scope = 0;
        for case in &cases {
            match held(&library, case) {
                Ok(differences) => {
                    failures
                        .extend(differences.into_iter().map(|what| format!("{} {}: {what}", library.file, case.id)));
                }
                Err(why) => {
                    out_of_scope += 1;
                    left_out.push(format!("{} {}: {why}", library.file, case.id));
                }
            }
        }
        let all = u32::try_from(cases.len()).unwrap();
        let tier = &mut tiers[usize::from(library.tier) - 1];
        (tier.all, tier.out_of_scope) = (tier.all + all, tier.out_of_scope + out_of_scope);
        table.push(format!("| {} | {} | {} | {out_of_scope} |", library.file, library.tier, all - out_of_scope));
    }
    let sums: Vec<String> = (1..).zip(tiers).map(|(number, tier)| tier.row(number)).collect();
    let tables = [
        format!(
            "| tier | cases | run | out of scope | share |\n| --- | --- | --- | --- | --- |\n{}\n",
            sums.join("\n")
        ),
        format!("| library | tier | run | out of scope |\n| --- | --- | --- | --- |\n{}\n", table.join("\n")),
    ];
    println!("{}\nout of scope:\n{}\n", tables.join("\n"), left_out.join("\n"));
    for (tier, most) in tiers.into_iter().zip([0.02, 0.10]) {
        assert!(tier.share() <= most, "too many cases are out of scope");
    }
    let page = include_str!("../../../docs/validation.md");
    assert!(tables.iter().all(|table| page.contains(table)), "docs/validation.md has other numbers");
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

/// What differs in a case, or why it is not run.
fn held(library: &Library, case: &Case) -> Result<Vec<String>, &'static str> {
    let preset =
        |sets: &[String]| scenario::preset_client(library.preset, sets).map_err(|refusal| format!("{refusal:?}"));
    let differences = match (library.setup)(case) {
        Setup::OutOfScope(why) => return Err(why),
        Setup::Preset(sets) if case.fields.contains_key("calls") => {
            preset(&sets).and_then(|client| calls::check(case, &client)).map(|()| Vec::new())
        }
        Setup::Preset(sets) => preset(&sets).and_then(|client| differences(case, &client, &script(case))),
        Setup::Scripted(sets, answers) => preset(&sets).and_then(|client| differences(case, &client, answers)),
        Setup::Steps(text, scripts) => client_of(&text)
            .and_then(|client| stacked::asked(case, &client, &scripts))
            .map(|found| verdict::differences(case, &found)),
        Setup::Refused(sets) => match preset(&sets) {
            Ok(client) => Err(format!("not refused: {client:?}")),
            Err(_) => Ok(Vec::new()),
        },
    };
    Ok(differences.unwrap_or_else(|what| vec![what]))
}

/// What a client does differently with these answers.
fn differences(case: &Case, client: &Client, answers: &str) -> Result<Vec<String>, String> {
    Ok(verdict::differences(case, &probe(client, &parsed(answers)?, Seed(1))))
}

fn client_of(text: &str) -> Result<Client, String> {
    let scenario =
        scenario::load(&scenario::Source::new("case.toml", text)).map_err(|refusal| format!("{refusal:?}"))?;
    scenario.clients.into_iter().find(|client| client.name == "c").ok_or_else(|| "no client `c`".to_owned())
}
