//! Why a scenario is refused: one sentence about the file as a whole, or its faults with everything needed to show
//! them.

use std::str::Utf8Error;

use super::patches::PatchFile;
use crate::document::Fault;

/// Why there is no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Something about the file as a whole, or about the command line.
    Whole {
        /// What is wrong, in one sentence.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Faults at places of the file, of patch files or of `--set`.
    Faulty {
        /// The file as the user named it.
        path: String,
        /// The file's text.
        text: String,
        /// The patch files, in order.
        patches: Box<[PatchFile]>,
        /// The texts of `--set`, in order.
        sets: Vec<String>,
        /// All faults, in the order of their places.
        faults: Vec<Fault>,
        /// How many more faults there are than are kept.
        left_out: usize,
    },
}

impl Refusal {
    /// The refusal of a file that is not UTF-8.
    pub fn not_utf8(path: &str, bytes: &[u8], error: &Utf8Error) -> Refusal {
        let at = error.valid_up_to();
        let line = 1 + std::str::from_utf8(&bytes[..at]).map_or(0, |sound| sound.matches('\n').count());
        let found = bytes.get(at).map_or_else(String::new, |byte| format!(", found byte 0x{byte:02x}"));
        Refusal::Whole {
            message: format!("scenario `{path}` is not UTF-8 text: line {line}{found}"),
            hint: Some("a scenario is a TOML file; save it as UTF-8".to_owned()),
        }
    }

    /// How many faults there are.
    pub fn count(&self) -> usize {
        match self {
            Refusal::Whole { .. } => 1,
            Refusal::Faulty { faults, left_out, .. } => faults.len() + left_out,
        }
    }
}
