//! Sends bytes over a connection. The adapter must respond with lines of JSON-RPC, respond to each request once, and
//! end the session at the end of the input.
//!
//! An input has one message per line. If it starts with `!`, the client skips the handshake:
//!
//! ```json
//! {"jsonrpc":"2.0","id":1,"method":"ping"}
//! {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mcp_aql","arguments":{"operation":"echo"}}}
//! ```
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcp_aql::EndpointMode;
use mcp_aql::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

/// Return the text.
#[operation(category = "READ", rationale = "It changes nothing")]
async fn echo(
    /// Text.
    text: Option<String>,
    /// Number of times to yield before the answer.
    #[param(maximum = 3)]
    number: Option<u8>,
    context: Context,
) -> Option<String> {
    for step in 0..number.unwrap_or(0) {
        context.progress(f64::from(step + 1), None, "step").await;
        tokio::task::yield_now().await;
    }
    text
}

static ADAPTER: LazyLock<Adapter> = LazyLock::new(|| {
    Adapter::builder("fuzz")
        .operation(echo {})
        // Offer a single tool, because each session serializes the list of tools.
        .mode(EndpointMode::Single)
        .without_config()
        .build()
        .expect("the adapter is sound")
});

thread_local! {
    /// The clock is paused and only advances when no task is ready. A session that waits for a second then takes no
    /// real time.
    static RUNTIME: Runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime starts");
}

const HELLO: &[u8] = br#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}
"#;
/// A last call. It is sent after the input.
const LAST: &[u8] = br#"
{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"mcp_aql","arguments":{"operation":"echo"}}}
"#;
/// The first byte of an input whose client skips the handshake.
const SKIP_HANDSHAKE: u8 = b'!';

/// The messages of the input that require a response with certainty.
#[derive(Default)]
struct Expected {
    /// Number of requests by id.
    requests: BTreeMap<String, usize>,
    /// Number of messages by id, including messages other than requests.
    sent: BTreeMap<String, usize>,
    /// Ids of requests that rmcp handles. Of two concurrent requests with the same id, rmcp only responds to one. MCP
    /// forbids clients to reuse an id.
    passed_on: BTreeSet<String>,
    /// Ids of canceled requests.
    cancelled: BTreeSet<String>,
    /// If `true`, some lines are not JSON objects. Responses to them are not counted.
    unclear: bool,
}

/// Returns an id that MCP allows: a string or an integer.
fn id(value: Option<&Value>) -> Option<String> {
    value.filter(|id| id.is_string() || id.is_i64()).map(Value::to_string)
}

impl Expected {
    fn read(sent: &[u8]) -> Self {
        let mut asked = Self::default();
        for line in sent.split(|byte| *byte == b'\n') {
            match serde_json::from_slice::<Map<String, Value>>(line) {
                Ok(message) => asked.note(&message),
                Err(_) => asked.unclear |= !line.trim_ascii().is_empty(),
            }
        }
        asked
    }

    fn note(&mut self, message: &Map<String, Value>) {
        let method = message.get("method").and_then(Value::as_str);
        if method == Some("notifications/cancelled") {
            let request = message.get("params").and_then(|params| params.get("requestId"));
            self.cancelled.extend(id(request));
        }
        let Some(id) = id(message.get("id")) else { return };
        *self.sent.entry(id.clone()).or_default() += 1;
        let answer = message.contains_key("result") || message.contains_key("error");
        let own = method == Some("tools/call")
            && message.get("params").is_some_and(|params| params.get("_meta").is_none());
        if !own {
            self.passed_on.insert(id.clone());
        }
        if method.is_some() && message.get("jsonrpc") == Some(&"2.0".into()) && !answer {
            *self.requests.entry(id).or_default() += 1;
        }
    }

    /// Checks that each request has exactly one response.
    fn check(&self, answers: &BTreeMap<String, usize>) {
        for (id, asked) in &self.requests {
            let answers = answers.get(id).copied().unwrap_or_default();
            let cancelled = self.cancelled.contains(id);
            assert!(answers > 0 || cancelled, "no answer to {id}");
            let twice = *asked > 1 && self.passed_on.contains(id);
            if !self.unclear && !twice && self.sent.get(id) == Some(asked) {
                assert!(
                    answers == *asked || (cancelled && answers < *asked),
                    "{answers} of {asked} to {id}"
                );
            }
        }
    }
}

/// Counts the responses by id. Only the id is parsed, because it can have any size.
fn count(lines: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in lines.lines() {
        let answer: BTreeMap<&str, &RawValue> =
            serde_json::from_str(line).expect("an answer is JSON");
        assert_eq!(answer["jsonrpc"].get(), "\"2.0\"");
        if let Some(method) = answer.get("method") {
            assert_eq!(method.get(), "\"notifications/progress\"");
            continue;
        }
        assert!(answer.contains_key("result") != answer.contains_key("error"), "{line}");
        let sent = answer.get("id").and_then(|id| serde_json::from_str(id.get()).ok());
        if let Some(id) = id(sent.as_ref()) {
            *counts.entry(id).or_default() += 1;
        }
    }
    counts
}

/// Sends the input and returns all output. As MCP requires, the input follows the response to the handshake.
async fn converse(greeting: &[u8], sent: &[u8]) -> String {
    let (client, server) = tokio::io::duplex(sent.len() + 4096);
    let serving = tokio::spawn(async move { ADAPTER.serve(server).await });
    let (mut read, mut write) = tokio::io::split(client);
    let mut answers = Vec::new();
    let all = async {
        write.write_all(greeting).await.expect("the server reads");
        while !greeting.is_empty() && !answers.ends_with(b"\n") {
            assert!(read.read_buf(&mut answers).await.expect("bytes") > 0, "not greeted");
        }
        // Once the session has ended, the adapter reads no more input, and writing fails.
        if write.write_all(sent).await.is_ok() {
            let _ = write.shutdown().await;
        }
        read.read_to_end(&mut answers).await.expect("bytes");
        serving.await.expect("no panic")
    };
    let _ = tokio::time::timeout(Duration::from_secs(8), all).await.expect("an end");
    String::from_utf8(answers).expect("answers are text")
}

fuzz_target!(|bytes: &[u8]| {
    let (polite, bytes) = match bytes {
        [SKIP_HANDSHAKE, rest @ ..] => (false, rest),
        _ => (true, bytes),
    };
    let greeting = if polite { HELLO } else { b"" };
    let sent = [bytes, LAST].concat();
    let answers = RUNTIME.with(|runtime| runtime.block_on(converse(greeting, &sent)));
    let answers = count(&answers);
    // If the client skips the handshake, the adapter may close the connection.
    if polite {
        assert!(answers.contains_key("\"last\""), "the last call was not answered");
        Expected::read(&[greeting, &sent].concat()).check(&answers);
    }
});
