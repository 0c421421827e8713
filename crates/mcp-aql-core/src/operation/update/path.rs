//! The path of a value inside an UPDATE's `input`.

use std::fmt;

use serde_json::{Map, Value};

use crate::error::OperationError;

/// Maximum depth of `input`. Requests are nested less deeply (at most 64 levels, REQ-ENC-12). A deeper value was
/// built by a program, and is rejected before it can overflow the stack.
const MAX_DEPTH: usize = 128;

/// The path of a value inside `input`. It borrows its parts, and is only formatted for an error message.
#[derive(Debug, Clone, Copy)]
pub struct InputPath<'a> {
    parent: Option<&'a InputPath<'a>>,
    name: &'a str,
    depth: usize,
}

impl InputPath<'static> {
    /// The `input` parameter itself.
    pub const ROOT: Self = Self { parent: None, name: "input", depth: 0 };
}

impl<'a> InputPath<'a> {
    /// Returns the path of a member of this object.
    ///
    /// # Errors
    ///
    /// Returns `VALIDATION_INVALID_VALUE` if the path is too deep.
    pub fn member(&'a self, name: &'a str) -> Result<Self, OperationError> {
        if self.depth >= MAX_DEPTH {
            return Err(OperationError::invalid_value(
                "input",
                format_args!("nests deeper than {MAX_DEPTH} levels"),
            ));
        }
        Ok(Self { parent: Some(self), name, depth: self.depth + 1 })
    }

    /// Returns the path inside the resource, without the leading `input.`.
    pub(super) fn inside_input(&self) -> String {
        let path = self.to_string();
        path.strip_prefix("input.").map(str::to_owned).unwrap_or(path)
    }

    /// Creates the error for `null` if the value cannot be removed (REQ-UPD-10, choice G-05).
    pub(super) fn not_removable(&self) -> OperationError {
        OperationError::invalid_value(
            &self.to_string(),
            "cannot be removed: give it a value, or leave it out to keep it",
        )
    }

    /// Returns the members of the value at this path, or an error if it is not an object.
    pub(super) fn members<'v>(
        &self,
        value: &'v Value,
    ) -> Result<&'v Map<String, Value>, OperationError> {
        match value {
            Value::Object(members) => Ok(members),
            Value::Null => Err(self.not_removable()),
            other => Err(self.not_an_object(other)),
        }
    }

    /// Creates the error for a value of the wrong JSON type.
    pub(super) fn not_an_object(&self, value: &Value) -> OperationError {
        OperationError::invalid_type(&self.to_string(), "object", crate::vocab::json_type(value))
    }

    /// Creates the error for a key that the type of the map at this path rejects.
    pub(super) fn refused_key(&self, key: &str, error: &serde_json::Error) -> OperationError {
        match crate::error::expected_names(&error.to_string()) {
            Some(rule) => OperationError::invalid_value(
                &crate::text::clean(&self.to_string()),
                format_args!("has the key '{}', but keys {rule}", crate::text::clean(key)),
            ),
            None => self.member(key).map_or_else(|error| error, |path| path.refused(error)),
        }
    }

    /// Creates the error for a value that its type rejects. serde's message may name Rust types, so only the log
    /// contains it.
    pub(super) fn refused(&self, error: &serde_json::Error) -> OperationError {
        // Map keys are strings of the caller.
        OperationError::refused_by_type(&crate::text::clean(&self.to_string()), error)
    }
}

impl fmt::Display for InputPath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            // The recursion has at most `MAX_DEPTH` levels.
            write!(formatter, "{parent}.")?;
        }
        formatter.write_str(self.name)
    }
}
