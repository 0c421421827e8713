//! Checks for each transport that the log contains no secrets at any level.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::program::program;
use serde_json::{Value, json};

const PIN: &str = "91827364";
/// A confirmation token never issued by an adapter.
const TOKEN: &str = "conf_plantedTokenTokenTokenTokenTokenToken0";
/// A verification code never issued by an adapter.
const CODE: &str = "pl4nted-c0de";

const FILTERS: [&str; 9] = [
    "error",
    "warn",
    "info",
    "debug",
    "trace",
    "rmcp=trace",
    "trace,rmcp=trace,hyper=trace,hyper_util=trace,tower=trace",
    "info,rmcp::service=trace,rmcp::transport=trace",
    "off,rmcp=debug",
];

fn command(example: &str, filter: &str) -> Command {
    let mut command = Command::new(program(example));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).env("MCP_AQL_LOG", filter);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn hello(version: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" } } })
}

fn call(family: &str, operation: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": format!("mcp_aql_{family}"),
        "arguments": { "operation": operation, "params": params } } })
}

/// Returns calls with secrets in them: valid ones, and one per kind of error.
fn calls() -> Vec<Value> {
    let note = json!({ "title": "Will", "pin": PIN });
    let planted = json!({ "note_id": 1, "pin": PIN, "confirmation_token": TOKEN });
    let mut progress = call("create", "add_note", &note);
    progress["params"]["_meta"] = json!({ "progressToken": "p" });
    vec![
        call("create", "add_note", &note),
        progress,
        call("create", "add_note", &json!({ "title": 7, "pin": PIN })),
        call("read", "add_note", &note),
        call("update", "update_note", &json!({ "note_id": 1, "input": { "pin": PIN } })),
        call("update", "update_note", &json!({ "note_id": 1, "pin": PIN, "input": {} })),
        call("read", "get_note", &json!({ "note_id": 1, "pin": PIN })),
        call("delete", "delete_note", &planted),
        call("delete", "delete_note", &json!({ "note_id": 1, "pin": PIN })),
        call("delete", "delete_note", &json!({ "note_id": 1 })),
    ]
}

/// Extracts the confirmation token from a response. Its result is JSON inside a JSON string.
fn token(answer: &str) -> Option<String> {
    let text = answer.split("conf_").nth(1)?;
    let token: String = text
        .chars()
        .take_while(|each| each.is_ascii_alphanumeric() || "_-".contains(*each))
        .collect();
    Some(format!("conf_{token}"))
}

/// Returns the confirmed call.
fn confirmed(token: &str) -> Value {
    let params = json!({ "note_id": 1, "confirmation_token": token });
    call("delete", "delete_note", &params)
}

fn assert_clean(log: &str, filter: &str, way: &str, token: Option<&str>) {
    let secrets = [PIN, TOKEN, CODE].into_iter().chain(token);
    for secret in secrets {
        let shown = log.lines().find(|line| line.contains(secret));
        assert_eq!(shown, None, "{way}, MCP_AQL_LOG={filter}");
    }
}

#[test]
fn standard_streams() {
    // REQ-DNG-09
    for filter in FILTERS {
        let mut child = command("notes", filter).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut token_found = None;
        for message in std::iter::once(hello("2025-11-25")).chain(calls()) {
            writeln!(stdin, "{message}").unwrap();
            // Skip progress notifications.
            let answer =
                lines.by_ref().map(|line| line.unwrap()).find(|line| line.contains("\"id\""));
            token_found = token(&answer.unwrap()).or(token_found);
        }
        let token = token_found.unwrap();
        writeln!(stdin, "{}", confirmed(&token)).unwrap();
        // Send a request that rmcp handles, a line with invalid JSON, and a batch.
        let other = json!({ "jsonrpc": "2.0", "id": 2, "method": "prompts/get",
            "params": { "name": PIN, "arguments": { "token": TOKEN } } });
        writeln!(stdin, "{other}\n{{\"id\":3,{TOKEN}\n[{}]", confirmed(&token)).unwrap();
        drop(stdin);
        let mut log = String::new();
        child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(child.wait().unwrap().success());
        assert_clean(&log, filter, "stdio", Some(&token));
    }
}

/// Sends a POST request and returns the whole response.
fn post(address: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn http_direct_and_through_rmcp() {
    // REQ-DNG-09
    const PLAIN: &str = "Accept: application/json, text/event-stream\r\n";
    // rmcp handles requests with unusual headers such as this one.
    const DETOUR: &str = "Accept: application/json;q=1, text/event-stream\r\n";
    for filter in FILTERS {
        let mut serving = command("notes", filter);
        let mut child = serving.args(["serve", "--http", "127.0.0.1:0"]).spawn().unwrap();
        // Read standard error all the time, because a full pipe would block the server.
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines() {
                sender.send(line.unwrap()).unwrap();
            }
        });
        let mut log = Vec::new();
        let address = loop {
            let line = lines.recv().unwrap();
            if let Some(rest) = line.strip_prefix("MCP on http://") {
                break rest.split('/').next().unwrap().to_owned();
            }
            log.push(line);
        };
        let answer = post(&address, PLAIN, &hello("2025-03-26").to_string());
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
        let mut token_found = None;
        for accept in [PLAIN, DETOUR] {
            let session = format!("{accept}Mcp-Session-Id: {id}\r\n");
            for message in calls() {
                let answer = post(&address, &session, &message.to_string());
                token_found = token(&answer).or(token_found);
                // Send it again as a request without a session, as in MCP 2026-07-28.
                let mut alone = message.clone();
                alone["params"]["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                let tool = message["params"]["name"].as_str().unwrap();
                let headers = format!(
                    "{accept}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
                );
                assert!(post(&address, &headers, &alone.to_string()).contains("200 OK"));
            }
            let used = confirmed(token_found.as_deref().unwrap());
            post(&address, &session, &used.to_string());
            let mut again = used.clone();
            again["id"] = 2.into();
            post(&address, &session, &json!([used, again]).to_string());
            post(&address, &session, &format!("{{\"pin\":\"{PIN}\",{TOKEN}"));
        }
        let process = child.id().to_string();
        assert!(Command::new("kill").arg(&process).status().unwrap().success());
        log.extend(lines);
        assert!(child.wait().unwrap().success());
        assert_clean(&log.join("\n"), filter, "http", token_found.as_deref());
    }
}

#[test]
fn the_command_line() {
    // REQ-DNG-09
    for filter in FILTERS {
        for arguments in [
            &["call", "add_note", "-p", "title=Will", "-p", &format!("pin={PIN}")][..],
            &["call", "delete_note", "-p", "note_id=1", "-p", &format!("pin={PIN}"), "--yes"],
        ] {
            let output = command("notes", filter).args(arguments).output().unwrap();
            let log = String::from_utf8(output.stderr).unwrap();
            assert_clean(&log, filter, "call", None);
        }
    }
}

#[test]
fn codes_of_the_guard() {
    // REQ-OOB-05
    let folder = tempfile::tempdir().unwrap();
    for filter in FILTERS {
        let mut guard = command("guard", filter);
        guard.arg("--state").arg(folder.path());
        let mut child = guard.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut confirm = call("", "confirm_operation", &json!({ "confirmation_token": CODE }));
        confirm["params"]["name"] = "guard_mcp_aql".into();
        for message in [hello("2025-11-25"), confirm] {
            writeln!(stdin, "{message}").unwrap();
        }
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let answers = String::from_utf8(output.stdout).unwrap();
        assert!(answers.contains("confirm"), "{answers}");
        assert_clean(&String::from_utf8(output.stderr).unwrap(), filter, "guard", None);
    }
}
