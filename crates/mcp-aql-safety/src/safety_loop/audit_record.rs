//! Writes the events of the safety loop to the audit log.

use mcp_aql_core::audit::AuditEntry;

use super::caller::CallerIds;
use super::runtime::SafetyCore;
use super::secret_mask::masked;
use super::transition::Event;

impl SafetyCore {
    /// Records an event. Possible secrets in an agent's strings are masked.
    pub(super) async fn record(
        &self,
        event: &Event,
        agent: Option<&str>,
        caller: CallerIds<'_>,
        execution_id: Option<&str>,
        operation: Option<&str>,
    ) {
        let by = event.by.as_ref();
        let action = event.action.as_deref().map(masked);
        let reason = event.reason.as_deref().map(masked);
        let entry = AuditEntry {
            event: event.event,
            operation,
            outcome: event.outcome,
            action: action.as_deref(),
            reason: reason.as_deref(),
            principal: caller.principal,
            session: caller.session,
            agent,
            execution_id,
            challenge_id: event.challenge.as_deref(),
            decided_by: by.map(|by| by.channel()),
            operator: by.and_then(|by| by.name()),
            confirmation: event.confirmation(),
            ..AuditEntry::default()
        };
        self.services.audit.record(&entry).await;
    }
}
