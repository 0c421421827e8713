//! Builds the errors for invalid parameters.
//!
//! All violations of one kind become one error. Its message also mentions the violations of other kinds, so that a
//! caller can correct all of them at once.

use std::fmt::Write as _;

use mcp_aql_protocol::ErrorCode;
use serde_json::Value;

use super::meaning::{Mention, RefusedCall, UnknownName, sentences};
use crate::error::OperationError;
use crate::operation::{Parameter, RegisteredOperation};
use crate::schema::shape::{Fault, FaultKind, Members, Shapes, describe, expected_form, type_name};
use crate::text::{clean, screened};

/// Maximum number of unknown names in a reply. The number of the others is reported instead (REQ-UNK-03). A request
/// must not be able to make the reply grow without limit.
pub(super) const MAX_SHOWN_NAMES: usize = 20;

pub(super) fn is_type_fault(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Type { .. } | FaultKind::Missing { .. })
}

/// Additional violations of a call. The message mentions them after those that determine the error code.
#[derive(Default)]
pub(super) struct FurtherFaults<'a> {
    pub(super) unknown: Vec<UnknownName>,
    pub(super) types: &'a [Fault],
    pub(super) values: &'a [Fault],
}

impl FurtherFaults<'_> {
    fn add_to(&self, message: &mut String) {
        let names = self.unknown.get(..MAX_SHOWN_NAMES).unwrap_or(&self.unknown);
        for text in sentences(names, Mention::NotListed) {
            push_sentence(message, &text);
        }
        for fault in self.types.iter().chain(self.values) {
            push_sentence(message, &sentence(fault));
        }
    }
}

/// Appends a sentence. The full stop of a sentence is only written before another one.
fn push_sentence(message: &mut String, text: &str) {
    message.push_str(match message.chars().last() {
        None => "",
        Some('?') => " ",
        Some(_) => ". ",
    });
    message.push_str(text);
}

/// Describes a violation in one sentence.
fn sentence(fault: &Fault) -> String {
    let path = clean(&fault.path);
    match &fault.kind {
        // Names of types, patterns and allowed values come from the author and are never filtered.
        FaultKind::Type { expected, actual, hint } => {
            let hint = hint.as_ref().map(|hint| format!(". {hint}")).unwrap_or_default();
            format!("Parameter '{path}' expected '{expected}', got '{actual}'{hint}")
        }
        FaultKind::Missing { expected } => missing_text(&path, expected),
        FaultKind::Value { expectation } => {
            screened(format!("Parameter '{path}' {expectation}"), || {
                format!(
                    "Parameter '{path}' has an invalid value: see the details, or introspect the operation"
                )
            })
        }
        FaultKind::ReadOnly => format!("Parameter '{path}' is read-only: leave it out"),
        FaultKind::Unknown { .. } => format!("Parameter '{path}' is unknown"),
    }
}

/// Creates one error for all missing parameters. It also suggests names for the unknown parameters, because a missing
/// name is often misspelled (REQ-UPD-02, REQ-ERR-06, choices C-09 and G-08).
pub(super) fn missing_error(
    call: &RefusedCall<'_>,
    missing: &[&Parameter],
    further: &FurtherFaults<'_>,
) -> OperationError {
    let mut message = String::new();
    for parameter in missing {
        let name = &parameter.name;
        // The form is obvious if the value was sent under another name, or in parts.
        let is_shown = further.unknown.iter().any(|unknown| unknown.is_value_of(name));
        let expected = match is_shown {
            true => type_name(&parameter.shape, call.shapes),
            false => expected_form(&parameter.shape, call.shapes),
        };
        let summary = crate::operation::summary(parameter.description());
        let text = missing_text(name, &expected);
        let whole = format!("{text} ({})", summary.trim_end_matches('.'));
        push_sentence(&mut message, &screened(whole, || text));
    }
    further.add_to(&mut message);
    let described = missing.iter().map(|parameter| described(parameter, call.shapes));
    OperationError::new(ErrorCode::ValidationMissingParam, message)
        .with_detail("param_name", missing.first().map_or("", |first| &*first.name))
        .with_detail("operation", call.operation.name.to_string())
        .with_detail("missing_params", described.collect::<Vec<_>>())
}

/// Describes a missing parameter. Its form may contain names and values of the author.
fn missing_text(name: &str, expected: &str) -> String {
    screened(format!("Missing required parameter '{name}'. Expected: {expected}"), || {
        format!("Missing required parameter '{name}'. Expected: the form in the details")
    })
}

/// Describes a missing parameter in the details of an error, with its name, type, description and allowed values.
fn described(parameter: &Parameter, shapes: &Shapes) -> Value {
    let mut info = Members::new();
    info.put("name", &*parameter.name);
    describe(&parameter.shape, shapes, &mut info);
    info.put("description", parameter.description().trim());
    let mut info = serde_json::to_value(info).unwrap_or_default();
    if let Value::Object(members) = &mut info {
        members.retain(|key, _| ["name", "type", "description", "enum"].contains(&key.as_str()));
    }
    info
}

/// Creates one error for all wrong types. The details describe the first one, and the message all of them.
/// Suggestions for unknown names follow, because a missing field is often misspelled.
pub(super) fn type_error(
    operation: &RegisteredOperation,
    faults: &[Fault],
    further: &FurtherFaults<'_>,
) -> OperationError {
    let mut message = String::new();
    for fault in faults {
        push_sentence(&mut message, &sentence(fault));
    }
    further.add_to(&mut message);
    // A wrong type explains more than a missing field, so it comes first.
    let first = faults
        .iter()
        .find(|fault| matches!(fault.kind, FaultKind::Type { .. }))
        .or_else(|| faults.first());
    let error = match first {
        Some(Fault { path, kind: FaultKind::Type { expected, actual, .. } }) => {
            OperationError::new(ErrorCode::ValidationInvalidType, message)
                .with_detail("param_name", clean(path))
                .with_detail("expected_type", expected.clone())
                .with_detail("actual_type", *actual)
        }
        other => OperationError::new(ErrorCode::ValidationMissingParam, message)
            .with_detail("param_name", other.map(|fault| clean(&fault.path)).unwrap_or_default()),
    };
    with_operation_and_all(error, operation, faults)
}

pub(super) fn value_error(operation: &RegisteredOperation, faults: &[Fault]) -> OperationError {
    let mut message = String::new();
    for fault in faults {
        push_sentence(&mut message, &sentence(fault));
    }
    let mut error = OperationError::new(ErrorCode::ValidationInvalidValue, message);
    if let Some(Fault { path, kind: FaultKind::Value { expectation } }) = faults.first() {
        error = error
            .with_detail("param_name", clean(path))
            .with_detail("expected", expectation.clone());
    }
    with_operation_and_all(error, operation, faults)
}

fn with_operation_and_all(
    error: OperationError,
    operation: &RegisteredOperation,
    faults: &[Fault],
) -> OperationError {
    let error = error.with_detail("operation", operation.name.to_string());
    if faults.len() < 2 {
        return error;
    }
    let all: Vec<_> = faults.iter().map(|fault| clean(&fault.path)).collect();
    error.with_detail("invalid_params", all)
}

/// Creates the error for fields of `input` that only the adapter may set (REQ-UPD-06).
pub(super) fn read_only_error(
    operation: &RegisteredOperation,
    faults: &[Fault],
    further: &FurtherFaults<'_>,
) -> OperationError {
    let names: Vec<_> = faults.iter().map(|fault| clean(&fault.path)).collect();
    let shown: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
    let mut message =
        format!("Only the adapter can set {}: leave it out of 'input'", shown.join(", "));
    further.add_to(&mut message);
    OperationError::new(ErrorCode::ValidationReadOnlyField, message)
        .with_detail("operation", operation.name.to_string())
        .with_detail("read_only_fields", names)
}

/// Creates one error for all unknown names, with the valid and the most similar names (REQ-UNK-01 to REQ-UNK-04,
/// REQ-UNK-08).
pub(super) fn unknown_error(
    operation: &RegisteredOperation,
    unknown: &[UnknownName],
    further: &FurtherFaults<'_>,
) -> OperationError {
    let valid: Vec<_> = operation.parameters.iter().map(|parameter| &*parameter.name).collect();
    let words = ("parameter", "params");
    unknown_names(ErrorCode::ValidationUnknownParam, words, operation, (unknown, &valid), further)
}

/// Creates the error for unknown names inside an object, either a parameter or an UPDATE's `input` (REQ-UPD-05,
/// REQ-UPD-06).
pub(super) fn nested_unknown_error(
    call: &RefusedCall<'_>,
    faults: &[Fault],
    further: &FurtherFaults<'_>,
) -> OperationError {
    let operation = call.operation;
    let unknown: Vec<_> = faults.iter().filter_map(|fault| call.field(fault)).collect();
    let mut valid_names: Vec<String> = Vec::new();
    for fault in faults {
        let FaultKind::Unknown { valid, .. } = &fault.kind else { continue };
        for name in valid.iter().map(|valid| call.shown_path(valid)) {
            if !valid_names.contains(&name) {
                valid_names.push(name);
            }
        }
    }
    let takes_input = operation.parameters.iter().any(|parameter| parameter.input.is_some());
    let inside_input = takes_input && faults.iter().any(|fault| fault.path.starts_with("input."));
    let (code, words) = if inside_input {
        (ErrorCode::ValidationUnknownField, ("field", "fields"))
    } else {
        (ErrorCode::ValidationUnknownParam, ("parameter", "params"))
    };
    let valid_names: Vec<_> = valid_names.iter().map(String::as_str).collect();
    unknown_names(code, words, operation, (&unknown, &valid_names), further)
}

fn unknown_names(
    code: ErrorCode,
    (word, key): (&str, &str),
    operation: &RegisteredOperation,
    (unknown, valid): (&[UnknownName], &[&str]),
    further: &FurtherFaults<'_>,
) -> OperationError {
    let shown = unknown.get(..MAX_SHOWN_NAMES).unwrap_or(unknown);
    let names: Vec<_> = shown.iter().map(|name| name.path.as_str()).collect();
    let mut message = String::with_capacity(256);
    message.extend(["Unknown ", word, "(s) for operation '", &operation.name, "': "]);
    for (index, name) in names.iter().enumerate() {
        message.extend([if index > 0 { ", '" } else { "'" }, name, "'"]);
    }
    if unknown.len() > MAX_SHOWN_NAMES {
        let _ = write!(message, ", and {} more", unknown.len() - MAX_SHOWN_NAMES);
    }
    for sentence in sentences(shown, Mention::Listed) {
        push_sentence(&mut message, &sentence);
    }
    // The details contain the valid names as well. The message only lists them if it suggests no name.
    if shown.iter().any(|name| name.meaning.is_none()) {
        let list = if valid.is_empty() { "none".to_owned() } else { valid.join(", ") };
        push_sentence(&mut message, &format!("Valid {word}s: {list}"));
    }
    further.add_to(&mut message);
    let error = OperationError::new(code, message)
        .with_detail("operation", &*operation.name)
        .with_detail(&["unknown_", key].concat(), names)
        .with_detail(&["valid_", key].concat(), valid);
    if unknown.len() > MAX_SHOWN_NAMES {
        return error.with_detail("unknown_count", unknown.len());
    }
    error
}
