//! Confirmation tokens. The caller receives 256 random bits, and the store keeps their hash and scope.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_protocol::ErrorCode;
use serde::{Deserialize, Serialize};

use super::token_text::{TokenKind, audit_id, has_form, mask_token, random_token};
use crate::error::OperationError;
use crate::observe::audit::{AuditEntry, Confirmation, ConfirmationStep, ConfirmedBy};
use crate::services::Services;
use crate::store::{Change, Expected, NewRecord, StateRecord, StoreError};
use crate::util::clock;
use crate::util::clock::{later, whole_seconds};
use crate::vocab::digest;

/// The collection of the store for tokens.
const COLLECTION: &str = "confirmation_tokens";
/// How long a token is kept after its expiry, so that its bearer still receives a specific error.
const RETENTION_PERIOD: TimeDelta = TimeDelta::minutes(30);

/// Detail of the error for a call whose effects have changed since its confirmation.
pub(super) const STATE_CHANGED: &str = "state_changed";

/// The call that a token confirms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenScope<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) operation: &'a str,
    pub(crate) params_hash: &'a str,
    /// Hash of the call's effects, if its operation has a preview.
    pub(crate) fingerprint: Option<&'a str>,
    /// Id of the session. `None` for a caller without a session.
    pub(crate) session: Option<&'a str>,
    /// Id of the authenticated caller, for the audit log.
    pub(crate) principal: Option<&'a str>,
}

/// The validity period of a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Validity {
    pub(crate) ttl: TimeDelta,
    /// How long the bearer must wait before using the token.
    pub(crate) cooldown: TimeDelta,
}

/// A token as sent to its bearer.
#[derive(Debug)]
pub(crate) struct IssuedToken {
    /// Id of the token in the audit log.
    pub id: String,
    /// The token. The caller sends it back.
    pub token: String,
    /// When the token expires.
    pub expires_at: DateTime<Utc>,
}

/// The stored record of a token (REQ-TOK-05). It does not contain the token itself:
///
/// ```json
/// {
///   "id": "t-9f86d081884c7d65", "type": "confirmation", "operation": "delete_task", "params_hash": "9b2e…",
///   "adapter_name": "tasks", "session_id": "s-1f0c9a7be2d84c11", "issued_at": "2031-05-06T07:00:00Z",
///   "not_before": "2031-05-06T07:00:00Z", "expires_at": "2031-05-06T07:05:00Z", "consumed_at": null
/// }
/// ```
#[derive(Debug, Serialize, Deserialize)]
struct TokenRecord {
    id: String,
    #[serde(rename = "type")]
    kind: TokenKind,
    operation: String,
    params_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    adapter_name: String,
    session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    issued_at: DateTime<Utc>,
    not_before: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    consumed_at: Option<DateTime<Utc>>,
}

/// A valid token, and the change that consumes it.
pub struct TokenClaim {
    /// The change of the store that consumes the token.
    pub change: Change,
    record: TokenRecord,
}

impl TokenClaim {
    /// Returns the id of a token that confirms a call. Returns `None` for the token of a paused quota.
    pub(crate) fn confirmation_id(&self) -> Option<&str> {
        Some(self.record.id.as_str()).filter(|_| self.record.kind != TokenKind::QuotaContinue)
    }
}

/// Issues and checks the tokens of one adapter.
#[derive(Clone)]
pub(crate) struct TokenStore {
    services: Arc<Services>,
    /// How long a token stays valid after its expiry, to compensate for clock differences (REQ-TOK-09).
    skew: TimeDelta,
}

impl TokenStore {
    pub(crate) fn new(services: Arc<Services>, skew: TimeDelta) -> Self {
        Self { services, skew }
    }

    pub(crate) fn skew(&self) -> TimeDelta {
        self.skew
    }

    /// Issues a token for a call. Calls `admit` with the key of the token in the store and the time until which it is
    /// kept. `admit` returns the keys of older tokens to remove.
    pub(super) async fn issue(
        &self,
        scope: TokenScope<'_>,
        validity: Validity,
        admit: impl FnOnce(String, DateTime<Utc>) -> Vec<String> + Send,
    ) -> Result<IssuedToken, OperationError> {
        let now = self.services.time.now();
        let token = random_token(scope.kind)?;
        let expires_at = later(now, saturating_sum(validity.ttl, validity.cooldown));
        let record = TokenRecord {
            id: audit_id(&token),
            kind: scope.kind,
            operation: scope.operation.to_owned(),
            params_hash: scope.params_hash.to_owned(),
            fingerprint: scope.fingerprint.map(str::to_owned),
            adapter_name: self.services.audit.adapter.clone(),
            session_id: scope.session.map(str::to_owned),
            principal: scope.principal.map(str::to_owned),
            issued_at: now,
            not_before: later(now, validity.cooldown),
            expires_at,
            consumed_at: None,
        };
        let key = digest(token.as_bytes());
        let mut changes = vec![self.change(&key, Expected::Absent, &record)?];
        let store = self.services.store_for_call().await?;
        let evicted = admit(key, self.kept_until(&record));
        changes
            .extend(evicted.into_iter().map(|key| Change::remove(COLLECTION, key, Expected::Any)));
        if !store.write(changes).await? {
            return Err(OperationError::internal("two tokens have one hash"));
        }
        self.audit("TOKEN_ISSUED", &record).await;
        Ok(IssuedToken { id: record.id, token, expires_at })
    }

    /// Checks that a token is valid for a call, in the order defined by the protocol. If several calls use the same
    /// token concurrently, the first one to write the returned change consumes it (REQ-TOK-07, REQ-TOK-10).
    pub(crate) async fn claim(
        &self,
        token: &str,
        scope: TokenScope<'_>,
    ) -> Result<TokenClaim, OperationError> {
        let key = digest(token.as_bytes());
        let found = match has_form(token, scope.kind) {
            true => self.services.store_for_call().await?.get(COLLECTION, &key).await?,
            false => None,
        };
        let Some(found) = found else {
            self.reject(token, scope, ErrorCode::TokenInvalid).await;
            return Err(OperationError::new(
                ErrorCode::TokenInvalid,
                "Invalid confirmation token. Call the operation without it to get a new one",
            )
            .with_detail("token", mask_token(token)));
        };
        let mut record = read(&found)?;
        let now = self.services.time.now();
        if let Err(error) = self.check(token, &record, scope, now) {
            // The caller is not always the one to whom the token was issued.
            let entry = AuditEntry {
                outcome: "failure",
                failure_reason: Some(error.code().as_str()),
                principal: scope.principal,
                session: scope.session,
                ..entry("TOKEN_REJECTED", &record)
            };
            self.services.audit.record(&entry).await;
            return Err(error);
        }
        record.consumed_at = Some(now);
        let change = self.change(&key, Expected::Version(found.version), &record)?;
        Ok(TokenClaim { change, record })
    }

    /// Records a consumed token in the audit log.
    pub(crate) async fn audit_claimed(&self, claim: &TokenClaim) {
        self.audit("TOKEN_VALIDATED", &claim.record).await;
    }

    /// Revokes a token in any state. Returns `true` if it existed (REQ-TOK-12).
    pub(crate) async fn revoke(&self, token: &str) -> Result<bool, OperationError> {
        let store = self.services.store_for_call().await?;
        let key = digest(token.as_bytes());
        let Some(found) = store.get(COLLECTION, &key).await? else { return Ok(false) };
        self.remove(&found).await
    }

    /// Revokes all tokens of an ended session (REQ-SES-02, REQ-TOK-12).
    pub(crate) async fn revoke_session(&self, session: &str) -> Result<(), OperationError> {
        let store = self.services.store_for_call().await?;
        loop {
            let found = store.list(COLLECTION, Some(session), None, 100).await?;
            if found.is_empty() {
                return Ok(());
            }
            // Remove up to 100 tokens with one write, because little time is left if the process is exiting.
            let remove =
                |record: &StateRecord| Change::remove(COLLECTION, &*record.key, Expected::Any);
            if !store.write(found.iter().map(remove).collect()).await? {
                return Ok(());
            }
            for record in &found {
                match read(record) {
                    Ok(token) => self.audit_removed(&token).await,
                    Err(error) => tracing::error!(%error, "removed an unreadable token"),
                }
            }
        }
    }

    /// Revokes all tokens of the adapter (REQ-TOK-12).
    pub(crate) async fn revoke_all(&self) -> Result<(), OperationError> {
        let store = self.services.store_for_call().await?;
        let mut after = None::<String>;
        loop {
            let found = store.list(COLLECTION, None, after.as_deref(), 100).await?;
            let Some(last) = found.last() else { return Ok(()) };
            after = Some(last.key.clone());
            for record in &found {
                // An unreadable token cannot be used. It must not prevent the removal of the others.
                match read(record) {
                    Ok(token) if token.adapter_name == self.services.audit.adapter => {
                        self.remove(record).await?;
                    }
                    Ok(_) => {}
                    Err(error) => tracing::error!(%error, "cannot revoke an unreadable token"),
                }
            }
        }
    }

    async fn remove(&self, found: &StateRecord) -> Result<bool, OperationError> {
        let store = self.services.store_for_call().await?;
        let change = Change::remove(COLLECTION, found.key.as_str(), Expected::Any);
        let removed = store.write(vec![change]).await?;
        self.audit_removed(&read(found)?).await;
        Ok(removed)
    }

    /// Records a removal in the audit log, unless the token was already consumed.
    async fn audit_removed(&self, record: &TokenRecord) {
        if record.consumed_at.is_none() {
            self.audit("TOKEN_REVOKED", record).await;
        }
    }

    /// Checks a token in the order of the protocol's table (choice C-21).
    fn check(
        &self,
        token: &str,
        record: &TokenRecord,
        scope: TokenScope<'_>,
        now: DateTime<Utc>,
    ) -> Result<(), OperationError> {
        let refuse = |code, message| {
            OperationError::new(code, message).with_detail("token", mask_token(token))
        };
        // Also reject tokens from the future: setting the clock back must not extend the life of tokens.
        if now > later(record.expires_at, self.skew) || later(now, self.skew) < record.issued_at {
            let message =
                "Confirmation token has expired. Call the operation without it to get a new one";
            return Err(refuse(ErrorCode::TokenExpired, message)
                .with_detail("expired_at", clock::text(record.expires_at))
                .with_detail("current_time", clock::text(now)));
        }
        if let Some(consumed_at) = record.consumed_at {
            let message = "Confirmation token has already been used. \
                           Call the operation without it to get a new one";
            return Err(refuse(ErrorCode::TokenAlreadyUsed, message)
                .with_detail("consumed_at", clock::text(consumed_at)));
        }
        let fits = record.kind == scope.kind
            && record.operation == scope.operation
            && record.params_hash == scope.params_hash
            && record.adapter_name == self.services.audit.adapter
            && record.session_id.as_deref() == scope.session;
        if !fits {
            let message = "Confirmation token scope mismatch: it was issued for another call, or in another session. \
                           Use it for the call it was issued for, or make this call without a token";
            return Err(refuse(ErrorCode::TokenScopeMismatch, message)
                .with_detail("token_operation", record.operation.as_str())
                .with_detail("requested_operation", scope.operation));
        }
        if record.fingerprint.as_deref() != scope.fingerprint {
            let message = "The effect of this call has changed since its confirmation";
            return Err(
                refuse(ErrorCode::ConfirmationRequired, message).with_detail(STATE_CHANGED, true)
            );
        }
        if now < record.not_before {
            let left = record.not_before - now;
            return Err(OperationError::new(
                ErrorCode::ConfirmationRequired,
                "This operation requires confirmation, and its cooldown has not ended: \
                 make the same call with the same token later",
            )
            .with_detail("operation", scope.operation)
            .with_detail("confirmation_token", token)
            .with_detail("expires_at", clock::text(record.expires_at))
            .with_detail("not_before", clock::text(record.not_before))
            .with_detail("retry_after_seconds", whole_seconds(left)));
        }
        Ok(())
    }

    /// Records a rejected token without reading its record. Unknown tokens and strings that cannot be tokens get the
    /// same error (REQ-TOK-15).
    pub(crate) async fn reject(&self, token: &str, scope: TokenScope<'_>, code: ErrorCode) {
        let entry = AuditEntry {
            event: "TOKEN_REJECTED",
            operation: Some(scope.operation),
            outcome: "failure",
            failure_reason: Some(code.as_str()),
            token_id: Some(&audit_id(token)),
            principal: scope.principal,
            session: scope.session,
            confirmation: confirmation("TOKEN_REJECTED", scope.kind),
            ..AuditEntry::default()
        };
        self.services.audit.record(&entry).await;
    }

    /// Returns the time after which the store may delete a token.
    fn kept_until(&self, record: &TokenRecord) -> DateTime<Utc> {
        later(record.expires_at, saturating_sum(self.skew, RETENTION_PERIOD))
    }

    fn change(
        &self,
        key: &str,
        expected: Expected,
        record: &TokenRecord,
    ) -> Result<Change, OperationError> {
        let value = serde_json::to_string(record).map_err(OperationError::internal)?;
        let mut kept = NewRecord::new(value).expires_at(self.kept_until(record));
        kept.group.clone_from(&record.session_id);
        Ok(Change::put(COLLECTION, key, expected, kept))
    }

    /// Records an event of a token.
    async fn audit(&self, event: &str, record: &TokenRecord) {
        self.services.audit.record(&entry(event, record)).await;
    }
}

/// Returns the audit entry of a token, with the protocol's event names (REQ-TOK-16).
fn entry<'a>(event: &'a str, record: &'a TokenRecord) -> AuditEntry<'a> {
    AuditEntry {
        event,
        operation: Some(&record.operation),
        outcome: "success",
        token_id: Some(&record.id),
        principal: record.principal.as_deref(),
        session: record.session_id.as_deref(),
        confirmation: confirmation(event, record.kind),
        ..AuditEntry::default()
    }
}

/// Returns the confirmation step represented by an event of a token. Returns `None` for questions: their state is also
/// consumed if the user declines, so the gate records the answers of users itself.
fn confirmation(event: &str, kind: TokenKind) -> Option<Confirmation> {
    let step = match event {
        "TOKEN_ISSUED" => ConfirmationStep::Asked,
        "TOKEN_VALIDATED" => ConfirmationStep::Approved,
        "TOKEN_REJECTED" => ConfirmationStep::Refused,
        _ => return None,
    };
    (kind != TokenKind::Question).then(|| ConfirmedBy::Token.has(step))
}

fn read(record: &StateRecord) -> Result<TokenRecord, StoreError> {
    serde_json::from_str(&record.value)
        .map_err(|_| StoreError::Unreadable("cannot read a confirmation token".to_owned()))
}

fn saturating_sum(one: TimeDelta, other: TimeDelta) -> TimeDelta {
    one.checked_add(&other).unwrap_or(TimeDelta::MAX)
}
