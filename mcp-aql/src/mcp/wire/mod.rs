//! JSON-RPC messages on a stream: lines in, of bounded length; lines out, written together.

mod lines;
mod message;
mod outbox;
mod salvage;
mod write;

pub(super) use lines::{Line, Lines};
pub(super) use message::{BAD_CALL, Fault, Message, Refusal, ToolCall, decode, too_long};
pub(super) use outbox::Outbox;
pub(super) use salvage::Salvage;
#[cfg(feature = "http")]
pub(super) use salvage::canonical_id;
pub(super) use write::{fail_with, respond_with, tool_result};
