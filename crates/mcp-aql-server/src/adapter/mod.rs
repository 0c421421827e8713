//! Provides the tools of an adapter to the transports.

mod description;
mod discovery;
mod operation_names;
mod signatures;
mod template;
mod token_estimate;

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::internal::router::Endpoint;
use mcp_aql_core::transport::Extensions;
use mcp_aql_core::{Adapter, EndpointMode, OperationError};
use mcp_aql_protocol::{EndpointPermissions, SemanticCategory, SizeLimits};
use serde_json::{Map, Value, json};

use self::description::ToolTexts;
use crate::mcp::answer::RpcError;
use crate::mcp::malformed_call::MalformedCall;
use crate::mcp::message::BAD_CALL;
use crate::mcp::service::{
    CallProperties, CalledOperation, ServerSettings, ToolAnswer, ToolDefinition, ToolHints,
    ToolService, ToolWork,
};

/// Maximum number of characters that Claude Code accepts from a tool.
const MAX_RESULT_CHARS: usize = 500_000;

/// The tools of an adapter, each with its endpoint.
pub(super) struct AdapterTools {
    adapter: Adapter,
    tools: Vec<(Endpoint, ToolDefinition)>,
    /// The instructions for models.
    instructions: String,
}

impl AdapterTools {
    /// Builds the tools for the adapter's mode. If the adapter has a principal, they only contain what the principal
    /// may call.
    pub(super) fn new(adapter: &Adapter) -> Arc<Self> {
        let adapter = adapter.shown_to(adapter.extensions().get());
        let (tools, instructions) = described(&adapter);
        Arc::new(Self { adapter, tools, instructions })
    }
}

/// Builds the tool definitions of an adapter and the instructions for models.
fn described(adapter: &Adapter) -> (Vec<(Endpoint, ToolDefinition)>, String) {
    let schema = input_schema(adapter.settings().batch);
    let meta = tool_meta(adapter.limits());
    let endpoints = endpoints(adapter);
    let ToolTexts { descriptions, instructions } = ToolTexts::of(adapter, &endpoints);
    let tools = endpoints.iter().zip(descriptions);
    let tools = tools.map(|((endpoint, name), description)| {
        let tool = ToolDefinition {
            name: (*name).to_owned(),
            title: None,
            description,
            input_schema: schema.clone(),
            output_schema: None,
            hints: hints(&categories(adapter, *endpoint)),
            meta: Some(meta.clone()),
        };
        (*endpoint, tool)
    });
    (tools.collect(), instructions)
}

/// Returns the tools of an adapter as seen by a caller. Tools without any operation that the caller may call are left
/// out.
fn tools_of_view(view: &Adapter) -> Vec<ToolDefinition> {
    let is_used = |endpoint: Endpoint| match endpoint {
        Endpoint::Family(family) => {
            view.registry().entries.iter().any(|entry| entry.family == family)
        }
        Endpoint::Unified => true,
    };
    let (tools, _) = described(view);
    tools.into_iter().filter(|(endpoint, _)| is_used(*endpoint)).map(|(_, tool)| tool).collect()
}

/// Returns the endpoints of the adapter's mode and their tool names (REQ-EPT-05, REQ-EPT-07, REQ-EPT-13).
fn endpoints(adapter: &Adapter) -> Vec<(Endpoint, &str)> {
    let registry = adapter.registry();
    let mut endpoints = Vec::new();
    if adapter.mode() != EndpointMode::Single {
        let families = registry.profile.families().iter().zip(&registry.tool_names).enumerate();
        endpoints
            .extend(families.map(|(index, (_, name))| (Endpoint::Family(index), name.as_str())));
    }
    if adapter.mode() != EndpointMode::Semantic
        && let Some(name) = registry.tool_names.last()
    {
        endpoints.push((Endpoint::Unified, name));
    }
    endpoints
}

/// Returns the categories of the operations of an endpoint. Empty families and families of the CRUDE profile use their
/// declared categories.
fn categories(adapter: &Adapter, endpoint: Endpoint) -> Vec<SemanticCategory> {
    let Endpoint::Family(index) = endpoint else { return vec![SemanticCategory::Execute] };
    let registry = adapter.registry();
    let entries = registry.entries.iter().filter(|entry| entry.family == index);
    let categories: Vec<_> = entries.map(|entry| entry.operation.spec.category).collect();
    match registry.profile.families().get(index) {
        Some(family) if categories.is_empty() || registry.profile.is_crude() => {
            family.categories().to_vec()
        }
        _ => categories,
    }
}

impl ToolService for AdapterTools {
    fn settings(&self) -> ServerSettings {
        let adapter = &self.adapter;
        let entries = adapter.registry().entries.iter();
        let scopes: BTreeSet<_> = entries.filter_map(|entry| entry.operation.scope()).collect();
        let instructions = self.instructions.clone();
        ServerSettings {
            scopes: scopes.into_iter().map(str::to_owned).collect(),
            has_structured_content: adapter.settings().structured_content,
            drain_timeout: adapter.settings().drain_timeout,
            ..ServerSettings::new(
                adapter.name(),
                adapter.version(),
                instructions,
                *adapter.limits(),
            )
        }
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|(_, tool)| tool.clone()).collect()
    }

    fn tools_for(&self, extensions: &Extensions) -> Option<Vec<ToolDefinition>> {
        let principal = extensions.get::<Principal>().or_else(|| self.adapter.extensions().get());
        if principal.is_none() && self.adapter.requires_principal() {
            return Some(Vec::new());
        }
        let view = self.adapter.shown_to(Some(principal?));
        if view.lists_the_same(&self.adapter) {
            return None;
        }
        view.kept_with_view(tools_of_view).cloned()
    }

    fn adapter(&self) -> Option<&Adapter> {
        Some(&self.adapter)
    }

    /// Returns the properties of a call. A call of several operations is no READ and may need a confirmation.
    fn properties(&self, arguments: &Arguments<'_>, extensions: &Extensions) -> CallProperties {
        let entry = arguments.operation().and_then(|name| self.adapter.registry().get(name));
        let Some(entry) = entry else {
            return CallProperties { may_need_confirmation: true, ..CallProperties::default() };
        };
        let operation = &entry.operation;
        let caller = extensions.get::<Principal>();
        let missing_scope = caller.and_then(|caller| operation.missing_scope(caller));
        CallProperties {
            is_read: operation.spec.category == SemanticCategory::Read,
            may_need_confirmation: operation.permission.may_ask(),
            missing_scope: missing_scope.map(str::to_owned),
        }
    }

    fn call(
        &self,
        tool: usize,
        arguments: Arguments<'_>,
        _meta: &Map<String, Value>,
        scope: CallScope,
    ) -> ToolWork {
        let endpoint = self.tools.get(tool).map_or(Endpoint::Unified, |(endpoint, _)| *endpoint);
        // Structured content contains the reply as JSON, so the reply must not be written as a JSON string.
        let arguments = match self.adapter.settings().structured_content {
            true => arguments.for_plain_reply(),
            false => arguments,
        };
        let (operation, reply) = self.adapter.handle(endpoint, arguments, scope).into_parts();
        let entry = operation.and_then(|index| self.adapter.registry().entries.get(index));
        let operation = operation.zip(entry).map(|(index, entry)| {
            let spec = &entry.operation.spec;
            CalledOperation { index, name: spec.name, category: spec.category }
        });
        ToolWork::replying(operation, reply)
    }

    fn refuse(&self, error: OperationError, scope: &CallScope) -> ToolAnswer {
        Ok(self.adapter.failure_reply(error, scope))
    }

    fn replace_answer(&self, error: OperationError, scope: &CallScope) -> ToolAnswer {
        Ok(self.adapter.replace_reply(error, scope))
    }

    fn unknown_tool(&self, name: &str) -> RpcError {
        let known: Vec<_> = self.tools.iter().map(|(_, tool)| tool.name.as_str()).collect();
        let name = mcp_aql_core::internal::text::clean(name);
        let message = format!("Unknown tool '{name}'. The tools are: {}", known.join(", "));
        RpcError::new(-32602, message)
    }

    fn malformed_call(&self, _call: &MalformedCall) -> RpcError {
        RpcError::new(-32602, BAD_CALL)
    }
}

/// Returns the JSON Schema of a tool's arguments.
///
/// The schema is the same for all tools: introspection describes the operations and their parameters (REQ-MCP-07,
/// REQ-MCP-08), and the tool's description explains `operation`, `params` and `operations`.
///
/// A batch has no `operation`, so nothing is required if batches are enabled (choice C-40). Without batches:
///
/// ```json
/// {
///   "type": "object",
///   "required": ["operation"],
///   "properties": {
///     "operation": { "type": "string" },
///     "params": { "type": "object", "additionalProperties": true }
///   }
/// }
/// ```
fn input_schema(batch: bool) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut property = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
    property("operation", json!({ "type": "string" }));
    property("params", json!({ "type": "object", "additionalProperties": true }));
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    if batch {
        property("operations", json!({ "type": "array", "items": { "type": "object" } }));
    } else {
        schema.insert("required".to_owned(), json!(["operation"]));
    }
    schema.insert("properties".to_owned(), properties.into());
    schema
}

/// Returns the members of a tool's `_meta`.
///
/// Claude Code truncates results at its own limit, and the default result budget exceeds this limit. The member raises
/// it to the budget. The budget in bytes can be used as a number of characters, because a reply has at most as many
/// characters as bytes.
fn tool_meta(limits: &SizeLimits) -> Map<String, Value> {
    let characters = limits.result_budget.min(MAX_RESULT_CHARS);
    Map::from_iter([("anthropic/maxResultSizeChars".to_owned(), characters.into())])
}

/// Returns the hints of a tool with operations of these categories. The riskiest category determines them
/// (REQ-MCP-05, REQ-MCP-06).
///
/// The other hints of MCP keep their defaults, because operations do not declare whether they are idempotent or reach
/// beyond the adapter.
fn hints(categories: &[SemanticCategory]) -> ToolHints {
    let permissions =
        categories.iter().map(|category| category.permissions()).reduce(|all, one| {
            EndpointPermissions {
                read_only: all.read_only && one.read_only,
                destructive: all.destructive || one.destructive,
            }
        });
    // Assume the worst of a family without operations and categories.
    let permissions =
        permissions.unwrap_or(EndpointPermissions { read_only: false, destructive: true });
    ToolHints {
        read_only: Some(permissions.read_only),
        destructive: Some(permissions.destructive),
        ..ToolHints::default()
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
            let hints = hints(categories);
            assert_eq!(hints.read_only, Some(read_only), "{categories:?}");
            assert_eq!(hints.destructive, Some(destructive), "{categories:?}");
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
