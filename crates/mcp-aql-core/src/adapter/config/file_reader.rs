//! Reads the keys of a configuration file.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::adapter::settings::key_list::declaration;
use crate::config::key::{Key, ValueKind};

/// Reads the values of the declared keys, and rejects unknown keys with their positions. The tables of extensions, and
/// other values with a structure of their own, are left to their owners.
pub(super) struct FileReader<'a> {
    /// All keys of the adapter and its extensions.
    pub(super) keys: &'a [&'static Key],
    /// Tables of known extensions that the adapter does not have.
    pub(super) optional: &'a [&'a str],
    /// Optional tables found in the file.
    pub(super) found: Vec<&'a str>,
    /// Values by the paths of their keys, in the unit of the file.
    pub(super) values: BTreeMap<&'static str, Value>,
}

/// What a name in a table of the file means.
enum Name {
    /// A key with a value.
    Key(&'static Key),
    /// A table with this path.
    Table(String),
    /// The owner reads it.
    Owned,
}

impl FileReader<'_> {
    /// Reads a file.
    pub(super) fn read(&mut self, file: &str) -> Result<(), toml_edit::de::Error> {
        let root = TableReader { prefix: String::new(), reader: self };
        toml_edit::de::Deserializer::parse(file)?.deserialize_map(root)
    }

    /// Returns the meaning of a name in the table with this prefix, or the error about an unknown name.
    fn name(&mut self, prefix: &str, name: &str) -> Result<Name, String> {
        let path = format!("{prefix}{name}");
        if let Some(key) = self.keys.iter().copied().find(|key| key.path == path) {
            return Ok(if declaration(key.path).is_some() { Name::Key(key) } else { Name::Owned });
        }
        let inner = format!("{path}.");
        let mut inside = self.keys.iter().filter(|key| key.path.starts_with(&inner)).peekable();
        if inside.peek().is_some() {
            let is_declared = inside.any(|key| declaration(key.path).is_some());
            return Ok(if is_declared { Name::Table(inner) } else { Name::Owned });
        }
        if let Some(optional) = self.optional.iter().find(|optional| **optional == path) {
            self.found.push(optional);
            return Ok(Name::Owned);
        }
        let mut known = Vec::new();
        for name in self.keys.iter().filter_map(|key| child(prefix, key.path)) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        let known: Vec<_> = known.iter().map(|known| format!("`{known}`")).collect();
        Err(format!("unknown field `{name}`, expected one of {}", known.join(", ")))
    }
}

/// Returns the name in the table with this prefix that leads to a key.
fn child<'a>(prefix: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(prefix)?.split('.').next()
}

/// Reads one table.
struct TableReader<'r, 'a> {
    /// Path of the table, with a dot at the end. Empty for the root.
    prefix: String,
    reader: &'r mut FileReader<'a>,
}

impl<'de> DeserializeSeed<'de> for TableReader<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TableReader<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { prefix, reader } = self;
        while let Some(name) =
            map.next_key_seed(NameReader { prefix: &prefix, reader: &mut *reader })?
        {
            match name {
                Name::Key(key) => {
                    let value = map.next_value_seed(TypedValue(key.kind))?;
                    reader.values.insert(key.path, value);
                }
                Name::Table(prefix) => {
                    map.next_value_seed(TableReader { prefix, reader: &mut *reader })?;
                }
                Name::Owned => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

/// Reads a name. An error returned here gets the position of the name.
struct NameReader<'r, 'p, 'a> {
    prefix: &'p str,
    reader: &'r mut FileReader<'a>,
}

impl<'de> DeserializeSeed<'de> for NameReader<'_, '_, '_> {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        let name = String::deserialize(deserializer)?;
        self.reader.name(self.prefix, &name).map_err(D::Error::custom)
    }
}

/// Reads a value of this type. An error returned here gets the position of the value.
struct TypedValue(ValueKind);

impl<'de> DeserializeSeed<'de> for TypedValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.0 {
            ValueKind::Switch => bool::deserialize(deserializer).map(Value::from),
            ValueKind::Number(_) => u64::deserialize(deserializer).map(Value::from),
            ValueKind::Text | ValueKind::Word(_) => {
                String::deserialize(deserializer).map(Value::from)
            }
            ValueKind::List => Vec::<String>::deserialize(deserializer).map(Value::from),
            ValueKind::Other(_) => Value::deserialize(deserializer),
        }
    }
}
