use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use super::token::{TokenKind, TokenScope, Validity};
use super::{Gatekeeper, Visitor, canonical};
use crate::error::OperationError;
use crate::limits::{Applicant, Limiter, QuotaTokens};
use crate::operation::{BoxFuture, ExecutionCall, Handler};
use crate::vocab::RESERVED_OPERATIONS;

/// How long a call may be continued after a quota has paused it (REQ-TOK-08).
const VALIDITY: Validity = Validity { ttl: TimeDelta::minutes(5), cooldown: TimeDelta::zero() };

impl Gatekeeper {
    /// The same, with limits behind the other gates.
    pub(crate) fn with_limits(self, limiter: Option<Arc<Limiter>>) -> Self {
        Self { limiter, ..self }
    }

    /// Refuses a call that limits would refuse.
    pub(super) async fn check_limits(&self, visitor: Visitor<'_>) -> Result<(), OperationError> {
        match &self.limiter {
            Some(limiter) if visitor.is_counted() => {
                let tokens = TokensOf { gatekeeper: self, visitor };
                limiter.check(visitor.applicant(), &tokens).await
            }
            _ => Ok(()),
        }
    }

    /// Counts a call that all other gates let pass, or refuses it.
    pub(super) async fn count(&self, visitor: Visitor<'_>) -> Result<(), OperationError> {
        match &self.limiter {
            Some(limiter) if visitor.is_counted() => {
                let tokens = TokensOf { gatekeeper: self, visitor };
                // Apart, so that the future of a call without limits stays small.
                Box::pin(limiter.admit(visitor.applicant(), &tokens)).await
            }
            _ => Ok(()),
        }
    }
}

impl<'a> Visitor<'a> {
    /// Whether limits are about the call: not where it watches or stops what runs, or has to do with the
    /// safety loop, which must go on when nothing else may.
    fn is_counted(&self) -> bool {
        let steers = matches!(
            self.operation.handler,
            Handler::Execution(ExecutionCall::Get | ExecutionCall::List | ExecutionCall::Cancel)
        );
        !steers && !RESERVED_OPERATIONS.contains(&self.operation.spec.name)
    }

    fn applicant(self) -> Applicant<'a> {
        Applicant {
            operation: self.operation,
            context: self.context,
            token: self.credentials.quota_continue.as_deref(),
        }
    }
}

/// The tokens by which one call goes on although a quota pauses.
struct TokensOf<'a> {
    gatekeeper: &'a Gatekeeper,
    visitor: Visitor<'a>,
}

impl TokensOf<'_> {
    fn scope<'a>(&'a self, params_hash: &'a str) -> TokenScope<'a> {
        TokenScope {
            kind: TokenKind::QuotaContinue,
            operation: self.visitor.operation.spec.name,
            params_hash,
            session: self.visitor.session(),
        }
    }
}

impl QuotaTokens for TokensOf<'_> {
    fn issue(&self) -> BoxFuture<'_, Result<(String, DateTime<Utc>), OperationError>> {
        Box::pin(async move {
            let hash = canonical::params_hash(self.visitor.arguments);
            let issuing = &self.gatekeeper.issuing;
            let issued = issuing.issue(self.visitor.context, self.scope(&hash), VALIDITY).await?;
            Ok((issued.token, issued.expires_at))
        })
    }

    fn redeem<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let hash = canonical::params_hash(self.visitor.arguments);
            let (issuing, context) = (&self.gatekeeper.issuing, self.visitor.context);
            issuing.may_fail(context)?;
            let redeemed = self.gatekeeper.tokens.redeem(token, self.scope(&hash)).await;
            if redeemed.is_err() {
                issuing.failed(context);
            }
            redeemed
        })
    }
}
