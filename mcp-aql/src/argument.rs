//! One argument of a call.

use serde_json::Value;

/// A parameter of the call: its name and, unless it was left out, its value.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) value: Option<Value>,
}
