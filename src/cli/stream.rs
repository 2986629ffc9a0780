//! Standard output and standard error. A reader that has seen enough (`| head`) closes the pipe; that is its right and
//! no error, so a closed pipe ends the program quietly with success.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::anyhow;

use super::engine::Refused;
use super::refusal;
use super::source::reason;

/// The columns of a page where standard output is no terminal.
const PLAIN_COLUMNS: usize = 80;

/// Writes data to standard output, as it is.
pub fn print(text: &str) -> anyhow::Result<ExitCode> {
    written(io::stdout().lock(), text)
}

/// Writes data to standard output, with its colours where the terminal and the user want them.
pub fn print_coloured(text: &str) -> anyhow::Result<ExitCode> {
    written(anstream::AutoStream::auto(io::stdout().lock()), text)
}

/// Talks on standard error; what nobody hears is lost.
pub fn say(text: &str) {
    let _ = writeln!(anstream::AutoStream::auto(io::stderr().lock()), "{text}");
}

/// Says why there is no answer, on standard error, and gives the exit code for it.
pub fn complain(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Refused>() {
        Some(Refused(refusal)) => say(refusal::render(refusal, true).trim_end()),
        None => say(&format!("error: {error:#}")),
    }
    ExitCode::from(2)
}

/// How many columns a page for standard output has.
pub fn columns() -> usize {
    if !io::stdout().is_terminal() {
        return PLAIN_COLUMNS;
    }
    terminal_size::terminal_size().map_or(PLAIN_COLUMNS, |(width, _)| usize::from(width.0))
}

fn written(mut to: impl Write, text: &str) -> anyhow::Result<ExitCode> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(anyhow!("cannot write to standard output: {}", reason(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed(io::ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_success_and_a_full_disk_is_not() {
        assert!(written(Closed(io::ErrorKind::BrokenPipe), "data").is_ok());
        let error = written(Closed(io::ErrorKind::StorageFull), "data").unwrap_err();
        assert_eq!(format!("{error:#}"), "cannot write to standard output: no space left on the disk");
    }
}
