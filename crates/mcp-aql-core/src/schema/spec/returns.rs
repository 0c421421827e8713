//! The type of an operation's result.

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::SchemaFn;

/// The type of a result, for introspection.
#[derive(Debug, Clone, Copy)]
pub struct ReturnsSpec {
    schema: SchemaFn,
    /// Returns the name of the type. Types whose schema is inline have one, too.
    name: fn() -> Cow<'static, str>,
    /// A schema only known at run time. It replaces that of the type.
    json_schema: Option<&'static Value>,
}

impl ReturnsSpec {
    /// Returns the type's JSON schema.
    pub(crate) const fn schema(&self) -> SchemaFn {
        self.schema
    }

    /// Returns the name of the type. For an `Option`, returns the name of the type inside it.
    pub(crate) fn name(&self) -> String {
        let name = (self.name)();
        name.strip_prefix("Nullable_").unwrap_or(&name).to_owned()
    }

    /// Describes a result of type `T`. [`DataKey`](super::DataKey) determines its position in the reply.
    pub(crate) const fn of_data<T: JsonSchema>() -> Self {
        Self {
            schema: SchemaGenerator::subschema_for::<T>,
            name: T::schema_name,
            json_schema: None,
        }
    }

    /// Describes a result by a JSON schema only known at run time.
    pub(crate) const fn of_json_schema(schema: &'static Value) -> Self {
        Self { json_schema: Some(schema), ..Self::of_data::<Value>() }
    }

    /// Returns the schema if it is only known at run time.
    pub(crate) const fn json_schema(&self) -> Option<&'static Value> {
        self.json_schema
    }
}
