//! The rules of a parameter, one function per rule.

use std::fmt::Display;

use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::{RESERVED_PARAMETERS, is_public_name};
use proc_macro2::Span;
use regex::Regex;
use syn::Type;
use syn::spanned::Spanned as _;

use super::attr::{Constraints, DefaultValue};
use super::model::Parameter;
use super::{json_type, literal};
use crate::support::fault;
use crate::support::json::{Number, Value};
use crate::support::names;
use crate::support::ty::{self, Kind};
use crate::support::values::Limit;

/// Checks every rule that concerns a single parameter.
pub(crate) fn check(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    name(parameter, errors);
    description(parameter, errors);
    type_is_owned(parameter, errors);
    constraints(parameter, errors);
    default_is_possible(parameter, errors);
}

/// Checks the rules that also apply to the fields of a resource: type and constraints.
pub(crate) fn constraints(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    json_type::check(parameter, errors);
    constraints_fit_the_type(parameter, errors);
    ranges_are_not_empty(parameter, errors);
    bounds_fit_the_type(parameter, errors);
    pattern_is_valid(parameter, errors);
    choices_are_possible(parameter, errors);
}

/// Requires a name that matches `^[a-z][a-z0-9_]*$` and is not a member of the request (MCP-AQL §4.3).
fn name(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let name = parameter.name.text.as_str();
    let or_set = if parameter.name.set {
        ""
    } else {
        ", or name it on the wire with `#[param(name = \"…\")]`"
    };
    let message = if name.starts_with('_') {
        format!(
            "parameter `{name}` starts with `_`: write `{}`{or_set} (MCP-AQL §4.3)",
            names::to_snake_case(name)
        )
    } else if RESERVED_PARAMETERS.contains(&name) {
        let rename = if parameter.name.set { "write another name" } else { "rename it" };
        format!(
            "parameter `{name}` clashes with a member of the request: {rename}{or_set} (MCP-AQL §4.1)"
        )
    } else if !is_public_name(name) {
        format!(
            "parameter `{name}` is not snake_case: write `{}` (MCP-AQL §4.3)",
            names::to_snake_case(name)
        )
    } else {
        return;
    };
    errors.push(fault(parameter.name.span, message));
}

/// Requires a description, because introspection shows it.
fn description(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    errors.extend(parameter.doc.fault("parameter", &parameter.name.text, parameter.span));
}

/// Requires that the replacement of a deprecated parameter is another parameter of the operation.
pub(crate) fn replacement(
    parameter: &Parameter<'_>,
    known: &[&str],
    operation: &str,
    errors: &mut Accumulator,
) {
    let Some(replacement) = parameter.deprecated.as_ref().and_then(|it| it.replacement.as_ref())
    else {
        return;
    };
    let own = parameter.name.text.as_str();
    let others = known.iter().copied().filter(|name| *name != own);
    if others.clone().any(|name| name == replacement.0) {
        return;
    }
    let remedy = if others.clone().next().is_none() {
        "leave it out".to_owned()
    } else {
        names::suggestion(&replacement.0, others)
    };
    errors.push(fault(
        replacement.span(),
        format_args!(
            "the `replacement` of `{own}` is `{}`, which is not another parameter of `{operation}`: {remedy}",
            replacement.0
        ),
    ));
}

/// Requires an owned, named type, because the value is decoded from JSON.
fn type_is_owned(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    match ty::peel(parameter.ty) {
        Type::Reference(reference) => {
            let hint = ty::owned(&reference.elem).map_or_else(
                || "write a type that owns its values".to_owned(),
                |owned| format!("write `{owned}`"),
            );
            errors.push(fault(
                reference.and_token.span,
                format_args!("a parameter cannot be borrowed: {hint}"),
            ));
        }
        Type::ImplTrait(it) => errors.push(fault(
            it.impl_token.span,
            "a parameter's type must be known: write a type that derives `Deserialize` and `JsonSchema`",
        )),
        Type::Infer(it) => errors
            .push(fault(it.underscore_token.span, "a parameter's type must be known: write it")),
        other if ty::borrows(other) => errors.push(fault(
            other.span(),
            "a parameter's type cannot have a lifetime: write owned types in it, such as `String`",
        )),
        _ => {}
    }
}

/// Requires that each constraint applies to the parameter's type. For example, a string has no `minimum`.
fn constraints_fit_the_type(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let constraints = &parameter.constraints;
    let mut check = |key: &str, is_there: bool, fits: fn(&Kind) -> bool, takes: &str| {
        let Some(span) = parameter.key(key).filter(|_| is_there) else { return };
        let Some(noun) = parameter.kind.noun() else { return };
        if !fits(&parameter.kind) {
            let hint = counterpart(key, &parameter.kind);
            errors.push(fault(
                span,
                format_args!(
                    "`{key}` is for {takes} and `{}` is {noun}: {hint}",
                    parameter.name.text
                ),
            ));
        }
    };
    let number: fn(&Kind) -> bool = |kind| matches!(kind, Kind::Integer(_) | Kind::Float);
    let text: fn(&Kind) -> bool = |kind| matches!(kind, Kind::Text);
    let list: fn(&Kind) -> bool = |kind| matches!(kind, Kind::List(_));
    let scalar: fn(&Kind) -> bool = |kind| !matches!(kind, Kind::List(_) | Kind::Object);
    check("minimum", constraints.minimum.is_some(), number, "numbers");
    check("maximum", constraints.maximum.is_some(), number, "numbers");
    check("min_length", constraints.min_length.is_some(), text, "strings");
    check("max_length", constraints.max_length.is_some(), text, "strings");
    check("pattern", constraints.pattern.is_some(), text, "strings");
    check("format", constraints.format.is_some(), text, "strings");
    check("enum", constraints.choices.is_some(), scalar, "single values");
    check("min_items", constraints.min_items.is_some(), list, "lists");
    check("max_items", constraints.max_items.is_some(), list, "lists");
}

/// Returns the advice for a constraint that does not apply to the type, for example "write `max_length`" for `maximum`
/// on a string.
fn counterpart(key: &str, kind: &Kind) -> String {
    let end = if key.starts_with("max") { "max" } else { "min" };
    let limits = key.starts_with("min") || key.starts_with("max");
    match kind {
        Kind::Integer(_) | Kind::Float if limits => format!("write `{end}imum`"),
        Kind::Text if limits => format!("write `{end}_length`"),
        Kind::List(_) if limits => format!("write `{end}_items`"),
        Kind::List(_) if key == "enum" => "leave it out, or use a list of a Rust enum".to_owned(),
        _ => "leave it out".to_owned(),
    }
}

/// Requires that no lower bound exceeds its upper bound.
fn ranges_are_not_empty(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let constraints = &parameter.constraints;
    if let (Some(low), Some(high)) = (&constraints.minimum, &constraints.maximum)
        && high.0.is_less_than(low.0)
    {
        errors.push(empty("minimum", low.0, "maximum", high.0, low.span()));
    }
    for (low_key, low, high_key, high) in [
        ("min_length", &constraints.min_length, "max_length", &constraints.max_length),
        ("min_items", &constraints.min_items, "max_items", &constraints.max_items),
    ] {
        if let (Some(low), Some(high)) = (low, high)
            && low.0 > high.0
        {
            errors.push(empty(low_key, low.0, high_key, high.0, low.span()));
        }
    }
}

fn empty(
    low_key: &str,
    low: impl Display,
    high_key: &str,
    high: impl Display,
    span: Span,
) -> darling::Error {
    fault(
        span,
        format_args!(
            "`{low_key}` {low} is greater than `{high_key}` {high}: write a `{low_key}` of {high} or less"
        ),
    )
}

/// Requires that a bound is a value of the parameter's type.
fn bounds_fit_the_type(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let Kind::Integer(integer) = parameter.kind else { return };
    let constraints = &parameter.constraints;
    let mut check = |key: &str, bound: &Option<SpannedValue<Limit>>| {
        let Some(bound) = bound else { return };
        let message = match bound.0 {
            Number::Float(_) => {
                format!(
                    "`{key}` is a fraction and `{}` is a whole number: write a whole number",
                    parameter.name.text
                )
            }
            Number::Int(value) if value < integer.min || value > integer.max => format!(
                "`{key}` is outside of `{}`: write a number from {} to {}",
                integer.name, integer.min, integer.max
            ),
            Number::Int(_) => return,
        };
        errors.push(fault(bound.span(), message));
    };
    check("minimum", &constraints.minimum);
    check("maximum", &constraints.maximum);
}

/// Requires a regular expression that the `regex` crate can compile, because the runtime uses the same crate.
fn pattern_is_valid(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let Some(pattern) = &parameter.constraints.pattern else { return };
    if !matches!(parameter.kind, Kind::Text | Kind::Unknown) {
        return; // `constraints_fit_the_type` reports it.
    }
    if let Err(error) = Regex::new(&pattern.0) {
        let text = error.to_string();
        // The last line is the reason. The lines before it show the pattern.
        let reason = text.lines().last().unwrap_or_default();
        let reason = reason.strip_prefix("error: ").unwrap_or(reason);
        errors.push(fault(
            pattern.span(),
            format_args!(
                "`pattern` is not a regular expression ({reason}): write one that the `regex` crate accepts, such as `^[a-z]+$`"
            ),
        ));
    }
}

/// Requires that the values of `enum` are scalars, differ, fit the type and satisfy the other constraints.
fn choices_are_possible(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let Some(choices) = &parameter.constraints.choices else { return };
    if choices.0.is_empty() {
        errors.push(fault(choices.span(), "`enum` is empty: write the values that are accepted"));
    }
    if matches!(parameter.kind, Kind::List(_) | Kind::Object) {
        return; // `constraints_fit_the_type` reports it.
    }
    let others = Constraints { choices: None, ..parameter.constraints.clone() };
    let mut seen = Vec::new();
    for choice in &choices.0 {
        let text = choice.to_string();
        if matches!(choice.value, Value::List(_)) {
            let form = match parameter.kind {
                Kind::Unknown => "a string, a number or a boolean",
                ref kind => kind.form(),
            };
            errors.push(fault(
                choice.span,
                format_args!(
                    "an `enum` value of `{}` is a list: write {form}",
                    parameter.name.text
                ),
            ));
        } else if seen.contains(&text) {
            errors.push(fault(
                choice.span,
                format_args!("`{text}` is in the `enum` twice: keep one"),
            ));
        } else {
            literal::check_against("an `enum` value", choice, parameter, &others, errors);
        }
        seen.push(text);
    }
}

/// Rejects a default on an `Option`, and requires that it satisfies the parameter's constraints.
fn default_is_possible(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let Some(default) = &parameter.default else { return };
    if parameter.optional {
        let plain = ty::text(parameter.ty)
            .map_or_else(|| "the type without `Option`".to_owned(), |plain| format!("`{plain}`"));
        let option = ty::last_segment(parameter.written);
        errors.push(fault(
            option.map_or(parameter.span, |option| option.ident.span()),
            format_args!(
                "parameter `{}` has a default and is an `Option`, which would never be `None`: write {plain}, or leave `default` out",
                parameter.name.text
            ),
        ));
    } else if let DefaultValue::Literal(literal) = default {
        literal::check("the default", literal, parameter, errors);
    }
}
