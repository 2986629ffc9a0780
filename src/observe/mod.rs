//! What a run leaves behind: counts per class and cell of time, latencies, and series over time. The engine writes
//! them as it goes; `metrics` reads them afterwards. Neither knows the other.

pub mod alerts;
pub mod bills;
pub mod by_model;
pub mod clock;
pub mod doors;
mod fill;
pub mod guards;
pub mod layer_rows;
pub mod ledger;
pub mod levels;
pub mod outcome;
pub mod phases;
pub mod refusals;
pub mod series;
pub mod spans;
pub mod timeline;

pub use bills::BillLedger;
pub use by_model::ModelLedger;
pub use clock::Clock;
pub use guards::{BudgetSeries, GuardSeries};
pub use layer_rows::LayerRows;
pub use ledger::{AnswerIndex, ClassLedger};
pub use outcome::{Outcome, Phase};
pub use phases::PhasePlan;
pub use refusals::RefusalLedger;
pub use timeline::{AnswerKind, Timeline, WorkerActivity};
