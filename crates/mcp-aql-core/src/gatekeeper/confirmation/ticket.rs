//! The ticket of a confirmed call. It consumes the call's token or approval.

use super::super::gate::{AuditIds, GateRequest, Ticket};
use super::super::token::TokenClaim;
use super::super::token_text::TokenKind;
use super::{ConfirmationGate, RequiredConfirmation};
use crate::error::OperationError;
use crate::gatekeeper::approvals::{ApprovalClaim, Approvals};
use crate::observe::audit::{ConfirmationStep, ConfirmedBy};
use crate::store::Change;
use crate::util::BoxFuture;

/// A confirmation to be consumed before the call runs (REQ-TOK-07, REQ-TOK-10).
pub(super) struct ConfirmationTicket<'a> {
    gate: &'a ConfirmationGate,
    request: GateRequest<'a>,
    required: RequiredConfirmation<'a>,
    proof: Proof<'a>,
    /// If `true`, the claim was part of a write that conflicted with another one, so the claim is outdated.
    is_used: bool,
}

/// Proves that a call is confirmed.
pub(super) enum Proof<'a> {
    /// A token of the caller, or the state of a question accepted by the user.
    Token {
        /// Purpose of the token.
        kind: TokenKind,
        /// The token.
        token: &'a str,
        /// The change that consumes it.
        claim: TokenClaim,
    },
    /// The answer of the user, received while the call was waiting.
    Answer {
        /// The generation of confirmations in which the user was asked. Revoking all confirmations starts a new one.
        generation: u64,
    },
    /// The approval of a person.
    Approval {
        /// The approvals.
        person: &'a dyn Approvals,
        /// The change that consumes the approval.
        claim: ApprovalClaim,
    },
}

impl<'a> ConfirmationTicket<'a> {
    pub(super) fn new(
        gate: &'a ConfirmationGate,
        request: GateRequest<'a>,
        required: RequiredConfirmation<'a>,
        proof: Proof<'a>,
    ) -> Self {
        Self { gate, request, required, proof, is_used: false }
    }

    /// Claims the token or the approval again after the store has changed.
    async fn claim_again(&mut self) -> Result<(), OperationError> {
        let (gate, request, required) = (self.gate, self.request, &self.required);
        match &mut self.proof {
            Proof::Answer { .. } => {}
            Proof::Token { kind, token, claim } => {
                let scope = required.token_scope(request, *kind);
                *claim = gate.tokens.claim(request, token, scope).await?;
            }
            // If a concurrent call has consumed the approval, another one is requested.
            Proof::Approval { person, claim } => {
                *claim = gate.claim_approval(request, required, *person).await?;
            }
        }
        Ok(())
    }

    async fn finish(&self) {
        let (gate, request, required) = (self.gate, self.request, &self.required);
        let mut ids = match &self.proof {
            Proof::Answer { .. } => AuditIds::default(),
            Proof::Token { claim, .. } => {
                gate.tokens.audit_claimed(claim).await;
                AuditIds { token: claim.confirmation_id(), ..AuditIds::default() }
            }
            Proof::Approval { claim, .. } => AuditIds {
                challenge: Some(&claim.request_id),
                decided_by: claim.decided_by.as_deref(),
                operator: claim.operator.as_deref(),
                ..AuditIds::default()
            },
        };
        if let Some(time) = required.session {
            let by_person = matches!(self.proof, Proof::Approval { .. });
            let covered = (required.policies.as_slice(), by_person);
            gate.tokens.issuer().grant(request.context, request.name(), covered, time);
        }
        let audit = &gate.services.audit;
        let reason = match &self.proof {
            Proof::Answer { .. } | Proof::Token { kind: TokenKind::Question, .. } => {
                ids.confirmation = Some(ConfirmedBy::User.has(ConfirmationStep::Approved));
                Some("the user of the client has accepted")
            }
            _ => None,
        };
        request.audit_with(audit, "CONFIRMATION_GRANTED", "confirmed", reason, ids).await;
    }
}

impl Ticket for ConfirmationTicket<'_> {
    fn changes(&mut self) -> BoxFuture<'_, Result<Vec<Change>, OperationError>> {
        Box::pin(async move {
            if std::mem::replace(&mut self.is_used, true) {
                self.claim_again().await?;
            }
            Ok(match &self.proof {
                // All confirmations were revoked while the other gates examined the call again.
                Proof::Answer { generation }
                    if *generation != self.gate.tokens.issuer().generation() =>
                {
                    return Err(self.gate.outdated(self.request).await);
                }
                Proof::Answer { .. } => Vec::new(),
                Proof::Token { claim, .. } => vec![claim.change.clone()],
                Proof::Approval { claim, .. } => vec![claim.change.clone()],
            })
        })
    }

    fn has_waited(&self) -> bool {
        matches!(self.proof, Proof::Answer { .. })
    }

    fn complete(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.finish())
    }
}
