use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{JsonObject, ListToolsResult, ServerResult, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::describe::Describer;
use crate::adapter::Adapter;
use crate::router::{Endpoint, EndpointMode};
use crate::vocab::{EndpointPermissions, SemanticCategory};

/// The tools of an adapter, built once and shared by all of its connections.
pub(super) struct ToolTable {
    pub(super) tools: Vec<Tool>,
    by_name: HashMap<String, (Endpoint, usize)>,
    listed: Listed,
}

/// The answer to `tools/list`, as JSON.
struct Listed {
    /// For versions of MCP with a handshake.
    legacy: String,
    /// Since 2026-07-28 results tell their type and how long they may be kept.
    modern: String,
}

impl Listed {
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
    /// The tools that the adapter's mode asks for (REQ-EPT-05, REQ-EPT-07, REQ-EPT-13).
    pub(super) fn new(adapter: &Adapter) -> Self {
        let registry = &adapter.inner.registry;
        let describer = Describer::new(adapter);
        let schema = Arc::new(input_schema(adapter.inner.settings.batch));
        let (mut tools, mut by_name) = (Vec::new(), HashMap::new());
        let mut add = |endpoint, name: &str, description: String, annotations| {
            by_name.insert(name.to_owned(), (endpoint, tools.len()));
            let tool = Tool::new(name.to_owned(), description, Arc::clone(&schema));
            tools.push(tool.with_annotations(annotations));
        };
        let families = registry.profile.families();
        if adapter.mode() != EndpointMode::Single {
            for (index, (family, name)) in families.iter().zip(&registry.tool_names).enumerate() {
                let mut categories: Vec<_> = registry
                    .entries
                    .iter()
                    .filter(|entry| entry.family == index)
                    .map(|entry| entry.operation.spec.category)
                    .collect();
                // An empty family, or a CRUDE one, is what it says it is.
                if categories.is_empty() || registry.profile.is_crude() {
                    categories = family.categories().to_vec();
                }
                let text = describer.family(index, family, name);
                add(Endpoint::Family(index), name, text, annotations(&categories));
            }
        }
        if adapter.mode() != EndpointMode::Semantic
            && let Some(name) = registry.tool_names.last()
        {
            let any = [SemanticCategory::Execute];
            add(Endpoint::Unified, name, describer.unified(), annotations(&any));
        }
        let listed = Listed::new(&tools);
        Self { tools, by_name, listed }
    }

    /// The answer to `tools/list`, rendered once: as JSON, for a client of MCP 2026-07-28 or of one
    /// before.
    pub(super) fn listed(&self, modern: bool) -> &str {
        if modern { &self.listed.modern } else { &self.listed.legacy }
    }

    /// What is told to somebody who calls a tool that is not there.
    pub(super) fn unknown(&self, name: &str) -> String {
        let known: Vec<_> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
        let name = crate::router::clean(name);
        format!("Unknown tool '{name}'. The tools are: {}", known.join(", "))
    }

    /// The door behind a tool's name.
    pub(super) fn endpoint(&self, name: &str) -> Option<Endpoint> {
        self.by_name.get(name).map(|(endpoint, _)| *endpoint)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(self.by_name.get(name)?.1)
    }
}

/// What clients send. Operations and their parameters are for introspection to tell (REQ-MCP-07,
/// REQ-MCP-08); what `operation`, `params` and `operations` are is said once, in the description.
///
/// A batch has no `operation`, so with batches nothing is required (choice C-40).
fn input_schema(batch: bool) -> JsonObject {
    let mut properties = JsonObject::new();
    let mut property = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
    property("operation", json!({ "type": "string" }));
    property("params", json!({ "type": "object", "additionalProperties": true }));
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    if batch {
        property("operations", json!({ "type": "array", "items": { "type": "object" } }));
    } else {
        schema.insert("required".to_owned(), json!(["operation"]));
    }
    schema.insert("properties".to_owned(), properties.into());
    schema
}

/// What a client may expect of a tool with operations of these categories: the riskiest one decides
/// (REQ-MCP-05, REQ-MCP-06).
///
/// MCP's further hints keep their defaults: nothing is known of an operation that would tell whether
/// it may be repeated, or reaches beyond the adapter.
fn annotations(categories: &[SemanticCategory]) -> ToolAnnotations {
    let permissions =
        categories.iter().map(|category| category.permissions()).reduce(|all, one| {
            EndpointPermissions {
                read_only: all.read_only && one.read_only,
                destructive: all.destructive || one.destructive,
            }
        });
    // Nothing is known of a family without operations and categories: expect the worst.
    let permissions =
        permissions.unwrap_or(EndpointPermissions { read_only: false, destructive: true });
    ToolAnnotations::new().read_only(permissions.read_only).destructive(permissions.destructive)
}

impl std::fmt::Debug for ToolTable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<Value> = self.tools.iter().map(|tool| tool.name.as_ref().into()).collect();
        formatter.debug_tuple("ToolTable").field(&names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SemanticCategory::{Create, Delete, Read};

    #[test]
    fn annotations_are_those_of_the_riskiest_operation() {
        // REQ-MCP-05, REQ-MCP-06
        for (categories, read_only, destructive) in [
            (&[Read][..], true, false),
            (&[Create], false, false),
            (&[Read, Create], false, false),
            (&[Read, Create, Delete], false, true),
            (&[], false, true),
        ] {
            let annotations = annotations(categories);
            assert_eq!(annotations.read_only_hint, Some(read_only), "{categories:?}");
            assert_eq!(annotations.destructive_hint, Some(destructive), "{categories:?}");
        }
    }

    #[test]
    fn the_schema_is_the_protocols_base_schema() {
        // REQ-MCP-07, choice C-40
        let schema = Value::from(input_schema(false));
        assert_eq!(schema["required"], json!(["operation"]));
        assert_eq!(schema["properties"]["params"]["additionalProperties"], true);
        assert_eq!(schema["properties"].as_object().map(serde_json::Map::len), Some(2));
        let schema = Value::from(input_schema(true));
        assert_eq!(schema.get("required"), None);
        assert_eq!(schema["properties"]["operations"]["type"], "array");
    }
}
