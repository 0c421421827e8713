//! JSON-RPC messages on a stream: lines in, of bounded length; lines out, written together.

mod lines;
#[cfg(feature = "http")]
pub(super) mod long_id;
mod message;
mod outbox;
mod salvage;
mod write;

pub(super) use lines::{Line, Lines};
pub use message::MalformedCall;
pub(super) use message::{
    BAD_CALL, Fault, LONG_BATCH, MAX_BATCH_MESSAGES, Message, REPEATED_MEMBER, Refusal, ToolCall,
    batch_ids, decode, request_id, splice, too_long,
};
pub(super) use outbox::{Outbox, Running};
pub(super) use salvage::{Salvage, canonical_id};
pub(super) use write::{fail_with, respond_with, tool_result, write_error};
