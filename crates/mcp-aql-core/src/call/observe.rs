//! Observe: reports calls and executions to the author's observers, and calls to the log. Both run within the spans of
//! the tracer, if the adapter has one.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use mcp_aql_protocol::ErrorCode;

use super::Pipeline;
use super::call_log::{self, InternalError};
use crate::caller::call_origin::ActiveSpan;
use crate::error::OperationError;
use crate::observe::call_event::{CallEvent, CallOutcome};
use crate::observe::call_tracer::{CallSpan, CallStart};
use crate::observe::logging::logs_calls;
use crate::observe::observers::Observers;
use crate::operation::{Context, OperationSpec, Outcome};
use crate::response::Reply;

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
                call_log::log(&event, self.internal.as_ref());
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
