//! A parameter of a registered operation.

use std::sync::Arc;

use serde_json::Value;

use crate::shape::Shape;
use crate::spec::{InputSpec, ParameterSpec};

/// A parameter, ready for validation.
pub(crate) struct Parameter {
    pub(crate) name: Arc<str>,
    pub(crate) spec: ParameterSpec,
    pub(crate) shape: Shape,
    pub(crate) default: Option<Value>,
    /// The fields of an UPDATE's `input`.
    pub(crate) input: Option<InputSpec>,
    /// The description, if it differs from the one in the table.
    pub(crate) description: Option<String>,
    /// The shown type, if it does not follow from the shape.
    pub(crate) type_name: Option<String>,
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
            return (self.spec.accepts)(value);
        };
        let accepts = |(name, change): (&String, &Value)| {
            input.field(name).is_none_or(|field| (field.parameter.accepts)(change))
        };
        changes.iter().all(accepts)
    }
}
