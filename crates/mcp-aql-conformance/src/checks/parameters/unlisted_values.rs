//! The check of string parameters with a closed set of values that introspection does not list.

use serde_json::{Value, json};

use super::{each_parameter, is_harmless, with};
use crate::adapter::{Operation, Parameter, STANDARD_PARAMETERS};
use crate::cases::Cases;
use crate::checks::encoding::is_free;
use crate::checks::planned::{CallReply, PlannedCall};
use crate::checks::refusals::{Refusal, has_word};
use crate::finding::listed;
use crate::nouns::is_identifier;
use crate::run::Run;
use crate::shape::Shape;
use crate::values;

/// Maximum size of a set of values. A larger set may depend on the stored data.
const MAX_VALUES: usize = 20;
/// Maximum length of a value in a message, in bytes.
const MAX_VALUE_BYTES: usize = 40;

/// Members that identify an item. Their values change with the data.
const IDENTITIES: [&str; 6] = ["id", "name", "title", "key", "slug", "path"];

/// Phrases in error messages before a list of allowed values.
const INTRODUCTIONS: [&str; 8] = [
    "one of",
    "allowed values",
    "valid values",
    "possible values",
    "accepted values",
    "supported values",
    "allowed are",
    "choose from",
];

/// Strings that belong to no usual set of values.
const PROBES: [&str; 2] = ["conformance_probe", "conf"];

/// Returns a string that no set of values contains and that the documented lengths allow.
fn probe(run: &Run, parameter: &Parameter) -> Option<Value> {
    let shape = Shape::of(&run.adapter, parameter);
    PROBES.into_iter().map(Value::from).find(|probe| shape.accepts(probe))
}

/// Returns `true` if a string parameter with this name may have a closed set of values.
fn may_be_closed(run: &Run, parameter: &Parameter) -> bool {
    let name = parameter.name.as_str();
    is_free(run, parameter)
        && !is_identifier(name)
        && !STANDARD_PARAMETERS.contains(&name)
        && !name.contains("cursor")
        && parameter.member("sensitive") != Some(&Value::Bool(true))
}

/// Returns the allowed values in the details of a rejection: a list of strings.
fn values_in_details(details: &Value) -> Vec<String> {
    let lists = details.as_object().into_iter().flatten().filter(|(name, _)| {
        // Lists in these members contain names of parameters.
        !name.contains("param") && !name.contains("field")
    });
    let texts = |list: &Value| -> Option<Vec<String>> {
        list.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    };
    lists.filter_map(|(_, list)| texts(list)).next().unwrap_or_default()
}

/// Returns the allowed values in a message: words after a phrase such as "one of", separated by commas.
///
/// ```text
/// `status` must be one of: open, done or archived  →  open, done, archived
/// ```
fn values_in_message(message: &str) -> Vec<String> {
    let lower = message.to_lowercase();
    let start =
        INTRODUCTIONS.iter().filter_map(|words| Some(lower.find(words)? + words.len())).min();
    // Some letters change their length in lowercase, so the index may be off.
    let Some(list) = start.and_then(|start| message.get(start..)) else { return Vec::new() };
    let list = list.trim_start_matches([':', ' ', '[', '(']);
    let list = list.split([';', '\n', ')', ']']).next().unwrap_or_default();
    let list = list.split(". ").next().unwrap_or_default();
    let parts = list.split([',', '|', '/']).flat_map(|part| part.split(" or ")).map(|part| {
        let part = part.trim().trim_start_matches("or ").trim_start_matches("and ");
        part.trim_matches(['\'', '"', '`', '.', ' ']).to_owned()
    });
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    let is_value = |part: &String| part.len() <= MAX_VALUE_BYTES && !part.contains(' ');
    if parts.iter().all(is_value) { parts } else { Vec::new() }
}

/// Returns the allowed values listed by a rejection. Returns `None` for names of stored items and for too many values.
fn closed_set(run: &Run, refusal: &Refusal<'_>) -> Option<Vec<String>> {
    let mut values = values_in_details(refusal.failure.details);
    if values.len() < 2 {
        values = values_in_message(refusal.failure.message);
    }
    values.retain(|value| !PROBES.contains(&value.as_str()));
    values.sort_unstable();
    values.dedup();
    let is_stored = |value: &String| {
        let value = json!(value);
        IDENTITIES.iter().any(|name| run.harvested(name).contains(&value))
    };
    let is_closed = (2..=MAX_VALUES).contains(&values.len()) && !values.iter().any(is_stored);
    is_closed.then_some(values)
}

/// Returns `true` if the description lists the values or says where to find them.
fn is_described(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    values: &[String],
) -> bool {
    let own = parameter.member("description").and_then(Value::as_str).unwrap_or_default();
    let text = format!("{own}\n{}", operation.description);
    let lower = text.to_lowercase();
    let names_operation = run.adapter.operations.iter().any(|other| has_word(own, &other.name));
    names_operation || values.iter().all(|value| has_word(&lower, &value.to_lowercase()))
}

/// Plans calls with an unusual string for each parameter whose strings have no documented form.
pub(super) fn unusual_strings<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = each_parameter(run, cases, |operation, parameter, params| {
        let is_tested = may_be_closed(run, parameter)
            && is_harmless(operation)
            && !values::is_withheld(operation, parameter)
            && !run.is_named_whole(operation);
        let probe = probe(run, parameter).filter(|_| is_tested)?;
        Some(PlannedCall::new(operation, with(params, operation, &parameter.name, probe)))
    });
    if calls.is_empty() {
        cases.not_applicable("no parameter is a string without a documented form");
    }
    calls
}

pub(super) fn is_documented(it: &CallReply<'_>) -> Option<bool> {
    let parameter = it.call.parameter?;
    let refusal = Refusal::of(it.reply).filter(|refusal| {
        refusal.mentions(&parameter.name) && !refusal.is_about_other(&parameter.name)
    });
    let values = refusal.and_then(|refusal| closed_set(it.run, &refusal)).unwrap_or_default();
    it.word("values", listed(&values));
    Some(values.is_empty() || is_described(it.run, it.call.operation, parameter, &values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_allowed_values_from_messages() {
        for message in [
            "Parameter 'status' must be one of: todo, doing, done",
            "status: expected one of 'todo', 'doing' or 'done'. See the docs.",
            "Unknown status; allowed values [todo | doing | done]",
            "Choose from \"todo\", \"doing\", and \"done\"",
        ] {
            assert_eq!(values_in_message(message), ["todo", "doing", "done"], "{message}");
        }
        for message in [
            "Parameter 'place' must have at least 2 characters",
            "The query must match one of the documented forms, as a text",
            "must not be empty",
        ] {
            assert!(values_in_message(message).len() < 2, "{message}");
        }
    }

    #[test]
    fn reads_allowed_values_from_details() {
        let details = json!({ "param_name": "status", "allowed": ["todo", "done"] });
        assert_eq!(values_in_details(&details), ["todo", "done"]);
        let details = json!({ "valid_params": ["status", "title"], "limits": [1, 2] });
        assert!(values_in_details(&details).is_empty());
    }
}
