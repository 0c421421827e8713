//! Passes the tasks of MCP 2025-11-25 through rmcp. rmcp only knows those of MCP 2026-07-28.

use axum::http::request::Parts;
use rmcp::model::{
    ClientRequest, CustomRequest, CustomResult, GetExtensions as _, JsonRpcMessage,
    ServerJsonRpcMessage, ServerResult,
};
use serde_json::Value;

use super::original_message::OriginalMessage;
use crate::mcp::connection::Connection;
use crate::mcp::message::{Message, decode_message};
use crate::mcp::tasks::is_task_method;

/// Marks a request of a session with the tasks of MCP 2025-11-25.
#[derive(Clone)]
pub(crate) struct WithTasks;

/// Converts a request of a session into a custom request, if rmcp's type of its answer cannot contain the tasks of MCP
/// 2025-11-25. rmcp passes custom requests to [`on_custom_request`](rmcp::ServerHandler::on_custom_request).
pub(crate) fn route(request: &mut ClientRequest, connection: Option<&Connection>) {
    let has_tasks = connection.is_some_and(|connection| connection.tasks().is_some());
    let is_custom = match &*request {
        ClientRequest::GetTaskRequest(_)
        | ClientRequest::UpdateTaskRequest(_)
        | ClientRequest::CancelTaskRequest(_) => true,
        ClientRequest::CustomRequest(request) => is_task_method(&request.method),
        ClientRequest::ListToolsRequest(_) => has_tasks,
        ClientRequest::CallToolRequest(_) => has_tasks && asks_for_task(request),
        _ => false,
    };
    if !is_custom {
        return;
    }
    let mut custom = CustomRequest::new(request.method(), None);
    custom.extensions = std::mem::take(request.extensions_mut());
    if has_tasks {
        custom.extensions.insert(WithTasks);
    }
    *request = ClientRequest::CustomRequest(custom);
}

/// Returns `true` if the original message of a call requests a task. rmcp's parsed form does not contain the member
/// `task`.
fn asks_for_task(request: &ClientRequest) -> bool {
    let parts: Option<&Parts> = request.extensions().get();
    let sent: Option<&OriginalMessage> = parts.and_then(|parts| parts.extensions.get());
    sent.is_some_and(
        |sent| matches!(decode_message(&sent.text.read()), Message::Call(call) if call.task.is_some()),
    )
}

/// Adds the tasks of MCP 2025-11-25 to the answer to `initialize`, because rmcp's type has no member for them.
pub(crate) fn declare(
    mut answer: ServerJsonRpcMessage,
    connection: Option<&Connection>,
) -> ServerJsonRpcMessage {
    if let Some(capability) = connection.and_then(Connection::tasks)
        && let JsonRpcMessage::Response(response) = &mut answer
        && let Ok(mut result) = serde_json::to_value(&response.result)
        && let Some(Value::Object(capabilities)) = result.get_mut("capabilities")
    {
        capabilities.insert("tasks".to_owned(), capability.clone());
        response.result = ServerResult::CustomResult(CustomResult::new(result));
    }
    answer
}
