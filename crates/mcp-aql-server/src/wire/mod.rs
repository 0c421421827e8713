//! JSON-RPC framing: reads lines of bounded length, and writes several lines at once.

mod lines;
mod malformed_call;
mod message;
mod outbox;
mod recover_id;
mod write;

pub(super) use lines::{Line, Lines};
pub use malformed_call::MalformedCall;
pub(super) use message::{
    BAD_CALL, Fault, LONG_BATCH, MAX_BATCH_MESSAGES, Message, OtherRequest, Refusal, ToolCall,
    batch_ids, decode, too_long,
};
pub(super) use outbox::{Outbox, PendingAnswer};
#[cfg(feature = "http")]
pub(super) use recover_id::IdScanner;
pub(super) use recover_id::canonical_id;
pub(super) use write::{fail_with, respond_with, tool_result, write_error};
