//! Files are written all or not at all, as far as a file system allows: each goes to a temporary name in the same
//! folder first, and only when all of them are complete are they renamed. A full disk or a signal in between leaves the
//! old files. Whether the folder can be written at all is found out before the simulation, not after it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use tempfile::{Builder, NamedTempFile};

use super::source::{reason, shown};

/// A folder that was found writable.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The folders that were made for it, outermost first.
    made: Vec<PathBuf>,
}

/// One file to be written.
#[derive(Debug)]
pub(super) struct Item {
    /// Its name in the folder.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) bytes: Vec<u8>,
}

impl Folder {
    /// The folder at this path, made where it is missing, in which files of these names can be written.
    pub(super) fn prepare(path: &Path, names: &[&str]) -> anyhow::Result<Folder> {
        let made = missing(path);
        // Dropping it takes back what was made, also where the rest fails.
        let folder = Folder { path: path.to_owned(), made };
        let first = path.join(names.first().copied().unwrap_or("summary.json"));
        fs::create_dir_all(path).map_err(|error| refused(&first, OUT, &error))?;
        for name in names {
            let target = path.join(name);
            if target.is_dir() {
                return Err(refused(&target, OUT, &io::Error::other("a folder of that name is in the way")));
            }
            if target.exists() && !target.is_file() {
                return Err(refused(&target, OUT, &io::Error::other("a pipe or device of that name is in the way")));
            }
            let behind = behind(&target);
            if behind != target {
                temporary(folder_of(&behind)).map_err(|error| refused(&behind, OUT, &error))?;
            }
        }
        temporary(path).map_err(|error| refused(&first, OUT, &error))?;
        Ok(folder)
    }

    /// The same, where none of these inputs would be replaced.
    pub(super) fn beside<'a>(
        path: &Path,
        names: &[&str],
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> anyhow::Result<Folder> {
        let replaced = |input: &&Path| names.iter().any(|name| same(&path.join(name), input));
        if let Some(input) = inputs.into_iter().find(replaced) {
            return Err(anyhow!(
                "`{OUT}` would replace `{}`, which is read\nhint: choose another folder with {OUT}",
                shown(input)
            ));
        }
        Folder::prepare(path, names)
    }

    /// Whether a path is one of these files in the folder.
    pub(super) fn holds(&self, path: &Path, names: &[&str]) -> bool {
        names.iter().any(|name| same(&self.path.join(name), path))
    }

    /// The complete files, not yet under their names.
    pub(super) fn complete(&self, items: &[Item]) -> anyhow::Result<Vec<Complete>> {
        let complete = |item: &Item| {
            let target = behind(&self.path.join(item.name));
            let file =
                temporary_with(folder_of(&target), &item.bytes).map_err(|error| refused(&target, OUT, &error))?;
            Ok(Complete { file, target, option: OUT })
        };
        items.iter().map(complete).collect()
    }
}

/// A complete file that does not have its name yet.
#[derive(Debug)]
pub(super) struct Complete {
    file: NamedTempFile,
    target: PathBuf,
    option: &'static str,
}

/// Gives complete files their names.
pub(super) fn publish(files: Vec<Complete>) -> anyhow::Result<()> {
    for Complete { file, target, option } in files {
        file.persist(&target).map_err(|error| refused(&target, option, &error.error))?;
    }
    Ok(())
}

fn temporary_with(folder: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = temporary(folder)?;
    file.write_all(bytes)?;
    file.flush()?;
    // A renamed file whose content never reached the disk would be half-written after a power cut.
    file.as_file().sync_all()?;
    Ok(file)
}

/// Where a path leads. A symbolic link stays one: what is written is the file behind it.
fn behind(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // As many links as the system follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    path
}

/// Whether a path is a descriptor of the program itself, such as its standard output.
fn is_descriptor(path: &Path) -> bool {
    let named = [Path::new("/dev/stdout"), Path::new("/dev/stderr")];
    named.contains(&path) || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}

/// The folder in which a path lies.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether two paths lead to the same file, which need not exist.
pub(super) fn same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let path = behind(path);
        Some((folder_of(&path).canonicalize().ok()?, path.file_name()?.to_owned()))
    };
    place(one).is_some_and(|one| place(other) == Some(one))
        || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Folders that were made for files which were never written go again; one that holds something stays.
impl Drop for Folder {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A single file that is being written: under a temporary name, so that it appears when it is complete; or in place
/// where it is no file at all, but a pipe or a device, which must not be replaced.
#[derive(Debug)]
pub(super) struct Growing {
    file: Target,
    path: PathBuf,
    option: &'static str,
}

#[derive(Debug)]
enum Target {
    Temporary(NamedTempFile),
    InPlace(fs::File),
}

impl Growing {
    /// A file at this path, which an option of the command line gave; its folder must exist.
    pub(super) fn at(path: &Path, option: &'static str) -> anyhow::Result<Growing> {
        let target = behind(path);
        // A link such as /dev/stdout may lead to what has no name.
        let opened = match fs::metadata(path).or_else(|_| fs::metadata(&target)) {
            Ok(found) if found.is_file() && is_descriptor(path) => {
                Err(io::Error::other("it is a file that is written to already"))
            }
            Ok(found) if found.is_dir() => Err(io::Error::other("a folder of that name is in the way")),
            Ok(found) if !found.is_file() => fs::OpenOptions::new().write(true).open(path).map(Target::InPlace),
            Ok(_) | Err(_) if target.file_name().is_none() => Err(io::Error::other("the path names no file")),
            Ok(_) | Err(_) => temporary(folder_of(&target)).map(Target::Temporary),
        };
        let file = opened.map_err(|error| refused(path, option, &error))?;
        Ok(Growing { file, path: target, option })
    }

    /// Whether what is written is seen at once.
    pub(super) const fn is_in_place(&self) -> bool {
        matches!(self.file, Target::InPlace(_))
    }

    /// Where its content goes.
    pub(super) fn writer(&mut self) -> io::BufWriter<&mut fs::File> {
        let file = match &mut self.file {
            Target::Temporary(file) => file.as_file_mut(),
            Target::InPlace(file) => file,
        };
        io::BufWriter::with_capacity(1 << 16, file)
    }

    /// The complete file, not yet under its name; `None` for what was written in place.
    pub(super) fn complete(self) -> anyhow::Result<Option<Complete>> {
        let Growing { file, path: target, option } = self;
        let Target::Temporary(file) = file else { return Ok(None) };
        file.as_file().sync_all().map_err(|error| refused(&target, option, &error))?;
        Ok(Some(Complete { file, target, option }))
    }

    /// Why it could not be written.
    pub(super) fn refused(&self, error: &io::Error) -> anyhow::Error {
        refused(&self.path, self.option, error)
    }
}

/// The option that names the folder of the results.
const OUT: &str = "--out";

/// The folders on the way to this path that do not exist, outermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = path
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_owned)
        .collect();
    out.reverse();
    out
}

/// An empty file with a name that nothing else has, removed unless it is renamed.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".retrycast-").suffix(".tmp");
    // Temporary files are private by default and would stay so under their new name; the umask decides instead.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

fn refused(target: &Path, option: &str, error: &io::Error) -> anyhow::Error {
    let other = if option == OUT { "folder" } else { "file" };
    anyhow!(
        "cannot write `{}`: {}\nhint: choose another {other} with {option}; earlier results are untouched",
        shown(target),
        reason(error)
    )
}

/// The folder's name for a run: what the scenario's and the variant's names allow in a path.
pub(super) fn default_folder(scenario: &str, variant: &str, seed: u64) -> PathBuf {
    folder_named(&[scenario, variant], seed)
}

/// The folder's name for a result with these names and this seed.
pub(super) fn folder_named(names: &[&str], seed: u64) -> PathBuf {
    let safe = |name: &str| -> String {
        let text: String =
            name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        text.trim_start_matches('.').chars().take(80).collect()
    };
    let names: Vec<String> = names.iter().map(|name| safe(name)).collect();
    Path::new("outputs").join(format!("{}-{seed}", names.join("-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &'static str, text: &str) -> Item {
        Item { name, bytes: text.as_bytes().to_vec() }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Writes `x.json` into a folder.
    fn write(path: &Path, text: &str) {
        let folder = Folder::prepare(path, &["x.json"]).unwrap();
        publish(folder.complete(&[item("x.json", text)]).unwrap()).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_link_stays_and_the_file_behind_it_is_written() {
        let root = tempfile::tempdir().unwrap();
        let (out, kept) = (root.path().join("out"), root.path().join("kept.json"));
        fs::create_dir(&out).unwrap();
        std::os::unix::fs::symlink("../kept.json", out.join("x.json")).unwrap();
        for text in ["first", "second"] {
            write(&out, text);
            assert_eq!(fs::read_to_string(&kept).unwrap(), text);
        }
        assert!(out.join("x.json").is_symlink());
        assert!(same(&out.join("x.json"), &kept) && same(&out.join("../kept.json"), &kept));
        assert!(!same(&out.join("y.json"), &kept));
    }

    #[test]
    #[cfg(unix)]
    fn a_device_is_written_to_and_not_replaced() {
        let mut device = Growing::at(Path::new("/dev/null"), "--log").unwrap();
        device.writer().write_all(b"text").unwrap();
        assert!(device.complete().unwrap().is_none());
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_growing_file_appears_when_it_is_complete() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log.jsonl");
        let mut file = Growing::at(&path, "--log").unwrap();
        file.writer().write_all(b"line").unwrap();
        assert!(!path.exists());
        publish(file.complete().unwrap().into_iter().collect()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "line");
    }

    #[test]
    fn files_appear_under_their_names_and_replace_older_ones() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        for text in ["old", "new"] {
            let folder = Folder::prepare(&path, &["x.json", "y.csv"]).unwrap();
            publish(folder.complete(&[item("x.json", text), item("y.csv", text)]).unwrap()).unwrap();
        }
        assert_eq!(names(&path), ["x.json", "y.csv"]);
        assert_eq!(fs::read_to_string(path.join("x.json")).unwrap(), "new");
    }

    #[test]
    fn a_run_that_dies_before_renaming_leaves_the_old_files() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().to_owned();
        write(&path, "old");
        let folder = Folder::prepare(&path, &["x.json"]).unwrap();
        // What a kill interrupts: a complete or half temporary file, never renamed.
        let half = folder.complete(&[item("x.json", "ne")]).unwrap();
        assert_eq!(fs::read_to_string(path.join("x.json")).unwrap(), "old");
        drop(half);
        drop(folder);
        assert_eq!(names(&path), ["x.json"]);
    }

    #[test]
    fn folders_made_for_nothing_go_again() {
        let root = tempfile::tempdir().unwrap();
        drop(Folder::prepare(&root.path().join("a/b"), &["x.json"]).unwrap());
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_refused_with_path_and_remedy() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let error = Folder::prepare(&root.path().join("file/inside"), &["summary.json"]).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("cannot write `") && text.contains("file/inside/summary.json`: "), "{text}");
        assert!(text.ends_with("hint: choose another folder with --out; earlier results are untouched"), "{text}");
        fs::create_dir(root.path().join("summary.json")).unwrap();
        let error = Folder::prepare(root.path(), &["summary.json"]).unwrap_err();
        assert!(format!("{error:#}").contains("a folder of that name is in the way"));
    }

    #[cfg(unix)]
    #[test]
    fn the_umask_decides_who_may_read() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "");
        fs::write(root.path().join("plain"), "").unwrap();
        let mode = |name| fs::metadata(root.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("x.json"), mode("plain"));
    }

    #[test]
    fn the_remedy_names_the_option_that_gave_the_path() {
        let text = format!("{:#}", Growing::at(Path::new("no/such/log.jsonl"), "--log").unwrap_err());
        assert!(text.contains("hint: choose another file with --log;"), "{text}");
    }

    #[test]
    fn names_cannot_lead_out_of_the_folder() {
        assert_eq!(default_folder("storm", "before", 1), Path::new("outputs/storm-before-1"));
        assert_eq!(default_folder("..", "../../etc", 7), Path::new("outputs/--..-etc-7"));
    }
}
