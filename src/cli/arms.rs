//! The arms of a comparison, from the words of a command line: variants and fixes of the file, other files, patches.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

use super::engine::{self, Refused};
use super::experiment_args::CompareArgs;
use super::source::{Source, shown};
use super::words::split;
use crate::document::{Text, reader};
use crate::report::comparison::{ArmFacts, changes};
use crate::scenario::{Refusal, Scenario};

/// The most arms of a comparison: more is a sweep.
const MOST: usize = 12;

/// An arm that has been read and checked.
#[derive(Debug)]
pub(super) struct ReadArm {
    /// Its name.
    pub(super) name: String,
    /// What is run.
    pub(super) scenario: Scenario,
    /// All settings of its file after variant, fixes and changes.
    pub(super) settings: Vec<(String, String)>,
}

/// What one arm is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    name: String,
    file: PathBuf,
    variant: Option<String>,
    fixes: Vec<String>,
    /// Patch files.
    with: Vec<PathBuf>,
    /// Changes of this arm alone.
    patch: Vec<String>,
}

/// Reads all arms; the first one is what the others are held against.
pub(super) fn read(args: &CompareArgs) -> anyhow::Result<Vec<ReadArm>> {
    let file = Source::read_with(&args.file, &args.with)?;
    let wanted = wanted(args, &file)?;
    // A file that two arms share is read once: it may be a pipe.
    let mut sources: Vec<(PathBuf, Vec<PathBuf>, Source)> = vec![(args.file.clone(), args.with.clone(), file)];
    let mut arms = Vec::new();
    for arm in wanted {
        let known = sources.iter().position(|(path, with, _)| *path == arm.file && *with == arm.with);
        if known.is_none() {
            sources.push((arm.file.clone(), arm.with.clone(), Source::read_with(&arm.file, &arm.with)?));
        }
        let source = &sources[known.unwrap_or(sources.len() - 1)].2;
        let sets: Vec<String> = args.set.iter().chain(&arm.patch).cloned().collect();
        let asked = engine::Asked { variant: arm.variant.as_deref(), fixes: &arm.fixes, sets: &sets };
        let read = engine::load_with(source, asked).and_then(|scenario| {
            let settings = engine::settings(source, asked)?;
            Ok(ReadArm { name: arm.name.clone(), scenario, settings })
        });
        arms.push(read.map_err(|error| in_patch(error, &arm, args.set.len()))?);
    }
    Ok(arms)
}

/// The facts of arms, for reports.
pub(super) fn facts(arms: &[ReadArm]) -> Vec<ArmFacts<'_>> {
    arms.iter()
        .map(|arm| ArmFacts {
            name: arm.name.clone(),
            scenario: &arm.scenario,
            changes: changes(&arms[0].settings, &arm.settings),
        })
        .collect()
}

/// A slip in a patch is shown as one.
fn in_patch(error: anyhow::Error, arm: &Wanted, sets: usize) -> anyhow::Error {
    let Some(Refused(Refusal::Faulty { sets: texts, faults, left_out: 0, .. })) = error.downcast_ref::<Refused>()
    else {
        return error;
    };
    let [fault] = faults.as_slice() else { return error };
    let Text::Set(number) = fault.place.text else { return error };
    if number < sets {
        return error;
    }
    let path = texts.get(number).and_then(|text| text.split('=').next()).unwrap_or_default().trim();
    let hint = fault.hint.as_ref().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    anyhow!("`--patch {}`, `{path}`: {}{hint}", arm.name, fault.message)
}

/// What the command line asks for.
fn wanted(args: &CompareArgs, file: &Source) -> anyhow::Result<Vec<Wanted>> {
    let mut all: Vec<Wanted> = Vec::new();
    for text in &args.arms {
        let (variant, fixes) = variant_and_fixes(text)?;
        let (name, file, with) = (text.trim().to_owned(), args.file.clone(), args.with.clone());
        all.push(Wanted { name, file, variant, fixes, with, patch: Vec::new() });
    }
    if all.is_empty() {
        all.extend(unnamed(args, file)?);
    }
    for text in &args.others {
        all.push(Wanted { with: args.with.clone(), ..other(text)? });
    }
    for text in &args.patch {
        let (name, patch) = patch(text)?;
        all.push(Wanted { name, patch, ..all[0].clone() });
    }
    for path in &args.patch_file {
        let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let with = all[0].with.iter().chain([path]).cloned().collect();
        all.push(Wanted { name: stem, with, ..all[0].clone() });
    }
    if all.len() < 2 {
        bail!(
            "one arm is nothing to compare: `{}`\nhint: name a second one, such as --arms {0},OTHER, or change \
             something with --patch 'NAME: PATH=VALUE'",
            all[0].name
        );
    }
    if all.len() > MOST {
        bail!("{} arms are too many to read side by side\nhint: name at most {MOST}", all.len());
    }
    for (index, arm) in all.iter().enumerate() {
        if all[..index].iter().any(|earlier| earlier.name == arm.name) {
            bail!("two arms have the name `{}`\nhint: name each once; a patch may have any name", arm.name);
        }
    }
    Ok(all)
}

/// The arms where `--arms` names none: the file as it stands, and where nothing else is named either, its only variant.
fn unnamed(args: &CompareArgs, file: &Source) -> anyhow::Result<Vec<Wanted>> {
    let asked = engine::Asked { variant: args.variant.as_deref(), fixes: &[], sets: &args.set };
    let scenario = engine::load_with(file, asked)?;
    let arm = |name: &str| Wanted {
        name: name.to_owned(),
        file: args.file.clone(),
        variant: Some(name.to_owned()),
        fixes: Vec::new(),
        with: args.with.clone(),
        patch: Vec::new(),
    };
    let first = arm(&scenario.variant);
    if !args.others.is_empty() || !args.patch.is_empty() || !args.patch_file.is_empty() {
        return Ok(vec![first]);
    }
    let others: Vec<&String> = scenario.variants.iter().filter(|name| **name != scenario.variant).collect();
    match others.as_slice() {
        [only] => Ok(vec![first, arm(only)]),
        [] => bail!(
            "`{}` has no variant to compare with\nhint: change something with --patch 'NAME: PATH=VALUE', or name \
             another file",
            shown(&args.file)
        ),
        _ => {
            let names: Vec<String> = scenario.variants.iter().map(|name| format!("`{name}`")).collect();
            bail!(
                "which of the variants of `{}` are to be compared?\nhint: variants are {}; write --arms {},{}",
                shown(&args.file),
                names.join(", "),
                first.name,
                others[0]
            )
        }
    }
}

/// `VARIANT+FIX+FIX`, where the variant may be left out.
fn variant_and_fixes(text: &str) -> anyhow::Result<(Option<String>, Vec<String>)> {
    let mut names = text.split('+').map(str::trim);
    let variant = names.next().filter(|name| !name.is_empty()).map(str::to_owned);
    let fixes: Vec<String> = names.map(str::to_owned).collect();
    if (variant.is_none() && fixes.is_empty()) || fixes.iter().any(String::is_empty) {
        bail!("`--arms`: an arm has no name, found `{}`\nhint: write a variant, or VARIANT+FIX", text.escape_debug());
    }
    Ok((variant, fixes))
}

/// Another file, perhaps with a variant behind a colon.
fn other(text: &str) -> anyhow::Result<Wanted> {
    let (path, rest) = match text.rsplit_once(".toml:") {
        Some((stem, rest)) => (format!("{stem}.toml"), Some(rest)),
        None => (text.to_owned(), None),
    };
    let (variant, fixes) = rest.map_or(Ok((None, Vec::new())), variant_and_fixes)?;
    let path = PathBuf::from(path);
    let stem = path.file_stem().unwrap_or(Path::new("other").as_os_str()).to_string_lossy().into_owned();
    let name = rest.map_or_else(|| stem.clone(), |rest| format!("{stem}:{rest}"));
    Ok(Wanted { name, file: path, variant, fixes, with: Vec::new(), patch: Vec::new() })
}

/// `NAME: PATH=VALUE, PATH=VALUE` as a patch.
fn patch(text: &str) -> anyhow::Result<(String, Vec<String>)> {
    named_sets("--patch", text)
}

/// `NAME: PATH=VALUE, PATH=VALUE`. A comma inside brackets, braces or quotes belongs to a value.
pub(super) fn named_sets(option: &str, text: &str) -> anyhow::Result<(String, Vec<String>)> {
    let form = format!("write {option} 'NAME: PATH=VALUE, PATH=VALUE'");
    let head = text.find('=').map_or(text, |end| &text[..end]);
    let Some((name, _)) = head.split_once(':') else {
        bail!("`{option}`: has no name before a colon, found `{}`\nhint: {form}", text.escape_debug());
    };
    let rest = &text[name.len() + 1..];
    let name = name.trim();
    if !reader::is_name(name) {
        bail!(
            "`{option}`: is no name, found `{}`\nhint: names are made of letters, digits, `_` and `-`",
            name.escape_debug()
        );
    }
    let parts = split(rest);
    if let Some(part) = parts.iter().find(|part| !part.contains('=')) {
        bail!("`{option} {name}`: changes nothing, found `{}`\nhint: {form}", part.escape_debug());
    }
    Ok((name.to_owned(), parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_a_name_and_settings_with_commas_of_their_own() {
        let (name, parts) = patch("slow: a.b=[\"3m\", \"10m\"], c = { d = 1, e = 2 },f=\"x, y\"").unwrap();
        assert_eq!(name, "slow");
        assert_eq!(parts, ["a.b=[\"3m\", \"10m\"]", "c = { d = 1, e = 2 }", "f=\"x, y\""]);
        let refusal = |text: &str| format!("{:#}", patch(text).unwrap_err());
        assert!(refusal("a.b=1").starts_with("`--patch`: has no name before a colon, found `a.b=1`"));
        assert!(refusal("x y: a=1").starts_with("`--patch`: is no name, found `x y`"));
        assert!(refusal("x: a=1,").starts_with("`--patch x`: changes nothing, found ``"));
    }

    #[test]
    fn an_arm_is_a_variant_with_fixes_and_a_file_may_have_one_behind_a_colon() {
        let arm = |text: &str| variant_and_fixes(text).unwrap();
        assert_eq!(arm("before"), (Some("before".to_owned()), Vec::new()));
        assert_eq!(arm("before+a+b"), (Some("before".to_owned()), vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(arm("+a"), (None, vec!["a".to_owned()]));
        for text in ["", "+", "before+"] {
            assert!(variant_and_fixes(text).is_err(), "{text}");
        }
        let branch = other("some/branch.toml:after+x").unwrap();
        assert_eq!((branch.name.as_str(), branch.file.as_path()), ("branch:after+x", Path::new("some/branch.toml")));
        assert_eq!((branch.variant.as_deref(), branch.fixes), (Some("after"), vec!["x".to_owned()]));
        assert_eq!(other("c:/x/main.toml").unwrap().name, "main");
    }
}
