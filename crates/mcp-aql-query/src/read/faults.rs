//! Collects the errors of a query and combines them into one error.

use std::collections::BTreeSet;

use mcp_aql_protocol::{ErrorCode, nearest_name, probable_parameter, snake_case};
use serde_json::Value;

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::paging::Contradiction;
use mcp_aql_core::internal::text::{clean, parsed_json};
use mcp_aql_core::internal::vocab::json_type;

/// One error of a query.
#[derive(Debug)]
pub(crate) struct QueryFault {
    param: String,
    /// The error message without the names to choose from.
    message: String,
    /// The names to choose from, and the probable one.
    choice: Option<Choice>,
    kind: FaultKind,
}

/// The end of an error message. Consecutive errors with the same list share it.
#[derive(Debug)]
struct Choice {
    list: String,
    hint: String,
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

/// The errors found so far.
#[derive(Debug, Default)]
pub(crate) struct QueryFaults(Vec<QueryFault>);

/// The parameters of a query. Callers sometimes send one inside another.
pub(super) const PARAMETERS: [&str; 9] =
    ["query", "filter", "sort", "fields", "aggregate", "first", "after", "last", "before"];

/// The keys of a filter that combine conditions.
pub(super) const GROUPS: [&str; 3] = ["and", "or", "not"];

/// Maximum number of reported errors. It limits the size of the reply.
const MAX_FAULTS: usize = 20;

impl QueryFaults {
    /// Returns `true` if the limit is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    /// Returns the number of errors.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn push(&mut self, fault: QueryFault) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(fault);
        }
    }

    /// Reports a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, param: &str, expected: &str, value: &Value) {
        self.wrong_form(param, expected, value, None);
    }

    /// Reports a value of the wrong type like [`wrong_type`](Self::wrong_type). The message also shows the
    /// form to send, unless it is enough to change the value.
    pub(crate) fn wrong_form(
        &mut self,
        param: &str,
        expected: &str,
        value: &Value,
        form: Option<&str>,
    ) {
        let (param, actual) = (clean(param), json_type(value));
        let is_scalar = value.is_number() || value.is_boolean();
        let is_list = param.ends_with(']') && value.as_array().is_some_and(|it| it.len() > 1);
        let hint = match form {
            Some(_) if is_scalar => None,
            _ if is_list => Some("Send its items directly in the outer list"),
            _ => type_hint(expected, value),
        };
        let hint = hint.map(str::to_owned);
        let hint = hint.or_else(|| Some(format!("Send {}", form?)));
        let hint = hint.map(|hint| format!(". {hint}")).unwrap_or_default();
        self.push(QueryFault {
            message: format!("Parameter '{param}' expected '{expected}', got '{actual}'{hint}"),
            choice: None,
            kind: FaultKind::Type(expected.to_owned(), actual.to_owned()),
            param,
        });
    }

    /// Reports an invalid value. `what` continues the sentence after the parameter's name:
    ///
    /// ```text
    /// Parameter 'filter.and' is empty: leave it out, or give it one filter or more
    /// ```
    pub(crate) fn refuse(&mut self, param: &str, what: &str, expected: impl Into<String>) {
        let param = clean(param);
        self.push(QueryFault {
            message: format!("Parameter '{param}' {what}"),
            choice: None,
            kind: FaultKind::Value(expected.into(), Vec::new()),
            param,
        });
    }

    /// Reports an unknown name, with the names to choose from.
    pub(crate) fn unknown(&mut self, param: &str, what: &str, name: &str, valid: &[&str]) {
        self.unknown_meaning(param, what, name, valid, None);
    }

    /// Reports an unknown name like [`unknown`](Self::unknown). `meaning` is a sentence that says what to
    /// send instead.
    pub(crate) fn unknown_meaning(
        &mut self,
        param: &str,
        what: &str,
        name: &str,
        valid: &[&str],
        meaning: Option<String>,
    ) {
        // A measure of similarity alone would not suggest `_computed.age_days` for `age_days`, or `desc` for
        // `DESC`.
        let snake = snake_case(name);
        let letters = |name: &str| {
            let mut letters: Vec<_> = name.chars().collect();
            letters.sort_unstable();
            letters
        };
        // Two swapped letters make a short name too dissimilar for `nearest_name`.
        let swapped = |known: &str| known.len() == name.len() && letters(known) == letters(name);
        let same = |known: &&&str| {
            snake_case(known) == snake
                || swapped(known)
                || known.rsplit('.').next() == Some(snake.as_str())
        };
        let near = || {
            let near = valid.iter().find(same).copied();
            near.or_else(|| match what {
                "field" | "operator" => probable_parameter(name, valid.iter().copied()),
                "key" => {
                    let fields = valid.iter().copied().filter(|key| !GROUPS.contains(key));
                    probable_parameter(name, fields)
                }
                _ => nearest_name(name, valid.iter().copied()),
            })
        };
        let hint = meaning.or_else(|| near().map(|near| format!("Did you mean '{near}'?")));
        let hint = hint.map(|hint| format!(". {hint}")).unwrap_or_default();
        let (param, name) = (clean(param), clean(name));
        let list = valid.join(", ");
        let (known_names, expected) = if valid.is_empty() {
            (format!("no {what} is supported"), format!("no {what}"))
        } else {
            (format!("one of: {list}"), known(what))
        };
        self.push(QueryFault {
            message: format!("Parameter '{param}' has unknown {what} '{name}'"),
            choice: Some(Choice { list: format!(": {known_names}"), hint }),
            kind: FaultKind::Value(expected, valid.iter().map(ToString::to_string).collect()),
            param,
        });
    }

    /// Reports an existing field without this capability.
    pub(crate) fn unsupported(&mut self, param: &str, verb: &str, name: &str, valid: &[&str]) {
        let (param, name) = (clean(param), clean(name));
        let list = if valid.is_empty() { "none".to_owned() } else { valid.join(", ") };
        self.push(QueryFault {
            message: format!("Parameter '{param}' names '{name}', which cannot be {verb}"),
            choice: Some(Choice { list: format!("; these can: {list}"), hint: String::new() }),
            kind: FaultKind::Value(
                format!("a field which can be {verb}"),
                valid.iter().map(ToString::to_string).collect(),
            ),
            param,
        });
    }

    /// Reports a parameter of the query sent inside another one.
    pub(crate) fn inside(&mut self, param: &str, what: &str, name: &str, path: &str) {
        let (param, name, path) = (clean(param), clean(name), clean(path));
        self.push(QueryFault {
            message: format!(
                "Parameter '{param}' has unknown {what} '{name}'. \
                 '{path}' belongs next to '{param}', not inside it"
            ),
            choice: None,
            kind: FaultKind::Value(known(what), Vec::new()),
            param,
        });
    }

    pub(crate) fn paging(&mut self, contradiction: Contradiction) {
        self.push(QueryFault {
            message: contradiction.message(),
            choice: None,
            kind: FaultKind::Paging(contradiction),
            param: "pagination".to_owned(),
        });
    }

    /// Combines all errors into one. Its details are those of the first error.
    pub(crate) fn into_error(self) -> Option<OperationError> {
        let first = self.0.first()?;
        let mut message = String::new();
        let mut shown_list = "";
        for fault in &self.0 {
            let separator = match message.chars().last() {
                None => "",
                Some('?') => " ",
                Some(_) => ". ",
            };
            message.push_str(separator);
            message.push_str(&fault.message);
            if let Some(Choice { list, hint }) = &fault.choice {
                if list != shown_list {
                    message.push_str(list);
                }
                message.push_str(hint);
                shown_list = list;
            }
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

/// Returns `true` if a string contains the JSON of an object or a list.
pub(super) fn is_json_text(text: &str) -> bool {
    parsed_json(text).is_some_and(|value| value.is_object() || value.is_array())
}

/// Returns the next step after a value of the wrong type. The first word of `expected` is the expected type.
fn type_hint(expected: &str, value: &Value) -> Option<&'static str> {
    let fits = |value: &Value| match expected.split(' ').next().unwrap_or_default() {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "string" | "date" | "date-time" => value.is_string(),
        _ => false,
    };
    match value {
        Value::String(text)
            if is_json_text(text) || parsed_json(text).is_some_and(|value| fits(&value)) =>
        {
            Some("Send it as JSON, not as a string")
        }
        Value::Number(_) | Value::Bool(_) if expected.starts_with("string") => {
            Some("Send it as a string, in quotation marks")
        }
        Value::Number(number) if expected == "integer" && number.is_f64() => {
            Some("Send a whole number")
        }
        Value::Array(values) => match values.as_slice() {
            [only] if fits(only) => Some("Send one value, not a list"),
            _ => None,
        },
        Value::Object(members) => {
            let mut values = members.values();
            let only = values.next().filter(|_| values.next().is_none());
            only.is_some_and(fits).then_some("Send the value alone, without an object")
        }
        _ if expected == "array" => Some("Send a list of it: [value]"),
        _ if expected == "boolean" => Some("Send true or false"),
        _ => None,
    }
}

/// Returns the expectation of a known name: `a known operator`.
fn known(what: &str) -> String {
    format!("a known {what}")
}
