//! Keeps the original bytes of a message. rmcp's parsed form loses repeated members and digits of numbers.

use std::fmt;
use std::sync::Arc;

use axum::body::Bytes;

use crate::mcp::answer::RpcError;
use crate::mcp::batch_budget::BatchBudget;
use crate::mcp::message::{Fault, Message, Refusal};

/// The original bytes of a message.
#[derive(Debug, Clone)]
pub(crate) struct OriginalMessage {
    pub(crate) text: Arc<dyn OriginalText>,
    /// The remaining size budget of the batch, if the message belongs to one.
    pub(crate) batch_budget: Option<BatchBudget>,
}

/// The bytes of a message, or the part of an HTTP body read so far.
pub(crate) trait OriginalText: fmt::Debug + Send + Sync {
    /// Returns the bytes and keeps them.
    fn read(&self) -> Bytes;

    /// Returns the bytes and releases those of a body. They are not needed again, and the operation may run for long.
    /// Therefore they must no longer count toward the size of requests being received.
    fn take(&self) -> Vec<u8>;
}

impl OriginalText for Box<[u8]> {
    fn read(&self) -> Bytes {
        Bytes::copy_from_slice(self)
    }

    fn take(&self) -> Vec<u8> {
        self.to_vec()
    }
}

impl OriginalMessage {
    /// Creates a message. `budget` is the size budget of its batch, if it belongs to one.
    pub(crate) fn new(text: &[u8], budget: Option<&BatchBudget>) -> Self {
        Self { text: Arc::new(Box::<[u8]>::from(text)), batch_budget: budget.cloned() }
    }

    /// Returns the remaining size budget of the batch, if the message belongs to one.
    pub(crate) fn batch_budget(&self) -> Option<&BatchBudget> {
        self.batch_budget.as_ref()
    }

    /// Returns the bytes of the message and releases those of a body.
    pub(crate) fn take_text(&self) -> Vec<u8> {
        self.text.take()
    }
}

/// Returns the error for a message accepted by rmcp but rejected by this server, because it repeats a member.
pub(crate) fn refusal(message: &Message<'_>) -> RpcError {
    let form = &Fault::Form;
    let fault = match message {
        Message::Refused(Refusal { fault, .. }) => fault,
        _ => form,
    };
    RpcError::new(-32602, fault.code().1)
}
