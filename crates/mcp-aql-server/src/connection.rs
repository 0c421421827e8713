//! A client's connection and its session.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_aql_core::Session;
use serde_json::{Map, Value};

use super::elicitation::takes_questions;
use super::mcp_version::{WITH_BATCHES, WITH_EMPTY_EVENTS, WITH_TASKS};
use super::task_source::{TaskSource, tasks_capability};

/// A client's connection and the session that belongs to it (REQ-SES-01, REQ-SES-02).
///
/// The default is a handler created for HTTP. It represents a connection once a client was initialized
/// through it. Otherwise it serves a single request. The client's headers do not affect this
/// (REQ-SES-05).
#[derive(Debug, Default)]
pub(super) struct Connection {
    session: OnceLock<Session>,
    /// The id of the session in MCP, over HTTP.
    mcp_session_id: OnceLock<Box<str>>,
    /// Whether requests that arrive here share a connection.
    lasting: AtomicBool,
    /// Whether the client's version of MCP supports batches.
    batches: AtomicBool,
    /// Whether the client's version of MCP has events without a message, which begin a stream.
    empty_events: AtomicBool,
    /// Whether the client shows questions of the server to its user.
    questions: AtomicBool,
    /// The capability `tasks` that the server declares to the client, if the client's version of MCP has it.
    tasks: OnceLock<Value>,
    /// The name and the version of the client, as `initialize` says.
    client: OnceLock<String>,
}

impl Connection {
    /// A connection that lasts, such as standard input and output.
    pub(super) fn lasting() -> Self {
        let connection = Self::default();
        connection.initialized();
        connection
    }

    /// Marks the connection as initialized.
    pub(super) fn initialized(&self) {
        self.lasting.store(true, Ordering::Release);
    }

    /// Records what `initialize` has negotiated with a client of these capabilities, for a server with these tasks.
    pub(super) fn negotiated(
        &self,
        version: &str,
        capabilities: &Map<String, Value>,
        tasks: Option<&dyn TaskSource>,
    ) {
        self.batches.store(version == WITH_BATCHES, Ordering::Release);
        self.empty_events.store(version >= WITH_EMPTY_EVENTS, Ordering::Release);
        self.questions.store(takes_questions(version, capabilities), Ordering::Release);
        if let Some(source) = tasks.filter(|_| version == WITH_TASKS) {
            self.tasks.get_or_init(|| tasks_capability(source));
        }
    }

    /// Records the client's introduction, `clientInfo`.
    pub(super) fn introduced(&self, client: String) {
        let client = self.client.get_or_init(|| client);
        if let Some(session) = self.session.get() {
            session.introduce(client);
        }
    }

    /// Whether the server may send questions to the client.
    pub(super) fn takes_questions(&self) -> bool {
        self.questions.load(Ordering::Acquire)
    }

    /// The capability `tasks` of MCP 2025-11-25, if the client may use it.
    pub(super) fn tasks(&self) -> Option<&Value> {
        self.tasks.get()
    }

    /// Whether the client may send JSON-RPC batches.
    pub(super) fn takes_batches(&self) -> bool {
        self.batches.load(Ordering::Acquire)
    }

    /// Whether an event without a message may begin a stream.
    #[cfg(feature = "http")]
    pub(super) fn takes_empty_events(&self) -> bool {
        self.empty_events.load(Ordering::Acquire)
    }

    /// The connection's session, opened on first use: the newest MCP has no `initialize` request. Calls the function
    /// with a session that was opened.
    pub(super) fn session(&self, opened: impl FnOnce(&Session)) -> Option<Session> {
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

    /// Records the id that the session has in MCP, before it is opened.
    #[cfg(feature = "http")]
    pub(super) fn set_mcp_session_id(&self, id: &str) {
        self.mcp_session_id.get_or_init(|| id.into());
    }

    /// The session, if it was opened.
    pub(super) fn opened(&self) -> Option<&Session> {
        self.session.get()
    }

    /// Ends the session.
    pub(super) fn end(&self) {
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
