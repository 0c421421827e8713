//! The columns of a resource's fields, for generated code.

pub use super::columns::*;
pub use super::nested::NestedAccess;
pub use super::probe::{
    ComputedProbe, Fallback, NoComputed, NoOrder, OrderProbe, Probe, is_ordered,
};
