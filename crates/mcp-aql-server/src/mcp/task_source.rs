//! The executions of an adapter as MCP tasks, and the capabilities that announce tasks.

use std::time::Duration;

use mcp_aql_core::internal::operation::{CallScope, ExecutionCall, Handler, RegisteredOperation};
use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::internal::router::Endpoint;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::{Adapter, BoxFuture};
use serde_json::{Map, Value, json};

/// The MCP 2026-07-28 extension for tasks, in the capabilities of clients and servers.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Operation that returns an execution.
pub(crate) const GET_EXECUTION: &str = "get_execution";
/// Operation that lists executions.
pub(crate) const LIST_EXECUTIONS: &str = "list_executions";
/// Operation that cancels an execution.
pub(crate) const CANCEL_EXECUTION: &str = "cancel_execution";

/// The executions started by calls of an adapter's operations.
///
/// Requests about tasks are converted into calls of the operations on executions, so that they pass the same stages and
/// gates as other calls.
#[derive(Clone, Copy)]
pub(crate) struct TaskSource<'a>(&'a Adapter);

impl<'a> TaskSource<'a> {
    /// Returns `None` if no call of the adapter starts an execution.
    pub(crate) fn of(adapter: &'a Adapter) -> Option<Self> {
        adapter.has_executions().then_some(Self(adapter))
    }

    /// Returns `true` if calls of this operation start an execution.
    pub(crate) fn starts_execution(self, operation: &str) -> bool {
        let entry = self.0.registry().get(operation);
        entry.is_some_and(|entry| starts_execution(&entry.operation))
    }

    /// Returns `true` if the tool with this name accepts operations that start executions.
    pub(crate) fn has_executions(self, tool: &str) -> bool {
        let registry = self.0.registry();
        let index = registry.tool_names.iter().position(|name| name == tool);
        // The tools of the families are followed by the unified tool.
        let is_unified = index == registry.tool_names.len().checked_sub(1);
        let mut entries = registry.entries.iter();
        entries.any(|entry| {
            (is_unified || index == Some(entry.family)) && starts_execution(&entry.operation)
        })
    }

    /// Returns `true` if the server has the operation `cancel_execution`.
    pub(crate) fn can_cancel(self) -> bool {
        self.0.registry().get(CANCEL_EXECUTION).is_some()
    }

    /// Returns how long an execution is kept after its end.
    pub(crate) fn retention(self) -> Duration {
        self.0.execution_table().retention()
    }

    /// Calls an operation on executions.
    pub(crate) fn call(
        self,
        operation: &str,
        params: Map<String, Value>,
        scope: CallScope,
    ) -> BoxFuture<'static, Reply> {
        let members =
            [("operation".to_owned(), operation.into()), ("params".to_owned(), params.into())];
        self.0.handle(Endpoint::Unified, Map::from_iter(members), scope).into_parts().1
    }

    /// Waits for the end of an execution, and reports its progress to the caller until then. Returns early if the
    /// caller cancels. This method does not check that the caller may see the execution, so you must check it first.
    pub(crate) fn wait(self, execution: String, scope: CallScope) -> BoxFuture<'a, ()> {
        erased(async move {
            // The caller reads the execution afterwards and gets the store's error then.
            if let Err(error) = self.0.execution_table().wait_for_end(&execution, scope).await {
                tracing::warn!(%error, execution, "cannot wait for the end of an execution");
            }
        })
    }
}

/// Returns `true` if calls of an operation start or retry an execution.
fn starts_execution(operation: &RegisteredOperation) -> bool {
    operation.spec.lifecycle.is_some()
        || matches!(operation.handler, Handler::Execution(ExecutionCall::Retry))
}

/// Returns the capability `tasks` of MCP 2025-11-25.
///
/// ```json
/// { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } }
/// ```
pub(crate) fn tasks_capability(source: TaskSource<'_>) -> Value {
    let requests = json!({ "tools": { "call": {} } });
    match source.can_cancel() {
        true => json!({ "list": {}, "cancel": {}, "requests": requests }),
        false => json!({ "list": {}, "requests": requests }),
    }
}
