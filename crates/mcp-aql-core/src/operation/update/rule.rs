//! How a field merges a new value. `#[derive(UpdateInput)]` chooses the rule from the field's type.
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
//! The macro recognises `Option`, `Box` and the maps by their names as written, and the other types
//! by their traits: [`Leaf`] is the rule of a type that the macro does not recognise, and [`Probe`]
//! finds its number. A type that hides an `Option` or a map behind an alias still removes or merges
//! by key, and its values are replaced.

use std::marker::PhantomData;

use serde_json::Value;

use super::InputPath;
use super::erased_patch::ErasedPatch;
use crate::error::OperationError;
use crate::schema::spec::{Merge, SchemaFn};

mod leaf;
mod map;
mod members;
mod probe;
mod wrapper;

pub use leaf::{Json, JsonObject, Leaf, Nested, Replace};
pub use map::{Keys, MapLike};
pub use probe::{Fallback, Probe};
pub use wrapper::{Boxed, Opt};

/// How a field of type `V` decodes a change and merges it. Decoding may fail; merging cannot.
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

    /// The description of this rule in the table.
    const MERGE: Merge;
    /// Whether `null` removes the field.
    const REMOVABLE: bool;
    /// The schema of the value, without `Option`.
    const SCHEMA: SchemaFn;

    /// Decodes a change from its JSON.
    ///
    /// # Errors
    /// If the value is not a valid `V`, or is `null` and the field cannot be removed.
    fn decode(value: &Value, path: &InputPath<'_>) -> Result<Self::Patch, OperationError>;

    /// Merges a change. `value` is the JSON from which it was decoded, to be moved or dropped.
    fn merge(patch: Self::Patch, value: Value, target: &mut V);
}

/// A rule that can create a missing value: inside an `Option`, or under a new key.
///
/// A [`Nested`] struct starts from its `Default`, so the change may be incomplete.
#[diagnostic::on_unimplemented(
    message = "an update cannot make a `{V}` where there is none",
    label = "there may be none",
    note = "write `#[derive(Default)]` above `{V}` to start from, or `#[update_input(replace)]` above this field to take it whole"
)]
pub trait CreateRule<V>: Rule<V> {
    /// Creates a value from the change.
    fn create(patch: Self::Patch, value: Value) -> V;
}

/// The accessor of a field of type `V` in the resource `T`, with its rule.
pub struct FieldAccessor<T, V, R> {
    project: for<'a> fn(&'a mut T) -> &'a mut V,
    rule: PhantomData<fn() -> R>,
}

impl<T, V, R> FieldAccessor<T, V, R> {
    /// Creates an accessor from a projection to the field.
    pub const fn new(project: for<'a> fn(&'a mut T) -> &'a mut V) -> Self {
        Self { project, rule: PhantomData }
    }
}

/// A [`FieldAccessor`] with its field type erased.
pub(super) trait ErasedAccessor<T>: Send + Sync {
    /// Decodes a change of the field.
    fn decode(
        &self,
        value: &Value,
        path: &InputPath<'_>,
    ) -> Result<Box<dyn ErasedPatch<T>>, OperationError>;
}

struct FieldPatch<T, V, R: Rule<V>> {
    project: for<'a> fn(&'a mut T) -> &'a mut V,
    patch: R::Patch,
}

impl<T: 'static, V: 'static, R: Rule<V>> ErasedAccessor<T> for FieldAccessor<T, V, R> {
    fn decode(
        &self,
        value: &Value,
        path: &InputPath<'_>,
    ) -> Result<Box<dyn ErasedPatch<T>>, OperationError> {
        let patch = R::decode(value, path)?;
        Ok(Box::new(FieldPatch::<T, V, R> { project: self.project, patch }))
    }
}

impl<T: 'static, V: 'static, R: Rule<V>> ErasedPatch<T> for FieldPatch<T, V, R> {
    fn apply(self: Box<Self>, value: Value, target: &mut T) {
        R::merge(self.patch, value, (self.project)(target));
    }

    fn boxed_clone(&self) -> Box<dyn ErasedPatch<T>> {
        Box::new(Self { project: self.project, patch: self.patch.clone() })
    }
}
