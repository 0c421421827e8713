//! The parts of an execution's state: progress, error and warnings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::error::OperationError;
use crate::error::warning::Warnings;
use crate::operation::Advance;

/// The progress of an execution: `current` of `total`, or only a message (REQ-LIF-06).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExecutionProgress", description = "The progress of an execution.")]
pub struct Progress {
    /// Number of completed steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    current: Option<Number>,
    /// The total number of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    total: Option<Number>,
    /// The current activity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Maximum number of characters in a progress message.
const MAX_MESSAGE_CHARS: usize = 500;

impl Progress {
    pub(crate) fn of_message(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::default() }
    }

    /// Applies a progress report. Numbers are kept until a report replaces them.
    pub(crate) fn advance(&mut self, advance: Advance) {
        let message =
            advance.message.map(|text| text.chars().take(MAX_MESSAGE_CHARS).collect::<String>());
        let number = |value: f64| value.is_finite().then_some(value);
        let total = advance.total.and_then(number).filter(|total| *total > 0.0);
        if let (Some(done), Some(total)) = (advance.done.and_then(number), total) {
            self.current = plain(done.clamp(0.0, total));
            self.total = plain(total);
            self.message = message;
        } else if message.is_some() {
            self.message = message;
        }
    }

    /// Returns the completed part, from 0 to 1.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let (current, total) = self.numbers()?;
        Some((current / total).clamp(0.0, 1.0))
    }

    /// Returns the number of completed steps and the total number of steps.
    pub fn numbers(&self) -> Option<(f64, f64)> {
        Some((self.current.as_ref()?.as_f64()?, self.total.as_ref()?.as_f64()?))
    }

    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

/// Converts a number to JSON. An integer becomes `3` and not `3.0`.
fn plain(value: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        return Some(Number::from(value as u64));
    }
    Number::from_f64(value)
}

/// Serializes warnings for the record. Warnings beyond the size limit are logged instead.
pub(crate) fn serialize_warnings(id: &str, warnings: Warnings) -> Vec<Value> {
    const MAX_WARNING_BYTES: usize = 8 << 10;
    let mut bytes = 0;
    let mut kept = Vec::new();
    for warning in warnings.into_vec() {
        let text = serde_json::to_string(&warning).unwrap_or_default();
        if bytes + text.len() > MAX_WARNING_BYTES {
            tracing::warn!(
                execution = id,
                warning = text,
                "warning dropped: too large for the record"
            );
            continue;
        }
        bytes += text.len();
        kept.extend(serde_json::from_str::<Value>(&text));
    }
    kept
}

/// The error of a failed execution, in the same form as the error of any call (REQ-LIF-05).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "The error of a failed execution.")]
pub(crate) struct ExecutionError {
    code: String,
    message: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(with = "Option<Map<String, Value>>")]
    details: Map<String, Value>,
}

impl ExecutionError {
    pub(crate) fn of(error: &OperationError) -> Self {
        /// Larger errors are shortened, because records are kept for a long time, and lists return many of them.
        const MAX_ERROR_BYTES: usize = 16 << 10;
        let whole = Self::whole(error);
        match serde_json::to_string(&whole) {
            Ok(text) if text.len() <= MAX_ERROR_BYTES => whole,
            _ => Self::whole(&error.shortened()),
        }
    }

    fn whole(error: &OperationError) -> Self {
        Self {
            code: error.code().as_str().to_owned(),
            message: error.message().to_owned(),
            details: error.details().clone(),
        }
    }

    #[cfg(test)]
    pub(crate) fn details(&self) -> &Map<String, Value> {
        &self.details
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn advanced(progress: &mut Progress, done: f64, total: f64, message: &str) -> Value {
        let message = Some(message.to_owned()).filter(|text| !text.is_empty());
        progress.advance(Advance { done: Some(done), total: Some(total), message });
        serde_json::to_value(&progress).unwrap()
    }

    #[test]
    fn progress_has_the_protocols_form() {
        // REQ-LIF-06
        let mut progress = Progress::default();
        assert_eq!(
            advanced(&mut progress, 3.0, 8.0, "zone 3"),
            json!({ "current": 3, "total": 8, "message": "zone 3" })
        );
        assert_eq!(progress.ratio(), Some(0.375));
        assert_eq!(advanced(&mut progress, 0.5, 2.0, ""), json!({ "current": 0.5, "total": 2 }));
        progress.advance(Advance { message: Some("waits".to_owned()), ..Advance::default() });
        assert_eq!(
            serde_json::to_value(&progress).unwrap(),
            json!({ "current": 0.5, "total": 2, "message": "waits" })
        );
        // Invalid numbers are ignored.
        for (done, total) in [(f64::NAN, 2.0), (1.0, 0.0), (1.0, f64::INFINITY)] {
            assert_eq!(
                advanced(&mut progress, done, total, ""),
                json!({ "current": 0.5, "total": 2, "message": "waits" })
            );
        }
        assert_eq!(advanced(&mut progress, 9.0, 2.0, ""), json!({ "current": 2, "total": 2 }));
    }

    #[test]
    fn a_failure_keeps_its_form_and_is_no_longer_than_it_has_to_be() {
        // REQ-LIF-05
        let error = OperationError::not_found("task", "t-1");
        assert_eq!(
            serde_json::to_value(ExecutionError::of(&error)).unwrap(),
            serde_json::to_value(&error).unwrap()
        );
        let long = error.with_detail("log", "x".repeat(20_000));
        assert!(ExecutionError::of(&long).details().is_empty());
    }
}
