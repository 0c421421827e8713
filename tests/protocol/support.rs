//! Helpers for calling an adapter. Use `call` for one operation, and `ask` if your test needs other arguments.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};

use mcp_aql::audit::AuditSink;
use mcp_aql::transport::{CallScope, Endpoint};
use mcp_aql::{Adapter, BoxFuture, Session};
use serde_json::{Value, json};

use crate::shape;

/// Collects the lines of the audit log.
#[derive(Clone, Default)]
pub(crate) struct AuditLines(pub(crate) Arc<Mutex<Vec<Value>>>);

impl AuditSink for AuditLines {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        self.0.lock().unwrap().push(serde_json::from_str(line).unwrap());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Runs a future to completion on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime starts")
        .block_on(future)
}

/// Returns the endpoint of a family.
pub(crate) fn family(adapter: &Adapter, name: &str) -> Endpoint {
    let families = adapter.profile().families();
    let place = families.iter().position(|family| family.name() == name);
    Endpoint::Family(place.expect("the family exists"))
}

/// Sends the arguments of a tool call to the unified endpoint.
pub(crate) fn ask(adapter: &Adapter, arguments: Value) -> Value {
    ask_through(adapter, Endpoint::Unified, arguments)
}

/// Sends the arguments of a tool call to an endpoint.
pub(crate) fn ask_through(adapter: &Adapter, endpoint: Endpoint, arguments: Value) -> Value {
    ask_in(adapter, endpoint, arguments, CallScope::default())
}

/// Sends the arguments of a tool call in a session.
pub(crate) fn ask_with_session(adapter: &Adapter, session: &Session, arguments: Value) -> Value {
    let scope = CallScope { session: Some(session.clone()), ..CallScope::default() };
    ask_in(adapter, Endpoint::Unified, arguments, scope)
}

/// Sends the arguments of a tool call, and checks the form of the reply.
pub(crate) fn ask_in(
    adapter: &Adapter,
    endpoint: Endpoint,
    arguments: Value,
    scope: CallScope,
) -> Value {
    let Value::Object(arguments) = arguments else { panic!("tool arguments are an object") };
    let asked = Value::from(arguments.clone());
    let reply = block_on(adapter.handle(endpoint, arguments, scope));
    shape::checked(&asked, &reply)
}

/// Calls an operation.
///
/// If your test needs `_request_id` or a batch, use [`ask`] instead.
///
/// ```json
/// { "operation": "get_task", "params": { "task_id": "t-1" } }
/// ```
pub(crate) fn call(adapter: &Adapter, operation: &str, params: Value) -> Value {
    ask(adapter, json!({ "operation": operation, "params": params }))
}

/// Returns the data of a reply. Panics if the call failed.
#[track_caller]
pub(crate) fn data(reply: Value) -> Value {
    assert_eq!(reply["success"], true, "{reply}");
    reply["data"].clone()
}

/// Returns the error code of a reply, or `None` on success.
pub(crate) fn code(reply: &Value) -> Option<&str> {
    reply["error"]["code"].as_str()
}

/// Returns the error message of a reply. Panics on success.
#[track_caller]
pub(crate) fn message(reply: &Value) -> &str {
    reply["error"]["message"].as_str().expect("a failure has a message")
}

/// Returns the error details of a reply.
pub(crate) fn details(reply: &Value) -> &Value {
    &reply["error"]["details"]
}

/// Returns the sorted names of an object's members.
#[track_caller]
pub(crate) fn names(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> =
        object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Returns the member `name` of each entry in a list.
#[track_caller]
pub(crate) fn entry_names(list: &Value) -> Vec<&str> {
    let entries = list.as_array().expect("a list");
    entries.iter().map(|entry| entry["name"].as_str().expect("a name")).collect()
}
