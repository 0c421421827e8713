//! The rules of `#[derive(CreateInput)]`, one function per rule.

use darling::error::Accumulator;
use syn::GenericParam;

use super::model::{CreateField, CreateModel, Source};
use crate::input::check::{json_form, names_differ, own_form, protected};
use crate::input::{FieldRole, InputField};
use crate::parameter;
use crate::support::fault;

/// Checks every rule of the derive.
pub(super) fn run(model: &CreateModel<'_>, errors: &mut Accumulator) {
    one_type(model, errors);
    own_form(model.resource, errors);
    names_differ(model.resource, errors);
    for field in &model.fields {
        chosen_identifier(field, errors);
        match &field.source {
            Source::Parameter(_) => {
                json_form(field.field, errors);
                parameter::check(&field.field.parameter, errors);
                options_of_arguments_alone(field.field, errors);
            }
            Source::Value(_, span) if field.field.role == FieldRole::Settable => {
                errors.push(fault(
                    *span,
                    format_args!(
                        "callers set `{}`, so it cannot have a `value`: mark it `#[resource(read_only)]`, or write `#[param(default = …)]`",
                        field.ident()
                    ),
                ));
            }
            Source::Value(..) | Source::Rest => protected(field.field, errors),
        }
    }
}

/// Requires that a field marked `chosen` is an identifier. Callers set the other fields anyway.
fn chosen_identifier(field: &CreateField<'_>, errors: &mut Accumulator) {
    let Some(span) = field.chosen else { return };
    let ident = field.ident();
    if field.field.role != FieldRole::Identifier {
        let remedy = match field.field.role {
            FieldRole::Settable => "callers set this field anyway: leave `chosen` out",
            _ => "leave `chosen` out",
        };
        let message = format_args!("`{ident}` is not marked `#[resource(id)]`: {remedy}");
        errors.push(fault(span, message));
    } else if matches!(field.source, Source::Value(..)) {
        errors.push(fault(
            span,
            format_args!("callers choose `{ident}`, so it cannot have a `value`: keep one of them"),
        ));
    }
}

/// Rejects generics, because the fields become the parameters of a single table.
fn one_type(model: &CreateModel<'_>, errors: &mut Accumulator) {
    for generic in &model.resource.generics.params {
        let ident = match generic {
            GenericParam::Lifetime(it) => &it.lifetime.ident,
            GenericParam::Type(it) => &it.ident,
            GenericParam::Const(it) => &it.ident,
        };
        errors.push(fault(
            ident.span(),
            format_args!(
                "a resource that callers create cannot be generic: write a type or a value in place of `{ident}`"
            ),
        ));
    }
}

/// Rejects options that only apply to arguments of an operation.
fn options_of_arguments_alone(field: &InputField<'_>, errors: &mut Accumulator) {
    for key in &field.parameter.keys {
        let message = match key.to_string().as_str() {
            "name" => {
                "a field has one name in requests and results: write `#[serde(rename = \"…\")]` instead of `name`"
            }
            "group" => "a field is not a group of parameters: leave `group` out",
            _ => continue,
        };
        errors.push(fault(key.span(), message));
    }
}
