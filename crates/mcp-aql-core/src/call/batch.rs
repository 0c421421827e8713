//! Runs the items of a batch through the stages, one after the other.

use mcp_aql_protocol::ErrorCode;

use super::Pipeline;
use crate::caller::elicitation::Elicitation;
use crate::error::OperationError;
use crate::error::warning::Warnings;
use crate::gatekeeper::USER_ANSWER;
use crate::operation::{CallScope, Context};
use crate::request::{InvalidRequest, Request};
use crate::response::{BatchReply, Reply};
use crate::router::Endpoint;
use crate::vocab::{ReplyForm, ReplyLimits};

/// Codes that halt a batch. The item has not failed, but a person must agree first, and later items may depend on it.
const HALTING: [ErrorCode; 2] = [ErrorCode::ConfirmationRequired, ErrorCode::RateLimitQuotaPause];

impl Pipeline {
    /// Runs the items of a batch in order and independently (REQ-BAT-02, REQ-BAT-05). Stops at the first item that
    /// requires a confirmation (REQ-BAT-08).
    pub(super) async fn call_batch(
        &self,
        items: Vec<Result<Request<'static>, InvalidRequest>>,
        endpoint: Endpoint,
        mut scope: CallScope,
    ) -> Reply {
        // A repeating client would send the whole batch again with the user's answer, and run its first items twice.
        scope.elicitation.take_if(|it| matches!(it, Elicitation::Repeating(_)));
        let limits = &self.settings.limits;
        let mut batch = BatchReply::new(limits, items.len());
        let mut warnings = Warnings::default();
        let mut items = items.into_iter();
        while let Some(item) = items.next() {
            let name = match &item {
                Ok(request) => &*request.operation,
                Err(refused) => &*refused.operation,
            };
            let operation = match self.catalog.registry.index_of(name) {
                Some(_) => name.to_owned(),
                None => crate::text::shorten(name),
            };
            if batch.is_full() {
                batch.push_not_run(&operation);
                continue;
            }
            let context = Context::of_call(scope.clone(), self.upstream.clone());
            let item_limits =
                ReplyLimits::new(limits).of_item(batch.remaining_bytes(), batch.budget());
            let call = match item {
                Ok(request) => self.read(request, endpoint, &scope),
                Err(refused) => self.refused(refused),
            };
            let called = std::pin::pin!(self.admit_and_run(call, &context, item_limits)).await;
            if called.outcome.is_ok() {
                // The reply to the batch contains the warnings of all items.
                warnings.extend(context.take_warnings());
            }
            // Stop after a user has not agreed, because later items may depend on this one.
            let was_asked = |error: &OperationError| error.details().contains_key(USER_ANSWER);
            let halts = called.outcome.as_ref().is_err_and(was_asked);
            let reply = self.reply(called, &context, ReplyForm::Plain);
            if halts || reply.code.is_some_and(|code| HALTING.contains(&code)) {
                return batch.halt(&operation, &reply, items);
            }
            batch.push(&operation, &reply);
        }
        batch.finish(&warnings.into_vec())
    }
}
