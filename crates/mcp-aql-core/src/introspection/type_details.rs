//! Renders the full entry of a type from its shape.

use serde_json::Value;

use crate::observe::redact::without_secrets;
use crate::schema::shape::{
    Kind, Members, ObjectShape, Rest, Shape, Shapes, describe, further_constraints, item_name,
    type_name,
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

/// Renders the full entry of a type. Objects without a name inside it get generated types, whose entries are
/// included.
pub(super) fn type_details(name: &str, shape: &Shape, shapes: &Shapes) -> Vec<(String, Members)> {
    let mut entries = Entries { shapes, list: Vec::new() };
    entries.add(name, shape);
    entries.list
}

/// Collects the entries of a type and of the types inside it.
struct Entries<'a> {
    shapes: &'a Shapes,
    list: Vec<(String, Members)>,
}

impl Entries<'_> {
    fn add(&mut self, name: &str, shape: &Shape) {
        let place = self.list.len();
        self.list.push((name.to_owned(), Members::new()));
        let mut details = Members::new();
        details.put("name", name);
        details.put("kind", "scalar");
        let mut text = shape.description.as_deref().map(prose).unwrap_or_default();
        let resolved = shape.resolve(self.shapes);
        if let Some(form) = scalar_form(shape, self.shapes) {
            text = format!("{text} Form: {form}.").trim_start().to_owned();
        }
        details.put_some("description", (!text.is_empty()).then_some(text));
        match &resolved.kind {
            Kind::Object(object) => {
                details.put("kind", "object");
                details.put_list("fields", self.fields_of(name, object));
            }
            Kind::Union(variants) => {
                details.put("kind", "union");
                let members = variants.iter().map(|variant| self.member(name, variant));
                details.put("members", members.collect::<Vec<_>>());
            }
            Kind::String if !resolved.checks.allowed.is_empty() => {
                details.put("kind", "enum");
                details.put("values", resolved.checks.allowed.clone());
            }
            _ => {}
        }
        if let Some((_, entry)) = self.list.get_mut(place) {
            *entry = details;
        }
    }

    /// Returns the name of a union's variant. A variant without a name gets a generated type.
    fn member(&mut self, union: &str, variant: &Shape) -> String {
        match &variant.kind {
            Kind::Object(object) => {
                let name = self.free_name(&format!("{union}{}", variant_name(object)));
                self.add(&name, variant);
                name
            }
            Kind::String if !variant.checks.allowed.is_empty() => {
                let text: Vec<_> = variant.checks.allowed.iter().map(ToString::to_string).collect();
                text.join(" or ").replace('"', "'")
            }
            Kind::Named(name) if type_name(variant, self.shapes) != **name => {
                let target = variant.resolve(self.shapes);
                let is_told =
                    target.checks.allowed.is_empty() && scalar_form(target, self.shapes).is_none();
                if is_told { type_name(variant, self.shapes) } else { name.to_string() }
            }
            _ => {
                let variant = self.named(union, variant);
                let kind = type_name(&variant, self.shapes);
                if scalar_form(&variant, self.shapes).is_none() {
                    return kind;
                }
                let name = self.free_name(&format!("{union}{}", pascal_case(&kind)));
                self.add(&name, &variant);
                name
            }
        }
    }

    /// Returns a name used neither by an entry nor by a type of the author. Appends a number if necessary.
    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &String| {
            !self.shapes.contains_key(name.as_str())
                && self.list.iter().all(|(known, _)| known != name)
        };
        let numbers = (2..).map(|number: u32| format!("{name}{number}"));
        std::iter::once(name.to_owned()).chain(numbers).find(is_free).unwrap_or_default()
    }

    fn fields_of(&mut self, owner: &str, object: &ObjectShape) -> Vec<Members> {
        let mut fields = Vec::new();
        for name in &object.order {
            let Some(field) = object.fields.get(name) else { continue };
            let shape = self.named(&format!("{owner}{}", pascal_case(name)), &field.shape);
            let mut info = field_info(name, &shape, field.required, self.shapes);
            let default = field.default.as_ref();
            let default = default.and_then(|it| without_secrets(it, &field.shape, self.shapes));
            info.put_some("default", default.cloned());
            fields.push(info);
        }
        fields
    }

    /// Replaces each object with fields by a reference to a generated type, and adds the entries of these types.
    fn named(&mut self, name: &str, shape: &Shape) -> Shape {
        let kind = match &shape.kind {
            Kind::Object(object) if !object.order.is_empty() => {
                let name = self.free_name(name);
                self.add(&name, shape);
                Kind::Named(name.into())
            }
            Kind::Object(object) => match &object.rest {
                Rest::Each(each) => {
                    let each = Rest::Each(Box::new(self.named(name, each)));
                    Kind::Object(Box::new(ObjectShape { rest: each, ..(**object).clone() }))
                }
                _ => return shape.clone(),
            },
            Kind::Array(items) => Kind::Array(Box::new(self.named(name, items))),
            Kind::Tuple(parts) => {
                Kind::Tuple(parts.iter().map(|part| self.named(name, part)).collect())
            }
            Kind::Union(parts) => {
                Kind::Union(parts.iter().map(|part| self.named(name, part)).collect())
            }
            _ => return shape.clone(),
        };
        Shape { kind, ..shape.clone() }
    }
}

/// Returns the form of a list or of a value with constraints. The entry of a type has no other member for it. Returns
/// `None` if the entry already shows everything.
fn scalar_form(shape: &Shape, shapes: &Shapes) -> Option<String> {
    let target = shape.resolve(shapes);
    let is_told = match target.kind {
        Kind::Object(_) | Kind::Union(_) => true,
        Kind::String => !target.checks.allowed.is_empty(),
        _ => false,
    };
    let form = Some(item_name(target, shapes)).filter(|_| !is_told)?;
    (form != type_name(target, shapes)).then_some(form)
}

/// Names a variant after its tags, or otherwise after its first field.
fn variant_name(object: &ObjectShape) -> String {
    let tag = |name: &String| match object.fields.get(name)?.shape.checks.allowed.as_slice() {
        [Value::String(tag)] => Some(pascal_case(tag)),
        _ => None,
    };
    let tags: String = object.order.iter().filter_map(tag).collect();
    match (tags.is_empty(), object.order.first()) {
        (false, _) => tags,
        (true, Some(first)) => pascal_case(first),
        (true, None) => "Empty".to_owned(),
    }
}

/// Removes code samples and everything from the first heading on from a doc comment. Only Rust developers need them.
fn prose(description: &str) -> String {
    description
        .lines()
        .take_while(|line| !line.trim_start().starts_with("```") && !line.starts_with("# "))
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// Renders a field in the same form as a parameter.
fn field_info(name: &str, shape: &Shape, required: bool, shapes: &Shapes) -> Members {
    let mut info = Members::new();
    info.put("name", name);
    // `put` keeps the order of members. The type is inserted here so that it comes second; `describe` sets its value.
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

/// Converts `due_date` to `DueDate`.
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
