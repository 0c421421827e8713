//! One argument of a call.

use serde_json::Value;

/// A parameter in a call, with its value if the caller gave one.
#[derive(Debug, Clone)]
pub struct Argument {
    /// Name of the parameter.
    pub name: &'static str,
    /// The value. `None` if the caller left the parameter out.
    pub value: Option<Value>,
}
