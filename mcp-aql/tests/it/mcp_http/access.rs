//! Tests of access checks over HTTP.

use std::net::SocketAddr;

use mcp_aql::transport::ServeHttp as _;
use mcp_aql::{Error, HttpOptions};

use super::{hello, newest, start};
use crate::support::adapter::builder;
use crate::support::works::works;

#[tokio::test]
async fn rejects_unauthorized_callers() {
    // REQ-MCP-12
    let options = HttpOptions::new().allow_host("tasks.test").allow_origin("https://app.test");
    let server = start(builder(), options).await;
    let body = hello();
    for (headers, status) in [
        (vec![], 200),
        (vec![("Host", "localhost")], 200),
        (vec![("Host", "tasks.test:8443")], 200),
        (vec![("Host", "evil.test")], 403),
        (vec![("Origin", "http://localhost:5173")], 200),
        (vec![("Origin", "https://app.test")], 200),
        (vec![("Origin", "https://evil.test")], 403),
        (vec![("Origin", "null")], 403),
    ] {
        let (actual, answer) = server.post(&headers, &body).await;
        assert_eq!(actual, status, "{headers:?}: {answer}");
    }
}

#[tokio::test]
async fn other_machines_are_served_only_if_configured() {
    let adapter = builder().without_config().build().unwrap();
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    for options in [
        HttpOptions::new(),
        HttpOptions::new().allow_remote(true),
        HttpOptions::new().allow_host("tasks.test"),
    ] {
        let refused = adapter.serve_http(everywhere, options).await.unwrap_err();
        assert!(
            matches!(&refused, Error::Usage(text) if text.contains("--allow-host")),
            "{refused}"
        );
    }
}

#[test]
fn other_machines_are_served_only_with_authentication_or_by_explicit_choice() {
    let remote = || HttpOptions::new().allow_remote(true).allow_host("tasks.test");
    let everywhere = "0.0.0.0".parse().unwrap();
    let refused = remote().check(everywhere).unwrap_err().to_string();
    assert!(refused.contains("--insecure-anonymous"), "{refused}");
    let tokens = mcp_aql::auth::StaticTokens::new();
    for allowed in [remote().insecure_anonymous(true), remote().authenticator(tokens)] {
        assert!(allowed.check(everywhere).is_ok(), "{allowed:?}");
    }
    let unnamed = HttpOptions::new().allow_remote(true).insecure_anonymous(true);
    assert!(unnamed.check(everywhere).unwrap_err().to_string().contains("--allow-host"));
}

#[tokio::test]
async fn a_reply_has_a_media_type_that_the_client_accepts() {
    // The first message is handled by rmcp, and the second one is answered without it.
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_aql_read","arguments":{"operation":"list_notes"}}}"#;
    // The reply to this call follows notifications.
    let export = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_aql_execute","arguments":{"operation":"execute_export","params":{"steps":3}},"_meta":{"progressToken":1}}}"#;
    let server = start(builder(), HttpOptions::new()).await;
    let id = server.session("2025-11-25").await;
    for (accept, kinds) in [
        ("*/*", &["application/json", "text/event-stream"][..]),
        ("application/*, text/*;q=0.5", &["application/json", "text/event-stream"]),
        ("application/json, */*;q=0.1", &["application/json", "text/event-stream"]),
        // The header is not sent.
        ("", &["application/json", "text/event-stream"]),
        ("application/json", &["application/json"]),
        ("application/*", &["application/json"]),
        ("*/*, text/event-stream;q=0", &["application/json"]),
        ("text/event-stream", &["text/event-stream"]),
        ("text/html", &[]),
        ("*/*;q=0", &[]),
    ] {
        for (body, in_session) in
            [(hello().as_str(), false), (list, true), (call, true), (export, true)]
        {
            let session = in_session.then_some(("Mcp-Session-Id", &*id));
            let headers: Vec<_> = session.into_iter().chain([("Accept", accept)]).collect();
            let (status, answer) = server.post(&headers, body).await;
            if kinds.is_empty() {
                assert_eq!(status, 406, "{accept}: {answer}");
                continue;
            }
            assert_eq!(status, 200, "{accept}: {answer}");
            let (head, reply) = answer.split_once("\r\n\r\n").unwrap();
            let head = head.to_ascii_lowercase();
            assert!(
                kinds.iter().any(|kind| head.contains(&format!("content-type: {kind}"))),
                "{accept}: {head}"
            );
            assert!(reply.contains(r#""result":"#), "{accept}: {reply}");
            if kinds == ["application/json"] {
                let whole: serde_json::Value = serde_json::from_str(reply).unwrap();
                assert!(whole["result"].is_object(), "{accept}: {reply}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_accepts_no_events_gets_a_token_instead_of_a_question() {
    // REQ-TOK-06
    let (builder, _) = works();
    let server = start(builder, HttpOptions::new()).await;
    let can_ask = hello().replace(r#""capabilities":{}"#, r#""capabilities":{"elicitation":{}}"#);
    let (_, answer) = server.post(&[], can_ask).await;
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(server.post(&[("Mcp-Session-Id", id)], ready).await.0, 202);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_aql_execute","arguments":{"operation":"execute_fire"}}}"#;
    let headers = [("Mcp-Session-Id", id), ("Accept", "application/json")];
    let (status, answer) = server.post(&headers, call).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("confirmation_token"), "{answer}");
}

#[tokio::test]
async fn an_error_of_http_has_a_media_type() {
    let server = start(builder(), HttpOptions::new()).await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (status, target, headers) in [
        (400, "POST /mcp", vec![("Origin", "http://localhost"), ("Origin", "http://localhost")]),
        (403, "POST /mcp", vec![("Host", "evil.test")]),
        (403, "POST /mcp", vec![("Origin", "http://127.0.0.1:80.evil.test")]),
        (404, "POST /elsewhere", vec![]),
        (404, "POST /mcp", vec![("Mcp-Session-Id", unknown)]),
        (405, "PUT /mcp", vec![]),
        (406, "POST /mcp", vec![("Accept", "text/html")]),
        (415, "POST /mcp", vec![("Content-Type", "text/plain")]),
    ] {
        let body = hello();
        let (actual, answer) = server.send_in_pieces(target, &headers, &[body.as_bytes()]).await;
        assert_eq!(actual, status, "{target} {headers:?}: {answer}");
        let head = answer.to_ascii_lowercase();
        let is_typed =
            ["\r\ncontent-type: ", "\r\ncontent-length: 0\r\n"].map(|it| head.contains(it));
        assert!(is_typed.contains(&true), "{target} {headers:?}: {answer}");
    }
}

#[tokio::test]
async fn the_host_of_a_target_in_absolute_form_counts() {
    // REQ-MCP-12
    let server = start(builder(), HttpOptions::new()).await;
    let port = server.address.port();
    let (modern, call) = newest("list_notes");
    for (status, target, host) in [
        (200, "http://127.0.0.1:PORT/mcp", vec!["127.0.0.1"]),
        (200, "http://localhost:PORT/mcp", vec!["evil.test"]),
        (200, "http://LOCALHOST/mcp", vec![""]),
        (403, "http://evil.test/mcp", vec!["127.0.0.1"]),
        (403, "http://evil.test:PORT/mcp", vec!["evil.test"]),
        (400, "http://127.0.0.1:PORT/mcp", vec!["127.0.0.1", "evil.test"]),
        (404, "http://127.0.0.1:PORT/elsewhere", vec!["127.0.0.1"]),
        (404, "http://127.0.0.1:PORT", vec!["127.0.0.1"]),
    ] {
        let target = format!("POST {}", target.replace("PORT", &port.to_string()));
        let host: Vec<_> = host.into_iter().map(|host| ("Host", host)).collect();
        for (headers, body) in [(&[][..], hello()), (&modern[..], call.clone())] {
            let headers = [headers, &host].concat();
            let sent = server.send_in_pieces(&target, &headers, &[body.as_bytes()]).await;
            assert_eq!(sent.0, status, "{target} {headers:?}: {}", sent.1);
        }
    }
}

#[tokio::test]
async fn a_session_that_does_not_exist_cannot_be_deleted() {
    // REQ-SES-02
    let server = start(builder(), HttpOptions::new()).await;
    let unknown = [("Mcp-Session-Id", "00000000-0000-4000-8000-000000000000")];
    assert_eq!(server.send("DELETE", &unknown, "").await.0, 404);
    let id = server.session("2025-11-25").await;
    let known = [("Mcp-Session-Id", &*id)];
    assert_eq!(server.send("DELETE", &known, "").await.0, 202);
    assert_eq!(server.send("DELETE", &known, "").await.0, 404);
    // The headers are checked first.
    let foreign = [known[0], ("Origin", "https://evil.test")];
    assert_eq!(server.send("DELETE", &foreign, "").await.0, 403);
}
