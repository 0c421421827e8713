//! The rules of an operation, one function per rule.

use std::fmt::Display;

use darling::error::Accumulator;
use mcp_aql_protocol::{RESERVED_OPERATIONS, SemanticCategory, is_public_name, is_scope};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{GenericParam, Generics, Safety, Type};

use super::attr::Wrap;
use super::{OperationModel, danger, example, lifecycle, query};
use crate::parameter;
use crate::support::names;
use crate::support::{fault, ty};

/// Checks every rule that concerns a single operation.
pub(crate) fn run(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    category(operation, errors);
    name(operation, errors);
    verb(operation, errors);
    description(operation, errors);
    endpoint(operation, errors);
    scope(operation, errors);
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
    query::check::run(operation, errors);
    danger::check::run(operation, errors);
    preview(operation, errors);
    lifecycle::check::run(operation, errors);
    example::check(operation, errors);
}

/// Requires a category (MCP-AQL §8.1).
fn category(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(span) = operation.no_category else { return };
    let guess = match operation.lifecycle {
        Some(_) => SemanticCategory::Execute,
        None => SemanticCategory::suggested_for(&operation.name.text),
    };
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

/// Requires a name that matches `^[a-z][a-z0-9_]*$` and that the protocol does not reserve (MCP-AQL §8.5).
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

/// Requires a rationale if the verb implies another category (MCP-AQL §8.3, §8.5.1).
fn verb(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(category) = &operation.category else { return };
    if operation.rationale.is_some() {
        return;
    }
    if let Some((verb, announced)) = SemanticCategory::of_verb(&operation.name.text)
        && announced != **category
    {
        // An operation with `lifecycle` is always EXECUTE, so the category of its verb is not a remedy.
        if operation.lifecycle.is_some() {
            errors.push(fault(
                category.span(),
                format_args!(
                    "the verb of `{}` implies {} (`{verb}`), but an operation with `lifecycle` is EXECUTE: rename it, such as `run_{0}`, or give the reason with `rationale = \"…\"` (MCP-AQL §8.5.1)",
                    operation.name.text,
                    announced.as_str(),
                ),
            ));
            return;
        }
        errors.push(fault(
            category.span(),
            format_args!(
                "the verb of `{}` implies {} (`{verb}`), but its category is {}: write `category = \"{}\"`, rename it, or give the reason with `rationale = \"…\"` (MCP-AQL §8.5.1)",
                operation.name.text,
                announced.as_str(),
                category.as_str(),
                announced.as_str(),
            ),
        ));
    }
}

/// Requires a description, because tool descriptions and introspection show it (MCP-AQL §5.1 of operations).
fn description(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    if operation.description.is_some() {
        return;
    }
    errors.extend(operation.doc.fault("operation", &operation.name.text, operation.span()));
}

/// Requires that the name of an endpoint family follows the rules for names of operations.
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

/// Rejects a preview if an argument exists only during a run: an `ExecutionContext` or a query.
fn preview(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(preview) = &operation.preview else { return };
    let has_execution = operation.executions().next().is_some();
    if has_execution || operation.queries().next().is_some() {
        let what = if has_execution { "an `ExecutionContext`" } else { "a query" };
        errors.push(fault(
            preview.span(),
            format_args!(
                "`preview` runs before the operation, which takes {what}, and must take the same arguments: leave it out"
            ),
        ));
    }
}

/// Requires that a scope is a single token of an OAuth scope (RFC 6749 §3.3).
fn scope(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    if let Some(scope) = &operation.scope
        && !is_scope(&scope.0)
    {
        errors.push(fault(
            scope.span(),
            format_args!(
                "scope `{}` has characters other than printable ASCII without spaces, quotes and backslashes: write one scope, such as `scope = \"tasks:delete\"` (RFC 6749 §3.3)",
                scope.0
            ),
        ));
    }
}

/// Requires that the key of a result follows the rules for names of parameters.
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

/// Rejects generics, `unsafe` and variadics, because the runtime calls the function with values decoded from JSON.
fn signature(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let signature = operation.signature;
    for parameter in &signature.generics.params {
        let (span, message) = match parameter {
            GenericParam::Lifetime(it) => (
                it.lifetime.span(),
                "an operation cannot have lifetimes: accept and return owned values".to_owned(),
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
            "an operation cannot be variadic: write a parameter of type `Vec<…>`",
        ));
    }
}

/// Requires a return type that introspection can name.
fn returns(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    if let Some(Type::ImplTrait(it)) = operation.returns().map(ty::peel) {
        errors.push(fault(
            it.impl_token.span,
            "introspection cannot name an `impl` type: write the result's concrete type",
        ));
    }
    if let Some(ty) = operation.returns() {
        parameter::numbers_are_exact(ty::inside(ty, "Result").unwrap_or(ty), errors);
    }
}

/// Requires that a `Result` is the outermost type. Otherwise its `Err` would be returned as a success.
fn result_is_outermost(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(ty) = operation.returns() else { return };
    for (name, wrapper, remedy) in [
        (
            "Result",
            "a `Result`",
            "combine the two, for example with `result?`, and write one `Result`",
        ),
        ("Option", "an `Option`", "write `Result<Option<…>, …>`, for example with `transpose`"),
    ] {
        if let Some(inner) = ty::inside(ty, name)
            && let Some(segment) = ty::last_segment(inner)
            && segment.ident == "Result"
        {
            errors.push(fault(
                segment.ident.span(),
                format_args!("an `Err` inside {wrapper} would be returned as a success: {remedy}"),
            ));
        }
    }
}

/// Rejects a return type that is a type parameter of the block or an associated type of one.
///
/// The type could be a `Result`. Neither the macro nor the generated code can detect that, and its `Err` would be
/// returned as a success.
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
                "`{ty}` may be a `Result`, whose `Err` would be returned as a success: write \
                 `Result<{ty}, OperationError>`, and return its data in `Ok(…)`"
            ),
        ));
    }
}

/// Requires an `input` for UPDATE operations, and rejects it for all others (MCP-AQL §4.5).
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
                    "an UPDATE operation has no `input`: write `input: Update<…>` with the resource's type (MCP-AQL §4.5)",
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
                    "`Update` is for UPDATE operations and this one is {}: write `category = \"UPDATE\"`, or use plain parameters (MCP-AQL §4.5)",
                    category.as_str()
                ),
            ));
        }
    }
}

/// Requires that the changes of an UPDATE operation are called `input` (MCP-AQL §4.5).
fn input_is_called_input(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    // `update_takes_input` already reports a second one.
    if let Some(input) = operation.inputs().next()
        && input.name != "input"
        && operation.is(SemanticCategory::Update)
    {
        errors.push(fault(
            input.span,
            format_args!(
                "`{}` is not the name of an UPDATE operation's changes: write `input: Update<…>` (MCP-AQL §4.5)",
                input.name
            ),
        ));
    }
}

/// Rejects two parameters with the same name.
fn parameter_names_differ(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let has_input = operation.inputs().next().is_some();
    let mut seen: Vec<&str> = Vec::new();
    for parameter in operation.parameters() {
        let name = parameter.name.text.as_str();
        if operation.has_if_match() && name == "if_match" {
            errors.push(fault(
                parameter.name.span,
                "parameter `if_match` clashes with the parameter that `IfMatch` adds: write another name",
            ));
        } else if has_input && name == "input" {
            errors.push(fault(
                parameter.name.span,
                "parameter `input` clashes with the changes of the operation: write another name (MCP-AQL §4.5)",
            ));
        } else if seen.contains(&name) {
            errors.push(duplicate_name("parameters are", name, parameter.name.span));
        }
        seen.push(name);
    }
}

/// Requires that the replacement of a deprecated item exists. The build of the adapter checks replacements by other
/// operations, and those of parameters inside groups.
fn replacements_are_there(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    if let Some(replacement) = operation.deprecated.as_ref().and_then(|it| it.replacement.as_ref())
        && replacement.0 == operation.name.text
    {
        errors.push(fault(
            replacement.span(),
            format_args!(
                "the `replacement` of `{}` is the operation itself: write the name of another operation, or leave it out",
                operation.name.text
            ),
        ));
    }
    // The replacement of a parameter of a deprecated operation may be a parameter of the operation's own replacement.
    if operation.has_groups() || operation.deprecated.is_some() {
        return;
    }
    let known = operation.known_parameters();
    for parameter in operation.parameters() {
        parameter::replacement(parameter, &known, &operation.name.text, errors);
    }
}

/// Returns the error for two items of one name.
pub(crate) fn duplicate_name(
    what: impl Display,
    name: &str,
    span: proc_macro2::Span,
) -> darling::Error {
    fault(span, format_args!("two {what} called `{name}`: write another name for one of them"))
}
