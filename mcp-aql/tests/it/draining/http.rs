//! Tests of draining over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::thread::{JoinHandle, spawn};

use serde_json::{Value, json};

use super::{Folder, Gate, Process, assert_refused, call, hello, reply, written};

/// A process that serves HTTP, with one of its sessions.
struct Server {
    process: Process,
    address: String,
    session: String,
}

/// A response: its head, and a reader of the rest of the connection.
struct Response {
    head: String,
    body: BufReader<TcpStream>,
}

impl Server {
    fn start(args: &[&str]) -> Self {
        let args = [&["serve", "--http", "127.0.0.1:0"], args].concat();
        let mut process = Process::start(&args);
        let line = process.logged("MCP on http://");
        let start = line.find("http://").unwrap() + "http://".len();
        let address = line[start..].split('/').next().unwrap().to_owned();
        let mut server = Self { process, address, session: String::new() };
        let opened = server.request("POST", &[], &hello().to_string());
        server.session = opened.header("mcp-session-id").unwrap();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(server.in_session(&ready).status(), "202");
        server
    }

    fn request(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Response {
        request(&self.address, method, headers, body)
    }

    fn in_session(&self, message: &Value) -> Response {
        self.request("POST", &[("Mcp-Session-Id", &self.session)], &message.to_string())
    }

    /// Sends a call of the session on a new thread. The thread returns the answer.
    fn call_in_session(&self, message: &Value) -> JoinHandle<Value> {
        let (address, session) = (self.address.clone(), self.session.clone());
        let body = message.to_string();
        spawn(move || request(&address, "POST", &[("Mcp-Session-Id", &session)], &body).message())
    }

    /// Sends a call of MCP 2026-07-28 on a new thread, without a session. The thread returns the response.
    fn call_alone(&self, message: &Value) -> JoinHandle<Response> {
        let mut message = message.clone();
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let tool = message["params"]["name"].as_str().unwrap().to_owned();
        let (address, body) = (self.address.clone(), message.to_string());
        spawn(move || {
            let headers = [
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", "tools/call"),
                ("Mcp-Name", tool.as_str()),
            ];
            request(&address, "POST", &headers, &body)
        })
    }
}

fn request(address: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    let accept = if method == "GET" { "" } else { "application/json, " };
    let mut head = format!(
        "{method} /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: {accept}text/event-stream\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    write!(stream, "{head}\r\n{body}").unwrap();
    let mut body = BufReader::new(stream);
    let mut head = String::new();
    while body.read_line(&mut head).unwrap() > 2 {}
    Response { head, body }
}

impl Response {
    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(it, _)| *it == name).map(|(_, value)| value.to_owned())
    }

    /// Reads the whole body, and returns the JSON-RPC message. The message may be in an event.
    fn message(mut self) -> Value {
        let mut body = String::new();
        self.body.read_to_string(&mut body).unwrap();
        let answer = body.lines().rev().find_map(|line| {
            let text = line.strip_prefix("data: ").unwrap_or(line);
            serde_json::from_str::<Value>(text).ok().filter(Value::is_object)
        });
        answer.unwrap_or_else(|| panic!("no message in {}{body}", self.head))
    }
}

fn pair(file: &Path, gate: &Gate) -> Value {
    json!({ "file": file, "gate": gate.address() })
}

#[test]
fn running_calls_are_finished_after_a_signal() {
    // REQ-SES-02
    for signal in ["TERM", "INT"] {
        let (folder, gate) = (Folder::new(), Gate::new());
        let files = ["session", "alone", "background"].map(|name| folder.file(name));
        let number = json!({ "gate": gate.address() });
        let mut server = Server::start(&[]);
        let started = server.call_in_session(&call(1, "execute_pair", &pair(&files[2], &gate)));
        let mut waiting = vec![gate.arrived()];
        assert_eq!(reply(&started.join().unwrap())["success"], true);
        // The answer to this call is a stream of events.
        let in_session = server.call_in_session(&call(2, "create_pair", &pair(&files[0], &gate)));
        waiting.push(gate.arrived());
        let alone = server.call_alone(&call(3, "create_pair", &pair(&files[1], &gate)));
        waiting.push(gate.arrived());
        let read = server.call_in_session(&call(4, "get_number", &number));
        waiting.push(gate.arrived());
        let read_alone = server.call_alone(&call(5, "get_number", &number));
        waiting.push(gate.arrived());

        server.process.stop(signal);
        let refused = server.call_alone(&call(6, "get_number", &number)).join().unwrap();
        assert_eq!((refused.status(), refused.header("retry-after")), ("503", Some("10".into())));
        let message = refused.message();
        assert_eq!(message["id"], 6);
        assert!(message["error"]["message"].as_str().unwrap().contains("shutting down"));
        assert_eq!(server.request("POST", &[], &hello().to_string()).status(), "503");
        for operation in ["create_pair", "get_number"] {
            let refused = server.in_session(&call(7, operation, &pair(&files[0], &gate)));
            assert_eq!(refused.status(), "200");
            assert_eq!(refused.header("retry-after"), Some("10".into()));
            assert_refused(&refused.message());
        }

        waiting.into_iter().for_each(super::WaitingOperation::release);
        assert_eq!(reply(&in_session.join().unwrap())["data"], 2);
        assert_eq!(reply(&alone.join().unwrap().message())["data"], 2);
        assert_eq!(reply(&read.join().unwrap())["data"], 7);
        assert_eq!(reply(&read_alone.join().unwrap().message())["data"], 7);
        let log = server.process.ended();
        for file in files {
            assert_eq!(written(&file), "first\nsecond\n", "{signal}: {log}");
        }
        assert!(log.contains("all running calls have finished"), "{log}");
        assert!(log.contains("status=\"completed\""), "the execution has ended by itself: {log}");
        assert!(!log.contains("cut off"), "{log}");
        // This looks for the level of a line, and not for the code of an error in the line.
        assert!(!log.contains(" ERROR "), "refused calls are no faults of the adapter: {log}");
    }
}

#[test]
fn a_resumed_reply_is_sent_before_the_server_ends() {
    // REQ-SES-02
    let (folder, gate) = (Folder::new(), Gate::new());
    let file = folder.file("pair");
    let mut server = Server::start(&[]);
    let mut message = call(1, "create_pair", &pair(&file, &gate));
    message["params"]["_meta"] = json!({ "progressToken": "p" });
    let mut lost = server.in_session(&message);
    let change = gate.arrived();
    // The client disconnects after the first event.
    let mut line = String::new();
    while !line.starts_with("id: ") {
        line.clear();
        assert_ne!(lost.body.read_line(&mut line).unwrap(), 0, "no event with an id");
    }
    drop(lost);
    let event = line["id: ".len()..].trim().to_owned();
    server.process.stop("TERM");
    let headers = [("Mcp-Session-Id", server.session.as_str()), ("Last-Event-ID", &event)];
    let resumed = server.request("GET", &headers, "");
    change.release();
    assert_eq!(reply(&resumed.message())["data"], 2);
    let log = server.process.ended();
    assert!(log.contains("all running calls have finished"), "{log}");
}

#[test]
fn calls_that_take_too_long_are_cut_off_and_logged() {
    for (timeout, signals) in [("0", 1), ("3600", 2)] {
        let (folder, gate) = (Folder::new(), Gate::new());
        let files = ["session", "alone", "background"].map(|name| folder.file(name));
        let mut server = Server::start(&["--drain-timeout", timeout]);
        let started = server.call_in_session(&call(1, "execute_pair", &pair(&files[2], &gate)));
        let mut waiting = vec![gate.arrived()];
        started.join().unwrap();
        // The clients of these calls may see a closed connection.
        let in_session = server.call_in_session(&call(2, "create_pair", &pair(&files[0], &gate)));
        waiting.push(gate.arrived());
        let alone = server.call_alone(&call(3, "create_pair", &pair(&files[1], &gate)));
        waiting.push(gate.arrived());
        server.process.stop("TERM");
        if signals == 2 {
            server.process.signal("TERM");
        }
        let log = server.process.ended();
        drop((waiting, in_session, alone));
        for file in files {
            assert_eq!(written(&file), "first\n", "{log}");
        }
        let cut = |part: &str| log.lines().filter(|line| line.contains(part)).count();
        assert_eq!(cut("a call was cut off"), 2, "{log}");
        assert_eq!(cut("an execution is cut off"), 1, "{log}");
        for part in ["operation=\"create_pair\"", "category=\"CREATE\"", "session=\"s-"] {
            assert!(log.contains(part), "{part}: {log}");
        }
        assert!(log.contains("operation=\"execute_pair\""), "{log}");
        assert!(log.contains("stopped with unfinished calls"), "{log}");
    }
}

#[test]
fn a_read_that_is_cut_off_has_an_error_without_a_place_in_the_log() {
    // REQ-SES-02
    let gate = Gate::new();
    let mut server = Server::start(&["--drain-timeout", "0"]);
    let read = server.call_in_session(&call(1, "get_number", &json!({ "gate": gate.address() })));
    let _waiting = gate.arrived();
    server.process.stop("TERM");
    let answer = read.join().unwrap();
    let error = &reply(&answer)["error"];
    assert!(error["message"].as_str().unwrap().contains("was cancelled"), "{answer}");
    assert_eq!(error["details"].get("correlation_id"), None, "{answer}");
    let log = server.process.ended();
    let line = log.lines().find(|line| line.contains("a call was cut off")).unwrap();
    assert!(line.contains("operation=\"get_number\""), "{line}");
}
