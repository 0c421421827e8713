//! Replies: the JSON text, and whether a client should treat it as an error.

mod batch;
mod reply;
mod result;

pub(crate) use batch::BatchReply;
pub use reply::{PendingReply, Reply};
pub use result::{ErrorDetail, OperationResult};
