//! What a run leaves behind: counts per class and cell of time, latencies, and series over time. The engine writes
//! them as it goes; `metrics` reads them afterwards. Neither knows the other.

pub mod outcome;
pub mod timeline;

pub use outcome::Outcome;
pub use timeline::Timeline;
