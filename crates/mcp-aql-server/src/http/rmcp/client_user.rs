//! Asks the client's user through rmcp, because only rmcp can send requests to the client of a session. rmcp does not
//! withdraw a question if its call ends first.

use std::sync::Arc;

use axum::http::request::Parts;
use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::transport::{AskUser, Elicitation, UserAnswer};
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitationAction, RequestId,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};

use super::accept::AcceptedType;
use crate::mcp::connection::Connection;
use crate::mcp::elicitation::{WITHDRAWN, form};

/// The user of a session's client.
pub(crate) struct RmcpUser(Peer<RoleServer>);

impl RmcpUser {
    /// Returns how to ask the user of this connection, or `None` if that fails. Questions are sent as events,
    /// so clients that accept no events for this reply cannot be asked.
    pub(crate) fn of(
        connection: &Connection,
        context: &RequestContext<RoleServer>,
    ) -> Option<Elicitation> {
        let head = context.extensions.get::<Parts>();
        let has_events = head.is_none_or(|head| head.extensions.get::<AcceptedType>().is_none());
        let asks = has_events && connection.takes_questions();
        asks.then(|| Elicitation::Waiting(Arc::new(Self(context.peer.clone()))))
    }
}

impl AskUser for RmcpUser {
    fn ask(&self, question: String) -> BoxFuture<'_, Option<UserAnswer>> {
        erased(async move {
            let params = serde_json::from_value(form(&question)).ok()?;
            let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
            let options = PeerRequestOptions::no_options();
            let sent = self.0.send_cancellable_request(request, options).await;
            let sent = sent.inspect_err(|error| tracing::debug!(%error, "cannot ask the user"));
            let mut handle = sent.ok()?;
            let open = RmcpQuestion { peer: &self.0, id: Some(handle.id.clone()) };
            let answered = (&mut handle.rx).await;
            open.close();
            match answered {
                Ok(Ok(ClientResult::ElicitResult(result))) => match result.action {
                    ElicitationAction::Accept => Some(UserAnswer::Accepted),
                    ElicitationAction::Decline => Some(UserAnswer::Declined),
                    ElicitationAction::Cancel => Some(UserAnswer::Cancelled),
                    _ => None,
                },
                _ => None,
            }
        })
    }
}

/// An open question. If dropped before the answer arrives, it withdraws the question.
struct RmcpQuestion<'a> {
    peer: &'a Peer<RoleServer>,
    id: Option<RequestId>,
}

impl RmcpQuestion<'_> {
    fn close(mut self) {
        self.id = None;
    }
}

impl Drop for RmcpQuestion<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        let params = CancelledNotificationParam::new(Some(id), Some(WITHDRAWN.to_owned()));
        // Without a runtime, the connection ends anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = peer.notify_cancelled(params).await {
                    tracing::debug!(%error, "the client is gone");
                }
            });
        }
    }
}
