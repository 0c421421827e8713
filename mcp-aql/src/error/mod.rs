//! What can go wrong in an operation: the code registry, the value that carries it, and the split
//! between what the client may read and what only the log may.

mod code;
mod leak;
mod operation_error;

pub use code::ErrorCode;
pub use leak::leaks_internals;
pub(crate) use leak::screened;
pub use operation_error::OperationError;
