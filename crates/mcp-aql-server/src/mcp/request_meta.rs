//! The `_meta` of a request: MCP version, capabilities, progress token and the client's own request id, and the origins
//! of calls. Only adapters that trace or log their calls need origins.

use mcp_aql_core::internal::caller::{CallOrigin, TraceContext};
use mcp_aql_core::internal::request::{Arguments, read_value};
use serde_json::{Map, Value};

use super::answer::RpcError;
use super::task_source::TASKS_EXTENSION;
use super::version::MCP_VERSIONS;

/// Member with the MCP version of the request, since MCP 2026-07-28.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Member with the client's capabilities, since MCP 2026-07-28.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Member with the client's name and version, since MCP 2026-07-28.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Maximum number of characters of an id in spans and log lines.
const MAX_ID_CHARS: usize = 64;

/// Returns a label for a client with this `clientInfo`: its name and version, for example `claude 1.2.0`.
pub(crate) fn client_label(info: &Map<String, Value>) -> String {
    let part = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    format!("{} {}", part("name"), part("version")).trim().to_owned()
}

/// The `_meta` of a request. For example, in MCP 2026-07-28:
///
/// ```json
/// {
///   "io.modelcontextprotocol/protocolVersion": "2026-07-28",
///   "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
///   "progressToken": 7
/// }
/// ```
#[derive(Debug, Default)]
pub(crate) struct RequestMeta(pub(crate) Map<String, Value>);

impl RequestMeta {
    /// Parses a request's `_meta`. Returns an error if it is not an object, or if a member is repeated or cannot be
    /// represented without loss.
    pub(crate) fn read(json: Option<&str>) -> Result<Self, RpcError> {
        let Some(json) = json else { return Ok(Self::default()) };
        let Ok((Value::Object(members), losses)) = read_value(json, Some("_meta")) else {
            return Err(RpcError::new(-32602, "Invalid request: '_meta' must be an object"));
        };
        match losses.into_iter().next() {
            None => Ok(Self(members)),
            Some(loss) => {
                Err(RpcError::new(-32602, format!("Invalid request: {}", loss.error.message())))
            }
        }
    }

    /// Returns the MCP version of the request.
    pub(crate) fn protocol_version(&self) -> Option<&str> {
        self.0.get(PROTOCOL_VERSION)?.as_str()
    }

    /// Returns the names of missing or malformed members among those required by MCP 2026-07-28.
    pub(crate) fn missing_members(&self) -> Vec<&'static str> {
        let required = [
            (PROTOCOL_VERSION, self.protocol_version().is_some()),
            (CLIENT_CAPABILITIES, self.capabilities().is_some()),
        ];
        required.into_iter().filter(|(_, given)| !given).map(|(member, _)| member).collect()
    }

    /// Returns the capabilities of the client, since MCP 2026-07-28.
    pub(crate) fn capabilities(&self) -> Option<&Map<String, Value>> {
        self.0.get(CLIENT_CAPABILITIES)?.as_object()
    }

    /// Returns the label of the client if the request contains its name and version.
    pub(crate) fn client(&self) -> Option<String> {
        self.0.get(CLIENT_INFO)?.as_object().map(client_label)
    }

    /// Returns `true` if the client declares the extension for tasks.
    pub(crate) fn declares_tasks(&self) -> bool {
        let extensions = self.capabilities().and_then(|it| it.get("extensions"));
        extensions.and_then(|it| it.get(TASKS_EXTENSION)).is_some_and(Value::is_object)
    }

    /// Returns the progress token of the request's `_meta`, or else of the `_meta` in the arguments
    /// (REQ-MCP-14, choice C-63).
    pub(crate) fn progress_token(&self, arguments: &Arguments<'_>) -> Option<ProgressToken> {
        let token = |meta: &Map<String, Value>| ProgressToken::new(meta.get("progressToken")?);
        token(&self.0).or_else(|| token(arguments.metadata("_meta")?.as_object()?))
    }

    /// Adds the trace context (SEP-414) and the MCP version to the origin of the call.
    pub(crate) fn add_to_origin(&self, origin: &mut CallOrigin) {
        origin.meta = TraceContext::read(|name| self.0.get(name)?.as_str());
        if let Some(version) = self.protocol_version().and_then(known_version) {
            origin.protocol_version = Some(version);
        }
    }

    /// Returns the client's own id for the request, for use in the log only (REQ-SES-05).
    ///
    /// The id is the first of: `requestId` in the request's `_meta`, `requestId` in the `_meta` of the arguments, and
    /// `_request_id` next to `operation`.
    pub(crate) fn client_request_id(&self, arguments: &Arguments<'_>) -> Option<String> {
        let inner = arguments.metadata("_meta");
        let value = self
            .0
            .get("requestId")
            .or_else(|| inner.and_then(|meta| meta.get("requestId")))
            .or_else(|| arguments.metadata("_request_id"))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some(shorten_id(&text))
    }
}

/// Returns an id chosen by the client in the form for spans and log lines.
fn shorten_id(id: &str) -> String {
    id.chars().filter(|each| !each.is_control()).take(MAX_ID_CHARS).collect()
}

/// Identifies the request in its progress notifications. The client chooses this string or integer.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(transparent)]
pub(crate) struct ProgressToken(Value);

impl ProgressToken {
    fn new(value: &Value) -> Option<Self> {
        (value.is_string() || value.is_i64()).then(|| Self(value.clone()))
    }
}

/// Adds the request id, given as JSON, and the name of the tool to the origin of a call.
pub(crate) fn describe_call(origin: &mut CallOrigin, id: &str, tool: &str) {
    let text = match serde_json::from_str(id) {
        Ok(Value::String(text)) => text,
        _ => id.to_owned(),
    };
    origin.request_id = Some(shorten_id(&text));
    origin.tool = Some(tool.to_owned());
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
