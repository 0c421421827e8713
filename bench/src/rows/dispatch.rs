//! Measures an in-process call: from the arguments to the finished reply.

use std::sync::Arc;

use mcp_aql::transport::{CallScope, Endpoint};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolRequestParams, CallToolResponse, RequestId};
use rmcp::service::{RequestContext, serve_directly};
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::measure::{in_turns, nanos_each_async, runtime};
use crate::records::rmcp::Records;
use crate::records::{TASK, aql};
use crate::table::{Row, Target, Unit};
use crate::{Result, Setup};

/// The endpoint of READ operations, by its index among the five.
pub(super) const READ: Endpoint = Endpoint::Family(1);

/// Three parameters, all present.
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
    let arguments = object(parameters());
    let response = runtime.block_on(dispatch(call("get_task", &arguments, 0)))?;
    let expected = text(&response).filter(|text| text.contains("\"task_id\":1")).map(str::to_owned);
    let expected = expected.ok_or_else(|| format!("an unexpected answer: {response:?}"))?;
    let peer = || {
        nanos_each_async(
            &runtime,
            calls,
            |index| call("get_task", &arguments, index),
            dispatch,
            |response| response.as_ref().is_ok_and(|response| text(response) == Some(&expected)),
        )
    };

    let success = || ours(&good, "\"task_id\":1");
    let failure = || ours(&wrong, "Did you mean 'newer_than'");
    Ok(Outcome::Rows(vec![
        Row {
            name: "dispatch".to_owned(),
            what: "call in process, three parameters; rmcp's tool router".to_owned(),
            unit: Unit::Nanoseconds,
            turns: in_turns(setup.scale.rounds, success, peer)?,
            target: Target::AtMost(0.6),
        },
        Row {
            name: "dispatch-unknown".to_owned(),
            what: "unknown parameter, with suggestion; our own success".to_owned(),
            unit: Unit::Nanoseconds,
            turns: in_turns(setup.scale.rounds, failure, success)?,
            target: Target::AtMost(3.0),
        },
    ]))
}

fn task() -> Result<Value> {
    Ok(serde_json::from_str(TASK)?)
}

/// Returns the text of a successful answer.
fn text(response: &CallToolResponse) -> Option<&str> {
    let CallToolResponse::Complete(result) = response else { return None };
    match result.is_error {
        Some(true) => None,
        _ => Some(&result.content.first()?.as_text()?.text),
    }
}
