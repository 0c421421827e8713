//! The type of an operation's result.

use schemars::{JsonSchema, SchemaGenerator};

use super::schema::SchemaFn;

/// The type of a result, for introspection.
#[derive(Debug, Clone, Copy)]
pub struct ReturnsSpec {
    schema: SchemaFn,
}

impl ReturnsSpec {
    /// The type's JSON schema.
    pub(crate) const fn schema(&self) -> SchemaFn {
        self.schema
    }

    /// The result is described by this schema and wrapped as [`DataKey`](super::DataKey) says.
    pub(crate) const fn of_data<T: JsonSchema>() -> Self {
        Self { schema: SchemaGenerator::subschema_for::<T> }
    }
}
