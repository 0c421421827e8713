//! Tests of the log: its formats, the line for each call, and the rotation of the audit log.

use std::process::Command;
#[cfg(feature = "http")]
use std::process::Stdio;

use serde_json::{Value, json};

/// Returns a command for the program with the default log filter.
fn command() -> Command {
    let mut command = crate::support::command();
    command.env_remove("MCP_AQL_LOG").env_remove("RUST_LOG").env_remove("MCP_AQL_LOG_FORMAT");
    command
}

/// Returns the fields of the log lines about calls.
fn calls_of(log: &str) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let calls = lines.filter(|line| line["target"] == "mcp_aql::call");
    calls.map(|line| json!({ "level": line["level"], "fields": line["fields"] })).collect()
}

/// The directory of one test, removed on drop.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("mcp-aql-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn option_beats_environment_beats_file() {
    let folder = Folder::new("log-format");
    let [json, text] = ["json", "text"].map(|format| {
        let file = folder.0.join(format!("{format}.toml"));
        std::fs::write(&file, format!("log_format = {format:?}\n")).unwrap();
        file
    });
    for (file, variable, option, expected) in [
        (None, None, None, 0),
        (Some(&json), None, None, 1),
        (Some(&json), Some("text"), None, 0),
        (Some(&text), Some("json"), None, 1),
        (Some(&text), Some("text"), Some("json"), 1),
        (Some(&json), Some("json"), Some("text"), 0),
    ] {
        let mut command = command();
        if let Some(file) = file {
            command.arg("--config").arg(file);
        }
        if let Some(variable) = variable {
            command.env("MCP_AQL_LOG_FORMAT", variable);
        }
        if let Some(option) = option {
            command.args(["--log-format", option]);
        }
        let output = command.args(["call", "list_notes"]).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(calls_of(&log).len(), expected, "{file:?} {variable:?} {option:?}: {log}");
    }
    let output = command().args(["--log-format", "xml", "call", "list_notes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let problem = String::from_utf8(output.stderr).unwrap();
    assert!(problem.contains("[possible values: text, json]"), "{problem}");
}

/// Returns the messages of a log. Each of its lines must be a JSON object.
fn messages(log: &str) -> Vec<String> {
    let message = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        line["fields"]["message"].as_str().unwrap_or_default().to_owned()
    };
    log.lines().map(message).collect()
}

#[test]
fn a_log_in_json_has_no_other_lines() {
    let folder = Folder::new("log-lines");
    let write = |name: &str, text: &str| {
        let file = folder.0.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let invalid = write("invalid.toml", "[limits]\nmax_request_size = 'x'\n");
    let plain = write("plain.toml", "");
    let refused =
        if cfg!(feature = "http") { "can be reached from other" } else { "needs the feature" };
    for (args, variable, code, expected) in [
        // Standard input is empty, so serving ends immediately.
        (&[][..], ("A", "b"), 0, &["MCP on standard input and output", "stopped"][..]),
        (&["serve", "--config", &plain], ("RUST_LOG", "off"), 0, &["MCP on", "stopped"]),
        (&["--config", &invalid], ("A", "b"), 3, &["the adapter cannot start"]),
        (&["serve"], ("MCP_AQL_ENDPOINT_MODE", "x"), 3, &["the adapter cannot start"]),
        (&["introspect", "nothing"], ("A", "b"), 2, &["there is nothing to introspect"]),
        (&["config", "check", "--http", "0.0.0.0:1"], ("A", "b"), 2, &[refused]),
    ] {
        let mut command = command();
        command.args(["--log-format", "json"]).args(args).env(variable.0, variable.1);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        let messages = messages(&log);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {log}");
        let mut rest = messages.iter();
        for part in expected {
            assert!(rest.any(|message| message.contains(part)), "{args:?}: {part}: {messages:?}");
        }
    }
}

#[test]
fn internal_errors_name_their_operation_at_the_default_level() {
    let output = command().args(["call", "execute_panic"]).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let line = log.lines().find(|line| line.contains("mcp_aql::call")).unwrap();
    for field in [
        "ERROR mcp_aql::call: operation failed",
        "operation=\"execute_panic\"",
        "category=\"EXECUTE\"",
        "outcome=\"failed\"",
        "code=\"INTERNAL_ERROR\"",
        "session=\"s-",
        "correlation_id=\"",
        "cause=\"",
    ] {
        assert!(line.contains(field), "{field}: {line}");
    }
    // A mistake of the caller is not an error of the adapter.
    let output = command().args(["call", "get_note", "-p", "note_id=7"]).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(!log.contains("mcp_aql::call"), "{log}");
}

#[cfg(feature = "http")]
mod over_http {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpStream;
    use std::process::{Child, ChildStderr};
    use std::time::Duration;

    use super::*;

    /// A process that serves over HTTP. It is stopped on drop.
    struct Served {
        child: Child,
        log: BufReader<ChildStderr>,
        address: String,
    }

    impl Served {
        fn start(mut command: Command) -> Self {
            command.args(["serve", "--http", "127.0.0.1:0"]).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut log = BufReader::new(child.stderr.take().unwrap());
            let mut first = String::new();
            log.read_line(&mut first).unwrap();
            let address = first.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
            let address = address.unwrap_or_else(|| panic!("{first}")).0.to_owned();
            Self { child, log, address }
        }

        /// Sends a message on a new connection. Returns the address of the client and the answer.
        fn send(&self, session: Option<&str>, message: &Value) -> (String, String) {
            let mut stream = TcpStream::connect(&self.address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let client = stream.local_addr().unwrap().to_string();
            let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
            let body = message.to_string();
            let request = format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{session}\
                 Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            (client, answer)
        }

        /// Opens a session and returns its id.
        fn open_session(&self) -> String {
            let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            } });
            let (_, answer) = self.send(None, &hello);
            let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
            let id = id.unwrap_or_else(|| panic!("{answer}")).trim().to_owned();
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            self.send(Some(&id), &ready);
            id
        }

        /// Calls an operation. Returns the address of the client and the answer.
        fn call(&self, session: &str, id: &str, tool: &str, arguments: &Value) -> (String, String) {
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": tool, "arguments": arguments, "_meta": { "requestId": "label" },
            } });
            self.send(Some(session), &message)
        }

        /// Stops the adapter and returns its log.
        fn stop(mut self) -> String {
            self.child.kill().unwrap();
            let mut log = String::new();
            self.log.read_to_string(&mut log).unwrap();
            log
        }
    }

    impl Drop for Served {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    #[test]
    fn start_and_stop_are_lines_of_a_log_in_json() {
        let mut program = command();
        program.args(["--log-format", "json"]);
        let mut served = Served::start(program);
        let process = served.child.id().to_string();
        assert!(Command::new("kill").arg(process).status().unwrap().success());
        let mut log = String::new();
        served.log.read_to_string(&mut log).unwrap();
        assert_eq!(messages(&log), ["shutting down", "stopped"]);
        assert!(served.child.wait().unwrap().success());
    }

    #[test]
    fn each_call_has_a_line_that_joins_its_sessions() {
        // REQ-SES-05, REQ-SES-06
        let mut program = command();
        program.args(["--log-format", "json"]);
        let served = Served::start(program);
        let session = served.open_session();
        let mut expected = Vec::new();
        for (id, tool, arguments, line) in [
            (
                "a",
                "mcp_aql_read",
                json!({ "operation": "show_caller" }),
                json!({
                    "level": "INFO", "operation": "show_caller", "category": "READ", "outcome": "succeeded",
                    "message": "operation succeeded",
                }),
            ),
            (
                "b",
                "mcp_aql_create",
                json!({ "operation": "create_note", "params": { "title": "private-title" } }),
                json!({
                    "level": "INFO", "operation": "create_note", "category": "CREATE", "outcome": "succeeded",
                    "message": "operation succeeded",
                }),
            ),
            (
                "c",
                "mcp_aql_read",
                json!({ "operation": "get_note", "params": { "note_id": "private-id" } }),
                json!({
                    "level": "INFO", "operation": "get_note", "category": "READ", "outcome": "failed",
                    "code": "VALIDATION_INVALID_TYPE", "message": "operation failed",
                }),
            ),
            (
                "d",
                "mcp_aql_read",
                json!({ "operation": "private_name" }),
                json!({
                    "level": "INFO", "outcome": "failed", "code": "NOT_FOUND_OPERATION",
                    "message": "operation failed",
                }),
            ),
            (
                "e",
                "mcp_aql_delete",
                json!({ "operation": "delete_notes" }),
                json!({
                    "level": "INFO", "operation": "delete_notes", "category": "DELETE",
                    "outcome": "awaits_confirmation", "code": "CONFIRMATION_REQUIRED",
                    "message": "operation requires a confirmation",
                }),
            ),
            (
                "f",
                "mcp_aql_execute",
                json!({ "operation": "execute_panic" }),
                json!({
                    "level": "ERROR", "operation": "execute_panic", "category": "EXECUTE", "outcome": "failed",
                    "code": "INTERNAL_ERROR", "message": "operation failed",
                }),
            ),
        ] {
            let (client, answer) = served.call(&session, id, tool, &arguments);
            expected.push((id, client, answer, line));
        }
        let log = served.stop();
        assert!(!log.contains("private"), "{log}");
        let lines = calls_of(&log);
        assert_eq!(lines.len(), expected.len(), "{log}");
        for (mut line, (id, client, answer, expected)) in lines.into_iter().zip(expected) {
            let level = line["level"].take();
            let fields = line["fields"].as_object_mut().unwrap();
            assert!(fields.remove("duration_ms").unwrap().as_f64().unwrap() >= 0.0);
            assert_eq!(fields.remove("request_id").unwrap(), id);
            assert_eq!(fields.remove("client_request_id").unwrap(), "label");
            assert_eq!(fields.remove("mcp_session").unwrap(), session);
            assert_eq!(fields.remove("client").unwrap(), client);
            let own = fields.remove("session").unwrap();
            // The reply contains a session of the adapter: the caller's session, or the one in the error.
            if id != "d" && id != "b" {
                assert!(answer.contains(own.as_str().unwrap()), "{own}: {answer}");
            }
            if let Some(correlation_id) = fields.remove("correlation_id") {
                assert!(answer.contains(correlation_id.as_str().unwrap()), "{answer}");
                assert!(fields.remove("cause").is_some());
            }
            fields.insert("level".to_owned(), level);
            assert_eq!(line["fields"], expected, "{answer}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_hangup_opens_the_audit_log_again() {
        // REQ-GATE-09
        let folder = Folder::new("hangup");
        let (config, log) = (folder.0.join("mcp-aql.toml"), folder.0.join("audit.jsonl"));
        let rotated = folder.0.join("audit.jsonl.1");
        std::fs::write(&config, format!("audit_log = {log:?}\n")).unwrap();
        let mut program = command();
        program.arg("--config").arg(&config);
        let served = Served::start(program);
        let session = served.open_session();
        let delete = json!({ "operation": "delete_notes" });
        served.call(&session, "1", "mcp_aql_delete", &delete);
        std::fs::rename(&log, &rotated).unwrap();
        let process = served.child.id().to_string();
        let sent = Command::new("kill").args(["-s", "HUP", &process]).status();
        assert!(sent.unwrap().success());
        let begun = std::time::Instant::now();
        while !log.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the file was not created");
            std::thread::yield_now();
        }
        served.call(&session, "2", "mcp_aql_delete", &delete);
        drop(served);
        for file in [rotated, log] {
            let entries = std::fs::read_to_string(file).unwrap();
            assert_eq!(entries.matches("CONFIRMATION_REQUIRED").count(), 1, "{entries}");
        }
    }
}
