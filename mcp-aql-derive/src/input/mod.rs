//! The model of a resource that `#[derive(CreateInput)]` and `#[derive(UpdateInput)]` share.

mod attr;
pub(crate) mod check;
mod model;
mod rule_tree;

pub(crate) use attr::{CreateOptions, InputDerive, container};
pub(crate) use model::{FieldRole, InputField, InputModel};
pub(crate) use rule_tree::mentions;
