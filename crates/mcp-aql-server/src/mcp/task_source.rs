//! The interface to a server's executions for MCP tasks, and the capabilities that announce tasks.

use std::time::Duration;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::response::Reply;
use serde_json::{Map, Value, json};

/// The MCP 2026-07-28 extension for tasks, in the capabilities of clients and servers.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Operation that returns an execution.
pub(crate) const GET_EXECUTION: &str = "get_execution";
/// Operation that lists executions.
pub(crate) const LIST_EXECUTIONS: &str = "list_executions";
/// Operation that cancels an execution.
pub(crate) const CANCEL_EXECUTION: &str = "cancel_execution";

/// The executions started by a server's tools.
///
/// Requests about tasks are converted into calls of the operations on executions, so that they pass the same stages and
/// gates as other calls.
pub trait TaskSource: Send + Sync {
    /// Returns `true` if calls of this operation start an execution.
    fn starts_execution(&self, operation: &str) -> bool;

    /// Returns `true` if the tool with this name accepts operations that start executions.
    fn has_executions(&self, tool: &str) -> bool;

    /// Returns `true` if any execution can be canceled.
    fn can_cancel(&self) -> bool;

    /// Returns how long an execution is kept after its end.
    fn retention(&self) -> Duration;

    /// Calls an operation on executions.
    fn call(
        &self,
        operation: &str,
        params: Map<String, Value>,
        scope: CallScope,
    ) -> BoxFuture<'static, Reply>;

    /// Waits for the end of an execution, and reports its progress to the caller until then. Returns early if the
    /// caller cancels. This method does not check that the caller may see the execution, so you must check it first.
    fn wait(&self, execution: String, scope: CallScope) -> BoxFuture<'static, ()>;
}

/// Returns the capability `tasks` of MCP 2025-11-25.
///
/// ```json
/// { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } }
/// ```
pub(crate) fn tasks_capability(source: &dyn TaskSource) -> Value {
    let requests = json!({ "tools": { "call": {} } });
    match source.can_cancel() {
        true => json!({ "list": {}, "cancel": {}, "requests": requests }),
        false => json!({ "list": {}, "requests": requests }),
    }
}
