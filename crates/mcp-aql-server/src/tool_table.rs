//! The table of a server's tools.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{ListToolsResult, ServerResult, Tool, ToolAnnotations};

use super::service::{ToolDefinition, ToolHints};

/// The tools of a server, built once and shared by all its connections.
pub(super) struct ToolTable {
    pub(super) tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    listed: ToolLists,
}

/// The answer to `tools/list`, as JSON.
struct ToolLists {
    /// For MCP versions with a handshake.
    legacy: String,
    /// For versions since 2026-07-28, whose results state their type and how long they may be
    /// cached.
    modern: String,
}

impl ToolLists {
    fn new(tools: &[Tool]) -> Self {
        let rendered = |shaped: fn(&mut ServerResult)| {
            let mut result =
                ServerResult::ListToolsResult(ListToolsResult::with_all_items(tools.to_vec()));
            shaped(&mut result);
            // Names, texts and JSON always serialize.
            serde_json::to_string(&result).unwrap_or_default()
        };
        Self {
            legacy: rendered(ServerResult::strip_result_type_for_legacy_peer),
            modern: rendered(ServerResult::fill_missing_cache_hints),
        }
    }
}

impl ToolTable {
    pub(super) fn new(definitions: Vec<ToolDefinition>) -> Self {
        let tools: Vec<_> = definitions.into_iter().map(tool).collect();
        let names = tools.iter().enumerate();
        let by_name = names.map(|(index, tool)| (tool.name.to_string(), index)).collect();
        let listed = ToolLists::new(&tools);
        Self { tools, by_name, listed }
    }

    /// The answer to `tools/list`, rendered once as JSON, for a client of MCP 2026-07-28 or of an
    /// earlier version.
    pub(super) fn listed(&self, modern: bool) -> &str {
        if modern { &self.listed.modern } else { &self.listed.legacy }
    }

    /// The index of the tool of this name.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(self.index(name)?)
    }
}

fn tool(definition: ToolDefinition) -> Tool {
    let ToolDefinition { name, title, description, input_schema, output_schema, hints } =
        definition;
    let ToolHints { read_only, destructive, idempotent, open_world } = hints;
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = read_only;
    annotations.destructive_hint = destructive;
    annotations.idempotent_hint = idempotent;
    annotations.open_world_hint = open_world;
    let mut tool =
        Tool::new(name, description, Arc::new(input_schema)).with_annotations(annotations);
    tool.title = title;
    tool.output_schema = output_schema.map(Arc::new);
    tool
}
