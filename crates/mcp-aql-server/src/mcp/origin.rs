//! The origins of calls. Only adapters that trace or log their calls need them.

use mcp_aql_core::internal::caller::CallOrigin;

use super::request_meta::{RequestMeta, shorten_id};
use super::version::MCP_VERSIONS;

/// Adds the request id, given as JSON, and the name of the tool.
pub(crate) fn describe_call(origin: &mut CallOrigin, id: &str, tool: &str) {
    let text = match serde_json::from_str(id) {
        Ok(serde_json::Value::String(text)) => text,
        _ => id.to_owned(),
    };
    origin.request_id = Some(shorten_id(&text));
    origin.tool = Some(tool.to_owned());
}

/// Adds the trace context and the MCP version from the request's `_meta`.
pub(crate) fn add_meta(origin: &mut CallOrigin, meta: &RequestMeta) {
    origin.meta = meta.trace_context();
    if let Some(version) = meta.protocol_version().and_then(known_version) {
        origin.protocol_version = Some(version);
    }
}

/// Returns the version if the server supports it. Unknown strings are never added to spans, because clients choose
/// them.
pub(crate) fn known_version(version: &str) -> Option<&'static str> {
    MCP_VERSIONS.into_iter().find(|known| *known == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shortened_texts() {
        for (id, text) in [
            ("7", "7"),
            (r#""a\u0007b""#, "ab"),
            (&format!("{:?}", "x".repeat(99)), &*"x".repeat(64)),
        ] {
            let mut origin = CallOrigin::default();
            describe_call(&mut origin, id, "mcp_aql_read");
            assert_eq!(origin.request_id.as_deref(), Some(text));
        }
    }

    #[test]
    fn unknown_versions_are_not_recorded() {
        assert_eq!(known_version("2025-06-18"), Some("2025-06-18"));
        assert_eq!(known_version("my password"), None);
    }
}
