use std::fmt;

use crate::error::OperationError;

/// Deeper than any request may nest (at most 64 levels, REQ-ENC-12): what is deeper still was built
/// by a program, and is refused before it can exhaust the stack.
const MAX_DEPTH: usize = 128;

/// Where inside `input` a value stands. It costs nothing until an error prints it.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    name: &'a str,
    depth: usize,
}

impl Path<'static> {
    /// The `input` parameter itself.
    pub const ROOT: Self = Self { parent: None, name: "input", depth: 0 };
}

impl<'a> Path<'a> {
    /// A member of the object that stands here.
    ///
    /// # Errors
    /// `VALIDATION_INVALID_VALUE` when that is too deep.
    pub fn member(&'a self, name: &'a str) -> Result<Self, OperationError> {
        if self.depth >= MAX_DEPTH {
            return Err(OperationError::invalid_value(
                "input",
                format_args!("nests deeper than {MAX_DEPTH} levels"),
            ));
        }
        Ok(Self { parent: Some(self), name, depth: self.depth + 1 })
    }

    /// The path from the resource down, without the leading `input`.
    pub(super) fn inside_input(&self) -> String {
        let path = self.to_string();
        path.strip_prefix("input.").map(str::to_owned).unwrap_or(path)
    }

    /// `null` for something that cannot be removed (REQ-UPD-10, choice G-05).
    pub(super) fn not_removable(&self) -> OperationError {
        OperationError::invalid_value(
            &self.to_string(),
            "cannot be removed: give it a value, or leave it out to keep it",
        )
    }

    /// A value of the wrong JSON type.
    pub(super) fn not_an_object(&self, value: &serde_json::Value) -> OperationError {
        OperationError::invalid_type(&self.to_string(), "object", crate::vocab::json_type(value))
    }

    /// A value that its type refuses. What serde says may name Rust types, so it goes to the log.
    pub(super) fn refused(&self, error: &serde_json::Error) -> OperationError {
        // Keys of maps are the caller's words.
        OperationError::refused_by_type(&crate::text::clean(&self.to_string()), error)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            // As deep as `MAX_DEPTH` at most.
            write!(formatter, "{parent}.")?;
        }
        formatter.write_str(self.name)
    }
}
