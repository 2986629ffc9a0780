//! Experiments stand on `simulate` and call nothing else of the engine. This is the only layer with threads; results
//! are kept in the order of replicates, so that the number of threads changes nothing.

mod replicate;
pub mod result;
mod tracks;
mod watch;

pub use replicate::run;
pub use result::{Band, Figure, RunResult};
pub use tracks::{Sent, Track};
pub use watch::{Endless, MOST_REQUESTS, Stopped, Terms, watched};
