//! Merge rules of all types except wrappers and maps.

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::probe::{JSON, JSON_OBJECT, MAP, NESTED, OPTION, REPLACE};
use super::{CreateRule, Keys, MapLike, Opt, Rule};
use crate::error::OperationError;
use crate::operation::update::decode::Changes;
use crate::operation::update::json::{into_members, merge_json, merge_map, without_nulls};
use crate::operation::update::{InputPath, UpdateInput};
use crate::schema::spec::{Merge, SchemaFn};

/// The rule of a type other than a wrapper. [`Probe`](super::Probe) finds its number.
#[doc(hidden)]
pub struct Leaf<const RULE: u8>;

/// The value replaces the stored one (REQ-UPD-07, REQ-UPD-09).
pub type Replace = Leaf<REPLACE>;
/// A struct that derives `UpdateInput`. It is merged field by field (REQ-UPD-08).
pub type Nested = Leaf<NESTED>;
/// JSON of any shape. Objects are merged by key, and `null` removes a key (REQ-UPD-08, REQ-UPD-10).
pub type Json = Leaf<JSON>;
/// A JSON object. It is merged by key at every depth (REQ-UPD-08, REQ-UPD-10).
pub type JsonObject = Leaf<JSON_OBJECT>;

/// The type of a field whose value replaces the stored one.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot be updated: it does not implement `JsonSchema`",
    label = "`JsonSchema` is missing on `{Self}`",
    note = "for a type of your own write `#[derive(JsonSchema)]` above it",
    note = "for a type of another crate enable the feature of `schemars` that implements it, such as `chrono04`, `jiff02`, `url2` or `uuid1`, or wrap it in a type of your own, see the book's chapter on parameters"
)]
pub trait DescribedField: JsonSchema {}

#[diagnostic::do_not_recommend]
impl<V: JsonSchema> DescribedField for V {}

impl<V> Rule<V> for Leaf<REPLACE>
where
    V: DeserializeOwned + DescribedField + Clone + Send + Sync + 'static,
{
    type Patch = V;
    const MERGE: Merge = Merge::Replace;
    const REMOVABLE: bool = false;
    const SCHEMA: SchemaFn = SchemaGenerator::subschema_for::<V>;

    fn decode(value: &Value, path: &InputPath<'_>) -> Result<V, OperationError> {
        if value.is_null() {
            return Err(path.not_removable());
        }
        V::deserialize(value).map_err(|error| path.refused(&error))
    }

    fn merge(patch: V, _: Value, target: &mut V) {
        *target = patch;
    }
}

impl<V> CreateRule<V> for Leaf<REPLACE>
where
    Self: Rule<V, Patch = V>,
{
    fn create(patch: V, _: Value) -> V {
        patch
    }
}

#[diagnostic::do_not_recommend]
impl<V: UpdateInput> Rule<V> for Leaf<NESTED> {
    type Patch = Changes<V>;
    const MERGE: Merge = Merge::Fields(|| V::INPUT);
    const REMOVABLE: bool = false;
    const SCHEMA: SchemaFn = SchemaGenerator::subschema_for::<V>;

    fn decode(value: &Value, path: &InputPath<'_>) -> Result<Changes<V>, OperationError> {
        Changes::decode(path.members(value)?, path)
    }

    fn merge(patch: Changes<V>, value: Value, target: &mut V) {
        patch.merge(into_members(value), target);
    }
}

#[diagnostic::do_not_recommend]
impl<V: UpdateInput + Default> CreateRule<V> for Leaf<NESTED> {
    fn create(patch: Changes<V>, value: Value) -> V {
        let mut created = V::default();
        Self::merge(patch, value, &mut created);
        created
    }
}

#[diagnostic::do_not_recommend]
impl Rule<Value> for Leaf<JSON> {
    type Patch = ();
    const MERGE: Merge = Merge::Json;
    const REMOVABLE: bool = true;
    const SCHEMA: SchemaFn = SchemaGenerator::subschema_for::<Value>;

    fn decode(_: &Value, _: &InputPath<'_>) -> Result<(), OperationError> {
        Ok(())
    }

    fn merge((): (), value: Value, target: &mut Value) {
        merge_json(target, value);
    }
}

#[diagnostic::do_not_recommend]
impl CreateRule<Value> for Leaf<JSON> {
    fn create((): (), value: Value) -> Value {
        without_nulls(value)
    }
}

#[diagnostic::do_not_recommend]
impl Rule<Map<String, Value>> for Leaf<JSON_OBJECT> {
    type Patch = ();
    const MERGE: Merge = Merge::Keys(&crate::schema::spec::MapValueSpec::of::<Value, Json>());
    const REMOVABLE: bool = false;
    const SCHEMA: SchemaFn = SchemaGenerator::subschema_for::<Map<String, Value>>;

    fn decode(value: &Value, path: &InputPath<'_>) -> Result<(), OperationError> {
        path.members(value).map(|_| ())
    }

    fn merge((): (), value: Value, target: &mut Map<String, Value>) {
        merge_map(target, into_members(value));
    }
}

#[diagnostic::do_not_recommend]
impl CreateRule<Map<String, Value>> for Leaf<JSON_OBJECT> {
    fn create((): (), value: Value) -> Map<String, Value> {
        into_members(without_nulls(value))
    }
}

/// The rule of an `Option` behind an alias.
#[diagnostic::do_not_recommend]
impl<V> Rule<Option<V>> for Leaf<OPTION>
where
    Opt<Replace>: Rule<Option<V>>,
{
    type Patch = <Opt<Replace> as Rule<Option<V>>>::Patch;
    const MERGE: Merge = <Opt<Replace> as Rule<Option<V>>>::MERGE;
    const REMOVABLE: bool = <Opt<Replace> as Rule<Option<V>>>::REMOVABLE;
    const SCHEMA: SchemaFn = <Opt<Replace> as Rule<Option<V>>>::SCHEMA;

    fn decode(value: &Value, path: &InputPath<'_>) -> Result<Self::Patch, OperationError> {
        Opt::<Replace>::decode(value, path)
    }

    fn merge(patch: Self::Patch, value: Value, target: &mut Option<V>) {
        Opt::<Replace>::merge(patch, value, target);
    }
}

#[diagnostic::do_not_recommend]
impl<V> CreateRule<Option<V>> for Leaf<OPTION>
where
    Opt<Replace>: CreateRule<Option<V>>,
{
    fn create(patch: Self::Patch, value: Value) -> Option<V> {
        Opt::<Replace>::create(patch, value)
    }
}

/// The rule of a map behind an alias.
#[diagnostic::do_not_recommend]
impl<M: MapLike> Rule<M> for Leaf<MAP>
where
    Keys<Replace>: Rule<M>,
{
    type Patch = <Keys<Replace> as Rule<M>>::Patch;
    const MERGE: Merge = <Keys<Replace> as Rule<M>>::MERGE;
    const REMOVABLE: bool = <Keys<Replace> as Rule<M>>::REMOVABLE;
    const SCHEMA: SchemaFn = <Keys<Replace> as Rule<M>>::SCHEMA;

    fn decode(value: &Value, path: &InputPath<'_>) -> Result<Self::Patch, OperationError> {
        Keys::<Replace>::decode(value, path)
    }

    fn merge(patch: Self::Patch, value: Value, target: &mut M) {
        Keys::<Replace>::merge(patch, value, target);
    }
}

#[diagnostic::do_not_recommend]
impl<M: MapLike> CreateRule<M> for Leaf<MAP>
where
    Keys<Replace>: CreateRule<M>,
{
    fn create(patch: Self::Patch, value: Value) -> M {
        Keys::<Replace>::create(patch, value)
    }
}
