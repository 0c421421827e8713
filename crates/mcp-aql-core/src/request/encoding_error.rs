//! The error for requests with invalid UTF-8.

use mcp_aql_protocol::ErrorCode;

use crate::error::OperationError;

/// Returns the error for a request with invalid UTF-8. `byte_offset` is the position of the first invalid byte.
pub fn invalid_encoding(byte_offset: usize) -> OperationError {
    OperationError::new(
        ErrorCode::ValidationInvalidEncoding,
        format!(
            "Invalid character encoding in request: byte {byte_offset} starts no UTF-8 character"
        ),
    )
    .with_detail("byte_offset", byte_offset)
}
