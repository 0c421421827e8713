//! The errors of requests about tasks, and of calls that should run as tasks.

use mcp_aql_core::internal::response::Reply;
use mcp_aql_protocol::ErrorCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::mcp::answer::RpcError;
use crate::mcp::task_source::TASKS_EXTENSION;

/// JSON-RPC code for malformed parameters and unknown tasks.
const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC code for unknown methods, and in MCP 2025-11-25 also for calls that cannot be tasks.
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
/// MCP code for requests that need a capability the client has not declared.
const MISSING_CAPABILITY: i32 = -32021;
/// Code for calls rejected by the adapter. JSON-RPC reserves it for servers.
const REFUSED: i32 = -32000;

/// A reply with an error.
#[derive(Deserialize)]
struct FailedReply {
    error: Map<String, Value>,
}

pub(super) fn invalid_params(message: impl Into<String>) -> RpcError {
    RpcError::new(INVALID_PARAMS, message.into())
}

/// Returns the error for a task that does not exist or belongs to another principal.
pub(super) fn unknown_task(task_id: &str) -> RpcError {
    let id = mcp_aql_core::internal::text::clean(task_id);
    invalid_params(format!(
        "Unknown task '{id}': it does not exist, has expired, or was followed by a retry"
    ))
}

/// Returns the error for a client that uses the extension's methods without declaring the extension. Its data names
/// the extension:
///
/// ```json
/// { "requiredCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } } }
/// ```
pub(super) fn missing_capability() -> RpcError {
    let required = json!({ "extensions": { TASKS_EXTENSION: {} } });
    let message = format!(
        "Missing required client capability: declare the extension '{TASKS_EXTENSION}' in the \
         capabilities of the request"
    );
    RpcError::new(MISSING_CAPABILITY, message)
        .with_data(json!({ "requiredCapabilities": required }))
}

/// Returns the error for a call that cannot run as a task.
pub(super) fn not_a_task(operation: Option<&str>) -> RpcError {
    let message = match operation {
        Some(operation) => format!(
            "'{}' does not start an execution, which only operations with a lifecycle do: call it \
             without 'task'",
            mcp_aql_core::internal::text::clean(operation)
        ),
        None => "Only a call of one operation can run as a task: send it without 'task'".to_owned(),
    };
    RpcError::new(METHOD_NOT_FOUND, message)
}

/// Converts a failed reply into a JSON-RPC error, because a client that expects a task can read nothing else. All
/// errors of the adapter share one JSON-RPC code, except internal ones (REQ-MCP-12).
pub(super) fn refusal(reply: &Reply) -> RpcError {
    if reply.code == Some(ErrorCode::InternalError) {
        return RpcError::new(-32603, "Internal error").with_data(failure(reply));
    }
    let error = failure(reply);
    let message = error.get("message").and_then(Value::as_str).unwrap_or("The call was rejected");
    RpcError::new(REFUSED, message.to_owned()).with_data(error.clone())
}

fn failure(reply: &Reply) -> Value {
    let failed = serde_json::from_str::<FailedReply>(&reply.text);
    failed.map_or(Value::Null, |failed| failed.error.into())
}

/// Converts a failed reply to a call on the execution of a task into a JSON-RPC error.
pub(super) fn of_reply(reply: &Reply, task_id: &str) -> RpcError {
    match reply.code {
        Some(ErrorCode::NotFoundResource) => unknown_task(task_id),
        _ => refusal(reply),
    }
}
