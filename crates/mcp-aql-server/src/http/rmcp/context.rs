//! Converts the context of a request from rmcp's types: its extensions and notifications.

use std::sync::Arc;

use axum::http::request::Parts;
use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::caller::CallOrigin;
use mcp_aql_core::internal::util::erased;
use rmcp::model::{
    CustomNotification, ErrorCode, Extensions, MetaObject, NotificationMetaObject,
    ProgressNotificationParam, ServerNotification,
};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use crate::mcp::admission::describe_call;
use crate::mcp::answer::RpcError;
use crate::mcp::progress::{Notifier, ProgressParams, TASK_STATUS_NOTIFICATION};

pub(crate) fn error_data(error: RpcError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code), error.message, error.data)
}

/// Returns the extensions of the HTTP request. They include the original message.
pub(crate) fn http_extensions(extensions: &Extensions) -> mcp_aql_core::transport::Extensions {
    extensions.get::<Parts>().map(|parts| parts.extensions.clone()).unwrap_or_default()
}

/// Takes the origin of a call out of the extensions, and adds the id and the tool. `id` must be in the client's
/// spelling.
pub(crate) fn take_origin(
    extensions: &mut mcp_aql_core::transport::Extensions,
    id: &str,
    tool: &str,
) -> Option<Arc<CallOrigin>> {
    let mut origin: CallOrigin = extensions.remove()?;
    describe_call(&mut origin, id, tool);
    Some(Arc::new(origin))
}

/// Sends notifications through rmcp.
pub(crate) struct PeerNotifier(pub(crate) Peer<RoleServer>);

impl Notifier for PeerNotifier {
    fn notify(&self, params: ProgressParams) -> BoxFuture<'_, ()> {
        erased(async move {
            let ProgressParams { progress_token, progress, total, message, meta } = params;
            // Both types are either a string or an integer, so the conversion succeeds.
            let token = serde_json::to_value(progress_token).and_then(serde_json::from_value);
            let Ok(token) = token else { return };
            let mut params = ProgressNotificationParam::new(token, progress);
            params.total = total;
            params.message = message;
            params.meta = meta.map(|meta| NotificationMetaObject(MetaObject(meta)));
            if let Err(error) = self.0.notify_progress(params).await {
                tracing::debug!(%error, "progress could not be sent");
            }
        })
    }

    fn notify_task(&self, task: Value) -> BoxFuture<'_, ()> {
        erased(async move {
            let notification = CustomNotification::new(TASK_STATUS_NOTIFICATION, Some(task));
            let notification = ServerNotification::CustomNotification(notification);
            if let Err(error) = self.0.send_notification(notification).await {
                tracing::debug!(%error, "the state of a task could not be sent");
            }
        })
    }
}
