//! Errors of operations. An error separates the message for the client from the cause for the log.

pub(crate) mod build_error;
mod expected_names;
pub(crate) mod main_error;
mod operation_error;
mod or_internal;
pub(crate) mod warning;

pub(crate) use expected_names::expected_names;
pub(crate) use operation_error::echo;
pub use operation_error::{IntoOperationError, OperationError};
pub use or_internal::OrInternal;
