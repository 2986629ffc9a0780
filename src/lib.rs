//! A deterministic discrete-event simulator of retry storms: workers, layered retry policies, overload windows, shared
//! rate limits, live and background traffic.
//!
//! # The flow
//!
//! ```text
//! TOML → document → Scenario → World → event loop → Outcome → Tree of numbers → report, plot
//!        as written  checked    compiled             plain data
//! ```
//!
//! The engine is one pure and infallible function, [`sim::simulate`]: no clock, no files, no threads, no globals.
//! Experiments stand on it and call nothing else of the engine.
//!
//! # The layers
//!
//! A module uses only modules to its left:
//!
//! ```text
//! units < random < stats < policy < document < preset < provider < traffic < scenario < observe < metrics < sim
//!       < probe < explain < experiment < report < plot < cli < main
//! ```
//!
//! # Invariants
//!
//! 1. `policy` is arithmetic. A decision takes `now` (and a stream if it draws) and returns a value. It never waits.
//! 2. `scenario` is the only layer that refuses input. Past it, nothing about input can fail.
//! 3. `sim` computes no statistics; `metrics` knows no events. They meet in `observe`.
//! 4. `experiment` is the only layer with threads. Results are collected in replicate order, so the thread count
//!    changes nothing.
//! 5. `report` and `plot` cannot run anything. `cli` alone knows arguments, files, the terminal and exit codes.
//! 6. Nowhere: a wall clock in the model, maps with random iteration order, platform-dependent `ln`, `exp` or `powf`,
//!    unseeded randomness, mutable globals.

#[cfg(feature = "cli")]
pub mod cli;
pub mod document;
pub mod experiment;
pub mod explain;
pub mod metrics;
pub mod observe;
#[cfg(feature = "cli")]
pub mod plot;
pub mod policy;
pub mod preset;
pub mod probe;
pub mod provider;
pub mod random;
#[cfg(feature = "cli")]
pub mod report;
pub mod scenario;
pub mod sim;
pub mod stats;
pub mod traffic;
pub mod units;
