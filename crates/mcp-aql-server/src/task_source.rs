//! The trait of servers whose calls may start executions, which clients may follow as tasks of MCP, and what a server
//! declares about them.

use std::time::Duration;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::response::Reply;
use serde_json::{Map, Value, json};

/// The extension of MCP 2026-07-28 for tasks, in the capabilities of clients and servers.
pub(super) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The operation that returns an execution.
pub(super) const GET_EXECUTION: &str = "get_execution";
/// The operation that lists executions.
pub(super) const LIST_EXECUTIONS: &str = "list_executions";
/// The operation that cancels an execution.
pub(super) const CANCEL_EXECUTION: &str = "cancel_execution";

/// The executions of a server's tools. Requests about tasks are calls of the operations on executions, so that they
/// pass the same stages and gates.
pub trait TaskSource: Send + Sync {
    /// Returns whether calls of this operation start an execution.
    fn starts_execution(&self, operation: &str) -> bool;

    /// Returns whether the tool of this name accepts operations that start executions.
    fn has_executions(&self, tool: &str) -> bool;

    /// Returns whether some of the executions can be cancelled.
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

    /// Waits for the end of an execution, and reports its progress to the caller until then. Returns early if the caller
    /// cancels. It does not check whether the caller may see the execution.
    fn wait(&self, execution: String, scope: CallScope) -> BoxFuture<'static, ()>;
}

/// The capability `tasks` of MCP 2025-11-25.
pub(super) fn tasks_capability(source: &dyn TaskSource) -> Value {
    let requests = json!({ "tools": { "call": {} } });
    match source.can_cancel() {
        true => json!({ "list": {}, "cancel": {}, "requests": requests }),
        false => json!({ "list": {}, "requests": requests }),
    }
}
