//! Explains why an object does not fit any variant of a union.

use std::collections::BTreeSet;

use mcp_aql_protocol::probable_parameter;
use serde_json::{Map, Value};

use super::faults::{FaultKind, Faults, Hint, Path};
use super::sketch::sketch;
use super::{FieldShape, Kind, ObjectShape, Rest, Shape, Shapes};
use crate::vocab::plain_value;

/// Returns the tags of a variant: its required constant fields.
pub(super) fn tags(object: &ObjectShape) -> impl Iterator<Item = (&str, &Value)> {
    object.fields.iter().filter_map(|(name, field)| match field.shape.checks.allowed.as_slice() {
        [only] if field.required => Some((name.as_str(), only)),
        _ => None,
    })
}

/// A variant of a union that accepts objects, and its object shape.
pub(super) type Variant<'a> = (&'a Shape, &'a ObjectShape);

/// Reports why an object does not fit any variant. Either its tag is missing or wrong, or the violations are those of
/// the most similar variant.
pub(super) fn explain(
    union: &Shape,
    mut variants: Vec<Variant<'_>>,
    fields: &Map<String, Value>,
    path: Path<'_>,
    shapes: &Shapes,
    faults: &mut Faults,
) {
    // The first tag may leave several variants. A second one distinguishes them.
    while let Some(tag) = distinguishing_tag(&variants) {
        let is_meant = |(_, object): &Variant<'_>| {
            tag_of(object, tag).is_some_and(|it| fields.get(tag) == Some(it))
        };
        if !variants.iter().any(is_meant) {
            return push_tag(tag, &variants, fields, (path, shapes), faults);
        }
        variants.retain(is_meant);
    }
    if let Some(names) = wrappers(&variants) {
        return push_wrapper(&names, &variants, (fields, path), shapes, faults);
    }
    match most_similar(&variants, fields) {
        Some((variant, _)) => variant.check(&Value::Object(fields.clone()), path, shapes, faults),
        None => push_forms(union, path, shapes, faults),
    }
}

pub(super) fn push_forms(union: &Shape, path: Path<'_>, shapes: &Shapes, faults: &mut Faults) {
    faults.push(path, forms_fault(union, shapes));
}

pub(super) fn forms_fault(union: &Shape, shapes: &Shapes) -> FaultKind {
    let expectation = format!("must have one of these forms: {}", sketch(union, shapes));
    FaultKind::Value { expectation }
}

/// Returns the name of a tag that all variants have, with a different value in at least one of them.
fn distinguishing_tag<'a>(variants: &[Variant<'a>]) -> Option<&'a str> {
    let (first, rest) = variants.split_first()?;
    let names = tags(first.1);
    let values = |name| rest.iter().map(move |(_, object)| tag_of(object, name));
    names
        .filter(|(name, _)| values(name).all(|value| value.is_some()))
        .find(|(name, first)| values(name).any(|value| value != Some(first)))
        .map(|(name, _)| name)
}

/// Returns the value of a tag.
fn tag_of<'a>(object: &'a ObjectShape, tag: &str) -> Option<&'a Value> {
    tags(object).find(|(name, _)| *name == tag).map(|(_, value)| value)
}

/// Returns the names of the variants, if each one is an object with one member named after the variant.
fn wrappers<'a>(variants: &[Variant<'a>]) -> Option<Vec<&'a str>> {
    let name = |(_, object): &Variant<'a>| match object.order.as_slice() {
        [only] if matches!(object.rest, Rest::Closed) => Some(only.as_str()),
        _ => None,
    };
    let names: Option<Vec<_>> = variants.iter().map(name).collect();
    let distinct: BTreeSet<_> = names.iter().flatten().collect();
    let is_distinct = distinct.len() == variants.len();
    names.filter(|_| is_distinct)
}

/// Reports a missing or wrong tag. Suggests the variant that the other fields belong to.
fn push_tag(
    tag: &str,
    variants: &[Variant<'_>],
    fields: &Map<String, Value>,
    (path, shapes): (Path<'_>, &Shapes),
    faults: &mut Faults,
) {
    let tag_of = |object: &ObjectShape| tag_of(object, tag).cloned();
    let text = |value: Value| plain_value(&value);
    let mut values: Vec<_> =
        variants.iter().filter_map(|(_, object)| tag_of(object)).map(text).collect();
    values.dedup();
    let rest = fields.iter().filter(|(name, _)| *name != tag);
    let rest: Map<_, _> = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
    let sent = fields.get(tag).and_then(Value::as_str);
    let near = sent.and_then(|sent| probable_parameter(sent, values.iter().map(String::as_str)));
    // Finds the only variant that accepts the other fields.
    let fitting = || {
        let mut fitting = variants.iter().filter_map(|(shape, object)| {
            let mut tagged = rest.clone();
            let value = tag_of(object)?;
            tagged.insert(tag.to_owned(), value.clone());
            let tagged = Value::Object(tagged);
            faults.fits(|faults| shape.check(&tagged, path, shapes, faults)).then_some(value)
        });
        let first = fitting.next()?;
        fitting.all(|other| other == first).then(|| text(first))
    };
    let near = near.map(str::to_owned).or_else(fitting);
    let meant =
        near.or_else(|| most_similar(variants, &rest).and_then(|(_, it)| tag_of(it)).map(text));
    // Unions without tags have the form `{ door: { … } }`.
    let wrapper = || values.iter().find(|value| fields.contains_key(*value)).cloned();
    let mut list = format!("one of: {}", values.join(", "));
    match meant.or_else(wrapper) {
        Some(meant) => list.push_str(&format!(". Did you mean '{meant}'?")),
        None => {
            let forms: Vec<_> = variants.iter().map(|(shape, _)| sketch(shape, shapes)).collect();
            list.push_str(&format!(". Send '{path}' as {}", forms.join(" or ")));
        }
    }
    let at = Path::Field(&path, tag);
    match fields.get(tag) {
        Some(_) => {
            faults.push(at, FaultKind::Value { expectation: format!("must be {list}") });
        }
        None => {
            faults.push(at, FaultKind::Missing { expected: format!("string, {list}") });
            push_unknown(variants, (tag, &values), (fields, path), faults);
        }
    }
}

/// Reports the fields that no variant has. One of them may be the misspelled tag.
fn push_unknown(
    variants: &[Variant<'_>],
    (tag, tags): (&str, &[String]),
    (fields, path): (&Map<String, Value>, Path<'_>),
    faults: &mut Faults,
) {
    if variants.iter().any(|(_, object)| !matches!(object.rest, Rest::Closed)) {
        return;
    }
    let mut names: Vec<&str> = Vec::new();
    for (_, object) in variants {
        names.extend(object.order.iter().map(String::as_str));
    }
    names.sort_unstable();
    names.dedup();
    for (name, value) in fields.iter().filter(|(name, _)| !names.contains(&name.as_str())) {
        if faults.is_full() {
            return;
        }
        let is_known = |name: &String| names.contains(&name.as_str());
        let is_around =
            value.as_object().is_some_and(|it| !it.is_empty() && it.keys().all(is_known));
        let missing = names.iter().copied().filter(|known| !fields.contains_key(*known));
        // A field with another name but the value of a tag is the tag.
        let is_tag = value.as_str().is_some_and(|text| tags.iter().any(|tag| tag == text));
        let hint = if is_tag { Some(tag) } else { probable_parameter(name, missing) };
        let valid = names.iter().map(|name| Path::Field(&path, name).to_string()).collect();
        let kind = match is_around {
            true => FaultKind::Unknown { name: name.clone(), valid, hint: Hint::Around },
            false => FaultKind::unknown(name, valid, hint),
        };
        faults.push(Path::Field(&path, name), kind);
    }
}

/// Reports an object that should have exactly one member, named after a variant.
fn push_wrapper(
    names: &[&str],
    variants: &[Variant<'_>],
    (fields, path): (&Map<String, Value>, Path<'_>),
    shapes: &Shapes,
    faults: &mut Faults,
) {
    if let Some((sent, _)) = fields.iter().next().filter(|_| fields.len() == 1)
        && let Some(near) = probable_parameter(sent, names.iter().copied())
    {
        let valid = names.iter().map(|name| Path::Field(&path, name).to_string()).collect();
        let kind = FaultKind::unknown(sent, valid, Some(near));
        return faults.push(Path::Field(&path, sent), kind);
    }
    let content = |(_, object): &Variant<'_>| {
        let field = object.order.first().and_then(|name| object.fields.get(name))?;
        match &field.shape.resolve(shapes).kind {
            Kind::Object(inner) => Some(score(inner, fields)),
            _ => None,
        }
    };
    let scored: Vec<_> = variants.iter().map(|each| content(each).unwrap_or(0)).collect();
    let meant = best(&scored).and_then(|place| names.get(place));
    let mut expectation = format!("must be an object with exactly one of: {}", names.join(", "));
    // Show the form of the probably intended variant, or of all variants.
    let shown: Vec<_> = variants
        .iter()
        .zip(names)
        .filter(|(_, name)| meant.is_none_or(|meant| meant == *name))
        .map(|((shape, _), _)| sketch(shape, shapes))
        .collect();
    expectation.push_str(&format!(". Send {}", shown.join(" or ")));
    faults.push(path, FaultKind::Value { expectation });
}

/// Returns the variant that shares more fields with an object than every other variant.
fn most_similar<'a>(variants: &[Variant<'a>], fields: &Map<String, Value>) -> Option<Variant<'a>> {
    let scores: Vec<_> = variants.iter().map(|(_, object)| score(object, fields)).collect();
    variants.get(best(&scores)?).copied()
}

/// Returns the index of the highest score, if it is above zero and unique.
fn best(scores: &[usize]) -> Option<usize> {
    let most = scores.iter().copied().max().filter(|most| *most > 0)?;
    let mut places = scores.iter().enumerate().filter(|(_, score)| **score == most);
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place)
}

/// Computes the similarity of a variant and an object. Fields with the same name count most. Fields with a similar
/// name, or with any name that the variant allows, count less.
///
/// If two variants are equal, the one that lacks fewer required fields is more similar, and then the one that allows
/// any name.
fn score(variant: &ObjectShape, fields: &Map<String, Value>) -> usize {
    const MAX_MISSING: usize = 63;
    let allows_any = matches!(variant.rest, Rest::Each(_));
    let known = fields.keys().filter(|name| variant.fields.contains_key(*name)).count();
    let similar = fields
        .keys()
        .filter(|name| !variant.fields.contains_key(*name))
        .filter(|name| {
            let names = variant.order.iter().map(String::as_str);
            allows_any || probable_parameter(name, names).is_some()
        })
        .count();
    let is_missing =
        |(name, field): &(&String, &FieldShape)| field.required && !fields.contains_key(*name);
    let missing = variant.fields.iter().filter(is_missing).count().min(MAX_MISSING);
    match known * 2 + similar {
        0 => 0,
        score => (score * (MAX_MISSING + 1) - missing) * 2 + usize::from(allows_any),
    }
}
