//! `retrycast explain`.

use std::process::ExitCode;

use super::args::{ExplainArgs, Format};
use super::{engine, stream};

/// Says what the layers multiply to.
pub(super) fn explain(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let source = args.scenario.source()?;
    let scenario = engine::load(&source, args.scenario.variant.as_deref(), &args.scenario.set)?;
    match args.format {
        Format::Text => stream::print_coloured(&engine::explained(&scenario, false)),
        Format::Json => stream::print(&engine::explained(&scenario, true)),
    }
}
