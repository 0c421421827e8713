//! The way of a request through an adapter: decode → route → validate → admit → run → reply. Each stage takes
//! a type that only the stage before creates. [`Pipeline::handle`] and [`Pipeline::call`] show all stages in
//! order.

mod admit;
mod batch;
mod call_log;
mod decode;
mod execution_calls;
mod execution_start;
mod observe;
mod permit;
mod reply;
mod route;
mod run;
mod scanned;
mod validate;

use std::sync::Arc;

use mcp_aql_protocol::Limits;

use crate::access::AccessRules;
use crate::catalog::{Catalog, Views};
use crate::concurrency::ConcurrencyLimit;
use crate::execution::Executions;
use crate::future::erased;
use crate::gatekeeper::Gatekeeper;
use crate::observers::Observers;
use crate::operation::{CallScope, Context, Outcome, StateMap, UpstreamMemory, UsageRecorder};
use crate::paging::CursorKey;
use crate::request::{Arguments, OperationInput, Request};
use crate::response::Reply;
use crate::router::Endpoint;
use crate::services::Services;
use crate::vocab::{ReplyForm, ReplyLimits};
use observe::within_span;
use reply::introspects;
use run::record_usage;
pub(crate) use scanned::Scanned;
use tracing::Instrument as _;
use validate::ValidCall;

/// The stages of a call with everything that they use. It does not change after the adapter is built.
pub(crate) struct Pipeline {
    pub(crate) settings: CallSettings,
    pub(crate) catalog: Arc<Catalog>,
    /// The operations that a principal may call, with their descriptions.
    pub(crate) views: Views,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) executions: Executions,
    pub(crate) concurrency: Arc<ConcurrencyLimit>,
    pub(crate) states: Arc<StateMap>,
    pub(crate) services: Arc<Services>,
    /// The functions of the author that learn of every call.
    pub(crate) observers: Observers,
    /// Counts the usage that operations report.
    pub(crate) usage: Option<Arc<dyn UsageRecorder>>,
    /// Stores the limits that wrapped APIs report.
    pub(crate) upstream: Option<Arc<dyn UpstreamMemory>>,
}

/// The settings that the stages read.
pub(crate) struct CallSettings {
    pub(crate) limits: Limits,
    pub(crate) batch: bool,
    pub(crate) strict: bool,
    pub(crate) camel_case_aliases: bool,
    pub(crate) json_texts: bool,
    pub(crate) session_id_in_errors: bool,
    pub(crate) cursor_key: CursorKey,
    pub(crate) access: AccessRules,
}

impl Pipeline {
    /// Takes a request from its arguments to its reply.
    pub(crate) async fn handle(
        &self,
        endpoint: Endpoint,
        arguments: Arguments,
        mut scope: CallScope,
        form: ReplyForm,
    ) -> Reply {
        scope.request_bytes = arguments.bytes.or(scope.request_bytes);
        match self.decode(arguments) {
            Ok(Request::One(input)) => self.handle_one(input, endpoint, scope, form).await,
            // Boxed, so that the future of a single call stays small.
            Ok(Request::Batch(items)) => erased(self.call_batch(items, endpoint, scope)).await,
            Err(refused) => self.reply_to_refused(refused, &scope),
        }
    }

    /// Takes a request of one operation from its parameters to its reply.
    pub(crate) async fn handle_one(
        &self,
        input: OperationInput,
        endpoint: Endpoint,
        scope: CallScope,
        form: ReplyForm,
    ) -> Reply {
        let introspects = introspects(&input.operation);
        let context = Context::of_call(scope, self.upstream.clone());
        let observation = self.observe(&input.operation, &context);
        let limits = ReplyLimits::new(&self.settings.limits).in_form(form);
        let call = std::pin::pin!(self.call(input, endpoint, &context, limits));
        let outcome = within_span(observation.observed(), call).await;
        self.reply(outcome, introspects, &context, form, observation)
    }

    /// Takes one operation of a request through the stages between decoding and the reply.
    fn call<'a>(
        &'a self,
        input: OperationInput,
        endpoint: Endpoint,
        context: &'a Context,
        limits: ReplyLimits,
    ) -> impl Future<Output = Outcome> + Send + 'a {
        let routed = self.route(input, endpoint, context.scope());
        async move {
            let routed = routed?;
            let span = call_log::span(routed.operation, context.scope());
            let stages = std::pin::pin!(async {
                self.permit(routed.operation, context.scope()).await?;
                let valid = self.validate(routed, context.scope())?;
                self.admit_and_run(valid, context, limits).await
            });
            stages.instrument(span).await
        }
    }

    /// Takes a valid call through the stages between validation and the reply.
    async fn admit_and_run(
        &self,
        valid: ValidCall<'_>,
        context: &Context,
        limits: ReplyLimits,
    ) -> Outcome {
        let admitted = self.admit(valid, context, None).await?;
        let outcome = self.run(admitted, context, limits).await;
        record_usage(self.usage.as_deref(), context).await;
        outcome
    }
}
