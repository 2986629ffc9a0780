//! `retrycast presets`: what there is, and what one of them means.

use std::process::ExitCode;

use super::args::PresetsArgs;
use super::engine::Refused;
use super::stream;
use crate::preset::Preset;
use crate::report::presets as report;
use crate::scenario::Refusal;

/// Lists the presets, or explains one.
pub(super) fn presets(args: &PresetsArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else { return stream::print(&report::list()) };
    let found = Preset::find(name);
    let preset = found.map_err(|not| Refused(Refusal::Whole { message: not.message, hint: Some(not.hint) }))?;
    stream::print(&report::one(preset))
}
