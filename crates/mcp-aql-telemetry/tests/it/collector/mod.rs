//! The spans and metrics of an adapter process, as received by a collector.

mod http;
mod receiver;
mod stdio;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use opentelemetry_proto::tonic::trace::v1::Span;
use receiver::{Attributes, attributes};
use rmcp::model::{CallToolRequestParams, MetaObject, RequestMetaObject};
use rmcp::service::{RoleClient, RunningService};
use serde_json::{Value, json};

/// The trace and span of a client, and the `traceparent` that contains both.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// A second trace, span and `traceparent`.
const OTHER_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_PARENT: &str = "00f067aa0ba902b7";
const OTHER_TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

type Client = RunningService<RoleClient, ()>;

/// Returns the path of the adapter's program. Cargo builds it for a run of all tests, but not for `--test it` alone.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    let program = target.join("examples").join("telemetry_fixture");
    assert!(
        program.exists(),
        "run `cargo build -p mcp-aql-telemetry --example telemetry_fixture` first"
    );
    program
}

/// Returns the command of an adapter that exports to this collector. It only exports before it exits.
fn command(collector: SocketAddr) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(program());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("OTEL_") || name.starts_with("MCP_AQL_") {
            command.env_remove(&*name);
        }
    }
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}"))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=collector-key-text")
        .env("OTEL_BSP_SCHEDULE_DELAY", "600000")
        .env("OTEL_METRIC_EXPORT_INTERVAL", "600000")
        // Traces must not depend on the log level.
        .env("MCP_AQL_LOG", "off")
        .env("RUST_BACKTRACE", "0")
        .kill_on_drop(true);
    command
}

/// Calls an operation with these members of `_meta`. Returns the reply.
async fn call(client: &Client, tool: &'static str, arguments: &Value, meta: &Value) -> Value {
    let mut params =
        CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
    params.meta = meta.as_object().map(|meta| RequestMetaObject(MetaObject(meta.clone())));
    let result = client.call_tool(params).await.unwrap();
    serde_json::from_str(&result.content[0].as_text().unwrap().text).unwrap()
}

fn traced() -> Value {
    json!({ "traceparent": TRACEPARENT, "tracestate": "vendor=value" })
}

/// Returns the only span with this name and attribute.
fn only<'a>(spans: &'a [Span], name: &str, (key, value): (&str, &str)) -> &'a Span {
    let fits = |span: &&Span| {
        span.name == name && attributes(&span.attributes).get(key).is_some_and(|it| it == value)
    };
    let found: Vec<_> = spans.iter().filter(fits).collect();
    let names: Vec<_> = spans.iter().map(|span| &span.name).collect();
    assert_eq!(found.len(), 1, "{name} {key}={value} in {names:?}");
    found[0]
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the trace id and the parent id of a span.
fn lineage(span: &Span) -> (String, String) {
    (hex(&span.trace_id), hex(&span.parent_span_id))
}

fn owned(pairs: &[(&str, &str)]) -> Attributes {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
