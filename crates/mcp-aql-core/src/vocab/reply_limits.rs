//! The limits that a reply is held to.

use mcp_aql_protocol::Limits;

/// The maximum nesting depth of a reply: the deepest request has 64 levels, and the replies of lists,
/// batches and executions add a few around what it has stored. Parsers that are in wide use read 127.
pub(crate) const MAX_REPLY_DEPTH: usize = 120;

/// The form of a reply's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyForm {
    /// JSON.
    Plain,
    /// The JSON as a JSON string, which MCP carries, unless only the plain form shows whether a limit is exceeded.
    Quoted,
}

/// The limits of a reply, and its form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyLimits {
    pub(crate) bytes: usize,
    /// The bytes that a page may take, where a batch has other results already.
    pub(crate) room: usize,
    /// Nested objects and arrays, the root included.
    pub(crate) depth: usize,
    /// The warnings of the call are in the same text.
    pub(crate) has_warnings: bool,
    pub(crate) form: ReplyForm,
}

impl ReplyLimits {
    pub(crate) const fn new(limits: &Limits) -> Self {
        let bytes = limits.max_response_size;
        let form = ReplyForm::Plain;
        Self { bytes, room: bytes, depth: MAX_REPLY_DEPTH, has_warnings: true, form }
    }

    /// The same limits for a reply in this form.
    pub(crate) const fn in_form(self, form: ReplyForm) -> Self {
        Self { form, ..self }
    }

    /// The limits of a value that is part of a reply.
    pub(crate) const fn of_part(bytes: usize, depth: usize) -> Self {
        Self { bytes, room: bytes, depth, has_warnings: false, form: ReplyForm::Plain }
    }

    /// The limits of a batch's item, whose reply is three levels down in that of the batch. The batch has
    /// `room` left, and the warnings of all items.
    pub(crate) const fn of_item(self, room: usize) -> Self {
        let room = if room < self.room { room } else { self.room };
        Self { room, depth: self.depth.saturating_sub(3), has_warnings: false, ..self }
    }

    /// The limits of a result that its execution's state holds, with `bytes` of other data.
    pub(crate) const fn of_execution(self, bytes: usize) -> Self {
        let item = self.of_item(self.bytes);
        Self::of_part(item.bytes.saturating_sub(bytes), item.depth.saturating_sub(1))
    }
}
