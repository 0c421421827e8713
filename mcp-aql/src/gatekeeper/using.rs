//! What confirms a call is used up before it runs, all of it or nothing.

use super::token::{Claim, TokenKind, TokenScope};
use super::{Asked, Gatekeeper, Visitor, canonical};
use crate::error::OperationError;
#[cfg(feature = "safety")]
use crate::safety_loop::SafetyCore;
#[cfg(feature = "safety")]
use crate::store::Change;

/// What a call needs to be confirmed by.
pub(super) struct Due<'a> {
    pub(super) asked: Asked<'a>,
    /// Of its canonical parameters.
    pub(super) hash: String,
    /// Where a person has approved it; else it is its token.
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
    /// Uses up what confirms a call, and the token by which it goes on although a quota pauses: with one
    /// write, so that none is lost when another one is not good (REQ-TOK-07, REQ-TOK-10).
    pub(super) async fn use_up(
        &self,
        visitor: Visitor<'_>,
        due: Option<&Due<'_>>,
        quota: Option<&str>,
    ) -> Result<(), OperationError> {
        if due.is_none() && quota.is_none() {
            return Ok(());
        }
        // Apart, so that the future of a call that needs none of it stays small.
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
        if tokens.iter().any(|(_, token)| token.is_some()) {
            self.issuing.may_fail(visitor.context)?;
        }
        let store = self.services.store_for_call().await?;
        loop {
            let (mut claims, mut changes) = (Vec::new(), Vec::new());
            for (kind, token) in tokens {
                let Some(token) = token else { continue };
                let claim = self.claim(visitor, token, visitor.scope(kind, hash)).await?;
                changes.push(claim.change.clone());
                claims.push(claim);
            }
            #[cfg(feature = "safety")]
            if let Some(due) = due.filter(|due| due.person.is_some()) {
                match self.approval(visitor, due).await? {
                    Some(change) => changes.push(change),
                    // The same call, made at the same time, was faster.
                    None => return Err(self.ask_people(visitor, due).await),
                }
            }
            if store.write(changes).await? {
                for claim in &claims {
                    self.tokens.claimed(claim).await;
                }
                break;
            }
            tokio::task::yield_now().await;
        }
        if let Some(due) = due {
            if let Some(time) = due.asked.session {
                let granted = (visitor.operation.spec.name, !due.is_by_token());
                self.issuing.grant(visitor.context, granted, time);
            }
            self.audit(visitor, "CONFIRMATION_GRANTED", "confirmed", None).await;
        }
        Ok(())
    }

    /// What uses the token up, if it is good.
    pub(super) async fn claim(
        &self,
        visitor: Visitor<'_>,
        token: &str,
        scope: TokenScope<'_>,
    ) -> Result<Claim, OperationError> {
        match self.tokens.claim(token, scope).await {
            Ok(claim) => Ok(claim),
            Err(error) => {
                self.issuing.failed(visitor.context);
                let reason = Some(error.code().as_str());
                self.audit(visitor, "OPERATION_DENIED", "denied", reason).await;
                Err(error)
            }
        }
    }

    /// What uses up a person's approval of the call, if there is one.
    #[cfg(feature = "safety")]
    pub(super) async fn approval(
        &self,
        visitor: Visitor<'_>,
        due: &Due<'_>,
    ) -> Result<Option<Change>, OperationError> {
        let Some(safety) = due.person else { return Ok(None) };
        let name = visitor.operation.spec.name;
        safety.approval(name, &due.hash, visitor.context.session()).await
    }
}
