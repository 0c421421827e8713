//! Tests two processes of one adapter that share a PostgreSQL database.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_aql::operator::OperatorAccess as _;
use mcp_aql_tests_databases::gated::{self, Folder, LEASE, MAX_UPDATES_PER_MINUTE};
use mcp_aql_tests_databases::postgres;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, Command};

/// Number of concurrent calls.
const CONCURRENT_CALLS: usize = 64;

/// Returns the number of repetitions of a race. You can override it with the variable `ROUNDS`.
fn rounds(usual: usize) -> usize {
    std::env::var("ROUNDS").map_or(usual, |rounds| rounds.parse().unwrap())
}

/// A process of the adapter. If you drop it, the process is killed.
struct Server {
    child: Child,
    _input: ChildStdin,
    address: SocketAddr,
}

/// The state shared by both processes.
struct SharedState {
    folder: TempDir,
    postgres: String,
    schema: String,
}

impl SharedState {
    /// Creates a schema in the PostgreSQL server of the tests. Returns `None` without a server.
    async fn new() -> Option<Self> {
        static SCHEMAS: AtomicUsize = AtomicUsize::new(0);
        // `connect` prints a message if there is no server.
        let client = postgres::connect().await?;
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let schema = format!("processes_{}_{number}", std::process::id());
        client.batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).await.unwrap();
        let postgres = std::env::var("MCP_AQL_TEST_POSTGRES").unwrap();
        Some(Self { folder: TempDir::new().unwrap(), postgres, schema })
    }

    async fn pair() -> Option<(Self, [Server; 2])> {
        let shared = Self::new().await?;
        let servers = [shared.start().await, shared.start().await];
        Some((shared, servers))
    }

    async fn start(&self) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gated"))
            .args([self.folder.path().to_str().unwrap(), &self.postgres, &self.schema])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let input = child.stdin.take().unwrap();
        Server { child, _input: input, address: line.trim().parse().unwrap() }
    }

    fn files(&self) -> Folder {
        Folder::new(self.folder.path())
    }

    /// Returns the code shown to people.
    fn code(&self, id: &str) -> String {
        let shown = self.files().shown();
        let line = shown.iter().rev().find(|line| line["id"] == id).unwrap();
        line["code"].as_str().unwrap().to_owned()
    }
}

impl Server {
    async fn call(&self, operation: &str, params: Value) -> Value {
        call(self.address, operation, params).await.unwrap()
    }

    async fn step(&self, agent: &str, action: &str) -> Value {
        let params = json!({ "element_name": agent, "next_action_hint": action });
        self.call("record_execution_step", params).await
    }

    async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// Makes a call without a session, as in MCP 2026-07-28. Any process may serve it.
async fn call(address: SocketAddr, operation: &str, params: Value) -> std::io::Result<Value> {
    call_in(None, address, operation, params).await
}

/// Makes a call in a session.
async fn call_in(
    session: Option<&str>,
    address: SocketAddr,
    operation: &str,
    params: Value,
) -> std::io::Result<Value> {
    let family = match operation {
        "record_execution_step" | "verify_challenge" => "create",
        "get_execution" | "list_executions" => "read",
        "update_counter" => "update",
        "delete_thing" => "delete",
        _ => "execute",
    };
    let tool = format!("mcp_aql_{family}");
    let arguments = json!({ "operation": operation, "params": params });
    let mut params = json!({ "name": tool, "arguments": arguments });
    let headers = match session {
        Some(session) => format!("Mcp-Session-Id: {session}\r\n"),
        None => {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            format!(
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            )
        }
    };
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let answer = post(address, &headers, &body).await?;
    let (start, end) = (answer.find("{\"jsonrpc\""), answer.rfind('}'));
    let (Some(start), Some(end)) = (start, end) else {
        return Err(std::io::Error::other(format!("cut off: {answer}")));
    };
    let message: Value = serde_json::from_str(&answer[start..=end])?;
    let text = message["result"]["content"][0]["text"].as_str();
    Ok(serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}")))?)
}

/// Initializes MCP and returns the session id.
async fn session(address: SocketAddr) -> std::io::Result<String> {
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } });
    let answer = post(address, "", &hello).await?.to_ascii_lowercase();
    let name = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id:"));
    // The response is incomplete if the process was killed.
    let name = name.ok_or(std::io::ErrorKind::UnexpectedEof)?.trim().to_owned();
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    post(address, &format!("Mcp-Session-Id: {name}\r\n"), &ready).await?;
    Ok(name)
}

/// Sends a request and returns the response with its head.
async fn post(address: SocketAddr, headers: &str, body: &Value) -> std::io::Result<String> {
    let body = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Connection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Makes the same call many times at once, alternating between both processes.
async fn at_once(
    servers: &[Server; 2],
    times: usize,
    operation: &str,
    params: &Value,
) -> Vec<Value> {
    let calls = (0..times).map(|number| {
        let (address, params) = (servers[number % 2].address, params.clone());
        let operation = operation.to_owned();
        tokio::spawn(async move { call(address, &operation, params).await.unwrap() })
    });
    let mut replies = Vec::new();
    for reply in calls.collect::<Vec<_>>() {
        replies.push(reply.await.unwrap());
    }
    replies
}

fn succeeded(replies: &[Value]) -> usize {
    replies.iter().filter(|reply| reply["success"] == true).count()
}

/// Advances the clocks of both processes by one minute.
async fn minute(servers: &[Server; 2]) {
    for server in servers {
        let reply = server.call("execute_wait", json!({ "seconds": 61 })).await;
        assert_eq!(reply["success"], true, "{reply}");
    }
}

/// Starts an agent at one process and approves it at the other.
async fn begin(shared: &SharedState, servers: &[Server; 2], agent: &str) {
    let begun = servers[0].call("execute_agent", json!({ "element_name": agent })).await;
    let request = begun["data"]["request_id"].as_str().unwrap_or_else(|| panic!("{begun}"));
    let code = json!({ "confirmation_token": shared.code(request) });
    let confirmed = servers[1].call("confirm_operation", code).await;
    assert_eq!(confirmed["success"], true, "{confirmed}");
}

/// Blocks an agent and returns the challenge.
async fn block(server: &Server, agent: &str) -> String {
    let stopped = server.step(agent, "drop_table users").await;
    assert_eq!(stopped["data"]["autonomy"]["stopped"], true, "{stopped}");
    let notifications = stopped["data"]["autonomy"]["notifications"].as_array().unwrap();
    let block = notifications.iter().find(|it| it["type"] == "danger_zone").unwrap();
    block["metadata"]["verificationId"].as_str().unwrap().to_owned()
}

fn is_blocked(reply: &Value) -> bool {
    reply["error"]["details"]["reason"] == "blocked"
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_calls_with_the_same_token_runs() {
    // REQ-TOK-07, REQ-TOK-10
    let Some((shared, servers)) = SharedState::pair().await else { return };
    let rounds = rounds(50);
    for round in 0..rounds {
        let thing = format!("thing-{round}");
        let asked = servers[round % 2].call("delete_thing", json!({ "thing": thing })).await;
        let token = &asked["error"]["details"]["confirmation_token"];
        assert!(token.is_string(), "{asked}");
        let params = json!({ "thing": thing, "_confirmation": token });
        let replies = at_once(&servers, CONCURRENT_CALLS, "delete_thing", &params).await;
        assert_eq!(succeeded(&replies), 1, "{replies:?}");
        for reply in replies {
            let code = reply["error"]["code"].as_str().unwrap_or("none");
            let known = ["none", "TOKEN_ALREADY_USED", "RATE_LIMIT_EXCEEDED"].contains(&code);
            assert!(known, "{reply}");
        }
        // Repeated failures cause a delay. Move the clock past it.
        minute(&servers).await;
    }
    let deleted = shared.files().deleted();
    assert_eq!(deleted, (0..rounds).map(|round| format!("thing-{round}")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_for_both_together() {
    // REQ-RATE-01
    let Some((_place, servers)) = SharedState::pair().await else { return };
    for _ in 0..rounds(5) {
        let replies = at_once(
            &servers,
            CONCURRENT_CALLS,
            "update_counter",
            &json!({ "input": { "count": 1 } }),
        )
        .await;
        assert_eq!(succeeded(&replies), MAX_UPDATES_PER_MINUTE as usize, "{replies:?}");
        minute(&servers).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_processes_see_a_block_and_accept_its_code_once() {
    // REQ-OOB-06, REQ-OOB-08
    let Some((shared, servers)) = SharedState::pair().await else { return };
    let [one, other] = &servers;
    for round in 0..rounds(10) {
        let agent = format!("agent-{round}");
        begin(&shared, &servers, &agent).await;
        let challenge = block(if round % 2 == 0 { one } else { other }, &agent).await;
        for server in &servers {
            let reply = server.step(&agent, "read_notes").await;
            assert!(is_blocked(&reply), "{reply}");
            // Another agent name does not help, either.
            let reply = server.call("execute_agent", json!({ "element_name": "another" })).await;
            assert!(is_blocked(&reply), "{reply}");
        }
        let proof = json!({ "challenge_id": challenge, "code": shared.code(&challenge) });
        let replies = at_once(&servers, 6, "verify_challenge", &proof).await;
        assert_eq!(succeeded(&replies), 1, "{replies:?}");
        for server in &servers {
            let reply = server.step(&agent, "drop_table users").await;
            // The approved action is allowed once. The next one is stopped again.
            assert!(!is_blocked(&reply), "{reply}");
            if reply["data"]["autonomy"]["continue"] == true {
                break;
            }
        }
        let done = other.call("complete_execution", json!({ "element_name": agent })).await;
        assert_eq!(done["success"], true, "{done}");
        minute(&servers).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_sees_and_ends_an_execution() {
    // REQ-LIF-02, REQ-LIF-04
    let Some((_place, servers)) = SharedState::pair().await else { return };
    let begin = async || {
        let begun = servers[0].call("execute_work", json!({ "steps": 100_000 })).await;
        begun["data"]["execution_id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned()
    };
    let id = begin().await;
    let seen = servers[1].call("get_execution", json!({ "execution_id": id })).await;
    assert_eq!(seen["data"]["status"], "running", "{seen}");
    let listed = servers[1].call("list_executions", json!({})).await;
    assert!(listed.to_string().contains(&id), "{listed}");
    servers[1].call("cancel_execution", json!({ "execution_id": id })).await;
    for server in &servers {
        let ended = server.call("get_execution", json!({ "execution_id": id })).await;
        assert_eq!(ended["data"]["status"], "cancelled", "{ended}");
    }
    let id = begin().await;
    let [one, other] = servers;
    one.kill().await;
    let killed = Instant::now();
    loop {
        let seen = other.call("get_execution", json!({ "execution_id": id })).await;
        if seen["data"]["status"] == "failed" {
            break;
        }
        assert_eq!(seen["data"]["status"], "running", "{seen}");
        assert!(killed.elapsed() < 20 * LEASE, "{seen}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The replies of the process to kill.
#[derive(Default)]
struct AcknowledgedWork {
    agents: usize,
    /// A blocked agent, its challenge, and `true` if the code was sent.
    blocked: Option<(String, String, bool)>,
    /// If `true`, agents stay blocked until the process ends.
    hold: bool,
    deleted: Vec<String>,
}

impl AcknowledgedWork {
    fn held(acknowledged: &Mutex<Self>) -> bool {
        let acknowledged = acknowledged.lock().unwrap();
        acknowledged.hold && acknowledged.blocked.is_some()
    }
}

/// Sends requests to a process until it ends.
async fn work(
    shared: Arc<SharedState>,
    address: SocketAddr,
    acknowledged: Arc<Mutex<AcknowledgedWork>>,
) -> std::io::Result<()> {
    // While an agent executes, its session's confirmations go to a person. Therefore agents start outside of this
    // session.
    let session = session(address).await?;
    let delete = async |params| call_in(Some(&session), address, "delete_thing", params).await;
    loop {
        let (agent, thing) = {
            let mut acknowledged = acknowledged.lock().unwrap();
            acknowledged.agents += 1;
            (format!("agent-{}", acknowledged.agents), format!("thing-{}", acknowledged.agents))
        };
        let asked = delete(json!({ "thing": thing })).await?;
        let token = &asked["error"]["details"]["confirmation_token"];
        let params = json!({ "thing": thing, "_confirmation": token });
        let reply = delete(params).await?;
        assert_eq!(reply["success"], true, "{reply}");
        acknowledged.lock().unwrap().deleted.push(thing);
        let begun = call(address, "execute_agent", json!({ "element_name": agent })).await?;
        let request = begun["data"]["request_id"].as_str().unwrap_or_else(|| panic!("{begun}"));
        let code = json!({ "confirmation_token": shared.code(request) });
        call(address, "confirm_operation", code).await?;
        let step = json!({ "element_name": agent, "next_action_hint": "drop_table users" });
        let stopped = call(address, "record_execution_step", step).await?;
        let notifications = stopped["data"]["autonomy"]["notifications"].as_array();
        let challenge = notifications.unwrap_or_else(|| panic!("{stopped}")).iter();
        let mut challenge = challenge.filter_map(|it| it["metadata"]["verificationId"].as_str());
        let challenge = challenge.next().unwrap().to_owned();
        acknowledged.lock().unwrap().blocked = Some((agent, challenge.clone(), false));
        tokio::time::sleep(Duration::from_millis(10)).await;
        while AcknowledgedWork::held(&acknowledged) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if let Some(blocked) = &mut acknowledged.lock().unwrap().blocked {
            blocked.2 = true;
        }
        let proof = json!({ "challenge_id": challenge, "code": shared.code(&challenge) });
        let reply = call(address, "verify_challenge", proof).await?;
        assert_eq!(reply["success"], true, "{reply}");
        acknowledged.lock().unwrap().blocked = None;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_continues_while_the_other_is_killed() {
    // REQ-OOB-08, REQ-OOB-09
    let Some((shared, [mut killed, other])) = SharedState::pair().await else { return };
    let shared = Arc::new(shared);
    // A third process releases blocks without a code.
    let store =
        gated::store(shared.folder.path(), Some((&shared.postgres, &shared.schema))).unwrap();
    let admin = gated::adapter(store, shared.folder.path(), 0).unwrap();
    let admin = admin.operator().unwrap();
    let acknowledged = Arc::new(Mutex::new(AcknowledgedWork::default()));
    // In every process, calls without a session count as one session and are blocked together. So use a session here.
    let session = session(other.address).await.unwrap();
    let undisturbed = async |params| {
        call_in(Some(&session), other.address, "delete_thing", params).await.unwrap()
    };
    for round in 0..rounds(12) {
        // In every other round, kill the process while an agent is blocked.
        let hold = round % 2 == 0;
        acknowledged.lock().unwrap().hold = hold;
        let working =
            tokio::spawn(work(Arc::clone(&shared), killed.address, Arc::clone(&acknowledged)));
        let life = Duration::from_millis(60 + (round as u64 * 37) % 190);
        let begun = Instant::now();
        while begun.elapsed() < life {
            // Meanwhile, the other process must serve calls as usual.
            let thing = format!("other-{round}-{}", begun.elapsed().as_nanos());
            let asked = undisturbed(json!({ "thing": thing })).await;
            let token = &asked["error"]["details"]["confirmation_token"];
            let params = json!({ "thing": thing, "_confirmation": token });
            let reply = undisturbed(params).await;
            assert_eq!(reply["success"], true, "{asked} {reply}");
            // A caller may request 120 tokens per minute.
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        while hold && !AcknowledgedWork::held(&acknowledged) {
            assert!(!working.is_finished(), "{:?}", working.await);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        killed.kill().await;
        acknowledged.lock().unwrap().hold = false;
        let ended = working.await.unwrap();
        assert!(ended.is_err(), "it went on after its process was killed");
        let blocked = acknowledged.lock().unwrap().blocked.take();
        assert!(blocked.is_some() || !hold, "it was not killed while an agent was blocked");
        if let Some((agent, challenge, sent)) = blocked {
            let reply = other.step(&agent, "read_notes").await;
            assert!(sent || is_blocked(&reply), "a block was lost: {reply}");
            let proof = json!({ "challenge_id": challenge, "code": shared.code(&challenge) });
            let verified = other.call("verify_challenge", proof).await;
            assert_eq!(verified["success"] == true, is_blocked(&reply), "{reply} {verified}");
        }
        // There may be a block without any report to a client.
        for block in admin.overview().await.unwrap().blocks {
            admin.unblock(&block.agent, "test").await.unwrap();
            let reply = other.step(&block.agent, "read_notes").await;
            assert!(!is_blocked(&reply), "{reply}");
        }
        killed = shared.start().await;
    }
    let deleted = shared.files().deleted();
    for thing in &acknowledged.lock().unwrap().deleted {
        assert_eq!(deleted.iter().filter(|it| *it == thing).count(), 1, "{thing}");
    }
}
