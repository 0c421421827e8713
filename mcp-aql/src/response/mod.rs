//! The result union: what goes out, and whether a client should count it as an error.

mod batch;
mod reply;
mod result;

pub(crate) use batch::BatchReply;
pub use reply::Reply;
pub use result::{ErrorDetail, OperationResult};
