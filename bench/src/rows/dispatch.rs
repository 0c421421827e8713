//! Measures a call in process, from the JSON of the arguments to the JSON of the result.

use std::sync::Arc;

use mcp_aql::transport::{Arguments, CallScope, Endpoint};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolRequestParams, CallToolResponse, RequestId};
use rmcp::service::{RequestContext, serve_directly};
use serde_json::{Map, Value, json};

use super::Setup;
use crate::Result;
use crate::measure::{in_turns, nanos_each_async, runtime};
use crate::records::rmcp::Records;
use crate::records::{TASK, aql};
use crate::table::{Outcome, Row, Target};

/// The endpoint of READ operations, by its index among the five families.
pub(super) const READ: Endpoint = Endpoint::Family(1);

/// Returns three parameters, none of them omitted.
fn parameters() -> Value {
    json!({ "task_id": 1, "archived": false, "newer_than": 0 })
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let calls = setup.scale.calls;
    let runtime = runtime()?;
    let adapter = aql::adapter()?;
    runtime.block_on(adapter.call("create_task", task()?));

    let good = object(json!({ "operation": "get_task", "params": parameters() }));
    let wrong = json!({ "task_id": 1, "archived": false, "newer_then": 0 });
    let wrong = object(json!({ "operation": "get_task", "params": wrong }));
    let ours = |arguments: &Map<String, Value>, proof: &str| {
        let reply = runtime.block_on(adapter.handle(READ, arguments.clone(), CallScope::default()));
        if !reply.text.contains(proof) {
            return Err(format!("an unexpected reply: {}", reply.text).into());
        }
        nanos_each_async(
            &runtime,
            calls,
            |_| (arguments.clone(), CallScope::default()),
            |(arguments, scope)| adapter.handle(READ, arguments, scope),
            |made| *made == reply,
        )
    };

    let server = Records::server();
    let (stream, _other_end) = tokio::io::duplex(64);
    let running = {
        let _entered = runtime.enter();
        serve_directly(Arc::clone(&server), stream, None)
    };
    let call = |name: &'static str, arguments: &Map<String, Value>, index: usize| {
        let id = RequestId::Number(index as i64);
        let context = RequestContext::new(id, running.peer().clone());
        let request = CallToolRequestParams::new(name).with_arguments(arguments.clone());
        (request, context)
    };
    let dispatch = |(request, context)| {
        server.tool_router.call(ToolCallContext::new(&*server, request, context))
    };
    runtime.block_on(dispatch(call("create_task", &object(task()?), 0)))?;
    // Measure from bytes to bytes as well, like the transports do: from the parameters' JSON to a reply quoted as a
    // JSON string.
    let our_bytes = Value::from(good.clone()).to_string().into_bytes();
    let ours_in_bytes = || {
        let handle = |_: usize| async {
            let arguments = Arguments::from(&*our_bytes).for_quoted_reply();
            let reply = adapter.handle(READ, arguments, CallScope::default()).await;
            Some(reply).filter(|reply| reply.is_quoted).map(|reply| reply.text)
        };
        let expected = runtime.block_on(handle(0));
        nanos_each_async(
            &runtime,
            calls,
            |index| index,
            handle,
            |reply| reply.is_some() && *reply == expected,
        )
    };
    let peer_bytes = json!({ "name": "get_task", "arguments": parameters() }).to_string();
    let peer_in_bytes = || {
        let handle = |index: usize| {
            let request: Option<CallToolRequestParams> = serde_json::from_str(&peer_bytes).ok();
            let id = RequestId::Number(index as i64);
            let context = RequestContext::new(id, running.peer().clone());
            let server = &server;
            async move {
                let call = ToolCallContext::new(&**server, request?, context);
                match server.tool_router.call(call).await.ok()? {
                    CallToolResponse::Complete(result) => serde_json::to_vec(&result).ok(),
                    _ => None,
                }
            }
        };
        let expected = runtime.block_on(handle(0));
        nanos_each_async(
            &runtime,
            calls,
            |index| index,
            handle,
            |reply| reply.is_some() && *reply == expected,
        )
    };

    let success = || ours(&good, "\"task_id\":1");
    let failure = || ours(&wrong, "Did you mean 'newer_than'");
    Ok(Outcome::Rows(vec![
        Row::of_times(
            "dispatch",
            "call in process, JSON to JSON; rmcp's parser, router, serializer",
            in_turns(setup.scale.rounds, ours_in_bytes, peer_in_bytes)?,
            Target::AtMost(0.6),
        ),
        Row::of_times(
            "dispatch-unknown",
            "unknown parameter, with suggestion; our own success",
            in_turns(setup.scale.rounds, failure, success)?,
            Target::AtMost(3.0),
        ),
    ]))
}

fn task() -> Result<Value> {
    Ok(serde_json::from_str(TASK)?)
}
