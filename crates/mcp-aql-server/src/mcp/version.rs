//! The supported versions of MCP and their differences.

/// The supported versions, from the oldest to the newest. If you add one, rmcp must know it as well: a test compares
/// both lists.
pub(crate) const MCP_VERSIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST_WITH_HANDSHAKE, NEWEST];
/// The newest version. Its requests contain in `_meta` what earlier versions negotiate with `initialize`.
pub(crate) const NEWEST: &str = "2026-07-28";
/// The newest version with `initialize`.
pub(crate) const NEWEST_WITH_HANDSHAKE: &str = "2025-11-25";
/// The only version with tasks that need no extension.
pub(crate) const WITH_TASKS: &str = NEWEST_WITH_HANDSHAKE;
/// The first version in which an event without a message may start a stream. Clients of earlier ones report an error.
pub(crate) const WITH_EMPTY_EVENTS: &str = NEWEST_WITH_HANDSHAKE;
/// The only version with JSON-RPC batches.
pub(crate) const WITH_BATCHES: &str = "2025-03-26";

/// Returns `true` for MCP 2026-07-28 and later. Connections of earlier versions start with `initialize`. Versions are
/// dates, so they can be compared as strings.
pub(crate) fn is_modern(version: &str) -> bool {
    version >= NEWEST
}

/// Returns the version to use for a client that requests this one in `initialize`.
pub(crate) fn negotiate(requested: &str) -> &'static str {
    let supported = MCP_VERSIONS.into_iter().find(|version| *version == requested);
    supported.filter(|version| !is_modern(version)).unwrap_or(NEWEST_WITH_HANDSHAKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_without_handshake_is_not_negotiated() {
        for (requested, negotiated) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("2099-01-01", "2025-11-25"),
            ("2024-01-01", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(negotiate(requested), negotiated, "{requested}");
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn the_versions_are_those_of_rmcp() {
        let known = rmcp::model::ProtocolVersion::KNOWN_VERSIONS.iter();
        assert!(known.map(rmcp::model::ProtocolVersion::as_str).eq(MCP_VERSIONS));
    }
}
