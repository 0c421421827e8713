//! Tests of executions as tasks of MCP over a stream.
//!
//! MCP 2025-11-25 is tested with hand-written messages, and the extension of MCP 2026-07-28 with rmcp's client.

use std::time::Duration;

use crate::support::works::{Gate, works};
use mcp_aql::prelude::*;
use mcp_aql::store::MemoryState;
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientConfig, GetTaskParams,
    GetTaskResult, ProtocolVersion, TaskPayload, TaskStatus, UpdateTaskParams,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService, ServiceError,
};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The maximum time for a message. It is only reached in a failing test.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// A client with hand-written messages.
struct Wire {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    next_id: u64,
    /// The notifications that were received before an answer.
    notifications: Vec<Value>,
}

impl Wire {
    fn open(adapter: &Adapter) -> Self {
        let (server, client) = tokio::io::duplex(1 << 20);
        let adapter = adapter.clone();
        tokio::spawn(async move { adapter.serve(server).await });
        let (read, write) = tokio::io::split(client);
        let lines = BufReader::new(read).lines();
        Self { lines, write, next_id: 1, notifications: Vec::new() }
    }

    /// Opens a connection with this version of MCP, and performs the handshake.
    async fn initialized(adapter: &Adapter, version: &str) -> (Self, Value) {
        Self::with_capabilities(adapter, version, json!({})).await
    }

    async fn with_capabilities(
        adapter: &Adapter,
        version: &str,
        capabilities: Value,
    ) -> (Self, Value) {
        let mut wire = Self::open(adapter);
        let params = json!({ "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" } });
        let hello = wire.ask("initialize", params).await["result"].take();
        wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        (wire, hello)
    }

    async fn send(&mut self, message: Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(ANSWER_TIMEOUT, self.lines.next_line()).await;
        serde_json::from_str(&line.unwrap().unwrap().unwrap()).unwrap()
    }

    async fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(request).await;
        id
    }

    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
            assert_eq!(message.get("id"), None, "{message}");
            self.notifications.push(message);
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.answer(id).await
    }

    /// Calls an operation as a task.
    async fn call(&mut self, operation: &str, params: Value) -> Value {
        self.ask("tools/call", call(operation, params)).await
    }

    /// Starts a task. Returns its id.
    async fn start(&mut self, operation: &str, params: Value) -> String {
        let answer = self.call(operation, params).await;
        answer["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    async fn on_task(&mut self, method: &str, id: &str) -> Value {
        self.ask(method, json!({ "taskId": id })).await
    }

    /// Waits for a notification with this method, and removes it from the received ones.
    async fn notification(&mut self, method: &str) -> Value {
        loop {
            if let Some(place) = self.notifications.iter().position(|it| it["method"] == method) {
                return self.notifications.remove(place)["params"].take();
            }
            let message = self.receive().await;
            self.notifications.push(message);
        }
    }
}

fn call(operation: &str, params: Value) -> Value {
    let family = if operation == "count_beds" { "read" } else { "execute" };
    json!({ "name": format!("mcp_aql_{family}"), "task": { "ttl": 60_000 },
        "arguments": { "operation": operation, "params": params } })
}

/// Returns the reply in a tool's result.
fn reply(result: &Value) -> Value {
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

fn code(answer: &Value) -> &Value {
    &answer["error"]["code"]
}

fn adapter() -> (Adapter, Gate) {
    let (builder, gate) = works();
    (builder.without_config().build().unwrap(), gate)
}

#[tokio::test]
async fn the_capability_belongs_to_its_version() {
    let (adapter, _) = adapter();
    let tasks = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    for (version, expected) in [("2025-11-25", Some(&tasks)), ("2025-06-18", None)] {
        let (mut wire, hello) = Wire::initialized(&adapter, version).await;
        assert_eq!(hello["capabilities"].get("tasks"), expected, "{version}");
        assert_eq!(hello["capabilities"].get("extensions"), None, "{version}");
        let tools = wire.ask("tools/list", json!({})).await["result"]["tools"].take();
        for tool in tools.as_array().unwrap() {
            let supports = expected.is_some() && tool["name"] == "mcp_aql_execute";
            let support = supports.then(|| json!({ "taskSupport": "optional" }));
            assert_eq!(tool.get("execution"), support.as_ref(), "{tool}");
        }
    }
    let (mut wire, _) = Wire::initialized(&adapter, "2025-06-18").await;
    // Without the capability, the request for a task has no effect.
    let answer = wire.call("count_beds", json!({})).await;
    assert_eq!(reply(&answer["result"])["data"], 3);
    for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"] {
        assert_eq!(*code(&wire.on_task(method, "exec_1").await), -32601, "{method}");
    }
    let plain = Adapter::builder("plain").without_config().build().unwrap();
    let (mut wire, hello) = Wire::initialized(&plain, "2025-11-25").await;
    assert_eq!(hello["capabilities"], json!({ "tools": {} }));
    assert_eq!(*code(&wire.on_task("tasks/get", "exec_1").await), -32601);
}

#[tokio::test]
async fn a_task_has_the_result_of_its_execution() {
    // REQ-LIF-04
    let (adapter, gate) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    let created = wire.call("execute_export", json!({})).await["result"]["task"].take();
    let id = created["taskId"].as_str().unwrap().to_owned();
    assert_eq!((&created["status"], &created["ttl"]), (&json!("working"), &Value::Null));
    assert_eq!(created["createdAt"], created["lastUpdatedAt"]);

    let result = wire.request("tasks/result", json!({ "taskId": id })).await;
    let state = wire.on_task("tasks/get", &id).await["result"].take();
    assert_eq!(state["status"], "working", "{state}");
    assert_eq!(state["createdAt"], created["createdAt"]);
    assert!(state["pollInterval"].is_u64());
    gate.add_permits(1);
    let result = wire.answer(result).await["result"].take();
    assert_eq!(result["_meta"], json!({ RELATED: { "taskId": id } }));
    assert_eq!(result["isError"], false);
    let state = wire.on_task("tasks/get", &id).await["result"].take();
    assert_eq!(state["status"], "completed");
    assert!(state["ttl"].as_u64().unwrap() >= 24 * 60 * 60 * 1_000, "{state}");
    assert_eq!(state.get("_meta"), None);

    // The operation on the execution returns the same reply.
    let mut params = call("get_execution", json!({ "execution_id": id }));
    params.as_object_mut().unwrap().remove("task");
    params["name"] = "mcp_aql_read".into();
    let same = wire.ask("tools/call", params).await;
    assert_eq!(same["result"]["content"], result["content"]);
    assert_eq!(reply(&result)["data"]["result"], 7);
    assert_eq!(wire.on_task("tasks/result", &id).await["result"], result);
}

#[tokio::test]
async fn a_failure_ends_a_task_and_a_retry_is_another_one() {
    // REQ-LIF-03, REQ-LIF-05
    let (adapter, gate) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    gate.add_permits(1);
    let id = wire.start("execute_export", json!({ "fails": true })).await;
    let failed = reply(&wire.on_task("tasks/result", &id).await["result"])["data"].take();
    assert_eq!(failed["error"]["code"], "NOT_FOUND_RESOURCE", "{failed}");
    let state = wire.on_task("tasks/get", &id).await["result"].take();
    assert_eq!(
        (&state["status"], &state["statusMessage"]),
        (&json!("failed"), &failed["error"]["message"])
    );

    let retry = wire.start("retry_execution", json!({ "execution_id": id })).await;
    assert_eq!(retry, format!("{id}.2"));
    // A task that has ended does not start again. It no longer exists.
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(*code(&wire.on_task(method, &id).await), -32602, "{method}");
    }
    let listed = wire.ask("tasks/list", json!({})).await["result"].take();
    assert_eq!(listed["tasks"][0]["taskId"], retry.as_str(), "{listed}");
    gate.add_permits(1);
    let result = wire.on_task("tasks/result", &retry).await["result"].take();
    assert_eq!(reply(&result)["data"]["attempt"], 2);
    assert_eq!(result["_meta"][RELATED]["taskId"], retry.as_str());
}

#[tokio::test]
async fn cancelling_a_task_cancels_its_execution() {
    // REQ-LIF-02
    let (adapter, gate) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    let id = wire.start("execute_export", json!({})).await;
    let cancelled = wire.on_task("tasks/cancel", &id).await["result"].take();
    assert_eq!((&cancelled["taskId"], &cancelled["status"]), (&json!(id), &json!("cancelled")));
    let state = adapter.call("get_execution", json!({ "execution_id": id })).await;
    assert_eq!(state.data()["status"], "cancelled");
    let again = wire.on_task("tasks/cancel", &id).await;
    assert_eq!(*code(&again), -32602);
    assert!(again["error"]["message"].as_str().unwrap().contains("'cancelled'"), "{again}");
    let result = wire.on_task("tasks/result", &id).await["result"].take();
    assert_eq!(reply(&result)["data"]["status"], "cancelled");

    // This operation cannot be canceled, so it continues.
    let id = wire.start("execute_watering", json!({})).await;
    let refused = wire.on_task("tasks/cancel", &id).await;
    assert_eq!(
        (code(&refused), &refused["error"]["data"]["code"]),
        (&json!(-32000), &json!("PERMISSION_DENIED"))
    );
    gate.add_permits(1);
    assert_eq!(reply(&wire.on_task("tasks/result", &id).await["result"])["data"]["result"], 8);
}

#[tokio::test]
async fn what_is_no_task_is_refused_as_mcp_asks() {
    // REQ-MCP-12
    let (adapter, _) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    for operation in ["count_beds", "cancel_execution", "count_bedz"] {
        let mut params = call(operation, json!({}));
        params["name"] = "mcp_aql_execute".into();
        let refused = wire.ask("tools/call", params).await;
        assert_eq!(*code(&refused), -32601, "{operation}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(operation), "{refused}");
    }
    let unknown = "Unknown task";
    for (method, params, code, message) in [
        ("tasks/get", json!({ "taskId": "exec_1" }), -32602, unknown),
        ("tasks/get", json!({ "taskId": "" }), -32602, unknown),
        ("tasks/get", json!({ "taskId": "e".repeat(1_000) }), -32602, unknown),
        ("tasks/result", json!({ "taskId": "exec_1" }), -32602, unknown),
        ("tasks/cancel", json!({ "taskId": "exec_1" }), -32602, unknown),
        ("tasks/get", json!({ "taskId": 7 }), -32602, "'taskId' must be a string"),
        ("tasks/get", json!({}), -32602, "'taskId' must be a string"),
        ("tasks/get", json!(["exec_1"]), -32602, "'params'"),
        ("tasks/list", json!({ "cursor": 7 }), -32602, "'cursor' must be a string"),
        ("tasks/list", json!({ "cursor": "x" }), -32602, "'nextCursor'"),
        ("tasks/update", json!({ "taskId": "exec_1" }), -32601, "tasks/update"),
        ("tasks/", json!({}), -32601, "tasks/"),
    ] {
        let refused = wire.ask(method, params.clone()).await;
        assert_eq!(refused["error"]["code"], code, "{method} {params}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(message), "{refused}");
    }
    for task in [json!(7), json!([]), json!({ "ttl": "1" })] {
        let mut params = call("execute_export", json!({}));
        params["task"] = task;
        let refused = wire.ask("tools/call", params).await;
        assert_eq!(*code(&refused), -32602, "{refused}");
    }
}

#[tokio::test]
async fn a_task_passes_the_gates_of_its_operation() {
    // REQ-DNG-05, REQ-MCP-12
    let (adapter, _) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    let refused = wire.call("execute_fire", json!({})).await;
    assert_eq!(*code(&refused), -32000, "{refused}");
    assert_eq!(refused["error"]["data"]["code"], "CONFIRMATION_REQUIRED");
    let refused = wire.call("execute_export", json!({ "other": true })).await;
    assert_eq!(refused["error"]["data"]["code"], "VALIDATION_UNKNOWN_PARAM");
    let none = wire.ask("tasks/list", json!({})).await["result"].take();
    assert_eq!(none, json!({ "tasks": [] }));
}

#[tokio::test]
async fn a_task_starts_once_the_clients_user_has_confirmed_it() {
    // REQ-DNG-05
    let (adapter, _) = adapter();
    let capabilities = json!({ "elicitation": {} });
    let (mut wire, _) = Wire::with_capabilities(&adapter, "2025-11-25", capabilities).await;
    for (action, code) in [("decline", "PERMISSION_DENIED"), ("accept", "")] {
        let id = wire.request("tools/call", call("execute_fire", json!({}))).await;
        let question = wire.receive().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let result = json!({ "action": action, "content": {} });
        wire.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
        let answer = wire.answer(id).await;
        match code {
            "" => assert_eq!(answer["result"]["task"]["status"], "working", "{answer}"),
            _ => assert_eq!(answer["error"]["data"]["code"], code, "{answer}"),
        }
    }
    // In the newest version, the client repeats the call with the answer.
    let mut wire = Wire::open(&adapter);
    let mut params = call("execute_fire", json!({}));
    params.as_object_mut().unwrap().remove("task");
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities":
            { "elicitation": {}, "extensions": { EXTENSION: {} } },
    });
    let question = wire.ask("tools/call", params.clone()).await["result"].take();
    assert_eq!(question["resultType"], "input_required", "{question}");
    params["requestState"] = question["requestState"].clone();
    params["inputResponses"] = json!({ "confirmation": { "action": "accept", "content": {} } });
    let created = wire.ask("tools/call", params).await["result"].take();
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
}

#[tokio::test]
async fn tasks_are_listed_in_pages() {
    let (adapter, gate) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    gate.add_permits(60);
    let mut started = Vec::new();
    for _ in 0..60 {
        let id = wire.start("execute_export", json!({})).await;
        wire.on_task("tasks/result", &id).await;
        started.push(id);
    }
    let first = wire.ask("tasks/list", json!({})).await["result"].take();
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = wire.ask("tasks/list", json!({ "cursor": cursor })).await["result"].take();
    assert_eq!(second.get("nextCursor"), None, "{second}");
    let pages = [&first, &second].map(|page| page["tasks"].as_array().unwrap());
    assert_eq!(pages.map(Vec::len), [50, 10]);
    let mut listed: Vec<_> =
        pages.into_iter().flatten().map(|task| task["taskId"].as_str().unwrap()).collect();
    listed.sort_unstable();
    started.sort_unstable();
    assert_eq!(listed, started);
    // Another connection has its own tasks.
    let (mut other, _) = Wire::initialized(&adapter, "2025-11-25").await;
    assert_eq!(other.ask("tasks/list", json!({})).await["result"], json!({ "tasks": [] }));
}

#[tokio::test]
async fn a_task_reports_its_progress_and_its_end() {
    // REQ-MCP-13, REQ-MCP-15
    let (adapter, gate) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    let mut params = call("execute_export", json!({}));
    params["_meta"] = json!({ "progressToken": "p" });
    let created = wire.ask("tools/call", params).await["result"]["task"].take();
    let related = json!({ RELATED: { "taskId": created["taskId"] } });
    loop {
        let progress = wire.notification("notifications/progress").await;
        assert_eq!((&progress["progressToken"], &progress["_meta"]), (&json!("p"), &related));
        if progress["progress"] == 30.0 {
            break;
        }
    }
    gate.add_permits(1);
    let task = wire.notification("notifications/tasks/status").await;
    let state = wire.on_task("tasks/get", created["taskId"].as_str().unwrap()).await;
    assert_eq!(task, state["result"]);
    assert_eq!(task["status"], "completed");
}

#[tokio::test]
async fn a_request_that_waits_for_a_task_can_be_cancelled_without_the_task() {
    let (adapter, gate) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    let id = wire.start("execute_export", json!({})).await;
    let waiting = wire.request("tasks/result", json!({ "taskId": id })).await;
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": waiting } }))
        .await;
    let state = wire.on_task("tasks/get", &id).await["result"].take();
    assert_eq!(state["status"], "working");
    gate.add_permits(1);
    // The answer to the canceled request would be received before this one.
    assert_eq!(reply(&wire.on_task("tasks/result", &id).await["result"])["data"]["result"], 7);
}

#[tokio::test]
async fn the_end_of_the_connection_cancels_its_tasks() {
    // REQ-LIF-10
    let (adapter, _) = adapter();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    let id = wire.start("execute_export", json!({})).await;
    wire.request("tasks/result", json!({ "taskId": id })).await;
    drop(wire);
    let params = json!({ "execution_id": id, "wait_seconds": 60 });
    assert_eq!(adapter.call("get_execution", params).await.data()["status"], "cancelled");
}

#[tokio::test]
async fn a_process_with_the_same_store_knows_the_task() {
    let store = std::sync::Arc::new(MemoryState::default());
    let (builder, gate) = works();
    let first = builder.store(std::sync::Arc::clone(&store)).without_config().build().unwrap();
    let second = works().0.store(store).without_config().build().unwrap();
    let (mut wire, _) = Wire::initialized(&first, "2025-11-25").await;
    let (mut other, _) = Wire::initialized(&second, "2025-11-25").await;
    let id = wire.start("execute_export", json!({})).await;
    assert_eq!(other.on_task("tasks/get", &id).await["result"]["status"], "working");
    let waiting = other.request("tasks/result", json!({ "taskId": id })).await;
    gate.add_permits(1);
    let result = wire.on_task("tasks/result", &id).await["result"].take();
    assert_eq!(other.answer(waiting).await["result"], result);
    let id = wire.start("execute_export", json!({})).await;
    assert_eq!(other.on_task("tasks/cancel", &id).await["result"]["status"], "cancelled");
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_result_survives_a_restart() {
    let folder = std::env::temp_dir().join(format!("mcp-aql-tasks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let open = || mcp_aql::store::SqliteState::open(folder.join("state.db"));
    let (builder, gate) = works();
    gate.add_permits(1);
    let adapter = builder.store(open()).without_config().build().unwrap();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    let id = wire.start("execute_export", json!({})).await;
    let result = wire.on_task("tasks/result", &id).await["result"].take();
    let state = wire.on_task("tasks/get", &id).await["result"].take();
    drop((wire, adapter));
    let adapter = works().0.store(open()).without_config().build().unwrap();
    let (mut wire, _) = Wire::initialized(&adapter, "2025-11-25").await;
    assert_eq!(wire.on_task("tasks/get", &id).await["result"], state);
    assert_eq!(wire.on_task("tasks/result", &id).await["result"], result);
    drop((wire, adapter));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A client of MCP 2026-07-28. With `true`, it supports the extension.
struct Modern(bool);

impl ClientHandler for Modern {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        if self.0 {
            // The builder would require rmcp's feature `server`. Some sets of features do not enable it.
            config.capabilities =
                serde_json::from_value(json!({ "extensions": { EXTENSION: {} } })).unwrap();
        }
        config
    }
}

async fn modern(adapter: &Adapter, declares: bool) -> RunningService<RoleClient, Modern> {
    let (server, client) = tokio::io::duplex(1 << 20);
    let adapter = adapter.clone();
    tokio::spawn(async move { adapter.serve(server).await });
    let lifecycle =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    Modern(declares).serve_with_lifecycle(client, lifecycle).await.unwrap()
}

fn modern_call(operation: &str, params: Value) -> CallToolRequestParams {
    let mut call = call(operation, params);
    let name = call["name"].as_str().unwrap().to_owned();
    let Value::Object(arguments) = call["arguments"].take() else { panic!() };
    CallToolRequestParams::new(name).with_arguments(arguments)
}

async fn ended(client: &RunningService<RoleClient, Modern>, id: &str) -> GetTaskResult {
    loop {
        let state = client.get_task(GetTaskParams::new(id)).await.unwrap();
        if state.task.status().is_terminal() {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn rpc_code(error: ServiceError) -> i32 {
    match error {
        ServiceError::McpError(error) => error.code.0,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_client_with_the_extension_follows_tasks() {
    // REQ-LIF-04, REQ-LIF-05
    let (adapter, gate) = adapter();
    let client = modern(&adapter, true).await;
    assert!(client.peer_info().is_none_or(|info| info.capabilities.supports_tasks()));
    let start = async |params: Value| match client
        .call_tool_once(modern_call("execute_export", params))
        .await
        .unwrap()
    {
        CallToolResponse::Task(created) => created.task,
        other => panic!("{other:?}"),
    };
    let task = start(json!({})).await;
    assert_eq!(task.status, TaskStatus::Working);
    let state = client.get_task(GetTaskParams::new(&task.task_id)).await.unwrap();
    assert_eq!((state.task.status(), state.task.task.ttl_ms), (TaskStatus::Working, None));
    client.update_task(UpdateTaskParams::new(&task.task_id, Default::default())).await.unwrap();
    gate.add_permits(1);
    let state = ended(&client, &task.task_id).await;
    assert!(state.task.task.ttl_ms.is_some());
    let TaskPayload::Completed { result } = state.task.payload else { panic!("{state:?}") };
    let result = Value::from(result);
    assert_eq!((&result["resultType"], &result["isError"]), (&json!("complete"), &json!(false)));
    assert_eq!(reply(&result)["data"]["result"], 7);

    // A failed operation has a result, too.
    gate.add_permits(1);
    let task = start(json!({ "fails": true })).await;
    let state = ended(&client, &task.task_id).await;
    assert!(state.task.task.status_message.is_some());
    let TaskPayload::Completed { result } = state.task.payload else { panic!("{state:?}") };
    assert_eq!(reply(&result.into())["data"]["status"], "failed");

    let task = start(json!({})).await;
    for _ in 0..2 {
        client.cancel_task(CancelTaskParams::new(&task.task_id)).await.unwrap();
        assert_eq!(ended(&client, &task.task_id).await.task.status(), TaskStatus::Cancelled);
    }
    for error in [
        client.get_task(GetTaskParams::new("exec_1")).await.unwrap_err(),
        client.cancel_task(CancelTaskParams::new("exec_1")).await.unwrap_err(),
        client.update_task(UpdateTaskParams::new("exec_1", Default::default())).await.unwrap_err(),
    ] {
        assert_eq!(rpc_code(error), -32602);
    }
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_client_with_the_extension_has_ordinary_results_of_other_calls() {
    let (adapter, _) = adapter();
    let client = modern(&adapter, true).await;
    for (operation, params, code) in [
        ("count_beds", json!({}), Value::Null),
        ("execute_fire", json!({}), json!("CONFIRMATION_REQUIRED")),
        ("execute_export", json!({ "other": true }), json!("VALIDATION_UNKNOWN_PARAM")),
    ] {
        let answer = client.call_tool_once(modern_call(operation, params)).await.unwrap();
        let CallToolResponse::Complete(result) = answer else { panic!("{answer:?}") };
        let text = &result.content[0].as_text().unwrap().text;
        let reply: Value = serde_json::from_str(text).unwrap();
        assert_eq!(reply["error"]["code"], code, "{operation}");
    }
    // These arguments do not have the usual form.
    let mut call = modern_call("execute_export", json!({}));
    call.arguments.as_mut().unwrap().insert("_request_id".to_owned(), 7.into());
    let answer = client.call_tool_once(call).await.unwrap();
    assert!(matches!(answer, CallToolResponse::Task(_)), "{answer:?}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_client_without_the_extension_sees_no_difference() {
    let (adapter, gate) = adapter();
    // rmcp's client requests progress with each call. Such a call waits for the end of the execution.
    gate.add_permits(1);
    let client = modern(&adapter, false).await;
    let answer = client.call_tool_once(modern_call("execute_export", json!({}))).await.unwrap();
    let CallToolResponse::Complete(result) = answer else { panic!("{answer:?}") };
    let reply: Value = serde_json::from_str(&result.content[0].as_text().unwrap().text).unwrap();
    assert_eq!(reply["data"]["status"], "completed", "{reply}");
    let id = reply["data"]["execution_id"].as_str().unwrap();
    for error in [
        client.get_task(GetTaskParams::new(id)).await.unwrap_err(),
        client.cancel_task(CancelTaskParams::new(id)).await.unwrap_err(),
    ] {
        assert_eq!(rpc_code(error), -32021);
    }
    client.cancel().await.unwrap();
    let mut wire = Wire::open(&adapter);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} });
    let discovered = wire.ask("server/discover", json!({ "_meta": meta })).await;
    let capabilities = &discovered["result"]["capabilities"];
    assert_eq!(*capabilities, json!({ "tools": {}, "extensions": { EXTENSION: {} } }));
    for method in ["tasks/list", "tasks/result"] {
        let removed = wire.ask(method, json!({ "taskId": id, "_meta": meta })).await;
        assert_eq!(*code(&removed), -32601, "{method}");
    }
    let missing = wire.ask("tasks/get", json!({ "taskId": id, "_meta": meta })).await;
    let required = &missing["error"]["data"]["requiredCapabilities"];
    assert_eq!(*required, json!({ "extensions": { EXTENSION: {} } }));
}
