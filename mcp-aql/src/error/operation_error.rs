use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use mcp_aql_protocol::ErrorCode;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::text::screened;

/// Why an operation did not succeed: a code, a message and details for the client, and a cause that
/// only the log gets to see.
///
/// ```
/// use mcp_aql::{ErrorCode, OperationError};
///
/// let error = OperationError::not_found("task", "t-7");
/// assert_eq!(error.code(), ErrorCode::NotFoundResource);
/// assert_eq!(error.message(), "Resource 'task' not found: 't-7'");
/// assert_eq!(error.details()["resource_id"], "t-7");
/// ```
///
/// Source: MCP-AQL §5.1, §5.3 (REQ-ERR-01, REQ-RSP-03, REQ-RSP-04).
pub struct OperationError(Box<Inner>);

struct Inner {
    code: ErrorCode,
    message: Cow<'static, str>,
    details: Map<String, Value>,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl OperationError {
    /// An error with a code and a message that the client reads.
    ///
    /// Say what failed, which parameter, what was expected and what to do next; put dynamic values
    /// in single quotes (REQ-ERR-03, REQ-ERR-05).
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { code, message: message.into(), details: Map::new(), cause: None }))
    }

    /// No resource of this kind has this identifier (`NOT_FOUND_RESOURCE`).
    pub fn not_found(resource_type: &str, resource_id: impl fmt::Display) -> Self {
        let (resource_type, id) = (echo(resource_type), echo(&resource_id.to_string()));
        let message = screened(format!("Resource '{resource_type}' not found: '{id}'"), || {
            format!("Resource '{resource_type}' not found")
        });
        Self::new(ErrorCode::NotFoundResource, message)
            .with_detail("resource_type", resource_type)
            .with_detail("resource_id", id)
    }

    /// The resource exists already (`CONFLICT_ALREADY_EXISTS`).
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

    /// The resource changed since the caller read it (`CONFLICT_VERSION_MISMATCH`, REQ-CON-03).
    pub fn version_mismatch(expected: impl fmt::Display, actual: impl fmt::Display) -> Self {
        let (expected, actual) = (echo(&expected.to_string()), echo(&actual.to_string()));
        let next = "Read the resource again, then send the change once more with its new version";
        let message = screened(
            format!(
                "Version mismatch: 'if_match' is '{expected}', the resource is '{actual}'. {next}"
            ),
            || format!("Version mismatch: the resource has another version. {next}"),
        );
        Self::new(ErrorCode::ConflictVersionMismatch, message)
            .with_detail("expected_version", expected)
            .with_detail("actual_version", actual)
    }

    /// The caller may not do this (`PERMISSION_DENIED`).
    pub fn permission_denied(reason: impl fmt::Display) -> Self {
        let reason = reason.to_string();
        let message = screened(format!("Permission denied: '{reason}'"), || {
            "Permission denied: see 'reason' in the details".to_owned()
        });
        Self::new(ErrorCode::PermissionDenied, message).with_detail("reason", reason)
    }

    /// A parameter's value is not acceptable (`VALIDATION_INVALID_VALUE`).
    ///
    /// `expectation` ends the sentence "Parameter 'x' …", as in `must lie in the future`.
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

    /// A parameter has the wrong type (`VALIDATION_INVALID_TYPE`).
    pub fn invalid_type(param_name: &str, expected_type: &str, actual_type: &str) -> Self {
        Self::new(
            ErrorCode::ValidationInvalidType,
            format!("Parameter '{param_name}' expected '{expected_type}', got '{actual_type}'"),
        )
        .with_detail("param_name", param_name)
        .with_detail("expected_type", expected_type)
        .with_detail("actual_type", actual_type)
    }

    /// A value that passed the table's checks and that its type refuses (`VALIDATION_INVALID_VALUE`).
    /// What serde says may name Rust types, so the client does not read it (REQ-ERR-04).
    pub(crate) fn refused_by_type(param_name: &str, cause: &serde_json::Error) -> Self {
        // What serde says may quote the value, which may be a secret.
        tracing::debug!(parameter = param_name, kind = ?cause.classify(), "a type refused its value");
        Self::new(
            ErrorCode::ValidationInvalidValue,
            format!(
                "Parameter '{param_name}' is refused by its type. Use introspect to see its form"
            ),
        )
        .with_detail("param_name", param_name)
    }

    /// Too many calls (`RATE_LIMIT_EXCEEDED`); the caller may try again after `retry_after_seconds`.
    pub fn rate_limited(retry_after_seconds: u64) -> Self {
        Self::new(ErrorCode::RateLimitExceeded, "API rate limit exceeded")
            .with_detail("retry_after_seconds", retry_after_seconds)
    }

    /// The adapter failed (`INTERNAL_ERROR`). The client reads a correlation id, the log the cause.
    ///
    /// ```
    /// use mcp_aql::OperationError;
    ///
    /// let error = OperationError::internal(std::io::Error::other("disk on fire in /var/lib"));
    /// assert!(!error.message().contains("disk"));
    /// assert!(error.details().contains_key("correlation_id"));
    /// ```
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let id = crate::vocab::new_id("e");
        let mut error = Self::new(
            ErrorCode::InternalError,
            format!("Internal error: 'the adapter failed; its log has the cause under {id}'"),
        )
        .with_detail("correlation_id", id);
        error.0.cause = Some(cause.into());
        error
    }

    /// The failure of a wrapped HTTP API, by its status (REQ-ERR-08). A status below 400 is no
    /// failure and becomes `INTERNAL_ERROR`.
    ///
    /// `upstream_message` is what the API said to its caller; leave it empty when it may hold secrets.
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

    /// Adds a detail for the client. Values are JSON of any shape.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// Keeps the cause for the log. The client never sees it.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// The protocol's code.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The sentence that the client reads.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What the client can work with, by key.
    pub fn details(&self) -> &Map<String, Value> {
        &self.0.details
    }

    /// What the log gets to see.
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.cause.as_deref()
    }

    /// The same error in a few words, for a reply that has no room for it as it is.
    pub(crate) fn shortened(&self) -> Self {
        Self::new(self.0.code, echo(&self.0.message))
    }

    /// Drops the details: introspection and batch-level failures carry none (REQ-INT-28, REQ-BAT-06).
    pub(crate) fn without_details(mut self) -> Self {
        self.0.details = Map::new();
        self
    }
}

/// An error that converts into an [`OperationError`] wherever `?` meets one.
///
/// `#[derive(OperationError)]` writes `From` for the types of an adapter, and this trait comes to the
/// same. It is here so that the compiler, where `?` meets an error without a conversion, names the
/// remedy.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not convert into `OperationError`",
    label = "write `.or_internal()?`: the log gets the error as the cause, the caller does not",
    note = "for an error type of your own write `#[derive(OperationError)]` above it"
)]
pub trait IntoOperationError {
    /// The error of the operation.
    fn into_operation_error(self) -> OperationError;
}

impl<E: IntoOperationError> From<E> for OperationError {
    fn from(error: E) -> Self {
        error.into_operation_error()
    }
}

/// A caller's text, short enough to repeat in a reply.
pub(crate) fn echo(text: &str) -> String {
    const MOST: usize = 200;
    let mut short: String = text.chars().take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
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
