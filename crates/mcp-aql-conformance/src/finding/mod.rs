//! Findings: violations of requirements, and merging findings with the same cause.

mod cause;
mod excerpt;

use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::call::Exchange;
use crate::secrets::Secrets;

/// Maximum length of a reported string, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 500;
/// Maximum length of the runner's own messages, in bytes. They may quote many short strings.
pub(crate) const MAX_MESSAGE_BYTES: usize = 10_000;
/// Maximum number of reported elements of a list or an object.
const MAX_ELEMENTS: usize = 100;
/// Maximum number of further subjects named by a finding. All cases are counted.
const MAX_ALIKE: usize = 10;

/// Expectation reported for a member that the form does not have.
pub(crate) const NO_SUCH_MEMBER: &str = "no such member";

/// A violation of a requirement.
///
/// You find all findings in [`Report::checks`](crate::Report::checks). Cases of one check with the same cause are
/// merged into one finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Modes in which the violation was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<String>,
    /// Operation, parameter, type or tool of the first case.
    pub subject: String,
    /// Subjects of further cases with the same cause. The list is shortened; `count` counts all cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<String>,
    /// Number of cases with this cause.
    pub count: usize,
    /// The sent request, or null if the check sent none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub sent: Value,
    /// The reply, or the value in introspection, cut to the parts that matter.
    pub received: Value,
    /// Members of `received` with unexpected values, if the check compares members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// The expected reply or value.
    pub expected: String,
    /// Suggestion for the author of the adapter.
    pub fix: String,
    /// Identifies the cause within the check, in this report and in later ones.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Command that repeats the check.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repeat: String,
    /// Reason why a baseline accepts the finding, or `None` if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

/// The expectation and the suggestion of a check, from its entry in the table of its area.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hints {
    /// The expected reply or value. Empty if every finding states its own.
    pub(crate) expected: &'static str,
    /// Suggestion for the author of the adapter. Empty if every finding states its own.
    pub(crate) fix: &'static str,
}

/// A member with an unexpected value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// JSON pointer of the member in `received`, or an empty string for the whole value.
    pub path: String,
    /// Description of the expected value.
    pub expected: String,
    /// The received value, or `None` if the member is missing.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub received: Option<Value>,
}

impl Finding {
    /// Creates a finding about content of introspection or of the list of tools.
    ///
    /// Expectation and suggestion are those of the check's entry in the table of its area. Add
    /// [`expected`](Self::expected) and [`fix`](Self::fix) if they depend on the case.
    pub(crate) fn shown(subject: impl Into<String>, received: impl Into<Value>) -> Self {
        Self {
            modes: Vec::new(),
            subject: subject.into(),
            alike: Vec::new(),
            count: 1,
            sent: Value::Null,
            received: received.into(),
            differences: Vec::new(),
            expected: String::new(),
            fix: String::new(),
            cause: String::new(),
            repeat: String::new(),
            accepted: None,
        }
    }

    /// Creates a finding about a call. See [`shown`](Self::shown).
    pub(crate) fn of(exchange: &Exchange, subject: impl Into<String>) -> Self {
        Self { sent: exchange.sent(), ..Self::shown(subject, exchange.received()) }
    }

    /// Sets the expectation.
    #[must_use]
    pub(crate) fn expected(self, expected: impl Into<String>) -> Self {
        Self { expected: expected.into(), ..self }
    }

    /// Adds the expectation and the suggestion of the check, unless the finding states its own.
    pub(crate) fn complete(&mut self, hints: Hints) {
        for (own, hint) in [(&mut self.expected, hints.expected), (&mut self.fix, hints.fix)] {
            if own.is_empty() {
                hint.clone_into(own);
            }
        }
    }

    /// Sets the sent request, or several.
    #[must_use]
    pub(crate) fn sent(self, sent: Value) -> Self {
        Self { sent, ..self }
    }

    /// Sets the received value.
    #[must_use]
    pub(crate) fn received(self, received: Value) -> Self {
        Self { received, ..self }
    }

    /// Sets the suggestion.
    #[must_use]
    pub(crate) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: fix.into(), ..self }
    }

    /// Adds the members in which `part` of the received value differs. The paths of the differences start at `part`.
    ///
    /// If the expectation repeats `description` in brackets, the brackets are removed.
    pub(crate) fn with_differences(
        mut self,
        part: &Value,
        differences: Vec<Difference>,
        description: &str,
    ) -> Self {
        self.expected = self.expected.replace(&format!(" ({description})"), "");
        let base = excerpt::pointer_to(part, &self.received).unwrap_or_default();
        self.differences = differences;
        for difference in &mut self.differences {
            difference.path.insert_str(0, &base);
        }
        self
    }

    /// Masks the secrets in all strings.
    pub(crate) fn mask(&mut self, secrets: &Secrets) {
        let own = [&mut self.subject, &mut self.expected, &mut self.fix];
        for text in own.into_iter().chain(&mut self.alike) {
            secrets.mask(text);
        }
        secrets.mask_value(&mut self.sent);
        secrets.mask_value(&mut self.received);
        for difference in &mut self.differences {
            secrets.mask(&mut difference.path);
            difference.received.iter_mut().for_each(|value| secrets.mask_value(value));
        }
    }

    /// Sets a cause shared by findings of several checks. `shared` identifies it.
    #[must_use]
    pub(crate) fn caused_by(mut self, shared: &str) -> Self {
        self.cause = cause::shared(shared);
        self
    }

    /// Computes the cause, unless the finding already shares one with findings of other checks.
    pub(crate) fn identify(&mut self) {
        if self.cause.is_empty() {
            self.cause = cause::fingerprint(self);
        }
    }

    /// Cuts all strings and values to their reported length.
    pub(crate) fn abridge(&mut self) {
        excerpt::cut(self);
        abridge(&mut self.sent);
        abridge(&mut self.received);
        for text in [&mut self.subject, &mut self.expected, &mut self.fix] {
            shorten(text, MAX_MESSAGE_BYTES);
        }
    }

    /// Adds the cases of another finding with the same cause.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.count += other.count;
        for mode in other.modes {
            if !self.modes.contains(&mode) {
                self.modes.push(mode);
            }
        }
        for subject in std::iter::once(other.subject).chain(other.alike) {
            let is_new = subject != self.subject && !self.alike.contains(&subject);
            if is_new && self.alike.len() < MAX_ALIKE {
                self.alike.push(subject);
            }
        }
    }
}

/// Merges findings with the same cause. Each cause keeps the position of its first finding.
pub(crate) fn merge(findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        match merged.iter_mut().find(|first| first.cause == finding.cause) {
            Some(first) => first.absorb(finding),
            None => merged.push(finding),
        }
    }
    merged
}

/// Shortens a string of more than `longest` bytes to its beginning and a note of its length.
///
/// ```text
/// "aaaaaaaaaaaa…"  →  "aaaa… (20000 bytes)"
/// ```
pub(crate) fn shorten(text: &mut String, longest: usize) {
    let bytes = text.len();
    if bytes > longest {
        let mut start: String = text.chars().take(longest / 5).collect();
        start.push_str(&format!("… ({bytes} bytes)"));
        *text = start;
    }
}

/// Shortens long strings, lists and objects. Checks of limits send very long ones.
fn abridge(value: &mut Value) {
    match value {
        Value::String(text) => shorten(text, MAX_TEXT_BYTES),
        Value::Array(items) => {
            let more = items.len().saturating_sub(MAX_ELEMENTS);
            if more > 0 {
                items.truncate(MAX_ELEMENTS / 5);
                let more = more + MAX_ELEMENTS - items.len();
                items.push(Value::String(format!("… ({more} more)")));
            }
            items.iter_mut().for_each(abridge);
        }
        Value::Object(members) => {
            let is_endless = members.len() > MAX_ELEMENTS;
            if is_endless || members.keys().any(|name| name.len() > MAX_TEXT_BYTES) {
                let kept = if is_endless { MAX_ELEMENTS / 5 } else { MAX_ELEMENTS };
                let more = members.len().saturating_sub(kept);
                let first = std::mem::take(members).into_iter().take(kept);
                members.extend(first.map(|(mut name, member)| {
                    shorten(&mut name, MAX_TEXT_BYTES);
                    (name, member)
                }));
                if more > 0 {
                    members.insert("…".to_owned(), Value::String(format!("({more} more)")));
                }
            }
            members.values_mut().for_each(abridge);
        }
        _ => {}
    }
}

/// Deserializes a member in which null is a value. Serde would read null as `None`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Formats a count with its noun: "1 check", "2 checks".
pub(crate) fn counted(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// Lists names for a sentence: "`a`, `b` and `c`", or "none".
pub(crate) fn listed<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    let mut names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match (names.pop(), names.is_empty()) {
        (None, _) => "none".to_owned(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} and {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shortens_long_values_of_findings() {
        let mut value = json!({ "text": "é".repeat(400), "list": vec![7; 101], "short": ["a"] });
        abridge(&mut value);
        assert_eq!(value["text"], format!("{}… (800 bytes)", "é".repeat(100)));
        assert_eq!(value["list"].as_array().map(Vec::len), Some(21));
        assert_eq!(value["list"][20], "… (81 more)");
        assert_eq!(value["short"], json!(["a"]));
        let mut value: Value = (0..101).map(|number| (number.to_string(), number)).collect();
        abridge(&mut value);
        assert_eq!(value.as_object().map(serde_json::Map::len), Some(21));
        assert_eq!(value["…"], "(81 more)");
        let mut value = json!({ "x".repeat(501): 1 });
        abridge(&mut value);
        assert_eq!(value, json!({ format!("{}… (501 bytes)", "x".repeat(100)): 1 }));
    }

    #[test]
    fn findings_with_one_cause_are_merged() {
        let in_mode = |mode: &str, subject: &str| Finding {
            modes: vec![mode.to_owned()],
            cause: "c".to_owned(),
            ..Finding::shown(subject, Value::Null).expected("an object").fix("return an object")
        };
        let other = Finding { cause: "d".to_owned(), ..in_mode("single", "get_bed") };
        let merged = merge([
            in_mode("semantic", "get_bed"),
            in_mode("semantic", "list_beds"),
            other.clone(),
            in_mode("single", "get_bed"),
        ]);
        assert_eq!(merged.len(), 2);
        let first = &merged[0];
        assert_eq!((first.subject.as_str(), first.count), ("get_bed", 3));
        assert_eq!(
            (&first.modes, &first.alike),
            (&vec!["semantic".to_owned(), "single".to_owned()], &vec!["list_beds".to_owned()])
        );
        assert_eq!(merged[1], other);
        let many = (0..40).map(|number| in_mode("single", &format!("op_{number}")));
        let merged = merge(many);
        assert_eq!((merged[0].count, merged[0].alike.len()), (40, MAX_ALIKE));
    }

    #[test]
    fn null_is_a_received_value() {
        let difference: Difference =
            serde_json::from_value(json!({ "path": "", "expected": "x", "received": null }))
                .unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(difference.received, Some(Value::Null));
    }

    #[test]
    fn lists_names_in_a_sentence() {
        assert_eq!(listed([""; 0]), "none");
        assert_eq!(listed(["a"]), "`a`");
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
