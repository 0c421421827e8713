//! The operators: the requests that people receive, the channels that show them, and the possible decisions.
//!
//! A [`HumanChannel`] shows requests to people where no agent can read them: approvals and the codes of
//! challenges. An [`Operator`] is the handle with which people decide. Neither is reachable through MCP, so
//! an agent cannot approve its own requests (REQ-AUT-16).

mod command;
mod console;
mod console_count;
mod decider;
mod memory;
mod operator_name;
pub(crate) mod terminal;
mod visible;

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
pub use memory::MemoryChannel;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use mcp_aql_core::{BoxFuture, OperationError};

pub use command::CommandChannel;
pub(crate) use console::CONSOLE_NAME;
#[cfg(feature = "console")]
pub(crate) use console::ConsoleChannel;
pub use console::ConsoleOptions;
pub(crate) use console_count::ConsoleCount;
#[cfg(feature = "console")]
pub(crate) use console_count::ReachableConsole;
pub use decider::Decider;
pub(crate) use operator_name::OperatorName;
pub use terminal::TerminalChannel;

/// Shows requests to people: in a window, on a terminal, or as a message to a phone.
///
/// Source: MCP-AQL §8.8.4, §8.8.6 (REQ-OOB-05, REQ-OOB-13).
pub trait HumanChannel: Send + Sync + 'static {
    /// The channel's name in the audit log, such as `terminal` or `console`.
    fn name(&self) -> &str;

    /// Shows a request. The request is open until it is answered, withdrawn or expired.
    ///
    /// The caller does not wait for this: the agent is paused in any case. After an error, the request stays
    /// unanswered in this channel, and the audit log records `CHALLENGE_NOT_SHOWN`. This must not block the
    /// thread.
    fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>>;

    /// Returns whether the channel can show a request now, as far as that is known without showing one. Serving
    /// an adapter logs a warning for each channel that cannot. If no channel can, agents are informed that no
    /// person could be asked. This must not block. Default: `true`.
    fn can_present(&self) -> bool {
        true
    }

    /// Withdraws a request that is no longer open.
    fn withdraw<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        let _ = id;
        Box::pin(std::future::ready(()))
    }
}

/// A channel's failure to show a request. Its text is for the log, not for agents.
#[derive(Debug, thiserror::Error)]
#[error("cannot show the request: {0}")]
pub struct ChannelError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// A request to a person.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HumanRequest {
    /// The request's id. For a challenge, this is the id for `verify_challenge`.
    pub id: String,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The agent that waits; `None` for a call outside of the safety loop.
    pub agent: Option<String>,
    /// The reported action, or the operation with its parameters (secrets masked). This is the agent's text: do
    /// not interpret it as markup.
    pub action: String,
    /// The reasons for the request, as sentences.
    pub reasons: Vec<String>,
    /// The code that proves that a person has seen the request. Show it to people only.
    pub code: Code,
    /// When the code expires.
    pub expires_at: DateTime<Utc>,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// To run an operation once. The code is for `confirm_operation`.
    Operation,
    /// To start an agent. The code is for `confirm_operation`.
    Start,
    /// To take a step. The code is for `confirm_operation`.
    Step,
    /// To take a step with verification. The code is for `verify_challenge`.
    Verify,
    /// To unblock an agent. The code is for `verify_challenge`.
    Block,
}

impl RequestKind {
    /// Returns whether the code is for `verify_challenge` rather than `confirm_operation`.
    pub const fn is_challenge(self) -> bool {
        matches!(self, Self::Verify | Self::Block)
    }
}

/// A secret code for people. It is neither printed by `Debug` nor serialized.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    pub(crate) fn new(code: String) -> Self {
        Self(code)
    }

    /// Returns the code as text. The caller is responsible for keeping it secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Code([redacted])")
    }
}

/// Serializes a time in whole seconds.
fn to_the_second<S: Serializer>(at: &DateTime<Utc>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&at.to_rfc3339_opts(SecondsFormat::Secs, true))
}

fn to_the_second_if_any<S: Serializer>(
    at: &Option<DateTime<Utc>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => to_the_second(at, to),
        None => to.serialize_none(),
    }
}

/// The handle of an operator: shows the state of an adapter, and approves, denies and unblocks.
///
/// The handle gives full control. Pass it to people's tools, never to an operation.
#[derive(Clone)]
pub struct Operator(pub(crate) Arc<dyn OperatorBackend>);

/// The implementation of an [`Operator`].
pub(crate) trait OperatorBackend: Send + Sync {
    /// The counter of consoles that people can sign in to.
    fn reach(&self) -> Option<&ConsoleCount> {
        None
    }

    fn overview(&self) -> BoxFuture<'_, Result<Overview, OperationError>>;
    fn code<'a>(&'a self, id: &'a str, by: Option<&'a Decider>) -> BoxFuture<'a, Option<Code>>;

    /// Records an event of a console in the audit log, if there is one, with its reason and the operator.
    fn record<'a>(
        &'a self,
        event: &'a str,
        outcome: &'a str,
        (reason, operator): (Option<&'a str>, Option<&'a str>),
    ) -> BoxFuture<'a, ()> {
        let _ = (event, outcome, reason, operator);
        Box::pin(std::future::ready(()))
    }

    fn decide<'a>(
        &'a self,
        id: &'a str,
        approve: bool,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>>;
    fn stop<'a>(&'a self, agent: &'a str, by: Decider)
    -> BoxFuture<'a, Result<(), OperationError>>;
    fn unblock<'a>(
        &'a self,
        agent: &'a str,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>>;
    fn renew_code<'a>(
        &'a self,
        id: &'a str,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>>;
}

impl Operator {
    /// Returns the state of the adapter and its agents.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` if the store fails.
    pub async fn overview(&self) -> Result<Overview, OperationError> {
        self.0.overview().await
    }

    /// Returns the code of an open request, if this process has issued it. Codes are not stored anywhere else.
    /// The audit log records `CODE_REVEALED`.
    pub async fn code(&self, id: &str) -> Option<Code> {
        self.0.code(id, None).await
    }

    /// Approves an open request, as if its code had been sent. The agent may then take the requested action
    /// once, including the one that caused a block. `by` is recorded in the audit log: the name of a channel, or a
    /// [`Decider`] with the name of a person.
    ///
    /// # Errors
    /// `NOT_FOUND_RESOURCE` if no such request is open; `INTERNAL_ERROR` if the store fails.
    pub async fn approve(&self, id: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.decide(id, true, by.into()).await
    }

    /// Denies an open request. A blocked agent stays blocked.
    ///
    /// # Errors
    /// The same as [`approve`](Self::approve).
    pub async fn deny(&self, id: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.decide(id, false, by.into()).await
    }

    /// Stops an agent that executes: it is blocked like an agent that has reported a denied action, until its block is
    /// lifted with a code, or with [`unblock`](Self::unblock). An agent that does not report learns of it with its next
    /// call.
    ///
    /// # Errors
    /// `NOT_FOUND_RESOURCE` if no such agent executes, or if it is blocked already; `PERMISSION_DENIED` if the safety
    /// loop does not enforce its decisions; `INTERNAL_ERROR` if the store fails.
    pub async fn stop(&self, agent: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.stop(agent, by.into()).await
    }

    /// Lifts an agent's block without its code: the admin override (REQ-OOB-09). The action that caused the
    /// block is not approved.
    ///
    /// # Errors
    /// `NOT_FOUND_RESOURCE` if the agent is not blocked; `INTERNAL_ERROR` if the store fails.
    pub async fn unblock(&self, agent: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.unblock(agent, by.into()).await
    }

    /// Issues a new code for a request, if its code has expired or its process is gone.
    ///
    /// # Errors
    /// The same as [`approve`](Self::approve).
    pub async fn renew_code(&self, id: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.renew_code(id, by.into()).await
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Operator")
    }
}

/// The state of an adapter, as an operator sees it. It contains no codes.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Overview {
    /// The adapter's name.
    pub adapter: String,
    /// The safety loop's mode.
    pub mode: String,
    /// The agents with an execution: blocked ones first, then running ones. At most 1,000.
    pub agents: Vec<AgentView>,
    /// Whether there are more agents than in [`agents`](Self::agents). Their requests and blocks are included
    /// nevertheless.
    pub more_agents: bool,
    /// The open requests. The challenge of a block is included as long as the block lasts. If its code is no
    /// longer valid, [`Operator::renew_code`] issues a new one.
    pub requests: Vec<RequestView>,
    /// The blocked agents.
    pub blocks: Vec<BlockView>,
    /// Unreadable records, of agents that may be blocked and requests that may be open. They are not included
    /// elsewhere, and actions that depend on them are not allowed.
    pub unreadable: Vec<UnreadableView>,
    /// The last entries of the audit log, newest first.
    pub audit: Vec<Value>,
}

/// An agent, as an operator sees it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AgentView {
    /// The agent's name.
    pub agent: String,
    /// The id of the execution.
    pub execution_id: String,
    /// The execution's status, such as `running`.
    pub status: String,
    /// The number of reported steps.
    pub steps: u64,
    /// The session that executes it.
    pub session: Option<String>,
    /// The client of the session, as it has introduced itself.
    pub client: Option<String>,
    /// The last reported action.
    pub last_action: Option<String>,
    /// The last directive that the agent received.
    pub directive: Option<Value>,
    /// When the execution started.
    #[serde(serialize_with = "to_the_second")]
    pub started_at: DateTime<Utc>,
}

/// An open request, as an operator sees it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RequestView {
    /// The request's id.
    pub id: String,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The agent that waits.
    pub agent: Option<String>,
    /// The requested action.
    pub action: String,
    /// The reasons for the request.
    pub reasons: Vec<String>,
    /// The session of the caller.
    pub session: Option<String>,
    /// The client of the session, as it has introduced itself: its text, and no proof of identity.
    pub client: Option<String>,
    /// When it was asked first; `None` in records of earlier versions.
    #[serde(serialize_with = "to_the_second_if_any")]
    pub asked_at: Option<DateTime<Utc>>,
    /// When the code expires.
    #[serde(serialize_with = "to_the_second")]
    pub expires_at: DateTime<Utc>,
    /// Whether this process can show the code.
    pub has_code: bool,
    /// The reason why the code is invalid before it has expired, if it is.
    pub void: Option<VoidReason>,
}

/// The reason why a code is invalid before it has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VoidReason {
    /// A wrong code was sent: a challenge allows one attempt (REQ-OOB-06).
    WrongCode,
    /// A person has denied the request.
    Denied,
}

/// An unreadable record of the store, damaged or written by another version.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct UnreadableView {
    /// The store's collection.
    pub collection: String,
    /// The record's key; for an agent, its normalized name.
    pub key: String,
}

/// A blocked agent, as an operator sees it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BlockView {
    /// The agent's name.
    pub agent: String,
    /// The action that caused the block.
    pub action: String,
    /// The reason for the block.
    pub reason: String,
    /// When the block started.
    #[serde(serialize_with = "to_the_second")]
    pub since: DateTime<Utc>,
    /// The session that caused it.
    pub session: Option<String>,
    /// The client of the session, as it has introduced itself.
    pub client: Option<String>,
    /// Whether an operator has stopped the agent, so that there is no action to approve.
    pub stopped: bool,
    /// The id of the challenge, if one is open.
    pub challenge_id: Option<String>,
}
