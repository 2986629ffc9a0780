//! `retrycast presets`: what there is, and what one of them means.

use std::process::ExitCode;

use super::args::{Format, PresetsArgs};
use super::engine::Refused;
use super::stream;
use crate::preset::{NotAPreset, Preset, breakers, limits, queues};
use crate::report::{breaker_presets, limit_presets, presets as report, queue_presets};
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
    if name == "breakers" {
        return match args.format {
            Format::Text => stream::print(&breaker_presets::list()),
            Format::Json => stream::print(&format!("{:#}\n", breaker_presets::list_json())),
        };
    }
    if name == "queues" {
        return match args.format {
            Format::Text => stream::print(&queue_presets::list()),
            Format::Json => stream::print(&format!("{:#}\n", queue_presets::list_json())),
        };
    }
    let of_queue = name.strip_prefix("queues/");
    if let Some(name) = of_queue.or_else(|| Some(name.as_str()).filter(|name| is_only_a_queue(name))) {
        let preset = queues::find(name).map_err(refused)?;
        return match args.format {
            Format::Text => stream::print(&queue_presets::one(preset)),
            Format::Json => stream::print(&format!("{:#}\n", queue_presets::one_json(preset))),
        };
    }
    let of_breaker = name.strip_prefix("breakers/");
    if let Some(name) = of_breaker.or_else(|| Some(name.as_str()).filter(|name| is_only_a_breaker(name))) {
        let preset = breakers::find(name).map_err(refused)?;
        return match args.format {
            Format::Text => stream::print(&breaker_presets::one(preset)),
            Format::Json => stream::print(&format!("{:#}\n", breaker_presets::one_json(preset))),
        };
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

/// Whether this is a preset of a breaker and none of a layer.
fn is_only_a_breaker(name: &str) -> bool {
    Preset::find(name).is_err() && breakers::find(name).is_ok()
}

/// The same of a queue's messages; a library's word alone is its layer that retries.
fn is_only_a_queue(name: &str) -> bool {
    Preset::find(name).is_err() && breakers::find(name).is_err() && queues::find(name).is_ok()
}

fn refused(not: NotAPreset) -> Refused {
    Refused(Refusal::Whole { message: not.message, hint: Some(not.hint) })
}
