//! One argument of a call.

use serde_json::Value;

/// A parameter of the call: its name and, unless it was left out, its value.
#[derive(Debug, Clone)]
pub struct Argument {
    /// The name of the parameter.
    pub name: &'static str,
    /// The value; `None` if the caller did not give the parameter.
    pub value: Option<Value>,
}
