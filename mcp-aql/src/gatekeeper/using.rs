//! Claims the tokens and approvals of a call: one write consumes all of them, or none.

use mcp_aql_protocol::ErrorCode;

use super::token::{Claim, TokenKind, TokenScope, audit_id};
use super::{Asked, Gatekeeper, Ids, Visitor, canonical};
use crate::error::OperationError;
#[cfg(feature = "safety")]
use crate::safety_loop::{Approved, SafetyCore};

/// A confirmation that must be consumed before a call runs.
pub(super) struct Due<'a> {
    pub(super) asked: Asked<'a>,
    /// The hash of the canonical parameters.
    pub(super) hash: String,
    /// The safety loop, if a person approves the call. Otherwise the call carries a token.
    #[cfg(feature = "safety")]
    pub(super) person: Option<&'a SafetyCore>,
}

impl<'a> Due<'a> {
    pub(super) fn new(asked: Asked<'a>, visitor: Visitor<'_>) -> Self {
        Self {
            asked,
            hash: canonical::params_hash(visitor.arguments),
            #[cfg(feature = "safety")]
            person: None,
        }
    }

    #[cfg(feature = "safety")]
    pub(super) fn by(self, person: &'a SafetyCore) -> Self {
        Self { person: Some(person), ..self }
    }

    fn is_by_token(&self) -> bool {
        #[cfg(feature = "safety")]
        return self.person.is_none();
        #[cfg(not(feature = "safety"))]
        true
    }
}

impl Gatekeeper {
    /// Consumes the confirmation of a call and the token of a paused quota with one write, so that none is
    /// lost when another one is invalid (REQ-TOK-07, REQ-TOK-10).
    pub(super) async fn use_up(
        &self,
        visitor: Visitor<'_>,
        due: Option<&Due<'_>>,
        quota: Option<&str>,
    ) -> Result<(), OperationError> {
        if due.is_none() && quota.is_none() {
            return Ok(());
        }
        // Boxed, so that the future of a call without a confirmation stays small.
        Box::pin(self.used_up(visitor, due, quota)).await
    }

    async fn used_up(
        &self,
        visitor: Visitor<'_>,
        due: Option<&Due<'_>>,
        quota: Option<&str>,
    ) -> Result<(), OperationError> {
        let hash = match due {
            Some(due) => &due.hash,
            None => &canonical::params_hash(visitor.arguments),
        };
        let confirmation = due.filter(|due| due.is_by_token());
        let confirmation = confirmation.and(visitor.credentials.confirmation.as_deref());
        let tokens = [(TokenKind::QuotaContinue, quota), (TokenKind::Confirmation, confirmation)];
        for (kind, token) in tokens {
            let Some(token) = token else { continue };
            self.reject_guessing(visitor, token, visitor.scope(kind, hash)).await?;
        }
        let store = self.services.store_for_call().await?;
        let (claims, request) = loop {
            let (mut claims, mut changes) = (Vec::new(), Vec::new());
            #[cfg_attr(
                not(feature = "safety"),
                expect(unused_mut, reason = "the loop asks people")
            )]
            let mut request = None::<String>;
            for (kind, token) in tokens {
                let Some(token) = token else { continue };
                let claim = self.claim(visitor, token, visitor.scope(kind, hash)).await?;
                changes.push(claim.change.clone());
                claims.push(claim);
            }
            #[cfg(feature = "safety")]
            if let Some(due) = due.filter(|due| due.person.is_some()) {
                match self.approval(visitor, due).await? {
                    Some(approved) => {
                        changes.push(approved.change);
                        request = Some(approved.request_id);
                    }
                    // A concurrent call has consumed the approval.
                    None => return Err(self.ask_people(visitor, due).await),
                }
            }
            if store.write(changes).await? {
                for claim in &claims {
                    self.tokens.claimed(claim).await;
                }
                break (claims, request);
            }
            tokio::task::yield_now().await;
        };
        if let Some(due) = due {
            if let Some(time) = due.asked.session {
                let operation = visitor.operation.spec.name;
                let by_person = !due.is_by_token();
                self.issuing.grant(
                    visitor.context,
                    operation,
                    (&due.asked.policies, by_person),
                    time,
                );
            }
            let ids = Ids {
                token: claims.iter().find_map(Claim::confirmation_id),
                challenge: request.as_deref(),
            };
            self.audit_with(visitor, "CONFIRMATION_GRANTED", "confirmed", None, ids).await;
        }
        Ok(())
    }

    /// Claims a token: returns the change that consumes it, if it is valid.
    pub(super) async fn claim(
        &self,
        visitor: Visitor<'_>,
        token: &str,
        scope: TokenScope<'_>,
    ) -> Result<Claim, OperationError> {
        match self.tokens.claim(token, scope).await {
            Ok(claim) => Ok(claim),
            Err(error) => {
                // Only these two errors can be guesses. An expired or used token reveals nothing, so concurrent
                // retries with one token all get the same error.
                if matches!(error.code(), ErrorCode::TokenInvalid | ErrorCode::TokenScopeMismatch) {
                    self.issuing.failed(visitor.context);
                }
                self.audit_rejected(visitor, token, error.code()).await;
                Err(error)
            }
        }
    }

    /// Rejects every token, valid or not, from a caller that has failed too often.
    pub(super) async fn reject_guessing(
        &self,
        visitor: Visitor<'_>,
        token: &str,
        scope: TokenScope<'_>,
    ) -> Result<(), OperationError> {
        let Err(error) = self.issuing.may_fail(visitor.context) else { return Ok(()) };
        self.tokens.reject(token, scope, error.code()).await;
        self.audit_rejected(visitor, token, error.code()).await;
        Err(error)
    }

    /// Records that a call is denied because of its token.
    async fn audit_rejected(&self, visitor: Visitor<'_>, token: &str, code: ErrorCode) {
        let id = audit_id(token);
        let ids = Ids { token: Some(&id), challenge: None };
        let reason = Some(code.as_str());
        self.audit_with(visitor, "OPERATION_DENIED", "denied", reason, ids).await;
    }

    /// Returns the change that consumes a person's approval of the call, if there is one.
    #[cfg(feature = "safety")]
    pub(super) async fn approval(
        &self,
        visitor: Visitor<'_>,
        due: &Due<'_>,
    ) -> Result<Option<Approved>, OperationError> {
        let Some(safety) = due.person else { return Ok(None) };
        let name = visitor.operation.spec.name;
        safety.approval(name, &due.hash, visitor.context.session()).await
    }
}
