//! A progress bar is for someone who waits and wonders. A run that is over in half a second shows none, and a pipe or a
//! log file never does.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter runs show no bar: it would flash.
const PATIENCE: Duration = Duration::from_millis(500);

/// The progress of a loop over replicates.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    is_wanted: bool,
}

impl Progress {
    /// Progress over this many replicates; hidden where standard error is no terminal.
    pub(super) fn over(replicates: u64, quiet: bool) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(replicates), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("  {bar:30} {human_pos} of {human_len} runs, {eta} left") {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Progress { bar, is_wanted: !quiet && replicates > 1 && std::io::stderr().is_terminal() }
    }

    /// So many replicates are done.
    pub(super) fn at(&self, done: u64) {
        if self.is_wanted && self.bar.is_hidden() && self.bar.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
