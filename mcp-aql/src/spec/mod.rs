//! The static tables of operations: validation, routing, introspection, documentation and examples
//! all read them.

mod danger;
mod input;
mod operation;
mod parameter;
mod returns;
mod state;

pub use danger::{DangerSpec, LifecycleSpec};
pub use input::{ElementSpec, FieldSpec, InputSpec, Merge};
pub(crate) use operation::summary;
pub use operation::{DataKey, ExampleSpec, OperationSpec};
pub use parameter::{
    DefaultSpec, ParameterEntry, ParameterSpec, ParameterType, SchemaFn, optional, required,
};
pub use returns::ReturnsSpec;
pub(crate) use returns::Unused;
pub use state::{SharedState, StateSpec};
