//! The people who watch: what they are asked, how it reaches them, and what they can do.
//!
//! A [`HumanChannel`] shows requests to people where no agent can read them: approvals and the codes of
//! challenges. An [`Operator`] is the handle of whoever decides. Neither is reachable through MCP, and
//! so an agent cannot approve what it asked for itself (REQ-AUT-16).

mod command;
#[cfg(feature = "console")]
mod console;
mod memory;
mod terminal;
mod visible;

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
pub use memory::MemoryChannel;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::error::OperationError;
use crate::future::BoxFuture;

pub use command::CommandChannel;
#[cfg(feature = "console")]
pub use console::{Console, ConsoleLink, ConsoleOptions};
#[cfg(feature = "console")]
pub(crate) use console::{ConsoleChannel, NAME as CONSOLE, Reach};
pub use terminal::TerminalChannel;

/// Shows requests to people: a window, a terminal, a message to someone's phone.
///
/// Source: MCP-AQL §8.8.4, §8.8.6 (REQ-OOB-05, REQ-OOB-13).
pub trait HumanChannel: Send + Sync + 'static {
    /// What the audit log calls it: `terminal`, `console`.
    fn name(&self) -> &str;

    /// Shows a request. It is open until it is answered, withdrawn or expired.
    ///
    /// Nobody waits for it: an agent that is slow to be shown is paused all the same. After an error the
    /// request stays unanswered here, and the audit log has `CHALLENGE_NOT_SHOWN`. It must not block its
    /// thread.
    fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>>;

    /// Whether it could show a request now, as far as it can tell without showing one. Whoever serves the
    /// adapter is warned of a channel that cannot, and where none can agents are told that nobody could be
    /// asked. It must not block. Default: yes.
    fn can_present(&self) -> bool {
        true
    }

    /// Takes a request back that is no longer open, by its id.
    fn withdraw<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        let _ = id;
        Box::pin(std::future::ready(()))
    }
}

/// A request could not be shown to anybody; for the log, never for an agent.
#[derive(Debug, thiserror::Error)]
#[error("the request cannot be shown: {0}")]
pub struct ChannelError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// What a person is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HumanRequest {
    /// The request's id: of a challenge, the id that `verify_challenge` takes.
    pub id: String,
    /// What is asked.
    pub kind: RequestKind,
    /// Who waits: the agent, or none for a call outside of the safety loop.
    pub agent: Option<String>,
    /// What is about to happen: the reported action, or the operation with its parameters (secrets
    /// masked). It is the agent's text: show it as text.
    pub action: String,
    /// Why a person is asked, a sentence each.
    pub reasons: Vec<String>,
    /// What proves that a person has seen this. Show it to people only.
    pub code: Code,
    /// From when on the code is worth nothing.
    pub expires_at: DateTime<Utc>,
}

/// What a person is asked to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Whether an operation may run once: its code goes to `confirm_operation`.
    Operation,
    /// Whether an agent may begin: its code goes to `confirm_operation`.
    Start,
    /// Whether an agent may take a step: its code goes to `confirm_operation`.
    Step,
    /// The same, proven: its code goes to `verify_challenge`.
    Verify,
    /// Whether a blocked agent may go on: its code goes to `verify_challenge`.
    Block,
}

impl RequestKind {
    /// Whether the code goes to `verify_challenge`, and not to `confirm_operation`.
    pub const fn is_challenge(self) -> bool {
        matches!(self, Self::Verify | Self::Block)
    }
}

/// A secret for people's eyes. It is neither printed by `Debug` nor serialized.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    pub(crate) fn new(code: String) -> Self {
        Self(code)
    }

    /// The code itself. Whoever calls this answers for where it goes.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Code([redacted])")
    }
}

/// A point in time as people read it.
fn to_the_second<S: Serializer>(at: &DateTime<Utc>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&at.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// The handle of whoever watches over an adapter: sees what goes on, approves, denies, unblocks.
///
/// Whoever has it can do all that. Give it to people's tools, never to an operation.
#[derive(Clone)]
pub struct Operator(pub(crate) Arc<dyn Desk>);

/// What is behind an [`Operator`].
pub(crate) trait Desk: Send + Sync {
    /// Where consoles that people can sign in to are counted.
    #[cfg(feature = "console")]
    fn reach(&self) -> Option<&Reach> {
        None
    }

    fn overview(&self) -> BoxFuture<'_, Result<Overview, OperationError>>;
    fn code<'a>(&'a self, id: &'a str, by: Option<&'a str>) -> BoxFuture<'a, Option<Code>>;

    /// Records what happened at a console in the audit log, if there is one.
    #[cfg(feature = "console")]
    fn record<'a>(
        &'a self,
        event: &'a str,
        outcome: &'a str,
        reason: Option<&'a str>,
    ) -> BoxFuture<'a, ()> {
        let _ = (event, outcome, reason);
        Box::pin(std::future::ready(()))
    }

    fn decide<'a>(
        &'a self,
        id: &'a str,
        approve: bool,
        by: &'a str,
    ) -> BoxFuture<'a, Result<(), OperationError>>;
    fn unblock<'a>(
        &'a self,
        agent: &'a str,
        by: &'a str,
    ) -> BoxFuture<'a, Result<(), OperationError>>;
    fn renew<'a>(&'a self, id: &'a str, by: &'a str) -> BoxFuture<'a, Result<(), OperationError>>;
}

impl Operator {
    /// Everything there is to see.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the store fails.
    pub async fn overview(&self) -> Result<Overview, OperationError> {
        self.0.overview().await
    }

    /// The code of an open request, if this process issued it: codes are kept nowhere else. The audit log
    /// has `CODE_REVEALED`.
    pub async fn code(&self, id: &str) -> Option<Code> {
        self.0.code(id, None).await
    }

    /// Approves an open request: an approval, or a challenge as if its code had been given. The agent may
    /// then do what it asked for, once; that of a block as well. `by` names the channel in the audit log.
    ///
    /// # Errors
    /// `NOT_FOUND_RESOURCE` when no such request is open; `INTERNAL_ERROR` when the store fails.
    pub async fn approve(&self, id: &str, by: &str) -> Result<(), OperationError> {
        self.0.decide(id, true, by).await
    }

    /// Denies an open request. A blocked agent stays blocked.
    ///
    /// # Errors
    /// As [`approve`](Self::approve).
    pub async fn deny(&self, id: &str, by: &str) -> Result<(), OperationError> {
        self.0.decide(id, false, by).await
    }

    /// Lifts an agent's block without its code: the admin override (REQ-OOB-09). What it was stopped for
    /// stops it again.
    ///
    /// # Errors
    /// `NOT_FOUND_RESOURCE` when the agent is not blocked; `INTERNAL_ERROR` when the store fails.
    pub async fn unblock(&self, agent: &str, by: &str) -> Result<(), OperationError> {
        self.0.unblock(agent, by).await
    }

    /// Issues another code for a request whose code has expired, or was issued by a process that is
    /// gone.
    ///
    /// # Errors
    /// As [`approve`](Self::approve).
    pub async fn renew(&self, id: &str, by: &str) -> Result<(), OperationError> {
        self.0.renew(id, by).await
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Operator")
    }
}

/// What an operator sees. No code is among it.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Overview {
    /// The adapter's name.
    pub adapter: String,
    /// The safety loop's mode.
    pub mode: String,
    /// Agents that execute, or did: those that are blocked first, then those that run. Up to 1,000.
    pub agents: Vec<AgentView>,
    /// Whether there are more agents than [`agents`](Self::agents) has. What they ask, and that they are
    /// blocked, is told all the same.
    pub more_agents: bool,
    /// What people are asked now. The challenge of a block is among it as long as the block lasts: when
    /// its code is worth nothing any more, [`Operator::renew`] makes another.
    pub requests: Vec<RequestView>,
    /// Who is blocked.
    pub blocks: Vec<BlockView>,
    /// Records that cannot be read: of agents that may be blocked, and requests that may be open. They
    /// are not among the rest, and nothing that depends on them is allowed.
    pub unreadable: Vec<UnreadableView>,
    /// The last entries of the audit log, the newest first.
    pub audit: Vec<Value>,
}

/// An agent, as an operator sees it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AgentView {
    /// Its name.
    pub agent: String,
    /// Its execution.
    pub execution_id: String,
    /// The execution's state, such as `running`.
    pub status: String,
    /// How many steps it has reported.
    pub steps: u64,
    /// The last action that it reported.
    pub last_action: Option<String>,
    /// The last directive, as the agent got it.
    pub directive: Option<Value>,
    /// When it began.
    #[serde(serialize_with = "to_the_second")]
    pub started_at: DateTime<Utc>,
}

/// An open request, as an operator sees it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RequestView {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub kind: RequestKind,
    /// Who waits.
    pub agent: Option<String>,
    /// What is about to happen.
    pub action: String,
    /// Why a person is asked.
    pub reasons: Vec<String>,
    /// From when on its code is worth nothing.
    #[serde(serialize_with = "to_the_second")]
    pub expires_at: DateTime<Utc>,
    /// Whether its code can be shown here.
    pub has_code: bool,
    /// Why its code is worth nothing before that, if so.
    pub void: Option<Void>,
}

/// Why a code is worth nothing any more, although its time is not up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Void {
    /// A wrong code was given: a challenge is good for one try (REQ-OOB-06).
    WrongCode,
    /// A person has denied it.
    Denied,
}

/// A record of the store that another version wrote, or that is damaged.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct UnreadableView {
    /// The store's collection.
    pub collection: String,
    /// The record's key; of an agent, its name as it is compared.
    pub key: String,
}

/// A blocked agent, as an operator sees it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BlockView {
    /// The agent.
    pub agent: String,
    /// What it was about to do.
    pub action: String,
    /// Why it was stopped.
    pub reason: String,
    /// Since when.
    #[serde(serialize_with = "to_the_second")]
    pub since: DateTime<Utc>,
    /// Its challenge, if one is open.
    pub challenge_id: Option<String>,
}
