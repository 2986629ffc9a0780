//! Pictures of results. A picture takes numbers as they are and computes nothing that a reader would quote; what it
//! decides is where things stand, and what is left out.
//!
//! Everything is laid out as marks on a sheet first, with text measured in the fonts of the binary, and then
//! painted through plotters: by its SVG backend, or by one of our own that fills outlines with tiny-skia.

pub mod ablation;
mod answers;
mod axis;
mod budget_lanes;
mod calls;
pub mod comparison;
mod copies;
mod curve;
mod facts;
pub mod font;
mod form;
mod guard_lanes;
mod gutter;
pub mod headroom;
mod heat;
mod hedge_lanes;
mod incident;
mod label;
mod lanes;
mod level;
mod number;
mod panel;
mod paragraph;
mod picture;
pub mod png;
mod queue;
mod range;
mod scale;
mod servers;
mod share;
mod sheet;
mod steps;
pub mod svg;
pub mod sweep;
pub mod theme;
pub mod timeline;
mod tracks;
pub mod tuning;
mod workers;

pub use ablation::ablation;
pub use comparison::comparison;
pub use form::Form;
pub use headroom::headroom;
pub use picture::Picture;
pub use svg::Setting;
pub use sweep::sweep;
pub use theme::Theme;
pub use timeline::{Words, timeline};
pub use tuning::tuning;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod odd;
#[cfg(test)]
mod odd_sweeps;
#[cfg(test)]
mod tests;
