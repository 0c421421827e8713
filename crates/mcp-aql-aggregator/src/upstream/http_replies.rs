//! Handles the replies of a server over HTTP: one message, or a stream of events. Adds what they need to the message
//! filter.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use mcp_aql_client::http::header::CONTENT_LENGTH;
use mcp_aql_client::http::{Events, Method, Reply, StatusCode};
use rmcp::model::ProtocolVersion;

use super::Failure;
use super::message_filter::{Incoming, MessageFilter};
use super::message_start::{MessageStart, message_start};
use super::stats::Stats;

use super::http::{DELIVERY_TIMEOUT, DRAIN_TIMEOUT, HttpSession, SESSION};

impl HttpSession {
    pub(super) async fn take(
        self: &Arc<Self>,
        reply: Reply,
        asked: Option<i64>,
    ) -> Result<(), Failure> {
        let status = reply.status();
        if !status.is_success() {
            self.filter.note_of(asked, &format!("HTTP status {status}"));
        }
        let had_session = self.state().session.is_some();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(Failure::Unauthorized),
            StatusCode::TOO_MANY_REQUESTS => return Err(Failure::RateLimited),
            StatusCode::REQUEST_TIMEOUT => return Err(Failure::ServerError),
            _ if status.is_server_error() => return Err(Failure::ServerError),
            StatusCode::NOT_FOUND if had_session => {
                self.filter.expire();
                return Err(Failure::Exited);
            }
            // Some servers reply to an expired session with 400, although 404 is correct.
            StatusCode::BAD_REQUEST if had_session => return self.bad(reply, asked).await,
            _ => {}
        }
        if let Some(session) = reply.headers().get(SESSION)
            && status.is_success()
        {
            let mut session = session.clone();
            session.set_sensitive(true);
            self.state().session.get_or_insert(session);
        }
        let Some(id) = asked else {
            return if status.is_success() { Ok(()) } else { Err(Failure::Protocol) };
        };
        match reply.content_type().as_str() {
            "application/json" => self.whole(reply, id).await,
            "text/event-stream" if status.is_success() => self.events(reply, id).await,
            kind => {
                self.filter
                    .note_of(asked, &format!("HTTP status {status} with content of type '{kind}'"));
                Err(Failure::Protocol)
            }
        }
    }

    /// Handles status 400. It means that the request is invalid or that the session has expired.
    pub(super) async fn bad(
        self: &Arc<Self>,
        reply: Reply,
        asked: Option<i64>,
    ) -> Result<(), Failure> {
        if let Some(id) = asked
            && reply.content_type() == "application/json"
        {
            self.whole(reply, id).await?;
            if !self.filter.waits_for(id) {
                return Ok(());
            }
        }
        if self.has_session().await {
            return Err(Failure::Protocol);
        }
        self.filter.expire();
        Err(Failure::Exited)
    }

    /// Returns `true` if the server still knows the session.
    pub(super) async fn has_session(&self) -> bool {
        const PING: &[u8] = br#"{"jsonrpc":"2.0","id":"ping","method":"ping"}"#;
        let url = self.state().url.clone();
        let headers = self.headers();
        let sent = self.server.client.send(&url, Method::POST, headers, PING.to_vec());
        let answered = tokio::time::timeout(DELIVERY_TIMEOUT, sent).await;
        matches!(answered, Ok(Ok(reply)) if reply.status().is_success())
    }

    /// Reads a body with a single message.
    pub(super) async fn whole(self: &Arc<Self>, mut reply: Reply, id: i64) -> Result<(), Failure> {
        let most = self.filter.max_bytes();
        let length = reply.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if length.and_then(|length| length.parse().ok()).is_some_and(|length: usize| length > most)
        {
            return self.too_large(id);
        }
        let mut body = Vec::new();
        while let Some(chunk) =
            reply.chunk().await.map_err(|error| self.failed(&error, Some(id)))?
        {
            Stats::count(&self.filter.stats.bytes_in, chunk.len());
            if body.len() + chunk.len() > most {
                return self.too_large(id);
            }
            body.extend_from_slice(&chunk);
        }
        self.message(&body);
        Ok(())
    }

    /// Reads events, one message each, until the answer to this request.
    pub(super) async fn events(self: &Arc<Self>, mut reply: Reply, id: i64) -> Result<(), Failure> {
        let most = self.filter.max_bytes();
        let mut events = Events::default();
        while let Some(chunk) =
            reply.chunk().await.map_err(|error| self.failed(&error, Some(id)))?
        {
            Stats::count(&self.filter.stats.bytes_in, chunk.len());
            for message in events.take(&chunk) {
                match message_start(&message) {
                    _ if message.len() <= most => self.message(&message),
                    // A notification or request over the limit is skipped.
                    MessageStart::Method => {}
                    _ => return self.too_large(id),
                }
            }
            if events.held() > most {
                match message_start(events.beginning()) {
                    MessageStart::Method => events.skip(),
                    _ => return self.too_large(id),
                }
            }
            if !self.filter.waits_for(id) {
                tokio::spawn(rest(reply));
                return Ok(());
            }
            if let Some(why) = self.filter.cause() {
                return Err(why);
            }
        }
        // The server closed the stream before it answered.
        if self.filter.waits_for(id) { Err(Failure::Exited) } else { Ok(()) }
    }

    pub(super) fn too_large(&self, id: i64) -> Result<(), Failure> {
        if let Some(told) = self.filter.too_large(id) {
            let _ = self.answers.send(told);
        }
        Ok(())
    }

    pub(super) fn message(self: &Arc<Self>, text: &[u8]) {
        match self.filter.incoming(text.trim_ascii()) {
            Incoming::Answer(answer) => {
                let _ = self.answers.send(*answer);
            }
            Incoming::Reply(reply) => {
                let link = Arc::clone(self);
                tokio::spawn(async move {
                    // A server may send requests without end, so the number of replies is limited.
                    let Ok(_permit) = link.replies.try_acquire() else { return };
                    let _ =
                        tokio::time::timeout(DELIVERY_TIMEOUT, link.post(reply, Vec::new(), None))
                            .await;
                });
            }
            Incoming::Nothing | Incoming::NotAMessage => {}
        }
    }
}

impl MessageFilter {
    /// Records that the server no longer knows the session.
    pub(super) fn expire(&self) {
        self.expired.store(true, Relaxed);
        self.end(Failure::Exited);
    }

    /// Returns the negotiated protocol version.
    pub(super) fn version(&self) -> Option<&ProtocolVersion> {
        self.version.get()
    }

    /// Returns `true` if a request is pending.
    pub(super) fn waits_for(&self, id: i64) -> bool {
        self.pending().contains_key(&id)
    }

    /// Records a problem of a pending request.
    pub(super) fn note_of(&self, id: Option<i64>, what: &str) {
        let asked = id.and_then(|id| self.pending().get(&id).cloned());
        match asked {
            Some(asked) => self.note(&asked, what),
            None => self.stats.causes.add(what),
        }
    }
}

/// Reads the rest of a stream after the answer, for a short time.
async fn rest(mut reply: Reply) {
    let reading = async { while let Ok(Some(_)) = reply.chunk().await {} };
    // If the stream stays open, dropping it closes the connection.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, reading).await;
}
