//! The inputs and the effects of an agent's transitions.

use super::agent_state::PersonRequest;
use super::directive::{AgentNotification, LoopMode};
use super::evaluator::AgentPolicy;
use super::risk::RiskScorer;
use crate::human_channel::Decider;
use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_core::audit::{Confirmation, ConfirmationStep, ConfirmedBy};

/// The inputs of a transition other than the agent's state.
pub(super) struct Env<'a> {
    pub(super) now: DateTime<Utc>,
    pub(super) mode: LoopMode,
    /// The id of this process.
    pub(super) me: &'a str,
    /// If `true`, the process that serves the agent's session is running.
    pub(super) owner_lives: bool,
    /// The id of the next request, and the hash of its code, in case the transition makes a request.
    pub(super) fresh_id: &'a str,
    pub(super) fresh_hash: &'a str,
    /// Returns `true` if the limit on requests is reached for a session.
    pub(super) request_limit_reached: &'a (dyn Fn(Option<&str>) -> bool + Sync),
    pub(super) timeout: TimeDelta,
    pub(super) max_attempts: usize,
    /// Notifications about the blocks of other agents.
    pub(super) blocks: &'a [AgentNotification],
    /// The subjects for which this agent no longer needs to wait.
    pub(super) answered: &'a [String],
    pub(super) policy: &'a AgentPolicy,
    pub(super) scorer: &'a dyn RiskScorer,
}

/// The effects of a transition. They are applied after the new state was stored.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// A new request. Its code belongs to the hash in `Env::fresh_hash`.
    pub(super) present: Option<PersonRequest>,
    /// The requests closed by the transition.
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
    /// The evaluated action.
    pub(super) action: Option<String>,
    /// The session of the caller, if it can differ from the session of the execution.
    pub(super) caller: Option<Option<String>>,
}

impl Event {
    pub(super) fn new(event: &'static str, outcome: &'static str) -> Self {
        Self { event, outcome, reason: None, challenge: None, by: None, action: None, caller: None }
    }

    /// Returns the step of a confirmation that this event represents, if any.
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

    /// Sets the evaluated action.
    pub(super) fn action(mut self, action: &str) -> Self {
        self.action = Some(action.to_owned());
        self
    }

    /// Sets the request of the event, and the action of the request.
    pub(super) fn request(self, ask: &PersonRequest) -> Self {
        self.challenge(&ask.id).action(&ask.action)
    }

    /// Sets the session of the caller. A caller may have none.
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

/// The reason why a transition was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rejection {
    /// The agent is blocked until a person lifts the block.
    Blocked {
        agent: String,
        challenge: Option<String>,
    },
    /// The agent has no running or pending execution.
    NotExecuting,
    /// The execution belongs to another session. If the process of that session has ended, the agent can be used again
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
    /// There were too many attempts or requests. The value is the number of seconds to wait.
    TooMany(u64),
}

/// The parameters of `execute_agent`.
pub(super) struct Start<'a> {
    pub(super) session: Option<&'a str>,
    /// Id of the authenticated caller.
    pub(super) principal: Option<&'a str>,
    /// The client of the session.
    pub(super) client: Option<&'a str>,
    pub(super) execution_id: &'a str,
    /// The hash of the agent's parameters.
    pub(super) parameters: &'a str,
    /// The action for the person who approves the start.
    pub(super) action: &'a str,
}
