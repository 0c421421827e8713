//! The limits that a reply is held to.

use mcp_aql_protocol::SizeLimits;

/// The maximum nesting depth of a reply: the deepest request has 64 levels, and the replies of lists,
/// batches and executions add a few around what it has stored. Parsers that are in wide use read 127.
pub(crate) const MAX_REPLY_DEPTH: usize = 120;

/// The form of a reply's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyForm {
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
    /// The bytes after which a page ends, although more have room. Never more than `room`.
    pub(crate) budget: usize,
    /// The bytes above which a result that was not cut has a warning.
    pub(crate) large: usize,
    /// Nested objects and arrays, the root included.
    pub(crate) depth: usize,
    /// The warnings of the call are in the same text.
    pub(crate) has_warnings: bool,
    pub(crate) form: ReplyForm,
}

impl ReplyLimits {
    pub(crate) const fn new(limits: &SizeLimits) -> Self {
        let bytes = limits.max_response_size;
        let form = ReplyForm::Plain;
        let budget = smaller(limits.result_budget, bytes);
        let depth = MAX_REPLY_DEPTH;
        Self { bytes, room: bytes, budget, large: budget, depth, has_warnings: true, form }
    }

    /// The same limits for a reply in this form.
    pub(crate) const fn in_form(self, form: ReplyForm) -> Self {
        Self { form, ..self }
    }

    /// The limits of a value that is part of a reply.
    pub(crate) const fn of_part(bytes: usize, depth: usize) -> Self {
        let form = ReplyForm::Plain;
        let (room, budget, large) = (bytes, bytes, bytes);
        Self { bytes, room, budget, large, depth, has_warnings: false, form }
    }

    /// The limits of a batch's item, whose reply is three levels down in that of the batch. The batch has
    /// `room` left, of which `budget` is for this item, and the warnings of all items.
    pub(crate) const fn of_item(self, room: usize, budget: usize) -> Self {
        let room = smaller(room, self.room);
        let budget = smaller(smaller(budget, self.budget), room);
        Self { room, budget, depth: self.depth.saturating_sub(3), has_warnings: false, ..self }
    }

    /// The limits of a result that its execution's state holds, with `bytes` of other data.
    pub(crate) const fn of_execution(self, bytes: usize) -> Self {
        let item = self.of_item(self.bytes, self.bytes);
        Self::of_part(item.bytes.saturating_sub(bytes), item.depth.saturating_sub(1))
    }
}

/// `Ord::min` is not a constant function.
const fn smaller(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}
