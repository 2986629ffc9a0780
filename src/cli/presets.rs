//! `retrycast presets`: what there is, and what one of them means.

use std::process::ExitCode;

use super::args::{Format, PresetsArgs};
use super::engine::Refused;
use super::stream;
use crate::preset::{NotAPreset, Preset, limits};
use crate::report::shelves::{BREAKERS, QUEUES};
use crate::report::{limit_presets, presets as report};
use crate::scenario::Refusal;

/// Lists the presets, or explains one.
pub(super) fn presets(args: &PresetsArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else {
        return match args.format {
            Format::Text => stream::print(&report::list()),
            Format::Json => stream::print(&format!("{:#}\n", report::list_json())),
        };
    };
    if name == "limits" {
        return match args.format {
            Format::Text => stream::print(&limit_presets::list()),
            Format::Json => stream::print(&format!("{:#}\n", limit_presets::list_json())),
        };
    }
    for shelf in [&BREAKERS, &QUEUES] {
        if name == shelf.word {
            return match args.format {
                Format::Text => stream::print(&shelf.list()),
                Format::Json => stream::print(&format!("{:#}\n", shelf.list_json())),
            };
        }
        if let Some(asked) = shelf.asked(name) {
            let preset = asked.map_err(refused)?;
            return match args.format {
                Format::Text => stream::print(&shelf.one(preset)),
                Format::Json => stream::print(&format!("{:#}\n", shelf.one_json(preset))),
            };
        }
    }
    if name.contains('/') {
        let found = limits::find(name).map_err(|hint| {
            let message = format!("no preset of limits is called `{name}`");
            Refused(Refusal::Whole { message, hint: Some(hint) })
        })?;
        return match args.format {
            Format::Text => stream::print(&limit_presets::one(&found)),
            Format::Json => stream::print(&format!("{:#}\n", limit_presets::one_json(&found))),
        };
    }
    let preset = Preset::find(name).map_err(refused)?;
    match args.format {
        Format::Text => stream::print(&report::one(preset)),
        Format::Json => stream::print(&format!("{:#}\n", report::one_json(preset))),
    }
}

fn refused(not: NotAPreset) -> Refused {
    Refused(Refusal::Whole { message: not.message, hint: Some(not.hint) })
}
