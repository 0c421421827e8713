//! The versions of MCP.

/// The supported versions, from the oldest to the newest.
pub(super) const MCP_VERSIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST_WITH_HANDSHAKE, NEWEST];
/// The newest version, whose requests carry what earlier ones negotiate with `initialize`.
pub(super) const NEWEST: &str = "2026-07-28";
/// The newest version that has `initialize`.
pub(super) const NEWEST_WITH_HANDSHAKE: &str = "2025-11-25";
/// The only version that has tasks without an extension.
pub(super) const WITH_TASKS: &str = NEWEST_WITH_HANDSHAKE;
/// The first version in which an event without a message begins a stream. Clients of earlier ones report it as an error.
pub(super) const WITH_EMPTY_EVENTS: &str = NEWEST_WITH_HANDSHAKE;
/// The only version that has JSON-RPC batches.
pub(super) const WITH_BATCHES: &str = "2025-03-26";

/// Whether a version starts with `initialize`. Versions are dates, in the order of their text.
pub(super) fn has_handshake(version: &str) -> bool {
    version < NEWEST
}

/// The version for a client that asks for this one in `initialize`.
pub(super) fn negotiate(requested: &str) -> &'static str {
    let supported = MCP_VERSIONS.into_iter().find(|version| *version == requested);
    supported.filter(|version| has_handshake(version)).unwrap_or(NEWEST_WITH_HANDSHAKE)
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
