use serde_json::{Map, Value};

use super::limits::check_request;
use crate::error::{ErrorCode, OperationError};
use crate::vocab::{Limits, json_type};

/// What a client asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// One operation.
    One(OperationInput),
    /// Several, in order.
    Batch(Vec<Result<OperationInput, Refused>>),
}

/// One request: the operation's name and its parameters, from `params` and from the top level
/// (REQ-RQ-01, REQ-RQ-03).
#[derive(Debug)]
pub(crate) struct OperationInput {
    pub(crate) operation: String,
    pub(crate) params: Map<String, Value>,
    pub(crate) credentials: Credentials,
}

/// The tokens that a call brings along: the only members of `params` with `_` that mean something.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    /// `params._confirmation` (REQ-TOK-06).
    pub(crate) confirmation: Option<String>,
    /// `params._quota_continue` (REQ-RATE-07).
    pub(crate) quota_continue: Option<String>,
}

impl Credentials {
    /// Takes them out of `params`. What is no text is no token, and is refused like a wrong one.
    fn take(params: &mut Map<String, Value>) -> Self {
        let mut text = |name: &str| match params.remove(name)? {
            Value::Null => None,
            Value::String(token) => Some(token),
            _ => Some(String::new()),
        };
        Self { confirmation: text("_confirmation"), quota_continue: text("_quota_continue") }
    }
}

/// A request, or an item of a batch, that is none. An item fails by itself, and the others run.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The operation it names, if it does.
    pub(crate) operation: String,
    /// It was a batch.
    pub(crate) batch: bool,
    pub(crate) error: OperationError,
}

/// The members of a request, sorted in one pass. Metadata, whose names start with `_`, is gone: it is
/// no parameter (REQ-UNK-05). Clients that write absent members as null mean the same as those that
/// leave them out.
#[derive(Default)]
struct Members {
    operation: Option<Value>,
    operations: Option<Value>,
    params: Option<Value>,
    /// What else stands at top level: parameters (REQ-RQ-03).
    rest: Vec<(String, Value)>,
}

impl Members {
    fn of(arguments: Map<String, Value>) -> Self {
        let mut members = Self::default();
        for (name, value) in arguments {
            match name.as_str() {
                "operation" => members.operation = given(value),
                "operations" => members.operations = given(value),
                "params" => members.params = given(value),
                _ if name.starts_with('_') => {}
                _ => members.rest.push((name, value)),
            }
        }
        members
    }

    /// The operation's name, if it is one.
    fn name(&self) -> String {
        self.operation.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

fn given(value: Value) -> Option<Value> {
    Some(value).filter(|value| !value.is_null())
}

/// Measures the tool arguments and reads them.
pub(crate) fn decode(
    arguments: Map<String, Value>,
    batch: bool,
    limits: &Limits,
) -> Result<Request, Refused> {
    let measured = check_request(&arguments, limits);
    let mut members = Members::of(arguments);
    if let Err(error) = measured {
        let (operation, batch) = (members.name(), members.operations.is_some());
        return Err(Refused { operation, batch, error });
    }
    match members.operations.take() {
        None => operation_input(members).map(Request::One),
        Some(operations) => decode_batch(operations, &members, batch, limits)
            .map_err(|error| Refused { operation: members.name(), batch: true, error }),
    }
}

fn operation_input(members: Members) -> Result<OperationInput, Refused> {
    let refused = |operation, error| Err(Refused { operation, batch: false, error });
    let operation = match members.operation {
        Some(Value::String(name)) if !name.is_empty() => name,
        Some(Value::String(empty)) => {
            let error = OperationError::invalid_value("operation", "must not be empty");
            return refused(empty, error);
        }
        Some(other) => {
            let actual = json_type(&other);
            let error = OperationError::invalid_type("operation", "string", actual);
            return refused(String::new(), error);
        }
        None => return refused(String::new(), missing_operation()),
    };
    let mut params = match members.params {
        Some(Value::Object(params)) => params,
        None => Map::new(),
        Some(other) => {
            let error = OperationError::invalid_type("params", "object", json_type(&other))
                .with_detail("operation", operation.as_str());
            return refused(operation, error);
        }
    };
    let mut credentials = Credentials::default();
    if params.keys().any(|name| name.starts_with('_')) {
        credentials = Credentials::take(&mut params);
        params.retain(|name, _| !name.starts_with('_'));
    }
    for (name, value) in members.rest {
        // `params.<name>` comes before the top-level `<name>` (REQ-RQ-03).
        params.entry(name).or_insert(value);
    }
    // Only a batch has such a member; elsewhere it is a name like any other.
    if let Some(value) = members.operations {
        params.entry("operations").or_insert(value);
    }
    Ok(OperationInput { operation, params, credentials })
}

fn missing_operation() -> OperationError {
    OperationError::new(
        ErrorCode::ValidationMissingParam,
        "Missing required parameter 'operation'. Expected: string (name of the operation). \
         Call introspect to list the operations",
    )
    .with_detail("param_name", "operation")
}

fn decode_batch(
    operations: Value,
    members: &Members,
    batch: bool,
    limits: &Limits,
) -> Result<Request, OperationError> {
    let fault = |message: String| OperationError::new(ErrorCode::BatchValidationError, message);
    if !batch {
        return Err(fault("Batches are switched off: send one 'operation' per call".to_owned()));
    }
    let beside = members
        .operation
        .as_ref()
        .map(|_| "operation")
        .or_else(|| members.params.as_ref().map(|_| "params"))
        .or_else(|| members.rest.first().map(|(name, _)| name.as_str()));
    if let Some(name) = beside {
        let name = crate::router::clean(name);
        return Err(fault(format!(
            "A batch has no member besides 'operations': move '{name}' into its items"
        )));
    }
    let Value::Array(items) = operations else {
        let actual = json_type(&operations);
        return Err(fault(format!("'operations' expected 'array', got '{actual}'")));
    };
    let most = limits.max_batch_operations;
    if items.is_empty() {
        return Err(fault("A batch needs one or more operations".to_owned()));
    }
    if items.len() > most {
        let given = items.len();
        return Err(fault(format!("A batch takes up to {most} operations, got {given}: split it")));
    }
    Ok(Request::Batch(items.into_iter().map(batch_item).collect()))
}

fn batch_item(item: Value) -> Result<OperationInput, Refused> {
    let Value::Object(item) = item else {
        let error = OperationError::invalid_type("operations", "object", json_type(&item));
        return Err(Refused { operation: String::new(), batch: false, error });
    };
    operation_input(Members::of(item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decoded(value: Value) -> Result<Request, OperationError> {
        decode(value.as_object().unwrap().clone(), true, &Limits::default())
            .map_err(|refused| refused.error)
    }

    fn one(value: Value) -> OperationInput {
        match decoded(value).unwrap() {
            Request::One(input) => input,
            Request::Batch(_) => panic!("a batch"),
        }
    }

    #[test]
    fn params_come_before_the_top_level() {
        // REQ-RQ-01, REQ-RQ-03, REQ-UNK-05
        let input = one(json!({
            "operation": "get_task", "task_id": "top", "limit": 5, "_meta": {"a": 1},
            "params": {"task_id": "params", "_request_id": 7},
        }));
        assert_eq!(input.operation, "get_task");
        assert_eq!(Value::from(input.params), json!({"task_id": "params", "limit": 5}));
    }

    #[test]
    fn the_form_of_a_request_is_checked() {
        // REQ-RQ-01, REQ-RQ-02
        for (value, code) in [
            (json!({}), ErrorCode::ValidationMissingParam),
            (json!({"operation": ""}), ErrorCode::ValidationInvalidValue),
            (json!({"operation": 7}), ErrorCode::ValidationInvalidType),
            (json!({"operation": null}), ErrorCode::ValidationMissingParam),
            (json!({"operations": null}), ErrorCode::ValidationMissingParam),
            (json!({"operation": "a", "params": "{}"}), ErrorCode::ValidationInvalidType),
            (json!({"operation": "a", "params": []}), ErrorCode::ValidationInvalidType),
        ] {
            assert_eq!(decoded(value.clone()).unwrap_err().code(), code, "{value}");
        }
    }

    #[test]
    fn a_malformed_batch_is_one_error() {
        // REQ-BAT-01, REQ-BAT-06
        let many = vec![json!({"operation": "a"}); 101];
        for (value, fragment) in [
            (json!({"operations": []}), "one or more"),
            (json!({"operations": {}}), "expected 'array'"),
            (json!({"operations": [{"operation": "a"}], "operation": "a"}), "move 'operation'"),
            (json!({"operations": many}), "up to 100"),
        ] {
            let error = decoded(value.clone()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::BatchValidationError, "{value}");
            assert!(error.message().contains(fragment), "{}", error.message());
            assert!(error.details().is_empty());
        }
    }

    #[test]
    fn a_faulty_item_fails_alone() {
        // REQ-BAT-02
        let batch = decoded(json!({"operations": [7, {"operation": "a", "x": 1}, {"params": {}}]}));
        let Ok(Request::Batch(items)) = batch else { panic!("no batch") };
        let codes: Vec<_> = items
            .iter()
            .map(|item| item.as_ref().map_err(|fault| fault.error.code()).map(|_| ()))
            .collect();
        assert_eq!(
            codes,
            [Err(ErrorCode::ValidationInvalidType), Ok(()), Err(ErrorCode::ValidationMissingParam)]
        );
    }
}
