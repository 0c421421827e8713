//! Rules of both inputs: the fields of a resource must be the members of its JSON form.

use std::collections::BTreeMap;

use darling::error::Accumulator;

use super::{FieldRole, InputField, InputModel};
use crate::resource::attr;
use crate::support::fault;
use crate::support::serde_attr::{flatten_fault, own_form_fault, same_name_fault, two_names_fault};

/// Requires that serde reads the fields of the struct as members of an object, because inputs name these members.
pub(crate) fn own_form(resource: &InputModel<'_>, errors: &mut Accumulator) {
    if let Some((option, span)) = &resource.serde.own_form {
        errors.push(own_form_fault(resource.ident, option, *span));
    }
}

/// Rejects two fields with the same name in JSON.
pub(crate) fn names_differ(resource: &InputModel<'_>, errors: &mut Accumulator) {
    let mut seen = BTreeMap::new();
    for field in resource.fields.iter().filter(|field| field.role != FieldRole::Hidden) {
        let name = &field.parameter.name;
        if let Some(first) = seen.insert(&name.text, field.ident) {
            errors.push(same_name_fault(field.ident, first, name));
        }
    }
}

/// Requires that the JSON value of a field has the form that its type implies.
pub(crate) fn json_form(field: &InputField<'_>, errors: &mut Accumulator) {
    let ident = field.ident;
    if let Some(span) = field.serde.flatten {
        errors.push(flatten_fault(ident, "an input", span));
    }
    if let Some((option, span)) = &field.serde.own_form {
        errors.push(fault(
            *span,
            format_args!(
                "`#[serde({option})]` reads `{ident}` in another form than its type: write a type that implements `Deserialize` that way, or mark the field `#[resource(read_only)]`",
            ),
        ));
    }
    if let Some(span) = field.serde.two_names {
        errors.push(two_names_fault(ident, span));
    }
    if let Some(span) = field.serde.alias {
        errors.push(fault(
            span,
            format_args!(
                "`{ident}` is also read under a name that introspection does not show and callers cannot send: leave `#[serde(alias = \"…\")]` out, or mark the field `#[resource(read_only)]`",
            ),
        ));
    }
}

/// Rejects constraints and `replace` on fields that `input` never contains.
pub(crate) fn protected(field: &InputField<'_>, errors: &mut Accumulator) {
    let why = match field.role {
        FieldRole::Identifier => "is an identifier",
        FieldRole::ReadOnly => "is read-only",
        FieldRole::Hidden => "is not in the JSON form",
        FieldRole::Settable | FieldRole::Unclear => return,
    };
    let ident = field.ident;
    let marks = &field.marks;
    if let (Some(_), Some(span)) = (marks.id, marks.read_only) {
        errors.push(attr::read_only_id_fault(ident, span));
    }
    // Callers set a chosen identifier when they create the resource.
    let is_chosen = attr::has_option(field.attributes, "create_input", "chosen");
    if let Some(span) = field.has_param.filter(|_| !is_chosen) {
        errors.push(fault(
            span,
            format_args!("`{ident}` {why} and never part of `input`: leave `#[param(…)]` out"),
        ));
    }
    let [update_input, resource] = marks.attributes;
    if let (Some(_), Some(span)) = (marks.replace, update_input) {
        errors.push(fault(
            span,
            format_args!(
                "`{ident}` {why} and never part of `input`: leave `#[update_input(replace)]` out"
            ),
        ));
    }
    if field.role == FieldRole::Hidden
        && marks.id.or(marks.read_only).is_some()
        && let Some(span) = resource
    {
        errors.push(attr::hidden_fault(ident, span));
    }
}
