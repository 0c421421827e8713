//! Operators: the requests that people receive, the channels that show them, and the possible decisions.
//!
//! A [`HumanChannel`] shows requests to people where no agent can read them: approvals and the codes of challenges. An
//! [`Operator`] is the handle through which people decide. Neither is reachable through MCP, so an agent cannot approve
//! its own requests (REQ-AUT-16).

mod command;
mod console;
mod decider;
mod memory;
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
pub use console::ConsoleOptions;
pub(crate) use console::{CONSOLE_NAME, ConsoleCount, ConsoleSettings};
#[cfg(feature = "console")]
pub(crate) use console::{ConsoleChannel, ReachableConsole};
pub use decider::Decider;
pub(crate) use decider::OperatorName;
pub use terminal::TerminalChannel;

/// Shows requests to people: in a window, on a terminal, or as a message to a phone.
///
/// Implement this trait to reach people in another way, as in the example of the module [`operator`](crate::operator).
/// You rarely need to: [`CommandChannel`] runs a program of your choice.
///
/// Source: MCP-AQL §8.8.4, §8.8.6 (REQ-OOB-05, REQ-OOB-13).
pub trait HumanChannel: Send + Sync + 'static {
    /// Returns the name of the channel in the audit log, such as `terminal` or `console`.
    fn name(&self) -> &str;

    /// Shows a request. The request stays open until it is answered, withdrawn or expired.
    ///
    /// The agent is paused in any case, so the caller does not wait for this future. After an error, the request stays
    /// unanswered in this channel, and the audit log records `CHALLENGE_NOT_SHOWN`. This method must not block the
    /// thread.
    fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>>;

    /// Returns `true` if the channel can probably show a request now. Default: `true`.
    ///
    /// A server logs a warning at its start for each channel that cannot. If no channel can, agents learn that no
    /// person could be asked. This method must not block.
    fn can_present(&self) -> bool {
        true
    }

    /// Withdraws a request because it is no longer open. The default does nothing.
    fn withdraw<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        let _ = id;
        Box::pin(std::future::ready(()))
    }
}

/// An error of a channel that cannot show a request. Its message goes to the log and not to agents.
#[derive(Debug, thiserror::Error)]
#[error("cannot show the request: {0}")]
pub struct ChannelError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// A request to a person.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HumanRequest {
    /// The id of the request. For a challenge, `verify_challenge` takes this id.
    pub id: String,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The waiting agent. `None` for a call outside of the safety loop.
    pub agent: Option<String>,
    /// The reported action, or the operation with its parameters. Secrets are masked. The agent has written this
    /// string, so do not interpret it as markup.
    pub action: String,
    /// The reasons for the request, one sentence each.
    pub reasons: Vec<String>,
    /// The code with which a person proves to have seen the request. Show it to people only.
    pub code: Code,
    /// Time at which the code expires.
    pub expires_at: DateTime<Utc>,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Run an operation once. The code is for `confirm_operation`.
    Operation,
    /// Start an agent. The code is for `confirm_operation`.
    Start,
    /// Take a step. The code is for `confirm_operation`.
    Step,
    /// Take a step that needs verification. The code is for `verify_challenge`.
    Verify,
    /// Unblock an agent. The code is for `verify_challenge`.
    Block,
}

impl RequestKind {
    /// Returns `true` if the code is for `verify_challenge`, and `false` if it is for `confirm_operation`.
    pub const fn is_challenge(self) -> bool {
        matches!(self, Self::Verify | Self::Block)
    }
}

/// A secret code for people. `Debug` does not print it, and it cannot be serialized.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    pub(crate) fn new(code: String) -> Self {
        Self(code)
    }

    /// Returns the code. Take care to show it to people only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Code([redacted])")
    }
}

/// Serializes a time with a precision of seconds.
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

/// The handle of an operator. Use it to build a tool that shows the state of an adapter, and in which people approve,
/// deny and unblock.
///
/// The handle gives full control over the agents. Never pass it to an operation.
#[derive(Clone)]
pub struct Operator(pub(crate) Arc<dyn OperatorBackend>);

/// The implementation behind an [`Operator`].
pub(crate) trait OperatorBackend: Send + Sync {
    /// Returns the counter of reachable consoles.
    fn reach(&self) -> Option<&ConsoleCount> {
        None
    }

    fn overview(&self) -> BoxFuture<'_, Result<Overview, OperationError>>;
    fn code<'a>(&'a self, id: &'a str, by: Option<&'a Decider>) -> BoxFuture<'a, Option<Code>>;

    /// Records an event of a console in the audit log, with its reason and the operator. Does nothing without an audit
    /// log.
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
    ///
    /// Returns `INTERNAL_ERROR` if the store fails.
    pub async fn overview(&self) -> Result<Overview, OperationError> {
        self.0.overview().await
    }

    /// Returns the code of an open request if this process has issued it. Codes are not stored, so other processes do
    /// not know it. The audit log records `CODE_REVEALED`.
    pub async fn code(&self, id: &str) -> Option<Code> {
        self.0.code(id, None).await
    }

    /// Approves an open request, with the same effect as sending its code.
    ///
    /// The agent may then take the requested action once, even if the action has caused a block. The audit log records
    /// `by`: the name of a channel, or a [`Decider`] with the name of a person.
    ///
    /// # Errors
    ///
    /// Returns `NOT_FOUND_RESOURCE` if no such request is open, and `INTERNAL_ERROR` if the store fails.
    pub async fn approve(&self, id: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.decide(id, true, by.into()).await
    }

    /// Denies an open request. A blocked agent stays blocked.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`approve`](Self::approve).
    pub async fn deny(&self, id: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.decide(id, false, by.into()).await
    }

    /// Stops an executing agent. It is blocked as if it had reported a denied action.
    ///
    /// Its block is lifted with a code or with [`unblock`](Self::unblock). An agent that does not report its steps
    /// learns of the block with its next call.
    ///
    /// # Errors
    ///
    /// Returns `NOT_FOUND_RESOURCE` if no such agent executes or if it is blocked already, `PERMISSION_DENIED` if the
    /// safety loop does not enforce its decisions, and `INTERNAL_ERROR` if the store fails.
    pub async fn stop(&self, agent: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.stop(agent, by.into()).await
    }

    /// Lifts the block of an agent without a code: the admin override (REQ-OOB-09). This does not approve the action
    /// that caused the block.
    ///
    /// # Errors
    ///
    /// Returns `NOT_FOUND_RESOURCE` if the agent is not blocked, and `INTERNAL_ERROR` if the store fails.
    pub async fn unblock(&self, agent: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.unblock(agent, by.into()).await
    }

    /// Issues a new code for a request. Use it if the code has expired, or if the process that issued it has ended.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`approve`](Self::approve).
    pub async fn renew_code(&self, id: &str, by: impl Into<Decider>) -> Result<(), OperationError> {
        self.0.renew_code(id, by.into()).await
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Operator")
    }
}

/// The state of an adapter for an operator. It contains no codes.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Overview {
    /// The adapter's name.
    pub adapter: String,
    /// The mode of the safety loop.
    pub mode: String,
    /// The agents with an execution: first blocked ones, then running ones. At most 1,000.
    pub agents: Vec<AgentView>,
    /// If `true`, there are more agents than [`agents`](Self::agents) lists. Their requests and blocks are included in
    /// any case.
    pub more_agents: bool,
    /// The open requests. The challenge of a block is included until the block is lifted. If its code has become
    /// invalid, [`Operator::renew_code`] issues a new one.
    pub requests: Vec<RequestView>,
    /// The blocked agents.
    pub blocks: Vec<BlockView>,
    /// The unreadable records of agents that may be blocked and requests that may be open. They are not listed
    /// elsewhere. Actions that depend on them are not allowed.
    pub unreadable: Vec<UnreadableView>,
    /// The last entries of the audit log, from newest to oldest.
    pub audit: Vec<Value>,
}

/// An agent, in the overview of an operator.
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
    /// The session in which the agent executes.
    pub session: Option<String>,
    /// The client of the session, as it introduced itself.
    pub client: Option<String>,
    /// The last reported action.
    pub last_action: Option<String>,
    /// The last directive that the agent received.
    pub directive: Option<Value>,
    /// Time at which the execution started.
    #[serde(serialize_with = "to_the_second")]
    pub started_at: DateTime<Utc>,
}

/// An open request, in the overview of an operator.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RequestView {
    /// The request's id.
    pub id: String,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The waiting agent.
    pub agent: Option<String>,
    /// The requested action.
    pub action: String,
    /// The reasons for the request.
    pub reasons: Vec<String>,
    /// The session of the caller.
    pub session: Option<String>,
    /// The client of the session, as it introduced itself. This is not a proof of identity.
    pub client: Option<String>,
    /// Time of the first request. `None` in records of earlier versions.
    #[serde(serialize_with = "to_the_second_if_any")]
    pub asked_at: Option<DateTime<Utc>>,
    /// Time at which the code expires.
    #[serde(serialize_with = "to_the_second")]
    pub expires_at: DateTime<Utc>,
    /// If `true`, this process can show the code.
    pub has_code: bool,
    /// The reason why the code is invalid although it has not expired. `None` for a valid code.
    pub void: Option<VoidReason>,
}

/// The reason why a code is invalid although it has not expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VoidReason {
    /// A wrong code was sent. A challenge allows a single attempt (REQ-OOB-06).
    WrongCode,
    /// A person has denied the request.
    Denied,
}

/// A record of the store that cannot be read: damaged, or written by another version.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct UnreadableView {
    /// The store's collection.
    pub collection: String,
    /// The key of the record. For an agent, this is its normalized name.
    pub key: String,
}

/// A blocked agent, in the overview of an operator.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BlockView {
    /// The agent's name.
    pub agent: String,
    /// The action that caused the block.
    pub action: String,
    /// The reason for the block.
    pub reason: String,
    /// Time at which the block started.
    #[serde(serialize_with = "to_the_second")]
    pub since: DateTime<Utc>,
    /// The session that caused the block.
    pub session: Option<String>,
    /// The client of the session, as it introduced itself.
    pub client: Option<String>,
    /// If `true`, an operator has stopped the agent. In this case, an operator can lift the block, but not approve an
    /// action.
    pub stopped: bool,
    /// The id of the challenge, if one is open.
    pub challenge_id: Option<String>,
}
