use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::session::Session;

/// One client's connection and the session that belongs to it (REQ-SES-01, REQ-SES-02).
#[derive(Debug)]
pub(super) struct Connection {
    session: OnceLock<Session>,
    /// Whether requests that arrive here share a connection.
    lasting: AtomicBool,
    /// Whether the client's version of MCP has batches.
    batches: AtomicBool,
}

impl Connection {
    /// A connection of its own, such as standard input and output.
    pub(super) fn lasting() -> Self {
        Self { session: OnceLock::new(), lasting: true.into(), batches: false.into() }
    }

    /// A handler that HTTP made. It belongs to one connection once a client was initialized through
    /// it; without that, it was made for one request and is gone after it. What the client writes
    /// into its headers has no say in it (REQ-SES-05).
    #[cfg(feature = "http")]
    pub(super) fn http() -> Self {
        Self { session: OnceLock::new(), lasting: false.into(), batches: false.into() }
    }

    /// A client was initialized here.
    pub(super) fn initialized(&self) {
        self.lasting.store(true, Ordering::Release);
    }

    /// The client and the server have agreed on a version of MCP, which has batches or not.
    pub(super) fn negotiated(&self, batches: bool) {
        self.batches.store(batches, Ordering::Release);
    }

    /// Whether the client may send several messages in one.
    pub(super) fn takes_batches(&self) -> bool {
        self.batches.load(Ordering::Acquire)
    }

    /// The connection's session, opened by whoever asks first: the newest MCP has no initialize.
    pub(super) fn session(&self) -> Option<Session> {
        if !self.lasting.load(Ordering::Acquire) {
            return None;
        }
        Some(self.session.get_or_init(Session::new).clone())
    }

    /// The connection is gone.
    pub(super) fn end(&self) {
        if let Some(session) = self.session.get() {
            session.end();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end();
    }
}
