//! Rules for merging a field with a new value. `#[derive(UpdateInput)]` chooses the rule by the field's type.
//!
//! | type | rule | effect |
//! |---|---|---|
//! | `Option<T>` | [`Opt<R>`](Opt) | `null` removes; otherwise by the rule `R` of `T` |
//! | `Box<T>` | [`Boxed<R>`](Boxed) | by the rule `R` of `T` |
//! | `BTreeMap<K, V>`, `HashMap<K, V>` | [`Keys<R>`](Keys) | key by key, values by the rule `R` of `V` |
//! | a struct that derives `UpdateInput` | [`Nested`] | field by field |
//! | [`serde_json::Value`] | [`Json`] | objects by key at every depth, other values are replaced |
//! | [`serde_json::Map`] | [`JsonObject`] | by key at every depth |
//! | anything else: scalars, lists, enums | [`Replace`] | replaced |
//!
//! The macro recognizes `Option`, `Box` and the maps by their names as written, and all other types by their traits.
//! [`Leaf`] is the rule of a type that the macro does not recognize, and [`Probe`] finds its number. An alias of an
//! `Option` can still be removed with `null`, and an alias of a map is still merged by key. The values inside both
//! are replaced.

use std::marker::PhantomData;

use serde_json::Value;

use super::{ErasedPatch, InputPath};
use crate::error::OperationError;
use crate::schema::spec::{Merge, SchemaFn};

mod leaf;
mod map;
mod probe;
mod wrapper;

pub use leaf::{Json, JsonObject, Leaf, Nested, Replace};
pub use map::{Keys, MapLike};
pub use probe::{Fallback, Probe};
pub use wrapper::{Boxed, Opt};

/// A rule that decodes and merges the changes of a field of type `V`. Decoding may fail, but merging cannot.
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
    /// If `true`, `null` removes the field.
    const REMOVABLE: bool;
    /// The schema of the value, without `Option`.
    const SCHEMA: SchemaFn;

    /// Decodes a change from its JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a valid `V`, or if it is `null` and the field cannot be removed.
    fn decode(value: &Value, path: &InputPath<'_>) -> Result<Self::Patch, OperationError>;

    /// Merges a change. `value` is the JSON from which it was decoded. The rule can move it instead of copying.
    fn merge(patch: Self::Patch, value: Value, target: &mut V);
}

/// A rule that can create a missing value, inside an `Option` or under a new key.
///
/// A [`Nested`] struct starts from its `Default`, so the change may be incomplete.
#[diagnostic::on_unimplemented(
    message = "an update cannot create a `{V}` if no value is stored",
    label = "there may be no value",
    note = "write `#[derive(Default)]` above `{V}` to start from, or `#[update_input(replace)]` above this field to replace it as a whole"
)]
pub trait CreateRule<V>: Rule<V> {
    /// Creates a value from the change.
    fn create(patch: Self::Patch, value: Value) -> V;
}

/// The accessor of a field of type `V` in the resource `T`, with its merge rule.
pub struct FieldAccessor<T, V, R> {
    project: for<'a> fn(&'a mut T) -> &'a mut V,
    rule: PhantomData<fn() -> R>,
}

impl<T, V, R> FieldAccessor<T, V, R> {
    /// Creates an accessor from a function that returns a reference to the field.
    pub const fn new(project: for<'a> fn(&'a mut T) -> &'a mut V) -> Self {
        Self { project, rule: PhantomData }
    }
}

/// A [`FieldAccessor`] whose field type is erased.
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
