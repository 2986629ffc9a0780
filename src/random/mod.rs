//! All randomness of a run comes from its seed, through labelled streams: one per entity and purpose.
//!
//! A stream's key is a mix of the seed, the names and the ordinals of what it is for. Nothing is drawn from a shared
//! sequence, so a new draw moves no other, and two runs with different policies share every draw of the world
//! (common random numbers).

pub mod distribution;
pub mod math;
pub mod normal;
mod portable;
pub mod residual;
pub mod stream;

pub use distribution::Distribution;
pub use stream::{Key, Seed, Stream};
