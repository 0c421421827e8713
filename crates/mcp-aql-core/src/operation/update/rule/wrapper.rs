//! Merge rules of `Option` and `Box`.

use std::marker::PhantomData;

use serde_json::Value;

use super::{CreateRule, Rule};
use crate::error::OperationError;
use crate::operation::update::InputPath;
use crate::schema::spec::{Merge, SchemaFn};

/// The rule of an `Option`. `null` removes the value. Any other value is merged by the rule `R` into the stored
/// value, or creates a missing one (REQ-UPD-10).
pub struct Opt<R>(PhantomData<R>);

impl<V: 'static, R: CreateRule<V>> Rule<Option<V>> for Opt<R> {
    type Patch = Option<R::Patch>;
    const MERGE: Merge = R::MERGE;
    const REMOVABLE: bool = true;
    const SCHEMA: SchemaFn = R::SCHEMA;

    fn decode(value: &Value, path: &InputPath<'_>) -> Result<Self::Patch, OperationError> {
        if value.is_null() { Ok(None) } else { R::decode(value, path).map(Some) }
    }

    fn merge(patch: Self::Patch, value: Value, target: &mut Option<V>) {
        match (patch, &mut *target) {
            (None, _) => *target = None,
            (Some(patch), Some(stored)) => R::merge(patch, value, stored),
            (Some(patch), None) => *target = Some(R::create(patch, value)),
        }
    }
}

impl<V: 'static, R: CreateRule<V>> CreateRule<Option<V>> for Opt<R> {
    fn create(patch: Self::Patch, value: Value) -> Option<V> {
        patch.map(|patch| R::create(patch, value))
    }
}

/// The rule of a `Box`. It applies the rule `R` to the content.
pub struct Boxed<R>(PhantomData<R>);

impl<V: 'static, R: Rule<V>> Rule<Box<V>> for Boxed<R> {
    type Patch = R::Patch;
    const MERGE: Merge = R::MERGE;
    const REMOVABLE: bool = R::REMOVABLE;
    const SCHEMA: SchemaFn = R::SCHEMA;

    fn decode(value: &Value, path: &InputPath<'_>) -> Result<Self::Patch, OperationError> {
        R::decode(value, path)
    }

    fn merge(patch: Self::Patch, value: Value, target: &mut Box<V>) {
        R::merge(patch, value, target);
    }
}

impl<V: 'static, R: CreateRule<V>> CreateRule<Box<V>> for Boxed<R> {
    fn create(patch: Self::Patch, value: Value) -> Box<V> {
        Box::new(R::create(patch, value))
    }
}
