//! The inputs and the effects of a transition of an agent.

use super::agent_state::PersonRequest;
use super::directive::{AgentNotification, LoopMode};
use super::evaluator::AgentPolicy;
use super::risk::RiskScorer;
use crate::human_channel::Decider;
use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_core::audit::{Confirmation, ConfirmationStep, ConfirmedBy};

/// The inputs of a transition besides the state.
pub(super) struct Env<'a> {
    pub(super) now: DateTime<Utc>,
    pub(super) mode: LoopMode,
    /// The id of this process.
    pub(super) me: &'a str,
    /// Whether the process that holds the agent's session is running.
    pub(super) owner_lives: bool,
    /// The id of the next request and the hash of its code, if a request is made.
    pub(super) fresh_id: &'a str,
    pub(super) fresh_hash: &'a str,
    /// Whether too many requests were shown for a session.
    pub(super) request_limit_reached: &'a (dyn Fn(Option<&str>) -> bool + Sync),
    pub(super) timeout: TimeDelta,
    pub(super) max_attempts: usize,
    /// Notifications of the blocks of other agents.
    pub(super) blocks: &'a [AgentNotification],
    /// The subjects that this agent no longer waits for.
    pub(super) answered: &'a [String],
    pub(super) policy: &'a AgentPolicy,
    pub(super) scorer: &'a dyn RiskScorer,
}

/// The effects of a transition, applied once it is stored.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// A new request. Its code is the one of `Env::fresh_hash`.
    pub(super) present: Option<PersonRequest>,
    /// The requests that can no longer be answered.
    pub(super) closed: Vec<String>,
    pub(super) audit: Vec<Event>,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) event: &'static str,
    pub(super) outcome: &'static str,
    pub(super) reason: Option<String>,
    pub(super) challenge: Option<String>,
    pub(super) by: Option<Decider>,
    /// The action that is judged.
    pub(super) action: Option<String>,
    /// The caller's session, if it may differ from the session of the execution.
    pub(super) caller: Option<Option<String>>,
}

impl Event {
    pub(super) fn new(event: &'static str, outcome: &'static str) -> Self {
        Self { event, outcome, reason: None, challenge: None, by: None, action: None, caller: None }
    }

    /// Returns the step of a person's confirmation that this event is.
    pub(super) fn confirmation(&self) -> Option<Confirmation> {
        let step = match (self.event, self.outcome) {
            ("CHALLENGE_ISSUED", "issued") => ConfirmationStep::Asked,
            ("CHALLENGE_VERIFIED", _) => ConfirmationStep::Approved,
            ("REQUEST_DENIED", _) => ConfirmationStep::Refused,
            _ => return None,
        };
        Some(ConfirmedBy::Person.has(step))
    }

    pub(super) fn reason(mut self, reason: &str) -> Self {
        self.reason = Some(reason.to_owned());
        self
    }

    pub(super) fn challenge(mut self, id: &str) -> Self {
        self.challenge = Some(id.to_owned());
        self
    }

    pub(super) fn by(mut self, by: &Decider) -> Self {
        self.by = Some(by.clone());
        self
    }

    /// Sets the action that is judged.
    pub(super) fn action(mut self, action: &str) -> Self {
        self.action = Some(action.to_owned());
        self
    }

    /// Sets the request that the event is about, and its action.
    pub(super) fn request(self, ask: &PersonRequest) -> Self {
        self.challenge(&ask.id).action(&ask.action)
    }

    /// Sets the session of the caller, who may have none.
    pub(super) fn caller(mut self, session: Option<&str>) -> Self {
        self.caller = Some(session.map(str::to_owned));
        self
    }
}

impl Effects {
    pub(super) fn note(&mut self, event: Event) {
        self.audit.push(event);
    }
}

/// The reason for rejecting a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rejection {
    /// The agent is blocked until a person lifts the block.
    Blocked {
        agent: String,
        challenge: Option<String>,
    },
    /// The agent has no running or pending execution.
    NotExecuting,
    /// The execution belongs to another session. If that session's process is gone, the agent can be used again
    /// after this number of seconds.
    Elsewhere {
        free_in: Option<u64>,
    },
    /// The agent executes with other parameters.
    Busy,
    /// The execution is pending.
    Pending,
    /// The code, challenge or request is unknown.
    Invalid,
    Expired {
        at: DateTime<Utc>,
    },
    Used {
        at: DateTime<Utc>,
    },
    /// The code belongs to a challenge.
    WrongOperation,
    /// Too many attempts or requests; the seconds to wait.
    TooMany(u64),
}

/// The parameters of `execute_agent`.
pub(super) struct Start<'a> {
    pub(super) session: Option<&'a str>,
    /// The client of the session.
    pub(super) client: Option<&'a str>,
    pub(super) execution_id: &'a str,
    /// The hash of the agent's parameters.
    pub(super) parameters: &'a str,
    /// The text for the person.
    pub(super) action: &'a str,
}
