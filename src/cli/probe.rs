//! `retrycast probe`: one client, one script.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{anyhow, bail};

use super::args::{Format, ProbeArgs};
use super::engine::{self, Refused};
use super::files::{self, Growing};
use super::refusal::{cut, harmless};
use super::source::{Source, shown};
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
    let script = Script::parse(&answers.text, args.clock).map_err(|faults| bad_script(&answers, &faults))?;
    let found = ask(&client.1, &script, Seed(args.seed));
    let answers = answers.text.split_whitespace().collect::<Vec<&str>>().join(" ");
    if let Some(path) = &args.write {
        let read = [&args.file, &args.answers_file];
        if read.into_iter().flatten().any(|read| files::same(path, read)) {
            bail!("cannot write `{}`: it is what was read\nhint: choose another file with --write", shown(path));
        }
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
        Some(file) => client_in_file(file, args)?,
        None => scenario::preset_layers(&args.client, &args.set).map_err(Refused)?,
    };
    let falls_back = client.1.elements().iter().any(|element| element.role.is_fallback());
    let model = if falls_back { ", model = \"the first model\"" } else { "" };
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
         arrivals = {{ at = [\"0s\"] }}\nsteps = [{{ name = \"answer\", input_tokens = 0, latency = \"0s\"{model} }}]\n",
        client.0,
        Value::String(format!("One call of {}", client.0)),
    );
    // What is written must be readable again; a fault here is one of ours.
    scenario::load(&scenario::Source::new(&path.to_string_lossy(), &text)).map_err(Refused)?;
    let mut file = Growing::at(path, "--write")?;
    let written = file.writer().write_all(text.as_bytes());
    written.map_err(|error| file.refused(&error))?;
    files::publish(file.complete()?.into_iter().collect())
}

/// The layers of a client of a file, as they stand after all patches.
fn client_in_file(file: &Path, args: &ProbeArgs) -> anyhow::Result<String> {
    let source = Source::read_with(file, &args.with)?;
    let path = file.to_string_lossy();
    let source = scenario::Source {
        variant: args.variant.as_deref(),
        patches: &source.patches,
        sets: &args.set,
        ..scenario::Source::new(&path, &source.text)
    };
    Ok(scenario::client_layers(&source, &args.client).map_err(Refused)?)
}

/// The client that is asked, with its name: of the file, where one is given, else a preset.
fn client(args: &ProbeArgs) -> anyhow::Result<(String, Client)> {
    if let Some(file) = &args.file {
        let scenario = engine::load(&Source::read_with(file, &args.with)?, args.variant.as_deref(), &args.set)?;
        if let Some(client) = scenario.clients.iter().find(|client| client.name == args.client) {
            return Ok((client.name.clone(), client.clone()));
        }
        let names: Vec<&str> = scenario.clients.iter().map(|client| client.name.as_str()).collect();
        let mut hint = document::near::existing("clients", &names, &args.client);
        if Preset::find(&args.client).is_ok() {
            hint = format!("leave out `{}` to ask the preset; {hint}", shown(file));
        }
        return Err(anyhow!("no client `{}` in `{}`\nhint: {hint}", harmless(&args.client), shown(file)));
    }
    let client = scenario::preset_client(&args.client, &args.set).map_err(Refused)?;
    let name = Preset::find(&args.client).map_or_else(|_| args.client.clone(), |preset| preset.name());
    Ok((name, client))
}

/// Answers as text, and where each of them was written.
struct Answers {
    text: String,
    /// The file, as it is printed; `None` for the command line.
    file: Option<String>,
    /// For each line of the file that holds answers, where it begins in `text`, and its number.
    lines: Vec<(usize, usize)>,
}

/// The answers of the command line, or of a file, one or more a line.
fn answers(args: &ProbeArgs) -> anyhow::Result<Answers> {
    let Some(path) = &args.answers_file else {
        return Ok(Answers { text: args.answers.clone().unwrap_or_default(), file: None, lines: Vec::new() });
    };
    let source = Source::read(path)?.text;
    let mut answers = Answers { text: String::new(), file: Some(shown(path)), lines: Vec::new() };
    for (line, number) in source.trim_start_matches('\u{feff}').lines().zip(1..) {
        let line = line.split('#').next().unwrap_or("").trim().trim_end_matches(',');
        if line.is_empty() {
            continue;
        }
        if !answers.text.is_empty() {
            answers.text.push_str(", ");
        }
        answers.lines.push((answers.text.len(), number));
        answers.text.push_str(line);
    }
    Ok(answers)
}

/// The most faults of a script that are shown; whoever has more of them starts with these.
const SHOWN: usize = 20;

fn bad_script(answers: &Answers, faults: &[ScriptFault]) -> anyhow::Error {
    let plural = if faults.len() == 1 { "fault" } else { "faults" };
    let of = answers.file.as_ref().map_or_else(String::new, |file| format!(" of `{file}`"));
    let mut text = format!("the answers{of} are not valid: {} {plural}\n", faults.len());
    for fault in faults.iter().take(SHOWN) {
        let (line, part, span) = answers.line_of(fault);
        let (excerpt, span) = cut(part, span);
        let before = excerpt[..span.start].chars().count();
        let carets = "^".repeat(excerpt[span].chars().count().max(1));
        let place = match (line, &answers.file) {
            (Some(line), Some(file)) => format!("\n  --> {file}:{line}"),
            (Some(_) | None, Some(_) | None) => String::new(),
        };
        let (excerpt, margin) = (harmless(&excerpt), " ".repeat(before));
        let ScriptFault { message, hint, .. } = fault;
        let _ = write!(text, "{place}\n  {excerpt}\n  {margin}{carets} {message}\nhint: {hint}\n");
    }
    if faults.len() > SHOWN {
        let _ = write!(text, "\n… and {} more", faults.len() - SHOWN);
    }
    anyhow!("{}", text.trim_end())
}

impl Answers {
    /// The line in which a fault lies, with its number in the file, and the fault's place in it.
    fn line_of(&self, fault: &ScriptFault) -> (Option<usize>, &str, Range<usize>) {
        let after = self.lines.partition_point(|(start, _)| *start <= fault.span.start);
        let Some((start, number)) = after.checked_sub(1).and_then(|at| self.lines.get(at)) else {
            return (None, &self.text, fault.span.clone());
        };
        let end = self.lines.get(after).map_or(self.text.len(), |(next, _)| next - ", ".len());
        let (start, end) = (*start, end.max(*start));
        let within = |at: usize| at.clamp(start, end) - start;
        (Some(*number), &self.text[start..end], within(fault.span.start)..within(fault.span.end))
    }
}
