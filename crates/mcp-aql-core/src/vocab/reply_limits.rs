//! The size limits of replies.

use mcp_aql_protocol::SizeLimits;

/// Maximum nesting depth of a reply. The deepest request has 64 levels, and the replies of lists, batches and
/// executions add a few levels around stored data. Common parsers accept 127 levels.
pub(crate) const MAX_REPLY_DEPTH: usize = 120;

/// The form of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyForm {
    /// JSON.
    Plain,
    /// A JSON string that contains the JSON, as MCP transports it. Not used if a size must be measured in the plain
    /// form.
    Quoted,
}

/// The limits of a reply, and its form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyLimits {
    pub(crate) bytes: usize,
    /// Maximum number of bytes of a page. It is smaller than `bytes` if a batch already contains other results.
    pub(crate) room: usize,
    /// Number of bytes after which a page ends, even if more would fit. Never more than `room`.
    pub(crate) budget: usize,
    /// Number of bytes above which an uncut result has a warning.
    pub(crate) large: usize,
    /// Maximum nesting depth of objects and arrays, including the root.
    pub(crate) depth: usize,
    /// If `true`, the warnings of the call are part of the same reply.
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

    /// Returns the same limits for a reply in this form.
    pub(crate) const fn in_form(self, form: ReplyForm) -> Self {
        Self { form, ..self }
    }

    /// Returns the limits of a part of a reply.
    pub(crate) const fn of_part(bytes: usize, depth: usize) -> Self {
        let form = ReplyForm::Plain;
        let (room, budget, large) = (bytes, bytes, bytes);
        Self { bytes, room, budget, large, depth, has_warnings: false, form }
    }

    /// Returns the limits of an item of a batch. Its reply is nested three levels deep in that of the batch.
    ///
    /// The batch has `room` bytes left, and `budget` of them are for this item. The reply of the batch contains the
    /// warnings of all items.
    pub(crate) const fn of_item(self, room: usize, budget: usize) -> Self {
        let room = smaller(room, self.room);
        let budget = smaller(smaller(budget, self.budget), room);
        Self { room, budget, depth: self.depth.saturating_sub(3), has_warnings: false, ..self }
    }

    /// Returns the limits of a result stored in the state of its execution, next to `bytes` bytes of other data.
    pub(crate) const fn of_execution(self, bytes: usize) -> Self {
        let item = self.of_item(self.bytes, self.bytes);
        Self::of_part(item.bytes.saturating_sub(bytes), item.depth.saturating_sub(1))
    }
}

/// `Ord::min` is not a `const fn`.
const fn smaller(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}
