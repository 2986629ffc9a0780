//! The command line: it alone knows arguments, files, the terminal, signals and exit codes. Data goes to standard
//! output, talk to standard error; a verb ends with 0 (done), 1 (the answer is no), 2 (no answer) or 130
//! (interrupted).

mod ablate;
pub mod args;
mod arms;
mod axis_args;
mod compare;
mod engine;
mod experiment_args;
mod explain;
mod files;
mod headroom;
mod headroom_args;
mod interrupt;
mod journal;
mod knob;
mod metric_args;
mod parties;
mod presets;
mod probe;
mod progress;
pub mod refusal;
mod regress;
mod regress_args;
mod regress_files;
mod run;
mod size;
mod source;
pub mod stream;
mod sweep;
mod tune;
mod tune_args;
mod tune_task;
mod words;

pub use args::Cli;
