//! The error of an operation: code, message and details for the client, cause for the log.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use mcp_aql_protocol::ErrorCode;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::text::screened;

/// An error that your operation returns. The client receives its code, message and details. The cause is only logged.
///
/// ```
/// use mcp_aql::{ErrorCode, OperationError};
/// let error = OperationError::not_found("task", "t-7");
/// assert_eq!(error.code(), ErrorCode::NotFoundResource);
/// assert_eq!(error.message(), "Resource 'task' not found: 't-7'");
/// assert_eq!(error.details()["resource_id"], "t-7");
/// ```
///
/// Source: MCP-AQL §5.1, §5.3 (REQ-ERR-01, REQ-RSP-03, REQ-RSP-04).
pub struct OperationError(Box<ErrorContent>);

struct ErrorContent {
    code: ErrorCode,
    message: Cow<'static, str>,
    details: Map<String, Value>,
    cause: Option<Box<dyn Error + Send + Sync>>,
    /// If `true`, the cause has already been logged.
    is_logged: bool,
}

impl OperationError {
    /// Creates an error with a code and a message for the client.
    ///
    /// Describe in the message what failed, which parameter was wrong, what you expected, and how to correct it. Put
    /// dynamic values in single quotes (REQ-ERR-03, REQ-ERR-05).
    ///
    /// ```
    /// # use mcp_aql::{ErrorCode, OperationError};
    /// let error = OperationError::new(ErrorCode::PermissionDenied, "The list 'l-3' is closed")
    ///     .with_detail("list_id", "l-3");
    /// ```
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(ErrorContent {
            code,
            message: message.into(),
            details: Map::new(),
            cause: None,
            is_logged: false,
        }))
    }

    /// Creates the error for a resource that does not exist (`NOT_FOUND_RESOURCE`).
    pub fn not_found(resource_type: &str, resource_id: impl fmt::Display) -> Self {
        let (resource_type, id) = (echo(resource_type), echo(&resource_id.to_string()));
        let message = screened(format!("Resource '{resource_type}' not found: '{id}'"), || {
            format!("Resource '{resource_type}' not found")
        });
        Self::new(ErrorCode::NotFoundResource, message)
            .with_detail("resource_type", resource_type)
            .with_detail("resource_id", id)
    }

    /// Creates the error for a resource that already exists (`CONFLICT_ALREADY_EXISTS`).
    pub fn already_exists(resource_type: &str, resource_id: impl fmt::Display) -> Self {
        let (resource_type, id) = (echo(resource_type), echo(&resource_id.to_string()));
        let message =
            screened(format!("Resource '{resource_type}' already exists: '{id}'"), || {
                format!("Resource '{resource_type}' already exists")
            });
        Self::new(ErrorCode::ConflictAlreadyExists, message)
            .with_detail("resource_type", resource_type)
            .with_detail("resource_id", id)
    }

    /// Creates the error for a resource changed since the caller read it (`CONFLICT_VERSION_MISMATCH`, REQ-CON-03).
    pub fn version_mismatch(expected: impl fmt::Display, actual: impl fmt::Display) -> Self {
        let (expected, actual) = (echo(&expected.to_string()), echo(&actual.to_string()));
        let next = "Read the resource again, then send the change with its new version";
        let message = screened(
            format!(
                "Version mismatch: 'if_match' is '{expected}', but the resource has version '{actual}'. {next}"
            ),
            || format!("Version mismatch: the resource has another version. {next}"),
        );
        Self::new(ErrorCode::ConflictVersionMismatch, message)
            .with_detail("expected_version", expected)
            .with_detail("actual_version", actual)
    }

    /// Creates the error for a resource changed since the user confirmed the call (`CONFLICT_VERSION_MISMATCH`). The
    /// call would now do something else than the user has seen. Return it if
    /// [`Context::is_as_confirmed`](crate::Context::is_as_confirmed) returns `false`.
    pub fn changed_since_confirmation(resource_type: &str) -> Self {
        let name = echo(resource_type);
        let message = format!(
            "The '{name}' has changed since this call was confirmed. Send the call without '_confirmation', \
             and confirm the new state"
        );
        Self::new(ErrorCode::ConflictVersionMismatch, message).with_detail("resource_type", name)
    }

    /// Creates the error for a resource whose state does not allow the operation, for example a shipped order that can
    /// no longer be canceled. Pass the operations allowed in this state, or other remedies, as `possible`.
    ///
    /// The code is `CONFLICT_VERSION_MISMATCH`, because the caller's view of the resource is outdated. The protocol
    /// defines no code for states, and its other conflict code is for resources that already exist.
    ///
    /// ```
    /// # use mcp_aql::{ErrorCode, OperationError};
    /// let error = OperationError::wrong_state("order", "shipped", ["return_order"]);
    /// assert_eq!(error.code(), ErrorCode::ConflictVersionMismatch);
    /// assert_eq!(
    ///     error.message(),
    ///     "The 'order' is in state 'shipped'. This state does not allow the operation. Possible: 'return_order'"
    /// );
    /// assert_eq!(error.details()["possible"][0], "return_order");
    /// ```
    pub fn wrong_state(
        resource_type: &str,
        state: impl fmt::Display,
        possible: impl IntoIterator<Item = impl fmt::Display>,
    ) -> Self {
        let (resource_type, state) = (echo(resource_type), echo(&state.to_string()));
        let possible: Vec<_> =
            possible.into_iter().map(|remedy| echo(&remedy.to_string())).collect();
        let next = match possible.as_slice() {
            [] => "No operation is possible in this state".to_owned(),
            some => format!("Possible: '{}'", some.join("', '")),
        };
        let full = format!(
            "The '{resource_type}' is in state '{state}'. This state does not allow the operation. {next}"
        );
        let message = screened(full, || {
            "The state of the resource does not allow the operation: see 'state' and 'possible' in the details"
                .to_owned()
        });
        Self::new(ErrorCode::ConflictVersionMismatch, message)
            .with_detail("resource_type", resource_type)
            .with_detail("state", state)
            .with_detail("possible", possible)
    }

    /// Creates the error for a caller without the permission (`PERMISSION_DENIED`).
    pub fn permission_denied(reason: impl fmt::Display) -> Self {
        let reason = reason.to_string();
        let message = screened(format!("Permission denied: '{reason}'"), || {
            "Permission denied: see 'reason' in the details".to_owned()
        });
        Self::new(ErrorCode::PermissionDenied, message).with_detail("reason", reason)
    }

    /// Creates the error for an invalid parameter value (`VALIDATION_INVALID_VALUE`). `expectation` completes the
    /// sentence "Parameter 'x' …", for example with `must lie in the future`.
    pub fn invalid_value(param_name: &str, expectation: impl fmt::Display) -> Self {
        let expectation = expectation.to_string();
        let message = screened(format!("Parameter '{param_name}' {expectation}"), || {
            screened(
                format!("Parameter '{param_name}' is not accepted: see 'expected' in the details"),
                || "A parameter is not accepted: see 'expected' in the details".to_owned(),
            )
        });
        Self::new(ErrorCode::ValidationInvalidValue, message)
            .with_detail("param_name", param_name)
            .with_detail("expected", expectation)
    }

    /// Creates the error for a parameter of the wrong type (`VALIDATION_INVALID_TYPE`).
    pub fn invalid_type(param_name: &str, expected_type: &str, actual_type: &str) -> Self {
        Self::new(
            ErrorCode::ValidationInvalidType,
            format!("Parameter '{param_name}' expected '{expected_type}', got '{actual_type}'"),
        )
        .with_detail("param_name", param_name)
        .with_detail("expected_type", expected_type)
        .with_detail("actual_type", actual_type)
    }

    /// Creates the error for a valid value rejected only by its type (`VALIDATION_INVALID_VALUE`). The client does not
    /// see serde's message, because it may contain names of Rust types (REQ-ERR-04).
    #[doc(hidden)]
    pub fn refused_by_type(param_name: &str, cause: &serde_json::Error) -> Self {
        // Do not log serde's message either. It may quote a secret value.
        tracing::debug!(parameter = param_name, kind = ?cause.classify(), "a type rejected its value");
        let message = match super::expected_names(&cause.to_string()) {
            Some(rule) => format!("Parameter '{param_name}' has a wrong name or value: it {rule}"),
            None => format!(
                "Parameter '{param_name}' has a value of the wrong type. Call introspect to see its type"
            ),
        };
        Self::new(ErrorCode::ValidationInvalidValue, message).with_detail("param_name", param_name)
    }

    /// Creates the error for too many calls (`RATE_LIMIT_EXCEEDED`). The caller may retry after `retry_after_seconds`.
    pub fn rate_limited(retry_after_seconds: u64) -> Self {
        Self::new(ErrorCode::RateLimitExceeded, "API rate limit exceeded")
            .with_detail("retry_after_seconds", retry_after_seconds)
    }

    /// Appends the next step to the message.
    pub(crate) fn with_next_step(mut self, step: impl fmt::Display) -> Self {
        self.0.message = format!("{}. {step}", self.0.message).into();
        self
    }

    /// Creates the error for a failure of the adapter (`INTERNAL_ERROR`). The client receives only a correlation id.
    /// The cause is logged with the same id.
    ///
    /// ```
    /// # use mcp_aql::OperationError;
    /// let error = OperationError::internal(std::io::Error::other("disk on fire in /var/lib"));
    /// assert!(!error.message().contains("disk"));
    /// assert!(error.details().contains_key("correlation_id"));
    /// ```
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let id = crate::vocab::new_id("e");
        let error = Self::new(ErrorCode::InternalError, internal_message(&id));
        let mut error = error.with_detail("correlation_id", id);
        error.0.cause = Some(cause.into());
        error
    }

    /// Adds a warning that changes may remain. Call it on the error of a function that may have changed something. An
    /// error with its own message is returned unchanged, because that message explains the state.
    pub(crate) fn after_changes(self) -> Self {
        let id = self.0.details.get("correlation_id").and_then(Value::as_str);
        if id.is_none_or(|id| self.0.message != internal_message(id)) {
            return self;
        }
        self.with_next_step("Its changes may remain, so read the state before you try again")
            .with_detail("operation_ran", true)
    }

    /// Creates an `INTERNAL_ERROR` already logged with this correlation id. Several errors may share the id.
    pub(crate) fn logged(correlation_id: &str, message: impl Into<Cow<'static, str>>) -> Self {
        let error = Self::new(ErrorCode::InternalError, message);
        let mut error = error.with_detail("correlation_id", correlation_id);
        error.0.is_logged = true;
        error
    }

    /// Marks the error as logged, so that no second line at the level `error` is written for the same cause.
    #[doc(hidden)]
    #[must_use]
    pub fn explained_by_the_log(mut self) -> Self {
        self.0.is_logged = true;
        self
    }

    /// Returns `true` if the cause has already been logged.
    pub(crate) fn is_logged(&self) -> bool {
        self.0.is_logged
    }

    /// Replaces the message.
    pub(crate) fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Converts an HTTP status of a wrapped API (REQ-ERR-08): 404 becomes `NOT_FOUND_RESOURCE`. A status below 400 is
    /// not an error, so it becomes `INTERNAL_ERROR`.
    ///
    /// `upstream_message` is the API's own message. Pass an empty string if it may contain secrets.
    pub fn from_http_status(status: u16, upstream_message: &str) -> Self {
        let code = ErrorCode::from_http_status(status).unwrap_or(ErrorCode::InternalError);
        let plain = || format!("The API answered with HTTP status {status}");
        if upstream_message.is_empty() {
            return Self::new(code, plain()).with_detail("http_status", status);
        }
        let full = format!("The API answered with HTTP status {status}: '{upstream_message}'");
        Self::new(code, screened(full, plain))
            .with_detail("http_status", status)
            .with_detail("upstream_error", upstream_message)
    }

    /// Adds a detail for the client. The value can be any JSON.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the cause for the log. The client never sees it.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Returns the error code of the protocol.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// Returns the message for the client.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the details for the client, by name.
    pub fn details(&self) -> &Map<String, Value> {
        &self.0.details
    }

    /// Returns the cause for the log.
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.cause.as_deref()
    }

    /// Returns a shorter form of this error, for replies with a small size limit.
    pub(crate) fn shortened(&self) -> Self {
        Self::new(self.0.code, echo(&self.0.message))
    }

    /// Removes the details. Errors of introspection and of whole batches have none (REQ-INT-28, REQ-BAT-06).
    pub(crate) fn without_details(mut self) -> Self {
        self.0.details = Map::new();
        self
    }
}

/// Converts an error into an [`OperationError`], so that `?` works in operations. You rarely need to implement it,
/// because `#[derive(OperationError)]` generates `From` for your error types. The trait exists for its compile error:
/// if `?` is used on an error without a conversion, the compiler suggests what to write.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not convert into `OperationError`",
    label = "write `.or_internal()?`: the error is logged as the cause, and the caller does not see it",
    note = "for an error type of your own write `#[derive(OperationError)]` above it"
)]
pub trait IntoOperationError {
    /// Converts the error.
    fn into_operation_error(self) -> OperationError;
}

impl<E: IntoOperationError> From<E> for OperationError {
    fn from(error: E) -> Self {
        error.into_operation_error()
    }
}

/// Shortens a string of the caller, so that a reply can repeat it.
pub(crate) fn echo(text: &str) -> String {
    const MAX_ECHO_CHARS: usize = 200;
    let mut short: String = text.chars().take(MAX_ECHO_CHARS).collect();
    if text.chars().nth(MAX_ECHO_CHARS).is_some() {
        short.push('…');
    }
    short
}

impl Serialize for OperationError {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let details = &self.0.details;
        let mut error =
            serializer.serialize_struct("error", if details.is_empty() { 2 } else { 3 })?;
        error.serialize_field("code", &self.0.code)?;
        error.serialize_field("message", &self.0.message)?;
        if !details.is_empty() {
            error.serialize_field("details", details)?;
        }
        error.end()
    }
}

impl fmt::Display for OperationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.0.code, self.0.message)
    }
}

impl fmt::Debug for OperationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OperationError")
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("details", &self.0.details)
            .field("cause", &self.0.cause)
            .finish()
    }
}

impl Error for OperationError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}

/// Returns the message of an unexpected failure.
fn internal_message(correlation_id: &str) -> String {
    format!("Internal error: 'the adapter failed; its log has the cause under {correlation_id}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::leaks_internals;

    #[test]
    fn constructors_are_free_of_leak_patterns() {
        // REQ-CNF-09, REQ-ERR-04
        for error in [
            OperationError::not_found("task", "t-1"),
            OperationError::already_exists("task", "t-1"),
            OperationError::version_mismatch(1, 2),
            OperationError::wrong_state("order", "shipped", ["return_order"]),
            OperationError::changed_since_confirmation("order"),
            OperationError::wrong_state("order", "closed at /src/main.rs:1", [""; 0]),
            OperationError::permission_denied("read only"),
            OperationError::invalid_value("due_date", "must lie in the future"),
            OperationError::invalid_type("title", "string", "number"),
            OperationError::rate_limited(3),
            OperationError::internal("boom at /src/main.rs:1"),
            OperationError::from_http_status(404, ""),
            OperationError::from_http_status(500, "oops"),
        ] {
            assert!(!leaks_internals(error.message()), "{}", error.message());
        }
    }

    #[test]
    fn only_an_unknown_failure_says_that_changes_may_remain() {
        let failed = OperationError::internal("disk").after_changes();
        assert_eq!(failed.details()["operation_ran"], true);
        assert!(failed.message().contains("Its changes may remain"), "{failed}");
        for known in [
            OperationError::not_found("task", "t-1"),
            OperationError::internal("disk").with_message("Internal error: 'nothing has changed'"),
        ] {
            let message = known.message().to_owned();
            assert_eq!(known.after_changes().message(), message);
        }
    }

    #[test]
    fn the_cause_stays_out_of_the_reply() {
        // REQ-ERR-04, REQ-ERR-05
        let error = OperationError::internal("secret cause");
        assert!(!serde_json::to_string(&error).unwrap().contains("secret"));
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("secret cause"));
    }

    #[test]
    fn the_error_object_has_no_other_members() {
        // REQ-RSP-03, REQ-RSP-04
        let error = OperationError::new(ErrorCode::PermissionDenied, "no");
        let json = serde_json::to_string(&error).unwrap();
        assert_eq!(json, r#"{"code":"PERMISSION_DENIED","message":"no"}"#);
    }
}
