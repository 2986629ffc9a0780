//! A probe asks one client one question: what will you do when the server answers like this?
//!
//! It drives the same stack that the event loop drives, with answers from a script instead of a provider, nobody else
//! around and no time but the waits. What is random it asks about twice: at both ends of every draw, which gives the
//! range of each wait, and a few hundred times in between, which gives its mean and, where a total time limit decides,
//! how many attempts there are.

mod hedged;
mod path;
mod result;
mod sequence;

pub use crate::provider::header_text as header;
pub use crate::provider::script::{Script, ScriptFault};
pub use result::{Attempts, Probe, Shown, Span, probe};
pub use sequence::{Called, sequence, sequence_at};
