//! A client's connection and its session.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_aql_core::session::Session;
use serde_json::{Map, Value};

use crate::elicitation::takes_questions;
use crate::mcp_version::{WITH_BATCHES, WITH_TASKS};
use crate::task_source::{TaskSource, tasks_capability};

/// A client's connection and the session that belongs to it (REQ-SES-01, REQ-SES-02).
///
/// The default is a handler created for HTTP. It represents a connection once a client was initialized
/// through it. Otherwise it serves a single request. The client's headers do not affect this
/// (REQ-SES-05).
#[derive(Debug, Default)]
pub(super) struct Connection {
    session: OnceLock<Session>,
    /// Whether requests that arrive here share a connection.
    lasting: AtomicBool,
    /// Whether the client's version of MCP supports batches.
    batches: AtomicBool,
    /// The capability `tasks` that the server declares to the client, if the client's version of MCP has it.
    tasks: OnceLock<Value>,
    /// Whether the client shows questions of the server to its user.
    questions: AtomicBool,
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

    /// Records the version and the capabilities that `initialize` has negotiated, for a server with these tasks.
    pub(super) fn negotiated(
        &self,
        version: &str,
        capabilities: &Map<String, Value>,
        tasks: Option<&dyn TaskSource>,
    ) {
        self.batches.store(version == WITH_BATCHES, Ordering::Release);
        self.questions.store(takes_questions(version, capabilities), Ordering::Release);
        if let Some(source) = tasks.filter(|_| version == WITH_TASKS) {
            self.tasks.get_or_init(|| tasks_capability(source));
        }
    }

    /// The capability `tasks` of MCP 2025-11-25, if the client may use it.
    pub(super) fn tasks(&self) -> Option<&Value> {
        self.tasks.get()
    }

    /// Whether the server may send questions to the client.
    pub(super) fn takes_questions(&self) -> bool {
        self.questions.load(Ordering::Acquire)
    }

    /// Whether the client may send JSON-RPC batches.
    pub(super) fn takes_batches(&self) -> bool {
        self.batches.load(Ordering::Acquire)
    }

    /// The connection's session, opened on first use: the newest MCP has no `initialize` request.
    pub(super) fn session(&self) -> Option<Session> {
        if !self.lasting.load(Ordering::Acquire) {
            return None;
        }
        Some(self.session.get_or_init(Session::new).clone())
    }

    /// Ends the session.
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
