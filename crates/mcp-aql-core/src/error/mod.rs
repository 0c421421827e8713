//! Errors of operations. An error separates the message for the client from the cause for the log.

pub(crate) mod build_error;
pub(crate) mod main_error;
mod operation_error;
pub(crate) mod warning;

use std::error::Error;

use mcp_aql_protocol::{nearest_name, snake_case};

pub(crate) use operation_error::echo;
pub use operation_error::{IntoOperationError, OperationError};

/// Converts an error of another crate into an [`OperationError`]. The prelude exports this trait, so you can write
/// `.or_internal()?` in your operations.
///
/// ```
/// use mcp_aql::prelude::*;
///
/// /// Read the notice.
/// #[operation(category = "READ")]
/// fn get_notice() -> Result<String, OperationError> {
///     let text = std::fs::read_to_string("/srv/notices/today.txt").or_internal()?;
///     Ok(text.trim().to_owned())
/// }
///
/// let error = get_notice().unwrap_err();
/// assert_eq!(error.code(), ErrorCode::InternalError);
/// assert!(!error.message().contains("notices"));
/// ```
///
/// Source: REQ-ERR-04, REQ-ERR-07.
pub trait OrInternal<T> {
    /// Converts the error into an `INTERNAL_ERROR`. The caller receives a correlation id and never sees the error
    /// itself. The error is logged as the cause with the same id.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` for every error.
    fn or_internal(self) -> Result<T, OperationError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrInternal<T> for Result<T, E> {
    fn or_internal(self) -> Result<T, OperationError> {
        self.map_err(OperationError::internal)
    }
}

/// Converts a message of serde into a rule for the client. Only repeats names chosen by the author of the type, never
/// the caller's value (REQ-ERR-04).
///
/// ```text
/// unknown variant `Low`, expected `low` or `high`
/// → must be one of: low, high. Did you mean 'low'?
/// ```
pub(crate) fn expected_names(message: &str) -> Option<String> {
    let message = message.strip_prefix("unknown variant `")?;
    let (sent, rest) = message.rsplit_once("`, expected ")?;
    let names: Vec<_> = rest.split('`').skip(1).step_by(2).collect();
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(is_name_character);
    if names.is_empty() || !names.iter().all(is_name) {
        return None;
    }
    let snake = snake_case(sent);
    let same = names.iter().copied().find(|name| snake_case(name) == snake);
    let near = same.or_else(|| nearest_name(sent, names.iter().copied()));
    let hint = near.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
    Some(format!("must be one of: {}{hint}", names.join(", ")))
}

fn is_name_character(each: char) -> bool {
    each.is_alphanumeric() || "_-. ".contains(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_the_type_are_repeated() {
        // REQ-ERR-04, REQ-ERR-05
        for (message, expected) in [
            (
                "unknown variant `Low`, expected `low` or `high`",
                Some("must be one of: low, high. Did you mean 'low'?"),
            ),
            ("unknown variant `x`, expected one of `a`, `b`, `c`", Some("must be one of: a, b, c")),
            ("unknown variant `x`, expected `a`", Some("must be one of: a")),
            ("unknown variant `x`, there are no variants", None),
            ("invalid type: string \"secret\", expected u32", None),
            ("unknown variant `a`, expected `b`, expected `/etc/passwd`", None),
        ] {
            assert_eq!(expected_names(message).as_deref(), expected, "{message}");
        }
    }
}
