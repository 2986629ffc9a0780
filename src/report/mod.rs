//! Results as text and as JSON. Reports cannot run anything: they take plain data and return strings.

pub mod explain;
pub mod explain_json;
mod explain_page;
mod explain_tree;
