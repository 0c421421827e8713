//! The merge rule of maps.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use super::{CreateRule, Rule};
use crate::error::OperationError;
use crate::operation::update::InputPath;
use crate::operation::update::json::into_members;
use crate::schema::spec::{MapValueSpec, Merge, SchemaFn};

/// The rule of a map. Keys are merged one by one, their values by the rule `R`, and `null` removes a key (REQ-UPD-08,
/// REQ-UPD-10).
pub struct Keys<R>(PhantomData<R>);

/// A map that [`Keys`] can merge into.
pub trait MapLike: Default {
    /// Type of the keys. They are strings in JSON.
    type Key: Clone + Send + Sync + 'static;
    /// Type of the values.
    type Value;

    /// Parses a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the type of the key rejects the string.
    fn key(text: &str) -> Result<Self::Key, serde_json::Error>;

    /// Returns the value stored under a key.
    fn value_mut(&mut self, key: &Self::Key) -> Option<&mut Self::Value>;

    /// Stores a value under a key.
    fn put(&mut self, key: Self::Key, value: Self::Value);

    /// Removes a key and its value.
    fn take(&mut self, key: &Self::Key);
}

impl<M, R> Rule<M> for Keys<R>
where
    M: MapLike + JsonSchema + 'static,
    R: CreateRule<M::Value>,
{
    /// `None` removes the key.
    type Patch = Vec<(M::Key, Option<R::Patch>)>;
    const MERGE: Merge = Merge::Keys(&MapValueSpec { schema: R::SCHEMA, merge: R::MERGE });
    const REMOVABLE: bool = false;
    const SCHEMA: SchemaFn = SchemaGenerator::subschema_for::<M>;

    fn decode(value: &Value, path: &InputPath<'_>) -> Result<Self::Patch, OperationError> {
        let decode = |(key, value): (&String, &Value)| {
            let inner = path.member(key)?;
            let patch = if value.is_null() { None } else { Some(R::decode(value, &inner)?) };
            Ok((M::key(key).map_err(|error| path.refused_key(key, &error))?, patch))
        };
        path.members(value)?.iter().map(decode).collect()
    }

    fn merge(patch: Self::Patch, value: Value, target: &mut M) {
        for ((key, patch), (_, value)) in patch.into_iter().zip(into_members(value)) {
            match (patch, target.value_mut(&key)) {
                (None, _) => target.take(&key),
                (Some(patch), Some(stored)) => R::merge(patch, value, stored),
                (Some(patch), None) => target.put(key, R::create(patch, value)),
            }
        }
    }
}

impl<M, R> CreateRule<M> for Keys<R>
where
    M: MapLike + JsonSchema + 'static,
    R: CreateRule<M::Value>,
{
    fn create(patch: Self::Patch, value: Value) -> M {
        let mut created = M::default();
        Self::merge(patch, value, &mut created);
        created
    }
}

/// Parses a map's key in the same way as `serde_json`: as a string, or as a value written as a string, for example a
/// number.
fn read_key<K: DeserializeOwned, M: DeserializeOwned>(
    text: &str,
    only_key: impl FnOnce(M) -> Option<K>,
) -> Result<K, serde_json::Error> {
    let plain: Result<K, serde::de::value::Error> = K::deserialize(StrDeserializer::new(text));
    if let Ok(key) = plain {
        return Ok(key);
    }
    let map = M::deserialize(Value::Object(Map::from_iter([(text.to_owned(), Value::Null)])))?;
    only_key(map).ok_or_else(|| serde::de::Error::custom("not a key of the map"))
}

/// Implements the trait for a map of the standard library.
macro_rules! map_like {
    ($(impl[$($generics:tt)*] $map:ident<K, V $(, $hasher:ident)?>;)*) => {
        $(impl<$($generics)*> MapLike for $map<K, V $(, $hasher)?> {
            type Key = K;
            type Value = V;

            fn key(text: &str) -> Result<K, serde_json::Error> {
                read_key(text, |map: $map<K, IgnoredAny>| map.into_keys().next())
            }

            fn value_mut(&mut self, key: &K) -> Option<&mut V> {
                self.get_mut(key)
            }

            fn put(&mut self, key: K, value: V) {
                self.insert(key, value);
            }

            fn take(&mut self, key: &K) {
                self.remove(key);
            }
        })*
    };
}

map_like! {
    impl[K: DeserializeOwned + Ord + Clone + Send + Sync + 'static, V] BTreeMap<K, V>;
    impl[
        K: DeserializeOwned + Eq + Hash + Clone + Send + Sync + 'static,
        V,
        S: BuildHasher + Default
    ] HashMap<K, V, S>;
}
