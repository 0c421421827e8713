//! The `introspect` calls shown in tool descriptions and instructions.

use mcp_aql_core::internal::operation::Handler;
use mcp_aql_core::{Adapter, EndpointMode};

/// The `introspect` call for the list of operations.
pub(super) const CALL_FOR_THE_LIST: &str =
    r#"{ operation: "introspect", params: { query: "operations" } }"#;

/// Returns an `introspect` call for one operation.
pub(super) fn call_by_name(name: &str) -> String {
    format!(r#"{{ operation: "introspect", params: {{ query: "operations", name: "{name}" }} }}"#)
}

/// Returns the `introspect` call to show for finding operations.
///
/// If the descriptions contain all operations with their parameters, this is the call for the list. Otherwise it is a
/// search, because it only returns the operations relevant to a task.
pub(super) fn call_for_operations(adapter: &Adapter, are_all_shown: bool) -> String {
    match task(adapter).filter(|_| !are_all_shown) {
        Some(task) => format!(
            r#"{{ operation: "introspect", params: {{ query: "operations", search: "{task}" }} }}"#
        ),
        None => CALL_FOR_THE_LIST.to_owned(),
    }
}

/// Returns the words of an operation's name. They are an example of a search with a result.
fn task(adapter: &Adapter) -> Option<String> {
    let operations = &adapter.registry().entries;
    let named =
        operations.iter().find(|it| !matches!(it.operation.handler, Handler::Introspect))?;
    Some(named.operation.spec.name.replace('_', " "))
}

/// Returns the name of the tool that accepts `introspect` in the adapter's mode.
pub(super) fn introspect_tool(adapter: &Adapter) -> &str {
    let registry = adapter.registry();
    let tool = match adapter.mode() {
        EndpointMode::Single => registry.tool_names.last(),
        EndpointMode::Semantic | EndpointMode::All => {
            let family = registry.get("introspect").map_or(0, |entry| entry.family);
            registry.tool_names.get(family)
        }
    };
    tool.map_or("", String::as_str)
}

/// Returns the server's instructions for models, followed by the author's own.
pub(super) fn instructions(adapter: &Adapter, are_all_shown: bool) -> String {
    let tool = match adapter.mode() {
        EndpointMode::Single => String::new(),
        EndpointMode::Semantic | EndpointMode::All => format!(" to {}", introspect_tool(adapter)),
    };
    let call = call_for_operations(adapter, are_all_shown);
    let mut text = match are_all_shown {
        true => format!("Details: {call}{tool} with name. Types: query: \"types\" with name."),
        false => format!(
            "Find operations: {call}{tool}, or names, prefix or category with parameters: true. \
             Types: query: \"types\" with name."
        ),
    };
    if let Some(own) = &adapter.parts().instructions {
        text.push_str("\n\n");
        text.push_str(own);
    }
    text
}
