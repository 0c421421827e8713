//! The gate of limits and quotas.

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_protocol::RESERVED_OPERATIONS;

use super::token::{TokenKind, Validity};
use super::token_claim::PendingConfirmation;
use super::{GateRequest, Gatekeeper, params_hash};
use crate::call_limits::{CountedCall, LimitRequest, QuotaTokens};
use crate::error::OperationError;
use crate::future::BoxFuture;
use crate::operation::Handler;

/// How long the token of a paused quota is valid (REQ-TOK-08).
const CONTINUE_VALIDITY: Validity =
    Validity { ttl: TimeDelta::minutes(5), cooldown: TimeDelta::zero() };

impl Gatekeeper {
    /// Rejects a call that the limits would reject, without counting it.
    pub(super) async fn check_limits(
        &self,
        request: GateRequest<'_>,
    ) -> Result<(), OperationError> {
        match &self.limiter {
            Some(limiter) if request.has_limits() => {
                let tokens = CallTokens { gatekeeper: self, request, due: None };
                limiter.check(request.limit_request(), &tokens).await
            }
            _ => Ok(()),
        }
    }

    /// Returns whether limits apply to the call.
    pub(super) fn limits_apply_to(&self, request: GateRequest<'_>) -> bool {
        self.limiter.is_some() && request.has_limits()
    }

    /// Counts a call that all other gates admit, and consumes its confirmation.
    pub(super) async fn count(
        &self,
        request: GateRequest<'_>,
        due: Option<&PendingConfirmation<'_>>,
    ) -> Result<Option<CountedCall>, OperationError> {
        match &self.limiter {
            Some(limiter) if request.has_limits() => {
                let tokens = CallTokens { gatekeeper: self, request, due };
                limiter.admit(request.limit_request(), &tokens).await.map(Some)
            }
            _ => self.consume_confirmations(request, due, None).await.map(|()| None),
        }
    }
}

impl<'a> GateRequest<'a> {
    /// Returns whether limits apply to the call. They do not apply to operations that read or stop executions,
    /// and to those of the safety loop, which must work when no other call may run. A retry is not counted
    /// itself; the operation that it runs is.
    fn has_limits(&self) -> bool {
        let steers = matches!(self.operation.handler, Handler::Execution(_));
        !steers && !RESERVED_OPERATIONS.contains(&self.operation.spec.name)
    }

    fn limit_request(self) -> LimitRequest<'a> {
        LimitRequest {
            operation: self.operation,
            context: self.context,
            token: self.credentials.quota_continue.as_deref(),
        }
    }
}

/// Issues and consumes the tokens of one call.
struct CallTokens<'a> {
    gatekeeper: &'a Gatekeeper,
    request: GateRequest<'a>,
    /// The confirmation of the call.
    due: Option<&'a PendingConfirmation<'a>>,
}

impl QuotaTokens for CallTokens<'_> {
    fn issue(&self) -> BoxFuture<'_, Result<(String, DateTime<Utc>), OperationError>> {
        Box::pin(async move {
            let hash = params_hash::params_hash(self.request.arguments);
            let scope = self.request.scope(TokenKind::QuotaContinue, &hash);
            let issued = self.gatekeeper.issue(self.request, scope, CONTINUE_VALIDITY).await?;
            Ok((issued.token, issued.expires_at))
        })
    }

    fn consume<'a>(&'a self, quota: Option<&'a str>) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(self.gatekeeper.consume_confirmations(self.request, self.due, quota))
    }
}
