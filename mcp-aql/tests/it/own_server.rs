//! An adapter's tools inside a server that is built with rmcp, over a stream and in HTTP sessions.

use std::sync::{Arc, Mutex};

use mcp_aql::AdapterBuilder;
use mcp_aql::auth::Principal;
use mcp_aql::observe::CallEvent;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Cancellation, McpTools};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, ListPromptsResult, ListToolsResult,
    PaginatedRequestParams, Prompt, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, from_value, json};

type Paging = Option<PaginatedRequestParams>;
type CallContext = RequestContext<RoleServer>;

/// A server with a prompt of its own and the tools of an adapter, as in the chapter on embedding.
struct Shop(McpTools);

impl ServerHandler for Shop {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_prompts().build())
    }
    async fn list_prompts(
        &self,
        _: Paging,
        _: CallContext,
    ) -> Result<ListPromptsResult, ErrorData> {
        let restock = Prompt::new("restock", Some("Order what runs out."), None);
        Ok(ListPromptsResult::with_all_items(vec![restock]))
    }
    async fn list_tools(&self, _: Paging, _: CallContext) -> Result<ListToolsResult, ErrorData> {
        from_value(self.0.list())
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: CallContext,
    ) -> Result<CallToolResponse, ErrorData> {
        let scope = Cancellation::from(context.ct).into();
        let result = self.0.call(&call.name, call.arguments.unwrap_or_default(), scope).await;
        let result =
            result.map_err(|it| ErrorData::new(ErrorCode(it.code), it.message, it.data))?;
        let result = from_value(result).map(CallToolResponse::Complete);
        result.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// Return the number of apples in stock.
#[operation(category = "READ")]
fn count_apples() -> u32 {
    12
}

/// Throw the apples away.
#[operation(category = "DELETE", danger(level = "destructive"))]
fn discard_apples() -> String {
    "gone".to_owned()
}

fn builder() -> AdapterBuilder {
    let builder = Adapter::builder("shop").without_config();
    builder.operation(count_apples {}).operation(discard_apples {})
}

fn tools() -> McpTools {
    McpTools::new(&builder().build().unwrap())
}

type Client = RunningService<RoleClient, ()>;

async fn call(client: &Client, tool: &'static str, arguments: Value) -> Value {
    let arguments = arguments.as_object().cloned().unwrap();
    let request = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = client.call_tool(request).await.unwrap();
    reply_in(&serde_json::to_value(result).unwrap())
}

/// Parses the reply of the adapter in a result of MCP.
fn reply_in(result: &Value) -> Value {
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// Checks what a client sees, and returns the token that confirms a deletion in its session.
async fn check(client: &Client) -> String {
    let prompts = client.list_all_prompts().await.unwrap();
    assert_eq!(prompts[0].name, "restock");
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert!(names.contains(&"mcp_aql_read") && names.len() == 5, "{names:?}");
    let reply = call(client, "mcp_aql_read", json!({ "operation": "count_apples" })).await;
    assert_eq!(reply, json!({ "success": true, "data": 12 }));
    let unknown = client.call_tool(CallToolRequestParams::new("count_apples")).await.unwrap_err();
    assert!(unknown.to_string().contains("-32602"), "{unknown}");
    let asked = call(client, "mcp_aql_delete", json!({ "operation": "discard_apples" })).await;
    assert_eq!(asked["error"]["code"], "CONFIRMATION_REQUIRED", "{asked}");
    asked["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned()
}

/// Confirms a deletion.
async fn confirm(client: &Client, token: &str) -> Value {
    call(client, "mcp_aql_delete", confirmation(token)).await
}

fn confirmation(token: &str) -> Value {
    json!({ "operation": "discard_apples", "params": { "_confirmation": token } })
}

fn discarded() -> Value {
    json!({ "success": true, "data": "gone" })
}

#[tokio::test]
async fn the_tools_are_those_of_the_adapter() {
    // REQ-MCP-01
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async { Shop(tools()).serve(far).await.unwrap().waiting().await });
    let client = ().serve(near).await.unwrap();
    let token = check(&client).await;
    assert_eq!(confirm(&client, &token).await, discarded());
    client.cancel().await.unwrap();
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn each_session_over_http_has_its_own_confirmations() {
    // REQ-SES-01, REQ-TOK-07
    let tools = tools();
    let service = StreamableHttpService::new(
        move || Ok(Shop(tools.new_session())),
        LocalSessionManager::default().into(),
        Default::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().nest_service("/mcp", service);
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let connect =
        || async { ().serve(StreamableHttpClientTransport::from_uri(&*uri)).await.unwrap() };
    let (first, second) = (connect().await, connect().await);
    let token = check(&first).await;
    assert_eq!(confirm(&second, &token).await["error"]["code"], "TOKEN_SCOPE_MISMATCH");
    assert_eq!(confirm(&first, &token).await, discarded());
    server.abort();
}

/// Calls a tool for a caller in a request without a session.
async fn request(tools: &McpTools, caller: &Principal, arguments: Value) -> Value {
    let mut scope = CallScope::default();
    scope.extensions.insert(caller.clone());
    let arguments = arguments.as_object().cloned().unwrap();
    reply_in(&tools.new_request().call("mcp_aql_delete", arguments, scope).await.unwrap())
}

#[tokio::test]
async fn requests_without_a_session_belong_to_their_principal() {
    // REQ-TOK-07
    let tools = tools();
    let [ada, ben] = ["ada", "ben"]
        .map(|subject| Principal::new("shop", subject).with_scopes(["shop:delete".to_owned()]));
    let asked = request(&tools, &ada, json!({ "operation": "discard_apples" })).await;
    let token = asked["error"]["details"]["confirmation_token"].as_str().unwrap();
    let foreign = request(&tools, &ben, confirmation(token)).await;
    assert_eq!(foreign["error"]["code"], "TOKEN_SCOPE_MISMATCH", "{foreign}");
    assert_eq!(request(&tools, &ada, confirmation(token)).await, discarded());
    // Ada may only delete, so the other tools are not hers.
    let listed = tools.list_for(&ada);
    let names = listed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]);
    let names: Vec<_> = names.collect();
    assert!(tools.contains("mcp_aql_create") && !names.contains(&&json!("mcp_aql_create")));
    assert!(names.contains(&&json!("mcp_aql_delete")), "{names:?}");
}

#[tokio::test]
async fn a_session_ends_with_its_value_and_a_call_when_it_is_cancelled() {
    // REQ-SES-01, REQ-TOK-07
    let seen = Arc::new(Mutex::new(None));
    let last = Arc::clone(&seen);
    let keep = move |event: &CallEvent<'_>| *last.lock().unwrap() = event.scope.session.clone();
    let tools = McpTools::new(&builder().observe(keep).build().unwrap());
    let session = tools.new_session();
    let call = json!({ "operation": "discard_apples" }).as_object().cloned().unwrap();
    let asked = session.call("mcp_aql_delete", call, CallScope::default()).await.unwrap();
    let asked = reply_in(&asked);
    let token = asked["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
    let opened = seen.lock().unwrap().clone().unwrap();
    assert!(!opened.has_ended());
    drop(session);
    assert!(opened.has_ended());
    let arguments = confirmation(&token).as_object().cloned().unwrap();
    let late = tools.call("mcp_aql_delete", arguments, CallScope::default()).await.unwrap();
    let late = reply_in(&late);
    assert_eq!(late["error"]["code"], "TOKEN_SCOPE_MISMATCH", "{late}");

    let cancellation = Cancellation::default();
    cancellation.cancel();
    let call = json!({ "operation": "count_apples" }).as_object().cloned().unwrap();
    let result = tools.call("mcp_aql_read", call, cancellation.into()).await.unwrap();
    let reply = reply_in(&result);
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("the call was cancelled before it ended"), "{message}");
}
