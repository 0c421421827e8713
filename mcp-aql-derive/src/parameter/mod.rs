//! A parameter of an operation: an argument of its function, or a field of a group.

mod attr;
mod check;
mod codegen;
mod json_type;
pub(crate) mod literal;
mod model;

pub(crate) use attr::{DefaultValue, ParamAttr};
pub(crate) use check::{check, constraints, replacement};
pub(crate) use json_type::numbers_are_exact;
pub(crate) use model::Parameter;
