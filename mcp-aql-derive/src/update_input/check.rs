//! Checks the rules of an updatable resource, one function per rule.

use std::collections::BTreeMap;

use darling::error::Accumulator;

use super::model::{FieldRole, UpdateFieldModel, UpdateModel};
use crate::parameter;
use crate::resource::attr;
use crate::support::fault;
use crate::support::serde_attr::{
    flatten_fault, name_fault, own_form_fault, same_name_fault, two_names_fault,
};

/// Checks every rule of an updatable resource.
pub(super) fn run(resource: &UpdateModel<'_>, errors: &mut Accumulator) {
    lifetimes(resource, errors);
    own_form(resource, errors);
    something_is_updatable(resource, errors);
    names_differ(resource, errors);
    for field in &resource.fields {
        match field.role {
            FieldRole::Updatable => {
                name(field, errors);
                description(field, errors);
                json_form(field, errors);
                parameter::constraints(&field.parameter, errors);
                options_of_parameters_alone(field, errors);
            }
            FieldRole::Identifier => protected(field, "is an identifier", errors),
            FieldRole::ReadOnly => protected(field, "is read-only", errors),
            FieldRole::Hidden => protected(field, "is not in the JSON form", errors),
            FieldRole::Unclear => {}
        }
    }
}

/// Rejects lifetimes: a decoded update outlives its request.
fn lifetimes(resource: &UpdateModel<'_>, errors: &mut Accumulator) {
    if let Some(lifetime) = resource.generics.lifetimes().next() {
        let lifetime = &lifetime.lifetime;
        errors.push(fault(
            lifetime.span(),
            format_args!(
                "`{}` borrows with `{lifetime}`, and an update outlives its request: write owned types such as `String`",
                resource.ident,
            ),
        ));
    }
}

/// Requires that serde reads the struct's fields as the members of its JSON form, because updates name fields.
fn own_form(resource: &UpdateModel<'_>, errors: &mut Accumulator) {
    if let Some((option, span)) = &resource.serde.own_form {
        errors.push(own_form_fault(resource.ident, option, *span));
    }
}

/// Requires at least one updatable field: an empty `input` is a mistake (MCP-AQL §4.5).
fn something_is_updatable(resource: &UpdateModel<'_>, errors: &mut Accumulator) {
    let may_change = |field: &UpdateFieldModel<'_>| {
        matches!(field.role, FieldRole::Updatable | FieldRole::Unclear)
    };
    if !resource.fields.iter().any(may_change) {
        errors.push(fault(
            resource.ident.span(),
            format_args!(
                "no field of `{}` can be updated: leave `#[resource(id)]` or `#[resource(read_only)]` off the fields that may change, or leave the derive out",
                resource.ident,
            ),
        ));
    }
}

/// Rejects two fields with the same name in JSON.
fn names_differ(resource: &UpdateModel<'_>, errors: &mut Accumulator) {
    let mut seen = BTreeMap::new();
    for field in resource.fields.iter().filter(|field| field.role != FieldRole::Hidden) {
        let name = &field.parameter.name;
        if let Some(first) = seen.insert(&name.text, field.ident) {
            errors.push(same_name_fault(field.ident, first, name));
        }
    }
}

/// Requires names that match `^[a-z][a-z0-9_]*$` (MCP-AQL §4.3).
fn name(field: &UpdateFieldModel<'_>, errors: &mut Accumulator) {
    let unless = ", or `#[resource(read_only)]` if callers cannot change it";
    errors.extend(name_fault(field.ident, &field.parameter.name, unless));
}

/// Requires a description, which introspection shows (MCP-AQL §8.1.2).
fn description(field: &UpdateFieldModel<'_>, errors: &mut Accumulator) {
    let ident = field.ident;
    errors.extend(field.parameter.doc.fault("field", &ident.to_string(), ident.span()));
}

/// Requires that a field's JSON value is the one that its type reads.
fn json_form(field: &UpdateFieldModel<'_>, errors: &mut Accumulator) {
    let ident = field.ident;
    if let Some(span) = field.serde.flatten {
        errors.push(flatten_fault(ident, "an update", span));
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
}

/// Rejects options that apply to parameters of an operation only.
fn options_of_parameters_alone(field: &UpdateFieldModel<'_>, errors: &mut Accumulator) {
    for key in &field.parameter.keys {
        let message = match key.to_string().as_str() {
            "default" => {
                "a field of `input` cannot have a default, omitted fields stay unchanged: leave `default` out"
            }
            "name" => {
                "a field has one name in requests and results: write `#[serde(rename = \"…\")]` instead of `name`"
            }
            "group" => {
                "a field is not a group of parameters: leave `group` out, and derive `UpdateInput` on its type to update it field by field"
            }
            _ => continue,
        };
        errors.push(fault(key.span(), message));
    }
}

/// Rejects constraints and `replace` on fields that `input` never contains.
fn protected(field: &UpdateFieldModel<'_>, why: &str, errors: &mut Accumulator) {
    let ident = field.ident;
    let marks = &field.marks;
    if let (Some(_), Some(span)) = (marks.id, marks.read_only) {
        errors.push(attr::read_only_id_fault(ident, span));
    }
    if let Some(span) = field.has_param {
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
