//! The interface of the message filter for the transport over HTTP.

use std::sync::atomic::Ordering::Relaxed;

use rmcp::model::ProtocolVersion;

use super::Failure;

use super::message_filter::MessageFilter;

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
            None => self.stats.notes.add(what),
        }
    }
}
