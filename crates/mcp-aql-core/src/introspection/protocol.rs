//! Renders `_protocol`, the description of the adapter in every list.

use mcp_aql_protocol::{PROTOCOL_VERSION, SizeLimits};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::execution::concurrency::Concurrency;
use crate::router::{EndpointMode, EndpointProfile};

/// The facts that `_protocol` publishes about an adapter.
#[derive(Debug)]
pub(crate) struct ProtocolFacts<'a> {
    pub(crate) mode: EndpointMode,
    pub(crate) profile: &'a EndpointProfile,
    pub(crate) limits: &'a SizeLimits,
    pub(crate) concurrency: Concurrency,
    pub(crate) max_concurrent_requests: Option<usize>,
    pub(crate) batch: bool,
    pub(crate) pagination: bool,
    pub(crate) etags: bool,
    /// Capabilities of queries, and of optional parts of the adapter.
    pub(crate) further: Map<String, Value>,
}

#[derive(Serialize)]
struct ProtocolHead<'a> {
    version: &'a str,
    conformance: &'a str,
    mode: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a str>,
    capabilities: Map<String, Value>,
    limits: &'a SizeLimits,
    concurrency: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_etag: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrent_requests: Option<usize>,
}

/// Renders `_protocol` for a part of the list, also without its closing brace. Only the version is included, to keep
/// the reply short.
pub(crate) fn protocol_of_part() -> String {
    format!(r#"{{"version":"{PROTOCOL_VERSION}""#)
}

/// Returns the conformance level of an adapter. Level 1 requires both endpoint modes, and every adapter has them.
/// Level 2 also requires field selection and batches (REQ-CNF-02).
fn conformance(facts: &ProtocolFacts<'_>) -> &'static str {
    if facts.batch && facts.further.contains_key("field_selection") {
        return "level-2";
    }
    "level-1"
}

/// Renders `_protocol` as JSON without its closing brace, so that the id of a session can be appended (REQ-INT-04 to
/// REQ-INT-08, REQ-INT-30).
///
/// Capabilities that the adapter does not have are left out. The name of the profile is also left out for the default
/// profile, CRUDE.
///
/// ```json
/// { "version": "…", "conformance": "level-1", "mode": "…", "capabilities": { "warnings": true }, "limits": {}
/// ```
pub(crate) fn protocol_head(facts: &ProtocolFacts<'_>) -> String {
    let capabilities =
        [("batch", facts.batch), ("pagination", facts.pagination), ("warnings", true)]
            .into_iter()
            .filter(|(_, offered)| *offered)
            .map(|(name, offered)| (name.to_owned(), offered.into()));
    let head = ProtocolHead {
        version: PROTOCOL_VERSION,
        conformance: conformance(facts),
        mode: facts.mode.as_str(),
        profile: (!facts.profile.is_crude()).then(|| facts.profile.name()),
        capabilities: capabilities.chain(facts.further.clone()).collect(),
        limits: facts.limits,
        concurrency: facts.concurrency.as_str(),
        supports_etag: facts.etags.then_some(true),
        max_concurrent_requests: facts.max_concurrent_requests,
    };
    let mut text = serde_json::to_string(&head).unwrap_or_else(|_| String::from("{}"));
    text.pop();
    text
}
