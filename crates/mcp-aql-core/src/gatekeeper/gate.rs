//! The trait of gates, the calls that they examine, and the tickets that they issue.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_protocol::DangerLevel;

use super::params_hash::params_hash;
use super::permission_plan::{Decision, PermissionPlan};
use super::token::TokenScope;
use super::token_text::TokenKind;
use crate::caller::principal::Principal;
use crate::caller::session::Session;
use crate::error::OperationError;
use crate::execution::LimitReached;
use crate::execution::concurrency::{caught, given_up, within};
use crate::observe::audit::{Audit, AuditEntry, Confirmation};
use crate::observe::redact::redacted;
use crate::operation::{
    Call, Context, ExecutionCall, Handler, Preview, RegisteredOperation, StateMap,
};
use crate::request::Credentials;
use crate::schema::Argument;
use crate::schema::shape::Shapes;
use crate::store::Change;
use crate::util::BoxFuture;
use crate::vocab::digest;

/// The position of a gate in the order of all gates. A call only reaches a gate if all earlier gates have admitted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateStage {
    /// Checks if the caller may act at all.
    Caller,
    /// Checks trust, danger and policies.
    Permission,
    /// Checks the limit on executions.
    Capacity,
    /// Checks rate limits and quotas.
    RateLimits,
    /// Checks that the call is confirmed.
    Confirmation,
}

/// Which calls of an operation a gate examines. Determined when the adapter is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatePlan {
    /// No call.
    Never,
    /// Every call. The arguments do not matter.
    Always,
    /// Every call. The decision depends on the arguments.
    ByArguments,
}

/// Decides if a valid call may run, and reserves the resources that the call will consume.
pub trait Gate: Send + Sync {
    /// Returns the position of this gate in the order of all gates.
    fn stage(&self) -> GateStage;

    /// Returns which calls of an operation this gate examines.
    fn plan(&self, operation: &RegisteredOperation, permission: &PermissionPlan) -> GatePlan;

    /// Returns `true` if this call can be rejected or needs a ticket. Called before [`admit`](Self::admit), without
    /// I/O, so that most calls need no future. Override it if you can decide from the request alone.
    fn concerns(&self, _request: &GateRequest<'_>) -> bool {
        true
    }

    /// Admits a call, or rejects it with an error. Returns a ticket if the call consumes something.
    fn admit<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Ticket + 'a>>, OperationError>>;
}

/// A routed and validated call at the gates (REQ-GATE-02).
#[derive(Clone, Copy)]
pub struct GateRequest<'a> {
    pub(crate) operation: &'a RegisteredOperation,
    /// Permission of the operation's calls by trust, danger and policies.
    pub(crate) permission: &'a PermissionPlan,
    pub(crate) arguments: &'a [Argument],
    pub(crate) shapes: &'a Shapes,
    /// States of the adapter, for a preview.
    pub(crate) states: &'a Arc<StateMap>,
    /// Time limit of the operation. It also applies to the preview.
    pub(crate) time_limit: Option<Duration>,
    /// The tokens in the call's `params`.
    pub(crate) credentials: &'a Credentials,
    pub(crate) context: &'a Context,
    /// The retry that repeats this call. If the retry requires a confirmation, this call does too. A request can carry
    /// only one token, so the token is for the repeated operation.
    pub(crate) retry: Option<RetryCall<'a>>,
    /// Set if the limit on executions is reached.
    pub(crate) full: Option<LimitReached>,
}

/// A call of `retry_execution`. It repeats another call.
#[derive(Clone, Copy)]
pub(crate) struct RetryCall<'a> {
    pub(crate) permission: &'a PermissionPlan,
    pub(crate) arguments: &'a [Argument],
}

/// The ids in an audit entry of a gate.
#[derive(Default)]
pub(crate) struct AuditIds<'a> {
    /// Id of the confirmation token.
    pub(crate) token: Option<&'a str>,
    /// Id of the request to a person.
    pub(crate) challenge: Option<&'a str>,
    /// Channel of the person who approved the call.
    pub(crate) decided_by: Option<&'a str>,
    /// Name of this person.
    pub(crate) operator: Option<&'a str>,
    /// Step of a confirmation to record. `None` if another event records the same step.
    pub(crate) confirmation: Option<Confirmation>,
}

impl<'a> GateRequest<'a> {
    /// Returns the name of the called operation.
    pub(crate) fn name(&self) -> &'static str {
        self.operation.spec.name
    }

    /// Returns the danger level of the called operation.
    pub(crate) fn danger(&self) -> DangerLevel {
        self.permission.danger
    }

    /// Returns the caller's session.
    pub fn session(&self) -> Option<&'a Session> {
        self.context.session()
    }

    /// Runs the preview of the operation before the call is confirmed. Returns the effects of the call, or the error
    /// with which it would fail.
    pub(super) async fn preview(&self) -> Result<Preview, OperationError> {
        let unchanged = Preview::unchanged();
        let Handler::Function(function) = &self.operation.handler else { return Ok(unchanged) };
        let mut call = || {
            let context = self.context.of(self.operation.spec.name);
            Call::of_preview(self.arguments.to_vec(), context, Arc::clone(self.states))
        };
        let Some(preview) = function.preview(&mut call) else { return Ok(unchanged) };
        tokio::select! {
            biased;
            preview = within(self.time_limit, true, caught(|| preview)) => preview,
            () = self.context.cancelled() => Err(given_up()),
        }
    }

    /// Returns `true` if trust, danger and policies require a confirmation of this call.
    pub(crate) fn requires_confirmation(&self) -> bool {
        matches!(self.decision(), Decision::Confirm { .. })
    }

    /// Returns the decision by trust, danger and policies.
    pub(super) fn decision(&self) -> Decision<'a> {
        let principal = self.context.principal();
        let own = self.permission.decide(self.arguments, principal);
        match (self.retry, &self.operation.handler) {
            (Some(retry), _) => {
                own.combined_with_retry(retry.permission.decide(retry.arguments, principal))
            }
            (None, Handler::Execution(ExecutionCall::Retry)) => own.without_confirmation(),
            (None, _) => own,
        }
    }

    /// Returns the hash of everything covered by a confirmation: the parameters, the execution repeated by a retry, and
    /// the caller's claims.
    pub(super) fn params_hash(&self) -> String {
        let mut hash = params_hash(self.arguments);
        if let Some(retry) = self.retry {
            hash = digest(format!("{hash} retry {}", params_hash(retry.arguments)).as_bytes());
        }
        match self.context.claims_digest() {
            Some(claims) => digest(format!("{hash} {claims}").as_bytes()),
            None => hash,
        }
    }

    /// Returns the scope of a token for this call.
    pub(super) fn token_scope(
        &self,
        kind: TokenKind,
        params_hash: &'a str,
        fingerprint: Option<&'a str>,
    ) -> TokenScope<'a> {
        let session = self.context.account();
        let principal = self.context.principal().map(Principal::id);
        TokenScope { kind, operation: self.name(), params_hash, fingerprint, session, principal }
    }

    /// Returns an audit entry about this call and its caller.
    pub(crate) fn audit_entry<'b>(
        &'b self,
        event: &'b str,
        outcome: &'b str,
        reason: Option<&'b str>,
    ) -> AuditEntry<'b> {
        AuditEntry {
            event,
            operation: Some(self.name()),
            endpoint: Some(&self.operation.endpoint),
            outcome,
            reason,
            principal: self.context.principal().map(Principal::id),
            session: self.session().map(Session::id),
            ..AuditEntry::default()
        }
    }

    /// Records the decision of a gate.
    pub(crate) async fn audit(
        &self,
        audit: &Audit,
        event: &str,
        outcome: &str,
        reason: Option<&str>,
    ) {
        self.audit_with(audit, event, outcome, reason, AuditIds::default()).await;
    }

    /// Records the rejection of this call.
    pub async fn audit_denied(&self, audit: &Audit, reason: &str) {
        self.audit(audit, "OPERATION_DENIED", "denied", Some(reason)).await;
    }

    /// Records the decision of a gate, with the ids of the token or of the request to a person.
    pub(super) async fn audit_with(
        &self,
        audit: &Audit,
        event: &str,
        outcome: &str,
        reason: Option<&str>,
        ids: AuditIds<'_>,
    ) {
        if !audit.is_used() {
            return;
        }
        let operation = self.operation;
        let has_params = self.danger() >= DangerLevel::Destructive || outcome == "denied";
        let params = (has_params && audit.is_read())
            .then(|| redacted(&operation.parameters, self.arguments, self.shapes));
        let entry = AuditEntry {
            danger_level: Some(self.danger().number()),
            token_id: ids.token,
            challenge_id: ids.challenge,
            decided_by: ids.decided_by,
            operator: ids.operator,
            confirmation: ids.confirmation,
            params,
            ..self.audit_entry(event, outcome, reason)
        };
        audit.record(&entry).await;
    }
}

/// Represents the resources consumed by a call, such as a confirmation token or a unit of a rate limit. All tickets of
/// a call are committed together or not at all.
pub trait Ticket: Send + Sync {
    /// Reserves resources outside of the store's transaction, such as a unit of a counter in memory.
    fn reserve(&mut self) -> BoxFuture<'_, Result<(), OperationError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the changes that consume this ticket. Called again after a conflicting write. You must then read the
    /// records again, because their versions have changed.
    fn changes(&mut self) -> BoxFuture<'_, Result<Vec<Change>, OperationError>>;

    /// Completes the ticket once its changes have been written: audit entries, grants, warnings.
    fn complete(&mut self) -> BoxFuture<'_, ()>;

    /// Returns `true` if the gate has waited for a person. The other gates then examine the call again, because their
    /// decisions may be minutes old.
    fn has_waited(&self) -> bool {
        false
    }

    /// Returns a future that releases the [reserved](Self::reserve) resources, if there are any. It is only polled if
    /// the call does not run.
    fn into_release(self: Box<Self>) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

/// Proves that all gates have admitted a call. Only the gatekeeper creates a permit, and no call runs without one.
#[must_use]
pub(crate) struct Permit {
    /// Release the reserved resources.
    pub(super) releases: Vec<BoxFuture<'static, ()>>,
}

impl Permit {
    /// Releases the reserved resources, because the call does not run.
    pub(crate) async fn release(self) {
        for release in self.releases {
            release.await;
        }
    }
}

/// A registered operation together with its gates.
pub struct GatedOperation {
    pub(crate) registered: RegisteredOperation,
    /// Permission of its calls by trust, danger and policies.
    pub permission: PermissionPlan,
    /// Gates that examine its calls. Empty until the adapter has determined them.
    pub(crate) gates: OperationGates,
}

/// The gates that examine the calls of an operation.
#[derive(Default)]
pub(crate) struct OperationGates {
    /// The gates in order.
    pub(super) gates: Vec<Arc<dyn Gate>>,
    /// If `true`, a gate reads the arguments of calls.
    pub(crate) read_arguments: bool,
}

impl GatedOperation {
    /// Returns `true` if a stage after validation reads the arguments, including those of composite arguments.
    pub(crate) fn needs_whole_arguments(&self) -> bool {
        self.gates.read_arguments || self.spec.lifecycle.is_some()
    }
}

impl Deref for GatedOperation {
    type Target = RegisteredOperation;

    fn deref(&self) -> &RegisteredOperation {
        &self.registered
    }
}

impl DerefMut for GatedOperation {
    fn deref_mut(&mut self) -> &mut RegisteredOperation {
        &mut self.registered
    }
}
