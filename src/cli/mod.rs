//! The terminal program: arguments, files, exit codes. Everything it prints is written elsewhere in the crate or here.

pub mod refusal;
