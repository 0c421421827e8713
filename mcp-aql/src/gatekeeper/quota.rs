//! The gate of limits and quotas.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_protocol::RESERVED_OPERATIONS;

use super::token::{TokenKind, Validity};
use super::using::Due;
use super::{Gatekeeper, Visitor, canonical};
use crate::error::OperationError;
use crate::future::BoxFuture;
use crate::limits::{Applicant, Counted, Limiter, QuotaTokens};
use crate::operation::Handler;

/// How long the token of a paused quota is valid (REQ-TOK-08).
const VALIDITY: Validity = Validity { ttl: TimeDelta::minutes(5), cooldown: TimeDelta::zero() };

impl Gatekeeper {
    /// Adds the limits behind the other gates.
    pub(crate) fn with_limits(self, limiter: Option<Arc<Limiter>>) -> Self {
        Self { limiter, ..self }
    }

    /// Rejects a call that the limits would reject, without counting it.
    pub(super) async fn check_limits(&self, visitor: Visitor<'_>) -> Result<(), OperationError> {
        match &self.limiter {
            Some(limiter) if visitor.is_counted() => {
                let tokens = TokensOf { gatekeeper: self, visitor, due: None };
                limiter.check(visitor.applicant(), &tokens).await
            }
            _ => Ok(()),
        }
    }

    /// Returns whether limits apply to the call.
    pub(super) fn counts(&self, visitor: Visitor<'_>) -> bool {
        self.limiter.is_some() && visitor.is_counted()
    }

    /// Counts a call that all other gates admit, and consumes its confirmation.
    pub(super) async fn count(
        &self,
        visitor: Visitor<'_>,
        due: Option<&Due<'_>>,
    ) -> Result<Option<Counted>, OperationError> {
        match &self.limiter {
            Some(limiter) if visitor.is_counted() => {
                let tokens = TokensOf { gatekeeper: self, visitor, due };
                // Boxed, so that the future of a call without limits stays small.
                Box::pin(limiter.admit(visitor.applicant(), &tokens)).await.map(Some)
            }
            _ => self.use_up(visitor, due, None).await.map(|()| None),
        }
    }
}

impl<'a> Visitor<'a> {
    /// Returns whether limits apply to the call. They do not apply to operations that read or stop executions,
    /// and to those of the safety loop, which must work when no other call may run. A retry is not counted
    /// itself; the operation that it runs is.
    fn is_counted(&self) -> bool {
        let steers = matches!(self.operation.handler, Handler::Execution(_));
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

/// Issues and consumes the tokens of one call.
struct TokensOf<'a> {
    gatekeeper: &'a Gatekeeper,
    visitor: Visitor<'a>,
    /// The confirmation of the call.
    due: Option<&'a Due<'a>>,
}

impl QuotaTokens for TokensOf<'_> {
    fn issue(&self) -> BoxFuture<'_, Result<(String, DateTime<Utc>), OperationError>> {
        Box::pin(async move {
            let hash = canonical::params_hash(self.visitor.arguments);
            let scope = self.visitor.scope(TokenKind::QuotaContinue, &hash);
            let issued = self.gatekeeper.issue(self.visitor, scope, VALIDITY).await?;
            Ok((issued.token, issued.expires_at))
        })
    }

    fn use_up<'a>(&'a self, quota: Option<&'a str>) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(self.gatekeeper.use_up(self.visitor, self.due, quota))
    }
}
