//! Permit: checks that the caller has the scope and the claims that an operation needs.

use crate::caller::principal::Principal;
use crate::caller::session::Session;
use crate::error::OperationError;
use crate::gatekeeper::GatedOperation;
use crate::observe::audit::AuditEntry;
use crate::operation::{CallScope, RegisteredOperation, missing_claim};

use super::Pipeline;

impl Pipeline {
    /// Rejects callers without the scope or a claim of the operation, and calls without a principal if the adapter
    /// requires one. This check precedes validation, so that errors do not describe an operation to a caller who may not call it.
    pub(super) fn permit(
        &self,
        operation: &RegisteredOperation,
        scope: &CallScope,
    ) -> Result<(), OperationError> {
        self.permit_caller(scope)?;
        let principal = scope.principal();
        if let Some(scope) = principal.and_then(|principal| operation.missing_scope(principal)) {
            return Err(OperationError::permission_denied(format!(
                "the caller lacks the scope '{scope}'"
            ))
            .with_detail("operation", operation.spec.name)
            .with_detail("required_scope", scope));
        }
        match operation.missing_claim(principal) {
            None => Ok(()),
            Some(claim) => Err(missing_claim(principal, claim)),
        }
    }

    /// Records a denied call in the audit log.
    pub(super) async fn audit_denial(
        &self,
        operation: &GatedOperation,
        scope: &CallScope,
        error: &OperationError,
    ) {
        let entry = AuditEntry {
            event: "OPERATION_DENIED",
            operation: Some(operation.spec.name),
            endpoint: Some(&operation.endpoint),
            outcome: "denied",
            reason: Some(error.message()),
            principal: scope.principal().map(Principal::id),
            session: scope.session.as_ref().map(Session::id),
            ..AuditEntry::default()
        };
        // Boxed to keep the future of a permitted call small.
        Box::pin(self.services.audit.record(&entry)).await;
    }

    /// Rejects a call without a principal if the adapter requires one.
    pub(super) fn permit_caller(&self, scope: &CallScope) -> Result<(), OperationError> {
        match self.settings.access.requires_principal && scope.principal().is_none() {
            true => Err(OperationError::permission_denied(
                "this adapter only serves authenticated callers",
            )),
            false => Ok(()),
        }
    }
}
