//! The parts of an operation's static table. Validation, routing, introspection, documentation and examples all read
//! them.

mod danger;
mod parameter;
mod returns;

use std::any::{TypeId, type_name};
use std::fmt;

use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use danger::{DangerSpec, LifecycleSpec};
pub use parameter::{
    DefaultSpec, InputFieldSpec, InputSpec, MapValueSpec, Merge, ParameterSpec, ParameterType,
    optional, required,
};
pub use returns::ReturnsSpec;

/// Describes a Rust type as a JSON schema.
pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// A type of shared state. Each call receives a clone of the registered value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared state: it does not implement `Clone`, `Send` and `Sync`",
    label = "each call receives a clone of `{Self}`",
    note = "share one value behind an `Arc`: write `State<Arc<{Self}>>` in the function and `.state(Arc::new(…))` at the builder",
    note = "for a type of your own that is cheap to clone write `#[derive(Clone)]` above it"
)]
pub trait SharedState: Clone + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> SharedState for T {}

/// A state that an operation needs.
#[derive(Clone, Copy)]
pub struct StateSpec {
    pub(crate) id: fn() -> TypeId,
    pub(crate) name: fn() -> &'static str,
}

impl StateSpec {
    /// Describes the state of type `T`.
    pub const fn of<T: SharedState>() -> Self {
        Self { id: TypeId::of::<T>, name: type_name::<T> }
    }
}

impl fmt::Debug for StateSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StateSpec({})", (self.name)())
    }
}

/// A claim of the caller that an operation needs.
#[derive(Clone, Copy)]
pub struct ClaimSpec {
    pub(crate) name: &'static str,
    /// Returns `true` if a value of the claim has the type of the argument. A missing claim is `null`.
    pub(crate) accepts: fn(&Value) -> bool,
}

impl ClaimSpec {
    /// Describes a claim that is passed to an argument of type `T`.
    pub const fn of<T: DeserializeOwned>(name: &'static str) -> Self {
        Self { name, accepts: |value| T::deserialize(value).is_ok() }
    }
}

impl fmt::Debug for ClaimSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ClaimSpec({})", self.name)
    }
}

/// Implemented by no type. Use it for a second implementation that never applies: the compiler then reports the trait
/// itself with its message, not a requirement of the only implementation.
pub trait Unused {}
