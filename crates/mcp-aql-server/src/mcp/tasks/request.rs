//! Requests about tasks.

use std::sync::Arc;
use std::time::Duration;

use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::response::Reply;
use mcp_aql_protocol::ErrorCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::call::to_json;
use super::error::{
    METHOD_NOT_FOUND, invalid_params, missing_capability, of_reply, refusal, unknown_task,
};
use super::task::{ExecutionState, Task, TaskStatus, UtilityTask};
use super::task_id::TaskId;
use super::{TaskProtocol, related_task};
use crate::mcp::admission::RequestMeta;
use crate::mcp::answer::RpcError;
use crate::mcp::server::Server;
use crate::mcp::task_source::{CANCEL_EXECUTION, GET_EXECUTION, LIST_EXECUTIONS, TaskSource};

/// Number of tasks on a page of `tasks/list`.
const PAGE_SIZE: u64 = 50;

/// A request about tasks.
pub(crate) struct TaskRequest {
    protocol: TaskProtocol,
    method: TaskMethod,
    params: Option<Box<str>>,
}

#[derive(Debug, Clone, Copy)]
enum TaskMethod {
    Get,
    Result,
    List,
    Cancel,
    Update,
}

/// The parameters of a request about one task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams {
    task_id: String,
}

/// The parameters of `tasks/update`. Tasks never ask the client for input, so responses are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdateParams {
    task_id: String,
    #[serde(rename = "inputResponses")]
    _input_responses: Map<String, Value>,
}

#[derive(Default, Deserialize)]
struct ListParams {
    #[serde(default)]
    cursor: Option<String>,
}

/// The reply of `list_executions`.
#[derive(Deserialize)]
struct ListReply<'a> {
    #[serde(borrow)]
    data: ListedExecutions<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedExecutions<'a> {
    #[serde(borrow)]
    items: Vec<ExecutionState<'a>>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    #[serde(default)]
    end_cursor: Option<String>,
}

/// The result of `tasks/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskList {
    tasks: Vec<UtilityTask>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Returns `true` if a method is about tasks in any version of MCP.
pub(crate) fn is_task_method(method: &str) -> bool {
    method.starts_with("tasks/")
}

impl TaskRequest {
    /// Returns `true` if the request may ask the client's user, for example to confirm a cancellation. The extension
    /// cannot ask, because its answers cannot contain a question.
    pub(crate) fn may_ask(&self) -> bool {
        self.protocol == TaskProtocol::Utility
    }
}

impl TaskMethod {
    fn find(method: &str, protocol: TaskProtocol, source: TaskSource<'_>) -> Option<Self> {
        match (method, protocol) {
            ("tasks/get", _) => Some(Self::Get),
            ("tasks/result", TaskProtocol::Utility) => Some(Self::Result),
            ("tasks/list", TaskProtocol::Utility) => Some(Self::List),
            ("tasks/cancel", TaskProtocol::Utility) => source.can_cancel().then_some(Self::Cancel),
            ("tasks/cancel", TaskProtocol::Extension) => Some(Self::Cancel),
            ("tasks/update", TaskProtocol::Extension) => Some(Self::Update),
            _ => None,
        }
    }
}

/// Parses parameters. They must be a JSON object.
fn read<T: DeserializeOwned>(params: Option<&str>, form: &'static str) -> Result<T, RpcError> {
    let params = params.filter(|params| params.trim_start().starts_with('{'));
    let read = params.and_then(|params| serde_json::from_str(params).ok());
    read.ok_or_else(|| invalid_params(form))
}

fn task_id(text: &str) -> Result<TaskId, RpcError> {
    TaskId::parse(text).ok_or_else(|| unknown_task(text))
}

fn params_of(id: &TaskId) -> Map<String, Value> {
    Map::from_iter([("execution_id".to_owned(), id.execution.as_str().into())])
}

impl Server {
    /// Reads a request about tasks.
    ///
    /// # Errors
    ///
    /// Returns an error if the method does not exist in the client's version of MCP, or if the client does not declare
    /// the extension.
    pub(crate) fn task_request(
        &self,
        method: &str,
        params: Option<&str>,
        meta: &RequestMeta,
        modern: bool,
    ) -> Result<TaskRequest, RpcError> {
        let protocol = match modern {
            true => TaskProtocol::Extension,
            false => TaskProtocol::Utility,
        };
        let may_use = modern || self.connection().tasks().is_some();
        let source = self.service().tasks().filter(|_| may_use);
        let found = source.and_then(|source| TaskMethod::find(method, protocol, source));
        let Some(found) = found else {
            return Err(RpcError::new(METHOD_NOT_FOUND, method.to_owned()));
        };
        if modern && !meta.declares_tasks() {
            return Err(missing_capability());
        }
        Ok(TaskRequest { protocol, method: found, params: params.map(Box::from) })
    }

    /// Answers a request about tasks. Returns the result as JSON.
    pub(crate) async fn answer_task_request(
        self: &Arc<Self>,
        request: TaskRequest,
        scope: CallScope,
    ) -> Result<Vec<u8>, RpcError> {
        let scope = self.with_session(scope);
        let params = request.params.as_deref();
        let named = || read::<TaskParams>(params, "'taskId' must be a string").map(|it| it.task_id);
        match (request.method, request.protocol) {
            (TaskMethod::Get, protocol) => {
                self.get_task(&task_id(&named()?)?, protocol, scope).await
            }
            (TaskMethod::Result, _) => self.task_result(&task_id(&named()?)?, scope).await,
            (TaskMethod::Cancel, protocol) => {
                self.cancel_task(&task_id(&named()?)?, protocol, scope).await
            }
            (TaskMethod::Update, _) => {
                let form = "'taskId' must be a string, and 'inputResponses' an object";
                let UpdateParams { task_id: id, .. } = read(params, form)?;
                self.task(&task_id(&id)?, scope).await?;
                to_json(&json!({ "resultType": "complete" }))
            }
            (TaskMethod::List, _) => {
                let params = match params {
                    Some(_) => read(params, "'cursor' must be a string")?,
                    None => ListParams::default(),
                };
                self.list_tasks(params, scope).await
            }
        }
    }

    /// Returns how long a task is kept after its end.
    fn retention(&self) -> Duration {
        self.service().tasks().map(TaskSource::retention).unwrap_or_default()
    }

    async fn call_on_executions(
        &self,
        operation: &str,
        params: Map<String, Value>,
        scope: CallScope,
    ) -> Result<Reply, RpcError> {
        match self.service().tasks() {
            Some(source) => Ok(source.call(operation, params, scope).await),
            None => Err(RpcError::new(METHOD_NOT_FOUND, operation.to_owned())),
        }
    }

    /// Returns a task, and the reply that contains the state of its execution.
    pub(super) async fn task(
        &self,
        id: &TaskId,
        scope: CallScope,
    ) -> Result<(Reply, Task), RpcError> {
        let reply = self.call_on_executions(GET_EXECUTION, params_of(id), scope).await?;
        let name = id.to_string();
        if reply.code.is_some() {
            return Err(of_reply(&reply, &name));
        }
        // Each attempt of an execution is a different task.
        let task = Task::of_reply(&reply, self.retention()).filter(|task| task.id == *id);
        task.map(|task| (reply, task)).ok_or_else(|| unknown_task(&name))
    }

    async fn get_task(
        &self,
        id: &TaskId,
        protocol: TaskProtocol,
        scope: CallScope,
    ) -> Result<Vec<u8>, RpcError> {
        let (reply, task) = self.task(id, scope).await?;
        if protocol == TaskProtocol::Utility {
            return to_json(&task.of_utility());
        }
        let has_result = matches!(task.status, TaskStatus::Completed | TaskStatus::Failed);
        let result =
            has_result.then(|| String::from_utf8(self.written(&reply, true)).ok()).flatten();
        let result = result.and_then(|result| RawValue::from_string(result).ok());
        to_json(&task.of_extension("complete", result.as_deref()))
    }

    /// Waits for the end of a task and returns its result. The result is the final state of the execution, in the form
    /// in which a tool call returns it.
    async fn task_result(&self, id: &TaskId, scope: CallScope) -> Result<Vec<u8>, RpcError> {
        let (mut reply, task) = self.task(id, scope.clone()).await?;
        if !task.status.is_final() {
            if let Some(source) = self.service().tasks() {
                source.wait(id.execution.clone(), scope.clone()).await;
            }
            (reply, _) = self.task(id, scope).await?;
        }
        let mut result = self.written(&reply, false);
        // The result is a non-empty object, so another member can be appended.
        result.pop();
        result.extend_from_slice(br#","_meta":"#);
        result.extend(to_json(&related_task(&id.to_string()))?);
        result.push(b'}');
        Ok(result)
    }

    async fn cancel_task(
        &self,
        id: &TaskId,
        protocol: TaskProtocol,
        scope: CallScope,
    ) -> Result<Vec<u8>, RpcError> {
        let (_, mut task) = self.task(id, scope.clone()).await?;
        if !task.status.is_final() {
            task = match self.cancel_execution(id, scope.clone()).await? {
                Some(task) => task,
                // The execution has ended in the meantime.
                None => self.task(id, scope).await?.1,
            };
            if protocol == TaskProtocol::Utility && task.status == TaskStatus::Cancelled {
                return to_json(&task.of_utility());
            }
        }
        if protocol == TaskProtocol::Extension {
            return to_json(&json!({ "resultType": "complete" }));
        }
        let status = task.status.as_str(protocol);
        Err(invalid_params(format!("The task '{id}' has ended already; its status is '{status}'")))
    }

    /// Cancels an execution and returns its state. Returns `None` if it has already ended.
    async fn cancel_execution(
        &self,
        id: &TaskId,
        scope: CallScope,
    ) -> Result<Option<Task>, RpcError> {
        if !self.service().tasks().is_some_and(TaskSource::can_cancel) {
            return Err(RpcError::new(-32000, format!("The task '{id}' cannot be cancelled")));
        }
        let reply = self.call_on_executions(CANCEL_EXECUTION, params_of(id), scope).await?;
        match reply.code {
            None => Ok(Task::of_reply(&reply, self.retention())),
            Some(ErrorCode::ValidationInvalidValue) => Ok(None),
            Some(_) => Err(of_reply(&reply, &id.to_string())),
        }
    }

    async fn list_tasks(&self, params: ListParams, scope: CallScope) -> Result<Vec<u8>, RpcError> {
        let mut listing = Map::from_iter([("first".to_owned(), PAGE_SIZE.into())]);
        let has_cursor = params.cursor.is_some();
        listing.extend(params.cursor.map(|cursor| ("after".to_owned(), cursor.into())));
        let reply = self.call_on_executions(LIST_EXECUTIONS, listing, scope).await?;
        match reply.code {
            None => {}
            Some(ErrorCode::ValidationInvalidValue) if has_cursor => {
                return Err(invalid_params(
                    "'cursor' must be the 'nextCursor' of the previous page",
                ));
            }
            Some(_) => return Err(refusal(&reply)),
        }
        let Ok(ListReply { data }) = serde_json::from_str::<ListReply<'_>>(&reply.text) else {
            return Err(RpcError::new(-32603, "Internal error"));
        };
        let ListedExecutions { items, page_info } = data;
        let retention = self.retention();
        let tasks = items.into_iter().map(|state| Task::new(state, retention).of_utility());
        let next_cursor = page_info.end_cursor.filter(|_| page_info.has_next_page);
        to_json(&TaskList { tasks: tasks.collect(), next_cursor })
    }
}
