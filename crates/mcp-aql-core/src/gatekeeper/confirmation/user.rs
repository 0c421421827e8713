//! Confirmations by the user of the caller's client.
//!
//! The client could forge the answer. It therefore only replaces a confirmation token, never the approval of a person
//! chosen by the operator (REQ-AUT-16).

use mcp_aql_protocol::ErrorCode;

use super::super::confirmation_message;
use super::super::gate::{AuditIds, GateRequest};
use super::super::token::{STATE_CHANGED, Validity};
use super::super::token_text::TokenKind;
use super::ticket::{ConfirmationTicket, Proof};
use super::{ConfirmationGate, RequiredConfirmation, message};
use crate::caller::elicitation::{AskUser, Elicitation, RepeatedCall, UserAnswer, UserQuestion};
use crate::error::OperationError;
use crate::execution::concurrency::given_up;
use crate::observe::audit::{ConfirmationStep, ConfirmedBy};
use crate::util::clock;

/// Detail of the error for a call not confirmed by the user.
pub(crate) const USER_ANSWER: &str = "user_answer";

/// Maximum number of questions about one call. A question is repeated if the call's effects change while the user
/// decides.
const MAX_QUESTIONS: usize = 3;

/// Why a user's answer does not confirm a call.
#[derive(Debug, Clone, Copy)]
enum NotConfirmed {
    Declined,
    Cancelled,
    TimedOut,
    KeptChanging,
}

impl NotConfirmed {
    /// Returns the value for the detail [`USER_ANSWER`].
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
                "the effect of this call has changed each time the user has accepted it. Read the state \
                 before you try again"
            }
        }
    }
}

impl ConfirmationGate {
    /// Returns how the user can be asked about this call. `None` if this is impossible or disabled.
    fn elicitation<'a>(&self, request: GateRequest<'a>) -> Option<&'a Elicitation> {
        // No client waits for the end of a cooldown, so such a call always needs a token.
        let has_cooldown = request.operation.spec.danger.cooldown_seconds.is_some();
        let elicitation = request.context.scope().elicitation.as_ref();
        elicitation.filter(|_| self.elicits && !has_cooldown)
    }

    /// Returns the state of an earlier question and the user's answer, if this call repeats the earlier one.
    pub(super) fn answer_of<'a>(&self, request: GateRequest<'a>) -> Option<(&'a str, UserAnswer)> {
        match self.elicitation(request)? {
            Elicitation::Repeating(call) => call.answered(),
            Elicitation::Waiting(_) => None,
        }
    }

    /// Confirms a call without a token. Asks the user of the client if possible, and otherwise requires a token.
    pub(super) async fn ask_user<'a>(
        &'a self,
        request: GateRequest<'a>,
        required: RequiredConfirmation<'a>,
    ) -> Result<ConfirmationTicket<'a>, OperationError> {
        match self.elicitation(request) {
            Some(Elicitation::Waiting(user)) => {
                self.wait_for_answer(request, required, &**user).await
            }
            Some(Elicitation::Repeating(call)) => self.read_answer(request, required, call).await,
            None => Err(self.confirmation_error(request, &required).await),
        }
    }

    /// Asks the user and waits for the answer. Asks again if the effects of the call have changed in the meantime.
    async fn wait_for_answer<'a>(
        &'a self,
        request: GateRequest<'a>,
        mut required: RequiredConfirmation<'a>,
        user: &dyn AskUser,
    ) -> Result<ConfirmationTicket<'a>, OperationError> {
        for _ in 0..MAX_QUESTIONS {
            let generation = self.tokens.issuer().generation();
            match self.ask_once(request, &required, user).await? {
                Ok(()) => {}
                Err(outcome) => {
                    return Err(self.not_confirmed(request, outcome, AuditIds::default()).await);
                }
            }
            // The user may have taken minutes to decide. An agent may be executing in the session by now.
            if let Some(person) = self.approver_for(request, false).await? {
                return Err(self.approval_error(request, &required, person).await);
            }
            let preview = request.preview().await?;
            let is_same = preview.fingerprint() == required.preview.fingerprint();
            if is_same && generation == self.tokens.issuer().generation() {
                return Ok(ConfirmationTicket::new(
                    self,
                    request,
                    required,
                    Proof::Answer { generation },
                ));
            }
            required.preview = preview;
        }
        Err(self.outdated(request).await)
    }

    /// Returns the error for a call whose acceptance is no longer valid.
    pub(super) async fn outdated(&self, request: GateRequest<'_>) -> OperationError {
        self.not_confirmed(request, NotConfirmed::KeptChanging, AuditIds::default()).await
    }

    /// Asks the user once. The inner result contains the user's decision. The outer error is for a client that cannot
    /// ask or has canceled the call.
    async fn ask_once(
        &self,
        request: GateRequest<'_>,
        required: &RequiredConfirmation<'_>,
        user: &dyn AskUser,
    ) -> Result<Result<(), NotConfirmed>, OperationError> {
        self.count_question(request).await?;
        self.audit_question(request, AuditIds::default()).await;
        let limit = self.ttl(request.danger()).to_std().unwrap_or_default();
        let asked = user.ask(question(request, required));
        let answer = tokio::select! {
            biased;
            answer = tokio::time::timeout(limit, asked) => answer,
            () = request.context.cancelled() => {
                request.audit_denied(&self.services.audit, "the caller has cancelled the call").await;
                return Err(given_up());
            }
        };
        Ok(match answer {
            Ok(Some(UserAnswer::Accepted)) => Ok(()),
            Ok(Some(UserAnswer::Declined)) => Err(NotConfirmed::Declined),
            Ok(Some(UserAnswer::Cancelled)) => Err(NotConfirmed::Cancelled),
            Ok(None) => {
                self.tokens.issuer().uncount_question(request.context);
                return Err(self.confirmation_error(request, required).await);
            }
            Err(_) => Err(NotConfirmed::TimedOut),
        })
    }

    /// Reads the answer of a repeated call, or asks the client to repeat the call with an answer.
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
        let claim =
            match self.tokens.claim(request, state, required.token_scope(request, kind)).await {
                Err(error) if error.details().contains_key(STATE_CHANGED) => {
                    return Err(self.ask_for_repetition(request, &required, call).await);
                }
                claim => claim?,
            };
        let refused = match answer {
            UserAnswer::Accepted => {
                let proof = Proof::Token { kind, token: state, claim };
                return Ok(ConfirmationTicket::new(self, request, required, proof));
            }
            UserAnswer::Declined => NotConfirmed::Declined,
            UserAnswer::Cancelled => NotConfirmed::Cancelled,
        };
        // Consume the state, so that it cannot be used again with another answer. If this write conflicts, another call
        // has consumed it.
        if self.tokens.write(vec![claim.change.clone()]).await? {
            self.tokens.audit_claimed(&claim).await;
        }
        let ids = AuditIds { token: claim.confirmation_id(), ..AuditIds::default() };
        Err(self.not_confirmed(request, refused, ids).await)
    }

    /// Asks the client to repeat the call with the user's answer. Returns the error of this call. The client receives
    /// the question instead.
    async fn ask_for_repetition(
        &self,
        request: GateRequest<'_>,
        required: &RequiredConfirmation<'_>,
        call: &RepeatedCall,
    ) -> OperationError {
        let level = request.danger();
        let validity = Validity { ttl: self.ttl(level), cooldown: chrono::TimeDelta::zero() };
        let scope = required.token_scope(request, TokenKind::Question);
        let issued = match self.tokens.issue(request, scope, validity).await {
            Ok(issued) => issued,
            Err(error) => return error,
        };
        let ids = AuditIds { token: Some(&issued.id), ..AuditIds::default() };
        self.audit_question(request, ids).await;
        call.ask(UserQuestion { message: question(request, required), state: issued.token });
        OperationError::new(
            ErrorCode::ConfirmationRequired,
            "This operation requires confirmation, and the user is being asked",
        )
        .with_detail("operation", request.name())
        .with_detail("danger_level", level.as_str())
        .with_detail("expires_at", clock::text(issued.expires_at))
    }

    /// Counts a question as a requested confirmation. If the caller has requested too many, the call is rejected and
    /// audited.
    async fn count_question(&self, request: GateRequest<'_>) -> Result<(), OperationError> {
        let counted = self.tokens.issuer().count_question(request.context);
        if let Err(error) = &counted {
            request.audit_denied(&self.services.audit, error.code().as_str()).await;
        }
        counted
    }

    async fn audit_question(&self, request: GateRequest<'_>, mut ids: AuditIds<'_>) {
        ids.confirmation = Some(ConfirmedBy::User.has(ConfirmationStep::Asked));
        let (audit, reason) = (&self.services.audit, Some("the user of the client is asked"));
        request.audit_with(audit, "CONFIRMATION_REQUIRED", "denied", reason, ids).await;
    }

    /// Records that the user has not confirmed the call. Returns the error for the caller.
    async fn not_confirmed(
        &self,
        request: GateRequest<'_>,
        outcome: NotConfirmed,
        mut ids: AuditIds<'_>,
    ) -> OperationError {
        ids.confirmation = Some(ConfirmedBy::User.has(ConfirmationStep::Refused));
        let (audit, reason) = (&self.services.audit, Some(outcome.reason()));
        request.audit_with(audit, "OPERATION_DENIED", "denied", reason, ids).await;
        OperationError::permission_denied(outcome.reason())
            .with_detail("operation", request.name())
            .with_detail("danger_level", request.danger().as_str())
            .with_detail(USER_ANSWER, outcome.name())
    }
}

/// Returns the question for the user:
///
/// ```text
/// Delete note 'n-7'?
/// the note cannot be restored
/// This also covers other calls of delete_note in this session for 600 seconds
/// (delete_note, destructive)
/// ```
fn question(request: GateRequest<'_>, required: &RequiredConfirmation<'_>) -> String {
    let GateRequest { operation, arguments, shapes, .. } = request;
    let spec = &operation.spec;
    let mut lines = vec![];
    match message(request, required) {
        Some(message) => lines.push(message),
        None => {
            lines.push(format!("Run {}?", spec.name));
            lines.extend(confirmation_message::values(&operation.parameters, arguments, shapes));
        }
    }
    lines.extend(spec.danger.reasons.iter().copied().chain(required.reason).map(str::to_owned));
    if let Some(time) = required.session {
        let seconds = clock::whole_seconds(time);
        lines.push(format!(
            "This also covers other calls of {} in this session for {seconds} seconds",
            spec.name
        ));
    }
    lines.push(format!("({}, {})", spec.name, request.danger()));
    lines.join("\n")
}
