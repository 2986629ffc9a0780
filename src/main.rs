//! The program: parse, run, exit code.

use std::process::ExitCode;

use clap::Parser;
use retrycast::cli::{Cli, stream};

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => stream::complain(&error),
    }
}
