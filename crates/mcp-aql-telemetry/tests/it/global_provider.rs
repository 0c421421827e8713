//! An adapter in a program with its own provider.

use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::Next;
use mcp_aql::HttpOptions;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint};
use mcp_aql_client::http::{Client, HeaderMap, Method, Url};
use mcp_aql_core::internal::caller::{ActiveSpan, CallOrigin, TraceContext};
use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::trace::{FutureExt as _, Span as _, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context as OtelContext, global};
use opentelemetry_sdk::propagation::BaggagePropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;

use crate::own_process::runs_alone;

/// Return a tenant.
#[operation(category = "READ")]
async fn get_tenant() -> String {
    let mut query = global::tracer("author").start("query");
    tokio::task::yield_now().await;
    query.end();
    let of_trace = OtelContext::current().baggage().get("tenant").map(ToString::to_string);
    of_trace.unwrap_or_default()
}

/// Create a tenant.
#[operation(category = "CREATE")]
fn create_tenant() -> u32 {
    1
}

/// Opens a span for each HTTP request, like the middleware of a program.
async fn with_span(request: Request, next: Next) -> axum::response::Response {
    let span = global::tracer("program").start("POST /mcp");
    next.run(request).with_context(OtelContext::current_with_span(span)).await
}

/// Calls an operation over HTTP, in a request of the newest MCP with a `traceparent` header.
async fn call_over_http(adapter: &Adapter, tool: &str, operation: &str) {
    let router = adapter.router(&HttpOptions::new()).layer(axum::middleware::from_fn(with_span));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/mcp", listener.local_addr().unwrap())).unwrap();
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let arguments = json!({ "operation": operation });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments, "_meta": meta } });
    let client = Client::new(&url).unwrap();
    let body = message.to_string().into_bytes();
    let mut reply = client.send(&url, Method::POST, headers, body).await.unwrap();
    assert_eq!(reply.status().as_u16(), 200);
    while reply.chunk().await.unwrap().is_some() {}
    server.abort();
}

fn named<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans.iter().find(|span| span.name == name).unwrap()
}

#[tokio::test]
async fn calls_are_part_of_the_traces_of_the_program() {
    // The provider and the propagator are global, so the test needs its own process.
    if !runs_alone("global_provider::calls_are_part_of_the_traces_of_the_program") {
        return;
    }
    let adapter = Adapter::builder("tenants").operation(get_tenant {});
    let adapter = adapter.operation(create_tenant {}).without_config();
    let adapter = adapter.opentelemetry().build().unwrap();
    // Set the provider after the adapter is built.
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    global::set_tracer_provider(provider);
    global::set_text_map_propagator(BaggagePropagator::new());

    // A call in the program is a child of the active span, and the author's span is a child of the call.
    let request = global::tracer("program").start("request");
    let request = OtelContext::current_with_span(request);
    let result = adapter.call("get_tenant", json!({})).with_context(request.clone()).await;
    assert_eq!(result.data(), "");
    let spans = exporter.get_finished_spans().unwrap();
    let call = named(&spans, "execute_tool get_tenant");
    let of_request = request.span().span_context().clone();
    assert_eq!(call.parent_span_id, of_request.span_id());
    assert_eq!(named(&spans, "query").parent_span_id, call.span_context.span_id());
    assert_eq!(call.instrumentation_scope.name(), "mcp-aql");
    exporter.reset();

    // A call with a trace context in `_meta` is a child of its client's span, and it is linked to the active span. The
    // program's propagators read the baggage.
    let mut origin = CallOrigin::default();
    origin.meta = TraceContext::read(|name| match name {
        "traceparent" => Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        "baggage" => Some("tenant=blue"),
        _ => None,
    });
    origin.active = Some(ActiveSpan::new(request));
    let arguments = json!({ "operation": "get_tenant" }).as_object().unwrap().clone();
    let scope = CallScope { origin: Some(Arc::new(origin)), ..CallScope::default() };
    let reply = adapter.handle(Endpoint::Unified, arguments, scope).await;
    assert!(reply.text.contains("blue"), "{}", reply.text);
    let spans = exporter.get_finished_spans().unwrap();
    let call = named(&spans, "tools/call get_tenant");
    assert_eq!(call.parent_span_id.to_string(), "b7ad6b7169203331");
    assert!(call.parent_span_is_remote);
    let links: Vec<_> = call.links.iter().map(|link| link.span_context.clone()).collect();
    assert_eq!(links, [of_request]);
    exporter.reset();

    // A call in an HTTP request is a child of the program's span for the request, even if it runs in a separate task.
    for (tool, operation) in [("mcp_aql_read", "get_tenant"), ("mcp_aql_create", "create_tenant")] {
        call_over_http(&adapter, tool, operation).await;
        let spans = exporter.get_finished_spans().unwrap();
        let call = named(&spans, &format!("tools/call {operation}"));
        let of_request = named(&spans, "POST /mcp").span_context.span_id();
        assert_eq!(call.parent_span_id, of_request, "{operation}");
        exporter.reset();
    }
}
