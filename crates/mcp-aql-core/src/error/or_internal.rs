//! Converts errors of other crates into operation errors.

use std::error::Error;

use super::OperationError;

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
    /// `INTERNAL_ERROR` for every error.
    fn or_internal(self) -> Result<T, OperationError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrInternal<T> for Result<T, E> {
    fn or_internal(self) -> Result<T, OperationError> {
        self.map_err(OperationError::internal)
    }
}
