//! The parts of an operation's static table. Validation, routing, introspection, documentation and examples all read
//! them.

mod danger;
mod parameter;
mod returns;
mod schema;
mod state;
mod unused;

pub use danger::{DangerSpec, LifecycleSpec};
pub use parameter::{
    DefaultSpec, InputFieldSpec, InputSpec, MapValueSpec, Merge, ParameterSpec, ParameterType,
    optional, required,
};
pub use returns::ReturnsSpec;
pub use schema::SchemaFn;
pub use state::{SharedState, StateSpec};
pub(crate) use unused::Unused;
