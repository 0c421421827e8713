//! Tests of executions as tasks of MCP over HTTP.

use std::time::Duration;

use mcp_aql::HttpOptions;
use mcp_aql::auth::{Principal, StaticTokens};
use mcp_aql::transport::HttpSettings;
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, ClientConfig,
    GetTaskParams, ProtocolVersion, TaskStatus, UpdateTaskParams,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::{Server, hello, start};
use crate::support::works::{Gate, works};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The maximum time for an answer. It is only reached in a failing test.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

async fn serving() -> (Server, Gate) {
    let (builder, gate) = works();
    (start(builder, HttpOptions::new()).await, gate)
}

/// Returns the JSON-RPC message with an id in an answer. Notifications of progress may precede it.
fn message(answer: &str) -> Value {
    let lines = answer.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.find(|message| message.get("id").is_some()).unwrap_or_else(|| panic!("{answer}"))
}

fn request(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn call(operation: &str, params: Value) -> Value {
    let family = if operation == "count_beds" { "read" } else { "execute" };
    json!({ "name": format!("mcp_aql_{family}"), "task": {},
        "arguments": { "operation": operation, "params": params } })
}

fn reply(result: &Value) -> Value {
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// A session of a client with hand-written requests.
struct Session<'a> {
    server: &'a Server,
    headers: Vec<(&'static str, String)>,
    /// The result of `initialize`.
    hello: Value,
}

impl<'a> Session<'a> {
    async fn open(server: &'a Server, version: &str, bearer: Option<&str>) -> Self {
        let mut headers = Vec::new();
        headers.extend(bearer.map(|token| ("Authorization", format!("Bearer {token}"))));
        let mut session = Self { server, headers, hello: Value::Null };
        let answer = session.post(hello().replace("2025-11-25", version)).await;
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        session
            .headers
            .push(("Mcp-Session-Id", id.unwrap_or_else(|| panic!("{answer}")).to_owned()));
        session.hello = message(&answer)["result"].take();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        session.post(ready.to_string()).await;
        session
    }

    async fn post(&self, body: String) -> String {
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (*name, &**value)).collect();
        tokio::time::timeout(ANSWER_TIMEOUT, self.server.post(&headers, body)).await.unwrap().1
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        message(&self.post(request(method, &params)).await)
    }

    async fn start(&self, operation: &str, params: Value) -> String {
        let answer = self.ask("tools/call", call(operation, params)).await;
        answer["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    async fn on_task(&self, method: &str, id: &str) -> Value {
        self.ask(method, json!({ "taskId": id })).await
    }
}

#[tokio::test]
async fn a_session_has_the_tasks_of_its_version() {
    // REQ-LIF-04
    let (server, gate) = serving().await;
    let session = Session::open(&server, "2025-11-25", None).await;
    let capability = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    assert_eq!(session.hello["capabilities"], json!({ "tools": {}, "tasks": capability }));
    assert_eq!(session.hello["serverInfo"]["name"], "works");
    let tools = session.ask("tools/list", json!({})).await["result"]["tools"].take();
    for tool in tools.as_array().unwrap() {
        let support =
            (tool["name"] == "mcp_aql_execute").then(|| json!({ "taskSupport": "optional" }));
        assert_eq!(tool.get("execution"), support.as_ref(), "{tool}");
    }

    let id = session.start("execute_export", json!({})).await;
    let state = session.on_task("tasks/get", &id).await["result"].take();
    assert_eq!((&state["taskId"], &state["status"]), (&json!(id), &json!("working")));
    assert!(state.get("resultType").is_none() && state["ttl"].is_null(), "{state}");
    let (result, ()) =
        tokio::join!(session.on_task("tasks/result", &id), async { gate.add_permits(1) });
    assert_eq!(reply(&result["result"])["data"]["result"], 7, "{result}");
    assert_eq!(result["result"]["_meta"], json!({ RELATED: { "taskId": id } }));
    let listed = session.ask("tasks/list", json!({})).await["result"].take();
    assert_eq!(listed["tasks"][0], session.on_task("tasks/get", &id).await["result"]);

    let id = session.start("execute_export", json!({})).await;
    assert_eq!(session.on_task("tasks/cancel", &id).await["result"]["status"], "cancelled");
    assert_eq!(session.on_task("tasks/cancel", &id).await["error"]["code"], -32602);
    let refused = session.ask("tools/call", call("execute_fire", json!({}))).await;
    assert_eq!(refused["error"]["data"]["code"], "CONFIRMATION_REQUIRED", "{refused}");
    let refused = session.ask("tools/call", call("count_beds", json!({}))).await;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    for (method, params, code) in [
        ("tasks/get", json!({ "taskId": "exec_1" }), -32602),
        ("tasks/get", json!({}), -32602),
        ("tasks/get", json!({ "taskId": 7 }), -32602),
        ("tasks/update", json!({ "taskId": id, "inputResponses": {} }), -32601),
    ] {
        let answer = session.ask(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    // Calls without `task` are ordinary calls.
    let mut ordinary = call("count_beds", json!({}));
    ordinary.as_object_mut().unwrap().remove("task");
    assert_eq!(reply(&session.ask("tools/call", ordinary).await["result"])["data"], 3);
}

#[tokio::test]
async fn other_sessions_have_no_tasks() {
    let (server, _) = serving().await;
    let session = Session::open(&server, "2025-06-18", None).await;
    assert_eq!(session.hello["capabilities"], json!({ "tools": {} }));
    let tools = session.ask("tools/list", json!({})).await["result"].to_string();
    assert!(!tools.contains("taskSupport"), "{tools}");
    let answer = session.ask("tools/call", call("count_beds", json!({}))).await;
    assert_eq!(reply(&answer["result"])["data"], 3);
    for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"] {
        let params = json!({ "taskId": "exec_1", "inputResponses": {} });
        assert_eq!(session.ask(method, params).await["error"]["code"], -32601, "{method}");
    }
    // Without sessions, no capability is declared, and `task` has no effect.
    let server = start(
        works().0,
        HttpOptions::new().settings(HttpSettings { stateless: true, ..HttpSettings::default() }),
    )
    .await;
    let answer = message(&server.post(&[], hello()).await.1);
    assert_eq!(answer["result"]["capabilities"], json!({ "tools": {} }), "{answer}");
    let headers = [("MCP-Protocol-Version", "2025-11-25")];
    let body = request("tools/call", &call("count_beds", json!({})));
    assert_eq!(reply(&message(&server.post(&headers, body).await.1)["result"])["data"], 3);
}

#[tokio::test]
async fn progress_and_the_end_of_a_task_arrive_on_the_sessions_stream() {
    // REQ-MCP-13
    let (server, gate) = serving().await;
    let session = Session::open(&server, "2025-11-25", None).await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (read, mut write) = stream.into_split();
    let id = &session.headers[0].1;
    let listen = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {id}\r\n\r\n",
        server.address
    );
    write.write_all(listen.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(read).lines();
    while !lines.next_line().await.unwrap().unwrap().is_empty() {}

    let mut params = call("execute_export", json!({}));
    params["_meta"] = json!({ "progressToken": "p" });
    let created = session.ask("tools/call", params).await["result"]["task"].take();
    gate.add_permits(1);
    let mut progress = 0;
    let task = loop {
        let line = tokio::time::timeout(ANSWER_TIMEOUT, lines.next_line()).await.unwrap();
        let line = line.unwrap().unwrap();
        let Some(event) = line.strip_prefix("data: ").filter(|data| data.starts_with('{')) else {
            continue;
        };
        let mut event: Value = serde_json::from_str(event).unwrap();
        let params = event["params"].take();
        match event["method"].as_str() {
            Some("notifications/progress") => {
                let related = json!({ RELATED: { "taskId": created["taskId"] } });
                assert_eq!((&params["progressToken"], &params["_meta"]), (&json!("p"), &related));
                progress += 1;
            }
            Some("notifications/tasks/status") => break params,
            other => panic!("{other:?}"),
        }
    };
    assert!(progress > 0);
    let state = session.on_task("tasks/get", created["taskId"].as_str().unwrap()).await;
    assert_eq!(task, state["result"]);
    assert_eq!(task["status"], "completed");
}

fn tokens() -> StaticTokens {
    let all = ["works:read", "works:execute"];
    let named = |name: &str| Principal::new("operator", name).with_scopes(all);
    StaticTokens::new()
        .token("ada-1", named("ada"))
        .token("ada-2", named("ada"))
        .token("eve-1", named("eve"))
        .token("reader", Principal::new("operator", "reader").with_scopes(["works:read"]))
}

#[tokio::test]
async fn a_task_belongs_to_its_principal() {
    let (builder, gate) = works();
    let server = start(builder, HttpOptions::new().authenticator(tokens())).await;
    let ada = Session::open(&server, "2025-11-25", Some("ada-1")).await;
    let again = Session::open(&server, "2025-11-25", Some("ada-2")).await;
    let eve = Session::open(&server, "2025-11-25", Some("eve-1")).await;
    let id = ada.start("execute_export", json!({})).await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let foreign = eve.on_task(method, &id).await;
        let unknown = eve.on_task(method, &format!("{}0", &id[..id.len() - 1])).await;
        let same = |answer: &Value, id: &str| answer.to_string().replace(id, "ID");
        assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
        let other =
            unknown["error"]["message"].as_str().unwrap().split('\'').nth(1).unwrap().to_owned();
        assert_eq!(same(&foreign, &id), same(&unknown, &other), "{method}");
    }
    assert_eq!(eve.ask("tasks/list", json!({})).await["result"]["tasks"], json!([]));
    // All sessions of the principal have the same tasks.
    assert_eq!(again.on_task("tasks/get", &id).await["result"]["status"], "working");
    assert_eq!(
        again.ask("tasks/list", json!({})).await["result"]["tasks"][0]["taskId"],
        id.as_str()
    );
    gate.add_permits(1);
    let result = again.on_task("tasks/result", &id).await;
    assert_eq!(reply(&result["result"])["data"]["result"], 7);

    // A caller without the scope of an operation is rejected as for any other call.
    let reader = Session::open(&server, "2025-11-25", Some("reader")).await;
    let refused = reader.ask("tools/call", call("execute_export", json!({}))).await;
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    assert_eq!(reader.ask("tasks/list", json!({})).await["result"]["tasks"], json!([]));
}

/// Returns a request of MCP 2026-07-28 with the extension: its headers and body.
fn extended(
    method: &'static str,
    name: &str,
    mut params: Value,
) -> (Vec<(&'static str, String)>, String) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "extensions": { EXTENSION: {} } },
    });
    let headers = vec![
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", method.to_owned()),
        ("Mcp-Name", name.to_owned()),
    ];
    (headers, request(method, &params))
}

impl Server {
    async fn ask_extended(
        &self,
        bearer: Option<&str>,
        method: &'static str,
        name: &str,
        params: Value,
    ) -> Value {
        let (mut headers, body) = extended(method, name, params);
        headers.extend(bearer.map(|token| ("Authorization", format!("Bearer {token}"))));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        message(&self.post(&headers, body).await.1)
    }
}

#[tokio::test]
async fn a_stateless_task_belongs_to_its_principal() {
    let (builder, gate) = works();
    let server = start(builder, HttpOptions::new().authenticator(tokens())).await;
    let mut params = call("execute_export", json!({}));
    params.as_object_mut().unwrap().remove("task");
    let tool = "mcp_aql_execute";
    let created =
        server.ask_extended(Some("ada-1"), "tools/call", tool, params).await["result"].take();
    assert_eq!(created["resultType"], "task", "{created}");
    let id = created["taskId"].as_str().unwrap();
    let named = json!({ "taskId": id });
    for method in ["tasks/get", "tasks/cancel"] {
        let foreign = server.ask_extended(Some("eve-1"), method, id, named.clone()).await;
        assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    }
    let state =
        server.ask_extended(Some("ada-2"), "tasks/get", id, named.clone()).await["result"].take();
    assert_eq!((&state["resultType"], &state["status"]), (&json!("complete"), &json!("working")));
    assert!(state["ttlMs"].is_null() && state["pollIntervalMs"].is_u64(), "{state}");
    gate.add_permits(1);
    let state = loop {
        let state = server.ask_extended(Some("ada-2"), "tasks/get", id, named.clone()).await;
        if state["result"]["status"] != "working" {
            break state["result"].clone();
        }
    };
    assert_eq!(state["status"], "completed", "{state}");
    assert_eq!(reply(&state["result"])["data"]["result"], 7);
    assert_eq!(state["result"].get("_meta"), None);
    for (method, params, code) in [
        ("tasks/cancel", named.clone(), Value::Null),
        ("tasks/update", json!({ "taskId": id, "inputResponses": {} }), Value::Null),
        ("tasks/update", json!({ "taskId": id, "inputResponses": 7 }), json!(-32602)),
        ("tasks/list", json!({}), json!(-32601)),
        ("tasks/result", named, json!(-32601)),
    ] {
        let answer = server.ask_extended(Some("ada-1"), method, id, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
}

/// A client that supports the extension.
struct Extended;

impl ClientHandler for Extended {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.capabilities = ClientCapabilities::builder().enable_tasks().build();
        config
    }
}

#[tokio::test]
async fn a_third_party_client_follows_a_task() {
    // REQ-LIF-04
    let (server, gate) = serving().await;
    let transport =
        StreamableHttpClientTransport::from_uri(format!("http://{}/mcp", server.address));
    let lifecycle =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = Extended.serve_with_lifecycle(transport, lifecycle).await.unwrap();
    let arguments = json!({ "operation": "execute_export" }).as_object().unwrap().clone();
    let params = || CallToolRequestParams::new("mcp_aql_execute").with_arguments(arguments.clone());
    for expected in [TaskStatus::Completed, TaskStatus::Cancelled] {
        let answer = client.call_tool_once(params()).await.unwrap();
        let CallToolResponse::Task(created) = answer else { panic!("{answer:?}") };
        let id = created.task.task_id;
        client.update_task(UpdateTaskParams::new(&id, Default::default())).await.unwrap();
        match expected {
            TaskStatus::Completed => gate.add_permits(1),
            _ => client.cancel_task(CancelTaskParams::new(&id)).await.unwrap(),
        }
        let ended = loop {
            let state = client.get_task(GetTaskParams::new(&id)).await.unwrap();
            if state.task.status().is_terminal() {
                break state.task.status();
            }
        };
        assert_eq!(ended, expected);
    }
    client.cancel().await.unwrap();
}
