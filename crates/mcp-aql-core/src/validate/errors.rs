//! The errors of faulty parameters: all faults of one kind become one error.

use std::fmt::Write as _;

use mcp_aql_protocol::{ErrorCode, probable_parameter};

use super::camel_case;
use crate::error::OperationError;
use crate::operation::{Parameter, RegisteredOperation};
use crate::shape::{Checks, Fault, FaultKind, Hint, Shape, Shapes, type_name};
use crate::text::clean;

/// The maximum number of unknown names in a reply, which has the number of the others (REQ-UNK-03). A
/// request must not make the reply grow without limit.
const MAX_SHOWN_NAMES: usize = 20;

pub(super) fn is_type_fault(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Type { .. } | FaultKind::Missing { .. })
}

/// One error for all missing parameters, with hints for the unknown names, because a missing name is often
/// misspelled (REQ-UPD-02, REQ-ERR-06, choices C-09 and G-08).
pub(super) fn missing_error(
    operation: &RegisteredOperation,
    missing: &[&Parameter],
    unknown: &[String],
    shapes: &Shapes,
) -> OperationError {
    let mut message = String::new();
    for parameter in missing {
        let separator = if message.is_empty() { "" } else { ". " };
        let expected = expected(&parameter.shape, shapes);
        let name = &parameter.name;
        let summary = crate::operation::summary(parameter.description());
        let summary = summary.trim_end_matches('.');
        let full = format!(
            "{separator}Missing required parameter '{name}'. Expected: {expected} ({summary})"
        );
        // The description is the author's text, which is never filtered.
        message.push_str(&full);
    }
    for name in unknown.iter().take(MAX_SHOWN_NAMES) {
        let near = probable_parameter(name, missing.iter().map(|parameter| &*parameter.name));
        let inside_input = missing
            .iter()
            .filter_map(|parameter| parameter.input)
            .any(|input| input.field(name).is_some());
        let name = clean(name);
        let _ = match near {
            _ if inside_input => {
                write!(message, ". '{name}' is a field of 'input': give it inside 'input'")
            }
            Some(near) => {
                write!(message, ". Parameter '{name}' is unknown; did you mean '{near}'?")
            }
            None => write!(message, ". Parameter '{name}' is unknown"),
        };
    }
    let names: Vec<_> = missing.iter().map(|parameter| parameter.name.to_string()).collect();
    let first = names.first().cloned().unwrap_or_default();
    let error = OperationError::new(ErrorCode::ValidationMissingParam, message)
        .with_detail("param_name", first)
        .with_detail("operation", operation.name.to_string());
    if names.len() > 1 { error.with_detail("missing_params", names) } else { error }
}

/// The type of a parameter, and the values that it may have if these are listed.
fn expected(shape: &Shape, shapes: &Shapes) -> String {
    let name = type_name(shape, shapes);
    let allowed = [&shape.checks, &shape.resolve(shapes).checks].map(Checks::allowed_values);
    match allowed.into_iter().find(|allowed| !allowed.is_empty()) {
        Some(allowed) => format!("{name}, one of: {}", allowed.join(", ")),
        None => name,
    }
}

/// One error for all wrong types: the details have the first one, and the message has all. Hints for
/// unknown names inside objects follow, because a missing field is often misspelled.
pub(super) fn type_error(
    operation: &RegisteredOperation,
    faults: &[Fault],
    unknown: &[Fault],
) -> OperationError {
    let sentence = |fault: &Fault| {
        let path = clean(&fault.path);
        match &fault.kind {
            // The names of types come from the author and are never filtered.
            FaultKind::Type { expected, actual } => {
                format!("Parameter '{path}' expected '{expected}', got '{actual}'")
            }
            FaultKind::Missing { expected } => {
                format!("Missing required parameter '{path}'. Expected: {expected}")
            }
            _ => String::new(),
        }
    };
    let mut message = faults.iter().map(sentence).collect::<Vec<_>>().join(". ");
    for fault in unknown {
        let FaultKind::Unknown { hint, .. } = &fault.kind else { continue };
        let path = clean(&fault.path);
        let _ = match hint {
            Hint::Name(name) => {
                write!(message, ". Parameter '{path}' is unknown; did you mean '{name}'?")
            }
            Hint::None | Hint::Identifier => write!(message, ". Parameter '{path}' is unknown"),
        };
    }
    // A wrong type explains more than a missing field, so it comes first.
    let first = faults
        .iter()
        .find(|fault| matches!(fault.kind, FaultKind::Type { .. }))
        .or_else(|| faults.first());
    let error = match first {
        Some(Fault { path, kind: FaultKind::Type { expected, actual } }) => {
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
    let expectation = |fault: &Fault| match &fault.kind {
        FaultKind::Value { expectation } => expectation.clone(),
        _ => String::new(),
    };
    let message = faults
        .iter()
        .map(|fault| {
            let path = clean(&fault.path);
            // Patterns and allowed values are the author's text, which is never filtered.
            format!("Parameter '{path}' {}", expectation(fault))
        })
        .collect::<Vec<_>>()
        .join(". ");
    let mut error = OperationError::new(ErrorCode::ValidationInvalidValue, message);
    if let Some(fault) = faults.first() {
        error = error
            .with_detail("param_name", clean(&fault.path))
            .with_detail("expected", expectation(fault));
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

/// The error for fields of `input` that only the adapter may set (REQ-UPD-06).
pub(super) fn read_only_error(operation: &RegisteredOperation, faults: &[Fault]) -> OperationError {
    let names: Vec<_> = faults.iter().map(|fault| clean(&fault.path)).collect();
    let shown: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
    OperationError::new(
        ErrorCode::ValidationReadOnlyField,
        format!("Only the adapter writes {}: leave it out of 'input'", shown.join(", ")),
    )
    .with_detail("operation", operation.name.to_string())
    .with_detail("read_only_fields", names)
}

/// One error for all unknown names, with the valid and the most similar names (REQ-UNK-01 to REQ-UNK-04,
/// REQ-UNK-08).
pub(super) fn unknown_error(operation: &RegisteredOperation, unknown: &[String]) -> OperationError {
    let valid: Vec<_> = operation.parameters.iter().map(|parameter| &*parameter.name).collect();
    let near: Vec<_> = unknown
        .iter()
        .take(MAX_SHOWN_NAMES)
        .filter_map(|name| {
            // `taskId` is a closer match for `task_id` than the edit distance shows.
            let camel = valid.iter().copied().find(|valid| is_camel_case_of(name, valid));
            let near = camel.or_else(|| probable_parameter(name, valid.iter().copied()))?;
            Some(["Did you mean '", near, "' for '", &clean(name), "'?"].concat())
        })
        .collect();
    let words = ("parameter", "params");
    unknown_names(ErrorCode::ValidationUnknownParam, words, operation, unknown, &valid, &near)
}

/// The error for unknown names inside an object: a parameter, or an UPDATE's `input` (REQ-UPD-05,
/// REQ-UPD-06).
pub(super) fn nested_unknown_error(
    operation: &RegisteredOperation,
    faults: &[Fault],
) -> OperationError {
    let mut names = Vec::new();
    let mut valid_names = Vec::new();
    let mut near = Vec::new();
    let takes_input = operation.parameters.iter().any(|parameter| parameter.input.is_some());
    let mut inside_input = false;
    for fault in faults {
        let FaultKind::Unknown { valid, hint } = &fault.kind else { continue };
        // A field's name is its path inside `input`.
        let inside = fault.path.strip_prefix("input.").filter(|_| takes_input).is_some();
        inside_input |= inside;
        let name_of = |path: &str| match path.strip_prefix("input.") {
            Some(name) if inside => name.to_owned(),
            _ => path.to_owned(),
        };
        names.push(name_of(&fault.path));
        let path = clean(&name_of(&fault.path));
        match hint {
            Hint::Name(name) => near.push(format!("Did you mean '{name}' for '{path}'?")),
            Hint::Identifier => {
                near.push(format!("'{path}' names the resource: give it beside 'input'."));
            }
            Hint::None => {}
        }
        for name in valid.iter().map(|valid| name_of(valid)) {
            if !valid_names.contains(&name) {
                valid_names.push(name);
            }
        }
    }
    let (code, words) = if inside_input {
        (ErrorCode::ValidationUnknownField, ("field", "fields"))
    } else {
        (ErrorCode::ValidationUnknownParam, ("parameter", "params"))
    };
    let valid_names: Vec<_> = valid_names.iter().map(String::as_str).collect();
    unknown_names(code, words, operation, &names, &valid_names, &near)
}

/// Whether a name is `taskId` and another one `task_id`.
fn is_camel_case_of(name: &str, snake: &str) -> bool {
    let length = snake.bytes().filter(|byte| *byte != b'_').count();
    name.len() == length && camel_case(snake) == name
}

fn unknown_names(
    code: ErrorCode,
    (word, key): (&str, &str),
    operation: &RegisteredOperation,
    unknown: &[String],
    valid: &[&str],
    hints: &[String],
) -> OperationError {
    let cleaned: Vec<_> = unknown.iter().take(MAX_SHOWN_NAMES).map(|name| clean(name)).collect();
    let mut message = String::with_capacity(256);
    message.extend(["Unknown ", word, "(s) for operation '", &operation.name, "': "]);
    for (index, name) in cleaned.iter().enumerate() {
        message.extend([if index > 0 { ", '" } else { "'" }, name, "'"]);
    }
    if unknown.len() > MAX_SHOWN_NAMES {
        let _ = write!(message, ", and {} more", unknown.len() - MAX_SHOWN_NAMES);
    }
    message.push('.');
    for hint in hints.iter().take(MAX_SHOWN_NAMES) {
        message.extend([" ", hint]);
    }
    let list = if valid.is_empty() { "none".to_owned() } else { valid.join(", ") };
    message.extend([" Valid ", word, "s: ", &list]);
    let error = OperationError::new(code, message)
        .with_detail("operation", &*operation.name)
        .with_detail(&["unknown_", key].concat(), cleaned)
        .with_detail(&["valid_", key].concat(), valid);
    if unknown.len() > MAX_SHOWN_NAMES {
        return error.with_detail("unknown_count", unknown.len());
    }
    error
}
