//! The query tool over HTTP.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::{Setup, TOOL, at, malformed, query, refused, scripted, started};

#[tokio::test]
async fn clients_over_http_get_the_same_answer() {
    // REQ-AGR-01, REQ-AGR-04, REQ-AGR-10
    let setup = Setup::new(vec![scripted("docs", "--results 3")], &json!({}));
    let (_child, address) = setup.listen(&[]).await;
    let (one, two) = (at(&address).await, at(&address).await);
    started(&one).await;
    assert_eq!(one.list_all_tools().await.unwrap()[0].name, TOOL);
    for client in [&one, &two] {
        let answer = query(client, json!({ "query": "result" })).await;
        assert_eq!(answer["metadata"]["serversSucceeded"], 1);
        let error = refused(client, json!({ "query": "a", "maxResults": 500 })).await;
        assert_eq!(error.code.0, -32602);
        assert_eq!(error.data.unwrap()["field"], "maxResults");
    }
    // A client that disconnects does not affect others.
    one.cancel().await.unwrap();
    query(&two, json!({ "query": "result" })).await;
    two.cancel().await.unwrap();
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_rejected() {
    let setup = Setup::new(vec![scripted("docs", "")], &json!({}));
    let (_child, address) = setup.listen(&["--allow-host", "docs.example.org"]).await;
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } })
    .to_string();
    let large = format!("{}{}", " ".repeat(2 << 20), hello);
    for (headers, body, status) in [
        ("Host: localhost", &hello, "200"),
        ("Host: docs.example.org", &hello, "200"),
        ("Host: evil.example.org", &hello, "403"),
        ("Host: localhost\r\nOrigin: http://localhost:3000", &hello, "200"),
        ("Host: localhost\r\nOrigin: https://evil.example.org", &hello, "403"),
        ("Host: localhost", &large, "413"),
    ] {
        let answer = post(&address, headers, body).await;
        assert_eq!(answer.split(' ').nth(1), Some(status), "{headers}: {answer}");
    }
}

pub(super) async fn post(address: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\n{headers}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The server may close the connection before everything is sent.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn malformed_calls_are_invalid_parameters() {
    // REQ-AGR-10
    let setup = Setup::new(vec![scripted("docs", "")], &json!({}));
    let (_child, address) = setup.listen(&[]).await;
    for (params, field, reason) in malformed() {
        let mut request = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call" });
        request["params"] = params;
        let answer = post(&address, "Host: localhost", &request.to_string()).await;
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        let error = serde_json::from_str::<Value>(body).unwrap()["error"].take();
        assert_eq!(error["code"], -32602, "{request}: {answer}");
        assert_eq!(error["data"], json!({ "field": field, "reason": reason }), "{request}");
    }
}

#[tokio::test]
async fn remote_addresses_are_rejected() {
    let setup = Setup::new(vec![scripted("docs", "")], &json!({}));
    for face in ["plain", "mcp-aql"] {
        let (code, out, err) = setup.run(&["serve", "--http", "0.0.0.0:0", "--face", face]).await;
        assert_eq!((code, out.as_str()), (3, ""), "{err}");
        assert!(err.contains("--allow-remote"), "{err}");
    }
}
