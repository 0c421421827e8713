//! The faults of a query, combined into one error.

use std::collections::BTreeSet;

use mcp_aql_protocol::{ErrorCode, nearest_name};

use mcp_aql_core::error::OperationError;
use mcp_aql_core::paging::Contradiction;
use mcp_aql_core::text::clean;

/// A fault of a query.
#[derive(Debug)]
pub(crate) struct QueryFault {
    param: String,
    /// The complete error message.
    message: String,
    kind: FaultKind,
}

#[derive(Debug)]
enum FaultKind {
    /// A value of the wrong type: the expected and the actual type.
    Type(String, String),
    /// An invalid value: the expectation, and the names to choose from.
    Value(String, Vec<String>),
    /// Page controls that exclude each other.
    Paging(Contradiction),
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct QueryFaults(Vec<QueryFault>);

/// The maximum number of reported faults, which bounds the size of the reply.
const MAX_FAULTS: usize = 20;

impl QueryFaults {
    /// Whether the limit is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    fn push(&mut self, fault: QueryFault) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(fault);
        }
    }

    /// Records a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, param: &str, expected: &str, actual: &str) {
        let param = clean(param);
        self.push(QueryFault {
            message: format!("Parameter '{param}' expected '{expected}', got '{actual}'"),
            kind: FaultKind::Type(expected.to_owned(), actual.to_owned()),
            param,
        });
    }

    /// Records an invalid value; `what` continues the sentence after the parameter's name.
    pub(crate) fn refuse(&mut self, param: &str, what: &str, expected: impl Into<String>) {
        let param = clean(param);
        self.push(QueryFault {
            message: format!("Parameter '{param}' {what}"),
            kind: FaultKind::Value(expected.into(), Vec::new()),
            param,
        });
    }

    /// Records an unknown name, with the names to choose from.
    pub(crate) fn unknown(&mut self, param: &str, what: &str, name: &str, valid: &[&str]) {
        // `age_days` is closest to `_computed.age_days`, and `DESC` to `desc`, but a measure of
        // edit distance would not find them.
        let same = |known: &&&str| {
            known.eq_ignore_ascii_case(name) || known.rsplit('.').next() == Some(name)
        };
        let near = valid.iter().find(same).copied();
        let near = near.or_else(|| nearest_name(name, valid.iter().copied()));
        let hint = near.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
        let (param, name) = (clean(param), clean(name));
        let list = valid.join(", ");
        let (known_names, expected) = if valid.is_empty() {
            (format!("no {what} is offered"), format!("no {what}"))
        } else {
            (format!("one of: {list}"), format!("a {what} that is known"))
        };
        self.push(QueryFault {
            message: format!(
                "Parameter '{param}' has unknown {what} '{name}': {known_names}{hint}"
            ),
            kind: FaultKind::Value(expected, valid.iter().map(ToString::to_string).collect()),
            param,
        });
    }

    /// Records a field that exists but lacks this capability.
    pub(crate) fn unsupported(&mut self, param: &str, verb: &str, name: &str, valid: &[&str]) {
        let (param, name) = (clean(param), clean(name));
        let list = if valid.is_empty() { "none".to_owned() } else { valid.join(", ") };
        self.push(QueryFault {
            message: format!(
                "Parameter '{param}' names '{name}', which cannot be {verb}; these can: {list}"
            ),
            kind: FaultKind::Value(
                format!("a field that can be {verb}"),
                valid.iter().map(ToString::to_string).collect(),
            ),
            param,
        });
    }

    pub(crate) fn paging(&mut self, contradiction: Contradiction) {
        self.push(QueryFault {
            message: contradiction.message(),
            kind: FaultKind::Paging(contradiction),
            param: "pagination".to_owned(),
        });
    }

    /// Combines all faults into one error; its details are those of the first fault.
    pub(crate) fn into_error(self) -> Option<OperationError> {
        let first = self.0.first()?;
        let mut message = String::new();
        for fault in &self.0 {
            let separator = match message.chars().last() {
                None => "",
                Some('?') => " ",
                Some(_) => ". ",
            };
            message.push_str(separator);
            message.push_str(&fault.message);
        }
        let code = match first.kind {
            FaultKind::Type(..) | FaultKind::Paging(_) => ErrorCode::ValidationInvalidType,
            FaultKind::Value(..) => ErrorCode::ValidationInvalidValue,
        };
        let error =
            OperationError::new(code, message).with_detail("param_name", first.param.clone());
        let error = match &first.kind {
            FaultKind::Type(expected, actual) => error
                .with_detail("expected_type", expected.clone())
                .with_detail("actual_type", actual.clone()),
            FaultKind::Value(expected, valid) if valid.is_empty() => {
                error.with_detail("expected", expected.clone())
            }
            FaultKind::Value(expected, valid) => error
                .with_detail("expected", expected.clone())
                .with_detail("valid_values", valid.clone()),
            FaultKind::Paging(contradiction) => contradiction.describe(error),
        };
        if self.0.len() < 2 {
            return Some(error);
        }
        let all: BTreeSet<_> = self.0.iter().map(|fault| fault.param.clone()).collect();
        Some(error.with_detail("invalid_params", all.into_iter().collect::<Vec<_>>()))
    }
}
