//! Warnings about accepted parameters: deprecated ones, and unknown ones ignored in lenient mode.

use serde_json::Value;

use crate::error::warning::{Deprecation, Severity, Warning};
use crate::observe::logging::CALLS;
use crate::operation::{Parameter, RegisteredOperation};
use crate::schema::spec::{InputSpec, Merge};
use crate::text::clean;

/// Adds a warning for a deprecated parameter, and for each deprecated field in its value (REQ-WRN-07).
pub(super) fn add_deprecated(parameter: &Parameter, value: &Value, warnings: &mut Vec<Warning>) {
    if let Some(deprecation) = &parameter.spec.deprecated {
        warnings.push(deprecated(parameter.spec.name, deprecation));
    }
    if let Some(input) = &parameter.input {
        add_deprecated_fields(input, value, warnings);
    }
}

fn add_deprecated_fields(input: &InputSpec, value: &Value, warnings: &mut Vec<Warning>) {
    // The depth of the value is limited, and so is this recursion.
    for field in input.fields {
        let Some(value) = value.get(field.parameter.name) else { continue };
        if let Some(deprecation) = &field.parameter.deprecated {
            warnings.push(deprecated(field.parameter.name, deprecation));
        }
        if let Merge::Fields(nested) = field.merge {
            add_deprecated_fields(&nested(), value, warnings);
        }
    }
}

fn deprecated(name: &str, deprecation: &Deprecation) -> Warning {
    Warning::deprecated("parameter", name, deprecation, chrono::Utc::now().date_naive())
}

/// Code of the warning about an ignored parameter.
const IGNORED_PARAMETER: &str = "VALIDATION_UNKNOWN_PARAM_WARNING";

/// Creates the warning about an ignored unknown parameter (REQ-UNK-08).
pub(super) fn ignored_parameter(name: &str) -> Warning {
    let name = clean(name);
    let message = format!("Unknown parameter '{name}' was ignored");
    Warning::new(IGNORED_PARAMETER, message).severity(Severity::Medium).detail("param_name", name)
}

/// Logs the parameters that a call ignored.
pub(crate) fn log_ignored_parameters(operation: &RegisteredOperation, warnings: &[Warning]) {
    for warning in warnings.iter().filter(|warning| warning.code() == IGNORED_PARAMETER) {
        let parameter = warning.details().get("param_name").and_then(Value::as_str);
        tracing::warn!(target: CALLS, operation = &*operation.name, parameter, "unknown parameter ignored");
    }
}
