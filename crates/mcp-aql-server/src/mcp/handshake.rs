//! The answers to requests over a stream that are neither calls nor about tasks: `initialize`, `server/discover`, `ping`
//! and `tools/list`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::admission::{Lifecycle, client_label};
use super::answer::RpcError;
use super::batch_budget::BatchBudget;
use super::connection::Connection;
use super::message::OtherRequest;
use super::server::Server;
use super::service::ServerSettings;
use super::task_source::{TASKS_EXTENSION, TaskSource, tasks_capability};
use super::version::{MCP_VERSIONS, WITH_TASKS, negotiate};

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
        tasks: Option<TaskSource<'_>>,
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
fn discover(settings: &ServerSettings, tasks: Option<TaskSource<'_>>) -> String {
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

#[cfg(test)]
mod tests {
    use mcp_aql_protocol::SizeLimits;

    use super::*;

    fn settings() -> ServerSettings {
        ServerSettings::new("tasks", "1", "Begin.".to_owned(), SizeLimits::default())
    }

    #[test]
    fn a_handshake_settles_the_version() {
        let mut lifecycle = Lifecycle::default();
        let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}"#;
        let params = RawValue::from_string(params.to_owned()).unwrap();
        let connection = Connection::default();
        let result = lifecycle.initialize(Some(&params), &connection, &settings(), None);
        let result = result.unwrap();
        assert!(result.starts_with(r#"{"protocolVersion":"2025-06-18","#), "{result}");
        assert_eq!((lifecycle.has_handshake, lifecycle.version), (true, Some("2025-06-18")));
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
