//! Checks values against unions.

use mcp_aql_protocol::nearest_name;
use serde_json::Value;

use super::faults::{FaultKind, Faults, Path};
use super::sketch::sketch;
use super::variants::{explain, forms_fault, push_forms, tags};
use super::{Kind, Rest, Shape, Shapes, type_name};
use crate::text::parsed_json;

impl Shape {
    /// Checks a value against a union. The value fits if one variant accepts it.
    ///
    /// Otherwise, the reported violations are those of one variant. It is selected by the tags of the value, or by
    /// its JSON type.
    pub(super) fn check_union(
        &self,
        variants: &[Self],
        value: &Value,
        path: Path<'_>,
        shapes: &Shapes,
        faults: &mut Faults,
    ) {
        let mut all = Vec::with_capacity(variants.len());
        add_variants(variants, shapes, MAX_UNIONS, &mut all);
        let mut named = all.iter().filter(|variant| variant.resolve(shapes).is_named_by(value));
        if let (Some(only), None) = (named.next(), named.next()) {
            return check_named(only, &all, (value, path), shapes, faults);
        }
        let fitting: Vec<_> =
            all.iter().copied().filter(|variant| variant.has_type_of(value, shapes)).collect();
        let several = match fitting.as_slice() {
            [] => return self.push_type(value, path, shapes, faults),
            [only] => {
                let before = faults.count();
                only.check(value, path, shapes, faults);
                if faults.count() > before
                    && !faults.is_trial()
                    && !faults.is_exhausted()
                    && let Some(kind) = other_form(self, &all, value, path, shapes)
                {
                    faults.replace_from(before, path, kind);
                }
                return;
            }
            several => several,
        };
        for variant in several {
            let fits = faults.fits(|faults| variant.check(value, path, shapes, faults));
            if fits || faults.is_exhausted() {
                return;
            }
        }
        if faults.is_trial() {
            return faults.push_with(path, || FaultKind::Value { expectation: String::new() });
        }
        if let Some(kind) = other_form(self, &all, value, path, shapes) {
            return faults.push(path, kind);
        }
        let objects: Vec<_> = several
            .iter()
            .filter_map(|variant| match &variant.resolve(shapes).kind {
                Kind::Object(object) => Some((*variant, &**object)),
                _ => None,
            })
            .collect();
        match value {
            Value::Object(fields) if objects.len() == several.len() => {
                explain(self, objects, fields, path, shapes, faults);
            }
            _ => push_forms(self, path, shapes, faults),
        }
    }

    /// Returns `true` if the value has the tags of this variant. For a variant without tags, returns `true` if the
    /// value has its only field. Tags are constant fields.
    fn is_named_by(&self, value: &Value) -> bool {
        let (Kind::Object(object), Value::Object(fields)) = (&self.kind, value) else {
            return false;
        };
        let mut tags = tags(object).peekable();
        if tags.peek().is_none() {
            return match object.order.as_slice() {
                [only] => fields.contains_key(only),
                _ => false,
            };
        }
        tags.all(|(name, tag)| fields.get(name).is_some_and(|value| value == tag))
    }
}

/// Checks the variant named by a value. Another variant may still accept the value, if it has the same members but no
/// tag.
fn check_named(
    named: &Shape,
    all: &[&Shape],
    (value, path): (&Value, Path<'_>),
    shapes: &Shapes,
    faults: &mut Faults,
) {
    let before = faults.count();
    named.check(value, path, shapes, faults);
    if faults.count() == before || faults.is_exhausted() {
        return;
    }
    let mut others = all.iter().filter(|other| !std::ptr::eq(**other, named));
    let fits_another = others.any(|other| {
        other.has_type_of(value, shapes)
            && faults.fits(|faults| other.check(value, path, shapes, faults))
    });
    if fits_another {
        faults.forget_from(before);
    }
}

/// Maximum depth of unions inside unions. The limit is needed because a union may contain itself.
pub(super) const MAX_UNIONS: usize = 8;

/// Adds the variants of a union, including those of nested unions.
pub(super) fn add_variants<'a>(
    variants: &'a [Shape],
    shapes: &'a Shapes,
    depth: usize,
    all: &mut Vec<&'a Shape>,
) {
    for variant in variants {
        match &variant.resolve(shapes).kind {
            Kind::Union(inner) if depth > 0 => add_variants(inner, shapes, depth - 1, all),
            _ => all.push(variant),
        }
    }
}

/// Describes a value that names a variant in the form of another kind of variant: a string instead of an object, or
/// an object around a string. Such a value does not have any form of the union.
fn other_form(
    union: &Shape,
    variants: &[&Shape],
    value: &Value,
    path: Path<'_>,
    shapes: &Shapes,
) -> Option<FaultKind> {
    match value {
        Value::String(text) => text_in_place_of_object(union, variants, text, path, shapes),
        Value::Object(fields) if fields.len() == 1 => {
            let (name, inner) = fields.iter().next()?;
            if variants.iter().any(|variant| only_member(variant, shapes) == Some(name)) {
                return None;
            }
            let allowed = |variant: &&Shape| variant.resolve(shapes).checks.allowed.clone();
            if variants.iter().flat_map(allowed).any(|it| it.as_str() == Some(name)) {
                let expectation = format!("must be a string. Send '{name}'");
                return Some(FaultKind::Value { expectation });
            }
            let variant = accepting(variants, inner, path, shapes).filter(|_| inner.is_string())?;
            Some(FaultKind::Type {
                expected: type_name(variant, shapes),
                actual: "object",
                hint: Some("Send the value alone, without an object".to_owned()),
            })
        }
        _ => None,
    }
}

fn text_in_place_of_object(
    union: &Shape,
    variants: &[&Shape],
    text: &str,
    path: Path<'_>,
    shapes: &Shapes,
) -> Option<FaultKind> {
    if let Some(variant) =
        parsed_json(text).and_then(|value| accepting(variants, &value, path, shapes))
    {
        return Some(FaultKind::Type {
            expected: type_name(variant, shapes),
            actual: "string",
            hint: Some("Send it as JSON, not as a string".to_owned()),
        });
    }
    let is_named = |variant: &&&Shape| only_member(variant, shapes).is_some_and(|it| it == text);
    if let Some(variant) = variants.iter().find(is_named) {
        let form = sketch(variant, shapes);
        let expectation = format!("must be an object with '{text}'. Send {form}");
        return Some(FaultKind::Value { expectation });
    }
    let texts = variants.iter().flat_map(|it| &it.resolve(shapes).checks.allowed);
    let is_near = nearest_name(text, texts.filter_map(Value::as_str)).is_some();
    let has_objects = variants.iter().any(|variant| only_member(variant, shapes).is_some());
    (has_objects && !is_near).then(|| forms_fault(union, shapes))
}

/// Returns the first variant that accepts a value.
fn accepting<'a>(
    variants: &[&'a Shape],
    value: &Value,
    path: Path<'_>,
    shapes: &Shapes,
) -> Option<&'a Shape> {
    variants.iter().copied().find(|variant| Faults::accepts(variant, value, path, shapes))
}

/// Returns the name of the only member, if the objects of a variant have exactly one.
fn only_member<'a>(variant: &'a Shape, shapes: &'a Shapes) -> Option<&'a String> {
    match &variant.resolve(shapes).kind {
        Kind::Object(object) => match object.order.as_slice() {
            [only] if matches!(object.rest, Rest::Closed) => Some(only),
            _ => None,
        },
        _ => None,
    }
}
