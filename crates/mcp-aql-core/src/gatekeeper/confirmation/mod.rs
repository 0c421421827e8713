//! The confirmation gate: certain calls need a token, the answer of a user, or the approval of a person.

mod ticket;
pub(crate) mod user;

use std::borrow::Cow;
use std::sync::Arc;

use chrono::TimeDelta;
use mcp_aql_protocol::{DangerLevel, ErrorCode};

use super::PermissionPlan;
use super::call_tokens::CallTokens;
use super::gate::{AuditIds, Gate, GatePlan, GateRequest, GateStage, Ticket};
use super::permission_plan::Decision;
use super::token::{STATE_CHANGED, TokenScope, Validity};
use super::token_text::TokenKind;
use super::{confirmation_message, settings};
use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::gatekeeper::approvals::{ApprovalClaim, ApprovalRequest, Approvals};
use crate::observe::redact::redacted;
use crate::operation::{Preview, RegisteredOperation};
use crate::schema::spec::DangerSpec;
use crate::services::Services;
use crate::util::BoxFuture;
use crate::util::clock;
use ticket::{ConfirmationTicket, Proof};

/// Requires a confirmation for calls if trust, danger or policies demand one.
pub(super) struct ConfirmationGate {
    pub(super) services: Arc<Services>,
    pub(super) tokens: Arc<CallTokens>,
    /// Lifetime of a confirmation, if the settings define one.
    pub(super) ttl: Option<TimeDelta>,
    /// Approvals by people, if the adapter has a safety loop.
    pub(super) approvals: Option<Arc<dyn Approvals>>,
    /// If `true`, users are asked through their clients.
    pub(super) elicits: bool,
}

/// Describes the confirmation required for a call.
pub(super) struct RequiredConfirmation<'a> {
    /// How long the confirmation also covers other calls of the operation. `None` limits it to this call.
    pub(super) session: Option<TimeDelta>,
    /// Reason stated by a policy.
    pub(super) reason: Option<&'a str>,
    /// Indexes of the policies that require the confirmation.
    pub(super) policies: Vec<usize>,
    /// Hash of the canonical parameters.
    pub(super) hash: String,
    /// Effects of the call, as reported by its operation.
    pub(super) preview: Preview,
}

impl<'a> RequiredConfirmation<'a> {
    /// Returns the scope of a token for this call.
    pub(super) fn token_scope<'b>(
        &'b self,
        request: GateRequest<'b>,
        kind: TokenKind,
    ) -> TokenScope<'b> {
        request.token_scope(kind, &self.hash, self.preview.fingerprint())
    }

    /// Returns the hash that a person approves. It covers the call and its effects.
    pub(super) fn approval_hash(&self) -> Cow<'_, str> {
        match self.preview.fingerprint() {
            Some(fingerprint) => format!("{}.{fingerprint}", self.hash).into(),
            None => (&*self.hash).into(),
        }
    }
}

impl Gate for ConfirmationGate {
    fn stage(&self) -> GateStage {
        GateStage::Confirmation
    }

    fn plan(&self, _: &RegisteredOperation, permission: &PermissionPlan) -> GatePlan {
        match permission.may_ask() {
            true => GatePlan::ByArguments,
            false => GatePlan::Never,
        }
    }

    fn concerns(&self, request: &GateRequest<'_>) -> bool {
        request.requires_confirmation()
    }

    fn admit<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Ticket + 'a>>, OperationError>> {
        Box::pin(async move {
            let Decision::Confirm { session, by_operator, reason, policies } = request.decision()
            else {
                return Ok(None);
            };
            let person = self.approver_for(request, by_operator).await?;
            let granted = session.is_some()
                && self.tokens.issuer().is_granted(
                    request.context,
                    request.name(),
                    (&policies, person.is_some()),
                );
            if granted {
                let (audit, reason) = (&self.services.audit, Some("confirmed in this session"));
                request.audit(audit, "OPERATION_ALLOWED", "confirmed", reason).await;
                return Ok(None);
            }
            let hash = request.params_hash();
            // Preview the call before asking, so that a call that would fail is rejected without a confirmation. If the
            // effects have changed since the confirmation, a new one is required.
            let has_token =
                request.credentials.confirmation().is_some() || self.answer_of(request).is_some();
            let may_ask =
                self.tokens.issuer().may_ask(request.context, has_token || person.is_some());
            let preview = match may_ask {
                Ok(()) => match request.preview().await {
                    Ok(preview) => preview,
                    Err(error) => {
                        return Err(self.spent_token(request, &hash).await.unwrap_or(error));
                    }
                },
                // This caller is rejected below, so do not run a preview for it.
                Err(_) => Preview::unchanged(),
            };
            let shown = preview.fingerprint().map(str::to_owned);
            let required = RequiredConfirmation { session, reason, policies, hash, preview };
            let ticket = match person {
                Some(person) => self.require_approval(request, required, person).await?,
                None => self.require_token(request, required).await?,
            };
            request.context.confirm_state(shown);
            Ok(Some(Box::new(ticket) as _))
        })
    }
}

impl ConfirmationGate {
    /// Returns the approvals if a person must confirm the call instead of the caller. The operation or a policy can
    /// require this. It is also required while an agent executes in the session, because an agent must not confirm its
    /// own calls (REQ-AUT-16, REQ-GATE-10).
    async fn approver_for(
        &self,
        request: GateRequest<'_>,
        by_operator: bool,
    ) -> Result<Option<&dyn Approvals>, OperationError> {
        let Some(approvals) = self.approvals.as_deref() else { return Ok(None) };
        let asks = by_operator
            || request.operation.spec.danger.requires_reauth
            || approvals.supervises(request.session()).await?;
        Ok(asks.then_some(approvals))
    }

    /// Accepts a call approved by a person.
    async fn require_approval<'a>(
        &'a self,
        request: GateRequest<'a>,
        required: RequiredConfirmation<'a>,
        person: &'a dyn Approvals,
    ) -> Result<ConfirmationTicket<'a>, OperationError> {
        let claim = self.claim_approval(request, &required, person).await?;
        let proof = Proof::Approval { person, claim };
        Ok(ConfirmationTicket::new(self, request, required, proof))
    }

    /// Returns a person's approval of the call, if its cooldown has ended. Requests an approval if there is none yet.
    pub(super) async fn claim_approval(
        &self,
        request: GateRequest<'_>,
        required: &RequiredConfirmation<'_>,
        person: &dyn Approvals,
    ) -> Result<ApprovalClaim, OperationError> {
        let hash = required.approval_hash();
        let Some(claim) = person.approval(request.name(), &hash, request.session()).await? else {
            return Err(self.approval_error(request, required, person).await);
        };
        let left = claim.not_before - self.services.time.now();
        if left <= TimeDelta::zero() {
            return Ok(claim);
        }
        let ids = AuditIds { challenge: Some(&claim.request_id), ..AuditIds::default() };
        let reason = "a person has approved this call, but its cooldown has not ended. Make the same call again later";
        request
            .audit_with(&self.services.audit, "OPERATION_DENIED", "denied", Some(reason), ids)
            .await;
        Err(OperationError::permission_denied(reason)
            .with_detail("operation", request.name())
            .with_detail("danger_level", request.danger().as_str())
            .with_detail("request_id", claim.request_id)
            .with_detail("not_before", clock::text(claim.not_before))
            .with_detail("retry_after_seconds", clock::whole_seconds(left)))
    }

    /// Returns the error of a used or expired token, for a call whose preview has failed. If a call is repeated, its
    /// preview usually fails because the first call has already run. The error of the token then explains more than the
    /// preview's.
    async fn spent_token(&self, request: GateRequest<'_>, hash: &str) -> Option<OperationError> {
        let token = request.credentials.confirmation()?;
        let scope = request.token_scope(TokenKind::Confirmation, hash, None);
        let error = self.tokens.claim(request, token, scope).await.err()?;
        let spent = [ErrorCode::TokenAlreadyUsed, ErrorCode::TokenExpired];
        spent.contains(&error.code()).then_some(error)
    }

    /// Checks the token of the call. Without a token, asks the user of the client if possible, and otherwise requires a
    /// token.
    async fn require_token<'a>(
        &'a self,
        request: GateRequest<'a>,
        required: RequiredConfirmation<'a>,
    ) -> Result<ConfirmationTicket<'a>, OperationError> {
        let Some(token) = request.credentials.confirmation() else {
            return self.ask_user(request, required).await;
        };
        let kind = TokenKind::Confirmation;
        let scope = required.token_scope(request, kind);
        let claim = match self.tokens.claim(request, token, scope).await {
            Err(error) if error.details().contains_key(STATE_CHANGED) => {
                return Err(self.changed_error(request, &required).await);
            }
            claim => claim?,
        };
        Ok(ConfirmationTicket::new(self, request, required, Proof::Token { kind, token, claim }))
    }

    /// Requests a person's approval of the call. Returns the error for the caller.
    pub(super) async fn approval_error(
        &self,
        request: GateRequest<'_>,
        required: &RequiredConfirmation<'_>,
        person: &dyn Approvals,
    ) -> OperationError {
        let (operation, level) = (request.operation, request.danger());
        let spec = &operation.spec;
        let danger = &spec.danger;
        let params = redacted(&operation.parameters, request.arguments, request.shapes);
        let reasons = danger.reasons.iter().copied().chain(required.reason);
        let message = message(request, required);
        let expires_at = clock::later(self.services.time.now(), self.ttl(level));
        let action = format!("{} {params}", spec.name);
        let hash = required.approval_hash();
        let asked = person.request_approval(ApprovalRequest {
            operation: spec.name,
            params_hash: &hash,
            session: request.session(),
            principal: request.context.principal().map(Principal::id),
            action: &action,
            reasons: message.iter().cloned().chain(reasons.clone().map(str::to_owned)).collect(),
            level: level.as_str(),
            expires_at,
            cooldown_seconds: danger.cooldown_seconds.unwrap_or_default(),
        });
        let id = match asked.await {
            Ok(id) => id,
            Err(error) => return error,
        };
        let ids = AuditIds { challenge: Some(&id), ..AuditIds::default() };
        let reason = Some("requires a person's approval");
        let audit = &self.services.audit;
        request.audit_with(audit, "CONFIRMATION_REQUIRED", "denied", reason, ids).await;
        let error = OperationError::permission_denied(if person.can_ask() {
            "a person must approve this call and has been asked. Make the same call again after \
             the approval"
        } else {
            "a person must approve this call, but no channel of this adapter reaches a person now. \
             Inform the user"
        })
        .with_detail("operation", spec.name)
        .with_detail("danger_level", level.as_str())
        .with_detail("request_id", id)
        .with_detail("expires_at", clock::text(expires_at));
        with_reasons(error, danger, reasons.collect(), message)
    }

    /// Returns the error for a call whose effects have changed since its token was issued. The error contains a new
    /// token.
    async fn changed_error(
        &self,
        request: GateRequest<'_>,
        required: &RequiredConfirmation<'_>,
    ) -> OperationError {
        let error = self.confirmation_error(request, required).await;
        if error.code() != ErrorCode::ConfirmationRequired {
            return error;
        }
        error
            .with_message(
                "The effect of this call has changed since its confirmation. Ask the user again, and make the same \
                 call with the new 'confirmation_token' as '_confirmation' in its params",
            )
            .with_detail(STATE_CHANGED, true)
    }

    /// Issues a token, and returns the error that asks the caller to confirm with it (REQ-TOK-06).
    async fn confirmation_error(
        &self,
        request: GateRequest<'_>,
        required: &RequiredConfirmation<'_>,
    ) -> OperationError {
        let danger = &request.operation.spec.danger;
        let level = request.danger();
        let seconds = danger.cooldown_seconds.unwrap_or_default();
        let validity =
            Validity { ttl: self.ttl(level), cooldown: TimeDelta::seconds(seconds.into()) };
        let scope = required.token_scope(request, TokenKind::Confirmation);
        let issued = match self.tokens.issue(request, scope, validity).await {
            Ok(issued) => issued,
            Err(error) => return error,
        };
        let ids = AuditIds { token: Some(&issued.id), ..AuditIds::default() };
        let audit = &self.services.audit;
        request.audit_with(audit, "CONFIRMATION_REQUIRED", "denied", required.reason, ids).await;
        let reasons = danger.reasons.iter().copied().chain(required.reason).collect();
        let error = OperationError::new(
            ErrorCode::ConfirmationRequired,
            "This operation requires confirmation. Once the user agrees, make the same call with \
             'confirmation_token' as '_confirmation' in its params",
        )
        .with_detail("operation", request.name())
        .with_detail("danger_level", level.as_str())
        .with_detail("confirmation_token", issued.token)
        .with_detail("expires_at", clock::text(issued.expires_at));
        with_reasons(error, danger, reasons, message(request, required))
    }

    /// Returns how long a confirmation for this level is valid (REQ-TOK-08).
    fn ttl(&self, level: DangerLevel) -> TimeDelta {
        let (usual, maximum) = settings::ttl(level);
        self.ttl.unwrap_or(usual).min(maximum)
    }
}

/// Returns the question from the operation's preview, or else its confirmation message with the values of the call.
fn message(request: GateRequest<'_>, required: &RequiredConfirmation<'_>) -> Option<String> {
    if let Some(question) = required.preview.question() {
        return Some(confirmation_message::plain(
            question,
            confirmation_message::MAX_QUESTION_CHARS,
        ));
    }
    let message = request.operation.spec.danger.confirmation_message;
    let GateRequest { operation, arguments, shapes, .. } = request;
    message.map(|message| {
        confirmation_message::fill(message, &operation.parameters, arguments, shapes)
    })
}

/// Adds the reasons for a confirmation, its message and the cooldown to an error.
fn with_reasons(
    mut error: OperationError,
    danger: &DangerSpec,
    reasons: Vec<&str>,
    message: Option<String>,
) -> OperationError {
    if !reasons.is_empty() {
        error = error.with_detail("reasons", reasons);
    }
    if let Some(seconds) = danger.cooldown_seconds {
        error = error.with_detail("cooldown_seconds", seconds);
    }
    match message {
        Some(message) => error.with_detail("confirmation_message", message),
        None => error,
    }
}
