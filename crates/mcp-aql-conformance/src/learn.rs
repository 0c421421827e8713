//! Learning an adapter: reads its tools, operations and types from introspection. Malformed parts are skipped
//! here; checks of forms report them.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use crate::adapter::{Adapter, Operation, Tool, Type, text, tool_parts};
use crate::call::{Exchange, RateLimitWait};
use crate::category::Mode;
use crate::json_size::weight;
use crate::run::at_once;
use crate::wire::{Answer, Connection, NoResponse};

/// Returned when an adapter could not be learned.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LearnError {
    /// The connection failed.
    #[error(transparent)]
    NoResponse(#[from] NoResponse),
    /// The server is not an MCP-AQL adapter.
    #[error("not an MCP-AQL adapter: {0}")]
    NotAnAdapter(String),
    /// The configuration names an operation that the adapter does not have.
    #[error("it has no operation `{1}`, which `{0}` of the configuration names")]
    UnknownOperation(&'static str, String),
    /// The adapter ignores the selected mode.
    #[error("asked for {asked} mode, it still serves {serves} mode")]
    OtherMode {
        /// The selected mode.
        asked: Mode,
        /// The served mode.
        serves: Mode,
    },
}

/// The maximum number of tools, operations or types.
const MAX_LISTED: usize = 5_000;
/// The approximate maximum memory of a learned adapter in each mode, in bytes.
const MAX_LEARNED_BYTES: usize = 12 << 20;

/// The maximum number of concurrent requests.
const MAX_CONCURRENT: usize = 32;

/// The memory in use by the learned parts.
#[derive(Default)]
struct MemoryBudget(AtomicUsize);

impl MemoryBudget {
    /// Reserves memory for several copies of a value.
    fn reserve(&self, times: usize, value: &Value) -> Result<(), LearnError> {
        let more = weight(value).saturating_mul(times);
        if self.0.fetch_add(more, Ordering::Relaxed).saturating_add(more) <= MAX_LEARNED_BYTES {
            return Ok(());
        }
        Err(LearnError::NotAnAdapter(format!(
            "its tools and introspection take more than {} MiB",
            MAX_LEARNED_BYTES >> 20
        )))
    }
}

/// Rejects lists that are too long.
fn check_length(what: &str, length: usize) -> Result<(), LearnError> {
    if length <= MAX_LISTED {
        return Ok(());
    }
    Err(LearnError::NotAnAdapter(format!("it lists more than {MAX_LISTED} {what}")))
}

/// Reads all tools, page by page.
async fn tools(connection: &Connection, budget: &MemoryBudget) -> Result<Vec<Tool>, LearnError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..100 {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({ "cursor": cursor }));
        let result = match connection.request("tools/list", &params).await {
            Answer::Result(result) => result,
            Answer::Error { code, message, .. } => {
                return Err(LearnError::NotAnAdapter(format!(
                    "`tools/list` returned the JSON-RPC error {code}: {message}"
                )));
            }
            Answer::NoResponse(lost) => return Err(lost.into()),
        };
        let Some(page) = result.get("tools").and_then(Value::as_array) else {
            return Err(LearnError::NotAnAdapter("`tools/list` returned no `tools`".to_owned()));
        };
        // The endpoint tools are stored twice.
        budget.reserve(2, &result)?;
        tools.extend(page.iter().filter_map(|raw| {
            Some(Tool {
                name: text(raw.get("name"))?,
                description: text(raw.get("description")).unwrap_or_default(),
                raw: raw.clone(),
            })
        }));
        check_length("tools", tools.len())?;
        cursor = result.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}

/// The reply with the list of operations, and the tools that belong to its adapter.
struct Listing {
    endpoints: Vec<Tool>,
    mode: Mode,
    serves_all: bool,
    introspect: String,
    reply: Value,
}

/// Learns an adapter. If it serves both modes at once, `of_all` selects one.
///
/// # Errors
/// [`LearnError`] if the server is not an MCP-AQL adapter or does not answer.
pub(crate) async fn learn(connection: &Connection, of_all: Mode) -> Result<Adapter, LearnError> {
    let budget = &MemoryBudget::default();
    let tools = tools(connection, budget).await?;
    let Listing { endpoints, mode, serves_all, introspect, reply: operations_reply } =
        find_adapter(connection, &tools, of_all, budget).await?;
    let types_reply = ask(connection, &introspect, json!({ "query": "types" })).await;
    let types_reply = types_reply.into_body().unwrap_or_default();
    budget.reserve(3, &types_reply)?;
    let operations = list_in(&operations_reply, "operations")?;
    let types = list_in(&types_reply, "types")?;
    let protocol = operations_reply.pointer("/data/_protocol").unwrap_or(&Value::Null);
    let details = |query, list| {
        details(connection, &introspect, query, list, at_once(protocol, MAX_CONCURRENT), budget)
    };
    let operations = details("operations", operations).await?;
    let types = details("types", types).await?;
    if let Some(lost) = connection.ended() {
        return Err(lost.into());
    }
    // Introspection may name the tools of the other mode (REQ-INT-11).
    let is_single_of_all = serves_all && mode == Mode::Single;
    let named_here = |mut operation: Operation| {
        if let Some(single) = endpoints.first()
            && is_single_of_all
            && tools.iter().any(|tool| tool.name == operation.tool)
        {
            operation.tool.clone_from(&single.name);
        }
        operation
    };
    let operations = operations
        .into_iter()
        .filter_map(|(listed, reply)| Operation::read(&listed, reply))
        .map(named_here)
        .collect();
    let types = types
        .into_iter()
        .filter_map(|(listed, reply)| Some(Type { name: text(listed.get("name"))?, listed, reply }))
        .collect();
    Ok(Adapter {
        hello: connection.hello().clone(),
        operations,
        types,
        tools,
        endpoints,
        mode,
        serves_all,
        introspect,
        operations_reply,
        types_reply,
    })
}

/// Finds the first adapter of the server that lists its operations. A server may contain several adapters
/// with different prefixes.
async fn find_adapter(
    connection: &Connection,
    tools: &[Tool],
    of_all: Mode,
    budget: &MemoryBudget,
) -> Result<Listing, LearnError> {
    let mut last = String::new();
    for prefix in prefixes(tools)? {
        let (endpoints, mode, serves_all) = face(tools, prefix, of_all);
        // The READ tool is tried first; other profiles may have `introspect` elsewhere.
        let mut order: Vec<_> = endpoints.iter().map(|tool| tool.name.clone()).collect();
        order.sort_by_key(|name| !name.ends_with("_read"));
        for introspect in order {
            let exchange = ask(connection, &introspect, json!({ "query": "operations" })).await;
            if let Some(lost) = exchange.no_response() {
                return Err(lost.clone().into());
            }
            if exchange.data().and_then(|data| data.get("operations")).is_some_and(Value::is_array)
            {
                let reply = exchange.into_body().unwrap_or_default();
                // The entries are stored in the reply, in the list and in each operation.
                budget.reserve(3, &reply)?;
                return Ok(Listing { endpoints, mode, serves_all, introspect, reply });
            }
            last = exchange.summary();
        }
    }
    Err(LearnError::NotAnAdapter(format!(
        "no endpoint tool returns a list of operations for `introspect`; the last one returned {last}"
    )))
}

/// The distinct prefixes of endpoint tools in the order of the tools.
fn prefixes(tools: &[Tool]) -> Result<Vec<&str>, LearnError> {
    let mut prefixes: Vec<&str> = Vec::new();
    for (prefix, _) in tools.iter().filter_map(|tool| tool_parts(&tool.name)) {
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    if !prefixes.is_empty() {
        return Ok(prefixes);
    }
    let names: Vec<_> = tools.iter().take(5).map(|tool| format!("`{}`", tool.name)).collect();
    let more = if tools.len() > 5 { ", …" } else { "" };
    Err(LearnError::NotAnAdapter(match tools.len() {
        0 => "it has no tools".to_owned(),
        count => format!(
            "none of its {count} tools ({}{more}) is named `mcp_aql`, `mcp_aql_read` or similar",
            names.join(", ")
        ),
    }))
}

/// The list of this name in a reply of `introspect`.
fn list_in(reply: &Value, name: &str) -> Result<Vec<Value>, LearnError> {
    let list = reply.pointer("/data").and_then(|data| data.get(name)?.as_array());
    let list = list.cloned().unwrap_or_default();
    check_length(name, list.len())?;
    Ok(list)
}

/// Reads the details of all entries of a list: the entry and the reply.
async fn details(
    connection: &Connection,
    introspect: &str,
    query: &'static str,
    list: Vec<Value>,
    at_once: usize,
    budget: &MemoryBudget,
) -> Result<Vec<(Value, Value)>, LearnError> {
    let requests = list.into_iter().map(move |listed| async move {
        let name = listed.get("name").cloned().unwrap_or_default();
        let params = json!({ "query": query, "name": name });
        let exchange = ask(connection, introspect, params).await;
        let reply = exchange.into_body().unwrap_or_default();
        budget.reserve(1, &reply)?;
        Ok::<_, LearnError>((listed, reply))
    });
    stream::iter(requests).buffered(at_once).try_collect().await
}

/// Returns the endpoint tools with this prefix, their mode, and whether both modes are served.
fn face(tools: &[Tool], prefix: &str, of_all: Mode) -> (Vec<Tool>, Mode, bool) {
    let of_prefix = |is_family: bool| {
        let is_one = move |tool: &&Tool| {
            tool_parts(&tool.name)
                .is_some_and(|(other, family)| other == prefix && family.is_some() == is_family)
        };
        tools.iter().filter(is_one).cloned().collect::<Vec<_>>()
    };
    let (families, single) = (of_prefix(true), of_prefix(false));
    let serves_all = !families.is_empty() && !single.is_empty();
    match families.is_empty() || (serves_all && of_all == Mode::Single) {
        true => (single, Mode::Single, serves_all),
        false => (families, Mode::Semantic, serves_all),
    }
}

async fn ask(connection: &Connection, tool: &str, params: Value) -> Exchange {
    let mut arguments = json!({ "operation": "introspect", "params": params });
    let mut rate_limit = RateLimitWait::default();
    loop {
        let exchange = Exchange::make(connection, tool, arguments, None).await;
        if !rate_limit.wait_if_limited(&exchange, None).await {
            return exchange;
        }
        arguments = exchange.arguments;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_tools_by_prefix() {
        let names =
            ["a_mcp_aql_read", "b_mcp_aql_read", "a_mcp_aql_delete", "b_mcp_aql", "mcp_aql", "x"];
        let tools = names.map(|name| Tool {
            name: name.to_owned(),
            description: String::new(),
            raw: Value::Null,
        });
        let face = |prefix, of_all| {
            let (endpoints, mode, serves_all) = face(&tools, prefix, of_all);
            (endpoints.into_iter().map(|tool| tool.name).collect::<Vec<_>>(), mode, serves_all)
        };
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let of_a = (named(&["a_mcp_aql_read", "a_mcp_aql_delete"]), Mode::Semantic, false);
        assert_eq!(face("a_", Mode::Single), of_a);
        assert_eq!(face("", Mode::Semantic), (named(&["mcp_aql"]), Mode::Single, false));
        assert_eq!(face("b_", Mode::Semantic), (named(&["b_mcp_aql_read"]), Mode::Semantic, true));
        assert_eq!(face("b_", Mode::Single), (named(&["b_mcp_aql"]), Mode::Single, true));
    }
}
