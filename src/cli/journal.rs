//! Finished runs, put aside while an experiment goes on: one line for each in a file beside its results. A program that
//! is killed leaves the file; the same command takes up what stands there and goes on. When the results have their
//! names, the file goes.
//!
//! Each line is written by one call and ends with a check, so that a line that was torn, or one of a program that
//! wrote at the same time, is never taken for a result. The first line says which program wrote it: rows of another
//! one may be of another model.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::source::{reason, shown};
use super::stream;
use crate::experiment::{Kept, Row, RowKey};
use crate::random::Seed;

/// The name of the file.
const NAME: &str = "unfinished.rows";

/// What such a file begins with.
const KIND: &str = "retrycast rows";

/// The rows of an experiment that is at work.
#[derive(Debug, Default)]
pub(super) struct Journal {
    path: PathBuf,
    /// What an earlier start has left.
    earlier: BTreeMap<RowKey, Row>,
    /// The file, which is made with the first row; `None` where nothing can be kept.
    file: Mutex<Option<File>>,
    /// Whether rows are put aside at all.
    keeps: bool,
    /// Whether the file holds a row.
    holds: AtomicBool,
}

impl Journal {
    /// The journal in this folder, with what an earlier start has left there; without a folder nothing is kept.
    pub(super) fn open(folder: Option<&Path>, quiet: bool) -> Journal {
        folder.map_or_else(Journal::default, |folder| Journal::at(folder.join(NAME), quiet))
    }

    /// The journal of a single file, beside it under its name with an ending more.
    pub(super) fn beside(file: &Path, quiet: bool) -> Journal {
        let mut path = file.as_os_str().to_owned();
        path.push(".unfinished");
        Journal::at(path.into(), quiet)
    }

    fn at(path: PathBuf, quiet: bool) -> Journal {
        let is_ours = |bytes: &[u8]| bytes.starts_with(KIND.as_bytes()) || KIND.as_bytes().starts_with(bytes);
        if std::fs::read(&path).is_ok_and(|bytes| !is_ours(&bytes)) {
            // Somebody else's file of the same name stays as it is.
            return Journal::default();
        }
        let (earlier, sound) = match read(&path) {
            Ok(text) => rows(&text),
            Err(_) => (BTreeMap::new(), 0),
        };
        let file = open(&path, sound, !earlier.is_empty());
        if let (Err(error), false) = (&file, quiet) {
            stream::say(&format!(
                "warning: finished runs cannot be put aside in `{}`: {}",
                shown(&path),
                reason(error)
            ));
        }
        if !earlier.is_empty() && !quiet {
            let runs = if earlier.len() == 1 {
                "1 finished run".to_owned()
            } else {
                format!("{} finished runs", earlier.len())
            };
            stream::say(&format!("goes on from {runs} in `{}`", shown(&path)));
        }
        let (keeps, holds) = (file.is_ok(), AtomicBool::new(!earlier.is_empty()));
        Journal { path, earlier, file: Mutex::new(file.ok()), keeps, holds }
    }

    /// The results have their names: the journal goes.
    pub(super) fn finish(self) {
        self.holds.store(false, Ordering::Relaxed);
    }

    /// What an interrupted program says of what it has done; nothing was written but this.
    pub(super) fn left(&self) -> Option<String> {
        (self.keeps && self.holds.load(Ordering::Relaxed)).then(|| {
            format!(
                "interrupted: finished runs are kept in `{}`; the same command goes on from there",
                shown(&self.path)
            )
        })
    }
}

/// A journal of nothing, or of an experiment whose results have their names, goes.
impl Drop for Journal {
    fn drop(&mut self) {
        if self.keeps && !self.holds.load(Ordering::Relaxed) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Kept for Journal {
    fn row(&self, key: RowKey) -> Option<Row> {
        self.earlier.get(&key).cloned()
    }

    fn keep(&self, key: RowKey, row: &Row) {
        self.holds.store(true, Ordering::Relaxed);
        let Ok(mut file) = self.file.lock() else { return };
        if let Some(open) = file.as_mut()
            && open.write_all(line(key, row).as_bytes()).is_err()
        {
            // A full disk: the experiment goes on without a net.
            *file = None;
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    // What is no text was torn; everything before it stands.
    let sound = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    bytes.truncate(sound);
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// Opens the file behind its last sound line, or anew.
fn open(path: &Path, sound: u64, goes_on: bool) -> io::Result<File> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.set_len(if goes_on { sound } else { 0 })?;
    if !goes_on {
        file.write_all(head().as_bytes())?;
    }
    Ok(file)
}

/// Which program writes: its version, and what tells one build of it from another.
fn head() -> String {
    let build = std::env::current_exe().and_then(std::fs::metadata).map_or(0, |found| {
        let written = found.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        Seed(found.len()).key().with(written.map_or(0, |at| at.as_nanos() as u64)).bits()
    });
    format!("{KIND} 1, {}, {build:016x}\n", env!("CARGO_PKG_VERSION"))
}

/// The sound rows of a text, and how many bytes of it are sound.
fn rows(text: &str) -> (BTreeMap<RowKey, Row>, u64) {
    let mut rows = BTreeMap::new();
    let head = head();
    if !text.starts_with(&head) {
        return (rows, 0);
    }
    let mut sound = head.len();
    for line in text[head.len()..].split_inclusive('\n') {
        let Some((key, row)) = parse(line) else { break };
        rows.insert(key, row);
        sound += line.len();
    }
    (rows, sound as u64)
}

fn line(key: RowKey, row: &Row) -> String {
    let mut line = format!("{:032x} {:016x} {:016x} {:016x}", key.mark, key.seed, row.digest, row.world_digest);
    for value in &row.values {
        let _ = write!(line, " {:x}", value.to_bits());
    }
    let check = check(&line);
    let _ = writeln!(line, " {check:016x}");
    line
}

fn check(line: &str) -> u64 {
    crate::random::Key::word(line)
}

fn parse(line: &str) -> Option<(RowKey, Row)> {
    let (body, found) = line.strip_suffix('\n')?.rsplit_once(' ')?;
    if u64::from_str_radix(found, 16).ok()? != check(body) {
        return None;
    }
    let mut words = body.split(' ');
    let mark = u128::from_str_radix(words.next()?, 16).ok()?;
    let mut word = || u64::from_str_radix(words.next()?, 16).ok();
    let (seed, digest, world_digest) = (word()?, word()?, word()?);
    let values = words.map(|word| u64::from_str_radix(word, 16).ok().map(f64::from_bits)).collect::<Option<_>>()?;
    Some((RowKey { mark, seed }, Row { digest, world_digest, values }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64) -> (RowKey, Row) {
        let values = [1.5, f64::INFINITY, 0.1 * n as f64].into();
        (RowKey { mark: u128::from(n) << 70, seed: n }, Row { digest: n, world_digest: 7, values })
    }

    fn left(path: &Path) -> usize {
        Journal::open(Some(path), true).earlier.len()
    }

    #[test]
    fn what_was_kept_is_there_at_the_next_start_and_goes_with_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(Some(folder.path()), true);
        for n in 0..3 {
            let (key, row) = row(n);
            journal.keep(key, &row);
        }
        drop(journal);
        let journal = Journal::open(Some(folder.path()), true);
        assert_eq!(journal.row(row(2).0), Some(row(2).1));
        assert_eq!(journal.row(row(3).0), None);
        journal.keep(row(3).0, &row(3).1);
        drop(journal);
        let journal = Journal::open(Some(folder.path()), true);
        assert_eq!(journal.earlier.len(), 4);
        journal.finish();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_torn_or_foreign_line_and_what_follows_it_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let sound: String = (0..3).map(|n| line(row(n).0, &row(n).1)).collect();
        let torn = &line(row(3).0, &row(3).1)[..60];
        std::fs::write(&path, format!("{}{sound}{torn}", head())).unwrap();
        let journal = Journal::open(Some(folder.path()), true);
        assert_eq!(journal.earlier.len(), 3);
        // What comes next stands behind the last sound line.
        journal.keep(row(4).0, &row(4).1);
        drop(journal);
        assert_eq!(left(folder.path()), 4);
        let changed = format!("{}{}", head(), sound.replacen(" 1 ", " 2 ", 1).replacen('7', "8", 1));
        std::fs::write(&path, changed).unwrap();
        assert_eq!(left(folder.path()), 0);
        std::fs::write(&path, format!("retrycast rows 1, 0.0.0, 0\n{sound}")).unwrap();
        assert_eq!(left(folder.path()), 0);
        // What somebody else has put there stays.
        std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
        assert_eq!(left(folder.path()), 0);
        assert_eq!(std::fs::read(&path).unwrap(), [0xff, 0xfe, 0x00]);
    }
}
