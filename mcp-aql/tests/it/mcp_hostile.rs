//! Tests of invalid lines: each line that can be answered is answered, and the session continues.

use std::time::Duration;

use crate::support::adapter::{Signals, builder, builder_with};
use crate::support::reached;
use mcp_aql::transport::ServeStream as _;
use mcp_aql::{Adapter, SizeLimits};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines,
    ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A client that sends arbitrary lines.
struct Raw {
    write: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: JoinHandle<mcp_aql::Result>,
}

impl Raw {
    fn connect(adapter: &Adapter) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let adapter = adapter.clone();
        let server = tokio::spawn(async move { adapter.serve(theirs).await });
        let (read, write) = tokio::io::split(ours);
        Self { write, lines: BufReader::new(read).lines(), server }
    }

    /// Connects and performs the handshake.
    async fn greeted(adapter: &Adapter) -> Self {
        let mut raw = Self::connect(adapter);
        raw.send(hello().to_string()).await;
        assert_eq!(raw.answer().await["id"], "hello");
        raw
    }

    async fn send(&mut self, line: impl AsRef<[u8]>) {
        self.write.write_all(line.as_ref()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    async fn line(&mut self) -> String {
        let line = timeout(Duration::from_secs(20), self.lines.next_line()).await;
        line.expect("an answer in time").unwrap().expect("an answer before the end")
    }

    async fn answer(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    /// Checks that the session still works, and that the server sent no other message.
    async fn ping(&mut self) {
        self.send(json!({ "jsonrpc": "2.0", "id": "ping", "method": "ping" }).to_string()).await;
        let answer = self.answer().await;
        assert_eq!(answer["id"], "ping", "{answer}");
    }
}

fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } })
}

fn adapter() -> Adapter {
    builder().without_config().build().unwrap()
}

/// Returns a call as bytes. Its arguments are included unchanged.
fn call(id: &str, arguments: &[u8]) -> Vec<u8> {
    let head = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"mcp_aql_create","arguments":"#
    );
    [head.as_bytes(), arguments, b"}}"].concat()
}

fn reply(answer: &Value) -> Value {
    serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// Returns the error code of MCP-AQL or of JSON-RPC.
fn code(answer: &Value) -> String {
    match answer["error"]["code"].as_i64() {
        Some(code) => code.to_string(),
        None => reply(answer)["error"]["code"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn rejects_invalid_text_with_its_location() {
    // REQ-ENC-01
    let mut client = Raw::greeted(&adapter()).await;
    let title = |bytes: &[u8]| {
        let head = br#"{"operation":"create_note","params":{"title":""#;
        [&head[..], bytes, br#""}}"#].concat()
    };
    for (what, bytes) in [
        ("an overlong slash", &b"\xc0\xaf"[..]),
        ("a character cut short", b"\xe2\x82"),
        ("half a surrogate pair, raw", b"\xed\xa0\x80"),
        ("half a surrogate pair, escaped", br"\ud800"),
        ("the halves in the wrong order", br"\udc00\ud800"),
        ("beyond Unicode", b"\xf5\x80\x80\x80"),
        ("a lone continuation", b"\x80"),
    ] {
        client.send(call("7", &title(bytes))).await;
        let answer = client.answer().await;
        assert_eq!(answer["id"], 7, "{what}: {answer}");
        assert_eq!(code(&answer), "VALIDATION_INVALID_ENCODING", "{what}");
        assert_eq!(answer["result"]["isError"], false, "{what}");
    }
    client.send(call("8", &title(r"\ud83d\ude00 and 😀".as_bytes()))).await;
    assert_eq!(reply(&client.answer().await)["data"]["note"]["title"], "😀 and 😀");
    client.ping().await;
}

#[tokio::test]
async fn lines_beyond_the_limit_are_refused_by_their_id() {
    // REQ-ENC-08, REQ-ENC-13
    let limits = SizeLimits { max_request_size: 64 << 10, ..SizeLimits::default() };
    let adapter = builder().limits(limits).without_config().build().unwrap();
    let mut client = Raw::greeted(&adapter).await;
    let filler = "x".repeat(2 << 20);
    let arguments = format!(r#"{{"operation":"create_note","params":{{"title":"{filler}"}}}}"#);
    let last = format!(
        r#"{{"params":{{"name":"mcp_aql_create","arguments":{arguments}}},"method":"tools/call","jsonrpc":"2.0","id":"b"}}"#
    );
    let first = call("1", arguments.as_bytes());
    for (line, id) in [(first, json!(1)), (last.into_bytes(), json!("b"))] {
        let sent = line.len();
        client.send(line).await;
        let answer = client.answer().await;
        assert_eq!(answer["id"], id);
        let error = reply(&answer)["error"].clone();
        assert_eq!(error["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
        assert_eq!(error["details"]["limit_type"], "request_size");
        assert_eq!(error["details"]["limit_value"], 64 << 10);
        assert_eq!(error["details"]["actual_value"], sent);
    }
    // The arguments are just above the limit of a request, so the line itself is accepted.
    let arguments = format!(r#"{{"operation":"create_note","pad":"{}"}}"#, "x".repeat(64 << 10));
    client.send(call("3", arguments.as_bytes())).await;
    assert_eq!(code(&client.answer().await), "VALIDATION_PAYLOAD_TOO_LARGE");
    // Without an id, no answer is possible.
    client.send(&filler).await;
    client.send(format!(r#"{{"id":5,"method":"ping","pad":"{filler}"}}"#)).await;
    let answer = client.answer().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(5), &json!(-32600)));
    client.ping().await;
}

#[tokio::test]
async fn requests_with_an_id_are_answered() {
    // REQ-RQ-08
    let mut client = Raw::greeted(&adapter()).await;
    let deep = format!(
        r#"{{"operation":"create_note","params":{}1{}}}"#,
        "[".repeat(60_000),
        "]".repeat(60_000)
    );
    for (line, id, expected) in [
        (&br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_aql_read","arguments":{"operation":"#[..], json!(1), "-32700"),
        (br#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"mcp_aql_read"},}"#, json!("x"), "-32700"),
        (br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":["mcp_aql_read"]}"#, json!(2), "-32602"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nothing"}}"#, json!(3), "-32602"),
        (br#"{"jsonrpc":"3.0","id":4,"method":"tools/call"}"#, json!(4), "-32600"),
        (br#"{"id":5}"#, json!(5), "-32600"),
        (br#"[{"jsonrpc":"2.0","id":6,"method":"ping"}, 7]"#, json!(6), "-32600"),
        (b"[]", Value::Null, "-32600"),
        (b"7", Value::Null, "-32600"),
        (&call("8", b"[]"), json!(8), "-32602"),
        (&call("9", deep.as_bytes()), json!(9), "VALIDATION_PAYLOAD_TOO_LARGE"),
        (&call("10", br#"{"operation":"create_note","operation":"list_notes","params":{"title":"a\u0000"}}"#), json!(10), "VALIDATION_INVALID_ENCODING"),
    ] {
        client.send(line).await;
        let answer = client.answer().await;
        let shown = String::from_utf8_lossy(&line[..line.len().min(120)]);
        assert_eq!((&answer["id"], code(&answer).as_str()), (&id, expected), "{shown}: {answer}");
    }
    for nothing in [&b""[..], b" \t ", b"{", b"\x00\xff\x01", b"hello there", b"\"", b"nul"] {
        client.send(nothing).await;
    }
    client.ping().await;
}

#[tokio::test]
async fn messages_before_the_handshake_do_not_end_the_session() {
    // REQ-SES-01
    let mut client = Raw::connect(&adapter());
    for early in [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/unheard_of" }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
    ] {
        client.send(early.to_string()).await;
    }
    client.send(b"no json").await;
    client.send(call("1", br#"{"operation":"list_notes"}"#)).await;
    assert_eq!(client.answer().await["error"]["code"], -32602, "nobody has said hello");
    client.send(hello().to_string()).await;
    assert_eq!(client.answer().await["id"], "hello");
    client.ping().await;
}

#[tokio::test]
async fn a_last_line_without_an_end_is_a_line() {
    // REQ-RQ-08
    let mut client = Raw::greeted(&adapter()).await;
    let last = call("1", br#"{"operation":"create_note","params":{"title":"last"}}"#);
    client.write.write_all(&last).await.unwrap();
    client.write.shutdown().await.unwrap();
    assert_eq!(reply(&client.answer().await)["data"]["note"]["title"], "last");
    assert_eq!(client.lines.next_line().await.unwrap(), None);
    client.server.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_newest_mcp_gets_results_of_its_form() {
    // REQ-MCP-09
    let mut client = Raw::connect(&adapter());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let list =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    client.send(list.to_string()).await;
    let listed = client.answer().await["result"].clone();
    assert_eq!((&listed["resultType"], &listed["ttlMs"]), (&json!("complete"), &json!(0)));
    assert_eq!(listed["tools"].as_array().unwrap().len(), 5);
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": { "operation": "list_notes" }, "_meta": meta } });
    client.send(call.to_string()).await;
    let result = client.answer().await["result"].clone();
    assert_eq!((&result["resultType"], &result["isError"]), (&json!("complete"), &json!(false)));
    for version in ["2024-11-05", "1999-01-01"] {
        let mut call = call.clone();
        call["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.into();
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Value::Null;
        client.send(call.to_string()).await;
        assert_eq!(client.answer().await["error"]["code"], -32602, "{version} needs a handshake");
    }
    let mut client = Raw::greeted(&adapter()).await;
    client.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string()).await;
    let listed = client.answer().await["result"].clone();
    assert_eq!((listed.get("resultType"), listed.get("ttlMs")), (None, None));
    client.send(self::call("2", br#"{"operation":"list_notes"}"#)).await;
    assert_eq!(client.answer().await["result"].get("resultType"), None);
}

#[tokio::test]
async fn a_client_that_reads_late_gets_everything_once() {
    // REQ-RQ-08
    let adapter = adapter();
    let client = Raw::greeted(&adapter).await;
    let title = "t".repeat(150);
    let arguments = format!(r#"{{"operation":"create_note","params":{{"title":"{title}"}}}}"#);
    const CALLS: u64 = 20_000;
    let Raw { mut write, mut lines, .. } = client;
    let sender = tokio::spawn(async move {
        for id in 0..CALLS {
            write.write_all(&call(&id.to_string(), arguments.as_bytes())).await.unwrap();
            write.write_all(b"\n").await.unwrap();
        }
        write
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!sender.is_finished(), "answers that nobody reads hold up the calls");
    let mut seen = vec![false; CALLS as usize];
    for _ in 0..CALLS {
        let line = timeout(Duration::from_secs(60), lines.next_line()).await.unwrap();
        let answer: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
        let id = answer["id"].as_u64().unwrap() as usize;
        assert!(!std::mem::replace(&mut seen[id], true), "{id} twice");
    }
    drop(sender.await.unwrap());
}

#[tokio::test]
async fn a_request_with_an_empty_method_name_is_answered() {
    // REQ-RQ-08
    let mut client = Raw::greeted(&adapter()).await;
    client.send(r#"{"jsonrpc":"2.0","id":"b","method":"","params":{"a":1}}"#).await;
    let answer = client.answer().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("b"), &json!(-32601)));
}

#[tokio::test]
async fn an_id_that_is_used_twice_at_once_gets_both_answers() {
    // REQ-RQ-08
    let mut client = Raw::greeted(&adapter()).await;
    for _ in 0..2 {
        client
            .send(call(r#""same""#, br#"{"operation":"create_note","params":{"title":"a"}}"#))
            .await;
    }
    for _ in 0..2 {
        assert_eq!(client.answer().await["id"], "same");
    }
    client.ping().await;
}

#[tokio::test]
async fn messages_of_a_batch_that_share_an_id_are_answered_together() {
    // REQ-RQ-08
    let mut client = Raw::connect(&adapter());
    let mut hello = hello();
    hello["params"]["protocolVersion"] = "2025-03-26".into();
    client.send(hello.to_string()).await;
    client.answer().await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    client.send(json!([ping, ping, ping]).to_string()).await;
    let pong = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    assert_eq!(client.answer().await, json!([pong, pong, pong]));
}

#[tokio::test]
async fn a_call_is_cancelled_by_its_id_in_any_form() {
    // MCP: a client may cancel any of its own requests
    let signals = Signals::default();
    let adapter = builder_with(&signals).without_config().build().unwrap();
    let mut client = Raw::greeted(&adapter).await;
    let wait = call(r#""\u00e9""#, br#"{"operation":"execute_wait"}"#);
    client.send(String::from_utf8(wait).unwrap().replace("_create", "_execute")).await;
    reached(&signals.started, 1).await;
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"é"}}"#)
        .await;
    reached(&signals.cancelled, 1).await;
    client.ping().await;
}

#[tokio::test]
async fn with_a_reused_id_the_later_call_may_end_first() {
    // REQ-RQ-08
    let mut client = Raw::greeted(&adapter()).await;
    let slow = br#"{"operation":"execute_export","params":{"steps":5}}"#;
    let quick = br#"{"operation":"list_notes"}"#;
    for (tool, arguments) in [("mcp_aql_execute", &slow[..]), ("mcp_aql_read", quick)] {
        let line = String::from_utf8(call("7", arguments)).unwrap();
        client.send(line.replace("mcp_aql_create", tool)).await;
    }
    let answers = [reply(&client.answer().await), reply(&client.answer().await)];
    assert_eq!(answers[0]["data"], json!({ "items": [] }), "{answers:?}");
    assert_eq!(answers[1]["data"], 5, "{answers:?}");
    client.ping().await;
}

#[tokio::test]
async fn the_last_call_is_answered_after_the_last_word() {
    // REQ-RQ-08
    for _ in 0..20 {
        let mut client = Raw::greeted(&adapter()).await;
        let export = call("7", br#"{"operation":"execute_export","params":{"steps":3}}"#);
        client.send(String::from_utf8(export).unwrap().replace("_create", "_execute")).await;
        client.write.shutdown().await.unwrap();
        assert_eq!(reply(&client.answer().await)["data"], 3);
        client.server.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn an_id_goes_back_only_if_it_is_json() {
    // REQ-ENC-01
    let mut client = Raw::greeted(&adapter()).await;
    for id in ["007", "+7", "1 2"] {
        client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
        client.ping().await;
    }
}

#[tokio::test]
async fn an_id_goes_back_as_it_was_written() {
    let mut client = Raw::greeted(&adapter()).await;
    let arguments = br#"{"operation":"create_note","params":{"title":"Milk"}}"#;
    for id in [
        "9223372036854775807",
        "9223372036854775808",
        "123456789012345678901234567890",
        "-9223372036854775809",
    ] {
        client.send(call(id, arguments)).await;
        let answer = client.line().await;
        assert!(answer.contains(&format!(r#""id":{id},"#)), "{answer}");
        assert!(answer.contains("success"), "{answer}");
        client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#)).await;
        assert!(client.line().await.contains(&format!(r#""id":{id},"result""#)));
        // A method that rmcp handles is answered too.
        client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
        assert!(client.line().await.contains(&format!(r#""id":{id},"result""#)));
    }
    // A handshake may have such an id. Before the handshake, rmcp handles all messages.
    let mut client = Raw::connect(&adapter());
    client.send(hello().to_string().replace(r#""hello""#, "9223372036854775808")).await;
    let answer = client.line().await;
    assert!(answer.contains(r#""id":9223372036854775808,"result""#), "{answer}");
    let mut client = Raw::connect(&adapter());
    client.send(call("9223372036854775808", arguments)).await;
    let answer = client.line().await;
    assert!(answer.contains(r#""id":9223372036854775808,"error""#), "{answer}");
}

#[tokio::test]
async fn a_message_that_repeats_a_member_is_refused() {
    // REQ-RQ-01, REQ-RQ-08
    let mut client = Raw::greeted(&adapter()).await;
    let arguments =
        br#"{"operation":"list_notes","operation":"create_note","params":{"title":"Milk"}}"#;
    client.send(call("1", arguments)).await;
    assert_eq!(code(&client.answer().await), "VALIDATION_INVALID_VALUE");
    let params = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{{params}}}}}"#)
    };
    let list = r#""arguments":{"operation":"list_notes"}"#;
    let mut messages = vec![
        (
            params(&format!(r#""name":"mcp_aql_read",{list},"_meta":{{"a":1,"a":2}}"#)),
            "-32602",
            "_meta.a",
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{},"_meta":{}}}"#
                .to_owned(),
            "-32602",
            "_meta",
        ),
    ];
    let members = ["name", "arguments", "_meta", "inputResponses", "requestState", "task"];
    messages.extend(members.map(|member| {
        let (tool, twice) = (r#""name":"mcp_aql_read""#, format!(r#","{member}":{{}}"#).repeat(2));
        let twice = match member {
            "name" => format!("{tool},{tool},{list}"),
            "arguments" => format!("{tool},{list},{list}"),
            _ => format!("{tool},{list}{twice}"),
        };
        (params(&twice), "-32600", member)
    }));
    let envelope = r#""jsonrpc":"2.0","id":2,"method":"ping","params":{}"#;
    messages.extend(["jsonrpc", "id", "method", "params", "result", "error"].map(|member| {
        let value = match member {
            "jsonrpc" => r#""2.0""#,
            "method" => r#""ping""#,
            "params" => "{}",
            _ => "2",
        };
        let own = if envelope.contains(member) { 1 } else { 2 };
        let twice = format!(r#","{member}":{value}"#).repeat(own);
        (format!("{{{envelope}{twice}}}"), "-32600", member)
    }));
    for (message, expected, member) in messages {
        client.send(&message).await;
        let answer = client.answer().await;
        assert_eq!((&answer["id"], code(&answer).as_str()), (&json!(2), expected), "{message}");
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains(&format!("'{member}'")), "{message}: {text}");
    }
    client.ping().await;
}

/// Generates a line: arbitrary bytes, arbitrary JSON, or a call with one changed byte.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let call = call("1", br#"{"operation":"create_note","params":{"title":"\u00e9"}}"#);
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        (0..call.len(), any::<u8>()).prop_map(move |(at, byte)| {
            let mut call = call.clone();
            call[at] = byte;
            call
        }),
        "[\\[\\]{}:,\"0-9a-z]{0,40}".prop_map(String::into_bytes),
    ]
    .prop_map(|line| line.into_iter().filter(|byte| *byte != b'\n').collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_line_ends_the_session(sent in proptest::collection::vec(any_line(), 0..40)) {
        // REQ-RQ-08, REQ-ENC-01
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = Raw::greeted(&adapter()).await;
            for line in &sent {
                client.send(line).await;
            }
            client.send(json!({ "jsonrpc": "2.0", "id": "ping", "method": "ping" }).to_string()).await;
            loop {
                let answer = client.answer().await;
                assert_eq!(answer["jsonrpc"], "2.0");
                assert!(answer.get("result").is_some() != answer.get("error").is_some());
                if answer["id"] == "ping" {
                    break;
                }
            }
            let mut rest = Vec::new();
            client.write.shutdown().await.unwrap();
            let mut read = client.lines.into_inner();
            read.read_to_end(&mut rest).await.unwrap();
            client.server.await.unwrap().unwrap();
        });
    }
}

#[tokio::test]
async fn the_replies_to_a_batch_have_the_room_of_one() {
    // REQ-ENC-09, REQ-ENC-13
    let limits = SizeLimits { max_response_size: 1 << 20, ..SizeLimits::default() };
    let mut raw = Raw::connect(&builder().limits(limits).without_config().build().unwrap());
    let mut hello = hello();
    hello["params"]["protocolVersion"] = "2025-03-26".into();
    raw.send(hello.to_string()).await;
    raw.answer().await;
    let title = "t".repeat(300_000);
    let create = |id: usize| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "mcp_aql_create",
            "arguments": { "operation": "create_note", "params": { "title": title } } } })
    };
    raw.send(Value::from_iter((0..10).map(create)).to_string()).await;
    let line = raw.line().await;
    assert!(line.len() < 3 << 19, "{} bytes", line.len());
    let answers: Vec<Value> = serde_json::from_str(&line).unwrap();
    assert_eq!(answers.len(), 10);
    let replies = answers.iter().map(|answer| -> Value {
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
    });
    let (whole, others): (Vec<_>, Vec<_>) = replies.partition(|reply| reply["success"] == true);
    assert_eq!(whole.len(), 3, "as many as have room");
    let mut ran = whole.len();
    for reply in others {
        let error = &reply["error"];
        assert_eq!(error["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
        assert!(error["message"].as_str().unwrap().ends_with("send fewer calls in one batch"));
        assert_eq!(error["details"]["limit_type"], "response_size");
        ran += usize::from(error["details"]["operation_ran"].as_bool().unwrap());
    }
    // An error says whether its operation was run.
    let list = json!({ "jsonrpc": "2.0", "id": "n", "method": "tools/call", "params": {
        "name": "mcp_aql_read",
        "arguments": { "operation": "get_note", "params": { "note_id": ran } } } });
    raw.send(list.to_string()).await;
    assert!(raw.answer().await.to_string().contains("\\\"success\\\":true"), "{ran}");
    raw.send(list.to_string().replace(&format!(":{ran}"), &format!(":{}", ran + 1))).await;
    assert!(raw.answer().await.to_string().contains("NOT_FOUND_RESOURCE"), "{ran}");
}
