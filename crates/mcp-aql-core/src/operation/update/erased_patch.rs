//! A decoded change whose type is erased.

use serde_json::Value;

/// A decoded change of one field of `T`.
pub(super) trait ErasedPatch<T>: Send + Sync {
    fn apply(self: Box<Self>, value: Value, target: &mut T);
    fn boxed_clone(&self) -> Box<dyn ErasedPatch<T>>;
}
