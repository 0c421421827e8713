//! The gates before an operation: danger and trust, policies, confirmation, limits. A call that passes
//! them receives a [`Permit`], and no operation runs without one.

mod adapter_info;
mod confirmation_message;
mod params_hash;
mod plan;
mod policy;
mod quota;
mod settings;
mod token;
mod token_claim;
mod token_issue;
mod trust;
mod trust_matrix;

use std::sync::Arc;

use chrono::TimeDelta;
use mcp_aql_protocol::ErrorCode;

use crate::approvals::{ApprovalRequest, Approvals};
use crate::argument::Argument;
use crate::audit::AuditEntry;
use crate::call_limits::{CallLimits, CountedCall};
use crate::clock;
use crate::error::OperationError;
use crate::execution::LimitReached;
use crate::operation::{Context, ExecutionCall, Handler, RegisteredOperation};
use crate::redact::redacted;
use crate::request::Credentials;
use crate::services::Services;
use crate::shape::Shapes;
use mcp_aql_protocol::{DangerLevel, TrustLevel};
use mcp_aql_protocol::{RESERVED_OPERATIONS, SemanticCategory};
use plan::Decision;
use token::{IssuedToken, TokenKind, TokenScope, TokenStore, Validity};
use token_claim::PendingConfirmation;
use token_issue::TokenIssuer;

pub(crate) use adapter_info::{AdapterInfo, DangerQuery, gate_note};
pub(crate) use plan::GatePlan;
pub(crate) use policy::PolicyTable;
pub use policy::{Condition, Permission, Policy};
pub(crate) use settings::{GateSettings, GateTable, delta};
pub use trust::{Certification, Promotion, Trust, TrustError, ValidationReport};

/// Proves that the gates have admitted a call. Only the gatekeeper creates one, and dispatch requires it.
#[derive(Debug)]
pub(crate) struct Permit(Option<CountedCall>);

impl Permit {
    /// Returns what the call was counted in, to release it if the call does not run.
    pub(crate) fn limit_use(&self) -> LimitUse {
        LimitUse(self.0)
    }
}

/// The share of the limits that a call uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitUse(Option<CountedCall>);

/// Decides which calls may run.
pub(crate) struct Gatekeeper {
    services: Arc<Services>,
    tokens: TokenStore,
    token_issuer: TokenIssuer,
    ttl: Option<TimeDelta>,
    trust: Option<TrustLevel>,
    /// The approvals by people, if the adapter has a safety loop.
    approvals: Option<Arc<dyn Approvals>>,
    limiter: Option<Arc<dyn CallLimits>>,
}

/// A call at the gates, routed and validated (REQ-GATE-02).
#[derive(Clone, Copy)]
pub(crate) struct GateRequest<'a> {
    pub(crate) operation: &'a RegisteredOperation,
    /// The gates of the operation.
    pub(crate) plan: &'a GatePlan,
    pub(crate) arguments: &'a [Argument],
    pub(crate) shapes: &'a Shapes,
    /// The tokens in the call's params.
    pub(crate) credentials: &'a Credentials,
    pub(crate) context: &'a Context,
    /// The retry that makes this call again. If the retry requires a confirmation, this call does too: one
    /// request can carry only one token, and the token is for the operation that runs.
    pub(crate) retry: Option<(&'a GatePlan, &'a [Argument])>,
    /// Set if the limit on executions is reached.
    pub(crate) full: Option<LimitReached>,
}

impl<'a> GateRequest<'a> {
    fn decision(&self) -> Decision<'a> {
        let own = self.plan.decide(self.arguments);
        match (self.retry, &self.operation.handler) {
            (Some((retry, arguments)), _) => own.combined_with_retry(retry.decide(arguments)),
            (None, Handler::Execution(ExecutionCall::Retry)) => own.without_confirmation(),
            (None, _) => own,
        }
    }
}

impl<'a> GateRequest<'a> {
    fn session(self) -> Option<&'a str> {
        self.context.session().map(crate::session::Session::id)
    }

    /// Returns the scope of a token for this call.
    fn scope(self, kind: TokenKind, params_hash: &'a str) -> TokenScope<'a> {
        let operation = self.operation.spec.name;
        TokenScope { kind, operation, params_hash, session: self.session() }
    }
}

/// A confirmation that a gate requires.
struct ConfirmationRequest<'a> {
    /// How long a confirmation is valid for further calls of the operation. `None` limits it to this call.
    session: Option<TimeDelta>,
    /// The reason that a policy states.
    reason: Option<&'a str>,
    /// The indexes of the policies that require the confirmation.
    policies: Vec<usize>,
}

/// The ids in an audit entry of a gate.
#[derive(Default)]
struct AuditIds<'a> {
    /// The id of the confirmation token.
    token: Option<&'a str>,
    /// The id of the request to a person.
    challenge: Option<&'a str>,
}

impl Gatekeeper {
    pub(crate) fn new(
        services: Arc<Services>,
        settings: &GateSettings,
        approvals: Option<Arc<dyn Approvals>>,
        limiter: Option<Arc<dyn CallLimits>>,
    ) -> Self {
        let tokens = TokenStore::new(Arc::clone(&services), settings.skew);
        Self {
            token_issuer: TokenIssuer::new(
                Arc::clone(&services),
                tokens.clone(),
                settings.per_minute,
            ),
            services,
            tokens,
            ttl: settings.confirmation_ttl,
            trust: settings.trust.as_ref().map(Trust::level),
            approvals,
            limiter,
        }
    }

    /// Admits a call or returns the error of the gate that stops it. The gates are evaluated in this order:
    /// trust and danger, policies, confirmation, limits (REQ-GATE-01, REQ-GATE-03). Tokens and approvals are
    /// consumed last, when the limits have a place for the call (REQ-TOK-10).
    pub(crate) async fn admit(&self, request: GateRequest<'_>) -> Result<Permit, OperationError> {
        self.reject_blocked_agent(request).await?;
        let due = self.evaluate(request).await?;
        if let Some(full) = request.full {
            return Err(Box::pin(self.reject_execution_limit(request, full)).await);
        }
        let due = due.as_deref();
        self.count(request, due).await.map(Permit)
    }

    /// Rejects a call because the limit on executions is reached.
    async fn reject_execution_limit(
        &self,
        request: GateRequest<'_>,
        full: LimitReached,
    ) -> OperationError {
        let reason = Some("the limit on executions is reached");
        self.audit(request, "OPERATION_DENIED", "denied", reason).await;
        full.error()
    }

    /// Rejects the calls of sessions with a blocked agent, except reads and cancellations. Reserved operations
    /// decide for themselves (REQ-OOB-08, MCP-AQL §8.6.4).
    async fn reject_blocked_agent(&self, request: GateRequest<'_>) -> Result<(), OperationError> {
        let Some(approvals) = &self.approvals else { return Ok(()) };
        let spec = &request.operation.spec;
        let cancels =
            matches!(request.operation.handler, Handler::Execution(ExecutionCall::Cancel));
        let ceases = spec.category != SemanticCategory::Read
            && !cancels
            && !RESERVED_OPERATIONS.contains(&spec.name);
        if ceases
            && let Some(confirmation) = approvals.reject_blocked_session(request.context.session())
            && let Err(error) = confirmation.await
        {
            let reason = Some("an agent of the session is blocked");
            Box::pin(self.audit(request, "OPERATION_DENIED", "denied", reason)).await;
            return Err(error);
        }
        Ok(())
    }

    /// Evaluates the gates. Returns the confirmation that must be consumed before the call runs.
    async fn evaluate<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> Result<Option<Box<PendingConfirmation<'a>>>, OperationError> {
        let allowed = || request.decision() == Decision::Allow;
        if !self.services.audit.is_read() && allowed() {
            return Ok(None);
        }
        // Boxed, so that the future of a call that no gate stops stays small.
        Box::pin(self.evaluate_gates(request)).await
    }

    async fn evaluate_gates<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> Result<Option<Box<PendingConfirmation<'a>>>, OperationError> {
        match request.decision() {
            Decision::Allow => {
                self.audit(request, "OPERATION_ALLOWED", "allowed", None).await;
                Ok(None)
            }
            Decision::Untrusted { least } => {
                let error = self.trust_error(request, least);
                self.audit(request, "OPERATION_DENIED", "denied", Some(error.code().as_str()))
                    .await;
                Err(error)
            }
            Decision::Deny { reason } => {
                let reason = reason.unwrap_or("a policy of this adapter forbids this call");
                self.audit(request, "OPERATION_DENIED", "denied", Some(reason)).await;
                Err(OperationError::permission_denied(reason)
                    .with_detail("operation", request.operation.spec.name))
            }
            Decision::Confirm { session, by_operator, reason, policies } => {
                let confirmation = ConfirmationRequest { session, reason, policies };
                // No confirmation is requested for a call that would be rejected afterwards.
                if let Some(full) = request.full {
                    return Err(self.reject_execution_limit(request, full).await);
                }
                self.check_limits(request).await?;
                let person = self.approver_for(request, by_operator).await?;
                let name = request.operation.spec.name;
                if confirmation.session.is_some()
                    && self.token_issuer.is_granted(
                        request.context,
                        name,
                        (&confirmation.policies, person.is_some()),
                    )
                {
                    let reason = Some("confirmed in this session");
                    self.audit(request, "OPERATION_ALLOWED", "confirmed", reason).await;
                    return Ok(None);
                }
                let due = PendingConfirmation::new(confirmation, request);
                if let Some(person) = person {
                    return self.require_approval(request, due.by(person)).await;
                }
                self.require_token(request, due).await
            }
        }
    }

    /// Returns the approvals if a person must confirm the call, not the caller. The operation or a policy can
    /// require this, and it applies while an agent executes in the session, because an agent must not confirm its
    /// own calls (REQ-AUT-16, REQ-GATE-10).
    async fn approver_for(
        &self,
        request: GateRequest<'_>,
        by_operator: bool,
    ) -> Result<Option<&dyn Approvals>, OperationError> {
        let Some(approvals) = self.approvals.as_deref() else { return Ok(None) };
        let asks = by_operator
            || request.operation.spec.danger.requires_reauth
            || approvals.supervises(request.context.session()).await?;
        Ok(asks.then_some(approvals))
    }

    /// Checks whether a person has approved this call, and requests an approval if not.
    async fn require_approval<'a>(
        &self,
        request: GateRequest<'_>,
        due: PendingConfirmation<'a>,
    ) -> Result<Option<Box<PendingConfirmation<'a>>>, OperationError> {
        match self.claim_approval(request, &due).await? {
            Some(_) => Ok(Some(Box::new(due))),
            None => Err(self.approval_error(request, &due).await),
        }
    }

    /// Requests a person's approval of the call. Returns the error for the caller.
    async fn approval_error(
        &self,
        request: GateRequest<'_>,
        due: &PendingConfirmation<'_>,
    ) -> OperationError {
        let Some(person) = due.person else {
            return OperationError::internal("no person can approve this call");
        };
        let (operation, confirmation) = (request.operation, &due.confirmation);
        let (spec, level) = (&operation.spec, request.plan.danger);
        let params = redacted(&operation.parameters, request.arguments, request.shapes);
        let reasons = spec.danger.reasons.iter().copied().chain(confirmation.reason);
        let message = spec
            .danger
            .confirmation_message
            .map(|message| confirmation_message::fill(message, request));
        let expires_at = clock::later(self.services.time.now(), self.ttl(level));
        let id = person
            .request_approval(ApprovalRequest {
                operation: spec.name,
                params_hash: &due.hash,
                session: request.context.session(),
                action: &format!("{} {params}", spec.name),
                reasons: message
                    .iter()
                    .cloned()
                    .chain(reasons.clone().map(str::to_owned))
                    .collect(),
                level: level.as_str(),
                expires_at,
            })
            .await;
        let id = match id {
            Ok(id) => id,
            Err(error) => return error,
        };
        let ids = AuditIds { challenge: Some(&id), token: None };
        let reason = Some("requires a person's approval");
        self.audit_with(request, "CONFIRMATION_REQUIRED", "denied", reason, ids).await;
        let mut error = OperationError::permission_denied(if person.can_ask() {
            "a person must approve this call and has been asked. Make the same call again after \
             the approval"
        } else {
            "a person must approve this call, but no channel of this adapter reaches a person at the moment. \
             Inform the user"
        })
        .with_detail("operation", spec.name)
        .with_detail("danger_level", level.as_str())
        .with_detail("request_id", id)
        .with_detail("expires_at", clock::text(expires_at));
        let reasons: Vec<_> = reasons.collect();
        if !reasons.is_empty() {
            error = error.with_detail("reasons", reasons);
        }
        if let Some(message) = message {
            error = error.with_detail("confirmation_message", message);
        }
        error
    }

    /// Checks the token of the call, and requires one if the call has none.
    async fn require_token<'a>(
        &self,
        request: GateRequest<'_>,
        due: PendingConfirmation<'a>,
    ) -> Result<Option<Box<PendingConfirmation<'a>>>, OperationError> {
        let scope = request.scope(TokenKind::Confirmation, &due.hash);
        let Some(token) = &request.credentials.confirmation else {
            return Err(self.confirmation_error(request, scope, &due.confirmation).await);
        };
        // An invalid token must not use a place in the limits.
        if self.limits_apply_to(request) {
            self.reject_guessing(request, token, scope).await?;
            self.claim(request, token, scope).await?;
        }
        Ok(Some(Box::new(due)))
    }

    /// Issues a token for the call. If the caller has requested too many, the denial is audited.
    async fn issue(
        &self,
        request: GateRequest<'_>,
        scope: TokenScope<'_>,
        validity: Validity,
    ) -> Result<IssuedToken, OperationError> {
        let issued = self.token_issuer.issue(request.context, scope, validity).await;
        if let Err(error) = &issued
            && error.code() == ErrorCode::RateLimitExceeded
        {
            self.audit(request, "OPERATION_DENIED", "denied", Some(error.code().as_str())).await;
        }
        issued
    }

    /// Issues a token and returns the error that asks the caller to confirm with it (REQ-TOK-06).
    async fn confirmation_error(
        &self,
        request: GateRequest<'_>,
        scope: TokenScope<'_>,
        confirmation: &ConfirmationRequest<'_>,
    ) -> OperationError {
        let operation = request.operation;
        let danger = &operation.spec.danger;
        let level = request.plan.danger;
        let seconds = danger.cooldown_seconds.unwrap_or_default();
        let validity =
            Validity { ttl: self.ttl(level), cooldown: TimeDelta::seconds(seconds.into()) };
        let issued = match self.issue(request, scope, validity).await {
            Ok(issued) => issued,
            Err(error) => return error,
        };
        let ids = AuditIds { token: Some(&issued.id), challenge: None };
        self.audit_with(request, "CONFIRMATION_REQUIRED", "denied", confirmation.reason, ids).await;
        let mut error = OperationError::new(
            ErrorCode::ConfirmationRequired,
            "This operation requires confirmation. Once the user agrees, make the same call with \
             'confirmation_token' as '_confirmation' in its params",
        )
        .with_detail("operation", operation.spec.name)
        .with_detail("danger_level", level.as_str())
        .with_detail("confirmation_token", issued.token)
        .with_detail("expires_at", clock::text(issued.expires_at));
        let reasons: Vec<_> = danger.reasons.iter().copied().chain(confirmation.reason).collect();
        if !reasons.is_empty() {
            error = error.with_detail("reasons", reasons);
        }
        if let Some(message) = danger.confirmation_message {
            let message = confirmation_message::fill(message, request);
            error = error.with_detail("confirmation_message", message);
        }
        if seconds > 0 {
            error = error.with_detail("cooldown_seconds", seconds);
        }
        error
    }

    /// Returns how long a confirmation of this level is valid (REQ-TOK-08).
    fn ttl(&self, level: DangerLevel) -> TimeDelta {
        let (usual, maximum) = settings::ttl(level);
        self.ttl.unwrap_or(usual).min(maximum)
    }

    /// Returns `PERMISSION_DANGER_LEVEL_DENIED`, or `PERMISSION_TRUST_LEVEL_INSUFFICIENT` if only `introspect`
    /// may run (REQ-DNG-07, REQ-DNG-16).
    fn trust_error(&self, request: GateRequest<'_>, least: TrustLevel) -> OperationError {
        let operation = request.operation;
        let name = operation.spec.name;
        let level = request.plan.danger;
        let actual = self.trust.unwrap_or_default();
        if level == DangerLevel::Safe {
            return OperationError::new(
                ErrorCode::PermissionTrustLevelInsufficient,
                format!(
                    "Operation '{name}' requires trust level '{least}', adapter has '{actual}'. \
                     Only introspect may be called"
                ),
            )
            .with_detail("operation", name)
            .with_detail("required_trust", least.as_str())
            .with_detail("actual_trust", actual.as_str())
            .with_detail("danger_level", level.number());
        }
        let error = OperationError::new(
            ErrorCode::PermissionDangerLevelDenied,
            format!(
                "Operation '{name}' (danger: {level}) denied for adapter trust level '{actual}'"
            ),
        )
        .with_detail("operation", name)
        .with_detail("danger_level", level.as_str())
        .with_detail("adapter_trust", actual.as_str())
        .with_detail("minimum_trust_required", least.as_str());
        match operation.spec.danger.reasons {
            [] => error,
            reasons => error.with_detail("reasons", reasons),
        }
    }

    /// Releases the share of the limits of a call that does not run.
    pub(crate) async fn release_limits(&self, limit_use: LimitUse) {
        if let (Some(limiter), Some(counted)) = (&self.limiter, limit_use.0) {
            limiter.release(counted).await;
        }
    }

    /// Revokes a confirmation token.
    pub(crate) async fn revoke(&self, token: &str) -> Result<bool, OperationError> {
        self.tokens.revoke(token).await
    }

    /// Revokes all confirmation tokens of the adapter, and all confirmations of sessions.
    pub(crate) async fn revoke_all(&self) -> Result<(), OperationError> {
        self.token_issuer.revoke_grants();
        self.tokens.revoke_all().await
    }

    async fn audit(
        &self,
        request: GateRequest<'_>,
        event: &str,
        outcome: &str,
        reason: Option<&str>,
    ) {
        self.audit_with(request, event, outcome, reason, AuditIds::default()).await;
    }

    async fn audit_with(
        &self,
        request: GateRequest<'_>,
        event: &str,
        outcome: &str,
        reason: Option<&str>,
        ids: AuditIds<'_>,
    ) {
        if !self.services.audit.is_read() {
            return;
        }
        let operation = request.operation;
        let params = (request.plan.danger >= DangerLevel::Destructive || outcome == "denied")
            .then(|| redacted(&operation.parameters, request.arguments, request.shapes));
        let entry = AuditEntry {
            event,
            operation: Some(operation.spec.name),
            endpoint: Some(&operation.endpoint),
            danger_level: Some(request.plan.danger.number()),
            outcome,
            reason,
            token_id: ids.token,
            challenge_id: ids.challenge,
            session: request.session(),
            params,
            ..AuditEntry::default()
        };
        self.services.audit.record(&entry).await;
    }
}
