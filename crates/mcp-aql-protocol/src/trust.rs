//! Trust levels: how thoroughly an adapter has been reviewed.

use crate::level::levels;

/// How far an adapter is trusted. Levels are in ascending order.
///
/// ```
/// use mcp_aql_protocol::TrustLevel;
///
/// assert!(TrustLevel::Certified > TrustLevel::Untested);
/// assert_eq!(TrustLevel::default(), TrustLevel::Untested);
/// ```
///
/// Source: adapter/trust-levels §2.1 (REQ-DNG-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TrustLevel {
    /// The adapter has not been tested or reviewed.
    #[default]
    Untested,
    /// The adapter was generated from a schema.
    Generated,
    /// The adapter's tests pass.
    Validated,
    /// At least two people other than the author have reviewed the adapter.
    CommunityReviewed,
    /// A certification authority has approved the adapter.
    Certified,
}

levels!(
    TrustLevel,
    "trust level",
    Untested = "untested",
    Generated = "generated",
    Validated = "validated",
    CommunityReviewed = "community_reviewed",
    Certified = "certified"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered() {
        // REQ-DNG-13
        assert!(TrustLevel::ALL.is_sorted());
        let error = "trusted".parse::<TrustLevel>().unwrap_err();
        assert!(error.to_string().contains("community_reviewed"), "{error}");
    }
}
