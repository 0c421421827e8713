//! The rules of an operation, each a function named after it.

use std::fmt::Display;

use darling::error::Accumulator;
use mcp_aql_protocol::{RESERVED_OPERATIONS, SemanticCategory, is_public_name};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{GenericParam, Generics, Safety, Type};

use super::attr::Wrap;
use super::model::OperationModel;
use super::{danger_check, example, lifecycle, query_check};
use crate::parameter;
use crate::support::names;
use crate::support::{fault, ty};

/// Every rule that concerns one operation alone.
pub(crate) fn run(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    category(operation, errors);
    name(operation, errors);
    verb(operation, errors);
    description(operation, errors);
    endpoint(operation, errors);
    wrap(operation, errors);
    signature(operation, errors);
    returns(operation, errors);
    result_is_outermost(operation, errors);
    update_takes_input(operation, errors);
    input_is_called_input(operation, errors);
    for parameter in operation.parameters() {
        parameter::check(parameter, errors);
    }
    parameter_names_differ(operation, errors);
    replacements_are_there(operation, errors);
    query_check::run(operation, errors);
    danger_check::run(operation, errors);
    lifecycle::check(operation, errors);
    example::check(operation, errors);
}

/// Every operation has exactly one category (MCP-AQL §8.1).
fn category(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(span) = operation.no_category else { return };
    let guess = SemanticCategory::of_verb(&operation.name.text)
        .map_or(SemanticCategory::Read, |(_, it)| it);
    let others: Vec<_> = SemanticCategory::ALL
        .into_iter()
        .filter(|other| *other != guess)
        .map(|other| format!("`{}`", other.as_str()))
        .collect();
    errors.push(fault(
        span,
        format_args!(
            "operation `{}` has no category: write `category = \"{}\"`, or another of {} (MCP-AQL §8.1)",
            operation.name.text,
            guess.as_str(),
            others.join(", "),
        ),
    ));
}

/// Names match `^[a-z][a-z0-9_]*$` and are not the protocol's own (MCP-AQL §8.5).
fn name(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let name = operation.name.text.as_str();
    let message = if RESERVED_OPERATIONS.contains(&name) {
        let or_set = if operation.name.set { "" } else { ", or set it with `name = \"…\"`" };
        format!(
            "operation `{name}` has a name that the protocol reserves: write another one{or_set} (MCP-AQL §8.5.4)"
        )
    } else if !is_public_name(name) {
        format!(
            "operation `{name}` is not snake_case: write `{}` (MCP-AQL §8.5.2)",
            names::to_snake_case(name)
        )
    } else {
        return;
    };
    errors.push(fault(operation.name.span, message));
}

/// A verb that announces another category needs a reason (MCP-AQL §8.3, §8.5.1).
fn verb(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(category) = &operation.category else { return };
    if operation.rationale.is_some() {
        return;
    }
    if let Some((verb, announced)) = SemanticCategory::of_verb(&operation.name.text)
        && announced != **category
    {
        errors.push(fault(
            category.span(),
            format_args!(
                "`{}` announces {} by its verb `{verb}`, and its category is {}: write `category = \"{}\"`, rename it, or say why with `rationale = \"…\"` (MCP-AQL §8.5.1)",
                operation.name.text,
                announced.as_str(),
                category.as_str(),
                announced.as_str(),
            ),
        ));
    }
}

/// Tool descriptions and introspection describe every operation (MCP-AQL §5.1 of operations).
fn description(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    errors.extend(operation.doc.fault("operation", &operation.name.text, operation.span()));
}

/// Endpoint families are named like operations.
fn endpoint(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    if let Some(endpoint) = &operation.endpoint
        && !is_public_name(&endpoint.0)
    {
        errors.push(fault(
            endpoint.span(),
            format_args!(
                "endpoint family `{}` is not snake_case: write `{}`",
                endpoint.0,
                names::to_snake_case(&endpoint.0)
            ),
        ));
    }
}

/// The key of a result is named like a parameter.
fn wrap(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(wrap) = &operation.wrap else { return };
    if let Wrap::Named(key) = &**wrap
        && !is_public_name(key)
    {
        errors.push(fault(
            wrap.span(),
            format_args!(
                "the key `{key}` of `wrap` is not snake_case: write `{}`",
                names::to_snake_case(key)
            ),
        ));
    }
}

/// The runtime calls the function with values made out of JSON, so nothing of it may be open.
fn signature(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let signature = operation.signature;
    for parameter in &signature.generics.params {
        let (span, message) = match parameter {
            GenericParam::Lifetime(it) => (
                it.lifetime.span(),
                "an operation has no lifetimes: take and return owned values".to_owned(),
            ),
            GenericParam::Type(syn::TypeParam { ident, .. }) => (
                ident.span(),
                format!("an operation cannot be generic: write a type in place of `{ident}`"),
            ),
            GenericParam::Const(syn::ConstParam { ident, .. }) => (
                ident.span(),
                format!("an operation cannot be generic: write a value in place of `{ident}`"),
            ),
        };
        errors.push(fault(span, message));
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.push(fault(token.span, "an operation cannot be `unsafe`: write a safe function"));
    }
    if let Some(variadic) = &signature.variadic {
        errors.push(fault(
            variadic.dots.span(),
            "an operation has a fixed list of parameters: take a `Vec`",
        ));
    }
}

/// A result has a type that introspection can name.
fn returns(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    if let Some(Type::ImplTrait(it)) = operation.returns().map(ty::peel) {
        errors.push(fault(
            it.impl_token.span,
            "introspection cannot name what is behind `impl`: write the result's own type",
        ));
    }
}

/// The only `Result` is the outermost type: inside of another one its `Err` would be data of a success.
fn result_is_outermost(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(ty) = operation.returns() else { return };
    for (name, wrapper, remedy) in [
        ("Result", "a `Result`", "combine the two, such as with `result?`, and write one `Result`"),
        ("Option", "an `Option`", "write `Result<Option<…>, …>`, which `transpose` makes"),
    ] {
        if let Some(inner) = ty::inside(ty, name)
            && let Some(segment) = ty::last_segment(inner)
            && segment.ident == "Result"
        {
            errors.push(fault(
                segment.ident.span(),
                format_args!(
                    "the `Err` of a `Result` inside of {wrapper} is answered as a success: {remedy}"
                ),
            ));
        }
    }
}

/// A return type that is a parameter of the block, or an associated type of one, may be a `Result`. Neither the
/// macro nor the code that it generates can find out: its `Err` would be answered as a success.
pub(super) fn form_is_known(
    operation: &OperationModel<'_>,
    generics: &Generics,
    errors: &mut Accumulator,
) {
    let Some(Type::Path(path)) = operation.returns().map(ty::peel) else { return };
    let starts_open = |path: &syn::Path| {
        let first = path.segments.first();
        first.is_some_and(|first| generics.type_params().any(|it| it.ident == first.ident))
    };
    let is_open = match path.qself.as_ref().map(|qself| ty::peel(&qself.ty)) {
        Some(Type::Path(of)) => starts_open(&of.path),
        Some(_) => false,
        None => starts_open(&path.path),
    };
    if is_open {
        let ty = path.to_token_stream().to_string().replace(" :: ", "::");
        errors.push(fault(
            path.span(),
            format_args!(
                "`{ty}` may be a `Result`, whose `Err` would be answered as a success: write \
                 `Result<{ty}, OperationError>`, and return its data in `Ok(…)`"
            ),
        ));
    }
}

/// UPDATE operations take what changes as `input`, and no others do (MCP-AQL §4.5).
fn update_takes_input(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(category) = &operation.category else { return };
    let mut inputs = operation.inputs();
    if operation.is(SemanticCategory::Update) {
        if inputs.next().is_none() {
            let plain = operation.parameters().find(|it| it.name.text == "input");
            errors.push(match plain {
                Some(plain) => fault(
                    plain.written.span(),
                    "`input` of an UPDATE operation is not an `Update`: write `Update<…>` with the resource's type (MCP-AQL §4.5)",
                ),
                None => fault(
                    operation.span(),
                    "an UPDATE operation takes its changes as `input`: write `input: Update<…>` with the resource's type (MCP-AQL §4.5)",
                ),
            });
        }
        for second in inputs {
            errors.push(fault(
                second.span,
                "an UPDATE operation has one `input`: put all changes into one resource type (MCP-AQL §4.5)",
            ));
        }
    } else {
        for input in inputs {
            errors.push(fault(
                input.update,
                format_args!(
                    "`Update` is for UPDATE operations and this one is {}: write `category = \"UPDATE\"`, or take plain parameters (MCP-AQL §4.5)",
                    category.as_str()
                ),
            ));
        }
    }
}

/// The changes of an UPDATE operation are called `input` (MCP-AQL §4.5).
fn input_is_called_input(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    // A second one is reported for being there at all.
    if let Some(input) = operation.inputs().next()
        && input.name != "input"
        && operation.is(SemanticCategory::Update)
    {
        errors.push(fault(
            input.span,
            format_args!(
                "`{}` holds the changes of an UPDATE operation, which are called `input`: write `input: Update<…>` (MCP-AQL §4.5)",
                input.name
            ),
        ));
    }
}

/// A request has each name once.
fn parameter_names_differ(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let has_input = operation.inputs().next().is_some();
    let mut seen: Vec<&str> = Vec::new();
    for parameter in operation.parameters() {
        let name = parameter.name.text.as_str();
        if operation.has_if_match() && name == "if_match" {
            errors.push(fault(
                parameter.name.span,
                "parameter `if_match` has the name that `IfMatch` brings: write another name",
            ));
        } else if has_input && name == "input" {
            errors.push(fault(
                parameter.name.span,
                "parameter `input` has the name that the changes have: write another name (MCP-AQL §4.5)",
            ));
        } else if seen.contains(&name) {
            errors.push(twice("parameters are", name, parameter.name.span));
        }
        seen.push(name);
    }
}

/// A replacement exists. The other operations and the parameters inside of groups are known when the adapter
/// is built.
fn replacements_are_there(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    if let Some(replacement) = operation.deprecated.as_ref().and_then(|it| it.replacement.as_ref())
        && replacement.0 == operation.name.text
    {
        errors.push(fault(
            replacement.span(),
            format_args!(
                "the `replacement` of `{}` is the operation itself: write another one's name, or leave it out",
                operation.name.text
            ),
        ));
    }
    // What replaces a parameter of a deprecated operation may be a parameter of the other one.
    if operation.has_groups() || operation.deprecated.is_some() {
        return;
    }
    let known = operation.known_parameters();
    for parameter in operation.parameters() {
        parameter::replacement(parameter, &known, &operation.name.text, errors);
    }
}

/// Two things of one name.
pub(crate) fn twice(what: impl Display, name: &str, span: proc_macro2::Span) -> darling::Error {
    fault(span, format_args!("two {what} called `{name}`: write another name for one of them"))
}
