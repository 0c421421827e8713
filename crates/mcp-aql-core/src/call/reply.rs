//! Reply: turns the outcome of a call into text within the response limit.

use mcp_aql_protocol::ErrorCode;

use super::observe::Observation;
use super::{Called, Pipeline};
use crate::caller::elicitation::Elicitation;
use crate::error::OperationError;
use crate::introspection;
use crate::operation::{CallScope, Context, Outcome};
use crate::request::{Refused, too_large};
use crate::response::Reply;
use crate::vocab::ReplyForm;

/// Whether a call is for `introspect`, whichever stage rejects it.
pub(super) fn introspects(operation: &str) -> bool {
    operation == introspection::SPEC.name
}

impl Pipeline {
    /// The reply to a call, with the warnings of its context. Completes the observation of the call.
    pub(super) fn reply(&self, called: Called<'_>, context: &Context, form: ReplyForm) -> Reply {
        let Called { outcome, introspects, mut observation } = called;
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
                let mut reply = self.failure(self.labelled(error, introspects, scope), form);
                if let Some(Elicitation::Repeating(call)) = &scope.elicitation {
                    reply.question = call.take_question().map(Box::new);
                }
                reply
            }
        }
    }

    /// The reply to a request that could not be read.
    pub(crate) fn reply_to_unreadable(&self, error: OperationError, scope: &CallScope) -> Reply {
        let context = || Context::new(scope.clone());
        let mut observation = Observation::begin(&self.observers, None, context);
        observation.failed(&error, &self.observers, context);
        let reply = self.unobserved_failure(error, scope);
        observation.replied(&reply);
        reply
    }

    /// A failure that observers do not see.
    pub(crate) fn unobserved_failure(&self, error: OperationError, scope: &CallScope) -> Reply {
        self.failure(self.labelled(error, false, scope), ReplyForm::Plain)
    }

    /// The reply to a request that was not decoded.
    pub(super) fn reply_to_refused(&self, refused: Refused, scope: &CallScope) -> Reply {
        let Refused { operation, error, batch, .. } = refused;
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
        // The failure of a whole batch has only a code and a message (REQ-BAT-06). The numbers of an
        // exceeded limit take precedence (REQ-ENC-13).
        if batch && error.code() != ErrorCode::ValidationPayloadTooLarge {
            return self.failure(error.without_details(), ReplyForm::Plain);
        }
        self.failure(self.labelled(error, introspects(operation), scope), ReplyForm::Plain)
    }

    /// Limits the size of a reply including its warnings (REQ-ENC-09). The error states that the operation
    /// has already run.
    pub(super) fn bounded(&self, reply: Reply, introspects: bool, scope: &CallScope) -> Reply {
        let limit = self.settings.limits.max_response_size;
        if reply.text.len() <= limit {
            return reply;
        }
        let error = too_large("response_size", limit, reply.text.len(), "bytes")
            .with_detail("operation_ran", true);
        self.failure(self.labelled(error, introspects, scope), ReplyForm::Plain)
    }

    /// A failure within the response limit (REQ-ENC-09).
    fn failure(&self, error: OperationError, form: ReplyForm) -> Reply {
        let fits = |reply: &Reply| reply.text.len() <= self.settings.limits.max_response_size;
        if form == ReplyForm::Quoted {
            let reply = Reply::quoted_failure(&error);
            if fits(&reply) {
                return reply;
            }
        }
        // Only the plain form shows whether a long error exceeds the limit.
        let reply = Reply::failure(&error);
        if fits(&reply) { reply } else { Reply::failure(&error.shortened()) }
    }

    /// Adds the session's id to an error, so that it can be found in the log (REQ-SES-06, choice C-36).
    /// Failures of `introspect` have no details, whichever stage rejects the call (REQ-INT-28).
    fn labelled(
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
