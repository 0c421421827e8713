//! The shared state used by an operation.

use std::any::{TypeId, type_name};
use std::fmt;

/// A type of shared state. Each call receives a clone of the registered value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared state: it does not implement `Clone`, `Send` and `Sync`",
    label = "each call takes a clone of `{Self}`",
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
