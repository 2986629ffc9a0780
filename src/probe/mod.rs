//! A probe asks one client one question: what will you do when the server answers like this?
//!
//! It drives the same stack that the event loop drives, with answers from a script instead of a provider, nobody else
//! around and no time but the waits. What is random it asks about twice: at both ends of every draw, which gives the
//! range of each wait, and a few hundred times in between, which gives its mean and, where a total time limit decides,
//! how many attempts there are.

pub mod header;
mod path;
mod result;
pub mod script;
mod sequence;

pub use result::{Attempts, Probe, Shown, Span, probe};
pub use script::{Script, ScriptFault};
pub use sequence::{Called, sequence};
