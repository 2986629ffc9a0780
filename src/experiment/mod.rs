//! Experiments stand on `simulate` and call nothing else of the engine. This is the only layer with threads; results
//! are kept in the order of replicates, so that the number of threads changes nothing.

pub mod ablate;
pub mod axis;
pub mod compare;
pub mod headroom;
pub mod measure;
pub mod regress;
mod replicate;
pub mod result;
pub mod rows;
pub mod search;
pub mod stretch;
pub mod sweep;
mod tracks;
pub mod trial;
pub mod tune;
mod watch;

pub use ablate::{Ablation, Combination};
pub use axis::{Axis, Quantity};
pub use compare::{Comparison, Replicates, Verdict};
pub use measure::Measure;
pub use replicate::run;
pub use result::{Band, Figure, RunResult};
pub use rows::{Kept, Row, RowKey};
pub use sweep::{Grid, Point, Sweep};
pub use tracks::{Sent, Track};
pub use trial::{Arm, Halted, Plan, Trial};
pub use tune::Tuning;
pub use watch::{Endless, MOST_REQUESTS, Stopped, Terms, watched};
