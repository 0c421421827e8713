//! Serves the scripted server over minimal HTTP.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::Script;

/// The behavior of a scripted server over HTTP.
#[derive(Debug, Clone, Default)]
pub struct HttpScript {
    /// The script of the MCP responses.
    pub script: Script,
    /// If `true`, responses are sent as server-sent events.
    pub events: bool,
    /// The status and headers of the response to every `tools/call`.
    pub status: Option<(u16, Vec<(String, String)>)>,
    /// If set, only queries with this word get that status.
    pub word: Option<String>,
    /// If `true`, the response with that status has a JSON-RPC error as its body.
    pub status_with_error: bool,
    /// If `true`, the server has no sessions.
    pub stateless: bool,
    /// The status and the target of a redirect, for requests to any path but `/mcp`.
    pub redirect: Option<(u16, String)>,
    /// Number of calls after which a session expires.
    pub calls_per_session: Option<usize>,
    /// The status for an unknown session. Defaults to 404.
    pub lost: Option<u16>,
    /// Every received request: the request line, the headers and the body.
    pub seen: Arc<Mutex<Vec<String>>>,
}

/// Serves on a free port of the loopback interface until the process ends.
///
/// # Panics
///
/// Panics if no port is available.
#[must_use]
pub fn serve_http(script: HttpScript) -> SocketAddr {
    serve_http_over(script, Some)
}

/// Like [`serve_http`], but each connection is converted to another stream first, such as TLS.
///
/// # Panics
///
/// Panics if no port is available.
#[must_use]
#[allow(clippy::expect_used)] // Only used in tests.
pub fn serve_http_over<S: Read + Write>(
    script: HttpScript,
    over: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let state = Arc::new((script, Mutex::new((0_usize, 0_usize)), over));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let state = Arc::clone(&state);
            std::thread::spawn(move || serve(state.2(stream)?, &state.0, &state.1));
        }
    });
    address
}

/// Number of sessions so far, and number of calls in the latest one.
type Sessions = Mutex<(usize, usize)>;

fn serve<S: Read + Write>(stream: S, script: &HttpScript, sessions: &Sessions) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        let mut length = 0;
        let mut session = None;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if let Some(value) = lower.strip_prefix("mcp-session-id:") {
                session = Some(value.trim().to_owned());
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let text = String::from_utf8_lossy(&body);
        script.seen.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{head}\n{text}"));
        if let Some((status, to)) = &script.redirect
            && !head.starts_with("POST /mcp ")
        {
            respond(reader.get_mut(), *status, &[("location", to)], b"")?;
            continue;
        }
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let Some(id) = message.get("id") else {
            respond(reader.get_mut(), 202, &[], b"")?;
            continue;
        };
        let method = message["method"].as_str().unwrap_or_default();
        let number = {
            let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
            match method {
                "initialize" => *sessions = (sessions.0 + 1, 0),
                "tools/call" => sessions.1 += 1,
                _ => {}
            }
            let is_over = script.calls_per_session.is_some_and(|most| sessions.1 > most);
            let is_known = method == "initialize"
                || script.stateless
                || session.as_ref() == Some(&format!("s{}", sessions.0));
            if is_over || !is_known {
                respond(reader.get_mut(), script.lost.unwrap_or(404), &[], b"s3cret")?;
                continue;
            }
            sessions.0
        };
        let result = match method {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "upstream", "version": "1"},
            }),
            "tools/list" => script.script.tools(&message["params"]),
            "tools/call" => {
                let params = &message["params"];
                let query = params["arguments"]["query"].as_str().unwrap_or_default();
                let is_meant = script.word.as_ref().is_none_or(|word| query.contains(word));
                if let Some((status, headers)) = script.status.as_ref().filter(|_| is_meant) {
                    std::thread::sleep(script.script.delay);
                    let mut headers: Vec<_> = headers
                        .iter()
                        .map(|(name, value)| (name.as_str(), value.as_str()))
                        .collect();
                    let mut body = "s3cret".to_owned();
                    if script.status_with_error {
                        headers.push(("content-type", "application/json"));
                        body = super::error(id, "s3cret");
                    }
                    respond(reader.get_mut(), *status, &headers, body.as_bytes())?;
                    continue;
                }
                let tool = params["name"].as_str().unwrap_or_default();
                if let Some(refusal) = script.script.refusal(id, tool) {
                    let kind = [("content-type", "application/json")];
                    respond(reader.get_mut(), 200, &kind, refusal.as_bytes())?;
                    continue;
                }
                match script.script.call.split_once(':').unwrap_or((&script.script.call, "")) {
                    ("hang", _) => {
                        std::thread::sleep(Duration::from_secs(60));
                        return None;
                    }
                    ("exit", _) => return None,
                    // The large response is written below.
                    ("huge", _) => Value::Null,
                    ("tool-error", text) => {
                        json!({"content": [{"type": "text", "text": text}], "isError": true})
                    }
                    _ => script.script.result(params),
                }
            }
            _ => json!({}),
        };
        let answer = match script.script.call.split_once(':') {
            Some(("error", text)) if method == "tools/call" => super::error(id, text),
            Some(("huge", size)) if method == "tools/call" => {
                super::huge(id, size.parse().unwrap_or_default())
            }
            _ => super::answer(id, &result),
        };
        let session = format!("s{number}");
        let (kind, body) = match script.events {
            true => {
                let noise = match script.script.noise {
                    0 => String::new(),
                    bytes => format!("data: {}\n\n", super::noise(bytes)),
                };
                let events = format!(": hello\n\n{noise}event: message\ndata: {answer}\n\n");
                ("text/event-stream", events)
            }
            false => ("application/json", answer),
        };
        let mut headers = vec![("content-type", kind)];
        if !script.stateless {
            headers.push(("mcp-session-id", &session));
        }
        respond(reader.get_mut(), 200, &headers, body.as_bytes())?;
    }
}

fn respond(out: &mut impl Write, status: u16, headers: &[(&str, &str)], body: &[u8]) -> Option<()> {
    let mut head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    out.write_all(head.as_bytes()).ok()?;
    out.write_all(body).ok()?;
    out.flush().ok()
}
