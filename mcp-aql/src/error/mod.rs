//! What can go wrong in an operation: the code registry, the value that carries it, and the split
//! between what the client may read and what only the log may.

mod operation_error;
mod or_internal;

pub(crate) use operation_error::echo;
pub use operation_error::{IntoOperationError, OperationError};
pub use or_internal::OrInternal;
