//! Describes shapes for introspection and messages.

use serde_json::Value;

use super::compile::bound_value;
use super::{Checks, Kind, Members, Rest, Shape, Shapes};
use crate::schema::constraint::Bound;

/// Returns the name of a shape's type in introspection and messages. This is a JSON type, or the name of a registered
/// type if it is more specific (REQ-INT-22).
pub fn type_name(shape: &Shape, shapes: &Shapes) -> String {
    match &shape.kind {
        Kind::Any | Kind::Never => "any".to_owned(),
        Kind::Null => "null".to_owned(),
        Kind::Boolean => "boolean".to_owned(),
        Kind::Integer => "integer".to_owned(),
        Kind::Number => "number".to_owned(),
        Kind::String => "string".to_owned(),
        Kind::Array(_) | Kind::Tuple(_) => "array".to_owned(),
        Kind::Object(_) => "object".to_owned(),
        Kind::Union(variants) => {
            let mut names: Vec<_> =
                variants.iter().map(|variant| type_name(variant, shapes)).collect();
            names.dedup();
            names.join(" or ")
        }
        Kind::Named(name) => match &shape.resolve(shapes).kind {
            Kind::Object(_) | Kind::Union(_) | Kind::Named(_) => name.to_string(),
            _ => type_name(shape.resolve(shapes), shapes),
        },
    }
}

/// Returns the name of a type inside a list without names, where no other member can describe it. A list is shown
/// with the type of its items, for example `integer[2]`, and an enum with its name.
pub(crate) fn item_name(shape: &Shape, shapes: &Shapes) -> String {
    const MAX_DEPTH: usize = 6;
    fn at(shape: &Shape, shapes: &Shapes, depth: usize) -> String {
        let target = shape.resolve(shapes);
        match (&shape.kind, &target.kind) {
            (Kind::Named(name), Kind::String) if !target.checks.allowed.is_empty() => {
                name.to_string()
            }
            (_, Kind::Array(items)) if depth > 0 => {
                let exact = target
                    .checks
                    .min_items
                    .filter(|_| target.checks.min_items == target.checks.max_items);
                let count = exact.map(|count| count.to_string()).unwrap_or_default();
                format!("{}[{count}]", at(items, shapes, depth - 1))
            }
            (_, Kind::Tuple(parts)) if depth > 0 => {
                let parts: Vec<_> = parts.iter().map(|part| at(part, shapes, depth - 1)).collect();
                format!("[{}]", parts.join(", "))
            }
            _ => match shape.checks.rule().or_else(|| target.checks.rule()) {
                Some(rule) => format!("{} ({rule})", type_name(shape, shapes)),
                None => type_name(shape, shapes),
            },
        }
    }
    at(shape, shapes, MAX_DEPTH)
}

/// Adds `type` and all constraints of a shape to a parameter's description (REQ-INT-13).
pub fn describe(shape: &Shape, shapes: &Shapes, into: &mut Members) {
    describe_at(shape, shapes, into, 0);
}

/// Describes a shape up to a maximum depth. The limit is needed because a list type may contain itself.
fn describe_at(shape: &Shape, shapes: &Shapes, into: &mut Members, depth: usize) {
    const MAX_DEPTH: usize = 6;
    into.put("type", type_name(shape, shapes));
    let target = shape.resolve(shapes);
    // The parameter's own constraints come last, so that they override those of its type.
    for checks in [&target.checks, &shape.checks] {
        describe_checks(checks, into);
    }
    let items = match &target.kind {
        Kind::Array(items) => Some(items),
        // The protocol has no member for a map, so its values are described like the items of a list.
        Kind::Object(object)
            if object.fields.is_empty() && matches!(shape.kind, Kind::Object(_)) =>
        {
            match &object.rest {
                Rest::Each(values) => Some(values),
                _ => None,
            }
        }
        _ => None,
    };
    if let Some(items) = items
        && !matches!(items.resolve(shapes).kind, Kind::Any)
        && depth < MAX_DEPTH
    {
        let mut inner = Members::new();
        describe_at(items, shapes, &mut inner, depth + 1);
        inner.put_some("description", further_constraints(items, shapes));
        into.put("items", inner);
    }
}

fn describe_checks(checks: &Checks, into: &mut Members) {
    let format = checks.format.map(|format| format.as_str().to_owned());
    into.put_some("enum", (!checks.allowed.is_empty()).then(|| checks.allowed.clone()));
    let minimum = checks.minimum.filter(|low| !(checks.counts && matches!(low, Bound::Int(0))));
    into.put_some("minimum", minimum.map(bound_value).filter(is_telling));
    into.put_some("maximum", checks.maximum.map(bound_value).filter(is_telling));
    into.put_some("minLength", checks.min_length);
    into.put_some("maxLength", checks.max_length);
    into.put_some("pattern", checks.patterns.last().map(regex::Regex::as_str));
    into.put_some("format", format.or_else(|| checks.other_format.clone()));
}

/// Returns `true` if a bound says more than the width of an integer type.
///
/// Other bounds are checked, but not described. These are bounds of 32 bits, the 0 of unsigned types, and bounds
/// beyond ±(2^53 - 1), because JSON parsers do not represent them exactly (REQ-ENC-05).
fn is_telling(value: &Value) -> bool {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let width = [i64::from(i32::MIN), i64::from(i32::MAX), i64::from(u32::MAX)];
    value.as_f64().is_some_and(|number| number.abs() <= SAFE)
        && !value.as_i64().is_some_and(|number| width.contains(&number))
}

/// Returns `true` if a bound says more than the type of the number. Only such bounds are worth mentioning in a
/// message.
pub(super) fn is_telling_bound(checks: &Checks, bound: Bound) -> bool {
    let is_count = checks.counts && matches!(bound, Bound::Int(0));
    !is_count && is_telling(&bound_value(bound))
}

/// Describes the constraints without a member in the protocol's description of parameters, as a sentence. Examples
/// are "1 to 3 items." and "More than 0."
pub fn further_constraints(shape: &Shape, shapes: &Shapes) -> Option<String> {
    let target = shape.resolve(shapes);
    let (own, of_type) = (&shape.checks, &target.checks);
    let range = |least: Option<usize>, most: Option<usize>, noun| {
        let mut text = format!("{} {noun}.", Checks::range(least, most));
        text.get_mut(..1).map(str::make_ascii_uppercase);
        (least.is_some() || most.is_some()).then_some(text)
    };
    let items =
        range(own.min_items.or(of_type.min_items), own.max_items.or(of_type.max_items), "items");
    let members = range(
        own.min_members.or(of_type.min_members),
        own.max_members.or(of_type.max_members),
        "members",
    );
    let items = items.filter(|_| !matches!(target.kind, Kind::Tuple(_)));
    let mut parts: Vec<String> = items.into_iter().chain(members).collect();
    if own.distinct || of_type.distinct {
        parts.push("No item twice.".to_owned());
    }
    match &target.kind {
        Kind::Tuple(items) => {
            let names: Vec<_> = items.iter().map(|item| item_name(item, shapes)).collect();
            parts.push(format!("Exactly {} items: {}.", items.len(), names.join(", ")));
        }
        Kind::Object(object) if !object.keys.is_empty() => {
            let patterns: Vec<_> = object.keys.iter().map(|key| format!("'{key}'")).collect();
            parts.push(format!("Keys match {}.", patterns.join(" or ")));
        }
        _ => {}
    }
    for (words, bound) in [
        ("More than", own.above.or(of_type.above)),
        ("Less than", own.below.or(of_type.below)),
        ("A multiple of", own.multiple_of.or(of_type.multiple_of)),
    ] {
        parts.extend(bound.map(|bound| format!("{words} {}.", bound_value(bound))));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}
