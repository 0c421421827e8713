//! The span of a call, and the line that the call writes to the log.

use mcp_aql_protocol::ErrorCode;
use tracing::{Level, Span};

use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::gatekeeper::GatedOperation;
use crate::observe::call_event::{CallEvent, CallOutcome};
use crate::observe::logging::{CALLS, logs_calls};
use crate::operation::CallScope;
use crate::store::chain;

/// Returns the span of a routed call. Its stages and the author's function log within it.
pub(super) fn span(operation: &GatedOperation, scope: &CallScope) -> Span {
    tracing::info_span!(
        target: CALLS,
        "operation",
        operation = &*operation.name,
        category = operation.spec.category.as_str(),
        session = scope.session.as_ref().map(|session| session.id().to_owned()),
        client_request_id = scope.client_request_id.as_deref(),
    )
}

/// Details of an internal error for the log.
pub(super) struct InternalError {
    correlation_id: Option<String>,
    /// The cause. `None` if it was already logged with the same correlation id.
    cause: Option<String>,
    is_logged: bool,
}

impl InternalError {
    /// Returns the details of an error with code `INTERNAL_ERROR`. Returns `None` for other errors.
    pub(super) fn of(error: &OperationError) -> Option<Self> {
        (error.code() == ErrorCode::InternalError).then(|| {
            let id = error.details().get("correlation_id").and_then(serde_json::Value::as_str);
            let is_logged = error.is_logged();
            let cause = error.cause().filter(|_| !is_logged).map(|cause| chain(cause));
            Self { correlation_id: id.map(str::to_owned), cause, is_logged }
        })
    }
}

/// The fields of a call's log line. `None` fields are omitted from the line.
struct CallLine<'a> {
    operation: Option<&'a str>,
    category: Option<&'static str>,
    outcome: &'static str,
    code: Option<&'static str>,
    duration_ms: f64,
    principal: Option<&'a str>,
    session: Option<&'a str>,
    mcp_session: Option<&'a str>,
    request_id: Option<&'a str>,
    client_request_id: Option<&'a str>,
    client: Option<String>,
    correlation_id: Option<&'a str>,
}

impl<'a> CallLine<'a> {
    fn of(event: &'a CallEvent<'_>, internal: Option<&'a InternalError>) -> Self {
        let (scope, origin) = (event.scope, event.scope.origin.as_deref());
        let client = origin.and_then(|origin| origin.client);
        Self {
            operation: event.operation,
            category: event.category.map(|category| category.as_str()),
            outcome: event.outcome.as_str(),
            code: event.code.map(ErrorCode::as_str),
            duration_ms: event.duration.as_secs_f64() * 1_000.0,
            principal: scope.principal().map(Principal::id),
            session: scope.session.as_ref().map(|session| session.id()),
            mcp_session: scope.session.as_ref().and_then(|session| session.mcp_id()),
            request_id: origin.and_then(|origin| origin.request_id.as_deref()),
            client_request_id: scope.client_request_id.as_deref(),
            client: client.map(|address| address.to_string()),
            correlation_id: internal.and_then(|internal| internal.correlation_id.as_deref()),
        }
    }
}

/// Writes the line of a call. A macro, because `tracing` needs the level and the fields at compile time.
macro_rules! log_line {
    ($level:expr, $line:expr, $message:literal $(, $name:ident = $value:expr)*) => {{
        let CallLine {
            operation, category, outcome, code, duration_ms, principal,
            session, mcp_session, request_id, client_request_id, client, correlation_id,
        } = $line;
        tracing::event!(
            target: CALLS, $level, operation, category, outcome, code, duration_ms, principal, session,
            mcp_session, request_id, client_request_id, client, correlation_id, $($name = $value,)* $message
        );
    }};
}

/// Logs an answered or canceled call. The line contains neither parameter values nor names chosen by the caller.
pub(super) fn log(event: &CallEvent<'_>, internal: Option<&InternalError>) {
    if event.outcome != CallOutcome::Cancelled
        && let Some(InternalError { cause, is_logged: false, .. }) = internal
    {
        let line = CallLine::of(event, internal);
        return log_line!(Level::ERROR, line, "operation failed", cause = cause.as_deref());
    }
    if !logs_calls() {
        return;
    }
    let line = CallLine::of(event, internal);
    match event.outcome {
        CallOutcome::Succeeded => log_line!(Level::INFO, line, "operation succeeded"),
        CallOutcome::AwaitsConfirmation => {
            log_line!(Level::INFO, line, "operation requires a confirmation");
        }
        CallOutcome::Failed => log_line!(Level::INFO, line, "operation failed"),
        CallOutcome::Cancelled => {
            log_line!(Level::INFO, line, "operation cancelled");
        }
    }
}
