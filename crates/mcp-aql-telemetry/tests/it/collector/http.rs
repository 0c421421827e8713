//! The telemetry of an adapter over HTTP.

use std::net::SocketAddr;
use std::process::Stdio;

use mcp_aql_client::http::{Client as HttpClient, HeaderMap, Method, Url};
use opentelemetry_proto::tonic::trace::v1::Span;
use rmcp::ServiceExt as _;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr};

use super::receiver::{Collector, attributes};
use super::{
    Client, OTHER_PARENT, OTHER_TRACE, OTHER_TRACEPARENT, PARENT, TRACE, TRACEPARENT, call,
    command, lineage, only, traced,
};

/// The adapter's process.
struct Server {
    process: Child,
    url: String,
    /// The log. It is kept open, so that the process can still write to it.
    _log: Lines<BufReader<ChildStderr>>,
}

impl Server {
    async fn start(collector: SocketAddr) -> Self {
        let mut program = command(collector);
        program.args(["serve", "--http", "127.0.0.1:0"]).stderr(Stdio::piped());
        let mut process = program.spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = loop {
            let line = log.next_line().await.unwrap().unwrap();
            if let Some((_, rest)) = line.split_once("MCP on ") {
                break rest.split(',').next().unwrap().to_owned();
            }
        };
        Self { process, url, _log: log }
    }

    /// Stops the process with a signal, like a service manager.
    async fn stop(mut self) {
        let id = self.process.id().unwrap().to_string();
        let sent = tokio::process::Command::new("kill").args(["-TERM", &id]).status().await;
        assert!(sent.unwrap().success());
        assert!(self.process.wait().await.unwrap().success());
    }

    /// Connects a client whose requests all have this `traceparent` header.
    async fn client(&self, traceparent: Option<&'static str>) -> Client {
        let headers = traceparent.into_iter().map(|value| {
            (http::HeaderName::from_static("traceparent"), http::HeaderValue::from_static(value))
        });
        let config = StreamableHttpClientTransportConfig::with_uri(self.url.clone())
            .custom_headers(headers.collect());
        ().serve(StreamableHttpClientTransport::from_config(config)).await.unwrap()
    }

    /// Sends a request of the newest MCP, without a session.
    async fn call_alone(&self, headers: &[(&'static str, &str)], arguments: &Value, meta: Value) {
        let url = Url::parse(&self.url).unwrap();
        let mut all = HeaderMap::new();
        let of_mcp = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "mcp_aql_create"),
        ];
        for (name, value) in of_mcp.iter().chain(headers) {
            all.insert(*name, value.parse().unwrap());
        }
        let mut of_request = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        of_request.as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
        let message = json!({ "jsonrpc": "2.0", "id": "request-one", "method": "tools/call",
            "params": { "name": "mcp_aql_create", "arguments": arguments, "_meta": of_request } });
        let client = HttpClient::new(&url).unwrap();
        let body = message.to_string().into_bytes();
        let mut reply = client.send(&url, Method::POST, all, body).await.unwrap();
        assert_eq!(reply.status().as_u16(), 200);
        while reply.chunk().await.unwrap().is_some() {}
    }
}

fn create(title: &str) -> Value {
    json!({ "operation": "create_item", "params": { "title": title } })
}

fn read(item: u32) -> Value {
    json!({ "operation": "get_item", "params": { "item_id": item } })
}

/// Returns the span of the call that contains the author's span for this item.
fn of_item<'a>(spans: &'a [Span], item: &str) -> &'a Span {
    let load = spans
        .iter()
        .find(|span| span.name == "load_item" && attributes(&span.attributes)["item"] == item);
    let load = load.unwrap();
    spans.iter().find(|span| span.span_id == load.parent_span_id).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_sessions_are_part_of_the_traces_of_their_clients() {
    let (collector, address) = Collector::start().await;
    let server = Server::start(address).await;
    // READs are answered without rmcp, and changes by rmcp.
    let client = server.client(Some(OTHER_TRACEPARENT)).await;
    call(&client, "mcp_aql_read", &read(1), &Value::Null).await;
    call(&client, "mcp_aql_read", &read(2), &traced()).await;
    call(&client, "mcp_aql_create", &create("of the header"), &Value::Null).await;
    client.cancel().await.unwrap();
    let client = server.client(None).await;
    call(&client, "mcp_aql_read", &read(3), &Value::Null).await;
    call(&client, "mcp_aql_read", &read(4), &json!({ "traceparent": "00-0-0-01" })).await;
    client.cancel().await.unwrap();
    server.stop().await;

    let (spans, _) = collector.spans();
    let of_header = (OTHER_TRACE.to_owned(), OTHER_PARENT.to_owned());
    assert_eq!(lineage(of_item(&spans, "1")), of_header);
    assert_eq!(lineage(of_item(&spans, "2")), (TRACE.to_owned(), PARENT.to_owned()));
    let create = only(&spans, "tools/call create_item", ("mcp_aql.outcome", "succeeded"));
    assert_eq!(lineage(create), of_header);
    for item in ["3", "4"] {
        let (trace, parent) = lineage(of_item(&spans, item));
        assert!(trace != TRACE && trace != OTHER_TRACE && parent.is_empty(), "{trace} {parent}");
    }
    for span in [create, of_item(&spans, "1")] {
        let found = attributes(&span.attributes);
        assert_eq!(found["network.transport"], "tcp");
        assert_eq!(found["network.protocol.name"], "http");
        assert!(found.contains_key("mcp.session.id") && found.contains_key("jsonrpc.request.id"));
    }
    let wanted = [("network.transport", "tcp"), ("gen_ai.tool.name", "get_item")];
    assert_eq!(collector.count("mcp.server.operation.duration", &wanted), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_without_a_session_are_part_of_the_traces_of_their_clients() {
    let (collector, address) = Collector::start().await;
    let server = Server::start(address).await;
    let header = [("traceparent", OTHER_TRACEPARENT), ("authorization", "Bearer bearer-text")];
    server.call_alone(&header, &create("title-text"), json!({})).await;
    server.call_alone(&header, &create("title-text"), json!({ "traceparent": TRACEPARENT })).await;
    server.stop().await;
    let (spans, _) = collector.spans();
    let mut parents: Vec<_> =
        spans.iter().filter(|it| it.name == "tools/call create_item").map(lineage).collect();
    parents.sort();
    assert_eq!(
        parents,
        [(TRACE.to_owned(), PARENT.to_owned()), (OTHER_TRACE.to_owned(), OTHER_PARENT.to_owned()),]
    );
    let call = spans.iter().find(|span| span.name == "tools/call create_item").unwrap();
    let found = attributes(&call.attributes);
    assert_eq!(found["mcp.protocol.version"], "2026-07-28");
    assert_eq!(found["jsonrpc.request.id"], "request-one");
    assert!(!found.contains_key("mcp.session.id"));
    assert!(!collector.contains("bearer-text") && !collector.contains("title-text"));
}
