//! A resource as the derives of its inputs read it: `CreateInput` and `UpdateInput`.

mod attr;
pub(crate) mod check;
mod model;
mod rule_tree;

pub(crate) use attr::{CreateOptions, InputDerive, container};
pub(crate) use model::{FieldRole, InputField, InputModel};
pub(crate) use rule_tree::mentions;
