//! Issues and checks the tokens of calls, and rejects callers that guess tokens.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_protocol::ErrorCode;

use super::GateSettings;
use super::gate::{AuditIds, GateRequest};
use super::token::{IssuedToken, TokenClaim, TokenScope, TokenStore, Validity};
use super::token_issue::ConfirmationRates;
use super::token_issue::TokenIssuer;
use super::token_text::{TokenKind, audit_id};
use crate::error::OperationError;
use crate::observe::audit::Audit;
use crate::services::Services;
use crate::store::Change;

/// Validity of the token for a paused quota (REQ-TOK-08).
const CONTINUE_VALIDITY: Validity =
    Validity { ttl: TimeDelta::minutes(5), cooldown: TimeDelta::zero() };

/// Issues and checks the tokens of calls.
pub struct CallTokens {
    services: Arc<Services>,
    tokens: TokenStore,
    issuer: TokenIssuer,
}

impl CallTokens {
    pub(crate) fn new(services: Arc<Services>, settings: &GateSettings) -> Self {
        let skew = settings.skew;
        let per_minute = ConfirmationRates {
            of_session: settings.per_minute,
            without_session: settings.per_minute_without_session(),
        };
        let tokens = TokenStore::new(Arc::clone(&services), skew);
        let issuer = TokenIssuer::new(Arc::clone(&services), tokens.clone(), per_minute);
        Self { services, tokens, issuer }
    }

    fn audit(&self) -> &Audit {
        &self.services.audit
    }

    /// Returns the issuer. It also stores the confirmations granted for sessions.
    pub(super) fn issuer(&self) -> &TokenIssuer {
        &self.issuer
    }

    /// Issues a token for the call. If the caller has requested too many tokens, the call is rejected and audited.
    pub(super) async fn issue(
        &self,
        request: GateRequest<'_>,
        scope: TokenScope<'_>,
        validity: Validity,
    ) -> Result<IssuedToken, OperationError> {
        let issued = self.issuer.issue(request.context, scope, validity).await;
        if let Err(error) = &issued
            && error.code() == ErrorCode::RateLimitExceeded
        {
            request.audit_denied(self.audit(), error.code().as_str()).await;
        }
        issued
    }

    /// Issues a token for a call during a pause of a quota. Returns the token with its expiry (REQ-RATE-07).
    pub async fn issue_quota_token(
        &self,
        request: GateRequest<'_>,
    ) -> Result<(String, DateTime<Utc>), OperationError> {
        let hash = request.params_hash();
        let scope = request.token_scope(TokenKind::QuotaContinue, &hash, None);
        let issued = self.issue(request, scope, CONTINUE_VALIDITY).await?;
        Ok((issued.token, issued.expires_at))
    }

    /// Claims the token for a paused quota.
    pub async fn claim_quota_token(
        &self,
        request: GateRequest<'_>,
        token: &str,
    ) -> Result<TokenClaim, OperationError> {
        let hash = request.params_hash();
        self.claim(request, token, request.token_scope(TokenKind::QuotaContinue, &hash, None)).await
    }

    /// Claims a token. The claim contains the change that consumes the token (REQ-TOK-07). After too many failures, the
    /// caller is rejected even with a valid token.
    pub(super) async fn claim(
        &self,
        request: GateRequest<'_>,
        token: &str,
        scope: TokenScope<'_>,
    ) -> Result<TokenClaim, OperationError> {
        if let Err(error) = self.issuer.may_fail(request.context) {
            self.tokens.reject(token, scope, error.code()).await;
            self.audit_rejected(request, token, error.code()).await;
            return Err(error);
        }
        match self.tokens.claim(token, scope).await {
            Ok(claim) => Ok(claim),
            Err(error) => {
                // Only these two errors can be guesses. Expired and used tokens reveal nothing, so do not count them.
                // Concurrent retries with one token then all get the same error.
                if matches!(error.code(), ErrorCode::TokenInvalid | ErrorCode::TokenScopeMismatch) {
                    self.issuer.failed(request.context);
                }
                self.audit_rejected(request, token, error.code()).await;
                Err(error)
            }
        }
    }

    /// Records a consumed token in the audit log.
    pub async fn audit_claimed(&self, claim: &TokenClaim) {
        self.tokens.audit_claimed(claim).await;
    }

    /// Records a call denied because of its token.
    async fn audit_rejected(&self, request: GateRequest<'_>, token: &str, code: ErrorCode) {
        let id = audit_id(token);
        let ids = AuditIds { token: Some(&id), ..AuditIds::default() };
        let reason = Some(code.as_str());
        request.audit_with(self.audit(), "OPERATION_DENIED", "denied", reason, ids).await;
    }

    /// Writes the changes of all tickets of a call in one transaction. Returns `false` if one of them conflicts with
    /// another write.
    pub(super) async fn write(&self, changes: Vec<Change>) -> Result<bool, OperationError> {
        Ok(self.services.store_for_call().await?.write(changes).await?)
    }

    /// Revokes a confirmation token.
    pub(super) async fn revoke(&self, token: &str) -> Result<bool, OperationError> {
        self.tokens.revoke(token).await
    }

    /// Revokes all confirmation tokens of the adapter, and all confirmations granted for sessions.
    pub(super) async fn revoke_all(&self) -> Result<(), OperationError> {
        self.issuer.revoke_grants();
        self.tokens.revoke_all().await
    }
}
