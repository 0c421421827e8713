//! Rows as returned by a database.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::SqlError;
use super::layout::{Cell, Layout};
use super::value::SqlValue;
use crate::odd_values::OddFields;

/// A row of a table with the selected fields.
///
/// A row serializes like a `T` with the same fields, and its JSON schema is that of `T`.
pub struct SqlRecord<T> {
    content: Content,
    row: PhantomData<fn() -> T>,
}

#[derive(Clone)]
enum Content {
    /// The values of the database.
    Cells { layout: Arc<Layout>, cells: Vec<Cell>, computed: Vec<Cell> },
    /// The JSON of a row processed in memory.
    Shown(Box<RawValue>),
}

impl<T> SqlRecord<T> {
    const fn of(content: Content) -> Self {
        Self { content, row: PhantomData }
    }

    /// Converts a row of the database. `odd` collects the fields whose values have another type.
    pub(super) fn read(
        layout: &Arc<Layout>,
        row: &[SqlValue],
        odd: &mut OddFields,
    ) -> Result<Self, SqlError> {
        let (cells, computed) = layout.cells(row, odd)?;
        Ok(Self::of(Content::Cells { layout: Arc::clone(layout), cells, computed }))
    }

    /// Creates a row processed in memory.
    pub(super) const fn shown(json: Box<RawValue>) -> Self {
        Self::of(Content::Shown(json))
    }

    /// Returns the value of a member such as `title`, or `None` if it is not selected.
    pub fn get(&self, member: &str) -> Option<Value> {
        match self.to_json() {
            Value::Object(mut members) => members.remove(member),
            _ => None,
        }
    }

    /// Converts the record to JSON.
    pub fn to_json(&self) -> Value {
        // All parts were validated, so this cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the members, to deserialize a whole row.
    pub(super) fn into_members(self) -> Result<Map<String, Value>, SqlError> {
        serde_json::to_value(self).and_then(serde_json::from_value).map_err(SqlError::Row)
    }
}

impl<T> Clone for SqlRecord<T> {
    fn clone(&self) -> Self {
        Self::of(self.content.clone())
    }
}

impl<T> fmt::Debug for SqlRecord<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SqlRecord").field(&self.to_json()).finish()
    }
}

impl<T> Serialize for SqlRecord<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Content::Cells { layout, cells, computed } => {
                layout.object(cells, computed).serialize(serializer)
            }
            Content::Shown(json) => json.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for SqlRecord<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
