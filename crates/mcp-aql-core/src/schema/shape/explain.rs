//! Explains violations: describes constraints, and finds what the caller probably meant.

use mcp_aql_protocol::{nearest_name, path_parts, probable_parameter, snake_case};
use serde_json::{Map, Value};

use super::describe::is_telling_bound;
use super::faults::{FaultKind, Hint, Path};
use super::misplaced_field::only_object_with_field;
use super::{Checks, Kind, ObjectShape, Rest, Shapes};
use crate::schema::constraint::Bound;
use crate::text::clean;
use crate::vocab::plain_value;

/// Strings of this length are common. A message need not mention such a maximum length, or a longer one.
const USUAL_LENGTH: usize = 20;

/// Returns `true` if a map has been wrapped in another object: its only value is an object with the map's values.
pub(super) fn is_around_map(
    object: &ObjectShape,
    fields: &Map<String, Value>,
    value: &Value,
    shapes: &Shapes,
) -> bool {
    let each = match &object.rest {
        Rest::Each(each) => Some(&**each),
        _ if object.keys.is_empty() => None,
        _ => object.others.first(),
    };
    let (Some(each), Value::Object(members), 1) = (each, value, fields.len()) else { return false };
    object.fields.is_empty()
        && !members.is_empty()
        && !each.has_type_of(value, shapes)
        && members
            .iter()
            .all(|(name, value)| each.has_type_of(value, shapes) && !object.refuses_key(name))
}

/// Describes the violation of a map's key.
pub(super) fn key_fault(object: &ObjectShape, name: &str) -> FaultKind {
    let patterns: Vec<_> = object.keys.iter().map(|key| format!("'{key}'")).collect();
    let key = clean(name);
    let rule = patterns.join(" or ");
    FaultKind::Value { expectation: format!("has the key '{key}', but keys must match {rule}") }
}

pub(super) fn unknown_field(
    object: &ObjectShape,
    (name, value): (&str, &Value),
    path: Path<'_>,
    sent: &Map<String, Value>,
    shapes: &Shapes,
) -> FaultKind {
    let rules = object.merge.as_ref();
    if rules.is_some_and(|rules| rules.read_only.contains(&name)) {
        return FaultKind::ReadOnly;
    }
    let names = || object.order.iter().map(String::as_str);
    let hint = if rules.is_some_and(|rules| rules.identifiers.contains(&name)) {
        Hint::Identifier
    } else if is_around(object, value) {
        Hint::Around
    } else if let Some(parts) = path_of_field(object, name, shapes) {
        Hint::Path(parts)
    } else if let Some(path) = only_object_with_field(object, name, shapes) {
        Hint::Inside(path)
    } else {
        // A field that the caller did not send is more probable.
        let absent = names().filter(|name| !sent.contains_key(*name));
        probable_field(name, absent)
            .or_else(|| nearest_name(name, names()))
            .map_or(Hint::None, |near| Hint::Name(near.to_owned()))
    };
    let valid = names().map(|name| Path::Field(&path, name).to_string()).collect();
    FaultKind::Unknown { name: name.to_owned(), valid, hint }
}

/// Splits a name into its parts if it is the path of a field inside an object, for example `place.floor`.
fn path_of_field(object: &ObjectShape, name: &str, shapes: &Shapes) -> Option<Vec<String>> {
    let parts: Vec<_> = path_parts(name)?.into_iter().map(str::to_owned).collect();
    let (last, around) = parts.split_last()?;
    let inner = around.iter().try_fold(object, |object, part| {
        match &object.fields.get(part)?.shape.resolve(shapes).kind {
            Kind::Object(inner) => Some(&**inner),
            _ => None,
        }
    })?;
    inner.fields.contains_key(last).then_some(parts)
}

/// Returns the probably intended field. It has the same name in another case, or a similar name.
fn probable_field<'a>(
    name: &str,
    names: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let snake = snake_case(name);
    let same = names.clone().into_iter().find(|known| snake_case(known) == snake);
    same.or_else(|| probable_parameter(name, names))
}

/// Returns `true` if a value is an object with the fields of the surrounding object, and therefore one level too
/// deep.
fn is_around(object: &ObjectShape, value: &Value) -> bool {
    value.as_object().is_some_and(|members| {
        !members.is_empty() && members.keys().all(|name| object.fields.contains_key(name))
    })
}

impl Checks {
    /// Returns the allowed values as strings, if they are listed.
    pub(crate) fn allowed_values(&self) -> Vec<String> {
        self.allowed.iter().map(plain_value).collect()
    }

    /// Formats a range: `1 to 200`, `1 or more`, `up to 20`.
    pub(super) fn range(least: Option<usize>, most: Option<usize>) -> String {
        match (least, most) {
            (Some(least), Some(most)) if least == most => format!("exactly {least}"),
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("{least} or more"),
            (None, Some(most)) => format!("up to {most}"),
            (None, None) => "any number of".to_owned(),
        }
    }

    pub(super) fn must_be_one(&self, value: &Value) -> String {
        let shown = self.allowed_values();
        let mut text = format!("must be one of: {}", shown.join(", "));
        let mut candidates = self.allowed.iter().filter_map(Value::as_str);
        let near = |text: &str| {
            // `In Progress` is a closer match for `in_progress` than the edit distance shows.
            let snake = snake_case(text);
            let same = candidates.clone().find(|known| snake_case(known) == snake);
            same.or_else(|| nearest_name(text, candidates.by_ref()))
        };
        if let Some(near) = value.as_str().and_then(near) {
            text.push_str(&format!(". Did you mean '{near}'?"));
        }
        text
    }

    /// Formats the range of a number from the bounds selected by `shown`: `1 to 5`, `3 or more`.
    pub(super) fn numbers(&self, shown: impl Fn(Bound) -> bool) -> String {
        let [minimum, above, maximum, below] = [self.minimum, self.above, self.maximum, self.below]
            .map(|bound| bound.filter(|bound| shown(*bound)));
        let mut parts = Vec::new();
        for (text, bound) in
            [("", minimum), ("more than ", above), ("up to ", maximum), ("less than ", below)]
        {
            if let Some(bound) = bound {
                let or_more = if text.is_empty() && maximum.is_none() { " or more" } else { "" };
                let joined = if text == "up to " && minimum.is_some() { "to " } else { text };
                parts.push(format!("{joined}{}{or_more}", plain_bound(bound)));
            }
        }
        parts.join(" ")
    }

    /// Returns the constraint that callers do not expect, for messages such as "Expected: integer, 1 to 5". Ordinary
    /// lengths of strings are left out.
    pub(crate) fn rule(&self) -> Option<String> {
        if !self.allowed.is_empty() {
            return Some(format!("one of: {}", self.allowed_values().join(", ")));
        }
        let numbers = self.numbers(|bound| is_telling_bound(self, bound));
        let pattern = self.patterns.first().map(|pattern| format!("matching '{pattern}'"));
        let format = self.format.map(|format| format!("such as '{}'", format.example()));
        let items = self.min_items.filter(|least| *least > 0);
        let items = items.map(|_| format!("{} items", Self::range(self.min_items, self.max_items)));
        let numbers = Some(numbers).filter(|numbers| !numbers.is_empty());
        let parts: Vec<_> = [numbers, self.unusual_length(), pattern, format, items]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns the length of strings if callers do not expect it.
    pub(super) fn unusual_length(&self) -> Option<String> {
        let is_unusual = self.min_length.is_some_and(|least| least > 1)
            || self.max_length.is_some_and(|most| most < USUAL_LENGTH);
        is_unusual.then(|| format!("{} characters", Self::range(self.min_length, self.max_length)))
    }
}

pub(super) fn plain_bound(bound: Bound) -> String {
    match bound {
        Bound::Int(number) => number.to_string(),
        Bound::Float(number) => number.to_string(),
    }
}
