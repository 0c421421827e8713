//! A parameter of a registered operation.

use std::sync::Arc;

use serde_json::Value;

use crate::schema::shape::Shape;
use crate::schema::spec::{InputSpec, ParameterSpec};

/// A parameter, ready for validation.
pub struct Parameter {
    /// The name, as callers write it.
    pub name: Arc<str>,
    /// The table of the parameter.
    pub spec: ParameterSpec,
    /// The shape of its values.
    pub shape: Shape,
    /// The default value.
    pub default: Option<Value>,
    /// The fields of an UPDATE's `input`.
    pub input: Option<InputSpec>,
    /// The description, if it differs from the one in the table.
    pub description: Option<String>,
    /// The shown type, if it does not follow from the shape.
    pub type_name: Option<String>,
}

impl Parameter {
    /// The description of the parameter.
    pub(crate) fn description(&self) -> &str {
        self.description.as_deref().unwrap_or(self.spec.description)
    }

    /// Whether the author's type accepts a value; for `input` of an UPDATE, whether the types of its fields
    /// do. A type such as `IpAddr` may accept less than its schema.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        let (Some(input), Value::Object(changes)) = (&self.input, value) else {
            return (self.spec.rejection)(value).is_none();
        };
        let accepts = |(name, change): (&String, &Value)| {
            input.field(name).is_none_or(|field| (field.parameter.rejection)(change).is_none())
        };
        changes.iter().all(accepts)
    }
}
