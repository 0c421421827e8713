use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::dispatch::Concurrency;
use crate::router::{EndpointMode, EndpointProfile};
use crate::vocab::{Limits, PROTOCOL_VERSION};

/// What `_protocol` tells of an adapter.
#[derive(Debug)]
pub(crate) struct ProtocolFacts<'a> {
    pub(crate) mode: EndpointMode,
    pub(crate) profile: &'a EndpointProfile,
    pub(crate) limits: &'a Limits,
    pub(crate) concurrency: Concurrency,
    pub(crate) max_concurrent_requests: Option<usize>,
    pub(crate) batch: bool,
    pub(crate) pagination: bool,
    pub(crate) etags: bool,
}

#[derive(Serialize)]
struct Head<'a> {
    version: &'a str,
    conformance: &'a str,
    mode: &'a str,
    profile: &'a str,
    capabilities: Map<String, Value>,
    limits: &'a Limits,
    concurrency: &'a str,
    supports_etag: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrent_requests: Option<usize>,
}

/// `_protocol` as JSON text without its closing brace, so that a session's id and a page's place can
/// follow (REQ-INT-04 to REQ-INT-08, REQ-INT-30).
pub(crate) fn protocol_head(facts: &ProtocolFacts<'_>) -> String {
    let capabilities = json!({
        "batch": facts.batch,
        "field_selection": false,
        "aggregations": false,
        "computed_fields": false,
        "pagination": facts.pagination,
        "relationship_queries": false,
        "warnings": true,
        "confirmation": false,
        "dangerous_operations": false,
    });
    let head = Head {
        version: PROTOCOL_VERSION,
        // Level 2 also asks for field selection; it is claimed when that is here (REQ-CNF-02).
        conformance: "level-1",
        mode: facts.mode.as_str(),
        profile: facts.profile.name(),
        capabilities: capabilities.as_object().cloned().unwrap_or_default(),
        limits: facts.limits,
        concurrency: facts.concurrency.as_str(),
        supports_etag: facts.etags,
        max_concurrent_requests: facts.max_concurrent_requests,
    };
    let mut text = serde_json::to_string(&head).unwrap_or_else(|_| String::from("{}"));
    text.pop();
    text
}
