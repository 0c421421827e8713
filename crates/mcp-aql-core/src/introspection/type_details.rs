//! Renders the full entry of a type from its shape.

use serde_json::Value;

use crate::redact::without_secrets;
use crate::shape::{
    Kind, Members, ObjectShape, Rest, Shape, Shapes, describe, further_constraints, type_name,
};

/// Renders the full entry of an object type.
pub(super) fn object_type(name: &str, description: Option<&str>, fields: Vec<Members>) -> Members {
    let mut details = Members::new();
    details.put("name", name);
    details.put("kind", "object");
    details.put_some("description", description);
    details.put_list("fields", fields);
    details
}

/// Renders the full entry of a type, and those of the types generated for the variants of a union.
pub(super) fn type_details(name: &str, shape: &Shape, shapes: &Shapes) -> Vec<(String, Members)> {
    let mut details = Members::new();
    let mut more = Vec::new();
    details.put("name", name);
    details.put("kind", "scalar");
    details.put_some("description", shape.description.as_deref().map(prose));
    let resolved = shape.resolve(shapes);
    match &resolved.kind {
        Kind::Object(object) => {
            details.put("kind", "object");
            details.put_list("fields", fields_of(object, shapes));
        }
        Kind::Union(variants) => {
            let members: Vec<_> =
                variants.iter().map(|variant| member(name, variant, shapes, &mut more)).collect();
            details.put("kind", "union");
            details.put("members", members);
        }
        Kind::String if !resolved.checks.allowed.is_empty() => {
            details.put("kind", "enum");
            details.put("values", resolved.checks.allowed.clone());
        }
        _ => {}
    }
    more.insert(0, (name.to_owned(), details));
    more
}

/// Strips a doc comment of parts that only Rust readers need: code samples and sections with
/// headings.
fn prose(description: &str) -> String {
    description
        .lines()
        .take_while(|line| !line.trim_start().starts_with("```") && !line.starts_with("# "))
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// The name of a union's variant. A type is generated for a variant without a name of its own.
fn member(
    union: &str,
    variant: &Shape,
    shapes: &Shapes,
    more: &mut Vec<(String, Members)>,
) -> String {
    let Kind::Object(object) = &variant.kind else {
        return match &variant.kind {
            Kind::String if !variant.checks.allowed.is_empty() => {
                let text: Vec<_> = variant.checks.allowed.iter().map(ToString::to_string).collect();
                text.join(" or ").replace('"', "'")
            }
            _ => type_name(variant, shapes),
        };
    };
    let tag = object
        .fields
        .values()
        .find_map(|field| match field.shape.checks.allowed.as_slice() {
            [Value::String(tag)] => Some(tag.clone()),
            _ => None,
        })
        .or_else(|| object.order.first().cloned())
        .unwrap_or_else(|| "Empty".to_owned());
    let name = format!("{union}{}", pascal_case(&tag));
    more.extend(type_details(&name, variant, shapes));
    name
}

fn fields_of(object: &ObjectShape, shapes: &Shapes) -> Vec<Members> {
    object
        .order
        .iter()
        .filter_map(|name| {
            let field = object.fields.get(name)?;
            let mut info = field_info(name, &field.shape, field.required, shapes);
            let default = field.default.as_ref();
            let default = default.and_then(|it| without_secrets(it, &field.shape, shapes));
            info.put_some("default", default.cloned());
            Some(info)
        })
        .collect()
}

/// Renders a field in the form of a parameter.
fn field_info(name: &str, shape: &Shape, required: bool, shapes: &Shapes) -> Members {
    let mut info = Members::new();
    info.put("name", name);
    // Reserves the places of these members; `describe` fills the first.
    info.put("type", "any");
    info.put("required", required);
    let mut text = shape.description.as_deref().map(prose).unwrap_or_default();
    if let Some(further) = further_constraints(shape, shapes) {
        text = format!("{text} {further}").trim_start().to_owned();
    }
    if let Kind::Object(object) = &shape.kind
        && let Rest::Each(each) = &object.rest
        && object.fields.is_empty()
    {
        let each = type_name(each, shapes);
        text = format!("{text} Values: {each}.").trim_start().to_owned();
    }
    info.put_some("description", (!text.is_empty()).then_some(text));
    describe(shape, shapes, &mut info);
    info.put_some("sensitive", shape.sensitive.then_some(true));
    info
}

/// `due_date` → `DueDate`
fn pascal_case(name: &str) -> String {
    name.split(|each: char| !each.is_ascii_alphanumeric())
        .filter_map(|word| {
            let mut letters = word.chars();
            let first = letters.next()?;
            Some(first.to_ascii_uppercase().to_string() + letters.as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_named_after_their_tag() {
        for (tag, pascal) in
            [("due_date", "DueDate"), ("todo", "Todo"), ("HTTP-error", "HTTPError"), ("_", "")]
        {
            assert_eq!(pascal_case(tag), pascal);
        }
    }
}
