//! Tests of bodies that cannot be read.

use mcp_aql::HttpOptions;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{request, start, text};
use crate::support::adapter::builder;

#[tokio::test]
async fn oversized_bodies_get_413() {
    // REQ-ENC-08, choice G-15
    let server = start(builder(), HttpOptions::new()).await;
    let (status, _) = server.post(&[], &"x".repeat(4 << 20)).await;
    assert_eq!(status, 413);
    // A request above the limit of MCP-AQL, but below the limit of HTTP, receives the error of MCP-AQL.
    let client = server.connect().await;
    let arguments = json!({ "operation": "list_notes", "params": { "x": "x".repeat(2 << 20) } });
    let result = client.call_tool(request("mcp_aql_read", &arguments)).await.unwrap();
    assert!(text(&result).contains("VALIDATION_PAYLOAD_TOO_LARGE"));
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_answered_by_their_id() {
    // REQ-ENC-01, REQ-ENC-08, REQ-ENC-12, REQ-ENC-13
    let server = start(builder(), HttpOptions::new()).await;
    let call = |id: &str, title: &[u8]| {
        let head = r#"{"method":"tools/call","params":{"name":"mcp_aql_create","arguments":{"operation":"create_note","title":"#;
        let tail = format!(r#"}}}},"jsonrpc":"2.0","id":{id}}}"#);
        [head.as_bytes(), title, tail.as_bytes()].concat()
    };
    let (large, huge) = ("x".repeat(4 << 20), "x".repeat(20 << 20));
    let deep = [b"[".repeat(5_000), b"]".repeat(5_000)].concat();
    for (what, body, status, expected, identified) in [
        ("raw bytes", call("1", b"\"\xff\""), 200, "VALIDATION_INVALID_ENCODING", true),
        ("depth", call("1", &deep), 200, "VALIDATION_PAYLOAD_TOO_LARGE", true),
        (
            "length",
            call("1", format!("\"{large}\"").as_bytes()),
            200,
            "VALIDATION_PAYLOAD_TOO_LARGE",
            true,
        ),
        ("more than is read on", call("1", format!("\"{huge}\"").as_bytes()), 413, "-32600", false),
        ("nobody's length", large.clone().into_bytes(), 413, "-32600", false),
        ("no JSON", b"hello".to_vec(), 400, "-32700", false),
        ("no JSON, with an id", b"{\"id\":1,]".to_vec(), 400, "-32700", true),
        ("no message", b"{\"id\":1}".to_vec(), 400, "-32600", true),
        (
            "no call",
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}"#.to_vec(),
            400,
            "-32602",
            true,
        ),
        ("several messages", b"[{\"id\":1}]".to_vec(), 400, "-32600", false),
        ("nothing", Vec::new(), 400, "-32600", false),
    ] {
        let (actual, answer) = server.post(&[], &body).await;
        assert_eq!(actual, status, "{what}: {answer}");
        assert!(answer.contains(expected), "{what}: {answer}");
        assert!(!answer.contains("fail to deserialize"), "{what}: {answer}");
        assert_eq!(answer.contains(r#""id":1"#), identified, "{what}: {answer}");
    }
    // Bodies of unauthenticated requests are not parsed.
    let (status, _) = server.post(&[("Host", "evil.test")], call("1", b"\"\xff\"")).await;
    assert_eq!(status, 403);
    let (status, answer) =
        server.post(&[("MCP-Protocol-Version", "2026-07-28")], call("1", b"\"\xff\"")).await;
    assert_eq!(status, 200);
    assert!(answer.contains(r#""resultType":"complete""#), "{answer}");
}

#[tokio::test]
async fn a_value_that_no_parser_reads_fails_its_item_alone() {
    // REQ-BAT-02, REQ-ENC-01, REQ-ENC-05
    let server = start(builder(), HttpOptions::new()).await;
    let session = server.session("2025-11-25").await;
    let in_session = ("Mcp-Session-Id", &*session);
    // An unusual header makes rmcp read the body first.
    let charset = ("Content-Type", "application/json; charset=utf-8");
    for (value, code) in [
        ("1e999", "VALIDATION_INVALID_VALUE"),
        (r#""\ud800""#, "VALIDATION_INVALID_ENCODING"),
        (r#"{"a":1,"a":2}"#, "VALIDATION_INVALID_VALUE"),
    ] {
        let good = r#"{"operation":"create_note","params":{"title":"é \ud83d\ude00"}}"#;
        let bad = format!(r#"{{"operation":"create_note","params":{{"title":{value}}}}}"#);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"mcp_aql_create","arguments":{{"operations":[{good},{bad},{good}]}}}}}}"#
        );
        let single = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"mcp_aql_create","arguments":{bad}}}}}"#
        );
        for headers in [&[in_session][..], &[in_session, charset]] {
            let (status, answer) = server.post(headers, &single).await;
            assert_eq!(status, 200, "{answer}");
            assert!(answer.contains(code) && answer.contains("params.title"), "{answer}");
            let (status, answer) = server.post(headers, &body).await;
            assert_eq!(status, 200, "{answer}");
            assert!(answer.contains(r#""id":7"#), "{answer}");
            for part in [r#"\"succeeded\":2,\"failed\":1"#, code, "operations[1].params.title"] {
                assert!(answer.contains(part), "{value}: {answer}");
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_is_no_fault_of_the_server() {
    // REQ-ENC-01
    let server = start(builder(), HttpOptions::new()).await;
    let session = server.session("2025-11-25").await;
    let session = format!("Mcp-Session-Id: {session}\r\n");
    let whole = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let chunk = format!("{:x}\r\n{whole}\r\n", whole.len());
    for (what, head, body) in [
        ("in its length", "Content-Length: 100", whole.to_owned()),
        ("before a chunk", "Transfer-Encoding: chunked", String::new()),
        ("in the size of a chunk", "Transfer-Encoding: chunked", "2".to_owned()),
        ("in a chunk", "Transfer-Encoding: chunked", format!("50\r\n{whole}")),
        ("after a chunk", "Transfer-Encoding: chunked", chunk.clone()),
        ("in the last chunk", "Transfer-Encoding: chunked", format!("{chunk}0\r\n")),
        ("a chunk with an invalid size", "Transfer-Encoding: chunked", format!("{chunk}zz\r\n")),
        ("a chunk with an invalid end", "Transfer-Encoding: chunked", format!("2\r\n{whole}\r\n")),
    ] {
        for media in ["application/json", "application/json; charset=utf-8"] {
            for session in ["", &*session] {
                let request = format!(
                    "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: {media}\r\n{session}\
                     Accept: application/json, text/event-stream\r\n{head}\r\n\r\n{body}",
                    server.address
                );
                let mut stream = TcpStream::connect(server.address).await.unwrap();
                stream.write_all(request.as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                // A client that has disconnected receives no answer.
                assert!(
                    answer.is_empty()
                        || answer.starts_with("HTTP/1.1 400 ") && answer.contains("-32600"),
                    "{what}, {media}, {session}: {answer}"
                );
                if what.contains("chunk") {
                    assert!(answer.contains("the body ended early"), "{what}, {media}: {answer}");
                }
            }
        }
    }
}
