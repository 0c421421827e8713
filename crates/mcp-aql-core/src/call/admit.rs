//! Admit: passes a call through all gates, and consumes its confirmation token and its limits.

use super::Pipeline;
use super::validate::ValidCall;
use crate::error::OperationError;
use crate::execution::{ExecutionSlot, LimitReached};
use crate::gatekeeper::{GateRequest, GatedOperation, Permit, RetryCall};
use crate::operation::{Context, ExecutionCall, Handler};
use crate::request::Credentials;

/// A call admitted by all gates.
pub(super) struct AdmittedCall {
    pub(super) call: ValidCall,
    pub(super) permit: Permit,
    /// Slot for the execution started by the call. `None` for operations without a lifecycle.
    pub(super) slot: Option<ExecutionSlot>,
}

impl Pipeline {
    /// Passes a call through the gates (REQ-GATE-01). A call repeated by `retry_execution` also needs the confirmation
    /// of `retry_execution` itself.
    pub(super) async fn admit(
        &self,
        operation: &GatedOperation,
        call: ValidCall,
        context: &Context,
        retry: Option<RetryCall<'_>>,
    ) -> Result<AdmittedCall, OperationError> {
        // Check for a place in the queue and for a free slot before the gates consume tokens or quotas.
        if matches!(operation.handler, Handler::Function(_)) && operation.spec.lifecycle.is_none() {
            self.concurrency.check_queue()?;
        }
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
            // `retry_execution` itself uses no token. The gates of the repeated call need it.
            credentials: match operation.handler {
                Handler::Execution(ExecutionCall::Retry) => &none,
                _ => &call.credentials,
            },
            context,
            retry,
            full: slot.as_ref().and_then(|slot| slot.as_ref().err().copied()),
        };
        let permit = self.gatekeeper.pass_gates(request, &operation.gates).await?;
        let slot = slot.transpose().map_err(LimitReached::error)?;
        Ok(AdmittedCall { call, permit, slot })
    }
}
