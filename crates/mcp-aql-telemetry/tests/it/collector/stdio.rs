//! The telemetry of an adapter over standard input and output.

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use rmcp::ServiceExt as _;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

use super::receiver::{Collector, attributes};
use super::{Client, PARENT, TRACE, call, command, hex, lineage, only, owned, traced};
use crate::strict_json::assert_strict;

/// Makes calls of all kinds. The adapter has exited when this function returns.
async fn session() -> Collector {
    let (collector, address) = Collector::start().await;
    let client = ().serve(TokioChildProcess::new(command(address)).unwrap()).await.unwrap();
    let arguments = json!({ "operation": "get_item",
        "params": { "item_id": 7, "password": "password-text" } });
    let reply = call(&client, "mcp_aql_read", &arguments, &traced()).await;
    assert_eq!(reply["data"], 13);
    let arguments = json!({ "operation": "create_item", "params": { "title": "title-text" } });
    call(&client, "mcp_aql_create", &arguments, &Value::Null).await;
    refused(&client).await;
    let fault = json!({ "operation": "get_fault", "params": {} });
    call(&client, "mcp_aql_read", &fault, &traced()).await;
    let batch = json!({ "operations": [
        { "operation": "get_item", "params": { "item_id": 1 } },
        { "operation": "create_item", "params": { "title": "batch-text" } },
    ] });
    let reply = call(&client, "mcp_aql_create", &batch, &traced()).await;
    assert!(reply.to_string().contains("VALIDATION_ENDPOINT_MISMATCH"), "{reply}");
    confirmed(&client).await;
    executed(&client).await;
    assert_eq!(collector.headers().len(), 0, "nothing is exported before the end");
    client.cancel().await.unwrap();
    collector
}

/// Makes invalid calls.
async fn refused(client: &Client) {
    let unknown = json!({ "operation": "operation-text", "params": {} });
    call(client, "mcp_aql_read", &unknown, &traced()).await;
    let incomplete = json!({ "operation": "get_item", "params": {} });
    call(client, "mcp_aql_read", &incomplete, &traced()).await;
}

/// Deletes an item. The first confirmation is wrong.
async fn confirmed(client: &Client) {
    let deletion = |token: Option<&str>| {
        let mut params = json!({ "item_id": 3 });
        if let Some(token) = token {
            params["_confirmation"] = token.into();
        }
        json!({ "operation": "delete_item", "params": params })
    };
    let reply = call(client, "mcp_aql_delete", &deletion(None), &Value::Null).await;
    let token = reply["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
    let wrong: String = token.chars().rev().collect();
    call(client, "mcp_aql_delete", &deletion(Some(&wrong)), &Value::Null).await;
    let reply = call(client, "mcp_aql_delete", &deletion(Some(&token)), &Value::Null).await;
    assert_eq!(reply["data"], 3);
}

/// Runs two executions until they end. One of them fails.
async fn executed(client: &Client) {
    for fails in [false, true] {
        let begin = json!({ "operation": "run_export", "params": { "fails": fails } });
        let reply = call(client, "mcp_aql_execute", &begin, &traced()).await;
        let id = reply["data"]["execution_id"].as_str().unwrap().to_owned();
        let state = json!({ "operation": "get_execution",
            "params": { "execution_id": id } });
        loop {
            let reply = call(client, "mcp_aql_read", &state, &Value::Null).await;
            match reply["data"]["status"].as_str() {
                Some("completed" | "failed") => break,
                Some(_) => {}
                None => panic!("{reply}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_receives_the_spans_of_calls() {
    let collector = session().await;
    let (spans, services) = collector.spans();
    assert!(services.iter().all(|service| service["service.name"] == "items"));
    for headers in collector.headers() {
        assert_eq!(headers["x-collector-key"], "collector-key-text");
    }

    // A call belongs to the trace of its client, and the author's span is a child of the call.
    let load = spans
        .iter()
        .find(|span| span.name == "load_item" && attributes(&span.attributes)["item"] == "7");
    let load = load.unwrap();
    let read = spans.iter().find(|span| span.span_id == load.parent_span_id).unwrap();
    assert_eq!((&*read.name, read.kind), ("tools/call get_item", SpanKind::Server as i32));
    assert_eq!(lineage(read), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!(read.trace_state, "vendor=value");
    assert_eq!(lineage(load), (TRACE.to_owned(), hex(&read.span_id)));
    assert!(load.events.is_empty(), "{load:?}");
    let mut found = attributes(&read.attributes);
    let session = found.remove("mcp.session.id").unwrap();
    assert!(!session.is_empty());
    for varying in ["jsonrpc.request.id", "mcp_aql.request.size", "mcp_aql.reply.size"] {
        found.remove(varying).unwrap().parse::<u64>().unwrap();
    }
    assert_eq!(found.remove("mcp.protocol.version").unwrap().len(), "2025-06-18".len());
    assert_eq!(
        found,
        owned(&[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "get_item"),
            ("mcp.method.name", "tools/call"),
            ("mcp_aql.category", "READ"),
            ("mcp_aql.endpoint", "mcp_aql_read"),
            ("mcp_aql.outcome", "succeeded"),
            ("network.transport", "pipe"),
        ])
    );
    assert_eq!(read.status.clone().unwrap_or_default().code, StatusCode::Unset as i32);

    // A call without a trace context starts a new trace.
    let mut created = spans.iter().filter(|span| span.name == "tools/call create_item");
    let create = created.find(|span| lineage(span).0 != TRACE).unwrap();
    assert_eq!(lineage(create).1, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_batches_and_executions_have_spans() {
    let collector = session().await;
    let (spans, _) = collector.spans();
    let of_client = (TRACE.to_owned(), PARENT.to_owned());

    // Rejected calls have the code of the protocol. A mistake of the caller is not an error of the adapter.
    for (name, code, status) in [
        ("tools/call", "NOT_FOUND_OPERATION", StatusCode::Unset),
        ("tools/call get_item", "VALIDATION_MISSING_PARAM", StatusCode::Unset),
        ("tools/call get_fault", "INTERNAL_ERROR", StatusCode::Error),
    ] {
        let span = only(&spans, name, ("error.type", code));
        assert_eq!(lineage(span), of_client, "{name}");
        assert_eq!(span.status.clone().unwrap_or_default().code, status as i32, "{name}");
        assert_eq!(attributes(&span.attributes)["mcp_aql.outcome"], "failed");
    }
    let unknown = only(&spans, "tools/call", ("error.type", "NOT_FOUND_OPERATION"));
    assert_eq!(attributes(&unknown.attributes)["gen_ai.tool.name"], "_OTHER");
    let asks = ("error.type", "CONFIRMATION_REQUIRED");
    let asks = only(&spans, "tools/call delete_item", asks);
    assert_eq!(attributes(&asks.attributes)["mcp_aql.outcome"], "awaits_confirmation");

    // Each call of a batch has its own span.
    let wrong = ("error.type", "VALIDATION_ENDPOINT_MISMATCH");
    let items = [only(&spans, "tools/call get_item", wrong), {
        let in_batch = |span: &&_| lineage(span) == of_client;
        let mut created = spans.iter().filter(|span| span.name == "tools/call create_item");
        created.find(in_batch).unwrap()
    }];
    let requests = items.map(|span| attributes(&span.attributes)["jsonrpc.request.id"].clone());
    assert_eq!(requests[0], requests[1]);
    assert!(items.iter().all(|span| lineage(span) == of_client));

    // The span of an execution is a child of the call that started it.
    for (outcome, status) in [("succeeded", StatusCode::Unset), ("failed", StatusCode::Error)] {
        let execution = only(&spans, "execute_tool run_export", ("mcp_aql.outcome", outcome));
        let begin = spans.iter().find(|span| span.span_id == execution.parent_span_id).unwrap();
        assert_eq!(begin.name, "tools/call run_export");
        assert_eq!(lineage(begin), of_client);
        assert_eq!(execution.kind, SpanKind::Internal as i32);
        assert_eq!(execution.status.clone().unwrap_or_default().code, status as i32);
        assert!(attributes(&execution.attributes).contains_key("mcp_aql.execution.id"));
        let of_author = spans.iter().find(|span| span.parent_span_id == execution.span_id);
        assert_eq!(of_author.unwrap().name, "write_export");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_receives_metrics_with_bounded_attributes() {
    let collector = session().await;
    let count = |name: &str, wanted: &[(&str, &str)]| collector.count(name, wanted);
    let tool = |name| ("gen_ai.tool.name", name);

    assert_eq!(count("mcp_aql.calls", &[tool("get_item"), ("mcp_aql.outcome", "succeeded")]), 1);
    assert_eq!(count("mcp_aql.calls", &[tool("get_item"), ("mcp_aql.outcome", "failed")]), 2);
    assert_eq!(count("mcp_aql.calls", &[tool("create_item"), ("mcp_aql.category", "CREATE")]), 2);
    assert_eq!(count("mcp_aql.calls", &[tool("_OTHER")]), 1);
    for (code, calls) in [
        ("NOT_FOUND_OPERATION", 1),
        ("VALIDATION_MISSING_PARAM", 1),
        ("VALIDATION_ENDPOINT_MISMATCH", 1),
        ("CONFIRMATION_REQUIRED", 1),
        ("TOKEN_INVALID", 1),
        ("INTERNAL_ERROR", 1),
    ] {
        assert_eq!(count("mcp_aql.refusals", &[("error.type", code)]), calls, "{code}");
    }
    for result in ["asked", "approved", "refused"] {
        let wanted =
            [("mcp_aql.confirmation.result", result), ("mcp_aql.confirmation.by", "token")];
        assert_eq!(count("mcp_aql.confirmations", &wanted), 1, "{result}");
    }
    assert_eq!(count("mcp_aql.executions.started", &[tool("run_export")]), 2);
    assert_eq!(count("mcp_aql.execution.duration", &[tool("run_export")]), 2);
    for outcome in ["succeeded", "failed"] {
        let wanted = [tool("run_export"), ("mcp_aql.outcome", outcome)];
        assert_eq!(count("mcp_aql.executions.ended", &wanted), 1, "{outcome}");
    }
    let durations = collector.points("mcp.server.operation.duration");
    let read = durations.iter().find(|(found, _)| {
        found["gen_ai.tool.name"] == "get_item" && !found.contains_key("error.type")
    });
    let (mut found, calls) = read.unwrap().clone();
    assert_eq!(calls, 1);
    assert!(found.remove("mcp.protocol.version").is_some());
    assert_eq!(
        found,
        owned(&[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "get_item"),
            ("mcp.method.name", "tools/call"),
            ("network.transport", "pipe"),
        ])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn values_secrets_and_texts_of_callers_are_not_exported() {
    let collector = session().await;
    assert!(collector.contains("get_item"));
    for text in [
        "password-text",
        "title-text",
        "batch-text",
        "operation-text",
        "hidden-cause-text",
        "collector-key-text",
        "the disk is full",
        "an event of the author",
    ] {
        assert!(!collector.contains(text), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_sends_its_spans_before_it_exits() {
    for (arguments, operation) in [
        (&["call", "get_item"][..], "get_item"),
        (&["introspect", "operations", "unknown_operation"], "introspect"),
    ] {
        let (collector, address) = Collector::start().await;
        // The command exits with this code.
        let output = command(address).args(arguments).output().await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let (spans, _) = collector.spans();
        let name = format!("execute_tool {operation}");
        let span = only(&spans, &name, ("gen_ai.tool.name", operation));
        assert_eq!(span.kind, SpanKind::Internal as i32);
        assert_eq!(collector.count("mcp_aql.calls", &[("gen_ai.tool.name", operation)]), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_the_log_name_their_trace_and_repeat_no_member() {
    let (_collector, address) = Collector::start().await;
    let mut program = command(address);
    program.env("MCP_AQL_LOG", "debug").env("MCP_AQL_LOG_FORMAT", "json");
    let arguments = ["call", "get_item", "-p", "item_id=1"];
    let output = program.args(arguments).output().await.unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let of_author = log.lines().find(|line| line.contains("an event of the author")).unwrap();
    let line: Value = serde_json::from_str(of_author).unwrap();
    assert_eq!(line["trace_id"].as_str().map(str::len), Some(32), "{line}");
    assert_eq!(line["spans"][0]["fields"]["operation"], "get_item", "{line}");
    assert_eq!(line["spans"][1]["name"], "load_item", "{line}");
    assert_strict(&log);
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_settings_are_reported_when_the_adapter_is_built() {
    let mut program = command("127.0.0.1:9".parse().unwrap());
    program.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").arg("introspect");
    let output = program.output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("OTEL_EXPORTER_OTLP_PROTOCOL"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_collector_does_not_fail_calls() {
    let mut program = command("127.0.0.1:9".parse().unwrap());
    let output = program.args(["call", "get_item", "-p", "item_id=1"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["data"], 0);
}
