//! Declarative forms of JSON values: required and optional members with their types.
//!
//! Unlike in JSON Schema, objects are closed by default, because the forms of the protocol are closed.
//!
//! ```text
//! const ERROR: Form = Form::Object(&[must("code", CODE), must("message", Form::Word)]);
//!
//! { "code": "NOT_FOUND" }  →  `/message` is missing
//! ```

mod introspection;
mod shared;

use std::fmt;

use serde_json::Value;

use crate::cases::Cases;
use crate::finding::{Difference, Finding, NO_SUCH_MEMBER};

pub(crate) use self::introspection::{
    AGGREGATION_SUPPORT, BARE_FAILURE, COMPUTED_FIELDS, LIFECYCLE, LISTED_OPERATION, OPERATION,
    PARAMETER, PROTOCOL, RELATIONSHIP_CAPABILITIES, TYPE_INFO, type_details,
};

/// Maximum number of deviations listed in a message.
const MAX_FAULTS: usize = 5;

/// Placeholder for the description of the deviations in an expectation.
const FAULTS: &str = "{faults}";

/// The form of a JSON value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// Any value, including null.
    Any,
    /// `true` or `false`.
    Flag,
    /// Exactly this boolean.
    Just(bool),
    /// Null.
    Null,
    /// A number.
    Number,
    /// A number of at least this value.
    AtLeast(f64),
    /// An integer of at least this value.
    Whole(u64),
    /// A string.
    Text,
    /// A non-empty string.
    Word,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A string accepted by the predicate, with a description of the condition.
    That(fn(&str) -> bool, &'static str),
    /// A list of items of this form.
    List(&'static Form),
    /// A non-empty list of items of this form.
    Some(&'static Form),
    /// An object with these members and no others.
    Object(&'static [Member]),
    /// An object with these members. Other members are allowed.
    Open(&'static [Member]),
    /// An object with any names. All members have this form.
    Each(&'static Form),
    /// A value with one of these forms.
    Either(&'static [Form]),
}

/// A member of an object form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    name: &'static str,
    form: Form,
    is_required: bool,
}

impl Form {
    /// Returns the names of the required members and of the optional members of an object form.
    pub(crate) fn members(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let (Self::Object(members) | Self::Open(members)) = self else { return Default::default() };
        let (required, optional): (Vec<&Member>, Vec<&Member>) =
            members.iter().partition(|member| member.is_required);
        let names = |members: Vec<&Member>| members.into_iter().map(|member| member.name).collect();
        (names(required), names(optional))
    }
}

/// Declares a required member.
pub(crate) const fn must(name: &'static str, form: Form) -> Member {
    Member { name, form, is_required: true }
}

/// Declares an optional member.
pub(crate) const fn may(name: &'static str, form: Form) -> Member {
    Member { name, form, is_required: false }
}

/// A deviation of a value from its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormViolation {
    /// JSON pointer to the deviation, such as `/parameters/0/type`, or an empty string for the value itself.
    pub(crate) path: String,
    /// Description of the expected form.
    pub(crate) expected: String,
    pub(crate) kind: FaultKind,
}

/// The kind of a deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// A required member is missing.
    Missing,
    /// The form has no such member.
    Unexpected,
    /// The value has another form.
    Other,
}

impl FormViolation {
    /// Converts the deviation to a difference of a finding. `value` is the root of its path.
    fn difference(&self, value: &Value) -> Difference {
        Difference {
            path: self.path.clone(),
            expected: match self.kind {
                FaultKind::Unexpected => NO_SUCH_MEMBER.to_owned(),
                FaultKind::Missing | FaultKind::Other => self.expected.clone(),
            },
            received: match self.kind {
                FaultKind::Missing => None,
                FaultKind::Unexpected | FaultKind::Other => {
                    Some(value.pointer(&self.path).cloned().unwrap_or_default())
                }
            },
        }
    }
}

impl fmt::Display for FormViolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = &self.expected;
        let path = match self.path.as_str() {
            "" => "the value".to_owned(),
            path => format!("`{path}`"),
        };
        match self.kind {
            FaultKind::Missing => write!(formatter, "{path} is missing; expected {expected}"),
            FaultKind::Unexpected => write!(formatter, "{path} is not allowed here"),
            FaultKind::Other => write!(formatter, "{path} must be {expected}"),
        }
    }
}

impl Form {
    /// Returns all deviations of a value, in the order of its members.
    pub(crate) fn faults(&self, value: &Value) -> Vec<FormViolation> {
        let mut faults = Vec::new();
        self.look(value, "", &mut faults);
        faults
    }

    /// Returns `true` if a value has this form.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        self.faults(value).is_empty()
    }

    /// Counts a passed case if the value has this form. Otherwise adds one finding for each cause of deviations.
    ///
    /// The expectation is the description of the deviations, or contains it in place of `{faults}`.
    pub(crate) fn check(
        &self,
        value: &Value,
        cases: &Cases,
        finding: impl Fn() -> Finding,
    ) -> bool {
        let faults = self.faults(value);
        if faults.is_empty() {
            cases.pass();
            return true;
        }
        cases.fail_for_causes(shared::by_cause(faults).into_iter().map(|(cause, faults)| {
            let differences = faults.iter().take(MAX_FAULTS).map(|fault| fault.difference(value));
            let description = describe_faults(&faults);
            let mut finding = finding();
            let expected = match (finding.expected.as_str(), cases.hints.expected) {
                ("", "") => FAULTS,
                ("", hint) => hint,
                (own, _) => own,
            };
            finding.expected = expected.replace(FAULTS, &description);
            finding = finding.with_differences(value, differences.collect(), &description);
            let Some(cause) = cause else { return finding };
            finding.fix = cause.fix().unwrap_or(finding.fix);
            finding.caused_by(&cause.key())
        }));
        false
    }

    fn look(&self, value: &Value, path: &str, faults: &mut Vec<FormViolation>) {
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
                        form.look(member, &format!("{path}/{}", escaped(name)), faults);
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
            let (path, expected) = (path.to_owned(), self.to_string());
            faults.push(FormViolation { path, expected, kind: FaultKind::Other });
        }
    }
}

/// Checks the members of an object. Returns `false` if the value is not an object.
fn look_at_members(
    members: &[Member],
    is_closed: bool,
    value: &Value,
    path: &str,
    faults: &mut Vec<FormViolation>,
) -> bool {
    let Some(object) = value.as_object() else { return false };
    for member in members {
        let path = format!("{path}/{}", member.name);
        match object.get(member.name) {
            Some(value) => member.form.look(value, &path, faults),
            None if member.is_required => {
                let expected = member.form.to_string();
                faults.push(FormViolation { path, expected, kind: FaultKind::Missing });
            }
            None => {}
        }
    }
    if is_closed {
        for name in object.keys() {
            if !members.iter().any(|member| member.name == name) {
                let path = format!("{path}/{}", escaped(name));
                faults.push(FormViolation {
                    path,
                    expected: String::new(),
                    kind: FaultKind::Unexpected,
                });
            }
        }
    }
    true
}

/// Escapes a name for use in a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Converts a non-negative integer, including notations such as `3.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
    })
}

/// Describes deviations in a message.
pub(crate) fn describe_faults(faults: &[FormViolation]) -> String {
    let mut text =
        faults.iter().take(MAX_FAULTS).map(FormViolation::to_string).collect::<Vec<_>>().join("; ");
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

/// Returns `true` if a string is a valid name of operations and parameters: `^[a-z][a-z0-9_]*$`.
pub(crate) fn is_snake_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// Returns `true` if a string is a valid error or warning code: `^[A-Z][A-Z0-9_]*$`.
pub(crate) fn is_code(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

/// Returns `true` if a string is a protocol version: `^\d+\.\d+\.\d+(-[a-zA-Z0-9.-]+)?$`.
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

/// The code of an error or a warning.
pub(crate) const CODE: Form = Form::That(is_code, "a code such as VALIDATION_INVALID_TYPE");
/// The `error` member of a failure.
pub(crate) const ERROR: Form = Form::Object(&[
    must("code", CODE),
    must("message", Form::Word),
    may("details", Form::Open(&[])),
]);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cases::Hints;

    const BED: Form = Form::Object(&[
        must("bed_id", Form::Word),
        may("zone", Form::OneOf(&["north", "south"])),
        may("rows", Form::Some(&Form::Whole(1))),
    ]);

    #[test]
    fn reports_missing_unknown_and_invalid_members_with_their_paths() {
        assert!(BED.fits(&json!({ "bed_id": "b1", "zone": "north", "rows": [1, 2.0] })));
        let faults = BED.faults(&json!({ "zone": "west", "rows": [0, 1.5], "depth": 3 }));
        let reported: Vec<_> = faults.iter().map(FormViolation::to_string).collect();
        assert_eq!(
            reported,
            [
                "`/bed_id` is missing; expected a string that is not empty",
                "`/zone` must be \"north\" or \"south\"",
                "`/rows/0` must be a whole number, 1 or more",
                "`/rows/1` must be a whole number, 1 or more",
                "`/depth` is not allowed here",
            ]
        );
        assert_eq!(super::describe_faults(&BED.faults(&json!([]))), "the value must be an object");
        assert!(!BED.fits(&json!({ "bed_id": " ", "rows": [] })));
    }

    #[test]
    fn expectations_contain_the_deviations() {
        let faults = "`/bed_id` is missing; expected a string that is not empty";
        for (of_check, of_finding, expected) in [
            ("", "", faults.to_owned()),
            ("a bed: {faults}", "", format!("a bed: {faults}")),
            ("a bed: {faults}", "no bed: {faults}", format!("no bed: {faults}")),
        ] {
            let hints = Hints { expected: of_check, fix: "return a bed" };
            let cases = Cases::default().hinting(hints);
            BED.check(&json!({}), &cases, || Finding::shown("bed", json!({})).expected(of_finding));
            let findings = cases.results().findings;
            assert_eq!((findings[0].expected.as_str(), findings.len()), (expected.as_str(), 1));
            assert_eq!(findings[0].fix, "return a bed");
        }
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
