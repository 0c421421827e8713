//! The notification about a call that waits for a person.

use chrono::{DateTime, Utc};
use mcp_aql_core::internal::gatekeeper::ApprovalRequest;

use super::directive::{AgentNotification, NotificationMetadata, NotificationType};

/// Creates the notification for the agents of the session.
pub(super) fn waiting_notice(
    pending: &ApprovalRequest<'_>,
    now: DateTime<Utc>,
) -> AgentNotification {
    let metadata = NotificationMetadata {
        operation: Some(pending.operation.to_owned()),
        reason: pending.reasons.first().cloned(),
        level: Some(pending.level.to_owned()),
        verification_id: None,
    };
    let message = format!("Operation '{}' waits for a person's approval", pending.operation);
    AgentNotification::new(NotificationType::PermissionPending, message, Some(metadata), now)
}
