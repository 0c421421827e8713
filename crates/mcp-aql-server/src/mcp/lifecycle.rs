//! The lifecycle of a connection over a stream, and the answers to requests that are neither calls nor about tasks.
//!
//! Before MCP 2026-07-28, the version is negotiated once with `initialize`. Since then, each request contains its
//! version in `_meta`. Both kinds of clients are supported, and a client that has sent `initialize` may also send
//! requests of the new kind.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::answer::RpcError;
use super::batch_budget::BatchBudget;
use super::connection::Connection;
use super::malformed_call::MalformedCall;
use super::message::{OtherRequest, ToolCall};
use super::request_meta::{RequestMeta, client_label};
use super::server::Server;
use super::service::ServerSettings;
use super::task_source::{TASKS_EXTENSION, TaskSource, tasks_capability};
use super::version::{MCP_VERSIONS, WITH_TASKS, is_modern, negotiate};

/// MCP's error code for unsupported versions.
const UNSUPPORTED_VERSION: i32 = -32022;

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

/// The parameters of `initialize`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams<'a> {
    #[serde(borrow)]
    protocol_version: Cow<'a, str>,
    capabilities: Map<String, Value>,
    client_info: Map<String, Value>,
}

/// The result of `initialize`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult<'a> {
    protocol_version: &'static str,
    capabilities: Map<String, Value>,
    server_info: ServerInfo<'a>,
    instructions: &'a str,
}

/// The result of `server/discover`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult<'a> {
    result_type: &'static str,
    supported_versions: [&'static str; 5],
    capabilities: Map<String, Value>,
    instructions: &'a str,
    ttl_ms: u64,
    cache_scope: &'static str,
    #[serde(rename = "_meta")]
    meta: DiscoverMeta<'a>,
}

#[derive(Serialize)]
struct DiscoverMeta<'a> {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server_info: ServerInfo<'a>,
}

#[derive(Serialize)]
struct ServerInfo<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> ServerInfo<'a> {
    fn new(settings: &'a ServerSettings) -> Self {
        Self { name: &settings.name, version: &settings.version }
    }
}

impl Lifecycle {
    /// Returns a call's `_meta`. The second value is `true` if the call follows MCP 2026-07-28.
    ///
    /// # Errors
    ///
    /// Returns an error if `_meta` is malformed, or if the version is missing or not supported.
    pub(crate) fn admit_call(
        &self,
        server: &Server,
        call: &ToolCall<'_>,
    ) -> Result<(RequestMeta, bool), RpcError> {
        let meta = RequestMeta::read(call.meta).map_err(|error| match call.meta {
            Some(meta) if !meta.starts_with('{') => {
                let reason = "Must be an object".to_owned();
                server.service().malformed_call(&MalformedCall { field: "_meta", reason })
            }
            _ => error,
        })?;
        let admitted = self.admit("tools/call", &meta)?;
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
        let admitted = self.admit(&request.method, &meta)?;
        Ok((meta, admitted))
    }

    /// Answers a request that is neither a call nor about tasks. Returns the result as JSON. `budget` is the size
    /// budget of the request's batch, if it belongs to one.
    ///
    /// # Errors
    ///
    /// Returns an error if the request is malformed, or if its method is unknown in its version of MCP.
    pub(crate) fn answer<'a>(
        &mut self,
        server: &'a Server,
        request: &OtherRequest<'_>,
        budget: Option<&BatchBudget>,
    ) -> Result<Cow<'a, str>, RpcError> {
        let method = &*request.method;
        if method == "initialize" {
            let (connection, settings) = (server.connection(), server.settings());
            let tasks = server.service().tasks();
            return Ok(self.initialize(request.params, connection, settings, tasks)?.into());
        }
        let (_, admitted) = self.admit_request(request)?;
        match method {
            "ping" if admitted.legacy => Ok("{}".into()),
            "server/discover" if !admitted.legacy => {
                Ok(discover(server.settings(), server.service().tasks()).into())
            }
            "tools/list" => server.listed(admitted.modern, budget).map(Cow::Borrowed),
            _ => Err(RpcError::new(-32601, method.to_owned())),
        }
    }

    /// Checks the `_meta` of a request other than `initialize`.
    ///
    /// # Errors
    ///
    /// Returns an error if a required version is missing, or if the version is not supported.
    fn admit(&self, method: &str, meta: &RequestMeta) -> Result<RequestVersion, RpcError> {
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

    /// Handles `initialize`: records the negotiated version and returns the result as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if a required parameter is missing.
    fn initialize(
        &mut self,
        params: Option<&RawValue>,
        connection: &Connection,
        settings: &ServerSettings,
        tasks: Option<&dyn TaskSource>,
    ) -> Result<String, RpcError> {
        let params = serde_json::from_str::<InitializeParams<'_>>(params.map_or("", RawValue::get));
        let Ok(InitializeParams { protocol_version, capabilities: of_client, client_info }) =
            params
        else {
            return Err(RpcError::new(
                -32602,
                "initialize takes 'protocolVersion' as a string, and 'capabilities' and \
                 'clientInfo' as objects",
            ));
        };
        self.has_handshake = true;
        let protocol_version = negotiate(&protocol_version);
        connection.negotiated(protocol_version, &of_client, tasks);
        connection.introduced(client_label(&client_info));
        self.version = Some(protocol_version);
        let tasks = tasks.filter(|_| protocol_version == WITH_TASKS);
        let tasks = tasks.map(|source| ("tasks", tasks_capability(source)));
        let result = InitializeResult {
            protocol_version,
            capabilities: capabilities(tasks),
            server_info: ServerInfo::new(settings),
            instructions: &settings.instructions,
        };
        // Serializing strings cannot fail.
        Ok(serde_json::to_string(&result).unwrap_or_default())
    }
}

/// Returns the result of `server/discover` as JSON.
fn discover(settings: &ServerSettings, tasks: Option<&dyn TaskSource>) -> String {
    let extensions = tasks.map(|_| ("extensions", json!({ TASKS_EXTENSION: {} })));
    let result = DiscoverResult {
        result_type: "complete",
        supported_versions: MCP_VERSIONS,
        capabilities: capabilities(extensions),
        instructions: &settings.instructions,
        ttl_ms: 0,
        cache_scope: "private",
        meta: DiscoverMeta { server_info: ServerInfo::new(settings) },
    };
    // Serializing strings cannot fail.
    serde_json::to_string(&result).unwrap_or_default()
}

/// Returns the capabilities of the server. It has tools, but no prompts, resources or completions. `tasks` is an
/// additional capability for servers whose calls start executions.
fn capabilities(tasks: Option<(&str, Value)>) -> Map<String, Value> {
    let all = [("tools", json!({}))].into_iter().chain(tasks);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn unsupported(version: Option<&str>) -> RpcError {
    RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({ "requested": version, "supported": MCP_VERSIONS }))
}

#[cfg(test)]
mod tests {
    use mcp_aql_protocol::SizeLimits;

    use super::*;
    use crate::mcp::version::NEWEST;

    fn meta(version: &str) -> RequestMeta {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        RequestMeta(meta.as_object().cloned().unwrap())
    }

    fn settings() -> ServerSettings {
        ServerSettings::new("tasks", "1", "Begin.".to_owned(), SizeLimits::default())
    }

    fn initialized() -> Lifecycle {
        let mut lifecycle = Lifecycle::default();
        let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}"#;
        let params = RawValue::from_string(params.to_owned()).unwrap();
        let connection = Connection::default();
        let result = lifecycle.initialize(Some(&params), &connection, &settings(), None);
        let result = result.unwrap();
        assert!(result.starts_with(r#"{"protocolVersion":"2025-06-18","#), "{result}");
        lifecycle
    }

    #[test]
    fn before_the_handshake_a_request_names_its_version() {
        let lifecycle = Lifecycle::default();
        let bare = RequestMeta::default();
        assert_eq!(lifecycle.admit("tools/list", &bare).unwrap_err().code, -32602);
        assert_eq!(lifecycle.admit("server/discover", &bare).unwrap_err().code, -32602);
        assert!(lifecycle.admit("ping", &bare).unwrap().legacy);
        assert_eq!(lifecycle.admit("tools/list", &meta("2099-01-01")).unwrap_err().code, -32022);
        for method in ["tools/list", "server/discover", "ping"] {
            let admitted = lifecycle.admit(method, &meta(NEWEST)).unwrap();
            assert_eq!(admitted, RequestVersion { modern: true, legacy: false }, "{method}");
        }
        let admitted = lifecycle.admit("tools/list", &meta("2025-06-18")).unwrap();
        assert_eq!(admitted, RequestVersion { modern: false, legacy: false });
    }

    #[test]
    fn after_the_handshake_a_request_may_name_another_version() {
        let lifecycle = initialized();
        let admitted = lifecycle.admit("tools/list", &RequestMeta::default()).unwrap();
        assert_eq!(admitted, RequestVersion { modern: false, legacy: true });
        let admitted = lifecycle.admit("tools/list", &meta("2025-11-25")).unwrap();
        assert_eq!(admitted, RequestVersion { modern: false, legacy: true });
        let admitted = lifecycle.admit("tools/list", &meta(NEWEST)).unwrap();
        assert_eq!(admitted, RequestVersion { modern: true, legacy: false });
        let error = lifecycle.admit("tools/list", &meta("1")).unwrap_err();
        assert_eq!((error.code, &error.data.unwrap()["requested"]), (-32022, &json!("1")));
        assert!(lifecycle.admit("server/discover", &RequestMeta::default()).unwrap().legacy);
        assert!(!lifecycle.admit("server/discover", &meta("2025-06-18")).unwrap().legacy);
    }

    #[test]
    fn a_malformed_handshake_is_no_handshake() {
        for params in [None, Some("[]"), Some(r#"{"protocolVersion":"2025-06-18"}"#)] {
            let mut lifecycle = Lifecycle::default();
            let params = params.map(|params| RawValue::from_string(params.to_owned()).unwrap());
            let connection = Connection::default();
            let result = lifecycle.initialize(params.as_deref(), &connection, &settings(), None);
            let error = result.unwrap_err();
            assert_eq!(error.code, -32602);
            assert!(!lifecycle.has_handshake);
        }
    }
}
