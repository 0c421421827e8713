//! The payload limits of the protocol and their ranges.

/// Page size if neither the operation nor the call sets one (REQ-PAG-08).
pub const DEFAULT_PAGE_SIZE: usize = 20;

/// Maximum page size that a call can request, unless the operation sets another maximum (REQ-PAG-08).
pub const DEFAULT_MAX_PAGE_SIZE: usize = 100;

/// Largest maximum page size that an operation can declare (REQ-PAG-08).
pub const MAX_PAGE_SIZE: usize = 1_000;

/// Default size in bytes at which a page ends.
pub(crate) const DEFAULT_RESULT_BUDGET: usize = 64 << 10;

/// Payload limits of an adapter, published in `_protocol.limits`.
///
/// `max_response_size` limits a reply, and `result_budget` is the size at which a page of results ends. All other
/// limits are enforced on requests. Data stored by a request within its limits never exceeds the limits on depth and
/// length when a reply returns it.
///
/// ```
/// use mcp_aql_protocol::SizeLimits;
///
/// let limits = SizeLimits { max_request_size: 256 * 1024, ..SizeLimits::default() };
/// assert!(limits.max_request_size >= SizeLimits::MIN.max_request_size);
/// ```
///
/// Source: MCP-AQL §4.7.5 (REQ-ENC-08 to REQ-ENC-14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SizeLimits {
    /// Maximum size of the serialized tool arguments, in bytes. Default 1 MiB; 64 KiB to 10 MiB.
    pub max_request_size: usize,
    /// Maximum size of the JSON reply, in bytes. Default 10 MiB; 1 MiB to 100 MiB.
    pub max_response_size: usize,
    /// Maximum length of one string, in bytes of UTF-8. Default 1 MiB; 64 KiB to 10 MiB.
    pub max_string_length: usize,
    /// Maximum number of elements in one array. Default 10,000; 100 to 100,000.
    pub max_array_elements: usize,
    /// Maximum depth of nested objects and arrays, including the root. Default 32; 8 to 64.
    pub max_nesting_depth: usize,
    /// Maximum number of operations in one batch. Default 100; 1 to 1,000. This limit is specific to this
    /// implementation, because REQ-BAT-01 names none.
    pub max_batch_operations: usize,
    /// Size of the JSON reply at which a page ends, in bytes, so that clients do not truncate the reply. Results
    /// without pages can be larger. Default 64 KiB; 1 KiB to 100 MiB. This limit is specific to this implementation
    /// (REQ-INT-30).
    pub result_budget: usize,
}

impl Default for SizeLimits {
    fn default() -> Self {
        Self {
            max_request_size: 1 << 20,
            max_response_size: 10 << 20,
            max_string_length: 1 << 20,
            max_array_elements: 10_000,
            max_nesting_depth: 32,
            max_batch_operations: 100,
            result_budget: DEFAULT_RESULT_BUDGET,
        }
    }
}

impl SizeLimits {
    /// The smallest limits allowed by the protocol.
    pub const MIN: Self = Self {
        max_request_size: 64 << 10,
        max_response_size: 1 << 20,
        max_string_length: 64 << 10,
        max_array_elements: 100,
        max_nesting_depth: 8,
        max_batch_operations: 1,
        result_budget: 1 << 10,
    };

    /// The largest limits allowed by the protocol.
    pub const MAX: Self = Self {
        max_request_size: 10 << 20,
        max_response_size: 100 << 20,
        max_string_length: 10 << 20,
        max_array_elements: 100_000,
        max_nesting_depth: 64,
        max_batch_operations: 1_000,
        result_budget: 100 << 20,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_protocols() {
        // REQ-ENC-08 to REQ-ENC-12
        let limits = SizeLimits::default();
        assert_eq!(limits.max_request_size, 1_048_576);
        assert_eq!(limits.max_response_size, 10_485_760);
        assert_eq!(limits.max_string_length, 1_048_576);
        assert_eq!(limits.max_array_elements, 10_000);
        assert_eq!(limits.max_nesting_depth, 32);
    }
}
