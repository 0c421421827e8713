//! The rules of computed fields, one function per rule.

use darling::error::Accumulator;
use mcp_aql_protocol::is_public_name;
use syn::spanned::Spanned as _;
use syn::{ItemImpl, ReceiverKind, Safety, Type};

use super::model::ComputedModel;
use crate::operation::duplicate_name;
use crate::resource::check::{GROUPS, logical_operator_name};
use crate::resource::columns;
use crate::support::{fault, names, ty};

/// Checks every rule of a block and of its computed fields.
pub(super) fn run(block: &ItemImpl, fields: &[ComputedModel<'_>], errors: &mut Accumulator) {
    one_type(block, errors);
    something_is_computed(block, fields, errors);
    for field in fields {
        name(field, errors);
        errors.extend(field.doc.fault(
            "computed field",
            &field.name.text,
            field.method.sig.ident.span(),
        ));
        receiver(field, errors);
        plain(field, errors);
        returns(field, errors);
        if let Some(column) = &field.column {
            columns::check(column, errors);
        }
    }
    names_differ(fields, errors);
}

/// Rejects generic blocks. A resource is one concrete type, so the block must be for one type, too.
fn one_type(block: &ItemImpl, errors: &mut Accumulator) {
    if let Some(parameter) = block.generics.params.first() {
        errors.push(fault(
            parameter.span(),
            "a resource cannot be generic: write the impl block without type parameters",
        ));
    }
}

fn something_is_computed(block: &ItemImpl, fields: &[ComputedModel<'_>], errors: &mut Accumulator) {
    if fields.is_empty() {
        errors.push(fault(
            block.self_ty.span(),
            "no method of this block is a computed field: write `#[computed]` above those that are",
        ));
    }
}

/// Rejects names with the prefix `_computed.` and names that are not snake_case (REQ-CMP-02). A filterable field must
/// not have the name of a logical operator of the filter language either.
fn name(field: &ComputedModel<'_>, errors: &mut Accumulator) {
    let name = field.name.text.as_str();
    let filtered = field.column.as_ref().is_some_and(|column| column.marks.filter.is_some());
    if let Some(rest) = name.strip_prefix("_computed.") {
        errors.push(fault(
            field.name.span,
            format_args!("`{name}` has the prefix that callers add: write `{rest}`"),
        ));
    } else if !is_public_name(name) {
        let snake = names::to_snake_case(name);
        let remedy = if field.name.set {
            format!("`{snake}`")
        } else {
            format!("`#[computed(name = \"{snake}\")]`")
        };
        errors.push(fault(
            field.name.span,
            format_args!("computed field `{name}` is not snake_case: write {remedy}"),
        ));
    } else if GROUPS.contains(&name) && filtered {
        errors.push(logical_operator_name(name, field.name.span, "#[computed(name = \"…\")]"));
    }
}

/// Requires `&self`, because a query shares the rows while it evaluates them.
fn receiver(field: &ComputedModel<'_>, errors: &mut Accumulator) {
    let signature = &field.method.sig;
    let Some(receiver) = signature.receiver() else {
        errors.push(fault(
            signature.ident.span(),
            format_args!("computed field `{}` has no receiver: write `&self`", signature.ident),
        ));
        for input in &signature.inputs {
            parameter(input, errors);
        }
        return;
    };
    let shared = match &receiver.kind {
        ReceiverKind::Reference(_, _, mutable) => mutable.is_none(),
        ReceiverKind::Typed(_, ty) => {
            matches!(ty::peel(ty), Type::Reference(it) if it.mutability.is_none())
        }
        _ => false,
    };
    if !shared {
        errors.push(fault(receiver.span(), "a computed field reads a shared row: write `&self`"));
    }
    for input in signature.inputs.iter().skip(1) {
        parameter(input, errors);
    }
}

fn parameter(input: &syn::FnArg, errors: &mut Accumulator) {
    errors.push(fault(
        input.span(),
        "a computed field cannot have parameters: leave this out, and compute from `self` alone",
    ));
}

/// Requires a plain method without parameters, because the runtime calls it for each row that a query evaluates.
fn plain(field: &ComputedModel<'_>, errors: &mut Accumulator) {
    let signature = &field.method.sig;
    if let Some(parameter) = signature.generics.params.first() {
        errors.push(fault(
            parameter.span(),
            "a computed field cannot be generic: write concrete types",
        ));
    }
    if let Some(token) = &signature.asyncness {
        errors.push(fault(
            token.span(),
            "a computed field cannot be `async`: leave `async` out, and store values that take time to compute",
        ));
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.push(fault(token.span, "a computed field cannot be `unsafe`: write a safe method"));
    }
}

/// Requires an owned return type that introspection can name.
fn returns(field: &ComputedModel<'_>, errors: &mut Accumulator) {
    let ident = &field.method.sig.ident;
    let Some(column) = &field.column else {
        errors.push(fault(
            ident.span(),
            format_args!("`{ident}` returns nothing: write the type of the field, `-> …`"),
        ));
        return;
    };
    match column.bare() {
        Type::ImplTrait(it) => errors.push(fault(
            it.impl_token.span,
            "introspection cannot name an `impl` type: write the field's concrete type",
        )),
        bare if ty::last_segment(bare).is_some_and(|it| it.ident == "Result") => {
            errors.push(fault(
                column.ty.span(),
                format_args!("computed field `{ident}` cannot return a `Result`: write the value's type, or an `Option` of it"),
            ));
        }
        bare if ty::borrows(bare) => {
            let owned = match ty::owned(bare) {
                Some(owned) if column.is_optional() => format!("`Option<{owned}>`"),
                Some(owned) => format!("`{owned}`"),
                None => "a type without `&` and lifetimes, such as `String`".to_owned(),
            };
            errors.push(fault(
                column.ty.span(),
                format_args!("`{ident}` returns a borrowed value: write {owned}"),
            ));
        }
        _ => {}
    }
}

/// Rejects two computed fields with the same name.
fn names_differ(fields: &[ComputedModel<'_>], errors: &mut Accumulator) {
    let mut seen = Vec::new();
    for field in fields {
        let name = field.name.text.as_str();
        if seen.contains(&name) {
            errors.push(duplicate_name("computed fields are", name, field.name.span));
        }
        seen.push(name);
    }
}
