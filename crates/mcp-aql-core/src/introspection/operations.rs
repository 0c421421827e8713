//! Renders operations for `introspect`: entries of the list, and full entries.

use mcp_aql_protocol::{EndpointPermissions, SemanticCategory};
use serde::Serialize;

use super::brief::brief;
use super::parameter_info::{parameter_info, with_notice};
use crate::execution::Status;
use crate::operation::RegisteredOperation;
use crate::router::{Entry, Registry};
use crate::schema::shape::{Members, Shapes};
use crate::schema::spec::LifecycleSpec;

#[derive(Serialize)]
struct ListEntry<'a> {
    name: &'a str,
    semantic_category: SemanticCategory,
    endpoint: &'a str,
    description: String,
}

/// Renders an entry of the operations list (REQ-INT-02, REQ-INT-03).
pub(crate) fn list_entry(listed: &Entry, registry: &Registry) -> String {
    entry(listed, registry, summary(&listed.operation, registry))
}

/// Renders a list entry with the parameters in its description. A caller can then choose among several operations
/// without requesting the details of each one (REQ-INT-29).
pub(crate) fn list_entry_in_brief(listed: &Entry, registry: &Registry, shapes: &Shapes) -> String {
    entry(listed, registry, description_with_parameters(&listed.operation, registry, shapes))
}

/// Returns the description of an operation, followed by one line for each parameter.
pub(crate) fn description_with_parameters(
    operation: &RegisteredOperation,
    registry: &Registry,
    shapes: &Shapes,
) -> String {
    brief(own_description(operation, registry), operation, shapes)
}

/// Returns the first paragraph of an operation's description, with the deprecation notice.
pub(crate) fn summary(operation: &RegisteredOperation, registry: &Registry) -> String {
    let spec = &operation.spec;
    with_notice(spec.summary(), registry.deprecation(spec).as_ref())
}

fn entry(listed: &Entry, registry: &Registry, description: String) -> String {
    let (spec, endpoint) = (&listed.operation.spec, registry.family_name(listed.family));
    let entry =
        ListEntry { name: spec.name, semantic_category: spec.category, endpoint, description };
    serde_json::to_string(&entry).unwrap_or_default()
}

#[derive(Serialize)]
struct Details<'a> {
    name: &'a str,
    semantic_category: SemanticCategory,
    endpoint: &'a str,
    #[serde(rename = "mcpTool")]
    mcp_tool: &'a str,
    description: String,
    permissions: EndpointPermissions,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifecycle: Option<Lifecycle>,
    parameters: Vec<Members>,
    returns: &'a Members,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examples: Vec<Members>,
    #[serde(skip_serializing_if = "<[Members]>::is_empty")]
    computed_fields: &'a [Members],
    #[serde(flatten, serialize_with = "members")]
    further: &'a [(&'static str, Members)],
}

/// The member `lifecycle` of an operation that runs as an execution (REQ-LIF-09).
#[derive(Serialize)]
struct Lifecycle {
    states: [&'static str; 5],
    supports_cancel: bool,
    supports_retry: bool,
    progress_reporting: bool,
}

impl Lifecycle {
    fn of(spec: LifecycleSpec) -> Self {
        Self {
            states: Status::ALL.map(Status::as_str),
            supports_cancel: spec.cancel,
            supports_retry: spec.retry,
            progress_reporting: spec.progress,
        }
    }
}

/// Describes the state transitions, and the operations that cause them (REQ-LIF-11).
fn moves(spec: LifecycleSpec) -> String {
    let mut text =
        "Runs as an execution: pending, running, then completed or failed. Returns its state; \
                    get_execution returns it again"
            .to_owned();
    if spec.cancel {
        text.push_str(", cancel_execution cancels it");
    }
    if spec.retry {
        text.push_str(", retry_execution runs a failed one again");
    }
    text.push('.');
    text
}

/// Serializes members whose names are only known when the adapter is built.
fn members<S: serde::Serializer>(
    further: &&[(&'static str, Members)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(further.iter().map(|(name, members)| (name, members)))
}

/// Renders the full entry of an operation, the value of `data` (REQ-INT-09 to REQ-INT-15).
pub(crate) fn details(
    listed: &Entry,
    registry: &Registry,
    mcp_tool: &str,
    returns: &Members,
    examples: &[(String, String)],
    shapes: &Shapes,
) -> String {
    let operation = &listed.operation;
    let spec = &operation.spec;
    let details = Details {
        name: spec.name,
        semantic_category: spec.category,
        endpoint: registry.family_name(listed.family),
        mcp_tool,
        description: description(operation, registry),
        permissions: spec.category.permissions(),
        lifecycle: spec.lifecycle.map(Lifecycle::of),
        parameters: operation
            .parameters
            .iter()
            .map(|parameter| parameter_info(parameter, shapes))
            .collect(),
        returns,
        examples: examples.iter().map(|example| example_info(spec.name, example)).collect(),
        computed_fields: &operation.composites.description.computed,
        further: &operation.composites.description.details,
    };
    format!(
        r#"{{"operation":{}}}"#,
        serde_json::to_string(&details).unwrap_or_else(|_| "null".to_owned())
    )
}

/// Returns the full description of an operation, including the note about its query parameters.
fn description(operation: &RegisteredOperation, registry: &Registry) -> String {
    let mut text = own_description(operation, registry);
    if let Some(note) = &operation.composites.description.note {
        text.push_str("\n\n");
        text.push_str(note);
    }
    text
}

/// Returns the description of an operation without the note about its query parameters. The brief form of these
/// parameters replaces the note.
fn own_description(operation: &RegisteredOperation, registry: &Registry) -> String {
    let spec = &operation.spec;
    let deprecation = registry.deprecation(spec);
    let mut text = with_notice(spec.description.trim().to_owned(), deprecation.as_ref());
    if let Some(rationale) = spec.rationale {
        text.push_str("\n\nCategory: ");
        text.push_str(rationale);
    }
    if let Some(lifecycle) = spec.lifecycle {
        text.push_str("\n\n");
        text.push_str(&moves(lifecycle));
    }
    if let Some(note) = &operation.note {
        text.push_str("\n\n");
        text.push_str(note);
    }
    if let Some(note) = &operation.gate_note {
        // A new paragraph takes more tokens than a sentence, but it is safe after a description in any format, such
        // as a list.
        let one_paragraph = text.ends_with(['.', '!', '?']) && !text.contains('\n');
        text.push_str(if one_paragraph { " " } else { "\n\n" });
        text.push_str(note);
    }
    text
}

/// Renders an example from its description and its `params` as JSON (REQ-INT-15).
fn example_info(operation: &'static str, (description, params): &(String, String)) -> Members {
    let mut request = Members::new();
    request.put("operation", operation);
    request.put_text("params", params);
    let mut example = Members::new();
    example.put_some("description", (!description.is_empty()).then(|| description.clone()));
    example.put("request", request);
    example
}
