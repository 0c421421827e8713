//! Finds the merge rule of a type at compile time.

use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;

use serde_json::{Map, Value};

use crate::operation::update::UpdateInput;
use crate::schema::spec::InputSpec;

pub(super) const REPLACE: u8 = 0;
pub(super) const NESTED: u8 = 1;
pub(super) const JSON: u8 = 2;
pub(super) const JSON_OBJECT: u8 = 3;
pub(super) const OPTION: u8 = 4;
pub(super) const MAP: u8 = 5;

/// Finds the rule of a type of which the macro only knows the name: `Leaf<{ Probe::<V>::RULE }>`.
///
/// The constant of [`Fallback`] applies to every type, but an inherent constant with the same name takes precedence.
/// This only works for concrete types, for example the types of the fields in a macro's input.
///
/// ```
/// use mcp_aql::update::rule::{Fallback as _, Probe};
///
/// assert_ne!(Probe::<serde_json::Value>::RULE, Probe::<Vec<u8>>::RULE);
/// ```
#[doc(hidden)]
pub struct Probe<V>(PhantomData<V>);

/// The rule of all other types. The value is replaced.
#[doc(hidden)]
pub trait Fallback {
    /// The number of [`Replace`](super::Replace).
    const RULE: u8 = REPLACE;
    /// Table of the type, if it is a resource with constraints.
    const INPUT: Option<fn() -> InputSpec> = None;
}

impl<V> Fallback for Probe<V> {}

impl<V: UpdateInput> Probe<V> {
    /// The number of [`Nested`](super::Nested).
    pub const RULE: u8 = NESTED;
    /// Table of the resource.
    pub const INPUT: Option<fn() -> InputSpec> = Some(|| V::INPUT);
}

impl Probe<Value> {
    /// The number of [`Json`](super::Json).
    pub const RULE: u8 = JSON;
}

impl Probe<Map<String, Value>> {
    /// The number of [`JsonObject`](super::JsonObject).
    pub const RULE: u8 = JSON_OBJECT;
}

impl<V> Probe<Option<V>> {
    /// The number of [`Opt<Replace>`](super::Opt).
    pub const RULE: u8 = OPTION;
}

impl<K, V> Probe<BTreeMap<K, V>> {
    /// The number of [`Keys<Replace>`](super::Keys).
    pub const RULE: u8 = MAP;
}

impl<K, V, S> Probe<HashMap<K, V, S>> {
    /// The number of [`Keys<Replace>`](super::Keys).
    pub const RULE: u8 = MAP;
}
