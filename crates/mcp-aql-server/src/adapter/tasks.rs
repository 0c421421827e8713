//! Provides the executions of an adapter as the source of MCP tasks.

use std::time::Duration;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::operation::{CallScope, ExecutionCall, Handler, RegisteredOperation};
use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::internal::router::Endpoint;
use mcp_aql_core::internal::util::erased;
use serde_json::{Map, Value};

use super::AdapterTools;
use crate::mcp::task_source::{CANCEL_EXECUTION, TaskSource};

/// Returns `true` if calls of an operation start or retry an execution.
fn starts_execution(operation: &RegisteredOperation) -> bool {
    operation.spec.lifecycle.is_some()
        || matches!(operation.handler, Handler::Execution(ExecutionCall::Retry))
}

impl TaskSource for AdapterTools {
    fn starts_execution(&self, operation: &str) -> bool {
        let entry = self.adapter.registry().get(operation);
        entry.is_some_and(|entry| starts_execution(&entry.operation))
    }

    fn has_executions(&self, tool: &str) -> bool {
        let entries = &self.adapter.registry().entries;
        self.endpoint(tool).is_some_and(|endpoint| {
            let is_offered = |family| {
                matches!(endpoint, Endpoint::Unified) || endpoint == Endpoint::Family(family)
            };
            entries.iter().any(|it| is_offered(it.family) && starts_execution(&it.operation))
        })
    }

    fn can_cancel(&self) -> bool {
        self.adapter.registry().get(CANCEL_EXECUTION).is_some()
    }

    fn retention(&self) -> Duration {
        self.adapter.execution_table().retention()
    }

    fn call(
        &self,
        operation: &str,
        params: Map<String, Value>,
        scope: CallScope,
    ) -> BoxFuture<'static, Reply> {
        let members =
            [("operation".to_owned(), operation.into()), ("params".to_owned(), params.into())];
        let arguments = Map::from_iter(members);
        self.adapter.handle(Endpoint::Unified, arguments, scope).into_parts().1
    }

    fn wait(&self, execution: String, scope: CallScope) -> BoxFuture<'static, ()> {
        let adapter = self.adapter.clone();
        erased(async move {
            // The caller reads the execution afterwards and gets the store's error then.
            if let Err(error) = adapter.execution_table().wait_for_end(&execution, scope).await {
                tracing::warn!(%error, execution, "cannot wait for the end of an execution");
            }
        })
    }
}
