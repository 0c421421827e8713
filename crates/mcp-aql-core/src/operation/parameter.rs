//! A parameter of a registered operation.

use std::sync::Arc;

use serde_json::Value;

use crate::schema::shape::Shape;
use crate::schema::spec::{InputSpec, ParameterSpec};

/// A parameter, prepared for validation.
pub struct Parameter {
    /// Name in calls.
    pub name: Arc<str>,
    /// Table of the parameter.
    pub spec: ParameterSpec,
    /// Shape of its values.
    pub shape: Shape,
    /// Default value.
    pub default: Option<Value>,
    /// Fields of an UPDATE's `input`. `None` for other parameters.
    pub input: Option<InputSpec>,
    /// Description, if it differs from the one in the table.
    pub description: Option<String>,
    /// Name of the type shown by introspection, if it does not follow from the shape.
    pub type_name: Option<String>,
}

impl Parameter {
    /// Returns the description of the parameter.
    pub(crate) fn description(&self) -> &str {
        self.description.as_deref().unwrap_or(self.spec.description)
    }

    /// Returns `true` if the parameter's Rust type accepts a value. For the `input` of an UPDATE, the types of its
    /// fields must accept their values. A type such as `IpAddr` can be stricter than its schema.
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
