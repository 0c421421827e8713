//! The tools of a server and the prepared answers to `tools/list`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::service::{ToolDefinition, ToolHints};
use super::task_source::TaskSource;

/// The tools of a server. Built once and shared by all connections.
pub(crate) struct ToolTable {
    names: Vec<String>,
    listed: ToolLists,
}

/// The answers to `tools/list`, as JSON.
struct ToolLists {
    /// For MCP versions with a handshake.
    legacy: String,
    /// For clients with the tasks of MCP 2025-11-25.
    with_tasks: String,
    /// For versions since 2026-07-28. Their results also contain their type and how long they may be cached.
    modern: String,
}

/// The answer to `tools/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolList<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
    tools: Vec<ToolEntry<'a>>,
}

/// A tool in the answer to `tools/list`.
///
/// ```json
/// {
///   "name": "mcp_aql_read", "description": "…", "inputSchema": { "type": "object" },
///   "annotations": { "readOnlyHint": true }
/// }
/// ```
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    input_schema: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Map<String, Value>>,
    annotations: Annotations,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<ToolExecution>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Map<String, Value>>,
}

/// MCP's annotations of a tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotent_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_world_hint: Option<bool>,
}

/// Declares whether calls of a tool can be tasks, in MCP 2025-11-25.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolExecution {
    task_support: &'static str,
}

impl ToolLists {
    fn new(definitions: &[ToolDefinition], tasks: Option<TaskSource<'_>>) -> Self {
        let tools = definitions.iter().map(ToolEntry::new).collect();
        let mut list = ToolList { result_type: None, ttl_ms: None, cache_scope: None, tools };
        // Serializing strings and JSON values cannot fail.
        let legacy = serde_json::to_string(&list).unwrap_or_default();
        let with_tasks = list.with_tasks(tasks);
        list.result_type = Some("complete");
        list.ttl_ms = Some(0);
        list.cache_scope = Some("private");
        let modern = serde_json::to_string(&list).unwrap_or_default();
        Self { legacy, with_tasks, modern }
    }
}

impl ToolList<'_> {
    /// Serializes the list for clients with the tasks of MCP 2025-11-25. Tasks are optional in every tool, because most
    /// calls start no execution.
    fn with_tasks(&mut self, tasks: Option<TaskSource<'_>>) -> String {
        for tool in &mut self.tools {
            let is_supported = tasks.is_some_and(|tasks| tasks.has_executions(tool.name));
            tool.execution = is_supported.then_some(ToolExecution { task_support: "optional" });
        }
        let text = serde_json::to_string(&self).unwrap_or_default();
        self.tools.iter_mut().for_each(|tool| tool.execution = None);
        text
    }
}

impl<'a> ToolEntry<'a> {
    fn new(definition: &'a ToolDefinition) -> Self {
        let ToolHints { read_only, destructive, idempotent, open_world } = definition.hints;
        Self {
            name: &definition.name,
            title: definition.title.as_deref(),
            description: &definition.description,
            input_schema: &definition.input_schema,
            output_schema: definition.output_schema.as_ref(),
            annotations: Annotations {
                read_only_hint: read_only,
                destructive_hint: destructive,
                idempotent_hint: idempotent,
                open_world_hint: open_world,
            },
            execution: None,
            meta: definition.meta.as_ref(),
        }
    }
}

impl ToolTable {
    pub(crate) fn new(definitions: &[ToolDefinition], tasks: Option<TaskSource<'_>>) -> Self {
        let names = definitions.iter().map(|tool| tool.name.clone()).collect();
        Self { names, listed: ToolLists::new(definitions, tasks) }
    }

    /// Returns the answer to `tools/list` for a client with the tasks of MCP 2025-11-25.
    pub(crate) fn listed_with_tasks(&self) -> &str {
        &self.listed.with_tasks
    }

    /// Returns the answer to `tools/list` as JSON. `modern` selects the form of MCP 2026-07-28 and later.
    pub(crate) fn listed(&self, modern: bool) -> &str {
        if modern { &self.listed.modern } else { &self.listed.legacy }
    }

    /// Returns the index of the tool with this name.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}
