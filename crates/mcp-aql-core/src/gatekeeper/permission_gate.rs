//! The gate for trust, danger and policies.

use std::sync::Arc;

use mcp_aql_protocol::{DangerLevel, ErrorCode, TrustLevel};

use super::PermissionPlan;
use super::gate::{Gate, GatePlan, GateRequest, GateStage, Ticket};
use super::permission_plan::Decision;
use crate::error::OperationError;
use crate::operation::{Handler, RegisteredOperation};
use crate::services::Services;
use crate::util::BoxFuture;

/// Rejects calls forbidden by the adapter's trust level or by a policy, and audits the calls it admits.
pub(super) struct PermissionGate {
    pub(super) services: Arc<Services>,
    /// Trust level of the adapter, if it declares one.
    pub(super) trust: Option<TrustLevel>,
}

impl Gate for PermissionGate {
    fn stage(&self) -> GateStage {
        GateStage::Permission
    }

    fn plan(&self, operation: &RegisteredOperation, permission: &PermissionPlan) -> GatePlan {
        match &operation.handler {
            Handler::Introspect => GatePlan::Never,
            // The audit log may get a reader at any time, and then needs an entry for every call.
            _ if permission.is_open() => GatePlan::Always,
            _ => GatePlan::ByArguments,
        }
    }

    fn concerns(&self, request: &GateRequest<'_>) -> bool {
        self.services.audit.is_read() || request.decision() != Decision::Allow
    }

    fn admit<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Ticket + 'a>>, OperationError>> {
        Box::pin(async move {
            let audit = &self.services.audit;
            match request.decision() {
                Decision::Allow => {
                    request.audit(audit, "OPERATION_ALLOWED", "allowed", None).await;
                    Ok(None)
                }
                Decision::Confirm { .. } => Ok(None),
                Decision::Untrusted { minimum_trust } => {
                    let error = self.trust_error(request, minimum_trust);
                    request.audit_denied(audit, error.code().as_str()).await;
                    Err(error)
                }
                Decision::Deny { reason } => {
                    let reason = reason.unwrap_or("a policy of this adapter forbids this call");
                    request.audit_denied(audit, reason).await;
                    Err(OperationError::permission_denied(reason)
                        .with_detail("operation", request.name()))
                }
            }
        })
    }
}

impl PermissionGate {
    /// Returns `PERMISSION_DANGER_LEVEL_DENIED`, or `PERMISSION_TRUST_LEVEL_INSUFFICIENT` if only `introspect` may run
    /// (REQ-DNG-07, REQ-DNG-16).
    fn trust_error(&self, request: GateRequest<'_>, minimum: TrustLevel) -> OperationError {
        let (name, level) = (request.name(), request.danger());
        let actual = self.trust.unwrap_or_default();
        if level == DangerLevel::Safe {
            return OperationError::new(
                ErrorCode::PermissionTrustLevelInsufficient,
                format!(
                    "Operation '{name}' requires trust level '{minimum}', adapter has '{actual}'. \
                     Only introspect may be called"
                ),
            )
            .with_detail("operation", name)
            .with_detail("required_trust", minimum.as_str())
            .with_detail("actual_trust", actual.as_str())
            .with_detail("danger_level", level.number());
        }
        let error = OperationError::new(
            ErrorCode::PermissionDangerLevelDenied,
            format!(
                "Operation '{name}' (danger: {level}) denied for adapter trust level '{actual}'"
            ),
        )
        .with_detail("operation", name)
        .with_detail("danger_level", level.as_str())
        .with_detail("adapter_trust", actual.as_str())
        .with_detail("minimum_trust_required", minimum.as_str());
        match request.operation.spec.danger.reasons {
            [] => error,
            reasons => error.with_detail("reasons", reasons),
        }
    }
}
