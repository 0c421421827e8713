//! One parameter, wherever it is declared: as a function's argument or as a field of a group.

mod attr;
mod check;
mod codegen;
pub(crate) mod literal;
mod model;

pub(crate) use attr::ParamAttr;
pub(crate) use check::{check, constraints, replacement};
pub(crate) use model::Parameter;
