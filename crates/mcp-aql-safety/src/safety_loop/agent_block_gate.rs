//! The gate that rejects calls of blocked agents.

use std::sync::Arc;

use mcp_aql_core::internal::gatekeeper::{
    Gate, GatePlan, GateRequest, GateStage, PermissionPlan, Ticket,
};
use mcp_aql_core::internal::operation::{ExecutionCall, Handler, RegisteredOperation};
use mcp_aql_core::{BoxFuture, OperationError};
use mcp_aql_protocol::{RESERVED_OPERATIONS, SemanticCategory};

use super::SafetyCore;

/// Rejects the calls of a session with a blocked agent. A blocked agent must stop all actions (REQ-OOB-08, MCP-AQL
/// §8.6.4).
pub(crate) struct AgentBlockGate(pub(crate) Arc<SafetyCore>);

impl Gate for AgentBlockGate {
    fn stage(&self) -> GateStage {
        GateStage::Caller
    }

    /// Reads and cancellations are always admitted. The operations of the safety loop check for blocks themselves.
    fn plan(&self, operation: &RegisteredOperation, _: &PermissionPlan) -> GatePlan {
        let spec = &operation.spec;
        let is_cancellation =
            matches!(operation.handler, Handler::Execution(ExecutionCall::Cancel));
        let is_admitted = spec.category == SemanticCategory::Read
            || is_cancellation
            || RESERVED_OPERATIONS.contains(&spec.name);
        if is_admitted { GatePlan::Never } else { GatePlan::Always }
    }

    fn concerns(&self, request: &GateRequest<'_>) -> bool {
        self.0.may_be_blocked(request.session())
    }

    fn admit<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Ticket + 'a>>, OperationError>> {
        let Self(core) = self;
        Box::pin(async move {
            let blocked = core.blocked_in(request.session()).await?;
            match core.first_block_error(blocked, "") {
                Ok(()) => Ok(None),
                Err(error) => {
                    let reason = "an agent of the session is blocked";
                    request.audit_denied(&core.services.audit, reason).await;
                    Err(error)
                }
            }
        })
    }
}
