//! A progress bar is for someone who waits and wonders. A run that is over in half a second shows none, and a pipe or a
//! log file never does.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter runs show no bar: it would flash.
const PATIENCE: Duration = Duration::from_millis(500);

/// Parts of a single run that the bar tells apart.
const PARTS: u64 = 1_000;

/// The progress of a run, or of a loop over replicates.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    is_wanted: bool,
    /// Steps of the bar for each run.
    parts: u64,
}

impl Progress {
    /// Progress over this many replicates, or over the simulated time of a single run; hidden where standard error is
    /// no terminal.
    pub(super) fn over(replicates: Option<u64>, quiet: bool) -> Progress {
        let (template, parts, length) = match replicates {
            Some(n) => ("  {bar:30} {human_pos} of {human_len} runs, {eta} left", 1, n),
            None => ("  {bar:30} {percent} % of the simulated time, {eta} left", PARTS, PARTS),
        };
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Progress { bar, is_wanted: !quiet && std::io::stderr().is_terminal(), parts }
    }

    /// So many runs there will be.
    pub(super) fn lengthen(&self, runs: u64) {
        self.bar.set_length(runs);
    }

    /// So many runs are done.
    pub(super) fn at(&self, done: f64) {
        if self.is_wanted && self.bar.is_hidden() && self.bar.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position((done * self.parts as f64) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
