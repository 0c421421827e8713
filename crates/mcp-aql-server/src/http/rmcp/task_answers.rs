//! Answers tool calls that may run as MCP tasks, and requests about tasks, in rmcp's types.

use std::sync::Arc;

use mcp_aql_core::internal::caller::CallOrigin;
use mcp_aql_core::internal::operation::{CallScope, Cancellation};
use mcp_aql_core::internal::request::Arguments;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, CustomRequest, CustomResult,
    InputRequiredResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client_user::RmcpUser;
use super::context::{PeerNotifier, error_data, http_extensions, take_origin};
use super::original_message::{OriginalMessage, refusal};
use super::task_routing::WithTasks;
use crate::http::cancellation::run_cancellable;
use crate::mcp::admission::{PROTOCOL_VERSION, RequestMeta};
use crate::mcp::answer::RpcError;
use crate::mcp::message::{Message, decode_message};
use crate::mcp::server::Server;
use crate::mcp::service::catch_panic;
use crate::mcp::tasks::{TaskCall, TaskProtocol, is_task_method};
use crate::mcp::tool_table::ToolTable;
use crate::mcp::version::is_modern;

/// Answers a request in a session with the tasks of MCP 2025-11-25, or a request about tasks with parameters that rmcp
/// could not parse. Returns `None` for all other requests.
pub(crate) async fn answer_custom(
    server: &Arc<Server>,
    request: &CustomRequest,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CustomResult, ErrorData>> {
    if context.extensions.get::<WithTasks>().is_none() {
        let version = context.meta.0.0.get(PROTOCOL_VERSION).and_then(Value::as_str);
        if !version.is_some_and(is_modern) || !is_task_method(&request.method) {
            return None;
        }
        let answer = answer_extension(server, &request.method, context).await;
        return Some(answer.map(CustomResult::new));
    }
    let answer = catch_panic(answer_utility(server, &request.method, context)).await;
    let value = answer.and_then(|result| from_json(&result));
    Some(value.map(CustomResult::new).map_err(error_data))
}

async fn answer_utility(
    server: &Arc<Server>,
    method: &str,
    context: &RequestContext<RoleServer>,
) -> Result<Vec<u8>, RpcError> {
    let mut extensions = http_extensions(&context.extensions);
    if method == "tools/list" {
        let source = server.service().tasks();
        return Ok(match server.service().tools_for(&extensions) {
            Some(tools) => ToolTable::new(&tools, source).listed_with_tasks().into(),
            None => server.tools().listed_with_tasks().into(),
        });
    }
    let sent: Option<OriginalMessage> = extensions.remove();
    let message = sent.map(|sent| sent.take_text()).unwrap_or_default();
    let cancellation = Cancellation::default();
    let message = decode_message(&message);
    let meta = sent_meta(&message)?;
    let origin = match &message {
        Message::Call(call) => take_origin(&mut extensions, call.id, &call.name),
        // Only calls of tools have origins, not requests about tasks.
        _ => extensions.remove::<CallOrigin>().and(None),
    };
    let elicitation = RmcpUser::of(server.connection(), context);
    let scope = CallScope { extensions, origin, elicitation, ..cancellation.clone().into() };
    match message {
        Message::Request(request) => {
            let params = request.params.map(RawValue::get);
            let request = server.task_request(&request.method, params, &meta, false)?;
            run_cancellable(server.answer_task_request(request, scope), &context.ct, &cancellation)
                .await
        }
        Message::Call(call) => {
            let tool = server.tool_index(&call.name)?;
            let protocol = TaskProtocol::Utility;
            let arguments = Arguments::read(call.arguments, server.limits());
            let notifier = Arc::new(PeerNotifier(context.peer.clone()));
            let task = call.task;
            let call = TaskCall { protocol, tool, arguments, task, meta: &meta, notifier, scope };
            run_cancellable(server.call_with_tasks(call), &context.ct, &cancellation).await
        }
        // rmcp accepts messages with repeated members.
        refused => Err(refusal(&refused)),
    }
}

/// Answers a request about tasks in the format of the extension.
pub(crate) async fn answer_extension<T: DeserializeOwned>(
    server: &Arc<Server>,
    method: &str,
    context: &RequestContext<RoleServer>,
) -> Result<T, ErrorData> {
    let answer = async {
        let mut extensions = http_extensions(&context.extensions);
        extensions.remove::<CallOrigin>();
        let sent: Option<OriginalMessage> = extensions.remove();
        let message = sent.map(|sent| sent.take_text()).unwrap_or_default();
        let message = decode_message(&message);
        let meta = sent_meta(&message)?;
        let Message::Request(request) = message else {
            return Err(refusal(&message));
        };
        let params = request.params.map(RawValue::get);
        let request = server.task_request(method, params, &meta, true)?;
        let cancellation = Cancellation::default();
        let scope = CallScope { extensions, ..cancellation.clone().into() };
        let answer = server.answer_task_request(request, scope);
        from_json(&run_cancellable(answer, &context.ct, &cancellation).await?)
    };
    catch_panic(answer).await.map_err(error_data)
}

/// Returns the `_meta` of the original message, because rmcp accepts repeated members.
fn sent_meta(message: &Message<'_>) -> Result<RequestMeta, RpcError> {
    match message {
        Message::Call(call) => RequestMeta::read(call.meta),
        Message::Request(request) => RequestMeta::read(request.meta()?),
        refused => Err(refusal(refused)),
    }
}

/// Converts the result of a call that may run as a task of the extension into rmcp's type.
pub(crate) fn call_response(result: &[u8]) -> Result<CallToolResponse, RpcError> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ResultType {
        result_type: String,
    }
    let ResultType { result_type } = from_json(result)?;
    Ok(match result_type.as_str() {
        "task" => CallToolResponse::Task(from_json::<CreateTaskResult>(result)?),
        "input_required" => from_json::<InputRequiredResult>(result)?.into(),
        _ => CallToolResponse::Complete(from_json::<CallToolResult>(result)?),
    })
}

fn from_json<T: DeserializeOwned>(result: &[u8]) -> Result<T, RpcError> {
    serde_json::from_slice(result).map_err(|error| {
        tracing::error!(%error, "a result could not be converted");
        RpcError::new(-32603, "Internal error")
    })
}
