//! Policies are arithmetic. A decision takes `now` (and a random stream where it draws), returns a value, and never
//! waits. The same code is driven by the event loop, by `explain` and by the tests.
//!
//! Settings take the plain noun ([`RetryPolicy`], [`CircuitBreaker`], [`Pacer`]); what changes during a run takes
//! `…State`.

pub mod adaptive_concurrency;
pub mod adaptive_limit;
pub mod adaptive_throttle;
pub mod answer;
pub mod backoff;
pub mod ban;
pub mod budget_gauge;
pub mod circuit_breaker;
pub mod classify;
pub mod cold_start;
pub mod cubic_rate;
pub mod cursor;
pub mod deployments;
pub mod deposits;
pub mod element;
pub mod fallback;
pub mod fixed_window;
pub mod gcra;
pub mod growth;
pub mod guard;
pub mod header;
pub mod hedge;
mod hedge_budget;
pub mod hedge_delay;
pub mod hint;
pub mod hops;
pub mod host;
pub mod jitter;
pub mod leaky_bucket;
pub mod meter;
mod oversleep;
pub mod pacer;
pub mod permanent;
pub mod ramp;
pub mod recovery;
pub mod retry;
pub mod retry_budget;
pub mod semaphore;
pub mod shared_gate;
pub mod sliding_log;
pub mod sliding_weighted;
pub mod slots;
pub mod stack;
pub mod timeouts;
pub mod token_bucket;
pub mod trip;
mod turn;

pub use adaptive_concurrency::AdaptiveConcurrency;
pub use adaptive_throttle::AdaptiveThrottle;
pub use answer::{Answer, Code, Hint, Outcome};
pub use backoff::Backoff;
pub use circuit_breaker::{BreakerState, CircuitBreaker};
pub use classify::{Classification, OutcomeSet, StatusSet};
pub use cubic_rate::CubicRate;
pub use deployments::{Deployment, Deployments};
pub use element::{Element, Kind, Role};
pub use fallback::Fallback;
pub use guard::{Guard, Mechanism, Scope, SizeCheck};
pub use hedge::Hedge;
pub use hedge_delay::{HedgeDelay, LatestTimes, MeasuredDelay};
pub use hint::HintRule;
pub use jitter::Jitter;
pub use meter::{Meter, MeterState};
pub use pacer::Pacer;
pub use ramp::Ramp;
pub use retry::{Decision, GiveUp, RetryPolicy};
pub use retry_budget::RetryBudget;
pub use semaphore::{Semaphore, SemaphoreState, WhenFull};
pub use shared_gate::SharedGate;
pub use stack::Client;
pub use timeouts::{Course, Timeouts};
pub use token_bucket::{TokenBucket, TokenBucketState};
