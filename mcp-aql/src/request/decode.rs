use serde_json::{Map, Value};

use crate::error::{ErrorCode, OperationError};
use crate::vocab::{Limits, json_type};

/// What a client asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// One operation.
    One(OperationInput),
    /// Several, in order.
    Batch(Vec<Result<OperationInput, BatchFault>>),
}

/// An item of a batch that is no request: it fails by itself, and the others run.
#[derive(Debug)]
pub(crate) struct BatchFault {
    pub(crate) operation: String,
    pub(crate) error: OperationError,
}

/// One request: the operation's name and its parameters, from `params` and from the top level
/// (REQ-RQ-01, REQ-RQ-03).
#[derive(Debug)]
pub(crate) struct OperationInput {
    pub(crate) operation: String,
    pub(crate) params: Map<String, Value>,
}

/// Reads the tool arguments. Metadata, whose names start with `_`, is taken out: it is no parameter
/// (REQ-UNK-05).
pub(crate) fn decode(
    mut arguments: Map<String, Value>,
    batch: bool,
    limits: &Limits,
) -> Result<Request, OperationError> {
    match take(&mut arguments, "operations") {
        Some(operations) => decode_batch(operations, &arguments, batch, limits),
        None => operation_input(arguments).map(Request::One),
    }
}

/// Takes a member out. Clients that write absent members as null mean the same as those that leave
/// them out.
///
/// Its name stays behind with null: taking a name out of a map costs more than stepping over it.
fn take(arguments: &mut Map<String, Value>, member: &str) -> Option<Value> {
    arguments.get_mut(member).map(Value::take).filter(|value| !value.is_null())
}

/// Whether what stands at top level is a parameter: no metadata, and nothing that [`take`] has left.
fn is_parameter(name: &str, value: &Value) -> bool {
    let taken = value.is_null() && matches!(name, "operation" | "operations" | "params");
    !taken && !name.starts_with('_')
}

fn operation_input(mut arguments: Map<String, Value>) -> Result<OperationInput, OperationError> {
    let operation = match take(&mut arguments, "operation") {
        Some(Value::String(name)) if !name.is_empty() => name,
        Some(Value::String(_)) => {
            return Err(OperationError::invalid_value("operation", "must not be empty"));
        }
        Some(other) => {
            return Err(OperationError::invalid_type("operation", "string", json_type(&other)));
        }
        None => return Err(missing_operation()),
    };
    let params = match take(&mut arguments, "params") {
        Some(Value::Object(params)) => params,
        None => Map::new(),
        Some(other) => {
            return Err(OperationError::invalid_type("params", "object", json_type(&other))
                .with_detail("operation", operation));
        }
    };
    Ok(OperationInput { operation, params: resolve(params, arguments) })
}

fn missing_operation() -> OperationError {
    OperationError::new(
        ErrorCode::ValidationMissingParam,
        "Missing required parameter 'operation'. Expected: string (name of the operation). \
         Call introspect to list the operations",
    )
    .with_detail("param_name", "operation")
}

/// `params.<name>` comes before the top-level `<name>` (REQ-RQ-03).
fn resolve(mut params: Map<String, Value>, top_level: Map<String, Value>) -> Map<String, Value> {
    if params.keys().any(|name| name.starts_with('_')) {
        params.retain(|name, _| !name.starts_with('_'));
    }
    for (name, value) in top_level {
        if is_parameter(&name, &value) {
            params.entry(name).or_insert(value);
        }
    }
    params
}

fn decode_batch(
    operations: Value,
    rest: &Map<String, Value>,
    batch: bool,
    limits: &Limits,
) -> Result<Request, OperationError> {
    let fault = |message: String| OperationError::new(ErrorCode::BatchValidationError, message);
    if !batch {
        return Err(fault("Batches are switched off: send one 'operation' per call".to_owned()));
    }
    if let Some((name, _)) = rest.iter().find(|(name, value)| is_parameter(name, value)) {
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

fn batch_item(item: Value) -> Result<OperationInput, BatchFault> {
    let Value::Object(item) = item else {
        let error = OperationError::invalid_type("operations", "object", json_type(&item));
        return Err(BatchFault { operation: String::new(), error });
    };
    let operation = item.get("operation").and_then(Value::as_str).unwrap_or_default().to_owned();
    operation_input(item).map_err(|error| BatchFault { operation, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decoded(value: Value) -> Result<Request, OperationError> {
        decode(value.as_object().unwrap().clone(), true, &Limits::default())
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
