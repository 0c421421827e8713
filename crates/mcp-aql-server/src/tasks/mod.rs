//! Executions as tasks of MCP.
//!
//! MCP has tasks in two forms. In MCP 2025-11-25 they belong to the protocol: the client asks for a task with each call
//! and fetches its result with a request. In MCP 2026-07-28 they are an extension: a client declares it, the server
//! decides which calls become tasks, and the state of a task contains its result. A task is another view of an
//! execution. It has no record of its own, and every request about it is a call of an operation on executions.

mod call;
mod error;
mod follow;
mod request;
mod task;
mod task_id;

pub(super) use self::call::TaskCall;
pub(super) use self::request::{TaskRequest, is_task_method};

use serde_json::Value;

use super::request_meta::RequestMeta;
use super::server::Server;

/// The form of tasks that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskProtocol {
    /// The tasks of MCP 2025-11-25.
    Utility,
    /// The extension of MCP 2026-07-28.
    Extension,
}

impl Server {
    /// Returns the form in which a call runs as a task, if it may. `task` is the member with which a client of MCP
    /// 2025-11-25 asks for a task. `operation` is the called operation, if it is known already.
    pub(super) fn task_protocol(
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

/// The `_meta` that names the task to which a message of MCP 2025-11-25 belongs.
fn related_task(task_id: &str) -> serde_json::Map<String, Value> {
    let related = serde_json::json!({ "taskId": task_id });
    serde_json::Map::from_iter([("io.modelcontextprotocol/related-task".to_owned(), related)])
}
