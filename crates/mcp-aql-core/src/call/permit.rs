//! Permit: checks that the caller has the scope that an operation needs.

use crate::caller::principal::Principal;
use crate::caller::session::Session;
use crate::error::OperationError;
use crate::gatekeeper::GatedOperation;
use crate::observe::audit::AuditEntry;
use crate::operation::{CallScope, RegisteredOperation};

use super::Pipeline;

impl Pipeline {
    /// Rejects callers without the scope of the operation, and calls without a principal if the adapter requires one.
    /// This check precedes validation, so that errors do not describe an operation to a caller who may not call it.
    pub(super) fn permit(
        &self,
        operation: &RegisteredOperation,
        scope: &CallScope,
    ) -> Result<(), OperationError> {
        self.permit_caller(scope)?;
        let Some(principal) = scope.principal() else { return Ok(()) };
        match operation.missing_scope(principal) {
            None => Ok(()),
            Some(scope) => Err(OperationError::permission_denied(format!(
                "the caller lacks the scope '{scope}'"
            ))
            .with_detail("operation", operation.spec.name)
            .with_detail("required_scope", scope)),
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
