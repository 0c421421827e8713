//! The original text of a message that rmcp has parsed.

use std::fmt;
use std::sync::Arc;

use axum::body::Bytes;

use crate::batch_budget::BatchBudget;
use crate::rpc_error::RpcError;
use crate::wire::{Fault, Message, Refusal};

/// The original message beside rmcp's parsed form, which loses repeated members and digits of
/// numbers.
#[derive(Debug, Clone)]
pub(super) struct OriginalMessage {
    pub(super) text: Arc<dyn OriginalText>,
    /// The remaining space for the answers to the batch that contains the message.
    pub(super) room: Option<BatchBudget>,
}

/// The text of a message, or the body of an HTTP request as far as it was read.
pub(super) trait OriginalText: fmt::Debug + Send + Sync {
    /// Returns the text, which stays available.
    fn read(&self) -> Bytes;

    /// Returns the text. A body is released: its bytes are not needed again, and the operation may run for
    /// long, so they must not count as bytes of a request that is being received.
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
    /// A message of its own, or in a batch with this room for its answers.
    pub(super) fn new(text: &[u8], room: Option<&BatchBudget>) -> Self {
        Self { text: Arc::new(Box::<[u8]>::from(text)), room: room.cloned() }
    }

    /// The remaining space for the answers to the batch that contains the message.
    pub(super) fn room(&self) -> Option<&BatchBudget> {
        self.room.as_ref()
    }

    /// The text of the message.
    pub(super) fn take_text(&self) -> Vec<u8> {
        self.text.take()
    }
}

impl Message<'_> {
    /// Returns the error for a message that rmcp accepts and this server rejects, because it repeats a member.
    pub(super) fn refusal(&self) -> RpcError {
        let form = &Fault::Form;
        let fault = match self {
            Self::Refused(Refusal { fault, .. }) => fault,
            _ => form,
        };
        RpcError::new(-32602, fault.code().1)
    }
}
