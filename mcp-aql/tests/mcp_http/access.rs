//! Who may call.

use std::net::SocketAddr;

use mcp_aql::{Error, HttpOptions};

use super::support::adapter::builder;
use super::{hello, start};

#[tokio::test]
async fn strangers_are_turned_away() {
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
async fn other_machines_are_served_only_on_purpose() {
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
