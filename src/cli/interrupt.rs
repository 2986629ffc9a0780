//! Ctrl-C, TERM and HUP ask a run to stop: the event loop sees the flag within milliseconds, nothing is renamed,
//! temporary files go. Someone who asks twice has met something that does not look at the flag, such as a pipe that
//! nobody reads: the program then ends by itself, after a moment in which temporary files may still go.

use std::process::{ExitCode, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;

/// How long a program that was asked twice has to end properly.
const MOMENT: Duration = Duration::from_secs(2);

/// The exit code of an interrupted program, as shells know it.
pub(super) const INTERRUPTED: u8 = 130;

/// Whether the user asked to stop.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// Nothing is left that would have to be cleaned up.
    is_over: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for signals from now on; once in the life of a program.
    pub(super) fn listen() -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let seen = interrupt.clone();
        ctrlc::set_handler(move || {
            if seen.is_over.load(Ordering::Relaxed) {
                exit(i32::from(INTERRUPTED));
            }
            if seen.asked.swap(true, Ordering::Relaxed) {
                std::thread::sleep(MOMENT);
                exit(i32::from(INTERRUPTED));
            }
        })
        .context("cannot listen for signals")?;
        Ok(interrupt)
    }

    /// From now on a signal ends the program at once: all files have their names.
    pub(super) fn let_go(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The flag that a long loop looks at.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.asked
    }

    /// Whether the user asked to stop.
    pub(super) fn is_set(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// The end of an interrupted experiment: its results were not written, and finished runs may be put aside.
pub(super) fn put_aside(quiet: bool, journal: &super::journal::Journal) -> ExitCode {
    match journal.left() {
        Some(left) if !quiet => super::stream::say(&left),
        Some(_) => {}
        None => return interrupted(quiet, None),
    }
    ExitCode::from(INTERRUPTED)
}

/// The end of an interrupted program: nothing was written, but for what went into a pipe or a device as it came.
pub(super) fn interrupted(quiet: bool, written_in_place: Option<&str>) -> ExitCode {
    if !quiet {
        match written_in_place {
            None => super::stream::say("interrupted: nothing was written"),
            Some(path) => {
                super::stream::say(&format!("interrupted: no file was written; `{path}` got a part of the log"));
            }
        }
    }
    ExitCode::from(INTERRUPTED)
}
