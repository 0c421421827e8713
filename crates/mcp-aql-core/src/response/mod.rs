//! Replies: their JSON, and the decision whether a client should treat them as errors.

mod batch;
mod reply;
mod result;

pub(crate) use batch::BatchReply;
pub use reply::{PendingReply, Reply};
pub use result::{ErrorDetail, OperationResult};
