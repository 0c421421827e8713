//! Checks the ready operations of a resource.

use darling::error::Accumulator;
use mcp_aql_protocol::is_public_name;

use super::model::ResourceModel;
use super::operations::ReadyKind;
use crate::support::{fault, names};

/// Checks every rule of the ready operations.
pub(super) fn run(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let Some(ready) = &resource.operations else { return };
    if resource.identifier().is_none() {
        errors.push(fault(
            ready.span,
            "ready operations need an identifier: mark the field that identifies the resource with `#[resource(id)]`",
        ));
    }
    let mut seen = Vec::new();
    for operation in ready.chosen.iter().flatten() {
        let verb = operation.kind.verb();
        if seen.contains(&operation.kind) {
            errors.push(fault(operation.span, format_args!("`{verb}` is there twice: keep one")));
        }
        seen.push(operation.kind);
        if operation.kind == ReadyKind::Search && !resource.is_searchable() {
            errors.push(fault(
                operation.span,
                "nothing can be searched: mark a field with `#[resource(search)]`, or leave `search` out",
            ));
        }
        let name = operation.name.as_ref().filter(|name| !is_public_name(&name.value()));
        if let Some(name) = name {
            errors.push(fault(
                name.span(),
                format_args!(
                    "operation `{}` is not snake_case: write `{verb} = \"{}\"` (MCP-AQL §8.5.2)",
                    name.value(),
                    names::to_snake_case(&name.value())
                ),
            ));
        }
    }
}
