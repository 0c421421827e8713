//! How a field meets its new value. `#[derive(UpdateInput)]` chooses the rule from the field's type.
//!
//! | type | rule | what happens |
//! |---|---|---|
//! | `Option<T>` | [`Opt<R>`](Opt) | `null` removes; else by the rule `R` of `T` |
//! | `Box<T>` | [`Boxed<R>`](Boxed) | by the rule `R` of `T` |
//! | `BTreeMap<K, V>`, `HashMap<K, V>` | [`Keys<R>`](Keys) | key by key, values by the rule `R` of `V` |
//! | a struct that derives `UpdateInput` | [`Nested`] | field by field |
//! | [`serde_json::Value`] | [`Json`] | objects by key at every depth, else replaced |
//! | [`serde_json::Map`] | [`JsonObject`] | by key at every depth |
//! | anything else: scalars, lists, enums | [`Replace`] | replaced |
//!
//! `Option`, `Box` and the maps are told by their names as written, the others by what the type is:
//! [`Leaf`] is the rule of a type that the macro knows nothing of, and [`Probe`] finds its number.
//! A type that hides an `Option` or a map behind an alias still removes or merges by key, and its
//! values are replaced.

use std::marker::PhantomData;

use serde_json::Value;

use super::Path;
use crate::error::OperationError;
use crate::spec::Merge;
use crate::spec::SchemaFn;

mod leaf;
mod map;
mod probe;
mod wrapper;

pub use leaf::{Json, JsonObject, Leaf, Nested, Replace};
pub use map::{Keys, MapLike};
pub use probe::{Fallback, Probe};
pub use wrapper::{Boxed, Opt};

/// How a field of type `V` decodes a change and merges it. Decoding may refuse; merging cannot fail.
///
/// Source: REQ-UPD-07 to REQ-UPD-10.
#[diagnostic::on_unimplemented(
    message = "a field of type `{V}` cannot be updated",
    label = "cannot be updated",
    note = "write `#[derive(Clone, Deserialize, JsonSchema)]` above its type, or above the one inside of its `Option` or map"
)]
pub trait Rule<V>: 'static {
    /// A decoded change.
    type Patch: Clone + Send + Sync + 'static;

    /// What the table says of this rule.
    const MERGE: Merge;
    /// Whether `null` removes the field.
    const REMOVABLE: bool;
    /// The schema of the value, without `Option`.
    const SCHEMA: SchemaFn;

    /// Decodes a change from its JSON.
    ///
    /// # Errors
    /// When the value is not one of `V`'s, or `null` where nothing can be removed.
    fn decode(value: &Value, path: &Path<'_>) -> Result<Self::Patch, OperationError>;

    /// Merges a change; `value` is what it was decoded from, to be moved or dropped.
    fn merge(patch: Self::Patch, value: Value, target: &mut V);
}

/// A rule that can merge where nothing is stored yet: inside of an `Option`, under a new key.
///
/// A [`Nested`] struct starts from its `Default`, so that the merge needs no complete value.
#[diagnostic::on_unimplemented(
    message = "an update cannot make a `{V}` where there is none",
    label = "there may be none",
    note = "write `#[derive(Default)]` above `{V}` to start from, or `#[update_input(replace)]` above this field to take it whole"
)]
pub trait Create<V>: Rule<V> {
    /// What the change makes of nothing.
    fn create(patch: Self::Patch, value: Value) -> V;
}

/// Where a field of type `V` lives inside of the resource `T`, and its rule.
pub struct Slot<T, V, R> {
    project: for<'a> fn(&'a mut T) -> &'a mut V,
    rule: PhantomData<fn() -> R>,
}

impl<T, V, R> Slot<T, V, R> {
    /// The field that `project` reaches.
    pub const fn new(project: for<'a> fn(&'a mut T) -> &'a mut V) -> Self {
        Self { project, rule: PhantomData }
    }
}

/// A [`Slot`] whose field type is forgotten. Nothing else implements it.
pub trait ErasedSlot<T>: Send + Sync + sealed::Sealed {
    /// Decodes a change of the field.
    #[doc(hidden)]
    fn decode(
        &self,
        value: &Value,
        path: &Path<'_>,
    ) -> Result<Box<dyn ErasedPatch<T>>, OperationError>;
}

/// A decoded change of one field of `T`.
#[doc(hidden)]
pub trait ErasedPatch<T>: Send + Sync {
    fn apply(self: Box<Self>, value: Value, target: &mut T);
    fn boxed_clone(&self) -> Box<dyn ErasedPatch<T>>;
}

struct SlotPatch<T, V, R: Rule<V>> {
    project: for<'a> fn(&'a mut T) -> &'a mut V,
    patch: R::Patch,
}

mod sealed {
    pub trait Sealed {}
    impl<T, V, R> Sealed for super::Slot<T, V, R> {}
}

impl<T: 'static, V: 'static, R: Rule<V>> ErasedSlot<T> for Slot<T, V, R> {
    fn decode(
        &self,
        value: &Value,
        path: &Path<'_>,
    ) -> Result<Box<dyn ErasedPatch<T>>, OperationError> {
        let patch = R::decode(value, path)?;
        Ok(Box::new(SlotPatch::<T, V, R> { project: self.project, patch }))
    }
}

impl<T: 'static, V: 'static, R: Rule<V>> ErasedPatch<T> for SlotPatch<T, V, R> {
    fn apply(self: Box<Self>, value: Value, target: &mut T) {
        R::merge(self.patch, value, (self.project)(target));
    }

    fn boxed_clone(&self) -> Box<dyn ErasedPatch<T>> {
        Box::new(Self { project: self.project, patch: self.patch.clone() })
    }
}
