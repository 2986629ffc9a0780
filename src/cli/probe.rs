//! `retrycast probe`: one client, one script.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;

use super::args::{Format, ProbeArgs};
use super::engine::{self, Refused};
use super::files::Growing;
use super::source::Source;
use super::stream;
use crate::document::Value;
use crate::policy::Client;
use crate::preset::Preset;
use crate::probe::{Probe, Script, ScriptFault, probe as ask};
use crate::random::Seed;
use crate::report::probe as report;
use crate::{document, scenario};

/// Says what a client does when the server answers like this.
pub(super) fn probe(args: &ProbeArgs) -> anyhow::Result<ExitCode> {
    let client = client(args)?;
    let answers = answers(args)?;
    let script = Script::parse(&answers, args.clock).map_err(|faults| bad_script(&answers, &faults))?;
    let found = ask(&client.1, &script, Seed(args.seed));
    let answers = answers.split_whitespace().collect::<Vec<&str>>().join(" ");
    if let Some(path) = &args.write {
        write(path, args, &client, &answers, &found)?;
    }
    match args.format {
        Format::Text => stream::print(&report::text(&client.0, &answers, &found)),
        Format::Json => {
            let json = report::json(&client.0, &answers, &found);
            stream::print(&format!("{}\n", serde_json::to_string_pretty(&json)?))
        }
    }
}

/// Writes the situation as a scenario: one turn, or one job where the client has a queue, against a scripted server.
fn write(path: &Path, args: &ProbeArgs, client: &(String, Client), answers: &str, found: &Probe) -> anyhow::Result<()> {
    let clients = match &args.file {
        Some(file) if Preset::find(&args.client).is_err() => client_in_file(file, args)?,
        _ => scenario::preset_layers(&args.client, &args.set).map_err(Refused)?,
    };
    let horizon = found.total.max.as_secs_f64().ceil() as u64 + 60;
    let kind = if client.1.queue().is_some() { "kind = \"jobs\"\nworkers = 1" } else { "kind = \"turns\"" };
    let script = Value::String(answers.to_owned());
    // A version's point has no place in a name.
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    let name = client.0.chars().map(safe).collect::<String>();
    let text = format!(
        "# One call of {} against a scripted server: what `retrycast probe` shows, as a scenario.\n\n\
         title = {}\nhorizon = \"{horizon}s\"\n\n[provider.faults.script]\nrespond = {{ script = {script} }}\n\n\
         [clients.{name}]\nlayers = {clients}\n\n[traffic.call]\n{kind}\nclient = \"{name}\"\n\
         arrivals = {{ at = [\"0s\"] }}\nsteps = [{{ name = \"answer\", input_tokens = 0, latency = \"0s\" }}]\n",
        client.0,
        Value::String(format!("One call of {}", client.0)),
    );
    // What is written must be readable again; a fault here is one of ours.
    scenario::load(&scenario::Source::new(&path.to_string_lossy(), &text)).map_err(Refused)?;
    let mut file = Growing::at(path)?;
    let written = file.writer().write_all(text.as_bytes());
    written.map_err(|error| file.refused(&error))?;
    file.complete()
}

/// The layers of a client of a file, as they stand after variant and `--set`.
fn client_in_file(file: &Path, args: &ProbeArgs) -> anyhow::Result<String> {
    let source = Source::read(file)?;
    let path = file.to_string_lossy();
    let source = scenario::Source {
        variant: args.variant.as_deref(),
        sets: &args.set,
        ..scenario::Source::new(&path, &source.text)
    };
    Ok(scenario::client_layers(&source, &args.client).map_err(Refused)?)
}

/// The client that is asked, with its name: of the file, where one is given and has it, else a preset.
fn client(args: &ProbeArgs) -> anyhow::Result<(String, Client)> {
    if let Some(file) = args.file.as_ref().filter(|_| Preset::find(&args.client).is_err()) {
        let scenario = engine::load(&Source::read(file)?, args.variant.as_deref(), &args.set)?;
        if let Some(client) = scenario.clients.iter().find(|client| client.name == args.client) {
            return Ok((client.name.clone(), client.clone()));
        }
        let names: Vec<&str> = scenario.clients.iter().map(|client| client.name.as_str()).collect();
        let hint = document::near::existing("clients", &names, &args.client);
        return Err(anyhow!("no client `{}` in `{}`\nhint: {hint}", args.client, file.display()));
    }
    let client = scenario::preset_client(&args.client, &args.set).map_err(Refused)?;
    let name = Preset::find(&args.client).map_or_else(|_| args.client.clone(), |preset| preset.name());
    Ok((name, client))
}

/// The answers of the command line, or of a file, one or more a line.
fn answers(args: &ProbeArgs) -> anyhow::Result<String> {
    if let Some(path) = &args.answers_file {
        let text = Source::read(path)?.text;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim().trim_end_matches(','));
        return Ok(lines.filter(|line| !line.is_empty()).collect::<Vec<&str>>().join(", "));
    }
    Ok(args.answers.clone().unwrap_or_default())
}

fn bad_script(answers: &str, faults: &[ScriptFault]) -> anyhow::Error {
    let mut text =
        format!("the answers are not valid: {} fault{}\n", faults.len(), if faults.len() == 1 { "" } else { "s" });
    for fault in faults {
        let before = answers[..fault.span.start].chars().count();
        let carets = "^".repeat(answers[fault.span.clone()].chars().count().max(1));
        let ScriptFault { message, hint, .. } = fault;
        text.extend(["\n  ", answers, "\n  ", &" ".repeat(before), &carets, " ", message, "\nhint: ", hint, "\n"]);
    }
    anyhow!("{}", text.trim_end())
}
