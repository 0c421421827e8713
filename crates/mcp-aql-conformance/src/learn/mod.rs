//! Learns an adapter: reads its tools, operations and types from introspection.
//!
//! Reading is lenient. The checks of forms report deviations, and unreadable parts become gaps.

mod reader;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use self::reader::Reader;
use crate::adapter::gaps::{Gap, Part};
use crate::adapter::{Adapter, Tool, naming, text, tool_parts};
use crate::budget::{Pacer, RateLimit, StatedLimit};
use crate::call::Exchange;
use crate::category::Mode;
use crate::json_size::weight;
use crate::wire::{Answer, Connection, NoResponse};

/// The error for an adapter that could not be learned.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum LearnError {
    /// The connection failed.
    #[error(transparent)]
    NoResponse(#[from] NoResponse),
    /// The run was interrupted.
    #[error("the run was interrupted")]
    Interrupted,
    /// The server is not an MCP-AQL adapter.
    #[error("not an MCP-AQL adapter: {0}")]
    NotAnAdapter(String),
    /// The tools and the introspection of the server take too much memory.
    #[error("too large to test: its tools and introspection take more than {} MiB", MAX_LEARNED_BYTES >> 20)]
    TooLarge,
    /// The configuration names an operation that the adapter does not have.
    #[error("it has no operation `{1}`: correct `{0}` in the configuration")]
    UnknownOperation(&'static str, String),
    /// The adapter ignores the selected mode.
    #[error("it serves {serves} mode although {asked} mode was requested")]
    OtherMode {
        /// The selected mode.
        asked: Mode,
        /// The served mode.
        serves: Mode,
    },
}

/// Maximum number of concurrent requests for details.
const MAX_CONCURRENT: usize = 32;
/// Maximum number of pages of tools.
const MAX_PAGES: usize = 100;
/// Approximate maximum memory of a learned adapter in each mode, in bytes.
const MAX_LEARNED_BYTES: usize = 12 << 20;

/// Counts the memory of the learned parts, in bytes.
#[derive(Default)]
struct MemoryBudget(AtomicUsize);

impl MemoryBudget {
    /// Reserves memory for this number of copies of a value.
    fn reserve(&self, times: usize, value: &Value) -> Result<(), LearnError> {
        let more = weight(value).saturating_mul(times);
        if self.0.fetch_add(more, Ordering::Relaxed).saturating_add(more) <= MAX_LEARNED_BYTES {
            return Ok(());
        }
        Err(LearnError::TooLarge)
    }
}

/// Reads all tools, page by page. Also returns the reason why there may be more, if any.
async fn tools(
    connection: &Connection,
    budget: &MemoryBudget,
) -> Result<(Vec<Tool>, Option<String>), LearnError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({ "cursor": cursor }));
        let result = match connection.request("tools/list", &params).await {
            Answer::Result(result) => result,
            // A server without the capability `tools` returns this error.
            Answer::Error { code, message, .. } => {
                let why = format!("`tools/list` returned the JSON-RPC error {code}: {message}");
                return Ok((tools, Some(why)));
            }
            Answer::NoResponse(lost) => return Err(lost.into()),
        };
        let Some(page) = result.get("tools").and_then(Value::as_array) else {
            return Err(LearnError::NotAnAdapter("`tools/list` returned no `tools`".to_owned()));
        };
        // The endpoint tools are stored a second time.
        budget.reserve(2, &result)?;
        tools.extend(page.iter().filter_map(|raw| {
            Some(Tool {
                name: text(raw.get("name"))?,
                description: text(raw.get("description")).unwrap_or_default(),
                raw: raw.clone(),
            })
        }));
        cursor = result.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
        if cursor.is_none() {
            return Ok((tools, None));
        }
    }
    Ok((tools, Some(format!("`tools/list` has more than {MAX_PAGES} pages"))))
}

/// The endpoint tools of one adapter, and its reply with the list of operations.
struct Listing {
    endpoints: Vec<Tool>,
    mode: Mode,
    serves_all: bool,
    introspect: String,
    reply: Value,
    /// Reason why the endpoint tools or the list are missing.
    gap: Option<Gap>,
}

/// Learns an adapter. Unreadable parts are stored in [`Adapter::gaps`].
///
/// If the adapter serves both modes at once, `of_all` selects one of them.
///
/// # Errors
///
/// Returns [`LearnError`] if the server does not reply, or replies with too much data.
pub(crate) async fn learn(
    connection: &Connection,
    pacer: &Pacer,
    of_all: Mode,
) -> Result<Adapter, LearnError> {
    let budget = &MemoryBudget::default();
    let (tools, why) = tools(connection, budget).await?;
    let listing = find_adapter((connection, pacer), &tools, of_all, why.clone(), budget).await?;
    let is_read = listing.gap.is_none();
    let mut adapter = Adapter {
        hello: connection.hello().clone(),
        operations: Vec::new(),
        types: Vec::new(),
        tools,
        unread_tools: why,
        endpoints: listing.endpoints,
        mode: listing.mode,
        serves_all: listing.serves_all,
        introspect: listing.introspect,
        operations_reply: listing.reply,
        types_reply: Value::Null,
        name_member: naming::NAME.to_owned(),
        gaps: listing.gap.into_iter().collect(),
    };
    if is_read {
        let introspect = &adapter.introspect.clone();
        let at_once = adapter.at_once(MAX_CONCURRENT);
        let reader = Reader { connection, pacer, introspect, budget, at_once };
        reader.operations(&mut adapter).await?;
        reader.types(&mut adapter).await?;
        keep_stated_limit(connection, pacer, &adapter).await;
    }
    if let Some(lost) = connection.ended() {
        return Err(lost.into());
    }
    Ok(adapter)
}

/// Finds the first adapter of the server that lists its operations.
///
/// A server may contain several adapters with different prefixes. If none of them returns a list, the first adapter is
/// used.
async fn find_adapter(
    (connection, pacer): (&Connection, &Pacer),
    tools: &[Tool],
    of_all: Mode,
    why: Option<String>,
    budget: &MemoryBudget,
) -> Result<Listing, LearnError> {
    let mut first = None;
    for prefix in prefixes(tools) {
        let (endpoints, mode, serves_all) = face(tools, prefix, of_all);
        // Try the READ tool first. In other profiles, another tool may accept `introspect`.
        let mut order: Vec<_> = endpoints.iter().map(|tool| tool.name.clone()).collect();
        order.sort_by_key(|name| !name.ends_with("_read"));
        for introspect in order {
            let exchange =
                ask(connection, pacer, &introspect, json!({ "query": "operations" })).await;
            if let Some(lost) = exchange.no_response() {
                return Err(lost.clone().into());
            }
            let is_list =
                exchange.data().and_then(|data| data.get("operations")?.as_array()).is_some();
            let why = format!(
                "`introspect` with the query `operations` returns no list of operations, but {}",
                exchange.summary()
            );
            let reply = exchange.received();
            // The reply keeps the entries, and the list and the operations copy them.
            budget.reserve(3, &reply)?;
            let gap =
                (!is_list).then(|| Gap::new(Part::Operations, "introspection.list_form", why));
            let endpoints = endpoints.clone();
            let listing = Listing { endpoints, mode, serves_all, introspect, reply, gap };
            if is_list {
                return Ok(listing);
            }
            first.get_or_insert(listing);
        }
    }
    Ok(first.unwrap_or_else(|| without_endpoints(tools, why)))
}

/// Describes a server without endpoint tools, with the reason why it is not an adapter.
fn without_endpoints(tools: &[Tool], why: Option<String>) -> Listing {
    let names: Vec<_> = tools.iter().take(5).map(|tool| format!("`{}`", tool.name)).collect();
    let more = if tools.len() > 5 { ", …" } else { "" };
    let unsuitable = match tools.len() {
        1 => format!(
            "the only tool of the server ({}) is not named `mcp_aql`, `mcp_aql_read` or similar",
            names.join(", ")
        ),
        count => format!(
            "none of the {count} tools of the server ({}{more}) is named `mcp_aql`, `mcp_aql_read` or similar",
            names.join(", ")
        ),
    };
    let why = match (tools.is_empty(), why) {
        (true, None) => "the server has no tools".to_owned(),
        (true, Some(why)) => why,
        (false, None) => unsuitable,
        (false, Some(why)) => format!("{unsuitable}; {why}"),
    };
    Listing {
        endpoints: Vec::new(),
        mode: Mode::Semantic,
        serves_all: false,
        introspect: String::new(),
        reply: Value::Null,
        gap: Some(Gap::new(Part::Tools, "tools.endpoint", why)),
    }
}

/// Returns the distinct prefixes of endpoint tools, in the order of the tools.
fn prefixes(tools: &[Tool]) -> Vec<&str> {
    let mut prefixes: Vec<&str> = Vec::new();
    for (prefix, _) in tools.iter().filter_map(|tool| tool_parts(&tool.name)) {
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    prefixes
}

/// Returns the endpoint tools with this prefix, their mode, and `true` if both modes are served.
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

async fn ask(connection: &Connection, pacer: &Pacer, tool: &str, params: Value) -> Exchange {
    let mut arguments = json!({ "operation": "introspect", "params": params });
    let mut waited = Duration::ZERO;
    loop {
        pacer.turn().await;
        let exchange = Exchange::make(connection, tool, arguments, None).await;
        let Some(limit) = RateLimit::of(&exchange) else {
            pacer.accept();
            return exchange;
        };
        if !pacer.wait_to_repeat(limit, &mut waited).await {
            return exchange;
        }
        arguments = exchange.arguments;
    }
}

/// Applies the rate limit that the adapter documents in the query `quota_status` (REQ-RATE-08).
async fn keep_stated_limit(connection: &Connection, pacer: &Pacer, adapter: &Adapter) {
    if !adapter.documents_query("quota_status") {
        return;
    }
    let status = json!({ "query": "quota_status" });
    let exchange = ask(connection, pacer, &adapter.introspect, status).await;
    let limits = exchange.data().and_then(|data| data.get("api_limits")?.as_object());
    let limits = limits.into_iter().flat_map(|limits| limits.values());
    limits.filter_map(StatedLimit::read).for_each(|limit| pacer.keep(limit));
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
