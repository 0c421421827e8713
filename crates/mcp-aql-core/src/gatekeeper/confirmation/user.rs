//! Confirmations by the user of the caller's client.
//!
//! The answer is the caller's word. It replaces a confirmation token and never the approval of a person whom the operator
//! has chosen (REQ-AUT-16).

use mcp_aql_protocol::ErrorCode;

use super::super::confirmation_message::{MAX_QUESTION_CHARS, plain};
use super::super::request::{AuditIds, GateRequest};
use super::super::token::{STATE_CHANGED, Validity};
use super::super::token_text::TokenKind;
use super::ticket::{ConfirmationTicket, Proof};
use super::{ConfirmationGate, RequiredConfirmation, message};
use crate::clock;
use crate::concurrency::given_up;
use crate::elicitation::{AskUser, Elicitation, RepeatedCall, UserAnswer, UserQuestion};
use crate::error::OperationError;
use crate::operation::Context;
use crate::redact::redacted;

/// How often a user is asked about one call, whose effect changes while the user decides.
const MAX_QUESTIONS: usize = 3;

/// Returns whether the call carries the answer to an earlier question.
pub(super) fn has_answer(context: &Context) -> bool {
    match &context.scope().elicitation {
        Some(Elicitation::Repeating(call)) => call.answered().is_some(),
        _ => false,
    }
}

/// The reason why a user's answer does not confirm a call.
#[derive(Debug, Clone, Copy)]
enum NotConfirmed {
    Declined,
    Cancelled,
    TimedOut,
    KeptChanging,
}

impl NotConfirmed {
    /// The detail of the error.
    const fn name(self) -> &'static str {
        match self {
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::KeptChanging => "outdated",
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Declined => "the user was asked and has declined this call",
            Self::Cancelled => {
                "the user was asked and has closed the question without an answer. Make the same call again only if \
                 the user wants to be asked again"
            }
            Self::TimedOut => {
                "the user was asked and has not answered in time. Make the same call again to ask again"
            }
            Self::KeptChanging => {
                "what this call would do has changed each time the user has accepted it. Read the state before \
                 another attempt"
            }
        }
    }
}

impl ConfirmationGate {
    /// Confirms a call without a token. Asks the user of the client if that is possible, and requires a token if not.
    pub(super) async fn ask_user<'a>(
        &'a self,
        request: GateRequest<'a>,
        required: RequiredConfirmation<'a>,
    ) -> Result<ConfirmationTicket<'a>, OperationError> {
        // No client would wait for the end of a cooldown, so the caller comes back with a token.
        let has_cooldown = request.operation.spec.danger.cooldown_seconds.is_some();
        match &request.context.scope().elicitation {
            Some(Elicitation::Waiting(user)) if self.elicits && !has_cooldown => {
                self.wait_for_answer(request, required, &**user).await
            }
            Some(Elicitation::Repeating(call)) if self.elicits && !has_cooldown => {
                self.read_answer(request, required, call).await
            }
            _ => Err(self.confirmation_error(request, &required).await),
        }
    }

    /// Asks the user and waits for the answer.
    async fn wait_for_answer<'a>(
        &'a self,
        request: GateRequest<'a>,
        mut required: RequiredConfirmation<'a>,
        user: &dyn AskUser,
    ) -> Result<ConfirmationTicket<'a>, OperationError> {
        for _ in 0..MAX_QUESTIONS {
            self.count_question(request).await?;
            let question = question(request, &required);
            self.audit_question(request, &required, AuditIds::default()).await;
            let limit = self.ttl(request.danger()).to_std().unwrap_or_default();
            let answer = tokio::select! {
                biased;
                answer = tokio::time::timeout(limit, user.ask(question)) => answer,
                () = request.context.cancelled() => return Err(given_up()),
            };
            match answer {
                Ok(Some(UserAnswer::Accepted)) => {}
                Ok(Some(UserAnswer::Declined)) => {
                    return Err(self.not_confirmed(request, NotConfirmed::Declined).await);
                }
                Ok(Some(UserAnswer::Cancelled)) => {
                    return Err(self.not_confirmed(request, NotConfirmed::Cancelled).await);
                }
                Ok(None) => return Err(self.confirmation_error(request, &required).await),
                Err(_) => return Err(self.not_confirmed(request, NotConfirmed::TimedOut).await),
            }
            // The user may have taken minutes to decide.
            let preview = request.preview().await?;
            if preview.fingerprint() == required.preview.fingerprint() {
                return Ok(ConfirmationTicket::new(self, request, required, Proof::Answer));
            }
            required.preview = preview;
        }
        Err(self.not_confirmed(request, NotConfirmed::KeptChanging).await)
    }

    /// Reads the answer that a repeated call carries, or asks the client to repeat the call with one.
    async fn read_answer<'a>(
        &'a self,
        request: GateRequest<'a>,
        required: RequiredConfirmation<'a>,
        call: &'a RepeatedCall,
    ) -> Result<ConfirmationTicket<'a>, OperationError> {
        let Some((state, answer)) = call.answered() else {
            return Err(self.ask_for_repetition(request, &required, call).await);
        };
        let kind = TokenKind::Question;
        let claim = match self.tokens.claim(request, state, required.scope(request, kind)).await {
            Err(error) if error.details().contains_key(STATE_CHANGED) => {
                return Err(self.ask_for_repetition(request, &required, call).await);
            }
            claim => claim?,
        };
        let refused = match answer {
            Some(UserAnswer::Accepted) => {
                let proof = Proof::Token { kind, token: state, claim };
                return Ok(ConfirmationTicket::new(self, request, required, proof));
            }
            Some(UserAnswer::Declined) => NotConfirmed::Declined,
            Some(UserAnswer::Cancelled) => NotConfirmed::Cancelled,
            None => return Err(self.ask_for_repetition(request, &required, call).await),
        };
        // The state cannot be used again with another answer. If this write conflicts, another call has consumed it.
        self.tokens.write(vec![claim.change]).await?;
        Err(self.not_confirmed(request, refused).await)
    }

    /// Asks the client to repeat the call with the user's answer. Returns the error of this call, which the question
    /// replaces.
    async fn ask_for_repetition(
        &self,
        request: GateRequest<'_>,
        required: &RequiredConfirmation<'_>,
        call: &RepeatedCall,
    ) -> OperationError {
        let level = request.danger();
        let validity = Validity { ttl: self.ttl(level), cooldown: chrono::TimeDelta::zero() };
        let scope = required.scope(request, TokenKind::Question);
        let issued = match self.tokens.issue(request, scope, validity).await {
            Ok(issued) => issued,
            Err(error) => return error,
        };
        let ids = AuditIds { token: Some(&issued.id), challenge: None };
        self.audit_question(request, required, ids).await;
        call.ask(UserQuestion { message: question(request, required), state: issued.token });
        OperationError::new(
            ErrorCode::ConfirmationRequired,
            "This operation requires confirmation, and the user is being asked",
        )
        .with_detail("operation", request.name())
        .with_detail("danger_level", level.as_str())
        .with_detail("expires_at", clock::text(issued.expires_at))
    }

    /// Counts a question as a requested confirmation. If the caller has requested too many, the denial is audited.
    async fn count_question(&self, request: GateRequest<'_>) -> Result<(), OperationError> {
        let counted = self.tokens.issuer().count_question(request.context);
        if let Err(error) = &counted {
            request.audit_denied(&self.services.audit, error.code().as_str()).await;
        }
        counted
    }

    async fn audit_question(
        &self,
        request: GateRequest<'_>,
        required: &RequiredConfirmation<'_>,
        ids: AuditIds<'_>,
    ) {
        let reason = required.reason.or(Some("the user of the client is asked"));
        let audit = &self.services.audit;
        request.audit_with(audit, "CONFIRMATION_REQUIRED", "denied", reason, ids).await;
    }

    /// Records that the user has not confirmed the call. Returns the error for the caller.
    async fn not_confirmed(
        &self,
        request: GateRequest<'_>,
        outcome: NotConfirmed,
    ) -> OperationError {
        let error = OperationError::permission_denied(outcome.reason())
            .with_detail("operation", request.name())
            .with_detail("danger_level", request.danger().as_str())
            .with_detail("user_answer", outcome.name());
        request.audit_denied(&self.services.audit, outcome.reason()).await;
        error
    }
}

/// The text that the user sees: what the call would do, why it must be confirmed, and which operation it is.
fn question(request: GateRequest<'_>, required: &RequiredConfirmation<'_>) -> String {
    let GateRequest { operation, arguments, shapes, .. } = request;
    let spec = &operation.spec;
    let mut text = message(request, required).unwrap_or_else(|| {
        let params = redacted(&operation.parameters, arguments, shapes);
        plain(&format!("Run {} with {params}?", spec.name), MAX_QUESTION_CHARS)
    });
    for reason in spec.danger.reasons.iter().copied().chain(required.reason) {
        text.push('\n');
        text.push_str(reason);
    }
    let level = request.danger();
    text + &format!("\n({}, {level})", spec.name)
}
