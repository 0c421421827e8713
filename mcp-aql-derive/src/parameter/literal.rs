//! Checks a literal against the type and the constraints of its parameter.

use darling::error::Accumulator;
use mcp_aql_protocol::Format;
use regex::Regex;

use super::attr::Constraints;
use super::model::Parameter;
use crate::support::fault;
use crate::support::format::{NO_DAY, certainly_lacks};
use crate::support::json::{Json, Number, Value};
use crate::support::ty::Kind;
use crate::support::values::Length;

/// Reports a literal that `parameter` does not accept.
///
/// `role` names the literal in the message and includes its article, for example "the default".
pub(crate) fn check(
    role: &str,
    literal: &Json,
    parameter: &Parameter<'_>,
    errors: &mut Accumulator,
) {
    if !(parameter.optional && matches!(literal.value, Value::Null)) {
        check_against(role, literal, parameter, &parameter.constraints, errors);
    }
}

/// Like [`check`], with constraints that differ from the parameter's own.
pub(crate) fn check_against(
    role: &str,
    literal: &Json,
    parameter: &Parameter<'_>,
    constraints: &Constraints,
    errors: &mut Accumulator,
) {
    let name = &parameter.name.text;
    if let Some((part, message)) = misfit(literal, &parameter.kind) {
        let item = if std::ptr::eq(part, literal) { "" } else { "an item of " };
        errors.push(fault(part.span, format_args!("{item}{role} of `{name}` {message}")));
    } else if let Some(message) = violation(literal, constraints) {
        errors.push(fault(literal.span, format_args!("{role} of `{name}` {message}")));
    }
}

/// Returns the part of a literal with the wrong kind, and the error message.
///
/// The part is the literal itself, or the first wrong item of a list.
pub(crate) fn misfit<'a>(literal: &'a Json, kind: &Kind) -> Option<(&'a Json, String)> {
    let fits = match (&literal.value, kind) {
        (_, Kind::Unknown) => true,
        (Value::Number(Number::Int(number)), Kind::Integer(integer)) => {
            if *number < integer.min || *number > integer.max {
                let message = format!(
                    "is outside of `{}`: write a number from {} to {}",
                    integer.name, integer.min, integer.max
                );
                return Some((literal, message));
            }
            true
        }
        (Value::Number(_), Kind::Float)
        | (Value::Bool(_), Kind::Bool)
        | (Value::Text(_), Kind::Text)
        | (Value::Object(_), Kind::Object) => true,
        (Value::List(list), Kind::List(element)) => {
            return list.iter().find_map(|literal| misfit(literal, element));
        }
        _ => false,
    };
    if fits {
        return None;
    }
    Some((literal, format!("is {}: write {}", literal.noun(), kind.form())))
}

/// Returns the error message for the first constraint that a literal violates.
fn violation(literal: &Json, constraints: &Constraints) -> Option<String> {
    if let Some(choices) = &constraints.choices {
        let choices = &choices.0;
        if !choices.iter().any(|choice| choice.to_string() == literal.to_string()) {
            let known: Vec<_> = choices.iter().map(|choice| format!("`{choice}`")).collect();
            return Some(format!("is not in its `enum`: write one of {}", known.join(", ")));
        }
    }
    match &literal.value {
        Value::Number(number) => number_violation(*number, constraints),
        Value::Text(text) => text_violation(text, constraints),
        Value::List(list) => length_violation(
            list.len(),
            "item",
            constraints.min_items.as_ref().map(|it| ("min_items", **it)),
            constraints.max_items.as_ref().map(|it| ("max_items", **it)),
        ),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}

fn number_violation(number: Number, constraints: &Constraints) -> Option<String> {
    if let Some(minimum) = &constraints.minimum
        && number.is_less_than(minimum.0)
    {
        return Some(format!("is below its `minimum`: write {} or more", minimum.0));
    }
    if let Some(maximum) = &constraints.maximum
        && maximum.0.is_less_than(number)
    {
        return Some(format!("is above its `maximum`: write {} or less", maximum.0));
    }
    None
}

fn text_violation(text: &str, constraints: &Constraints) -> Option<String> {
    let length = length_violation(
        text.chars().count(),
        "character",
        constraints.min_length.as_ref().map(|it| ("min_length", **it)),
        constraints.max_length.as_ref().map(|it| ("max_length", **it)),
    );
    if length.is_some() {
        return length;
    }
    if let Some(pattern) = &constraints.pattern
        && Regex::new(&pattern.0).is_ok_and(|regex| !regex.is_match(text))
    {
        return Some(format!(
            "does not match its `pattern`: write a string that matches `{}`",
            pattern.0
        ));
    }
    if let Some(format) = &constraints.format
        && certainly_lacks(**format, text)
    {
        if **format == Format::Date {
            return Some(format!("{NO_DAY} `{}`", format.example()));
        }
        return Some(format!(
            "does not have its `format` `{}`: write it as in `{}`",
            format.as_str(),
            format.example()
        ));
    }
    None
}

fn length_violation(
    length: usize,
    unit: &str,
    minimum: Option<(&str, Length)>,
    maximum: Option<(&str, Length)>,
) -> Option<String> {
    let count = |bound: usize| format!("{bound} {unit}{}", if bound == 1 { "" } else { "s" });
    match (minimum, maximum) {
        (Some((key, minimum)), _) if length < minimum.0 => {
            Some(format!("is shorter than its `{key}`: write {} or more", count(minimum.0)))
        }
        (_, Some((key, maximum))) if length > maximum.0 => {
            Some(format!("is longer than its `{key}`: write {} at most", count(maximum.0)))
        }
        _ => None,
    }
}
