//! The `_meta` of a request: the version, the progress token and the client's label.

use rmcp::model::{MetaObject, ProgressToken, ProtocolVersion, RequestMetaObject};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use mcp_aql_core::request::{Arguments, read};

/// Parses a request's `_meta`.
pub(super) fn read_meta(json: Option<&RawValue>) -> Option<RequestMetaObject> {
    let Some(json) = json else { return Some(RequestMetaObject::default()) };
    let Arguments { members, losses } = read(json.get()).ok()?.ok()?;
    losses.is_empty().then_some(RequestMetaObject(MetaObject(members)))
}

/// Whether a request carries everything that MCP 2026-07-28 requires.
pub(super) fn is_newest(meta: &RequestMetaObject) -> bool {
    let newest = ProtocolVersion::V_2026_07_28;
    meta.protocol_version().is_some_and(|version| version == newest)
        && meta.missing_required_keys(&newest).is_empty()
}

/// The progress token of the request's `_meta`, or else of the arguments' (REQ-MCP-14, choice
/// C-63).
pub(super) fn progress_token(
    meta: &RequestMetaObject,
    arguments: &Map<String, Value>,
) -> Option<ProgressToken> {
    meta.get_progress_token().or_else(|| {
        let token = arguments.get("_meta")?.get("progressToken")?;
        serde_json::from_value(token.clone()).ok()
    })
}

/// The client's own label of the request: `requestId` in the `_meta` of the request or of the
/// arguments, or `_request_id` beside `operation`. Only for the log (REQ-SES-05).
pub(super) fn label(meta: &RequestMetaObject, arguments: &Map<String, Value>) -> Option<String> {
    let inner = arguments.get("_meta");
    let value = meta
        .get("requestId")
        .or_else(|| inner.and_then(|meta| meta.get("requestId")))
        .or_else(|| arguments.get("_request_id"))?;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text.chars().filter(|each| !each.is_control()).take(64).collect())
}
