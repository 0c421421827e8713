//! The extension point for approvals of calls by people.

use chrono::{DateTime, Utc};

use crate::caller::session::Session;
use crate::error::OperationError;
use crate::store::Change;
use crate::util::BoxFuture;

/// Requests and stores approvals of calls by people, and supervises the agents of sessions. The safety loop implements
/// it.
pub trait Approvals: Send + Sync {
    /// Returns `true` if a person must confirm the calls of this session because an agent is executing in it.
    fn supervises<'a>(
        &'a self,
        session: Option<&'a Session>,
    ) -> BoxFuture<'a, Result<bool, OperationError>>;

    /// Returns `true` if a request can reach a person now.
    fn can_ask(&self) -> bool;

    /// Requests a person's approval of a call, and notifies the agents of its session. Returns the id of the request.
    /// While the request is open, repeated calls return the same id.
    fn request_approval<'a>(
        &'a self,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<String, OperationError>>;

    /// Returns a person's approval of this call, if there is one. The approval is used by the first caller that writes
    /// [`ApprovalClaim::change`].
    fn approval<'a>(
        &'a self,
        operation: &'a str,
        params_hash: &'a str,
        session: Option<&'a Session>,
    ) -> BoxFuture<'a, Result<Option<ApprovalClaim>, OperationError>>;
}

/// Describes a call that needs a person's approval.
#[derive(Default)]
pub struct ApprovalRequest<'a> {
    /// Name of the operation.
    pub operation: &'a str,
    /// Hash of the canonical parameters.
    pub params_hash: &'a str,
    /// Session of the caller.
    pub session: Option<&'a Session>,
    /// Id of the authenticated caller, for the audit log.
    pub principal: Option<&'a str>,
    /// The question for the person: the operation with its parameters. Secrets are masked.
    pub action: &'a str,
    /// The reasons why a person must approve.
    pub reasons: Vec<String>,
    /// The permission level or danger level that requires a person.
    pub level: &'a str,
    /// When the request expires without an answer.
    pub expires_at: DateTime<Utc>,
    /// How long the call must wait after its approval, in seconds.
    pub cooldown_seconds: u32,
}

/// A person's approval of a call.
pub struct ApprovalClaim {
    /// The change of the store that consumes the approval.
    pub change: Change,
    /// Id of the approved request.
    pub request_id: String,
    /// When the cooldown of the approved call ends.
    pub not_before: DateTime<Utc>,
    /// Channel of the person who approved it.
    pub decided_by: Option<String>,
    /// Name of the person, if the channel knows it.
    pub operator: Option<String>,
}
