//! Checks the keys at the root of a configuration file.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Rejects unknown keys at the root of a file, and reports their positions. The tables of a file are read by several
/// types. None of these types knows all keys, so `deny_unknown_fields` cannot be used.
pub(super) struct RootKeys<'a> {
    /// Keys that the adapter and its extensions read.
    pub(super) known: &'a [&'a str],
    /// Keys of known extensions that the adapter does not have.
    pub(super) optional: &'a [&'a str],
    /// Optional keys found in the file.
    pub(super) found: Vec<&'a str>,
}

impl<'a> RootKeys<'a> {
    /// Checks the keys of a file. Returns the optional keys found in it.
    pub(super) fn check(mut self, file: &str) -> Result<Vec<&'a str>, toml_edit::de::Error> {
        toml_edit::de::Deserializer::parse(file)?.deserialize_map(&mut self)?;
        Ok(self.found)
    }
}

impl<'de> Visitor<'de> for &mut RootKeys<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key_seed(&mut *self)?.is_some() {
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Reads one key. An error returned here gets the position of the key.
impl<'de> DeserializeSeed<'de> for &mut RootKeys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let key = <String as serde::Deserialize>::deserialize(deserializer)?;
        if self.known.contains(&key.as_str()) {
            return Ok(());
        }
        if let Some(optional) = self.optional.iter().find(|optional| **optional == key) {
            self.found.push(optional);
            return Ok(());
        }
        let known: Vec<_> = self.known.iter().map(|known| format!("`{known}`")).collect();
        let known = known.join(", ");
        Err(D::Error::custom(format!("unknown field `{key}`, expected one of {known}")))
    }
}
