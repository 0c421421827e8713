//! The type of an operation's result.

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::schema::SchemaFn;

/// The type of a result, for introspection.
#[derive(Debug, Clone, Copy)]
pub struct ReturnsSpec {
    schema: SchemaFn,
    /// The name of the type, also of one whose schema has no name.
    name: fn() -> Cow<'static, str>,
    /// A schema that is known only at run time, instead of the type's.
    json_schema: Option<&'static Value>,
}

impl ReturnsSpec {
    /// The type's JSON schema.
    pub(crate) const fn schema(&self) -> SchemaFn {
        self.schema
    }

    /// The name of the type in its `Option`, or of the type.
    pub(crate) fn name(&self) -> String {
        let name = (self.name)();
        name.strip_prefix("Nullable_").unwrap_or(&name).to_owned()
    }

    /// The result is described by this schema and wrapped as [`DataKey`](super::DataKey) says.
    pub(crate) const fn of_data<T: JsonSchema>() -> Self {
        Self {
            schema: SchemaGenerator::subschema_for::<T>,
            name: T::schema_name,
            json_schema: None,
        }
    }

    /// The result has this JSON schema, which is known only at run time.
    pub(crate) const fn of_json_schema(schema: &'static Value) -> Self {
        Self { json_schema: Some(schema), ..Self::of_data::<Value>() }
    }

    /// The schema that is known only at run time.
    pub(crate) const fn json_schema(&self) -> Option<&'static Value> {
        self.json_schema
    }
}
