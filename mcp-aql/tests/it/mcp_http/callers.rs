//! Tests of the extensions of HTTP requests: operations can read values set by middleware.

use axum::extract::Request;
use mcp_aql::prelude::*;
use mcp_aql::{AdapterBuilder, HttpOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::{Server, newest};

/// The user in the header `X-User`.
#[derive(Clone)]
struct User(String);

fn user(context: &Context) -> String {
    context.extension::<User>().map_or_else(|| "nobody".to_owned(), |user| user.0.clone())
}

/// Return the caller's name.
#[operation(category = "READ", rationale = "it stores nothing")]
async fn get_user(context: Context) -> String {
    context.progress(1.0, None, "read").await;
    user(&context)
}

/// Create nothing, and return the caller's name.
#[operation(category = "CREATE")]
fn create_nothing(context: Context) -> String {
    user(&context)
}

/// Record the caller's name in the background. The first attempt fails.
#[operation(category = "EXECUTE", lifecycle(retry))]
async fn execute_record(
    context: Context,
    /// Whether to fail.
    fails: bool,
) -> Result<String, mcp_aql::OperationError> {
    match fails && user(&context) == "Ada" {
        true => Err(mcp_aql::OperationError::not_found("user", "Ada")),
        false => Ok(user(&context)),
    }
}

fn builder() -> AdapterBuilder {
    Adapter::builder("users")
        .operation(get_user {})
        .operation(create_nothing {})
        .operation(execute_record {})
}

async fn set_user(mut request: Request) -> Request {
    let name = request.headers().get("x-user").and_then(|name| name.to_str().ok());
    if let Some(user) = name.map(|name| User(name.to_owned())) {
        request.extensions_mut().insert(user);
    }
    request
}

/// Starts a server whose middleware sets the user.
async fn start() -> Server {
    let adapter = builder().without_config().build().unwrap();
    let router = adapter.router(&HttpOptions::new()).layer(axum::middleware::map_request(set_user));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let done = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        Ok(axum::serve(listener, router).with_graceful_shutdown(stopped).await?)
    });
    Server { address, stop, done }
}

/// Returns a call of a tool, with a progress token if one is given.
///
/// ```json
/// { "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "_meta": { "progressToken": "p" },
///     "name": "mcp_aql_read", "arguments": { "operation": "get_user", "params": {} } } }
/// ```
fn call(tool: &str, operation: &str, params: Value, progress: Option<&str>) -> Value {
    let mut call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": { "operation": operation, "params": params } } });
    if let Some(token) = progress {
        call["params"]["_meta"] = json!({ "progressToken": token });
    }
    call
}

/// Returns the data of the only reply in an answer.
fn data(answer: &str) -> Value {
    let at = answer.find("\"text\":").unwrap_or_else(|| panic!("{answer}"));
    let text = serde_json::Deserializer::from_str(&answer[at + "\"text\":".len()..])
        .into_iter::<String>()
        .next();
    let reply: Value = serde_json::from_str(&text.unwrap().unwrap()).unwrap();
    assert_eq!(reply["success"], true, "{reply}");
    reply["data"].clone()
}

#[tokio::test]
async fn extensions_of_requests_reach_operations_of_sessions() {
    let server = start().await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let id = server.session(version).await;
        for name in ["Ada", "Grace"] {
            let headers = [("Mcp-Session-Id", &*id), ("X-User", name)];
            for (tool, operation) in
                [("mcp_aql_read", "get_user"), ("mcp_aql_create", "create_nothing")]
            {
                for progress in [None, Some("p")] {
                    let call = call(tool, operation, json!({}), progress);
                    let (_, answer) = server.post(&headers, call.to_string()).await;
                    assert_eq!(data(&answer), name, "{version} {operation} {progress:?}");
                    // This is a batch of MCP-AQL.
                    let mut batch = call.clone();
                    batch["params"]["arguments"] =
                        json!({ "operations": [{ "operation": operation }] });
                    let (_, answer) = server.post(&headers, batch.to_string()).await;
                    assert!(answer.contains(name), "{answer}");
                    if version == "2025-03-26" {
                        let (_, answer) = server.post(&headers, json!([call]).to_string()).await;
                        assert_eq!(data(&answer), name, "{version} {operation} {progress:?}");
                    }
                }
            }
        }
        let (_, answer) = server
            .post(
                &[("Mcp-Session-Id", &*id)],
                call("mcp_aql_read", "get_user", json!({}), None).to_string(),
            )
            .await;
        assert_eq!(data(&answer), "nobody");
    }
}

#[tokio::test]
async fn extensions_of_requests_reach_operations_without_sessions() {
    let server = start().await;
    for progress in [false, true] {
        let (headers, body) = newest("get_user");
        let mut body: Value = serde_json::from_str(&body).unwrap();
        if progress {
            body["params"]["_meta"]["progressToken"] = "p".into();
        }
        let headers = [headers[0], headers[1], headers[2], ("X-User", "Ada")];
        let (_, answer) = server.post(&headers, body.to_string()).await;
        assert_eq!(data(&answer), "Ada");
    }
}

#[tokio::test]
async fn executions_have_the_extensions_of_the_request_that_began_them() {
    let server = start().await;
    let id = server.session("2025-11-25").await;
    let ask = async |name: &str, tool: &str, operation: &str, params: Value| {
        let headers = [("Mcp-Session-Id", &*id), ("X-User", name)];
        data(&server.post(&headers, call(tool, operation, params, None).to_string()).await.1)
    };
    let begun = ask("Ada", "mcp_aql_execute", "execute_record", json!({ "fails": true })).await;
    let execution = json!({ "execution_id": begun["execution_id"] });
    let mut wait = execution.clone();
    wait["wait_seconds"] = 5.into();
    let failed = ask("Grace", "mcp_aql_read", "get_execution", wait.clone()).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    ask("Grace", "mcp_aql_execute", "retry_execution", execution).await;
    let ended = ask("Ada", "mcp_aql_read", "get_execution", wait).await;
    assert_eq!((&ended["status"], &ended["result"]), (&json!("completed"), &json!("Grace")));
}

#[tokio::test]
async fn an_adapter_with_an_extension_passes_it_to_every_call() {
    let adapter = builder().without_config().build().unwrap();
    let (client, server) = tokio::io::duplex(1 << 16);
    let serving = adapter.with_extension(User("Ada".to_owned()));
    tokio::spawn(async move { serving.serve(server).await });
    let client = rmcp::ServiceExt::serve((), client).await.unwrap();
    assert_eq!(super::call(&client, "get_user").await["data"], "Ada");
    // The other clones are not affected.
    assert_eq!(adapter.call("get_user", json!({})).await.data(), "nobody");
}
