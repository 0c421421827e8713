//! The rules of an error type, one function per rule.

use darling::error::Accumulator;
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{Fields, Member};

use super::attr::Detail;
use super::model::{ErrorModel, Variant};
use crate::support::options::is_called;
use crate::support::{fault, names, slots};

pub(crate) fn run(model: &ErrorModel<'_>, errors: &mut Accumulator) {
    for variant in &model.variants {
        transparent_stands_alone(variant, errors);
        transparent_has_one_field(variant, errors);
        options_need_a_code(variant, errors);
        details_exist(variant, errors);
        message_is_not_a_template(variant, errors);
        options_of_fields(variant, errors);
    }
}

/// Rejects slots in `message`. Unlike the string in `#[error("…")]`, it is sent as written.
fn message_is_not_a_template(variant: &Variant<'_>, errors: &mut Accumulator) {
    let Some(message) = &variant.attr.message else { return };
    let slots = slots::names(&message.0).unwrap_or_default();
    let members: Vec<_> =
        variant.fields.members().map(|it| it.to_token_stream().to_string()).collect();
    if let Some(slot) = slots.into_iter().find(|slot| members.iter().any(|it| it == slot)) {
        errors.push(fault(
            message.span(),
            format_args!(
                "`message` is not a template, so `{{{slot}}}` would be sent as it is: leave it out, and write the value in `details({} = {slot})`",
                if slot.starts_with(|first: char| first.is_ascii_digit()) { "value" } else { slot }
            ),
        ));
    }
}

/// Rejects options on fields, because options apply to a whole variant.
fn options_of_fields(variant: &Variant<'_>, errors: &mut Accumulator) {
    for field in variant.fields {
        for attribute in field.attrs.iter().filter(|it| is_called(it, "operation_error")) {
            let place = if variant.ident.is_some() { "variant" } else { "struct" };
            errors.push(fault(
                attribute.path().span(),
                format_args!(
                    "`#[operation_error]` has no effect on a field: write `details(…)` above the {place}"
                ),
            ));
        }
    }
}

/// Rejects other options next to `transparent`. The inner error has its own code, message and details.
fn transparent_stands_alone(variant: &Variant<'_>, errors: &mut Accumulator) {
    if variant.attr.transparent.is_none() {
        return;
    }
    for key in variant.attr.keys.iter().filter(|key| *key != "transparent" && *key != "crate") {
        errors.push(fault(
            key.span(),
            format_args!("`{key}` has no effect next to `transparent`: leave one of them out"),
        ));
    }
}

fn transparent_has_one_field(variant: &Variant<'_>, errors: &mut Accumulator) {
    if let Some(span) = variant.attr.transparent
        && variant.fields.len() != 1
    {
        let count = match variant.fields.len() {
            0 => "there is none".to_owned(),
            more => format!("there are {more}"),
        };
        errors.push(fault(
            span,
            format_args!(
                "`transparent` forwards the only field and {count}: write a `code` instead"
            ),
        ));
    }
}

/// Requires a code for `message` and `details`. Without a code, a variant becomes an opaque `INTERNAL_ERROR`.
fn options_need_a_code(variant: &Variant<'_>, errors: &mut Accumulator) {
    if variant.attr.has_code || variant.attr.transparent.is_some() {
        return;
    }
    for key in variant.attr.keys.iter().filter(|key| *key == "message" || *key == "details") {
        errors.push(fault(
            key.span(),
            format_args!("`{key}` has no effect without a code: write `code = \"…\"`"),
        ));
    }
}

/// Requires that each detail names an existing field.
fn details_exist(variant: &Variant<'_>, errors: &mut Accumulator) {
    for (_, detail) in &variant.details {
        let Detail::Field(member) = detail else { continue };
        if variant.has(member) {
            continue;
        }
        let message = match (member, variant.fields) {
            (Member::Named(ident), Fields::Named(fields)) => {
                let known: Vec<_> =
                    fields.named.iter().filter_map(|field| field.ident.as_ref()).collect();
                let known: Vec<_> = known.into_iter().map(ToString::to_string).collect();
                let hint = names::suggestion(&ident.to_string(), known.iter().map(String::as_str));
                format!("there is no field `{ident}`: {hint}")
            }
            (Member::Named(ident), Fields::Unnamed(_)) => {
                format!("there is no field `{ident}`: write a field's index, such as `0`")
            }
            (Member::Named(ident), Fields::Unit) => {
                format!("there is no field `{ident}`: write a literal, such as `\"{ident}\"`")
            }
            (Member::Unnamed(index), fields) => {
                let remedy = match fields.len() {
                    0 => "write a literal, because there are no fields".to_owned(),
                    1 => "write `0`, the index of the only one".to_owned(),
                    count => format!("write an index from `0` to `{}`", count - 1),
                };
                format!("there is no field `{}`: {remedy}", index.index)
            }
        };
        errors.push(fault(member.span(), message));
    }
}
