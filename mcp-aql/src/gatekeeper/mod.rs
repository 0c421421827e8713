//! The gates before an operation: danger and trust, policies, confirmation, limits. A call that passes
//! them receives a [`Permit`], and no operation runs without one.

mod canonical;
mod issuing;
mod matrix;
mod message;
mod plan;
mod policy;
#[cfg(feature = "limits")]
mod quota;
mod settings;
mod token;
mod told;
mod trust;
mod using;

use std::sync::Arc;

use chrono::TimeDelta;
use mcp_aql_protocol::ErrorCode;

use crate::audit::AuditEntry;
use crate::clock;
use crate::clock::later;
use crate::error::OperationError;
use crate::execution::LimitReached;
#[cfg(feature = "limits")]
use crate::limits::Counted;
use crate::operation::{Argument, Context, ExecutionCall, Handler, RegisteredOperation};
use crate::redact::redacted;
use crate::request::Credentials;
#[cfg(feature = "safety")]
use crate::safety_loop::{LoopMode, Pending, SafetyCore};
use crate::services::Services;
use crate::shape::Shapes;
use issuing::Issuing;
use mcp_aql_protocol::{DangerLevel, TrustLevel};
#[cfg(feature = "safety")]
use mcp_aql_protocol::{RESERVED_OPERATIONS, SemanticCategory};
use plan::Decision;
use token::{IssuedToken, TokenKind, TokenScope, Tokens, Validity};
use using::Due;

pub(crate) use plan::Plan;
pub(crate) use policy::PolicyTable;
pub use policy::{Condition, Permission, Policy};
pub(crate) use settings::{GateSettings, GateTable, delta};
pub(crate) use told::{AdapterInfo, DangerQuery, note};
pub use trust::{Certification, Promotion, Trust, TrustError, ValidationReport};

/// Proves that the gates have admitted a call. Only the gatekeeper creates one, and dispatch requires it.
#[derive(Debug)]
pub(crate) struct Permit(Option<Counted>);

impl Permit {
    /// Returns what the call was counted in, to release it if the call does not run.
    pub(crate) fn place(&self) -> Place {
        Place(self.0)
    }
}

/// The share of the limits that a call uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(Option<Counted>);

#[cfg(not(feature = "limits"))]
type Counted = std::convert::Infallible;

/// Decides which calls may run.
pub(crate) struct Gatekeeper {
    services: Arc<Services>,
    tokens: Tokens,
    issuing: Issuing,
    ttl: Option<TimeDelta>,
    trust: Option<TrustLevel>,
    /// The safety loop, through which people are asked.
    #[cfg(feature = "safety")]
    safety: Option<Arc<SafetyCore>>,
    #[cfg(feature = "limits")]
    limiter: Option<Arc<crate::limits::Limiter>>,
}

/// A call at the gates, routed and validated (REQ-GATE-02).
#[derive(Clone, Copy)]
pub(crate) struct Visitor<'a> {
    pub(crate) operation: &'a RegisteredOperation,
    pub(crate) arguments: &'a [Argument],
    pub(crate) shapes: &'a Shapes,
    /// The tokens in the call's params.
    pub(crate) credentials: &'a Credentials,
    pub(crate) context: &'a Context,
    /// The retry that makes this call again. If the retry requires a confirmation, this call does too: one
    /// request can carry only one token, and the token is for the operation that runs.
    pub(crate) behind: Option<(&'a RegisteredOperation, &'a [Argument])>,
    /// Set if the limit on executions is reached.
    pub(crate) full: Option<LimitReached>,
}

impl<'a> Visitor<'a> {
    fn decision(&self) -> Decision<'a> {
        let own = self.operation.gate.decide(self.arguments);
        match (self.behind, &self.operation.handler) {
            (Some((retry, arguments)), _) => own.confirmed_like(retry.gate.decide(arguments)),
            (None, Handler::Execution(ExecutionCall::Retry)) => own.left_to_what_comes_next(),
            (None, _) => own,
        }
    }
}

impl<'a> Visitor<'a> {
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
struct Asked<'a> {
    /// How long a confirmation is valid for further calls of the operation. `None` limits it to this call.
    session: Option<TimeDelta>,
    /// The reason that a policy states.
    reason: Option<&'a str>,
    /// The indexes of the policies that require the confirmation.
    policies: Vec<usize>,
}

/// The ids in an audit entry of a gate.
#[derive(Default)]
struct Ids<'a> {
    /// The id of the confirmation token.
    token: Option<&'a str>,
    /// The id of the request to a person.
    challenge: Option<&'a str>,
}

impl Gatekeeper {
    pub(crate) fn new(
        services: Arc<Services>,
        settings: &GateSettings,
        #[cfg(feature = "safety")] safety: Option<Arc<SafetyCore>>,
    ) -> Self {
        let tokens = Tokens::new(Arc::clone(&services), settings.skew);
        Self {
            issuing: Issuing::new(Arc::clone(&services), tokens.clone(), settings.per_minute),
            services,
            tokens,
            ttl: settings.confirmation_ttl,
            trust: settings.trust.as_ref().map(Trust::level),
            #[cfg(feature = "safety")]
            safety,
            #[cfg(feature = "limits")]
            limiter: None,
        }
    }

    /// Admits a call or returns the error of the gate that stops it. The gates are evaluated in this order:
    /// trust and danger, policies, confirmation, limits (REQ-GATE-01, REQ-GATE-03). Tokens and approvals are
    /// consumed last, when the limits have a place for the call (REQ-TOK-10).
    pub(crate) async fn admit(&self, visitor: Visitor<'_>) -> Result<Permit, OperationError> {
        #[cfg(feature = "safety")]
        self.refuse_blocked(visitor).await?;
        let due = self.pass(visitor).await?;
        if let Some(full) = visitor.full {
            return Err(Box::pin(self.refuse_full(visitor, full)).await);
        }
        let due = due.as_deref();
        #[cfg(feature = "limits")]
        return self.count(visitor, due).await.map(Permit);
        #[cfg(not(feature = "limits"))]
        {
            self.use_up(visitor, due, None).await?;
            Ok(Permit(None))
        }
    }

    /// Rejects a call because the limit on executions is reached.
    async fn refuse_full(&self, visitor: Visitor<'_>, full: LimitReached) -> OperationError {
        let reason = Some("the limit on executions is reached");
        self.audit(visitor, "OPERATION_DENIED", "denied", reason).await;
        full.error()
    }

    /// Rejects the calls of sessions with a blocked agent, except reads and cancellations. Reserved operations
    /// decide for themselves (REQ-OOB-08, MCP-AQL §8.6.4).
    #[cfg(feature = "safety")]
    async fn refuse_blocked(&self, visitor: Visitor<'_>) -> Result<(), OperationError> {
        let Some(safety) = &self.safety else { return Ok(()) };
        let spec = &visitor.operation.spec;
        let cancels =
            matches!(visitor.operation.handler, Handler::Execution(ExecutionCall::Cancel));
        let ceases = spec.category != SemanticCategory::Read
            && !cancels
            && !RESERVED_OPERATIONS.contains(&spec.name);
        if ceases
            && let Some(asked) = safety.refuse_blocked(visitor.context.session())
            && let Err(error) = asked.await
        {
            let reason = Some("an agent of the session is blocked");
            Box::pin(self.audit(visitor, "OPERATION_DENIED", "denied", reason)).await;
            return Err(error);
        }
        Ok(())
    }

    /// Evaluates the gates. Returns the confirmation that must be consumed before the call runs.
    async fn pass<'a>(
        &'a self,
        visitor: Visitor<'a>,
    ) -> Result<Option<Box<Due<'a>>>, OperationError> {
        let allowed = || visitor.decision() == Decision::Allow;
        if !self.services.audit.is_read() && allowed() {
            return Ok(None);
        }
        // Boxed, so that the future of a call that no gate stops stays small.
        Box::pin(self.judge(visitor)).await
    }

    async fn judge<'a>(
        &'a self,
        visitor: Visitor<'a>,
    ) -> Result<Option<Box<Due<'a>>>, OperationError> {
        match visitor.decision() {
            Decision::Allow => {
                self.audit(visitor, "OPERATION_ALLOWED", "allowed", None).await;
                Ok(None)
            }
            Decision::Untrusted { least } => {
                let error = self.untrusted(visitor.operation, least);
                self.audit(visitor, "OPERATION_DENIED", "denied", Some(error.code().as_str()))
                    .await;
                Err(error)
            }
            Decision::Deny { reason } => {
                let reason = reason.unwrap_or("a policy of this adapter forbids this call");
                self.audit(visitor, "OPERATION_DENIED", "denied", Some(reason)).await;
                Err(OperationError::permission_denied(reason)
                    .with_detail("operation", visitor.operation.spec.name))
            }
            Decision::Confirm { session, by_operator, reason, policies } => {
                let asked = Asked { session, reason, policies };
                // No confirmation is requested for a call that would be rejected afterwards.
                if let Some(full) = visitor.full {
                    return Err(self.refuse_full(visitor, full).await);
                }
                #[cfg(feature = "limits")]
                self.check_limits(visitor).await?;
                #[cfg(feature = "safety")]
                let person = self.person_for(visitor, by_operator).await?;
                // Without the feature `safety` only the caller can confirm.
                #[cfg(not(feature = "safety"))]
                let person = None::<()>.filter(|()| by_operator);
                let name = visitor.operation.spec.name;
                if asked.session.is_some()
                    && self.issuing.is_granted(
                        visitor.context,
                        name,
                        (&asked.policies, person.is_some()),
                    )
                {
                    let reason = Some("confirmed in this session");
                    self.audit(visitor, "OPERATION_ALLOWED", "confirmed", reason).await;
                    return Ok(None);
                }
                let due = Due::new(asked, visitor);
                #[cfg(feature = "safety")]
                if let Some(safety) = person {
                    return self.approved(visitor, due.by(safety)).await;
                }
                self.confirmed(visitor, due).await
            }
        }
    }

    /// Returns the safety loop if a person must confirm the call, not the caller. The operation or a policy can
    /// require this, and it applies while an agent executes in the session, because an agent must not confirm its
    /// own calls (REQ-AUT-16, REQ-GATE-10).
    #[cfg(feature = "safety")]
    async fn person_for(
        &self,
        visitor: Visitor<'_>,
        by_operator: bool,
    ) -> Result<Option<&SafetyCore>, OperationError> {
        let Some(safety) = self.safety.as_deref() else { return Ok(None) };
        let asks = by_operator
            || visitor.operation.spec.danger.requires_reauth
            || safety.mode() == LoopMode::Enforcing
                && safety.is_executing(visitor.context.session()).await?;
        Ok(asks.then_some(safety))
    }

    /// Checks whether a person has approved this call, and requests an approval if not.
    #[cfg(feature = "safety")]
    async fn approved<'a>(
        &self,
        visitor: Visitor<'_>,
        due: Due<'a>,
    ) -> Result<Option<Box<Due<'a>>>, OperationError> {
        match self.approval(visitor, &due).await? {
            Some(_) => Ok(Some(Box::new(due))),
            None => Err(self.ask_people(visitor, &due).await),
        }
    }

    /// Requests a person's approval of the call. Returns the error for the caller.
    #[cfg(feature = "safety")]
    async fn ask_people(&self, visitor: Visitor<'_>, due: &Due<'_>) -> OperationError {
        let Some(safety) = due.person else {
            return OperationError::internal("no person can approve this call");
        };
        let (operation, asked) = (visitor.operation, &due.asked);
        let (spec, level) = (&operation.spec, operation.gate.danger);
        let params = redacted(&operation.parameters, visitor.arguments, visitor.shapes);
        let reasons = spec.danger.reasons.iter().copied().chain(asked.reason);
        let message =
            spec.danger.confirmation_message.map(|message| message::filled(message, visitor));
        let expires_at = later(self.services.time.now(), self.ttl(level));
        let id = safety
            .request_approval(Pending {
                operation: spec.name,
                params_hash: &due.hash,
                session: visitor.context.session(),
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
        let ids = Ids { challenge: Some(&id), token: None };
        let reason = Some("requires a person's approval");
        self.audit_with(visitor, "CONFIRMATION_REQUIRED", "denied", reason, ids).await;
        let mut error = OperationError::permission_denied(if safety.can_ask() {
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
    async fn confirmed<'a>(
        &self,
        visitor: Visitor<'_>,
        due: Due<'a>,
    ) -> Result<Option<Box<Due<'a>>>, OperationError> {
        let scope = visitor.scope(TokenKind::Confirmation, &due.hash);
        let Some(token) = &visitor.credentials.confirmation else {
            return Err(self.ask(visitor, scope, &due.asked).await);
        };
        // An invalid token must not use a place in the limits.
        #[cfg(feature = "limits")]
        if self.counts(visitor) {
            self.reject_guessing(visitor, token, scope).await?;
            self.claim(visitor, token, scope).await?;
        }
        #[cfg(not(feature = "limits"))]
        let _ = token;
        Ok(Some(Box::new(due)))
    }

    /// Issues a token for the call. If the caller has requested too many, the denial is audited.
    async fn issue(
        &self,
        visitor: Visitor<'_>,
        scope: TokenScope<'_>,
        validity: Validity,
    ) -> Result<IssuedToken, OperationError> {
        let issued = self.issuing.issue(visitor.context, scope, validity).await;
        if let Err(error) = &issued
            && error.code() == ErrorCode::RateLimitExceeded
        {
            self.audit(visitor, "OPERATION_DENIED", "denied", Some(error.code().as_str())).await;
        }
        issued
    }

    /// Issues a token and returns the error that asks the caller to confirm with it (REQ-TOK-06).
    async fn ask(
        &self,
        visitor: Visitor<'_>,
        scope: TokenScope<'_>,
        asked: &Asked<'_>,
    ) -> OperationError {
        let operation = visitor.operation;
        let danger = &operation.spec.danger;
        let level = operation.gate.danger;
        let seconds = danger.cooldown_seconds.unwrap_or_default();
        let validity =
            Validity { ttl: self.ttl(level), cooldown: TimeDelta::seconds(seconds.into()) };
        let issued = match self.issue(visitor, scope, validity).await {
            Ok(issued) => issued,
            Err(error) => return error,
        };
        let ids = Ids { token: Some(&issued.id), challenge: None };
        self.audit_with(visitor, "CONFIRMATION_REQUIRED", "denied", asked.reason, ids).await;
        let mut error = OperationError::new(
            ErrorCode::ConfirmationRequired,
            "This operation requires confirmation. Once the user agrees, make the same call with \
             'confirmation_token' as '_confirmation' in its params",
        )
        .with_detail("operation", operation.spec.name)
        .with_detail("danger_level", level.as_str())
        .with_detail("confirmation_token", issued.token)
        .with_detail("expires_at", clock::text(issued.expires_at));
        let reasons: Vec<_> = danger.reasons.iter().copied().chain(asked.reason).collect();
        if !reasons.is_empty() {
            error = error.with_detail("reasons", reasons);
        }
        if let Some(message) = danger.confirmation_message {
            let message = message::filled(message, visitor);
            error = error.with_detail("confirmation_message", message);
        }
        if seconds > 0 {
            error = error.with_detail("cooldown_seconds", seconds);
        }
        error
    }

    /// Returns how long a confirmation of this level is valid (REQ-TOK-08).
    fn ttl(&self, level: DangerLevel) -> TimeDelta {
        let (usual, most) = settings::ttl(level);
        self.ttl.unwrap_or(usual).min(most)
    }

    /// Returns `PERMISSION_DANGER_LEVEL_DENIED`, or `PERMISSION_TRUST_LEVEL_INSUFFICIENT` if only `introspect`
    /// may run (REQ-DNG-07, REQ-DNG-16).
    fn untrusted(&self, operation: &RegisteredOperation, least: TrustLevel) -> OperationError {
        let name = operation.spec.name;
        let level = operation.gate.danger;
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
    pub(crate) async fn give_back(&self, place: Place) {
        #[cfg(feature = "limits")]
        if let (Some(limiter), Some(counted)) = (&self.limiter, place.0) {
            limiter.give_back(counted).await;
        }
        #[cfg(not(feature = "limits"))]
        let _ = place;
    }

    /// Revokes a confirmation token.
    pub(crate) async fn revoke(&self, token: &str) -> Result<bool, OperationError> {
        self.tokens.revoke(token).await
    }

    /// Revokes all confirmation tokens of the adapter, and all confirmations of sessions.
    pub(crate) async fn revoke_all(&self) -> Result<(), OperationError> {
        self.issuing.revoke_grants();
        self.tokens.revoke_all().await
    }

    async fn audit(&self, visitor: Visitor<'_>, event: &str, outcome: &str, reason: Option<&str>) {
        self.audit_with(visitor, event, outcome, reason, Ids::default()).await;
    }

    async fn audit_with(
        &self,
        visitor: Visitor<'_>,
        event: &str,
        outcome: &str,
        reason: Option<&str>,
        ids: Ids<'_>,
    ) {
        if !self.services.audit.is_read() {
            return;
        }
        let operation = visitor.operation;
        let params = (operation.gate.danger >= DangerLevel::Destructive || outcome == "denied")
            .then(|| redacted(&operation.parameters, visitor.arguments, visitor.shapes));
        let entry = AuditEntry {
            event,
            operation: Some(operation.spec.name),
            endpoint: Some(&operation.endpoint),
            danger_level: Some(operation.gate.danger.number()),
            outcome,
            reason,
            token_id: ids.token,
            challenge_id: ids.challenge,
            session: visitor.session(),
            params,
            ..AuditEntry::default()
        };
        self.services.audit.record(&entry).await;
    }
}
