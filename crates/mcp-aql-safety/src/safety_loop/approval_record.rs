//! The stored records of approvals.

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_core::Session;
use mcp_aql_core::internal::gatekeeper::ApprovalRequest;
use mcp_aql_core::store::{Change, StateRecord, StoreError};
use serde::{Deserialize, Serialize};

use super::agent_state::PersonRequest;
use super::caller::CallerIds;
use super::code::RequestCredentials;
use super::records::{IDLE_TTL, expected, written};
use super::state_machine::displayed;
use crate::human_channel::{Decider, RequestKind};

/// The collection of approvals.
pub(super) const APPROVALS: &str = "safety_approvals";
/// The store's group of unanswered approvals.
pub(super) const OPEN: &str = "open";

/// The stored record of an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Approval {
    pub(super) ask: PersonRequest,
    pub(super) operation: String,
    params_hash: String,
    pub(super) session: Option<String>,
    /// Id of the authenticated caller.
    #[serde(default)]
    pub(super) principal: Option<String>,
    /// The client of the session, as it introduced itself.
    #[serde(default)]
    pub(super) client: Option<String>,
    /// The agents of the session. They are notified of the answer.
    pub(super) agents: Vec<String>,
    /// Time at which a person approved the call.
    pub(super) approved_at: Option<DateTime<Utc>>,
    /// The person or channel that approved it. `None` in records of earlier versions.
    #[serde(default)]
    pub(super) approved_by: Option<Decider>,
    /// How long the call must wait after its approval, in seconds.
    #[serde(default)]
    cooldown_seconds: u32,
}

impl Approval {
    pub(super) fn caller(&self) -> CallerIds<'_> {
        let (session, principal) = (self.session.as_deref(), self.principal.as_deref());
        CallerIds { session, principal }
    }

    pub(super) fn cooldown(&self) -> TimeDelta {
        TimeDelta::seconds(self.cooldown_seconds.into())
    }
}

/// Returns the change that stores an approval.
pub(super) fn change(
    key: &str,
    old: Option<&StateRecord>,
    approval: &Approval,
) -> Result<Change, StoreError> {
    let mut kept = written(approval)?.expires_at(approval.ask.expires_at + IDLE_TTL);
    if approval.approved_at.is_none() {
        kept = kept.group(OPEN);
    }
    Ok(Change::put(APPROVALS, key, expected(old), kept))
}

/// Creates an unanswered approval of a call.
pub(super) fn new_approval(
    pending: &ApprovalRequest<'_>,
    fresh: &RequestCredentials,
    agents: Vec<String>,
    now: DateTime<Utc>,
) -> Approval {
    let (action, warning) = displayed(pending.action);
    let ask = PersonRequest {
        id: fresh.id.clone(),
        kind: RequestKind::Operation,
        hash: fresh.hash.clone(),
        action,
        reasons: pending.reasons.iter().cloned().chain(warning).collect(),
        asked_at: Some(now),
        expires_at: pending.expires_at,
        closed: false,
        tried: false,
    };
    Approval {
        ask,
        operation: pending.operation.to_owned(),
        params_hash: pending.params_hash.to_owned(),
        session: pending.session.map(|session| session.id().to_owned()),
        principal: pending.principal.map(str::to_owned),
        client: pending.session.and_then(Session::client).map(str::to_owned),
        agents,
        approved_at: None,
        approved_by: None,
        cooldown_seconds: pending.cooldown_seconds,
    }
}
