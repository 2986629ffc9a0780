//! A scenario is written by hand, patched by variants and by the command line, and read only then. Whoever made a
//! mistake has to be shown the place where he made it, so values live in one tree in which each remembers its source.
//!
//! The way through this layer:
//! 1. [`parse`] makes a [`Table`] of the file's text, or says what is wrong with its syntax;
//! 2. [`patch`] and [`set`] change the tree as variants and `--set` say;
//! 3. a [`Reader`] per table hands out its keys as [`Field`]s, which convert and complain, and reports at the end the
//!    keys that nobody asked for.
//!
//! Faults are collected in [`Faults`], all of them; where a value is wrong, reading goes on without it.

pub mod depth;
pub mod fault;
pub mod field;
pub mod leaves;
pub mod near;
pub mod parse;
pub mod patch;
pub mod reader;
pub mod set;
pub mod tree;
pub mod write;

pub use fault::{Fault, Faults};
pub use field::Field;
pub use reader::Reader;
pub use tree::{Entry, Node, Place, Table, Text, Value};
