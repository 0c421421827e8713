//! Measures the lists that the adapter prepares in advance.

use mcp_aql::transport::CallScope;
use mcp_aql::{Adapter, SemanticCategory};
use serde::Serialize;
use serde_json::{Value, json};

use super::Setup;
use super::dispatch::{READ, object};
use crate::Result;
use crate::measure::{in_turns, nanos_each, nanos_each_async, runtime};
use crate::records::aql;
use crate::stream_client::StreamClient;
use crate::table::{Outcome, Row, Target};

/// Divides the number of calls, because each takes longer than usual.
const SHARE: usize = 8;

/// The reply of `introspect` with the list of operations.
#[derive(Serialize)]
struct Reply<'a> {
    success: bool,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    operations: Vec<Info<'a>>,
}

#[derive(Serialize)]
struct Info<'a> {
    name: &'a str,
    semantic_category: &'a str,
    endpoint: &'a str,
    description: String,
}

/// Builds and serializes the list from the tables, like a server without a cached list.
fn list_anew(adapter: &Adapter) -> String {
    let operations = adapter
        .operations()
        .map(|spec| Info {
            name: spec.name,
            semantic_category: spec.category.as_str(),
            endpoint: match spec.category {
                SemanticCategory::Create => "create",
                SemanticCategory::Read => "read",
                SemanticCategory::Update => "update",
                SemanticCategory::Delete => "delete",
                SemanticCategory::Execute => "execute",
            },
            description: spec.summary(),
        })
        .collect();
    serde_json::to_string(&Reply { success: true, data: Data { operations } }).unwrap_or_default()
}

pub(super) fn introspect(setup: &Setup) -> Result<Outcome> {
    let calls = setup.scale.calls.div_ceil(SHARE);
    let runtime = runtime()?;
    let adapter = aql::adapter()?;
    let arguments =
        object(json!({ "operation": "introspect", "params": { "query": "operations" } }));
    let reply = runtime.block_on(adapter.handle(READ, arguments.clone(), CallScope::default()));
    let anew = list_anew(&adapter);
    let [told, made] = [&reply.text, &anew].map(|text| serde_json::from_str::<Value>(text));
    let (told, made) = (told?, made?);
    let [cached_list, made_list] = [&told, &made].map(|reply| reply.pointer("/data/operations"));
    // The list also contains `introspect`.
    if cached_list != made_list || cached_list.and_then(Value::as_array).map(Vec::len) != Some(51) {
        return Err(format!("{told} is not {made}").into());
    }
    let ours = || {
        nanos_each_async(
            &runtime,
            calls,
            |_| arguments.clone(),
            |arguments| adapter.handle(READ, arguments, CallScope::default()),
            |told| told.text.len() == reply.text.len(),
        )
    };
    let peer = || nanos_each(calls, |_| (), |()| list_anew(&adapter), |made| *made == anew);
    Ok(Outcome::Rows(vec![Row::of_times(
        "introspect",
        "introspect, list of 50; the list made anew",
        in_turns(setup.scale.rounds, ours, peer)?,
        Target::AtMost(0.05),
    )]))
}

/// Returns the time of a `tools/list` request.
async fn list(client: &mut StreamClient, calls: usize, tools: usize) -> Result<f64> {
    const LIST: &str = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";
    let expected = client.ask(LIST).await?.to_owned();
    if expected.matches("\"inputSchema\":").count() != tools {
        return Err(format!("not {tools} tools: {expected}").into());
    }
    let clock = std::time::Instant::now();
    for _ in 0..calls {
        let listed = client.ask(LIST).await?;
        if listed != expected {
            return Err(format!("another list: {listed}").into());
        }
    }
    Ok(clock.elapsed().as_nanos() as f64 / calls as f64)
}

pub(super) fn tools_list(setup: &Setup) -> Result<Outcome> {
    let calls = setup.scale.calls.div_ceil(SHARE);
    let runtime = runtime()?;
    let (mut ours, _) = runtime.block_on(StreamClient::of_adapter(aql::adapter()?))?;
    let (mut peer, _) = runtime.block_on(StreamClient::of_tools())?;
    Ok(Outcome::Rows(vec![Row::of_times(
        "tools-list",
        "tools/list, whole round trip in memory",
        in_turns(
            setup.scale.rounds,
            || runtime.block_on(list(&mut ours, calls, 5)),
            || runtime.block_on(list(&mut peer, calls, 50)),
        )?,
        Target::AtMost(0.05),
    )]))
}
