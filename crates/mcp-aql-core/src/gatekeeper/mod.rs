//! The gatekeeper. Each call passes gates in this order: blocked agents, trust and policies, the limit on executions,
//! rate limits and quotas, confirmation. An operation only runs if all gates admit the call.
//!
//! Configure the gates with [`Policy`] and [`Trust`].

mod adapter_info;
pub(crate) mod approvals;
mod call_tokens;
mod condition;
mod confirmation;
mod confirmation_message;
mod execution_limit_gate;
mod gate;
mod params_hash;
mod permission_gate;
mod permission_plan;
mod policy;
mod settings;
mod token;
mod token_capacity;
mod token_issue;
mod token_text;
mod trust;
mod trust_matrix;

use std::future::ready;
use std::sync::Arc;

use futures_util::future::Either;

use crate::error::OperationError;
use crate::gatekeeper::approvals::Approvals;
use crate::services::Services;
use crate::util::erased;
use confirmation::ConfirmationGate;
pub(crate) use confirmation::user::USER_ANSWER;
use execution_limit_gate::ExecutionLimitGate;
use permission_gate::PermissionGate;

pub(crate) use adapter_info::{AdapterInfo, DangerQuery, gate_note};
pub(crate) use call_tokens::CallTokens;
pub use condition::Condition;
pub(crate) use confirmation_message::check as check_confirmation_message;
pub use confirmation_message::fill_with;
pub use gate::{Gate, GatePlan, GateRequest, GateStage, Ticket};
pub(crate) use gate::{GatedOperation, OperationGates, Permit, RetryCall};
pub use permission_plan::PermissionPlan;
pub(crate) use policy::PolicyTable;
pub use policy::{Permission, Policy};
pub(crate) use settings::{GateSettings, GateTable, delta};
pub(crate) use token::TokenClaim;
pub use trust::{Certification, Trust, TrustChange, TrustError, ValidationReport};

/// The gates of an adapter.
pub(crate) struct Gatekeeper {
    /// The gates in order.
    gates: Vec<Arc<dyn Gate>>,
    tokens: Arc<CallTokens>,
}

impl Gatekeeper {
    /// Creates the gates of the core, and adds those of the extensions.
    pub(crate) fn new(
        services: &Arc<Services>,
        settings: &GateSettings,
        tokens: Arc<CallTokens>,
        approvals: Option<Arc<dyn Approvals>>,
        added: impl IntoIterator<Item = Arc<dyn Gate>>,
    ) -> Self {
        let services = || Arc::clone(services);
        let trust = settings.trust.as_ref().map(Trust::level);
        let confirmation = ConfirmationGate {
            services: services(),
            tokens: Arc::clone(&tokens),
            ttl: settings.confirmation_ttl,
            approvals,
            elicits: settings.elicits,
        };
        let mut gates: Vec<Arc<dyn Gate>> = vec![
            Arc::new(PermissionGate { services: services(), trust }),
            Arc::new(ExecutionLimitGate { services: services() }),
            Arc::new(confirmation),
        ];
        gates.extend(added);
        gates.sort_by_key(|gate| gate.stage());
        Self { gates, tokens }
    }

    /// Determines which gates examine the calls of an operation.
    pub(crate) fn plan(&self, operation: &GatedOperation) -> OperationGates {
        let mut plan = OperationGates::default();
        for gate in &self.gates {
            let calls = gate.plan(operation, &operation.permission);
            if calls != GatePlan::Never {
                plan.gates.push(Arc::clone(gate));
            }
            plan.read_arguments |= calls == GatePlan::ByArguments;
        }
        plan
    }

    /// Admits a call, or returns the error of the gate that rejects it (REQ-GATE-01, REQ-GATE-03).
    pub(crate) fn pass_gates<'a>(
        &'a self,
        request: GateRequest<'a>,
        gates: &'a OperationGates,
    ) -> impl Future<Output = Result<Permit, OperationError>> + Send + 'a {
        let planned = match request.retry {
            None => &gates.gates,
            // The retry may require a confirmation even if the operation does not, so ask all gates.
            Some(_) => &self.gates,
        };
        let concerned: Vec<_> = planned.iter().filter(|gate| gate.concerns(&request)).collect();
        if concerned.is_empty() {
            return Either::Left(ready(Ok(permit_of(Vec::new()))));
        }
        // Boxed to keep the future of a call that no gate examines small.
        Either::Right(erased(async move {
            let mut tickets = examine(concerned.iter().copied(), request).await?;
            if let Some(waited) = tickets.pop_if(|ticket| ticket.has_waited()) {
                let is_other = |gate: &&Arc<dyn Gate>| gate.stage() != GateStage::Confirmation;
                let others = concerned.iter().copied().filter(is_other);
                tickets = examine(others, request).await?;
                tickets.push(waited);
            }
            self.commit(tickets).await
        }))
    }

    /// Commits the tickets of a call. A single write of the store consumes all of them or none (REQ-TOK-10).
    async fn commit(
        &self,
        mut tickets: Vec<Box<dyn Ticket + '_>>,
    ) -> Result<Permit, OperationError> {
        match self.write(&mut tickets).await {
            Ok(()) => {
                // Complete in reverse order: the tickets of earlier gates refer to a call confirmed by later gates.
                for ticket in tickets.iter_mut().rev() {
                    ticket.complete().await;
                }
                Ok(permit_of(tickets))
            }
            Err(error) => {
                permit_of(tickets).release().await;
                Err(error)
            }
        }
    }

    async fn write(&self, tickets: &mut [Box<dyn Ticket + '_>]) -> Result<(), OperationError> {
        for ticket in tickets.iter_mut() {
            ticket.reserve().await?;
        }
        loop {
            let mut changes = Vec::new();
            for ticket in tickets.iter_mut() {
                changes.extend(ticket.changes().await?);
            }
            if changes.is_empty() || self.tokens.write(changes).await? {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
    }

    /// Revokes a confirmation token.
    pub(crate) async fn revoke(&self, token: &str) -> Result<bool, OperationError> {
        self.tokens.revoke(token).await
    }

    /// Revokes all confirmation tokens of the adapter, and all confirmations granted for sessions.
    pub(crate) async fn revoke_all(&self) -> Result<(), OperationError> {
        self.tokens.revoke_all().await
    }
}

/// Passes a call through gates. Returns their tickets.
async fn examine<'a>(
    gates: impl Iterator<Item = &'a Arc<dyn Gate>>,
    request: GateRequest<'a>,
) -> Result<Vec<Box<dyn Ticket + 'a>>, OperationError> {
    let mut tickets = Vec::new();
    for gate in gates {
        tickets.extend(gate.admit(request).await?);
    }
    Ok(tickets)
}

fn permit_of(tickets: Vec<Box<dyn Ticket + '_>>) -> Permit {
    Permit { releases: tickets.into_iter().filter_map(Ticket::into_release).collect() }
}
