//! Observe: reports calls and executions to the author's observers, and calls to the log. Both run within the spans of
//! the tracer, if the adapter has one.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use mcp_aql_protocol::ErrorCode;
use tracing::{Level, Span};

use super::Pipeline;
use crate::caller::call_origin::ActiveSpan;
use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::gatekeeper::GatedOperation;
use crate::observe::call_event::{CallEvent, CallOutcome};
use crate::observe::call_tracer::{CallSpan, CallStart};
use crate::observe::logging::{CALLS, logs_calls};
use crate::observe::observers::Observers;
use crate::operation::{CallScope, Context, OperationSpec, Outcome};
use crate::response::Reply;
use crate::store::chain;

/// An observed call or execution. Dropping it sends its event to the observers and the log. If no outcome was set
/// before, it was canceled.
pub(super) struct PendingEvent {
    observers: Observers,
    /// Span of the tracer, if the adapter has one.
    span: Option<Box<dyn CallSpan>>,
    spec: Option<OperationSpec>,
    /// Id of the execution. `None` for a call.
    execution_id: Option<String>,
    context: Context,
    started: Instant,
    outcome: CallOutcome,
    code: Option<ErrorCode>,
    /// Set for an internal error.
    internal: Option<InternalError>,
    bytes: usize,
}

impl Pipeline {
    /// Returns the table of the operation with this name, if it exists.
    pub(super) fn spec_of(&self, operation: &str) -> Option<&OperationSpec> {
        self.catalog.registry.get(operation).map(|entry| &entry.operation.spec)
    }
}

/// Observes a call until its reply. If there are neither observers nor a log of all calls, only the start time is
/// recorded, because an internal error is always logged with its duration.
pub(super) struct Observation<'a> {
    spec: Option<&'a OperationSpec>,
    started: Instant,
    /// Boxed to keep the future of a call without observers small.
    observed: Option<Box<PendingEvent>>,
}

impl<'a> Observation<'a> {
    /// Begins to observe a call. `context` is only called if there is an observer or a log.
    pub(super) fn begin(
        observers: &Observers,
        spec: Option<&'a OperationSpec>,
        context: impl FnOnce() -> Context,
    ) -> Self {
        let observed = (logs_calls() || !observers.is_empty())
            .then(|| Box::new(PendingEvent::new(observers, spec.copied(), context(), None)));
        Self { spec, started: Instant::now(), observed }
    }

    /// Returns the observed call, if there are observers or a log.
    pub(super) fn observed(&self) -> Option<&PendingEvent> {
        self.observed.as_deref()
    }

    /// Keeps the details of an internal error for the log. Observes the call from now on if it was not observed before.
    pub(super) fn failed(
        &mut self,
        error: &OperationError,
        observers: &Observers,
        context: impl FnOnce() -> Context,
    ) {
        let Some(internal) = InternalError::of(error) else { return };
        let observed = self.observed.get_or_insert_with(|| {
            let observed = PendingEvent::new(observers, self.spec.copied(), context(), None);
            let mut observed = Box::new(observed);
            observed.started = self.started;
            observed
        });
        observed.internal = Some(internal);
    }

    /// Completes the event of the call with its reply.
    pub(super) fn replied(self, reply: &Reply) {
        if let Some(observed) = self.observed {
            observed.replied(reply);
        }
    }
}

impl PendingEvent {
    /// Begins to observe an execution. `parent` is the span of the call that started it.
    pub(super) fn begin_execution(
        observers: &Observers,
        spec: OperationSpec,
        id: &str,
        context: &Context,
        parent: Option<&ActiveSpan>,
    ) -> Option<Self> {
        if let Some(recorder) = observers.recorder.get() {
            recorder.execution_started(spec.name);
        }
        (!observers.is_empty())
            .then(|| Self::new(observers, Some(spec), context.clone(), Some((id, parent))))
    }

    fn new(
        observers: &Observers,
        spec: Option<OperationSpec>,
        context: Context,
        execution: Option<(&str, Option<&ActiveSpan>)>,
    ) -> Self {
        let (execution_id, parent) = execution.unzip();
        let span = observers.tracer().map(|tracer| {
            tracer.begin(&CallStart {
                operation: spec.map(|spec| spec.name),
                category: spec.map(|spec| spec.category),
                execution_id,
                parent: parent.flatten(),
                scope: context.scope(),
            })
        });
        Self {
            observers: observers.clone(),
            span,
            spec,
            execution_id: execution_id.map(str::to_owned),
            context,
            started: Instant::now(),
            outcome: CallOutcome::Cancelled,
            code: None,
            internal: None,
            bytes: 0,
        }
    }

    /// Completes the event of a call with its reply.
    fn replied(mut self, reply: &Reply) {
        self.outcome = CallOutcome::of(reply.code, self.context.is_cancelled());
        self.code = reply.code;
        self.bytes = reply.text.len();
    }

    /// Completes the event of an execution with its result.
    pub(super) fn ended(mut self, outcome: &Outcome) {
        match outcome {
            Ok(payload) => self.bytes = payload.len(),
            // The record of a canceled execution has no error.
            Err(_) if self.context.is_cancelled() => return,
            Err(error) => self.code = Some(error.code()),
        }
        self.outcome = CallOutcome::of(self.code, false);
    }
}

impl Drop for PendingEvent {
    fn drop(&mut self) {
        let scope = self.context.scope();
        let event = CallEvent {
            operation: self.spec.map(|spec| spec.name),
            category: self.spec.map(|spec| spec.category),
            outcome: self.outcome,
            code: self.code,
            duration: self.started.elapsed(),
            request_bytes: scope.request_bytes,
            reply_bytes: self.bytes,
            execution_id: self.execution_id.as_deref(),
            scope,
        };
        // `execution/task.rs` logs executions that fail.
        let log = || {
            if self.execution_id.is_none() {
                log_call(&event, self.internal.as_ref());
            }
        };
        match &self.span {
            // Log within the span, so that the line has the trace ids.
            Some(span) => {
                span.enter(&mut || log());
                span.end(&event);
            }
            None => log(),
        }
        self.observers.notify(&event);
    }
}

/// Polls the stages of a call within its span, if there is one. The caller pins the stages, because moving them into
/// this future would double its size.
pub(super) async fn within_span<T>(
    observed: Option<&PendingEvent>,
    mut stages: Pin<&mut impl Future<Output = T>>,
) -> T {
    let Some(span) = observed.and_then(|observed| observed.span.as_deref()) else {
        return stages.await;
    };
    poll_fn(|context| {
        let mut polled = Poll::Pending;
        span.enter(&mut || polled = stages.as_mut().poll(context));
        polled
    })
    .await
}

/// Returns the span of a routed call. Its stages and the author's function log within it.
pub(super) fn log_span(operation: &GatedOperation, scope: &CallScope) -> Span {
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
struct InternalError {
    correlation_id: Option<String>,
    /// The cause. `None` if it was already logged with the same correlation id.
    cause: Option<String>,
    is_logged: bool,
}

impl InternalError {
    /// Returns the details of an error with code `INTERNAL_ERROR`. Returns `None` for other errors.
    fn of(error: &OperationError) -> Option<Self> {
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
fn log_call(event: &CallEvent<'_>, internal: Option<&InternalError>) {
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
