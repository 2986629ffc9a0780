//! Ctrl-C and TERM ask a run to stop: the loop over replicates sees the flag, nothing is renamed, temporary files go.
//! Someone who asks twice wants to be rid of it at once.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// The exit code of an interrupted program, as shells know it.
pub(super) const INTERRUPTED: u8 = 130;

/// Whether the user asked to stop.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for signals from now on; once in the life of a program.
    pub(super) fn listen() -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let flag = Arc::clone(&interrupt.0);
        ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(INTERRUPTED));
            }
        })
        .context("cannot listen for signals")?;
        Ok(interrupt)
    }

    /// The flag that a long loop looks at.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Whether the user asked to stop.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The end of an interrupted program: nothing was written.
pub(super) fn interrupted(quiet: bool) -> ExitCode {
    if !quiet {
        super::stream::say("interrupted: nothing was written");
    }
    ExitCode::from(INTERRUPTED)
}
