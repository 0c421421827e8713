//! Reply: serializes the outcome of a call as JSON within the response limit.

use mcp_aql_protocol::ErrorCode;

use super::observe::Observation;
use super::{FinishedCall, Pipeline};
use crate::caller::elicitation::Elicitation;
use crate::error::OperationError;
use crate::introspection;
use crate::operation::{CallScope, Context, Outcome};
use crate::request::{InvalidRequest, too_large};
use crate::response::Reply;
use crate::vocab::ReplyForm;

/// Returns `true` if a call names `introspect`. Any stage can reject such a call.
pub(super) fn introspects(operation: &str) -> bool {
    operation == introspection::SPEC.name
}

impl Pipeline {
    /// Builds the reply to a call, with the warnings of its context. Completes the observation of the call.
    pub(super) fn reply(
        &self,
        called: FinishedCall<'_>,
        context: &Context,
        form: ReplyForm,
    ) -> Reply {
        let FinishedCall { outcome, introspects, mut observation } = called;
        if let Err(error) = &outcome {
            observation.failed(error, &self.observers, || context.clone());
        }
        let reply = self.unobserved_reply(outcome, introspects, context, form);
        observation.replied(&reply);
        reply
    }

    fn unobserved_reply(
        &self,
        outcome: Outcome,
        introspects: bool,
        context: &Context,
        form: ReplyForm,
    ) -> Reply {
        let scope = context.scope();
        match outcome {
            Ok(payload) => {
                let reply = Reply::success(payload, &context.take_warnings().into_vec());
                self.bounded(reply, introspects, scope)
            }
            Err(error) => {
                let mut reply = self.failure(self.labeled(error, introspects, scope), form);
                if let Some(Elicitation::Repeating(call)) = &scope.elicitation {
                    reply.question = call.take_question().map(Box::new);
                }
                reply
            }
        }
    }

    /// Builds the reply to a request that cannot be parsed.
    pub(crate) fn reply_to_unreadable(&self, error: OperationError, scope: &CallScope) -> Reply {
        let context = || Context::new(scope.clone());
        let mut observation = Observation::begin(&self.observers, None, context);
        observation.failed(&error, &self.observers, context);
        let reply = self.unobserved_failure(error, scope);
        observation.replied(&reply);
        reply
    }

    /// Builds the reply for an error without reporting it to observers.
    pub(crate) fn unobserved_failure(&self, error: OperationError, scope: &CallScope) -> Reply {
        self.failure(self.labeled(error, false, scope), ReplyForm::Plain)
    }

    /// Builds the reply to a JSON value without a valid request.
    pub(super) fn reply_to_invalid(&self, request: InvalidRequest, scope: &CallScope) -> Reply {
        let InvalidRequest { operation, error, batch, .. } = request;
        let context = || Context::new(scope.clone());
        let observation = Observation::begin(&self.observers, self.spec_of(&operation), context);
        let reply = self.refusal(&operation, error, batch, scope);
        observation.replied(&reply);
        reply
    }

    fn refusal(
        &self,
        operation: &str,
        error: OperationError,
        batch: bool,
        scope: &CallScope,
    ) -> Reply {
        // The error for a whole batch contains only a code and a message (REQ-BAT-06). An exceeded limit is an
        // exception: its numbers must be reported (REQ-ENC-13).
        if batch && error.code() != ErrorCode::ValidationPayloadTooLarge {
            return self.failure(error.without_details(), ReplyForm::Plain);
        }
        self.failure(self.labeled(error, introspects(operation), scope), ReplyForm::Plain)
    }

    /// Replaces a reply that exceeds the size limit with its warnings (REQ-ENC-09). The error states that the operation
    /// has already run.
    pub(super) fn bounded(&self, reply: Reply, introspects: bool, scope: &CallScope) -> Reply {
        let limit = self.settings.limits.max_response_size;
        if reply.text.len() <= limit {
            return reply;
        }
        let error = too_large("response_size", limit, reply.text.len(), "bytes")
            .with_detail("operation_ran", true);
        self.failure(self.labeled(error, introspects, scope), ReplyForm::Plain)
    }

    /// Serializes an error within the response limit (REQ-ENC-09).
    fn failure(&self, error: OperationError, form: ReplyForm) -> Reply {
        let fits = |reply: &Reply| reply.text.len() <= self.settings.limits.max_response_size;
        if form == ReplyForm::Quoted {
            let reply = Reply::quoted_failure(&error);
            if fits(&reply) {
                return reply;
            }
        }
        // Quoting changes the length, so only the plain form shows whether the error exceeds the limit.
        let reply = Reply::failure(&error);
        if fits(&reply) { reply } else { Reply::failure(&error.shortened()) }
    }

    /// Adds the session's id to an error, so that you can find the call in the log (REQ-SES-06, choice C-36). Errors of
    /// `introspect` have no details, no matter which stage rejects the call (REQ-INT-28).
    fn labeled(
        &self,
        error: OperationError,
        introspects: bool,
        scope: &CallScope,
    ) -> OperationError {
        match &scope.session {
            _ if introspects => error.without_details(),
            Some(session) if self.settings.session_id_in_errors => {
                error.with_detail("session_id", session.id())
            }
            _ => error,
        }
    }
}
