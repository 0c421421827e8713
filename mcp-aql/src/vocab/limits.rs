use serde::Serialize;

/// Payload limits of an adapter, published in `_protocol.limits`.
///
/// They are enforced on requests, but for `max_response_size`, which is the limit of a reply. Data that
/// was stored within the limits of a request is never too deep, and no text or list in it too long, for
/// the replies that return it.
///
/// ```
/// use mcp_aql::Limits;
///
/// let limits = Limits { max_request_size: 256 * 1024, ..Limits::default() };
/// assert!(limits.check().is_ok());
/// ```
///
/// Source: MCP-AQL §4.7.5 (REQ-ENC-08 to REQ-ENC-14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Bytes of the serialised tool arguments. Default 1 MiB; 64 KiB to 10 MiB.
    pub max_request_size: usize,
    /// Bytes of the JSON reply. Default 10 MiB; 1 MiB to 100 MiB.
    pub max_response_size: usize,
    /// Bytes of UTF-8 in one string. Default 1 MiB; 64 KiB to 10 MiB.
    pub max_string_length: usize,
    /// Elements of one array. Default 10,000; 100 to 100,000.
    pub max_array_elements: usize,
    /// Nested objects and arrays, the root included. Default 32; 8 to 64.
    pub max_nesting_depth: usize,
    /// Operations in one batch. Default 100; 1 to 1,000. This one is ours (REQ-BAT-01 names none).
    pub max_batch_operations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_request_size: 1 << 20,
            max_response_size: 10 << 20,
            max_string_length: 1 << 20,
            max_array_elements: 10_000,
            max_nesting_depth: 32,
            max_batch_operations: 100,
        }
    }
}

impl Limits {
    /// Every limit that lies outside of the protocol's range.
    ///
    /// # Errors
    /// The list of them, when there is one or more.
    pub fn check(&self) -> Result<(), Vec<LimitOutOfRange>> {
        let faults: Vec<_> = [
            ("max_request_size", self.max_request_size, 64 << 10, 10 << 20),
            ("max_response_size", self.max_response_size, 1 << 20, 100 << 20),
            ("max_string_length", self.max_string_length, 64 << 10, 10 << 20),
            ("max_array_elements", self.max_array_elements, 100, 100_000),
            ("max_nesting_depth", self.max_nesting_depth, 8, 64),
            ("max_batch_operations", self.max_batch_operations, 1, 1_000),
        ]
        .into_iter()
        .filter(|(_, value, low, high)| value < low || value > high)
        .map(|(limit, value, low, high)| LimitOutOfRange { limit, value, low, high })
        .collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// The maximum nesting depth of a reply: the deepest request has 64 levels, and the replies of lists,
/// batches and executions add a few around what it has stored. Parsers that are in wide use read 127.
pub(crate) const MAX_REPLY_DEPTH: usize = 120;

/// The limits of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyLimits {
    pub(crate) bytes: usize,
    /// The bytes that a page may take, where a batch has other results already.
    pub(crate) room: usize,
    /// Nested objects and arrays, the root included.
    pub(crate) depth: usize,
    /// The warnings of the call are in the same text.
    pub(crate) has_warnings: bool,
}

impl ReplyLimits {
    pub(crate) const fn new(limits: &Limits) -> Self {
        let bytes = limits.max_response_size;
        Self { bytes, room: bytes, depth: MAX_REPLY_DEPTH, has_warnings: true }
    }

    /// The limits of a value that is part of a reply.
    pub(crate) const fn of_part(bytes: usize, depth: usize) -> Self {
        Self { bytes, room: bytes, depth, has_warnings: false }
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

/// A limit outside of the range that the protocol allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("limit `{limit}` is {value}: choose {low} to {high}")]
#[non_exhaustive]
pub struct LimitOutOfRange {
    /// The limit's name, as in `_protocol.limits`.
    pub limit: &'static str,
    /// What was asked for.
    pub value: usize,
    /// The least that the protocol allows.
    pub low: usize,
    /// The most that the protocol allows.
    pub high: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_protocols() {
        // REQ-ENC-08 to REQ-ENC-12
        let limits = Limits::default();
        assert_eq!(limits.max_request_size, 1_048_576);
        assert_eq!(limits.max_response_size, 10_485_760);
        assert_eq!(limits.max_string_length, 1_048_576);
        assert_eq!(limits.max_array_elements, 10_000);
        assert_eq!(limits.max_nesting_depth, 32);
        assert_eq!(limits.check(), Ok(()));
    }

    #[test]
    fn all_limits_outside_their_range_are_listed() {
        // REQ-ENC-08, REQ-ENC-12
        let limits = Limits { max_request_size: 1, max_nesting_depth: 65, ..Limits::default() };
        let faults = limits.check().unwrap_err();
        let names: Vec<_> = faults.iter().map(|fault| fault.limit).collect();
        assert_eq!(names, ["max_request_size", "max_nesting_depth"]);
        assert_eq!(faults[1].to_string(), "limit `max_nesting_depth` is 65: choose 8 to 64");
    }
}
