//! What can go wrong in an operation: the code registry, the value that carries it, and the split
//! between what the client may read and what only the log may.

mod code;
mod leak;
mod operation_error;
mod or_internal;

pub use code::ErrorCode;
pub use leak::leaks_internals;
pub(crate) use leak::screened;
pub(crate) use operation_error::echo;
pub use operation_error::{IntoOperationError, OperationError};
pub use or_internal::OrInternal;
