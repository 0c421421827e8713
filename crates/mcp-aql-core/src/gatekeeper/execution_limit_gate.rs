//! The gate for the limit on executions.

use std::sync::Arc;

use super::PermissionPlan;
use super::gate::{Gate, GatePlan, GateRequest, GateStage, Ticket};
use crate::error::OperationError;
use crate::operation::RegisteredOperation;
use crate::services::Services;
use crate::util::BoxFuture;

/// Rejects calls that would start an execution beyond the limit. It runs before later gates consume tokens and limits.
pub(super) struct ExecutionLimitGate {
    pub(super) services: Arc<Services>,
}

impl Gate for ExecutionLimitGate {
    fn stage(&self) -> GateStage {
        GateStage::Capacity
    }

    fn plan(&self, operation: &RegisteredOperation, _: &PermissionPlan) -> GatePlan {
        match operation.spec.lifecycle {
            Some(_) => GatePlan::Always,
            None => GatePlan::Never,
        }
    }

    fn concerns(&self, request: &GateRequest<'_>) -> bool {
        request.full.is_some()
    }

    fn admit<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Ticket + 'a>>, OperationError>> {
        Box::pin(async move {
            let Some(full) = request.full else { return Ok(None) };
            let reason = "the limit on executions is reached";
            request.audit_denied(&self.services.audit, reason).await;
            Err(full.error())
        })
    }
}
