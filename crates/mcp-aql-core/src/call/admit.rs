//! Admit: takes a call through the gates, and reserves what running it will use up.

use super::Pipeline;
use super::validate::ValidCall;
use crate::error::OperationError;
use crate::execution::{ExecutionSlot, LimitReached};
use crate::gatekeeper::{GateRequest, GatedOperation, Permit, RetryCall};
use crate::operation::{Context, ExecutionCall, Handler};
use crate::request::Credentials;

/// A call that all gates have admitted.
pub(super) struct AdmittedCall {
    pub(super) call: ValidCall,
    pub(super) permit: Permit,
    /// The place for the execution that the call begins.
    pub(super) slot: Option<ExecutionSlot>,
}

impl Pipeline {
    /// Takes a call through the gates (REQ-GATE-01). If `retry_execution` repeats the call, the confirmation
    /// of `retry_execution` is required too.
    pub(super) async fn admit(
        &self,
        operation: &GatedOperation,
        call: ValidCall,
        context: &Context,
        retry: Option<RetryCall<'_>>,
    ) -> Result<AdmittedCall, OperationError> {
        // A missing place for the execution is found before tokens or quotas are used up.
        let slot =
            operation.spec.lifecycle.map(|_| self.executions.slot(context.execution_account()));
        let none = Credentials::default();
        let request = GateRequest {
            operation,
            permission: &operation.permission,
            arguments: &call.valid.arguments,
            shapes: &self.catalog.shapes,
            states: &self.states,
            time_limit: self.concurrency.time_limit(operation.spec.timeout_seconds),
            // A retry makes another call, whose gates need the tokens.
            credentials: match operation.handler {
                Handler::Execution(ExecutionCall::Retry) => &none,
                _ => &call.credentials,
            },
            context,
            retry,
            full: slot.as_ref().and_then(|slot| slot.as_ref().err().copied()),
        };
        let permit = self.gatekeeper.admit(request, &operation.gates).await?;
        let slot = slot.transpose().map_err(LimitReached::error)?;
        Ok(AdmittedCall { call, permit, slot })
    }
}
