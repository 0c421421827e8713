//! Checks the examples of an operation. Introspection shows them to models, so each must be a valid call.

use darling::error::Accumulator;
use mcp_aql_protocol::nearest_name;
use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

use super::OperationModel;
use super::query::{self, QueryKind, TextSearch};
use crate::parameter::literal;
use crate::support::json::{Json, Value};
use crate::support::names;
use crate::support::{fault, options::JsonOption};

/// Generates `.examples(&[…])`.
pub(crate) fn tokens(examples: &[JsonOption]) -> Option<TokenStream> {
    let examples = examples.iter().map(|example| {
        let description = example.description.as_ref().map(LitStr::value).unwrap_or_default();
        let params = example.json.to_string();
        quote!(__rt::ExampleSpec { description: #description, params: #params })
    });
    let examples: Vec<_> = examples.collect();
    (!examples.is_empty()).then(|| quote!(.examples(&[#(#examples),*])))
}

/// Checks every rule of an operation's examples.
pub(crate) fn check(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    for example in &operation.examples {
        empty_description(example, errors);
        match &example.json.value {
            Value::Object(members) => {
                members_are_known(members, operation, errors);
                nothing_is_missing(example, members, operation, errors);
                values_fit(members, operation, errors);
            }
            _ => errors.push(no_object(example)),
        }
    }
}

/// Returns the error for an example other than an object.
pub(crate) fn no_object(example: &JsonOption) -> darling::Error {
    fault(
        example.json.span,
        format_args!(
            "this example is {}: write an object of parameters, `example = {{ … }}`",
            example.json.noun()
        ),
    )
}

fn empty_description(example: &JsonOption, errors: &mut Accumulator) {
    if let Some(description) = &example.description
        && description.value().trim().is_empty()
    {
        errors.push(fault(
            description.span(),
            "the example's description is empty: write one or leave it out",
        ));
    }
}

/// Requires that each member is a parameter. Only the expansion of a group's own macro knows the names inside the
/// group.
fn members_are_known(
    members: &[(LitStr, Json)],
    operation: &OperationModel<'_>,
    errors: &mut Accumulator,
) {
    if operation.has_groups() {
        return;
    }
    let known = operation.known_parameters();
    for (key, _) in members {
        let name = key.value();
        if known.contains(&name.as_str()) {
            continue;
        }
        let hint = if known.is_empty() {
            "leave it out, because the operation has no parameters".to_owned()
        } else {
            names::suggestion(&name, known.iter().copied())
        };
        errors.push(fault(
            key.span(),
            format_args!("the example has `{name}`, which is not a parameter: {hint}"),
        ));
    }
}

fn is_known(name: &str, operation: &OperationModel<'_>) -> bool {
    operation.known_parameters().contains(&name)
}

/// Requires a value for each parameter without a default.
fn nothing_is_missing(
    example: &JsonOption,
    members: &[(LitStr, Json)],
    operation: &OperationModel<'_>,
    errors: &mut Accumulator,
) {
    // A misspelled name is reported as unknown, so it must not be reported as missing, too.
    let required: Vec<_> = operation.parameters().filter(|it| it.is_required()).collect();
    let searches =
        operation.queries().any(|it| it.text(&operation.name.text) == TextSearch::Required);
    let text = searches.then_some("query");
    let relates = operation.queries().any(|it| it.kind == QueryKind::Relationship);
    let ends = ["root", "direction"].into_iter().filter(move |_| relates);
    let names = || required.iter().map(|it| it.name.text.as_str()).chain(text).chain(ends.clone());
    let has = |name: &str| {
        members.iter().any(|(key, _)| {
            let key = key.value();
            key == name
                // With groups, an unknown name may be a parameter of a group.
                || (!operation.has_groups()
                    && !is_known(&key, operation)
                    && nearest_name(&key, names()) == Some(name))
        })
    };
    let input = operation.inputs().next().map(|_| "input");
    for name in names().chain(input) {
        if !has(name) {
            let value = if Some(name) == input { "{ … }" } else { "…" };
            errors.push(fault(
                example.json.span,
                format_args!(
                    "the example lacks `{name}`, which is required: write `\"{name}\": {value}`"
                ),
            ));
        }
    }
}

/// Requires that each value has its parameter's type and satisfies its constraints.
fn values_fit(
    members: &[(LitStr, Json)],
    operation: &OperationModel<'_>,
    errors: &mut Accumulator,
) {
    for (key, value) in members {
        let name = key.value();
        if let Some(parameter) = operation.parameters().find(|it| it.name.text == name) {
            literal::check("the example", value, parameter, errors);
        } else if operation.queries().next().is_some()
            && is_known(&name, operation)
            && !matches!(value.value, Value::Null)
            && let Some((_, message)) = literal::misfit(value, &query::kind_of(&name))
        {
            errors.push(fault(value.span, format_args!("the example of `{name}` {message}")));
        } else if name == "input"
            && operation.inputs().next().is_some()
            && !matches!(value.value, Value::Object(_))
        {
            errors.push(fault(
                value.span,
                format_args!(
                    "the example of `input` is {}: write an object with the fields to change (MCP-AQL §4.5)",
                    value.noun()
                ),
            ));
        }
    }
}
