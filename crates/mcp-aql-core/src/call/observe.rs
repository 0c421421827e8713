//! Observe: passes calls and executions to the author's observers.

use std::time::Instant;

use mcp_aql_protocol::ErrorCode;

use super::Pipeline;
use crate::call_event::{CallEvent, CallOutcome, Observers};
use crate::operation::{Context, OperationSpec, Outcome};
use crate::response::Reply;

/// A call or an execution that is observed. The observers receive its event when it is dropped. Without an outcome it
/// was cancelled.
pub(super) struct Observed {
    observers: Observers,
    spec: Option<OperationSpec>,
    /// The id of the execution; `None` for a call.
    execution_id: Option<String>,
    context: Context,
    started: Instant,
    outcome: CallOutcome,
    code: Option<ErrorCode>,
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
    /// Begins to observe a call. Without an observer nothing is measured.
    pub(super) fn begin(
        observers: &Observers,
        spec: impl FnOnce() -> Option<OperationSpec>,
        context: impl FnOnce() -> Context,
    ) -> Option<Self> {
        (!observers.is_empty()).then(|| Self {
            observers: observers.clone(),
            spec: spec(),
            execution_id: None,
            context: context(),
            started: Instant::now(),
            outcome: CallOutcome::Cancelled,
            code: None,
            bytes: 0,
        })
    }

    /// Begins to observe an execution with this context.
    pub(super) fn begin_execution(
        observers: &Observers,
        spec: OperationSpec,
        id: &str,
        context: &Context,
    ) -> Option<Self> {
        let mut observed = Self::begin(observers, || Some(spec), || context.clone())?;
        observed.execution_id = Some(id.to_owned());
        Some(observed)
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
        self.observers.tell(&CallEvent {
            operation: self.spec.map(|spec| spec.name),
            category: self.spec.map(|spec| spec.category),
            outcome: self.outcome,
            code: self.code,
            duration: self.started.elapsed(),
            request_bytes: scope.request_bytes,
            reply_bytes: self.bytes,
            execution_id: self.execution_id.as_deref(),
            scope,
        });
    }
}
