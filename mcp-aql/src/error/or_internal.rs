//! Errors of other crates in operations.

use std::error::Error;

use super::OperationError;

/// Turns an error of another crate into an [`OperationError`]: the prelude brings it.
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
    /// Makes the error an `INTERNAL_ERROR`. The log gets it as the cause, with the correlation id that
    /// the caller reads; the caller never reads the error itself.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` for every error.
    fn or_internal(self) -> Result<T, OperationError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrInternal<T> for Result<T, E> {
    fn or_internal(self) -> Result<T, OperationError> {
        self.map_err(OperationError::internal)
    }
}
