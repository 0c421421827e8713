//! Observe: passes calls and executions to the author's observers, and calls to the log. Both run within the spans of
//! the tracer, if the adapter has one.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use mcp_aql_protocol::ErrorCode;

use super::Pipeline;
use super::call_log::{self, InternalError};
use crate::call_event::{CallEvent, CallOutcome};
use crate::call_origin::ActiveSpan;
use crate::call_tracer::{CallSpan, CallStart};
use crate::error::OperationError;
use crate::observers::Observers;
use crate::operation::{Context, OperationSpec, Outcome};
use crate::response::Reply;

/// A call or an execution that is observed. The observers and the log receive its event when it is dropped. Without an
/// outcome it was cancelled.
pub(super) struct Observed {
    observers: Observers,
    /// The span of the tracer, if the adapter has one.
    span: Option<Box<dyn CallSpan>>,
    spec: Option<OperationSpec>,
    /// The id of the execution; `None` for a call.
    execution_id: Option<String>,
    context: Context,
    started: Instant,
    outcome: CallOutcome,
    code: Option<ErrorCode>,
    /// The error, if it is an internal one.
    internal: Option<InternalError>,
    bytes: usize,
}

impl Pipeline {
    /// Begins to observe a call of the operation with this name, which may be unknown.
    pub(super) fn observe(&self, operation: &str, context: &Context) -> Option<Observed> {
        let spec = || self.catalog.registry.get(operation).map(|entry| entry.operation.spec);
        Observed::begin(&self.observers, spec, || context.clone())
    }
}

impl Observed {
    /// Begins to observe a call. Without an observer and a log nothing is measured.
    pub(super) fn begin(
        observers: &Observers,
        spec: impl FnOnce() -> Option<OperationSpec>,
        context: impl FnOnce() -> Context,
    ) -> Option<Self> {
        (call_log::is_enabled() || !observers.is_empty())
            .then(|| Self::new(observers, spec(), context(), None))
    }

    /// Begins to observe an execution with this context, which a call in the span `parent` has begun.
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

    /// Keeps the cause of an internal error for the log.
    pub(super) fn keep_cause(&mut self, error: &OperationError) {
        self.internal = InternalError::of(error);
    }

    /// Completes the event of a call with its reply.
    pub(super) fn replied(mut self, reply: &Reply) {
        self.outcome = CallOutcome::of(reply.code, self.context.is_cancelled());
        self.code = reply.code;
        self.bytes = reply.text.len();
    }

    /// Completes the event of an execution with its result.
    pub(super) fn ended(mut self, outcome: &Outcome) {
        match outcome {
            Ok(payload) => self.bytes = payload.len(),
            // The record of a cancelled execution has no error.
            Err(_) if self.context.is_cancelled() => return,
            Err(error) => self.code = Some(error.code()),
        }
        self.outcome = CallOutcome::of(self.code, false);
    }
}

impl Drop for Observed {
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
        // Executions log their ends with their records.
        let log = || {
            if self.execution_id.is_none() {
                call_log::log(&event, self.internal.as_ref());
            }
        };
        match &self.span {
            // Within the span, so that the line has the ids of the trace.
            Some(span) => {
                span.enter(&mut || log());
                span.end(&event);
            }
            None => log(),
        }
        self.observers.notify(&event);
    }
}

/// Awaits the stages of a call within its span, if it has one. The stages are pinned by the caller, because a future
/// that is moved takes its place twice.
pub(super) async fn within_span<T>(
    observed: Option<&Observed>,
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
