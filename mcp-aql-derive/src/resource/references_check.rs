//! The rules of `references`: fields with identifiers of other resources.

use darling::error::Accumulator;
use mcp_aql_protocol::is_public_name;

use super::model::{FieldModel, ResourceModel};
use crate::support::ty::Kind;
use crate::support::{fault, names};

/// Checks every rule of `references`.
pub(super) fn run(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let mut seen = Vec::new();
    for (field, target) in resource.references() {
        let (name, span) = (&field.column.name.text, target.span());
        if resource.operations.is_none() {
            errors.push(fault(
                span,
                "`references` is for ready operations: write `#[resource(operations)]` above the struct, or leave it out",
            ));
        }
        if !is_public_name(&target.0) {
            errors.push(fault(
                span,
                format_args!(
                    "`references` names the singular of a resource in snake_case: write `references = \"{}\"`",
                    names::to_snake_case(&target.0)
                ),
            ));
        }
        if let Some(noun) = not_identifiers(field) {
            errors.push(fault(
                span,
                format_args!(
                    "`references` is for identifiers, which are strings and whole numbers, and `{name}` is {noun}: leave it out"
                ),
            ));
        }
        let relationship = field.relationship();
        if let Some(first) = seen.iter().find(|(known, _)| *known == relationship) {
            errors.push(fault(
                span,
                format_args!(
                    "`{name}` and `{}` are both relationships called `{relationship}`: write another name for one of them",
                    first.1
                ),
            ));
        }
        seen.push((relationship, name));
    }
}

/// Returns a description of the field's values if they cannot be identifiers.
fn not_identifiers(field: &FieldModel<'_>) -> Option<String> {
    let kind = field.column.kind();
    let single = match &kind {
        Kind::List(inner) => inner,
        other => other,
    };
    if field.column.marks.nested.is_some() {
        return Some("nested".to_owned());
    }
    let refused = matches!(single, Kind::Bool | Kind::Float | Kind::Object | Kind::List(_));
    refused.then(|| kind.noun().unwrap_or("another type").to_owned())
}
