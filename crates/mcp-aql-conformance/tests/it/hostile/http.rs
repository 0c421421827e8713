//! Hostile servers over HTTP on loopback.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Case, NO_START, Ran};

const NO_ADAPTER: &str = "Nothing could be tested: ";

servers! {
    http_gives_a_page => [NO_ADAPTER, "text/html", "Welcome"],
    http_gives_nothing => [NO_ADAPTER, "without a response"],
    http_gives_another_kind => [NO_ADAPTER, "application/octet-stream"],
    http_fails => [NO_ADAPTER, "HTTP status 500"],
    http_wants_to_know_who => [NO_ADAPTER, "HTTP status 401", "--header"],
    http_redirects => [NO_ADAPTER, "use the URL `http://169.254.169.254/` if you trust it"],
    http_redirects_with_keys => [NO_ADAPTER, "use the URL `http://host/?***` if you trust it"],
    http_hangs => [NO_ADAPTER, NO_START],
    http_hangs_up => [NO_ADAPTER],
    http_is_no_http => [NO_ADAPTER],
    http_drips => [NO_ADAPTER, NO_START],
    http_floods_with_headers => [NO_ADAPTER],
    http_floods_with_events => [NO_ADAPTER, "unrequested messages"],
    http_floods_with_comments => [NO_ADAPTER, NO_START],
    http_floods_with_one_event => [NO_ADAPTER, "a message of more than"],
    http_floods_with_one_body => [NO_ADAPTER, "a message of more than"],
    http_forgets_the_session => [NO_ADAPTER, "HTTP status 404"],
    http_accepts_and_says_nothing => [NO_ADAPTER, "HTTP status 202"],
    http_is_a_plain_server => ["FAIL", "tools.endpoint", "`echo`"],
    http_speaks_in_events => ["FAIL", "tools.endpoint", "`echo`"],
    http_leaves_streams_open => ["FAIL", "tools.endpoint", "`echo`"],
}

fn run(case: &Case) -> Ran {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = case.name;
    let query = if name == "http_redirects_with_keys" { "?api_key=s3cretkey123&v=1" } else { "" };
    let url = format!("http://{}/mcp{query}", listener.local_addr().unwrap());
    // The thread ends with the process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(name, stream));
        }
    });
    super::run(case, "[headers]\nX-Config = 'yes'", &["--header", "X-Test: yes", "--url", &url])
}

/// Reads a request: method, headers in lowercase, message.
fn request(stream: &mut TcpStream) -> Option<(String, String, Value)> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let message = serde_json::from_slice(&bytes[end + 4..end + 4 + length]);
                let method = head.split(' ').next().unwrap_or_default().to_owned();
                return Some((method, head, message.unwrap_or_default()));
            }
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
        }
    }
}

fn reply(stream: &mut TcpStream, status: &str, headers: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

fn serve(name: &str, mut stream: TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    if name == "http_hangs_up" {
        return;
    }
    if name == "http_is_no_http" {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n");
        return;
    }
    while let Some((method, headers, message)) = request(&mut stream) {
        if answer(name, &mut stream, &method, &headers, &message).is_err() {
            return;
        }
    }
}

fn answer(
    name: &str,
    stream: &mut TcpStream,
    method: &str,
    headers: &str,
    message: &Value,
) -> std::io::Result<()> {
    const JSON: &str = "Content-Type: application/json\r\n";
    const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    match name {
        "http_gives_a_page" => {
            return reply(
                stream,
                "200 OK",
                "Content-Type: text/html\r\n",
                "<h1>Welcome\u{1b}[2J</h1>",
            );
        }
        "http_gives_nothing" => return reply(stream, "200 OK", JSON, ""),
        "http_gives_another_kind" => {
            return reply(stream, "200 OK", "Content-Type: application/octet-stream\r\n", "\0\0\0");
        }
        "http_fails" => return reply(stream, "500 Internal Server Error", "", "at src/main.rs:7"),
        "http_wants_to_know_who" => return reply(stream, "401 Unauthorized", "", ""),
        "http_redirects_with_keys" => {
            let headers = "Location: http://host/?api_key=s3cretkey123&v=1\r\n";
            return reply(stream, "307 Temporary Redirect", headers, "");
        }
        "http_redirects" => {
            return reply(
                stream,
                "307 Temporary Redirect",
                "Location: http://169.254.169.254/\r\n",
                "",
            );
        }
        "http_hangs" => {
            std::thread::sleep(Duration::from_secs(30));
            return Ok(());
        }
        "http_drips" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")?;
            loop {
                stream.write_all(b" ")?;
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        "http_floods_with_headers" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            loop {
                stream.write_all(b"X-More: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")?;
            }
        }
        "http_floods_with_events" => {
            stream.write_all(EVENTS.as_bytes())?;
            loop {
                stream.write_all(
                    b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n",
                )?;
            }
        }
        "http_floods_with_comments" => {
            stream.write_all(EVENTS.as_bytes())?;
            loop {
                stream.write_all(b": still here\n\n")?;
            }
        }
        "http_floods_with_one_event" => {
            stream.write_all(EVENTS.as_bytes())?;
            loop {
                stream.write_all(format!("data: {}\n", "a".repeat(1 << 16)).as_bytes())?;
            }
        }
        "http_floods_with_one_body" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")?;
            loop {
                stream.write_all(&[b'['; 1 << 14])?;
            }
        }
        "http_accepts_and_says_nothing" => return reply(stream, "202 Accepted", "", ""),
        _ => {}
    }
    // A working server that checks the headers of the client.
    let id = &message["id"];
    if method == "delete" {
        return reply(stream, "200 OK", "", "");
    }
    let is_first = message["method"] == "initialize";
    let mut wanted = vec![
        "accept: application/json, text/event-stream",
        "content-type: application/json",
        "x-test: yes",
        "x-config: yes",
    ];
    if !is_first {
        wanted.extend(["mcp-session-id: 4711", "mcp-protocol-version: 2025-06-18"]);
    }
    if let Some(missing) = wanted.into_iter().find(|wanted| !headers.contains(wanted)) {
        let body =
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -1, "message": missing } });
        return reply(stream, "400 Bad Request", JSON, &body.to_string());
    }
    if id.is_null() {
        return reply(stream, "202 Accepted", "", "");
    }
    if name == "http_forgets_the_session" && !is_first {
        return reply(stream, "404 Not Found", "", "");
    }
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "hostile", "version": "6.6.6" },
        }),
        Some("tools/list") => json!({ "tools": [{ "name": "echo" }] }),
        _ => json!({}),
    };
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let session = if is_first { "Mcp-Session-Id: 4711\r\n" } else { "" };
    match name {
        "http_speaks_in_events" => {
            let body =
                format!(": hello\r\nid: 1\r\ndata:\r\n\r\nevent: message\r\ndata: {body}\r\n\r\n");
            reply(stream, "200 OK", &format!("{session}Content-Type: text/event-stream\r\n"), &body)
        }
        "http_leaves_streams_open" => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\n{session}Content-Type: text/event-stream\r\n\r\ndata: {body}\n\n"
            )?;
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        _ => reply(stream, "200 OK", &format!("{session}{JSON}"), &body.to_string()),
    }
}
