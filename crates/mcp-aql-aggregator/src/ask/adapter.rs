//! Discovery for servers that are MCP-AQL adapters. `introspect` lists the operations behind their
//! endpoint tools.

use rmcp::model::{CallToolResult, Tool};
use serde_json::{Map, Value, json};

use super::discover;
use super::schema::{self, ArgumentLimits};
use super::template::ArgumentsTemplate;
use super::{
    CallPlan, CallTemplate, Discovery, MAX_RESULTS, MAX_TOOLS, NoPlan, Plan, PlannedCall, Why,
};
use crate::items::ItemLocation;

/// Maximum number of endpoint tools to try.
const MAX_ENDPOINTS: usize = 3;
/// Maximum number of operations to inspect.
const MAX_OPERATIONS: usize = 8;

/// Step-by-step discovery of an adapter's search operations.
///
/// While [`next`](Self::next) returns a call, make it and pass the answer to [`take`](Self::take).
/// The first call lists the operations, and each further call inspects one of them:
///
/// ```json
/// { "operation": "introspect", "params": { "query": "operations", "name": "search_tasks" } }
/// ```
#[derive(Debug)]
pub(crate) struct AdapterDiscovery {
    endpoints: Vec<String>,
    /// Names of the operations still to inspect, the next one last. `None` until the list of
    /// operations is known.
    operations: Option<Vec<String>>,
    calls: Vec<CallPlan>,
}

impl AdapterDiscovery {
    /// Starts discovery. Returns `None` if no endpoint tool of the server is safe to call.
    pub(crate) fn of(
        tools: &[Tool],
        configured: &[CallTemplate],
        discovery: Discovery,
    ) -> Option<Self> {
        if discovery == Discovery::Off || !configured.is_empty() {
            return None;
        }
        let mut endpoints: Vec<&Tool> =
            tools.iter().filter(|tool| is_safe_endpoint(tool)).collect();
        // The read endpoint comes first, because `introspect` belongs to it.
        endpoints.sort_by_key(|tool| !tool.name.ends_with("mcp_aql_read"));
        endpoints.truncate(MAX_ENDPOINTS);
        // The list is used as a stack, so the next endpoint comes last.
        let endpoints: Vec<_> =
            endpoints.into_iter().rev().map(|tool| tool.name.to_string()).collect();
        (!endpoints.is_empty()).then_some(Self { endpoints, operations: None, calls: Vec::new() })
    }

    /// Returns the next call, or `None` if discovery is complete.
    pub(crate) fn next(&self) -> Option<PlannedCall> {
        if self.calls.len() >= MAX_TOOLS {
            return None;
        }
        let tool = self.endpoints.last()?;
        let params = match &self.operations {
            None => json!({ "query": "operations" }),
            Some(operations) => json!({ "query": "operations", "name": operations.last()? }),
        };
        let mut arguments = Map::new();
        arguments.insert("operation".to_owned(), "introspect".into());
        arguments.insert("params".to_owned(), params);
        Some(PlannedCall { tool: tool.clone(), arguments, items: ItemLocation::default() })
    }

    /// Processes the answer to the last call. `None` means that the call failed.
    pub(crate) fn take(&mut self, answer: Option<&CallToolResult>, tools: &[Tool]) {
        let data = answer.and_then(data);
        match &mut self.operations {
            None => match data.as_ref().and_then(search_operations) {
                Some(operations) => self.operations = Some(operations),
                None => {
                    self.endpoints.pop();
                }
            },
            Some(operations) => {
                let Some(name) = operations.pop() else { return };
                let details = data.as_ref().and_then(|data| data.get("operation"));
                let endpoint = self.endpoints.last();
                let call = details.and_then(|details| call(&name, details, endpoint?, tools));
                self.calls.extend(call);
            }
        }
    }

    /// Returns a plan for the operations found and for the server's tools outside of the adapter.
    pub(crate) fn plan(
        self,
        tools: &[Tool],
        configured: &[CallTemplate],
        discovery: Discovery,
    ) -> Result<Plan, NoPlan> {
        Plan::with(tools, configured, discovery, self.calls)
    }
}

/// Returns `true` if this tool is an adapter's only endpoint, for all operations.
pub(super) fn is_single_endpoint(tool: &Tool) -> bool {
    is_endpoint(tool) && is_single(&tool.name)
}

/// Returns `true` if this tool is an endpoint of an adapter.
fn is_endpoint(tool: &Tool) -> bool {
    let is = |name, kind| schema::property(tool, name).is_some_and(|it| schema::is_a(it, kind));
    is("operation", "string")
        && is("params", "object")
        && tool.description.as_ref().is_some_and(|text| text.contains("introspect"))
}

/// Returns `true` if calling `introspect` through this tool is safe.
fn is_safe_endpoint(tool: &Tool) -> bool {
    let only_reads = tool.annotations.as_ref().is_some_and(|hints| {
        hints.read_only_hint == Some(true) && hints.destructive_hint != Some(true)
    });
    is_endpoint(tool) && (only_reads || is_single(&tool.name))
}

/// Returns `true` if the name is that of a single endpoint for all operations. Such a tool cannot
/// be annotated as read-only; introspection reports which of its operations only read.
fn is_single(name: &str) -> bool {
    name == "mcp_aql" || name.ends_with("_mcp_aql")
}

/// Returns `data` of a successful reply.
fn data(answer: &CallToolResult) -> Option<Value> {
    if answer.is_error == Some(true) {
        return None;
    }
    let reply = match &answer.structured_content {
        Some(reply @ Value::Object(_)) => reply.clone(),
        _ => {
            let text = answer.content.iter().find_map(|content| content.as_text())?;
            serde_json::from_str(&text.text).ok()?
        }
    };
    let Value::Object(mut reply) = reply else { return None };
    (reply.get("success") == Some(&Value::Bool(true))).then(|| reply.remove("data"))?
}

/// Returns the READ operations for searching, the last one first, or `None` if the data is not a
/// list of operations.
fn search_operations(data: &Value) -> Option<Vec<String>> {
    let mut found: Vec<String> = data
        .get("operations")?
        .as_array()?
        .iter()
        .filter(|operation| operation.get("semantic_category").is_some_and(|it| it == "READ"))
        .filter_map(|operation| operation.get("name")?.as_str())
        .filter(|name| is_search(name))
        .take(MAX_OPERATIONS)
        .map(str::to_owned)
        .collect();
    found.reverse();
    Some(found)
}

fn is_search(name: &str) -> bool {
    const MAX_NAME_BYTES: usize = 200;
    name.len() <= MAX_NAME_BYTES && name.starts_with("search_") && !discover::sounds_changing(name)
}

/// Returns the call of an operation if it only reads and requires one string.
fn call(name: &str, details: &Value, endpoint: &str, tools: &[Tool]) -> Option<CallPlan> {
    let is = |path: &str, value: Value| details.pointer(path) == Some(&value);
    let only_reads = is("/name", name.into())
        && is("/semantic_category", "READ".into())
        && is("/permissions/readOnly", true.into())
        && is("/permissions/destructive", false.into());
    let told = details.get("mcpTool")?.as_str()?;
    // The operation names its own tool. Do not trust this if the tool may write.
    let tool = tools.iter().find(|tool| tool.name == told)?;
    if !only_reads || !(told == endpoint || is_safe_endpoint(tool)) {
        return None;
    }
    let parameters = details.get("parameters")?.as_array()?;
    let named = |parameter: &Value| Some(parameter.get("name")?.as_str()?.to_owned());
    let is_required = |parameter: &&Value| parameter.get("required") == Some(&Value::Bool(true));
    let mut required = parameters.iter().filter(is_required);
    let query = required.next()?;
    let query_name = named(query)?;
    if required.next().is_some()
        || !schema::is_free_text(query)
        || discover::certainty(&query_name).is_none()
    {
        return None;
    }
    let path = |name: &str| vec!["params".to_owned(), name.to_owned()];
    let mut bounds = ArgumentLimits::new(MAX_RESULTS);
    bounds.add(path(&query_name), query);
    let mut params = ArgumentsTemplate::of_query(&query_name);
    let optional = |name: &str, kind: &str| {
        parameters.iter().find(|parameter| {
            parameter.get("name").is_some_and(|it| it == name)
                && parameter.get("type").and_then(Value::as_str).is_some_and(|it| it.contains(kind))
        })
    };
    for limit in ["first", "limit"] {
        if let Some(parameter) = optional(limit, "integer") {
            bounds.add(path(limit), parameter);
            params = params.with_limit(limit);
            break;
        }
    }
    // The default fields may be only names and identifiers, with little content to rank.
    if optional("fields", "string").or_else(|| optional("fields", "FieldSelection")).is_some() {
        params = params.with_text("fields", "standard");
    }
    Some(CallPlan {
        tool: told.to_owned(),
        arguments: ArgumentsTemplate::of_operation(name, params),
        // Search operations of adapters already match any of the words.
        again: None,
        items: ItemLocation::default(),
        bounds,
        why: Why::Operation,
    })
}
