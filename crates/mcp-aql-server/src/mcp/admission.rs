//! Admits requests by the version of MCP in their `_meta`, and reads the other members of `_meta`: capabilities, progress
//! token, the client's own request id, and the origins of calls. Only adapters that trace or log their calls need origins.
//!
//! Before MCP 2026-07-28, the version is negotiated once with `initialize`. Since then, each request contains its
//! version in `_meta`. Both kinds of clients are supported, and a client that has sent `initialize` may also send
//! requests of the new kind.

use mcp_aql_core::internal::caller::{CallOrigin, TraceContext};
use mcp_aql_core::internal::request::{Arguments, read_value};
use serde_json::{Map, Value, json};

use super::answer::RpcError;
use super::malformed_call::MalformedCall;
use super::message::{OtherRequest, ToolCall};
use super::service::ToolService;
use super::task_source::TASKS_EXTENSION;
use super::version::{MCP_VERSIONS, is_modern};

/// Member with the MCP version of the request, since MCP 2026-07-28.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Member with the client's capabilities, since MCP 2026-07-28.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Member with the client's name and version, since MCP 2026-07-28.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// MCP's error code for unsupported versions.
const UNSUPPORTED_VERSION: i32 = -32022;
/// Maximum number of characters of an id in spans and log lines.
const MAX_ID_CHARS: usize = 64;

/// The lifecycle of one connection.
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {
    /// If `true`, the client has sent `initialize`, and its requests need not contain a version.
    pub(crate) has_handshake: bool,
    /// The version negotiated by `initialize`.
    pub(crate) version: Option<&'static str>,
}

/// The protocol versions of an admitted request.
#[derive(Debug, PartialEq)]
pub(crate) struct RequestVersion {
    /// If `true`, the answer has the format of MCP 2026-07-28.
    pub(crate) modern: bool,
    /// If `true`, the request can use the methods of versions that start with `initialize`.
    pub(crate) legacy: bool,
}

impl Lifecycle {
    /// Returns a call's `_meta`. The second value is `true` if the call follows MCP 2026-07-28.
    ///
    /// # Errors
    ///
    /// Returns an error if `_meta` is malformed, or if the version is missing or not supported.
    pub(crate) fn admit_call(
        &self,
        service: &dyn ToolService,
        call: &ToolCall<'_>,
    ) -> Result<(RequestMeta, bool), RpcError> {
        let meta = RequestMeta::read(call.meta).map_err(|error| match call.meta {
            Some(meta) if !meta.starts_with('{') => {
                let reason = "Must be an object".to_owned();
                service.malformed_call(&MalformedCall { field: "_meta", reason })
            }
            _ => error,
        })?;
        let admitted = self.check_version("tools/call", &meta)?;
        Ok((meta, admitted.modern))
    }

    /// Returns the `_meta` of a request other than a call, and the format of its answer.
    ///
    /// # Errors
    ///
    /// Returns an error if `_meta` is malformed, or if the version is missing or not supported.
    pub(crate) fn admit_request(
        &self,
        request: &OtherRequest<'_>,
    ) -> Result<(RequestMeta, RequestVersion), RpcError> {
        let meta = RequestMeta::read(request.meta()?)?;
        let admitted = self.check_version(&request.method, &meta)?;
        Ok((meta, admitted))
    }

    /// Checks the version of a request other than `initialize`.
    ///
    /// # Errors
    ///
    /// Returns an error if a required version is missing, or if the version is not supported.
    fn check_version(&self, method: &str, meta: &RequestMeta) -> Result<RequestVersion, RpcError> {
        let version = meta.protocol_version();
        let supported = version.is_none_or(|version| MCP_VERSIONS.contains(&version));
        if self.has_handshake && !supported {
            return Err(unsupported(version));
        }
        let modern = version.is_some_and(is_modern);
        let legacy = match (method, version) {
            // Clients may send `ping` before `initialize`.
            ("ping", _) => !modern,
            ("server/discover", Some(_)) => false,
            _ => self.has_handshake && !modern,
        };
        if !legacy {
            let missing = meta.missing_members();
            if !missing.is_empty() {
                let missing = missing.join(", ");
                let message =
                    format!("request _meta is missing or has malformed required fields: {missing}");
                return Err(RpcError::new(-32602, message));
            }
        }
        if !supported {
            return Err(unsupported(version));
        }
        Ok(RequestVersion { modern, legacy })
    }
}

fn unsupported(version: Option<&str>) -> RpcError {
    RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({ "requested": version, "supported": MCP_VERSIONS }))
}

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
    use crate::mcp::version::NEWEST;

    fn meta(version: &str) -> RequestMeta {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        RequestMeta(meta.as_object().cloned().unwrap())
    }

    #[test]
    fn before_the_handshake_a_request_names_its_version() {
        let lifecycle = Lifecycle::default();
        let bare = RequestMeta::default();
        assert_eq!(lifecycle.check_version("tools/list", &bare).unwrap_err().code, -32602);
        assert_eq!(lifecycle.check_version("server/discover", &bare).unwrap_err().code, -32602);
        assert!(lifecycle.check_version("ping", &bare).unwrap().legacy);
        assert_eq!(
            lifecycle.check_version("tools/list", &meta("2099-01-01")).unwrap_err().code,
            -32022
        );
        for method in ["tools/list", "server/discover", "ping"] {
            let admitted = lifecycle.check_version(method, &meta(NEWEST)).unwrap();
            assert_eq!(admitted, RequestVersion { modern: true, legacy: false }, "{method}");
        }
        let admitted = lifecycle.check_version("tools/list", &meta("2025-06-18")).unwrap();
        assert_eq!(admitted, RequestVersion { modern: false, legacy: false });
    }

    #[test]
    fn after_the_handshake_a_request_may_name_another_version() {
        let lifecycle = Lifecycle { has_handshake: true, version: Some("2025-06-18") };
        let admitted = lifecycle.check_version("tools/list", &RequestMeta::default()).unwrap();
        assert_eq!(admitted, RequestVersion { modern: false, legacy: true });
        let admitted = lifecycle.check_version("tools/list", &meta("2025-11-25")).unwrap();
        assert_eq!(admitted, RequestVersion { modern: false, legacy: true });
        let admitted = lifecycle.check_version("tools/list", &meta(NEWEST)).unwrap();
        assert_eq!(admitted, RequestVersion { modern: true, legacy: false });
        let error = lifecycle.check_version("tools/list", &meta("1")).unwrap_err();
        assert_eq!((error.code, &error.data.unwrap()["requested"]), (-32022, &json!("1")));
        assert!(
            lifecycle.check_version("server/discover", &RequestMeta::default()).unwrap().legacy
        );
        assert!(!lifecycle.check_version("server/discover", &meta("2025-06-18")).unwrap().legacy);
    }

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
