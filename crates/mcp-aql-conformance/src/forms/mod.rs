//! Declarative forms of JSON values: required and optional members with their types. Unlike JSON schemas,
//! objects are closed by default, like the protocol's forms.

mod introspection;
#[cfg(test)]
mod schema;

use std::fmt;

use serde_json::Value;

use crate::cases::{Cases, Finding};

pub(crate) use self::introspection::{
    AGGREGATION_SUPPORT, BARE_FAILURE, COMPUTED_FIELDS, LIFECYCLE, LISTED_OPERATION, OPERATION,
    PARAMETER, PROTOCOL, RELATIONSHIP_CAPABILITIES, TYPE_INFO, type_details,
};

/// The maximum number of faults that a message lists.
const MAX_FAULTS: usize = 5;

/// The form of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// Any value, including null.
    Any,
    /// `true` or `false`.
    Flag,
    /// One boolean.
    Just(bool),
    /// A null.
    Null,
    /// A number.
    Number,
    /// A number of at least this value.
    AtLeast(f64),
    /// An integer of at least this value.
    Whole(u64),
    /// A string.
    Text,
    /// A string that is not empty.
    Word,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A string that satisfies the predicate, with a description.
    That(fn(&str) -> bool, &'static str),
    /// A list of items of this form.
    List(&'static Form),
    /// A non-empty list of items of this form.
    Some(&'static Form),
    /// An object with these members and no others.
    Object(&'static [Member]),
    /// An object with these members, and any others.
    Open(&'static [Member]),
    /// An object with any names and members of this form.
    Each(&'static Form),
    /// One of these forms.
    Either(&'static [Form]),
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    name: &'static str,
    form: Form,
    is_required: bool,
}

/// A required member.
pub(crate) const fn must(name: &'static str, form: Form) -> Member {
    Member { name, form, is_required: true }
}

/// An optional member.
pub(crate) const fn may(name: &'static str, form: Form) -> Member {
    Member { name, form, is_required: false }
}

/// A deviation of a value from its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The JSON pointer, such as `/parameters/0/type`; empty for the value itself.
    pub(crate) path: String,
    /// The expected form.
    pub(crate) expected: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(formatter, "the value: {}", self.expected),
            path => write!(formatter, "`{path}`: {}", self.expected),
        }
    }
}

impl Form {
    /// Returns all deviations in the order of the value.
    pub(crate) fn faults(&self, value: &Value) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.look(value, "", &mut faults);
        faults
    }

    /// Whether a value has this form.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        self.faults(value).is_empty()
    }

    /// Counts a passed case if the value has this form, and adds a finding otherwise.
    pub(crate) fn check(
        &self,
        value: &Value,
        cases: &Cases,
        finding: impl FnOnce(String) -> Finding,
    ) -> bool {
        let faults = self.faults(value);
        cases.expect(faults.is_empty(), || finding(describe_faults(&faults)))
    }

    fn look(&self, value: &Value, path: &str, faults: &mut Vec<Fault>) {
        let holds = match self {
            Self::Any => true,
            Self::Flag => value.is_boolean(),
            Self::Just(flag) => value.as_bool() == Some(*flag),
            Self::Null => value.is_null(),
            Self::Number => value.is_number(),
            Self::AtLeast(least) => value.as_f64().is_some_and(|number| number >= *least),
            Self::Whole(least) => whole(value).is_some_and(|number| number >= *least),
            Self::Text => value.is_string(),
            Self::Word => value.as_str().is_some_and(|text| !text.trim().is_empty()),
            Self::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Self::That(holds, _) => value.as_str().is_some_and(holds),
            Self::List(form) | Self::Some(form) => match value.as_array() {
                Some(items) => {
                    for (index, item) in items.iter().enumerate() {
                        form.look(item, &format!("{path}/{index}"), faults);
                    }
                    !items.is_empty() || matches!(self, Self::List(_))
                }
                None => false,
            },
            Self::Each(form) => match value.as_object() {
                Some(members) => {
                    for (name, member) in members {
                        form.look(member, &format!("{path}/{name}"), faults);
                    }
                    true
                }
                None => false,
            },
            Self::Object(members) => look_at_members(members, true, value, path, faults),
            Self::Open(members) => look_at_members(members, false, value, path, faults),
            Self::Either(forms) => forms.iter().any(|form| form.fits(value)),
        };
        if !holds {
            faults.push(Fault { path: path.to_owned(), expected: self.to_string() });
        }
    }
}

/// Checks the members of an object. Returns whether the value is an object.
fn look_at_members(
    members: &[Member],
    is_closed: bool,
    value: &Value,
    path: &str,
    faults: &mut Vec<Fault>,
) -> bool {
    let Some(object) = value.as_object() else { return false };
    for member in members {
        let path = format!("{path}/{}", member.name);
        match object.get(member.name) {
            Some(value) => member.form.look(value, &path, faults),
            None if member.is_required => {
                let expected = format!("is missing; {}", member.form);
                faults.push(Fault { path, expected });
            }
            None => {}
        }
    }
    if is_closed {
        for name in object.keys() {
            if !members.iter().any(|member| member.name == name) {
                let expected = "a form without this member".to_owned();
                faults.push(Fault { path: format!("{path}/{name}"), expected });
            }
        }
    }
    true
}

/// Converts a non-negative integer, including `3.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
    })
}

/// Describes the faults in a message.
pub(crate) fn describe_faults(faults: &[Fault]) -> String {
    let mut text =
        faults.iter().take(MAX_FAULTS).map(Fault::to_string).collect::<Vec<_>>().join("; ");
    if faults.len() > MAX_FAULTS {
        text.push_str(&format!("; and {} more", faults.len() - MAX_FAULTS));
    }
    text
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Any => "anything",
            Self::Flag => "true or false",
            Self::Just(flag) => return write!(formatter, "{flag}"),
            Self::Null => "null",
            Self::Number => "a number",
            Self::AtLeast(least) => return write!(formatter, "a number, {least} or more"),
            Self::Whole(least) => return write!(formatter, "a whole number, {least} or more"),
            Self::Text => "a string",
            Self::Word => "a string that is not empty",
            Self::OneOf(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                return formatter.write_str(&words.join(" or "));
            }
            Self::That(_, what) => what,
            Self::List(form) => return write!(formatter, "a list, each item {form}"),
            Self::Some(form) => {
                return write!(formatter, "a list with one or more items, each {form}");
            }
            Self::Each(_) | Self::Object(_) | Self::Open(_) => "an object",
            Self::Either(forms) => {
                let forms: Vec<_> = forms.iter().map(Self::to_string).collect();
                return formatter.write_str(&forms.join(", or "));
            }
        };
        formatter.write_str(text)
    }
}

/// Whether a text is a valid name of operations and parameters: `^[a-z][a-z0-9_]*$`.
pub(crate) fn is_snake_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// Whether a text is a code: `^[A-Z][A-Z0-9_]*$`.
pub(crate) fn is_code(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

/// Whether a text is a protocol version: `^\d+\.\d+\.\d+(-[a-zA-Z0-9.-]+)?$`.
pub(crate) fn is_version(text: &str) -> bool {
    let (numbers, label) = match text.split_once('-') {
        Some((numbers, label)) => (numbers, Some(label)),
        None => (text, None),
    };
    let numbers: Vec<_> = numbers.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
    };
    numbers.len() == 3 && numbers.iter().all(is_number) && label.is_none_or(is_label)
}

fn is_instant(text: &str) -> bool {
    chrono::DateTime::parse_from_rfc3339(text).is_ok()
}

/// A date with a time and an offset.
pub(crate) const INSTANT: Form = Form::That(is_instant, "an instant such as 2031-05-06T07:08:09Z");

/// A code of an error or a warning.
pub(crate) const CODE: Form = Form::That(is_code, "a code such as VALIDATION_INVALID_TYPE");
/// `error` of a failure.
pub(crate) const ERROR: Form = Form::Object(&[
    must("code", CODE),
    must("message", Form::Word),
    may("details", Form::Open(&[])),
]);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BED: Form = Form::Object(&[
        must("bed_id", Form::Word),
        may("zone", Form::OneOf(&["north", "south"])),
        may("rows", Form::Some(&Form::Whole(1))),
    ]);

    #[test]
    fn reports_missing_unknown_and_invalid_members_with_their_paths() {
        assert!(BED.fits(&json!({ "bed_id": "b1", "zone": "north", "rows": [1, 2.0] })));
        let faults = BED.faults(&json!({ "zone": "west", "rows": [0, 1.5], "depth": 3 }));
        let reported: Vec<_> = faults.iter().map(Fault::to_string).collect();
        assert_eq!(
            reported,
            [
                "`/bed_id`: is missing; a string that is not empty",
                "`/zone`: \"north\" or \"south\"",
                "`/rows/0`: a whole number, 1 or more",
                "`/rows/1`: a whole number, 1 or more",
                "`/depth`: a form without this member",
            ]
        );
        assert_eq!(super::describe_faults(&BED.faults(&json!([]))), "the value: an object");
        assert!(!BED.fits(&json!({ "bed_id": " ", "rows": [] })));
    }

    #[test]
    fn recognizes_versions_codes_and_names() {
        assert!(is_version("1.0.0-draft") && is_version("10.2.33") && is_version("1.0.0-a.1-b"));
        for other in ["v1.0.0", "1.0", "1.0.0-", "1.0.0.0", "1..0", "1.0.0-ä", ""] {
            assert!(!is_version(other), "{other}");
        }
        assert!(is_code("NOT_FOUND_RESOURCE") && !is_code("Not_Found") && !is_code("_X"));
        assert!(is_snake_case("list_beds2") && !is_snake_case("listBeds") && !is_snake_case("2x"));
    }
}
