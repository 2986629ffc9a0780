//! Reports say what a result means: one sentence first, then the numbers behind it, then how sure they are and how
//! they were counted. Nothing here can run anything, and no number is typed: each is read from the tree of figures by
//! its path, and a figure that is absent or undefined is left out or printed as "–", never as zero.

pub mod ablation;
pub mod alerts;
pub mod bill;
mod causes;
pub mod comparison;
pub mod counting;
pub mod csv;
pub mod effects;
pub mod explain;
mod explain_answers;
pub mod explain_json;
mod explain_page;
mod explain_tree;
pub mod finding;
#[cfg(test)]
pub(crate) mod fixture;
mod guard_series;
pub mod guards;
pub mod headline;
pub mod headroom;
pub mod hedges;
pub mod html;
pub mod interventions;
pub mod jobs;
pub mod json;
pub mod limit_presets;
mod lost;
pub mod model_table;
pub mod phase_table;
pub mod presets;
pub mod probe;
pub mod quantity;
pub mod refusal_table;
pub mod regression;
pub mod request_log;
pub mod schema;
pub mod servers;
pub mod shelves;
pub mod story;
pub mod sustain;
pub mod sweep;
mod tally;
pub mod text;
pub mod tuning;
pub mod warning;
pub mod words;

pub use story::{Scope, Story, Subject, WorstCase};
