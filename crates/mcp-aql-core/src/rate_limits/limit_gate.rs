//! The gate that enforces rate limits and quotas.

use std::sync::Arc;

use mcp_aql_protocol::RESERVED_OPERATIONS;

use super::counter::Micros;
use super::limit_error;
use super::limiter::Limiter;
use super::rules::{CountedCall, LimitDecision, QuotaUsage};
use crate::error::OperationError;
use crate::gatekeeper::{
    CallTokens, Gate, GatePlan, GateRequest, GateStage, PermissionPlan, Ticket, TokenClaim,
};
use crate::operation::{Handler, RegisteredOperation};
use crate::store::Change;
use crate::util::BoxFuture;

/// Counts the calls admitted by all gates, and rejects those that exceed a limit or a quota (REQ-RATE-01).
pub(crate) struct LimitGate {
    limiter: Arc<Limiter>,
    /// Issues and claims the tokens of paused quotas.
    tokens: Arc<CallTokens>,
}

impl LimitGate {
    pub(crate) fn new(limiter: Arc<Limiter>, tokens: Arc<CallTokens>) -> Self {
        Self { limiter, tokens }
    }

    /// Rejects a call that its limits would reject, without counting it.
    async fn check(&self, request: GateRequest<'_>) -> Result<(), OperationError> {
        let (decision, now) = self.limiter.decide(request.name(), is_continued(request)).await?;
        match decision {
            LimitDecision::Admit(_) | LimitDecision::Continue(..) => Ok(()),
            refused => Err(self.rejection(request, refused, now).await),
        }
    }

    async fn rejection(
        &self,
        request: GateRequest<'_>,
        decision: LimitDecision,
        now: Micros,
    ) -> OperationError {
        let rules = &self.limiter.rules;
        let (event, about, error) = match decision {
            LimitDecision::Exceeded(exceeded) => {
                let error = limit_error::exceeded(rules, &exceeded, now);
                ("LIMIT_EXCEEDED", rules.id_of(&exceeded, request.name()), error)
            }
            LimitDecision::Exhausted(spent, resets_at) => {
                let error = limit_error::exhausted(rules, spent, resets_at, now);
                ("QUOTA_EXHAUSTED", rules.metric(spent).to_owned(), error)
            }
            LimitDecision::Paused(spent) => {
                let issued = match self.tokens.issue_quota_token(request).await {
                    Ok(issued) => issued,
                    Err(error) => return error,
                };
                let error = limit_error::paused(rules, spent, issued);
                ("QUOTA_PAUSED", rules.metric(spent).to_owned(), error)
            }
            LimitDecision::Unreadable(id) => {
                let error = limit_error::unreadable(self.limiter.adapter(), &id);
                ("LIMIT_UNREADABLE", id, error)
            }
            LimitDecision::Admit(_) | LimitDecision::Continue(..) => {
                return OperationError::internal("no limit rejects this call");
            }
        };
        self.audit(request, event, "denied", &about).await;
        error
    }

    /// Adds warnings for almost exhausted quotas (REQ-WRN-06).
    async fn warn(&self, request: GateRequest<'_>, spent: &[QuotaUsage]) {
        let rules = &self.limiter.rules;
        for one in spent {
            if let Some(warning) = limit_error::warning(rules, *one) {
                request.context.warn(warning);
                self.audit(request, "QUOTA_WARNING", "allowed", rules.metric(*one)).await;
            }
        }
    }

    async fn audit(&self, request: GateRequest<'_>, event: &str, outcome: &str, about: &str) {
        self.limiter.audit().record(&request.audit_entry(event, outcome, Some(about))).await;
    }
}

impl Gate for LimitGate {
    fn stage(&self) -> GateStage {
        GateStage::RateLimits
    }

    /// Limits do not apply to operations that read or stop executions, or to those of the safety loop. These
    /// operations must work even when no other call may run. A retry is not counted itself, but the operation that it
    /// runs is.
    fn plan(&self, operation: &RegisteredOperation, _: &PermissionPlan) -> GatePlan {
        match operation.handler {
            Handler::Introspect | Handler::Execution(_) => GatePlan::Never,
            Handler::Function(_) if RESERVED_OPERATIONS.contains(&operation.spec.name) => {
                GatePlan::Never
            }
            // The token of a paused quota is bound to the arguments of a call.
            Handler::Function(_) if self.limiter.may_pause() => GatePlan::ByArguments,
            Handler::Function(_) => GatePlan::Always,
        }
    }

    /// Returns `true` if the call is counted. A call that no limit counts only concerns this gate while the wrapped
    /// API accepts no calls.
    fn concerns(&self, request: &GateRequest<'_>) -> bool {
        let limiter = &self.limiter;
        limiter.rules.counts(request.name()) || limiter.block_of_uncounted(request.name()).is_some()
    }

    fn admit<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Ticket + 'a>>, OperationError>> {
        Box::pin(async move {
            if !self.limiter.rules.counts(request.name()) {
                let Some((exceeded, now)) = self.limiter.block_of_uncounted(request.name()) else {
                    return Ok(None);
                };
                return Err(self.rejection(request, LimitDecision::Exceeded(exceeded), now).await);
            }
            // Do not ask for the confirmation of a call that would be rejected afterwards.
            if request.requires_confirmation() {
                self.check(request).await?;
            }
            let ticket = LimitTicket { gate: self, request, place: None, claim: None };
            Ok(Some(Box::new(ticket) as _))
        })
    }
}

fn is_continued(request: GateRequest<'_>) -> bool {
    request.credentials.quota_continue().is_some()
}

/// Reserves the capacity that a call uses in its limits.
///
/// The call is counted before its tokens are consumed, and subtracted again if they are invalid. If two calls compete
/// for the remaining capacity, the rejected one keeps its token.
struct LimitTicket<'a> {
    gate: &'a LimitGate,
    request: GateRequest<'a>,
    /// The reserved capacity. `None` before the reservation.
    place: Option<LimitClaim>,
    /// The token of a paused quota. `None` until it is claimed.
    claim: Option<TokenClaim>,
}

/// Reserved capacity in the limits.
struct LimitClaim {
    counted: CountedCall,
    /// Almost exhausted quotas.
    spent: Vec<QuotaUsage>,
    /// The paused quota, overridden by the token of the call.
    paused: Option<QuotaUsage>,
}

impl LimitTicket<'_> {
    async fn take_place(&mut self) -> Result<(), OperationError> {
        let (gate, request) = (self.gate, self.request);
        let (decision, now, counted) =
            gate.limiter.count_call(request.name(), is_continued(request)).await?;
        let (spent, paused) = match decision {
            LimitDecision::Admit(spent) => (spent, None),
            LimitDecision::Continue(spent, paused) => (spent, Some(paused)),
            refused => return Err(gate.rejection(request, refused, now).await),
        };
        let Some(counted) = counted else {
            return Err(OperationError::internal("an admitted call was not counted"));
        };
        self.place = Some(LimitClaim { counted, spent, paused });
        Ok(())
    }

    /// Claims the token of a paused quota. Returns an empty list if no quota is paused.
    async fn claim_token(&mut self) -> Result<Vec<Change>, OperationError> {
        let (gate, request) = (self.gate, self.request);
        let is_paused = self.place.as_ref().is_some_and(|place| place.paused.is_some());
        let Some(token) = request.credentials.quota_continue().filter(|_| is_paused) else {
            return Ok(Vec::new());
        };
        let claim = gate.tokens.claim_quota_token(request, token).await?;
        let change = claim.change.clone();
        self.claim = Some(claim);
        Ok(vec![change])
    }

    async fn finish(&self) {
        let (gate, request) = (self.gate, self.request);
        let Some(place) = &self.place else { return };
        if let Some(claim) = &self.claim {
            gate.tokens.audit_claimed(claim).await;
        }
        if let Some(paused) = place.paused {
            let metric = gate.limiter.rules.metric(paused);
            gate.audit(request, "QUOTA_CONTINUED", "confirmed", metric).await;
        }
        gate.warn(request, &place.spent).await;
    }
}

impl Ticket for LimitTicket<'_> {
    fn reserve(&mut self) -> BoxFuture<'_, Result<(), OperationError>> {
        Box::pin(self.take_place())
    }

    fn changes(&mut self) -> BoxFuture<'_, Result<Vec<Change>, OperationError>> {
        Box::pin(self.claim_token())
    }

    fn complete(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.finish())
    }

    fn into_release(self: Box<Self>) -> Option<BoxFuture<'static, ()>> {
        let limiter = Arc::clone(&self.gate.limiter);
        let counted = self.place?.counted;
        Some(Box::pin(async move { limiter.release_call(counted).await }))
    }
}
