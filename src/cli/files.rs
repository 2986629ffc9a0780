//! Files are written all or not at all, as far as a file system allows: each goes to a temporary name in the same
//! folder first, and only when all of them are complete are they renamed. A full disk or a signal in between leaves the
//! old files. Whether the folder can be written at all is found out before the simulation, not after it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use tempfile::{Builder, NamedTempFile};

use super::source::reason;

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
        fs::create_dir_all(path).map_err(|error| refused(&first, &error))?;
        for name in names {
            let target = path.join(name);
            if target.is_dir() {
                return Err(refused(&target, &io::Error::other("a folder of that name is in the way")));
            }
        }
        temporary(path).map_err(|error| refused(&first, &error))?;
        Ok(folder)
    }

    /// Writes all files, or none where one cannot be completed.
    pub(super) fn write(&mut self, items: &[Item]) -> anyhow::Result<()> {
        let mut complete = Vec::with_capacity(items.len());
        for item in items {
            let target = self.path.join(item.name);
            complete.push((self.temporary_with(&item.bytes).map_err(|error| refused(&target, &error))?, target));
        }
        self.made.clear();
        for (file, target) in complete {
            file.persist(&target).map_err(|error| refused(&target, &error.error))?;
        }
        Ok(())
    }

    fn temporary_with(&self, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut file = temporary(&self.path)?;
        file.write_all(bytes)?;
        file.flush()?;
        // A renamed file whose content never reached the disk would be half-written after a power cut.
        file.as_file().sync_all()?;
        Ok(file)
    }
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
}

#[derive(Debug)]
enum Target {
    Temporary(NamedTempFile),
    InPlace(fs::File),
}

impl Growing {
    /// A file at this path; its folder must exist.
    pub(super) fn at(path: &Path) -> anyhow::Result<Growing> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let opened = match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::Error::other("a folder of that name is in the way")),
            Ok(found) if !found.is_file() => fs::OpenOptions::new().write(true).open(path).map(Target::InPlace),
            Ok(_) | Err(_) => temporary(folder).map(Target::Temporary),
        };
        let file = opened.map_err(|error| refused(path, &error))?;
        Ok(Growing { file, path: path.to_owned() })
    }

    /// Where its content goes.
    pub(super) fn writer(&mut self) -> io::BufWriter<&mut fs::File> {
        let file = match &mut self.file {
            Target::Temporary(file) => file.as_file_mut(),
            Target::InPlace(file) => file,
        };
        io::BufWriter::with_capacity(1 << 16, file)
    }

    /// Gives the complete file its name.
    pub(super) fn complete(self) -> anyhow::Result<()> {
        let Growing { file, path } = self;
        let Target::Temporary(file) = file else { return Ok(()) };
        file.as_file().sync_all().map_err(|error| refused(&path, &error))?;
        file.persist(&path).map_err(|error| refused(&path, &error.error))?;
        Ok(())
    }

    /// Why it could not be written.
    pub(super) fn refused(&self, error: &io::Error) -> anyhow::Error {
        refused(&self.path, error)
    }
}

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

fn refused(target: &Path, error: &io::Error) -> anyhow::Error {
    anyhow!(
        "cannot write `{}`: {}\nhint: choose another folder with --out; earlier results are untouched",
        target.display(),
        reason(error)
    )
}

/// The folder's name for a run: what the scenario's and the variant's names allow in a path.
pub(super) fn default_folder(scenario: &str, variant: &str, seed: u64) -> PathBuf {
    let safe = |name: &str| -> String {
        let text: String =
            name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        text.trim_start_matches('.').chars().take(80).collect()
    };
    Path::new("outputs").join(format!("{}-{}-{seed}", safe(scenario), safe(variant)))
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

    #[test]
    #[cfg(unix)]
    fn a_device_is_written_to_and_not_replaced() {
        let mut device = Growing::at(Path::new("/dev/null")).unwrap();
        device.writer().write_all(b"text").unwrap();
        device.complete().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_growing_file_appears_when_it_is_complete() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log.jsonl");
        let mut file = Growing::at(&path).unwrap();
        file.writer().write_all(b"line").unwrap();
        assert!(!path.exists());
        file.complete().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "line");
    }

    #[test]
    fn files_appear_under_their_names_and_replace_older_ones() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        for text in ["old", "new"] {
            Folder::prepare(&path, &["x.json", "y.csv"])
                .unwrap()
                .write(&[item("x.json", text), item("y.csv", text)])
                .unwrap();
        }
        assert_eq!(names(&path), ["x.json", "y.csv"]);
        assert_eq!(fs::read_to_string(path.join("x.json")).unwrap(), "new");
    }

    #[test]
    fn a_run_that_dies_before_renaming_leaves_the_old_files() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().to_owned();
        Folder::prepare(&path, &["x.json"]).unwrap().write(&[item("x.json", "old")]).unwrap();
        let folder = Folder::prepare(&path, &["x.json"]).unwrap();
        // What a kill interrupts: a complete or half temporary file, never renamed.
        let half = folder.temporary_with(b"ne").unwrap();
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
        Folder::prepare(root.path(), &["x.json"]).unwrap().write(&[item("x.json", "")]).unwrap();
        fs::write(root.path().join("plain"), "").unwrap();
        let mode = |name| fs::metadata(root.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("x.json"), mode("plain"));
    }

    #[test]
    fn names_cannot_lead_out_of_the_folder() {
        assert_eq!(default_folder("storm", "before", 1), Path::new("outputs/storm-before-1"));
        assert_eq!(default_folder("..", "../../etc", 7), Path::new("outputs/--..-etc-7"));
    }
}
