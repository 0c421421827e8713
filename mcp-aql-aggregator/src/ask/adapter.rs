//! Servers that are MCP-AQL adapters: their tools are doors, and `introspect` tells what is behind them.

use rmcp::model::{CallToolResult, Tool};
use serde_json::{Map, Value, json};

use super::discover;
use super::schema::{self, Bounds};
use super::template::ArgumentsTemplate;
use super::{CallPlan, MOST_RESULTS, MOST_TOOLS, NoPlan, Plan, PlannedCall, Why};
use crate::config::{Discovery, ServerSettings};
use crate::items::Places;

/// So many doors are tried.
const MOST_DOORS: usize = 3;
/// So many operations are looked at in full.
const MOST_OPERATIONS: usize = 8;

/// Learns from an adapter what it can be asked, a call after the other.
///
/// While [`next`](Self::next) has a call, it is to be made, and [`take`](Self::take) told what came of it.
#[derive(Debug)]
pub(crate) struct Learning {
    doors: Vec<String>,
    /// Names of operations that are still to be looked at, the next one last. None: they are not known yet.
    operations: Option<Vec<String>>,
    calls: Vec<CallPlan>,
}

impl Learning {
    /// None for a server of which there is nothing to learn.
    pub(crate) fn of(
        tools: &[Tool],
        server: &ServerSettings,
        discovery: Discovery,
    ) -> Option<Self> {
        let is_off = server.discovery.unwrap_or(discovery) == Discovery::Off;
        if is_off || !server.calls.is_empty() {
            return None;
        }
        let mut doors: Vec<&Tool> = tools.iter().filter(|tool| is_safe_door(tool)).collect();
        // Where `introspect` belongs, first.
        doors.sort_by_key(|tool| !tool.name.ends_with("mcp_aql_read"));
        doors.truncate(MOST_DOORS);
        // The next one last.
        let doors: Vec<_> = doors.into_iter().rev().map(|tool| tool.name.to_string()).collect();
        (!doors.is_empty()).then_some(Self { doors, operations: None, calls: Vec::new() })
    }

    /// The next call.
    pub(crate) fn next(&self) -> Option<PlannedCall> {
        if self.calls.len() >= MOST_TOOLS {
            return None;
        }
        let tool = self.doors.last()?;
        let params = match &self.operations {
            None => json!({ "query": "operations" }),
            Some(operations) => json!({ "query": "operations", "name": operations.last()? }),
        };
        let mut arguments = Map::new();
        arguments.insert("operation".to_owned(), "introspect".into());
        arguments.insert("params".to_owned(), params);
        Some(PlannedCall { tool: tool.clone(), arguments, items: Places::default() })
    }

    /// What came of it. None: nothing.
    pub(crate) fn take(&mut self, answer: Option<&CallToolResult>, tools: &[Tool]) {
        let data = answer.and_then(data);
        match &mut self.operations {
            None => match data.as_ref().and_then(search_operations) {
                Some(operations) => self.operations = Some(operations),
                None => {
                    self.doors.pop();
                }
            },
            Some(operations) => {
                let Some(name) = operations.pop() else { return };
                let details = data.as_ref().and_then(|data| data.get("operation"));
                let door = self.doors.last();
                let call = details.and_then(|details| call(&name, details, door?, tools));
                self.calls.extend(call);
            }
        }
    }

    /// What the server is asked, with its tools that are none of the adapter's.
    pub(crate) fn plan(
        self,
        tools: &[Tool],
        server: &ServerSettings,
        discovery: Discovery,
    ) -> Result<Plan, NoPlan> {
        Plan::with(tools, server, discovery, self.calls)
    }
}

/// Whether all operations are called through this tool, those that read among them.
pub(super) fn is_single_door(tool: &Tool) -> bool {
    is_door(tool) && is_single(&tool.name)
}

/// Whether operations are called through this tool.
fn is_door(tool: &Tool) -> bool {
    let is = |name, kind| schema::property(tool, name).is_some_and(|it| schema::is_a(it, kind));
    is("operation", "string")
        && is("params", "object")
        && tool.description.as_ref().is_some_and(|text| text.contains("introspect"))
}

/// Whether it does no harm to ask it for `introspect`.
fn is_safe_door(tool: &Tool) -> bool {
    let only_reads = tool.annotations.as_ref().is_some_and(|hints| {
        hints.read_only_hint == Some(true) && hints.destructive_hint != Some(true)
    });
    is_door(tool) && (only_reads || is_single(&tool.name))
}

/// The one tool for all operations. It cannot say of itself that it only reads, and of its operations
/// introspection tells.
fn is_single(name: &str) -> bool {
    name == "mcp_aql" || name.ends_with("_mcp_aql")
}

/// `data` of a reply that is a success.
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

/// The READ operations for searching, the last one first. None where this is no list of operations.
fn search_operations(data: &Value) -> Option<Vec<String>> {
    let mut found: Vec<String> = data
        .get("operations")?
        .as_array()?
        .iter()
        .filter(|operation| operation.get("semantic_category").is_some_and(|it| it == "READ"))
        .filter_map(|operation| operation.get("name")?.as_str())
        .filter(|name| is_search(name))
        .take(MOST_OPERATIONS)
        .map(str::to_owned)
        .collect();
    found.reverse();
    Some(found)
}

fn is_search(name: &str) -> bool {
    const LONGEST: usize = 200;
    name.len() <= LONGEST && name.starts_with("search_") && !discover::sounds_changing(name)
}

/// The call of an operation that only reads and wants one text.
fn call(name: &str, details: &Value, door: &str, tools: &[Tool]) -> Option<CallPlan> {
    let is = |path: &str, value: Value| details.pointer(path) == Some(&value);
    let only_reads = is("/name", name.into())
        && is("/semantic_category", "READ".into())
        && is("/permissions/readOnly", true.into())
        && is("/permissions/destructive", false.into());
    let told = details.get("mcpTool")?.as_str()?;
    // It names a tool itself: one that may write is not called because of that.
    let tool = tools.iter().find(|tool| tool.name == told)?;
    if !only_reads || !(told == door || is_safe_door(tool)) {
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
        || discover::sureness(&query_name).is_none()
    {
        return None;
    }
    let path = |name: &str| vec!["params".to_owned(), name.to_owned()];
    let mut bounds = Bounds::new(MOST_RESULTS);
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
    // By default there may be names and identifiers alone, which say little.
    if optional("fields", "string").or_else(|| optional("fields", "FieldSelection")).is_some() {
        params = params.with_text("fields", "standard");
    }
    Some(CallPlan {
        tool: told.to_owned(),
        arguments: ArgumentsTemplate::of_operation(name, params),
        // Any of the words will do there.
        again: None,
        items: Places::default(),
        bounds,
        why: Why::Operation,
    })
}
