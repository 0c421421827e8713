//! Observe: tells the author's observers about calls and executions.

use std::time::Instant;

use mcp_aql_protocol::ErrorCode;

use super::Pipeline;
use crate::call_event::{CallEvent, CallOutcome, Observers};
use crate::operation::{Context, OperationSpec, Outcome, RegisteredOperation};
use crate::response::Reply;

/// A call that is observed. Nothing is measured without an observer. A call that is dropped was cancelled.
pub(super) struct ObservedCall<'a> {
    observers: &'a Observers,
    operation: Option<&'a RegisteredOperation>,
    context: Context,
    started: Instant,
    outcome: CallOutcome,
    code: Option<ErrorCode>,
    bytes: usize,
}

impl Pipeline {
    /// Begins to observe a call of the operation with this name, which may be unknown.
    pub(super) fn observe(&self, operation: &str, context: &Context) -> Option<ObservedCall<'_>> {
        let find = || self.catalog.registry.get(operation).map(|entry| &*entry.operation);
        self.observe_with(find, || context.clone())
    }

    /// Begins to observe a call of an operation.
    pub(super) fn observe_with<'a>(
        &'a self,
        operation: impl FnOnce() -> Option<&'a RegisteredOperation>,
        context: impl FnOnce() -> Context,
    ) -> Option<ObservedCall<'a>> {
        let observers = &self.observers;
        (!observers.is_empty()).then(|| ObservedCall {
            observers,
            operation: operation(),
            context: context(),
            started: Instant::now(),
            outcome: CallOutcome::Cancelled,
            code: None,
            bytes: 0,
        })
    }
}

impl ObservedCall<'_> {
    /// Tells the observers about the reply.
    pub(super) fn replied(mut self, reply: &Reply) {
        self.outcome = CallOutcome::of(reply.code, self.context.is_cancelled());
        self.code = reply.code;
        self.bytes = reply.text.len();
    }
}

impl Drop for ObservedCall<'_> {
    fn drop(&mut self) {
        let operation = self.operation.map(|operation| &operation.spec);
        let scope = self.context.scope();
        self.observers.tell(&CallEvent {
            operation: operation.map(|spec| spec.name),
            category: operation.map(|spec| spec.category),
            outcome: self.outcome,
            code: self.code,
            duration: self.started.elapsed(),
            request_bytes: scope.request_bytes,
            reply_bytes: self.bytes,
            execution_id: None,
            scope,
        });
    }
}

/// An execution that is observed. An execution that is dropped was cancelled.
pub(super) struct ObservedExecution {
    observers: Observers,
    spec: OperationSpec,
    id: String,
    context: Context,
    started: Instant,
    outcome: CallOutcome,
    code: Option<ErrorCode>,
    bytes: usize,
}

impl ObservedExecution {
    /// Begins to observe an execution with this context.
    pub(super) fn begin(
        observers: Observers,
        spec: OperationSpec,
        id: &str,
        context: &Context,
    ) -> Option<Self> {
        (!observers.is_empty()).then(|| Self {
            observers,
            spec,
            id: id.to_owned(),
            context: context.clone(),
            started: Instant::now(),
            outcome: CallOutcome::Cancelled,
            code: None,
            bytes: 0,
        })
    }

    /// Tells the observers that the execution has ended.
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

impl Drop for ObservedExecution {
    fn drop(&mut self) {
        let scope = self.context.scope();
        self.observers.tell(&CallEvent {
            operation: Some(self.spec.name),
            category: Some(self.spec.category),
            outcome: self.outcome,
            code: self.code,
            duration: self.started.elapsed(),
            request_bytes: scope.request_bytes,
            reply_bytes: self.bytes,
            execution_id: Some(&self.id),
            scope,
        });
    }
}
