//! A parameter as the adapter checks it.

use std::sync::Arc;

use serde_json::Value;

use crate::shape::Shape;
use crate::spec::{InputSpec, ParameterSpec};

/// A parameter, ready to check.
pub(crate) struct Parameter {
    pub(crate) name: Arc<str>,
    pub(crate) spec: ParameterSpec,
    pub(crate) shape: Shape,
    pub(crate) default: Option<Value>,
    /// The fields of an UPDATE's `input`.
    pub(crate) input: Option<InputSpec>,
    /// What it is for, where the table's text does not say.
    pub(crate) description: Option<String>,
    /// The type to show, where the form does not tell.
    pub(crate) type_name: Option<String>,
}

impl Parameter {
    /// What the parameter is for.
    pub(crate) fn description(&self) -> &str {
        self.description.as_deref().unwrap_or(self.spec.description)
    }

    /// Whether the author's own type accepts a value, field by field for an UPDATE's `input`. A type such
    /// as `IpAddr` accepts less than its schema says.
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
