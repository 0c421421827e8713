//! The types of parameters and results: the tables of the macros, shapes, constraints, projections.

pub mod constraint;
pub mod encoding;
pub(crate) mod instant;
pub(crate) mod keywords;
pub(crate) mod projection;
pub mod shape;
pub(crate) mod spec;

use serde_json::Value;

/// A parameter in a call, with its value if the caller gave one.
#[derive(Debug, Clone)]
pub struct Argument {
    /// Name of the parameter.
    pub name: &'static str,
    /// The value. `None` if the caller left the parameter out.
    pub value: Option<Value>,
}
