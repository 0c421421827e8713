//! Claims the tokens and approvals of a call: one write consumes all of them, or none.

use mcp_aql_protocol::ErrorCode;

use super::token::{TokenClaim, TokenKind, TokenScope, audit_id};
use super::{AuditIds, ConfirmationRequest, GateRequest, Gatekeeper, params_hash};
use crate::approvals::{ApprovalClaim, Approvals};
use crate::error::OperationError;

/// A confirmation that must be consumed before a call runs.
pub(super) struct PendingConfirmation<'a> {
    pub(super) confirmation: ConfirmationRequest<'a>,
    /// The hash of the canonical parameters.
    pub(super) hash: String,
    /// The approvals, if a person approves the call. Otherwise the call carries a token.
    pub(super) person: Option<&'a dyn Approvals>,
}

impl<'a> PendingConfirmation<'a> {
    pub(super) fn new(confirmation: ConfirmationRequest<'a>, request: GateRequest<'_>) -> Self {
        Self { confirmation, hash: params_hash::params_hash(request.arguments), person: None }
    }

    pub(super) fn by(self, person: &'a dyn Approvals) -> Self {
        Self { person: Some(person), ..self }
    }

    fn is_by_token(&self) -> bool {
        self.person.is_none()
    }
}

impl Gatekeeper {
    /// Consumes the confirmation of a call and the token of a paused quota with one write, so that none is
    /// lost when another one is invalid (REQ-TOK-07, REQ-TOK-10).
    pub(super) async fn consume_confirmations(
        &self,
        request: GateRequest<'_>,
        due: Option<&PendingConfirmation<'_>>,
        quota: Option<&str>,
    ) -> Result<(), OperationError> {
        if due.is_none() && quota.is_none() {
            return Ok(());
        }
        // Boxed, so that the future of a call without a confirmation stays small.
        Box::pin(self.consume_in_one_write(request, due, quota)).await
    }

    async fn consume_in_one_write(
        &self,
        request: GateRequest<'_>,
        due: Option<&PendingConfirmation<'_>>,
        quota: Option<&str>,
    ) -> Result<(), OperationError> {
        let hash = match due {
            Some(due) => &due.hash,
            None => &params_hash::params_hash(request.arguments),
        };
        let confirmation = due.filter(|due| due.is_by_token());
        let confirmation = confirmation.and(request.credentials.confirmation.as_deref());
        let tokens = [(TokenKind::QuotaContinue, quota), (TokenKind::Confirmation, confirmation)];
        for (kind, token) in tokens {
            let Some(token) = token else { continue };
            self.reject_guessing(request, token, request.scope(kind, hash)).await?;
        }
        let store = self.services.store_for_call().await?;
        let (claims, approval_id) = loop {
            let (mut claims, mut changes) = (Vec::new(), Vec::new());
            let mut approval_id = None::<String>;
            for (kind, token) in tokens {
                let Some(token) = token else { continue };
                let claim = self.claim(request, token, request.scope(kind, hash)).await?;
                changes.push(claim.change.clone());
                claims.push(claim);
            }
            if let Some(due) = due.filter(|due| due.person.is_some()) {
                match self.claim_approval(request, due).await? {
                    Some(approved) => {
                        changes.push(approved.change);
                        approval_id = Some(approved.request_id);
                    }
                    // A concurrent call has consumed the approval.
                    None => return Err(self.approval_error(request, due).await),
                }
            }
            if store.write(changes).await? {
                for claim in &claims {
                    self.tokens.audit_claimed(claim).await;
                }
                break (claims, approval_id);
            }
            tokio::task::yield_now().await;
        };
        if let Some(due) = due {
            if let Some(time) = due.confirmation.session {
                let operation = request.operation.spec.name;
                let by_person = !due.is_by_token();
                self.token_issuer.grant(
                    request.context,
                    operation,
                    (&due.confirmation.policies, by_person),
                    time,
                );
            }
            let ids = AuditIds {
                token: claims.iter().find_map(TokenClaim::confirmation_id),
                challenge: approval_id.as_deref(),
            };
            self.audit_with(request, "CONFIRMATION_GRANTED", "confirmed", None, ids).await;
        }
        Ok(())
    }

    /// Claims a token: returns the change that consumes it, if it is valid.
    pub(super) async fn claim(
        &self,
        request: GateRequest<'_>,
        token: &str,
        scope: TokenScope<'_>,
    ) -> Result<TokenClaim, OperationError> {
        match self.tokens.claim(token, scope).await {
            Ok(claim) => Ok(claim),
            Err(error) => {
                // Only these two errors can be guesses. An expired or used token reveals nothing, so concurrent
                // retries with one token all get the same error.
                if matches!(error.code(), ErrorCode::TokenInvalid | ErrorCode::TokenScopeMismatch) {
                    self.token_issuer.failed(request.context);
                }
                self.audit_rejected(request, token, error.code()).await;
                Err(error)
            }
        }
    }

    /// Rejects every token, valid or not, from a caller that has failed too often.
    pub(super) async fn reject_guessing(
        &self,
        request: GateRequest<'_>,
        token: &str,
        scope: TokenScope<'_>,
    ) -> Result<(), OperationError> {
        let Err(error) = self.token_issuer.may_fail(request.context) else { return Ok(()) };
        self.tokens.reject(token, scope, error.code()).await;
        self.audit_rejected(request, token, error.code()).await;
        Err(error)
    }

    /// Records that a call is denied because of its token.
    async fn audit_rejected(&self, request: GateRequest<'_>, token: &str, code: ErrorCode) {
        let id = audit_id(token);
        let ids = AuditIds { token: Some(&id), challenge: None };
        let reason = Some(code.as_str());
        self.audit_with(request, "OPERATION_DENIED", "denied", reason, ids).await;
    }

    /// Returns the change that consumes a person's approval of the call, if there is one.
    pub(super) async fn claim_approval(
        &self,
        request: GateRequest<'_>,
        due: &PendingConfirmation<'_>,
    ) -> Result<Option<ApprovalClaim>, OperationError> {
        let Some(person) = due.person else { return Ok(None) };
        let name = request.operation.spec.name;
        person.approval(name, &due.hash, request.context.session()).await
    }
}
