//! The extension point for approvals by people.

use chrono::{DateTime, Utc};

use crate::caller::session::Session;
use crate::error::OperationError;
use crate::store::Change;
use crate::util::future::BoxFuture;

/// Requests and stores the approvals of calls by people, and supervises the agents of sessions.
pub trait Approvals: Send + Sync {
    /// Whether a person must confirm the calls of this session, because an agent executes in it.
    fn supervises<'a>(
        &'a self,
        session: Option<&'a Session>,
    ) -> BoxFuture<'a, Result<bool, OperationError>>;

    /// Whether a request can reach a person now.
    fn can_ask(&self) -> bool;

    /// Requests a person's approval of a call and notifies the agents of its session. Returns the request's id,
    /// which stays the same while the request is open.
    fn request_approval<'a>(
        &'a self,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<String, OperationError>>;

    /// Returns a person's approval of this call, if there is one. The first caller that writes the change uses it.
    fn approval<'a>(
        &'a self,
        operation: &'a str,
        params_hash: &'a str,
        session: Option<&'a Session>,
    ) -> BoxFuture<'a, Result<Option<ApprovalClaim>, OperationError>>;
}

/// An operation that needs a person's approval.
pub struct ApprovalRequest<'a> {
    /// The name of the operation.
    pub operation: &'a str,
    /// The hash of its canonical parameters.
    pub params_hash: &'a str,
    /// The session of the caller.
    pub session: Option<&'a Session>,
    /// The text for the person: the operation with its parameters, secrets masked.
    pub action: &'a str,
    /// The reasons why a person must approve.
    pub reasons: Vec<String>,
    /// The permission level or danger level that requires a person.
    pub level: &'a str,
    /// The end of the request, if nobody answers it.
    pub expires_at: DateTime<Utc>,
}

/// A person's approval of a call.
pub struct ApprovalClaim {
    /// The change that consumes the approval.
    pub change: Change,
    /// The id of the approved request.
    pub request_id: String,
    /// The channel of the person who approved it.
    pub decided_by: Option<String>,
    /// The name of the person, if the channel knows it.
    pub operator: Option<String>,
}
