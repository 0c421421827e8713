//! The static tables of operations: validation, routing, introspection, documentation and examples
//! all read them.

mod danger;
mod input;
mod parameter;
mod returns;
mod state;

pub use danger::{DangerSpec, LifecycleSpec};
pub use input::{ElementSpec, FieldSpec, InputSpec, Merge};
pub use parameter::{
    DefaultSpec, ParameterSpec, ParameterType, SchemaFn, optional, required,
};
pub use returns::ReturnsSpec;
pub(crate) use returns::Unused;
pub use state::{SharedState, StateSpec};
