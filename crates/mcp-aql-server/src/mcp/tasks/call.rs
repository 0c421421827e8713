//! Runs tool calls as MCP tasks.

use std::sync::Arc;

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::internal::util::spawn;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::TaskProtocol;
use super::error::{invalid_params, not_a_task, refusal};
use super::follow::Follower;
use super::task::{Task, UtilityTask};
use crate::mcp::admission::RequestMeta;
use crate::mcp::answer::RpcError;
use crate::mcp::progress::Notifier;
use crate::mcp::server::Server;

/// A tool call that may run as a task.
pub(crate) struct TaskCall<'a> {
    pub(crate) protocol: TaskProtocol,
    pub(crate) tool: usize,
    pub(crate) arguments: Result<Arguments<'a>, OperationError>,
    /// The member `task` of the parameters.
    pub(crate) task: Option<&'a str>,
    pub(crate) meta: &'a RequestMeta,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) scope: CallScope,
}

/// The member `task` of a call. The requested lifetime has no effect, because the operator configures how long finished
/// executions are kept.
#[derive(Deserialize)]
struct TaskMetadata {
    #[serde(rename = "ttl", default)]
    _ttl: Option<Number>,
}

/// The answer to a call that runs as a task, in MCP 2025-11-25.
#[derive(Serialize)]
struct CreatedTask {
    task: UtilityTask,
}

impl Server {
    /// Runs a call and returns its result as JSON. The result is a task if the call has started an execution.
    pub(crate) async fn call_with_tasks(
        self: &Arc<Self>,
        call: TaskCall<'_>,
    ) -> Result<Vec<u8>, RpcError> {
        let TaskCall { protocol, tool, arguments, task, meta, notifier, scope } = call;
        if protocol == TaskProtocol::Utility && !task.is_some_and(is_task_metadata) {
            let form =
                "'task' must be an object. Its 'ttl', if present, must be a number of milliseconds";
            return Err(invalid_params(form));
        }
        let Some(source) = self.service().tasks() else { return Err(not_a_task(None)) };
        let is_started = |arguments: &Arguments<'_>| {
            arguments.operation().is_some_and(|name| source.starts_execution(name))
        };
        let arguments = match (arguments, protocol) {
            (Ok(arguments), _) if is_started(&arguments) => arguments,
            (Ok(arguments), TaskProtocol::Utility) => {
                return Err(not_a_task(arguments.operation()));
            }
            (arguments, TaskProtocol::Extension) => {
                let answer = self.reply(tool, arguments, meta, &*notifier, scope).await;
                return answer.map(|reply| self.written(&reply, true));
            }
            (Err(error), TaskProtocol::Utility) => {
                return Err(refusal(&self.service().refuse(error, &scope)?));
            }
        };
        let token = meta.progress_token(&arguments);
        let scope_of_task = self.with_session(CallScope {
            extensions: scope.extensions.clone(),
            ..CallScope::default()
        });
        let reply = self.begin_call(tool, arguments, meta, scope).await?;
        let task = Task::of_reply(&reply, source.retention()).filter(|_| reply.code.is_none());
        match (task, protocol) {
            (Some(task), TaskProtocol::Extension) => {
                to_json(&task.at_creation().of_extension("task", None))
            }
            (Some(task), TaskProtocol::Utility) => {
                let server = Arc::clone(self);
                let id = task.id.clone();
                spawn(Follower { server, id, token, notifier, scope: scope_of_task }.run());
                to_json(&CreatedTask { task: task.at_creation().of_utility() })
            }
            (None, TaskProtocol::Extension) => Ok(self.written(&reply, true)),
            (None, TaskProtocol::Utility) => Err(refusal(&reply)),
        }
    }

    /// Serializes a tool's result as JSON.
    pub(super) fn written(&self, reply: &Reply, modern: bool) -> Vec<u8> {
        let mut result = Vec::with_capacity(reply.text.len() + 128);
        self.write_result(&mut result, reply, modern);
        result
    }
}

fn is_task_metadata(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<TaskMetadata>(text).is_ok()
}

/// Serializes a result as JSON.
pub(super) fn to_json(result: &impl Serialize) -> Result<Vec<u8>, RpcError> {
    serde_json::to_vec(result).map_err(|error| {
        tracing::error!(%error, "a result could not be written");
        RpcError::new(-32603, "Internal error")
    })
}
