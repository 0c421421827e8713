//! The rules of `#[derive(UpdateInput)]`, one function per rule.
//!
//! If you add a rule, call it in [`run`], and add a case with its error to `tests/errors`.

use darling::error::Accumulator;

use crate::input::check::{json_form, names_differ, own_form, protected};
use crate::input::{FieldRole, InputField, InputModel};
use crate::parameter;
use crate::support::fault;
use crate::support::serde_attr::name_fault;

/// Checks every rule of the derive.
pub(super) fn run(resource: &InputModel<'_>, errors: &mut Accumulator) {
    lifetimes(resource, errors);
    own_form(resource, errors);
    something_is_updatable(resource, errors);
    names_differ(resource, errors);
    for field in &resource.fields {
        match field.role {
            FieldRole::Settable => {
                name(field, errors);
                description(field, errors);
                json_form(field, errors);
                parameter::constraints(&field.parameter, errors);
                options_of_parameters_alone(field, errors);
            }
            _ => protected(field, errors),
        }
    }
}

/// Rejects lifetimes, because a decoded update outlives its request.
fn lifetimes(resource: &InputModel<'_>, errors: &mut Accumulator) {
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

/// Requires at least one updatable field: an empty `input` is a mistake (MCP-AQL §4.5).
fn something_is_updatable(resource: &InputModel<'_>, errors: &mut Accumulator) {
    let may_change =
        |field: &InputField<'_>| matches!(field.role, FieldRole::Settable | FieldRole::Unclear);
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

/// Requires names that match `^[a-z][a-z0-9_]*$` (MCP-AQL §4.3).
fn name(field: &InputField<'_>, errors: &mut Accumulator) {
    let unless = ", or `#[resource(read_only)]` if callers cannot change it";
    errors.extend(name_fault(field.ident, &field.parameter.name, unless));
}

/// Requires a description, because introspection shows it (MCP-AQL §8.1.2).
fn description(field: &InputField<'_>, errors: &mut Accumulator) {
    let ident = field.ident;
    errors.extend(field.parameter.doc.fault("field", &ident.to_string(), ident.span()));
}

/// Rejects options that only apply to parameters of an operation.
fn options_of_parameters_alone(field: &InputField<'_>, errors: &mut Accumulator) {
    for key in &field.parameter.keys {
        let message = match key.to_string().as_str() {
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
