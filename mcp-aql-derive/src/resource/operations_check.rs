//! The rules of the ready operations of a resource.

use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::{DangerLevel, is_public_name};

use super::model::ResourceModel;
use super::operations::{ReadyKind, ReadyOperation};
use crate::operation::example;
use crate::support::json::Value;
use crate::support::ty::Kind;
use crate::support::values::Text;
use crate::support::{fault, names, slots};

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
    for operation in ready.of(resource.is_searchable()) {
        let verb = operation.kind.verb();
        if seen.contains(&operation.kind) {
            errors.push(fault(operation.span, format_args!("`{verb}` is written twice: keep one")));
        }
        seen.push(operation.kind);
        if operation.kind == ReadyKind::Search && !resource.is_searchable() {
            errors.push(fault(
                operation.span,
                "nothing can be searched: mark a field with `#[resource(search)]`, or leave `search` out",
            ));
        }
        danger(operation, errors);
        let examples = operation.examples.iter();
        let no_objects = examples.filter(|it| !matches!(it.json.value, Value::Object(_)));
        errors.extend(no_objects.map(example::no_object));
        if operation.kind == ReadyKind::Delete
            && let Some(question) = operation.question()
        {
            slots(question, resource, errors);
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

/// Rejects `danger` on operations that read, and the level `safe` on all others (REQ-DNG-02).
fn danger(operation: &ReadyOperation, errors: &mut Accumulator) {
    let Some(danger) = &operation.danger else { return };
    let verb = operation.kind.verb();
    if operation.kind.reads() {
        errors.push(fault(
            danger.span(),
            format_args!("`{verb}` changes nothing and is `safe`: leave `danger` out"),
        ));
    } else if let Some(level) = danger.level.as_ref().filter(|level| ***level == DangerLevel::Safe)
    {
        errors.push(fault(
            level.span(),
            format_args!(
                "only an operation that reads is `safe`: write `level = \"reversible\"`, or a higher one"
            ),
        ));
    }
}

/// Requires that each slot of the deletion's question is a field that a person may see.
fn slots(question: &SpannedValue<Text>, resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let slots = match slots::names(&question.0) {
        Ok(slots) => slots,
        Err(unbalanced) => return errors.push(fault(question.span(), unbalanced)),
    };
    let shown = resource
        .on_the_wire()
        .filter(|field| !field.is_sensitive && !matches!(field.column.kind(), Kind::Object));
    let shown: Vec<_> = shown.map(|field| field.column.name.text.as_str()).collect();
    for slot in slots {
        let field = resource.field(slot);
        if shown.contains(&slot) {
            continue;
        }
        errors.push(fault(
            question.span(),
            match field {
                Some(field) if field.is_sensitive => format!(
                    "`{{{slot}}}` would show a `sensitive` field in the question: leave it out"
                ),
                Some(_) => format!(
                    "`{{{slot}}}` is an object, which does not fit into a question: leave it out"
                ),
                None if slot.trim().is_empty() => {
                    "`{}` is an empty slot: write the name of a field inside, or `{{}}` for the braces"
                        .to_owned()
                }
                None => format!(
                    "`{{{slot}}}` is not a field of the resource: {}",
                    names::suggestion(slot, shown.iter().copied())
                ),
            },
        ));
    }
}
