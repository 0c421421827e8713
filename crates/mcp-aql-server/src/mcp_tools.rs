//! An adapter's tools inside an MCP server of your own.

use std::fmt;
use std::sync::Arc;

use mcp_aql_core::Adapter;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::transport::Extensions;
use serde_json::{Map, Value};

use crate::adapter::AdapterTools;
use crate::mcp::admission::RequestMeta;
use crate::mcp::answer::RpcError;
use crate::mcp::connection::Connection;
use crate::mcp::server::{Server, ServerState};
use crate::mcp::service::ToolService;
use crate::mcp::tool_table::ToolTable;

/// The tools of an adapter for an MCP server of your own, which also has prompts, resources or other tools.
///
/// Use it if your server is built with rmcp or another MCP library: answer `tools/list` with [`list`](Self::list) and
/// `tools/call` with [`call`](Self::call). Both return the result that MCP defines, as JSON, so they fit every version
/// of a library. You rarely need it otherwise: an adapter serves its tools itself.
///
/// One value serves one session of a client. Confirmation tokens and executions belong to that session. It ends when
/// the value is dropped. Create the value of each further session with [`new_session`](Self::new_session), and that of
/// a request without a session with [`new_request`](Self::new_request). They share the tools.
///
/// Your server decides how long calls may run when it stops. Afterwards, call
/// [`Adapter::end_sessions`](mcp_aql_core::Adapter::end_sessions); before it starts, call
/// [`Adapter::check_store`](mcp_aql_core::Adapter::check_store).
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::transport::{CallScope, McpTools};
/// use serde_json::json;
///
/// /// Return the length of a word.
/// #[operation(category = "READ")]
/// fn measure_word(/** The word. */ word: String) -> usize {
///     word.chars().count()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let adapter = Adapter::builder("words").operation(measure_word {}).build()?;
/// let tools = McpTools::new(&adapter);
/// assert_eq!(tools.list()["tools"][1]["name"], "mcp_aql_read");
///
/// let call = json!({ "operation": "measure_word", "params": { "word": "anchor" } });
/// let arguments = call.as_object().cloned().unwrap_or_default();
/// let result = tools.call("mcp_aql_read", arguments, CallScope::default()).await.unwrap_or_default();
/// assert_eq!(result["content"][0]["text"], r#"{"success":true,"data":6}"#);
/// # Ok(()) }
/// ```
pub struct McpTools {
    server: Server,
}

impl fmt::Debug for McpTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("McpTools").finish_non_exhaustive()
    }
}

impl McpTools {
    /// Describes the tools of the adapter and opens a session. Also begins the adapter's background work, such as the
    /// recovery of executions.
    pub fn new(adapter: &Adapter) -> Self {
        let service: Arc<dyn ToolService> = AdapterTools::new(adapter);
        service.begin();
        let definitions = service.tools();
        let shared = ServerState::new(service, &definitions);
        Self { server: Server::new(shared, Arc::new(Connection::lasting())) }
    }

    /// Opens a session of another client, with the same tools.
    #[must_use]
    pub fn new_session(&self) -> Self {
        Self { server: self.server.with_connection(Connection::lasting()) }
    }

    /// Returns the tools for one request without a session, as in MCP 2026-07-28. If the scope of its call has a
    /// principal, the call is part of the session of that principal, so that a later request can use its confirmation
    /// token.
    #[must_use]
    pub fn new_request(&self) -> Self {
        Self { server: self.server.with_connection(Connection::default()) }
    }

    /// Returns `true` if the adapter has a tool of this name. Use it to route a call if your server has other tools.
    pub fn contains(&self, tool: &str) -> bool {
        self.server.tools().index(tool).is_some()
    }

    /// Returns the result of `tools/list`: an object with the member `tools`.
    pub fn list(&self) -> Value {
        result_of(self.server.tools())
    }

    /// Returns the result of `tools/list` for an authenticated caller, with only the operations that the caller may
    /// call.
    pub fn list_for(&self, caller: &Principal) -> Value {
        let mut extensions = Extensions::default();
        extensions.insert(caller.clone());
        match self.server.service().tools_for(&extensions) {
            Some(tools) => result_of(&ToolTable::new(&tools, None)),
            None => self.list(),
        }
    }

    /// Runs a call and returns the result of `tools/call`. If an operation fails, that is a result, too.
    ///
    /// The scope names the authenticated caller, reports progress, asks the user and cancels the call.
    /// `CallScope::default()` has none of these. Its session is replaced by that of this value.
    ///
    /// # Errors
    ///
    /// Returns a JSON-RPC error if the tool does not exist. The error lists the existing tools.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        scope: CallScope,
    ) -> Result<Value, RpcError> {
        let tool = self.server.tool_index(tool)?;
        let arguments = Arguments::from(arguments);
        let reply = self.server.begin_call(tool, arguments, &RequestMeta::default(), scope).await?;
        let mut result = Vec::new();
        self.server.write_result(&mut result, &reply, false);
        serde_json::from_slice(&result)
            .map_err(|_| RpcError::new(-32603, "The result of the call cannot be written as JSON"))
    }
}

/// Returns the list of a table as JSON.
fn result_of(table: &ToolTable) -> Value {
    serde_json::from_str(table.listed(false)).unwrap_or_default()
}
