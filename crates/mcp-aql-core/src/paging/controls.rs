//! Checks the page controls `first`, `after`, `last` and `before`.

use mcp_aql_protocol::ErrorCode;

use crate::error::OperationError;
use crate::error::warning::{Severity, Warning};
use crate::text::clean;

/// The controls of cursor paging (REQ-PAG-01).
pub const CURSOR_CONTROLS: [&str; 4] = ["first", "after", "last", "before"];

/// Page controls that exclude each other (REQ-PAG-02, REQ-PAG-03).
#[derive(Debug)]
pub struct Contradiction {
    /// Controls that would be valid.
    pub expected: &'static str,
    /// Controls of the call.
    pub provided: Vec<&'static str>,
    /// A change that makes the call valid.
    pub hint: &'static str,
}

impl Contradiction {
    /// Finds a conflict between the page controls of a call. Returns `None` if they are consistent.
    pub fn find(provided: &[&'static str]) -> Option<Self> {
        let has = |name: &str| provided.contains(&name);
        let found = |expected, hint| Some(Self { expected, provided: provided.to_vec(), hint });
        let pairs = [
            (
                "first",
                "last",
                "'first' or 'last'",
                "ask for the first rows or for the last, not both",
            ),
            ("first", "before", "'first' with 'after'", "'before' goes with 'last'"),
            ("last", "after", "'last' with 'before'", "'after' goes with 'first'"),
        ];
        for (one, other, expected, hint) in pairs {
            if has(one) && has(other) {
                return found(expected, hint);
            }
        }
        if has("after") && !has("first") {
            return found("'first' with 'after'", "add 'first', the size of the page");
        }
        if has("before") && !has("last") {
            return found("'last' with 'before'", "add 'last', the size of the page");
        }
        None
    }

    /// Returns the error message for the client.
    pub fn message(&self) -> String {
        let provided: Vec<_> = self.provided.iter().map(|name| format!("'{name}'")).collect();
        format!("Paging by {} is not possible: {}", provided.join(" and "), self.hint)
    }

    /// Adds the protocol's details of this error, except `param_name`:
    ///
    /// ```json
    /// {
    ///   "expected_type": "'first' or 'last'", "actual_type": "first+last", "provided": ["first", "last"],
    ///   "hint": "ask for the first rows or for the last, not both"
    /// }
    /// ```
    pub fn describe(&self, error: OperationError) -> OperationError {
        error
            .with_detail("expected_type", self.expected)
            .with_detail("actual_type", self.provided.join("+"))
            .with_detail("provided", self.provided.clone())
            .with_detail("hint", self.hint)
    }

    /// Creates the error of a list without other mistakes to report.
    pub(crate) fn error(&self) -> OperationError {
        let error = OperationError::new(ErrorCode::ValidationInvalidType, self.message());
        self.describe(error.with_detail("param_name", "pagination"))
    }
}

/// Clamps the page size to the limit. Adds a warning if the result is less than requested (REQ-PAG-08).
pub fn clamped(
    name: &'static str,
    asked: usize,
    limit: usize,
    warnings: &mut Vec<Warning>,
) -> usize {
    if asked > limit {
        warnings.push(
            Warning::new(
                "VALIDATION_PAGE_SIZE_WARNING",
                format!(
                    "The maximum is '{limit}' entries per page; request the next page for more"
                ),
            )
            .severity(Severity::Low)
            .detail(name, asked)
            .detail("limit", limit),
        );
    }
    asked.min(limit)
}

/// The detail `expected` of the error for a rejected cursor.
pub const EXPECTED_CURSOR: &str = "a cursor of an earlier page";

/// Completes the sentence "Parameter 'after' …" for a cursor that does not belong to this list and these `controls`.
pub fn refused_cursor(text: &str, list: &str, controls: &str) -> String {
    let shown = clean(text);
    format!(
        "is '{shown}', but this {list} has no such cursor: send a cursor of one of its pages unchanged, with \
         the same {controls}, or start again without a cursor if the adapter was restarted"
    )
}
