//! A client's connection and its session.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_aql_core::Session;
use serde_json::{Map, Value};

use super::elicitation::takes_questions;
use super::task_source::{TaskSource, tasks_capability};
use super::version::{WITH_BATCHES, WITH_EMPTY_EVENTS, WITH_TASKS};

/// A client's connection and its session (REQ-SES-01, REQ-SES-02).
///
/// `Connection::default()` serves HTTP requests without a session. `initialize` turns it into a lasting connection,
/// whose requests share a session. The client's headers do not affect this (REQ-SES-05).
#[derive(Debug, Default)]
pub(crate) struct Connection {
    session: OnceLock<Session>,
    /// The session id of MCP over HTTP, sent in `Mcp-Session-Id`.
    mcp_session_id: OnceLock<Box<str>>,
    /// If `true`, the requests that arrive here share a connection.
    lasting: AtomicBool,
    /// If `true`, the client's version of MCP supports batches.
    batches: AtomicBool,
    /// If `true`, the client's version of MCP allows an event stream to start with an event without a message.
    empty_events: AtomicBool,
    /// If `true`, the client can show questions of the server to its user.
    questions: AtomicBool,
    /// The capability `tasks` declared to the client. Unset if the client's version of MCP does not have it.
    tasks: OnceLock<Value>,
    /// The name and the version of the client, from `initialize`.
    client: OnceLock<String>,
}

impl Connection {
    /// Creates a connection that serves more than one request, such as standard input and output.
    pub(crate) fn lasting() -> Self {
        let connection = Self::default();
        connection.initialized();
        connection
    }

    /// Marks the connection as initialized.
    pub(crate) fn initialized(&self) {
        self.lasting.store(true, Ordering::Release);
    }

    /// Records the result of `initialize`: the version of MCP, the client's capabilities, and the server's tasks.
    pub(crate) fn negotiated(
        &self,
        version: &str,
        capabilities: &Map<String, Value>,
        tasks: Option<TaskSource<'_>>,
    ) {
        self.batches.store(version == WITH_BATCHES, Ordering::Release);
        self.empty_events.store(version >= WITH_EMPTY_EVENTS, Ordering::Release);
        self.questions.store(takes_questions(version, capabilities), Ordering::Release);
        if let Some(source) = tasks.filter(|_| version == WITH_TASKS) {
            self.tasks.get_or_init(|| tasks_capability(source));
        }
    }

    /// Records the client's `clientInfo`.
    pub(crate) fn introduced(&self, client: String) {
        let client = self.client.get_or_init(|| client);
        if let Some(session) = self.session.get() {
            session.introduce(client);
        }
    }

    /// Returns `true` if the server may send questions to the client.
    pub(crate) fn takes_questions(&self) -> bool {
        self.questions.load(Ordering::Acquire)
    }

    /// Returns the capability `tasks` of MCP 2025-11-25, if the client can use it.
    pub(crate) fn tasks(&self) -> Option<&Value> {
        self.tasks.get()
    }

    /// Returns `true` if the client may send JSON-RPC batches.
    pub(crate) fn takes_batches(&self) -> bool {
        self.batches.load(Ordering::Acquire)
    }

    /// Returns `true` if an event without a message may start a stream.
    #[cfg(feature = "http")]
    pub(crate) fn takes_empty_events(&self) -> bool {
        self.empty_events.load(Ordering::Acquire)
    }

    /// Returns the session of the connection. It is opened on first use and not in `initialize`, because the newest MCP
    /// has no such request. `opened` is called with a newly opened session.
    pub(crate) fn session(&self, opened: impl FnOnce(&Session)) -> Option<Session> {
        if !self.lasting.load(Ordering::Acquire) {
            return None;
        }
        let session = self.session.get_or_init(|| {
            let session = Session::new();
            session.introduce(self.client.get().map_or("", String::as_str));
            if let Some(id) = self.mcp_session_id.get() {
                session.set_mcp_id(id);
            }
            opened(&session);
            session
        });
        Some(session.clone())
    }

    /// Records the MCP id of the session before the session is opened.
    #[cfg(feature = "http")]
    pub(crate) fn set_mcp_session_id(&self, id: &str) {
        self.mcp_session_id.get_or_init(|| id.into());
    }

    /// Returns the session if it was opened.
    pub(crate) fn opened(&self) -> Option<&Session> {
        self.session.get()
    }

    /// Ends the session.
    pub(crate) fn end(&self) {
        if let Some(session) = self.opened() {
            session.end();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end();
    }
}
