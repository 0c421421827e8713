//! Decodes tool arguments into a request.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use mcp_aql_protocol::ErrorCode;
use mcp_aql_protocol::SizeLimits;
use serde_json::{Map, Value, json};

use super::json_reader::ParsedObject;
use super::limits::{Findings, check_request};
use super::params::Params;
use crate::error::OperationError;
use crate::text::parsed_json;
use crate::vocab::json_type;

/// A decoded request.
#[derive(Debug)]
pub(crate) enum Decoded<'a> {
    /// One operation.
    One(Request<'a>),
    /// Several operations, in order.
    Batch(Vec<Result<Request<'static>, InvalidRequest>>),
}

/// One operation of a request: its name, and its parameters from `params` and from the top level (REQ-RQ-01,
/// REQ-RQ-03). These requests are equivalent:
///
/// ```json
/// { "operation": "get_task", "params": { "task_id": "t-1" } }
/// { "operation": "get_task", "task_id": "t-1" }
/// ```
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) operation: Cow<'a, str>,
    pub(crate) params: Params<'a>,
    pub(crate) credentials: Credentials,
}

/// The tokens of a call. Of all members of `params` whose names start with `_`, only these have a meaning.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Credentials(
    /// Boxed to keep the type small: few calls have a token, and each stage passes this value on.
    Option<Box<SentTokens>>,
);

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct SentTokens {
    confirmation: Option<String>,
    quota_continue: Option<String>,
}

impl Credentials {
    /// Takes the tokens from `params` or from the top level (REQ-RQ-03). Any value except a string becomes an empty
    /// token, and is later rejected like a wrong one.
    fn take(params: &mut Map<String, Value>, beside: Vec<(&'static str, Value)>) -> Self {
        for (name, token) in beside {
            params.entry(name).or_insert(token);
        }
        let mut text = |name: &str| match params.remove(name)? {
            Value::Null => None,
            Value::String(token) => Some(token),
            _ => Some(String::new()),
        };
        let (confirmation, quota_continue) = (text(CONFIRMATION), text(QUOTA_CONTINUE));
        Self(Some(Box::new(SentTokens { confirmation, quota_continue })))
    }

    /// Returns `params._confirmation` (REQ-TOK-06).
    pub(crate) fn confirmation(&self) -> Option<&str> {
        self.0.as_ref()?.confirmation.as_deref()
    }

    /// Returns `params._quota_continue` (REQ-RATE-07).
    pub(crate) fn quota_continue(&self) -> Option<&str> {
        self.0.as_ref()?.quota_continue.as_deref()
    }

    /// Sets the confirmation token, unless the call has one.
    pub(crate) fn add_confirmation(&mut self, token: String) {
        self.0.get_or_insert_default().confirmation.get_or_insert(token);
    }
}

const CONFIRMATION: &str = "_confirmation";
const QUOTA_CONTINUE: &str = "_quota_continue";

impl Request<'_> {
    /// Returns the `params` of the same call, including its tokens.
    pub(crate) fn into_params(self) -> Map<String, Value> {
        let mut params = self.params.into_map();
        let credentials = self.credentials;
        let confirmation = (CONFIRMATION, credentials.confirmation());
        for (name, token) in [confirmation, (QUOTA_CONTINUE, credentials.quota_continue())] {
            if let Some(token) = token {
                params.insert(name.to_owned(), token.into());
            }
        }
        params
    }
}

/// A rejected request, or a rejected item of a batch. A rejected item does not affect the other items.
#[derive(Debug)]
pub(crate) struct InvalidRequest {
    /// Name of the operation. Empty if the request has none.
    pub(crate) operation: String,
    /// The `params` as they were sent.
    pub(crate) params: Value,
    /// If `true`, the request was a batch.
    pub(crate) batch: bool,
    /// If `true`, a value could not be represented exactly, so that `operation` and `params` may differ from the
    /// request.
    pub(crate) altered: bool,
    pub(crate) error: OperationError,
}

/// The members of a request, sorted in one pass.
///
/// Metadata is dropped, because it is not a parameter (REQ-UNK-05). Its names start with `_`. A member with the value
/// `null` counts as absent.
#[derive(Default)]
struct RequestMembers {
    operation: Option<Value>,
    operations: Option<Value>,
    params: Option<Value>,
    /// The tokens sent at the top level.
    tokens: Vec<(&'static str, Value)>,
    /// Other members at the top level. They are parameters (REQ-RQ-03).
    rest: Vec<(String, Value)>,
}

impl RequestMembers {
    fn of(arguments: Map<String, Value>) -> Self {
        let mut members = Self::default();
        for (name, value) in arguments {
            match name.as_str() {
                "operation" => members.operation = given(value),
                "operations" => members.operations = given(value),
                "params" => members.params = given(value),
                CONFIRMATION => members.tokens.push((CONFIRMATION, value)),
                QUOTA_CONTINUE => members.tokens.push((QUOTA_CONTINUE, value)),
                _ if name.starts_with('_') => {}
                _ => members.rest.push((name, value)),
            }
        }
        members
    }

    /// Returns the operation's name, or an empty string if it is missing or not a string.
    fn name(&self) -> String {
        self.operation.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Rejects an item that contains a mistake. The result contains everything sent by the caller.
    fn refused(self, error: OperationError) -> InvalidRequest {
        let operation = self.name();
        let mut params = self.params.unwrap_or_else(|| json!({}));
        if let Value::Object(params) = &mut params {
            let tokens = self.tokens.into_iter().map(|(name, token)| (name.to_owned(), token));
            for (name, value) in self.rest.into_iter().chain(tokens) {
                params.entry(name).or_insert(value);
            }
        }
        InvalidRequest { operation, params, batch: false, altered: false, error }
    }
}

fn given(value: Value) -> Option<Value> {
    Some(value).filter(|value| !value.is_null())
}

/// Checks the sizes of the tool arguments and decodes them.
pub(crate) fn decode_request(
    mut arguments: ParsedObject,
    batch: bool,
    limits: &SizeLimits,
) -> Result<Decoded<'static>, InvalidRequest> {
    let Findings { whole, items, altered } = check_request(&mut arguments, limits);
    let mut members = RequestMembers::of(arguments.members);
    if let Some(error) = whole {
        let batch = members.operations.is_some();
        return Err(InvalidRequest { batch, ..members.refused(error) });
    }
    match members.operations.take() {
        None => request_of(members).map(Decoded::One),
        Some(operations) => decode_batch(operations, (items, altered), &members, batch, limits)
            .map_err(|error| InvalidRequest { batch: true, ..members.refused(error) }),
    }
}

fn request_of(members: RequestMembers) -> Result<Request<'static>, InvalidRequest> {
    if let Some(error) = fault_of(&members) {
        return Err(members.refused(error));
    }
    let operation = match members.operation {
        Some(Value::String(name)) => name,
        _ => String::new(),
    };
    let mut params = match members.params {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    };
    let mut credentials = Credentials::default();
    if !members.tokens.is_empty() || params.keys().any(|name| name.starts_with('_')) {
        credentials = Credentials::take(&mut params, members.tokens);
        params.retain(|name, _| !name.starts_with('_'));
    }
    for (name, value) in members.rest {
        // `params.<name>` takes precedence over the top-level `<name>` (REQ-RQ-03).
        params.entry(name).or_insert(value);
    }
    // This member only has a special meaning in a batch.
    if let Some(value) = members.operations {
        params.entry("operations").or_insert(value);
    }
    Ok(Request { operation: operation.into(), params: params.into(), credentials })
}

/// Returns the reason why these members are not a valid request.
fn fault_of(members: &RequestMembers) -> Option<OperationError> {
    match &members.operation {
        Some(Value::String(name)) if name.is_empty() => {
            return Some(OperationError::invalid_value("operation", "must not be empty"));
        }
        Some(Value::String(_)) => {}
        Some(other) => {
            return Some(OperationError::invalid_type("operation", "string", json_type(other)));
        }
        None => return Some(missing_operation()),
    }
    let params = members.params.as_ref().filter(|params| !params.is_object())?;
    let error = OperationError::invalid_type("params", "object", json_type(params));
    let is_json = params.as_str().and_then(parsed_json).is_some_and(|value| value.is_object());
    let error =
        if is_json { error.with_next_step("Send it as JSON, not as a string") } else { error };
    Some(error.with_detail("operation", members.name()))
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
    (mut faults, altered): (BTreeMap<usize, OperationError>, BTreeSet<usize>),
    members: &RequestMembers,
    batch: bool,
    limits: &SizeLimits,
) -> Result<Decoded<'static>, OperationError> {
    let fault = |message: String| OperationError::new(ErrorCode::BatchValidationError, message);
    if !batch {
        return Err(fault("Batches are disabled: send one 'operation' per call".to_owned()));
    }
    let beside = members
        .operation
        .as_ref()
        .map(|_| "operation")
        .or_else(|| members.params.as_ref().map(|_| "params"))
        .or_else(|| members.rest.first().map(|(name, _)| name.as_str()))
        .or_else(|| members.tokens.first().map(|(name, _)| *name));
    if let Some(name) = beside {
        let name = crate::text::clean(name);
        return Err(fault(format!(
            "A batch can only have the member 'operations': move '{name}' into its items"
        )));
    }
    let Value::Array(items) = operations else {
        let actual = json_type(&operations);
        return Err(fault(format!(
            "'operations' expected 'array', got '{actual}'. {ITEM_FORM}, in a list"
        )));
    };
    let most = limits.max_batch_operations;
    if items.is_empty() {
        return Err(fault("A batch needs one or more operations".to_owned()));
    }
    if items.len() > most {
        let given = items.len();
        return Err(fault(format!(
            "A batch accepts up to {most} operations, got {given}: split it"
        )));
    }
    let decoded = items.into_iter().enumerate().map(|(index, item)| {
        batch_item(index, item, faults.remove(&index))
            .map_err(|refused| InvalidRequest { altered: altered.contains(&index), ..refused })
    });
    Ok(Decoded::Batch(decoded.collect()))
}

/// The form of an item, for error messages.
const ITEM_FORM: &str =
    "Each operation is an object: {\"operation\": \"its name\", \"params\": {}}";

fn batch_item(
    index: usize,
    item: Value,
    fault: Option<OperationError>,
) -> Result<Request<'static>, InvalidRequest> {
    let Value::Object(item) = item else {
        let error = fault.unwrap_or_else(|| item_type(index, &item));
        let params = json!({});
        return Err(InvalidRequest {
            operation: String::new(),
            params,
            batch: false,
            altered: false,
            error,
        });
    };
    let members = RequestMembers::of(item);
    match fault {
        Some(error) => Err(members.refused(error)),
        None => request_of(members),
    }
}

/// Creates the error for an item other than an object.
fn item_type(index: usize, item: &Value) -> OperationError {
    let (path, actual) = (format!("operations[{index}]"), json_type(item));
    OperationError::new(
        ErrorCode::ValidationInvalidType,
        format!("Parameter '{path}' expected 'object', got '{actual}'. {ITEM_FORM}"),
    )
    .with_detail("param_name", path)
    .with_detail("expected_type", "object")
    .with_detail("actual_type", actual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decoded(value: Value) -> Result<Decoded<'static>, OperationError> {
        decode_request(value.as_object().unwrap().clone().into(), true, &SizeLimits::default())
            .map_err(|refused| refused.error)
    }

    fn one(value: Value) -> Request<'static> {
        match decoded(value).unwrap() {
            Decoded::One(input) => input,
            Decoded::Batch(_) => panic!("a batch"),
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
        assert_eq!(Value::from(input.params.into_map()), json!({"task_id": "params", "limit": 5}));
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
    fn tokens_are_taken_from_params_or_from_beside_it() {
        // REQ-RQ-03, REQ-TOK-06, REQ-RATE-07
        for (value, confirmation, quota_continue) in [
            (json!({"params": {"_confirmation": "c"}}), Some("c"), None),
            (json!({"_confirmation": "c", "params": {"a": 1}}), Some("c"), None),
            (json!({"_confirmation": "c", "a": 1}), Some("c"), None),
            (json!({"_confirmation": "x", "params": {"_confirmation": "c"}}), Some("c"), None),
            (json!({"_confirmation": null, "_quota_continue": "q"}), None, Some("q")),
            (json!({"_confirmation": 7}), Some(""), None),
            (json!({"_meta": {"_confirmation": "c"}}), None, None),
        ] {
            let mut request = value.clone();
            request["operation"] = json!("a");
            let input = one(request);
            assert_eq!(input.credentials.confirmation(), confirmation, "{value}");
            assert_eq!(input.credentials.quota_continue(), quota_continue, "{value}");
            assert!(!input.params.into_map().keys().any(|name| name.starts_with('_')), "{value}");
        }
        let error = decoded(json!({"operations": [{"operation": "a"}], "_confirmation": "c"}));
        let message = error.unwrap_err().message().to_owned();
        assert!(message.contains("move '_confirmation' into its items"), "{message}");
    }

    #[test]
    fn a_list_of_names_and_one_object_are_answered_with_the_same_form() {
        // REQ-BAT-01, REQ-BAT-02
        let Ok(Decoded::Batch(items)) = decoded(json!({"operations": ["list_tasks"]})) else {
            panic!("no batch")
        };
        let item = items.into_iter().next().unwrap().unwrap_err().error;
        assert_eq!(item.details()["param_name"], "operations[0]");
        let list = decoded(json!({"operations": {"operation": "list_tasks"}})).unwrap_err();
        for error in [item, list] {
            assert!(error.message().contains(ITEM_FORM), "{}", error.message());
        }
    }

    #[test]
    fn a_faulty_item_fails_alone() {
        // REQ-BAT-02
        let batch = decoded(json!({"operations": [7, {"operation": "a", "x": 1}, {"params": {}}]}));
        let Ok(Decoded::Batch(items)) = batch else { panic!("no batch") };
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
