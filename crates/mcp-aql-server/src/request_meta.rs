//! The `_meta` of a request: the version, the progress token and the client's label.

use mcp_aql_core::internal::caller::TraceContext;
use mcp_aql_core::internal::request::{Arguments, read_value};
use serde_json::{Map, Value};

use crate::rpc_error::RpcError;
use crate::task_source::TASKS_EXTENSION;

/// The version that a request follows, since MCP 2026-07-28.
pub(super) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The capabilities of the client, since MCP 2026-07-28.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The name and the version of the client, since MCP 2026-07-28.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// Returns the label of a client that has introduced itself with this `clientInfo`.
pub(super) fn client_label(info: &Map<String, Value>) -> String {
    let part = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    format!("{} {}", part("name"), part("version")).trim().to_owned()
}

/// The `_meta` of a request.
#[derive(Debug, Default)]
pub(super) struct RequestMeta(pub(super) Map<String, Value>);

impl RequestMeta {
    /// Parses a request's `_meta`. The error says that it is not an object, or which member is repeated or cannot be kept.
    pub(super) fn read(json: Option<&str>) -> Result<Self, RpcError> {
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

    /// The version that the request follows.
    pub(super) fn protocol_version(&self) -> Option<&str> {
        self.0.get(PROTOCOL_VERSION)?.as_str()
    }

    /// The members that MCP 2026-07-28 requires and that are missing, or have another type.
    pub(super) fn missing_members(&self) -> Vec<&'static str> {
        let required = [
            (PROTOCOL_VERSION, self.protocol_version().is_some()),
            (CLIENT_CAPABILITIES, self.capabilities().is_some()),
        ];
        required.into_iter().filter(|(_, given)| !given).map(|(member, _)| member).collect()
    }

    /// The capabilities of the client, since MCP 2026-07-28.
    pub(super) fn capabilities(&self) -> Option<&Map<String, Value>> {
        self.0.get(CLIENT_CAPABILITIES)?.as_object()
    }

    /// The label of the client, if the request has its introduction.
    pub(super) fn client(&self) -> Option<String> {
        self.0.get(CLIENT_INFO)?.as_object().map(client_label)
    }

    /// Whether the client declares the extension for tasks.
    pub(super) fn declares_tasks(&self) -> bool {
        let extensions = self.capabilities().and_then(|it| it.get("extensions"));
        extensions.and_then(|it| it.get(TASKS_EXTENSION)).is_some_and(Value::is_object)
    }

    /// The progress token of the `_meta`, or else of the arguments' (REQ-MCP-14, choice C-63).
    pub(super) fn progress_token(&self, arguments: &Arguments<'_>) -> Option<ProgressToken> {
        let token = |meta: &Map<String, Value>| ProgressToken::new(meta.get("progressToken")?);
        token(&self.0).or_else(|| token(arguments.metadata("_meta")?.as_object()?))
    }

    /// The trace that the request belongs to (SEP-414).
    pub(super) fn trace_context(&self) -> TraceContext {
        TraceContext::read(|name| self.0.get(name)?.as_str())
    }

    /// The client's own label of the request: `requestId` in the `_meta` of the request or of the
    /// arguments, or `_request_id` beside `operation`. Only for the log (REQ-SES-05).
    pub(super) fn client_request_id(&self, arguments: &Arguments<'_>) -> Option<String> {
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
        Some(text.chars().filter(|each| !each.is_control()).take(64).collect())
    }
}

/// The value by which a client recognizes the progress of its request: a string or an integer.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(transparent)]
pub(super) struct ProgressToken(Value);

impl ProgressToken {
    fn new(value: &Value) -> Option<Self> {
        (value.is_string() || value.is_i64()).then(|| Self(value.clone()))
    }
}
