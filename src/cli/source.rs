//! The scenario file as text. What is no scenario is told apart from what is no text at all: a folder, a picture, a
//! file that grew by accident.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

use crate::scenario::{Opened, PatchFile};

/// The largest scenario file. A longer one is data that belongs into a trace file beside it.
const LARGEST: u64 = 64 << 20;

/// A scenario file that has been read.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Where it was, as it was given.
    pub(super) path: PathBuf,
    /// What it holds.
    pub(super) text: String,
    /// The patch files that change it, in order.
    pub(super) patches: Vec<PatchFile>,
}

impl Source {
    /// Reads a scenario file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Source> {
        let hint = "give the path of a scenario, such as scenarios/report_storm.toml";
        let text = read_text(path, "a scenario", hint)?;
        Ok(Source { path: path.to_owned(), text, patches: Vec::new() })
    }

    /// Reads a scenario file and the patch files that change it.
    pub(super) fn read_with(path: &Path, patches: &[PathBuf]) -> anyhow::Result<Source> {
        let source = Source::read(path)?;
        let read = |path: &PathBuf| {
            let hint = "give the path of a patch file: a TOML file of changes, written like the body of a variant";
            let text = read_text(path, "a patch file", hint)?;
            Ok(PatchFile { path: path.to_string_lossy().into_owned(), text })
        };
        Ok(Source { patches: patches.iter().map(read).collect::<anyhow::Result<_>>()?, ..source })
    }
}

/// The text of a file that is meant to be this; the hint is for a path that leads nowhere.
fn read_text(path: &Path, what: &str, hint: &str) -> anyhow::Result<String> {
    let shown = shown(path);
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!("no file `{shown}`\nhint: {hint}"),
        _ => anyhow!("cannot read `{shown}`: {}", reason(&error)),
    })?;
    let metadata = file.metadata().map_err(|error| anyhow!("cannot read `{shown}`: {}", reason(&error)))?;
    if metadata.is_dir() {
        bail!("`{shown}` is a folder, not {what}\nhint: name one of its .toml files");
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| anyhow!("cannot read `{shown}`: {}", reason(&error)))?;
    if bytes.len() as u64 > LARGEST {
        bail!("`{shown}` is larger than 64 MiB\nhint: put arrivals into a trace file beside the scenario");
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = String::from_utf8_lossy(&error.as_bytes()[..at]).split('\n').count();
        anyhow!("`{shown}` is not UTF-8 text: line {line}, byte {at}\nhint: save it as UTF-8")
    })?;
    Ok(text)
}

/// Opens a trace, or says why it cannot be read. It may be large and is read line by line.
pub(super) fn trace(path: &Path) -> Opened {
    let file = File::open(path).map_err(|error| reason(&error))?;
    let metadata = file.metadata().map_err(|error| reason(&error))?;
    if metadata.is_dir() {
        return Err("it is a folder".to_owned());
    }
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

/// A path as it is printed: without what could steer a terminal.
pub(super) fn shown(path: &Path) -> String {
    super::refusal::harmless(&path.to_string_lossy())
}

/// The system's words for an error, in the house's spelling.
pub(super) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotFound => "no such file or folder".to_owned(),
        ErrorKind::StorageFull => "no space left on the disk".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is a file".to_owned(),
        ErrorKind::AlreadyExists => "a file of that name is in the way".to_owned(),
        ErrorKind::IsADirectory => "a folder of that name is in the way".to_owned(),
        ErrorKind::InvalidFilename => "the name is too long or not allowed".to_owned(),
        ErrorKind::QuotaExceeded => "the disk quota is used up".to_owned(),
        ErrorKind::FileTooLarge => "the file would be larger than is allowed".to_owned(),
        ErrorKind::BrokenPipe => "nobody reads the pipe any more".to_owned(),
        ErrorKind::CrossesDevices => "it lies on another disk".to_owned(),
        // The system adds its number, which says nothing more.
        _ => {
            let words = error.to_string();
            let words = words.split(" (os error").next().unwrap_or_default().to_owned();
            let mut letters = words.chars();
            letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        format!("{:#}", Source::read(path).unwrap_err())
    }

    #[test]
    fn what_is_no_scenario_is_called_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        assert!(refusal(&folder.path().join("none.toml")).starts_with("no file `"));
        assert!(refusal(folder.path()).contains("is a folder, not a scenario"));
        let binary = folder.path().join("binary.toml");
        std::fs::write(&binary, b"a = 1\n\xff\xfe").unwrap();
        assert!(refusal(&binary).contains("is not UTF-8 text: line 2, byte 6"), "{}", refusal(&binary));
    }

    #[test]
    fn a_file_beyond_all_measure_is_refused_without_being_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.toml");
        File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(refusal(&path).contains("is larger than 64 MiB"));
    }

    #[test]
    fn what_is_no_trace_is_called_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let why = |path: &Path| trace(path).err().unwrap();
        assert_eq!(why(folder.path()), "it is a folder");
        assert_eq!(why(&folder.path().join("none.csv")), "no such file or folder");
    }
}
