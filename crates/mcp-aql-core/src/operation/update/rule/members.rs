//! Access to the members of a value.

use serde_json::{Map, Value};

use crate::error::OperationError;
use crate::operation::update::InputPath;
use crate::operation::update::json::object_in;

/// Returns the members of a value, or an error if it is not an object.
pub(super) fn members<'a>(
    value: &'a Value,
    path: &InputPath<'_>,
) -> Result<&'a Map<String, Value>, OperationError> {
    match value {
        Value::Object(members) => Ok(members),
        Value::Null => Err(path.not_removable()),
        other => Err(path.not_an_object(other)),
    }
}

/// Returns the members of a value. Decoding has already checked that it is an object.
pub(super) fn into_members(mut value: Value) -> Map<String, Value> {
    object_in(&mut value).map(std::mem::take).unwrap_or_default()
}
