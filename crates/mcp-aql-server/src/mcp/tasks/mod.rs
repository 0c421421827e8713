//! Executions as MCP tasks.
//!
//! A task is a view of an execution. It has no record of its own, and every request about it is converted into a call
//! of an operation on executions.
//!
//! MCP has two protocols for tasks:
//!
//! - In MCP 2025-11-25, tasks are part of the protocol. The client requests a task with each call and fetches its
//!   result with another request.
//! - In MCP 2026-07-28, tasks are an extension declared by the client. The server decides which calls become tasks, and
//!   the state of a task contains its result.

mod call;
mod error;
mod follow;
mod request;
mod task;
mod task_id;

pub(crate) use self::call::TaskCall;
pub(crate) use self::request::{TaskRequest, is_task_method};

use serde_json::Value;

use super::admission::RequestMeta;
use super::server::Server;

/// The protocol for tasks used by a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskProtocol {
    /// The tasks of MCP 2025-11-25.
    Utility,
    /// The extension of MCP 2026-07-28.
    Extension,
}

impl Server {
    /// Returns the protocol for a call that may run as a task, or `None` if it may not. `task` is the member with which
    /// a client of MCP 2025-11-25 requests a task. `operation` is the called operation, if it is already known.
    pub(crate) fn task_protocol(
        &self,
        task: Option<&str>,
        meta: &RequestMeta,
        modern: bool,
        operation: Option<&str>,
    ) -> Option<TaskProtocol> {
        match modern {
            false => (task.is_some() && self.connection().tasks().is_some())
                .then_some(TaskProtocol::Utility),
            true if meta.declares_tasks() => {
                let source = self.service().tasks()?;
                let may_start = operation.is_none_or(|it| source.starts_execution(it));
                may_start.then_some(TaskProtocol::Extension)
            }
            true => None,
        }
    }
}

/// Returns the `_meta` that links a message of MCP 2025-11-25 to a task.
fn related_task(task_id: &str) -> serde_json::Map<String, Value> {
    let related = serde_json::json!({ "taskId": task_id });
    serde_json::Map::from_iter([("io.modelcontextprotocol/related-task".to_owned(), related)])
}
