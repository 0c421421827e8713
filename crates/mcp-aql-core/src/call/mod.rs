//! The call pipeline: decode → route → permit → validate → admit → run → reply.
//!
//! The arguments of a call are often borrowed from the buffer of a connection, so the stages that read them come first and
//! do not wait ([`Pipeline::receive`]). The future that runs the call owns what they found ([`Pipeline::handle`]). Each call
//! passes through [`Pipeline::read`] and [`Pipeline::call`]: one of its own, an item of a batch, and `introspect`.

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
mod validate;
pub(crate) mod validation;

use std::sync::Arc;

use mcp_aql_protocol::SizeLimits;

use crate::config::access::AccessRules;
use crate::error::OperationError;
use crate::execution::Executions;
use crate::execution::concurrency::ConcurrencyLimit;
use crate::gatekeeper::{GatedOperation, Gatekeeper};
use crate::introspection::catalog::{Catalog, Views};
use crate::observe::observers::Observers;
use crate::operation::{CallScope, Context, Outcome, StateMap, UpstreamMemory, UsageRecorder};
use crate::paging::CursorKey;
use crate::request::{Content, Decoded, Refused, Request};
use crate::response::Reply;
use crate::router::Endpoint;
use crate::services::Services;
use crate::util::future::erased;
use crate::vocab::{ReplyForm, ReplyLimits};
use decode::Undecoded;
use observe::{Observation, within_span};
use reply::introspects;
use run::record_usage;
use tracing::Instrument as _;
use validate::{ValidCall, resolve_names};

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
    pub(crate) limits: SizeLimits,
    pub(crate) batch: bool,
    pub(crate) strict: bool,
    pub(crate) camel_case_aliases: bool,
    pub(crate) json_texts: bool,
    pub(crate) session_id_in_errors: bool,
    pub(crate) cursor_key: CursorKey,
    pub(crate) access: AccessRules,
}

/// The arguments of a tool call, as the first stages have read them.
pub(crate) enum Received {
    One(ReadCall),
    Batch(Vec<Result<Request<'static>, Refused>>),
    Undecoded(Undecoded),
}

/// A call after the stages that read its arguments.
pub(crate) struct ReadCall {
    /// The index of the operation with this name, which the endpoint may not offer.
    operation: Option<usize>,
    introspects: bool,
    /// The index of the operation, unless it was not routed, and its valid arguments, unless the call was rejected.
    routed: Result<(usize, Result<ValidCall, Rejection>), OperationError>,
}

/// The reason why a routed call does not reach the gates.
enum Rejection {
    /// The caller lacks the permission.
    Denied(OperationError),
    /// The parameters are invalid.
    Invalid(OperationError),
}

/// The outcome of a call that has not been replied to.
struct Called<'a> {
    outcome: Outcome,
    introspects: bool,
    observation: Observation<'a>,
}

impl Received {
    /// The index of the operation among the entries of the registry, if it is one call of an operation that the endpoint
    /// offers.
    pub(crate) fn operation(&self) -> Option<usize> {
        match self {
            Self::One(ReadCall { routed: Ok((index, _)), .. }) => Some(*index),
            _ => None,
        }
    }
}

impl Pipeline {
    /// Decodes the arguments of a tool call, and reads the call if it is not a batch.
    pub(crate) fn receive(
        &self,
        endpoint: Endpoint,
        arguments: Content<'_>,
        scope: &CallScope,
    ) -> Received {
        match self.decode(arguments) {
            Ok(Decoded::One(request)) => Received::One(self.read(request, endpoint, scope)),
            Ok(Decoded::Batch(items)) => Received::Batch(items),
            Err(undecoded) => Received::Undecoded(undecoded),
        }
    }

    /// Runs what was received in the context of the call, and builds the reply.
    pub(crate) async fn handle(
        &self,
        received: Received,
        endpoint: Endpoint,
        context: Context,
        form: ReplyForm,
    ) -> Reply {
        match received {
            Received::One(call) => {
                let limits = ReplyLimits::new(&self.settings.limits).in_form(form);
                let called = self.call(call, &context, limits).await;
                self.reply(called, &context, form)
            }
            // Boxed, so that the future of a single call stays small.
            Received::Batch(items) => {
                erased(self.call_batch(items, endpoint, context.scope().clone())).await
            }
            Received::Undecoded(Undecoded::Refused(refused)) => {
                self.reply_to_refused(refused, context.scope())
            }
            Received::Undecoded(Undecoded::Unreadable(error)) => {
                self.reply_to_unreadable(error, context.scope())
            }
        }
    }

    /// Takes a call through the stages that read its arguments: route → permit → validate.
    fn read(&self, request: Request<'_>, endpoint: Endpoint, scope: &CallScope) -> ReadCall {
        let Request { operation: name, mut params, mut credentials } = request;
        let routed = self.route(&name, endpoint, scope).and_then(|index| {
            let operation = self.operation(index)?;
            resolve_names(operation, &mut params, &mut credentials);
            let valid = self.permit(operation, scope).map_err(Rejection::Denied).and_then(|()| {
                let valid = self.validate(operation, params, credentials, scope);
                valid.map_err(Rejection::Invalid)
            });
            Ok((index, valid))
        });
        let operation = match &routed {
            Ok((index, _)) => Some(*index),
            Err(_) => self.catalog.registry.place_of(&name),
        };
        ReadCall { operation, introspects: introspects(&name), routed }
    }

    /// Turns an invalid item of a batch into a call which was not routed.
    fn refused(&self, refused: Refused) -> ReadCall {
        let Refused { operation, error, .. } = refused;
        ReadCall {
            operation: self.catalog.registry.place_of(&operation),
            introspects: introspects(&operation),
            routed: Err(error),
        }
    }

    /// Takes a call through the stages that follow: admit → run. The audit records a call that was denied.
    async fn call<'a>(
        &'a self,
        call: ReadCall,
        context: &Context,
        limits: ReplyLimits,
    ) -> Called<'a> {
        let ReadCall { operation, introspects, routed } = call;
        let spec = operation.and_then(|index| Some(&self.operation(index).ok()?.spec));
        let observation = Observation::begin(&self.observers, spec, || context.clone());
        let stages = std::pin::pin!(async {
            let (index, valid) = routed?;
            let operation = self.operation(index)?;
            let span = call_log::span(operation, context.scope());
            let stages = std::pin::pin!(async {
                let valid = match valid {
                    Ok(valid) => valid,
                    Err(Rejection::Invalid(error)) => return Err(error),
                    Err(Rejection::Denied(error)) => {
                        self.audit_denial(operation, context.scope(), &error).await;
                        return Err(error);
                    }
                };
                let admitted = self.admit(operation, valid, context, None).await?;
                let outcome = self.run(operation, admitted, context, limits).await;
                record_usage(self.usage.as_deref(), context).await;
                outcome
            });
            stages.instrument(span).await
        });
        let outcome = within_span(observation.observed(), stages).await;
        Called { outcome, introspects, observation }
    }

    /// Returns the operation at an index among the entries of the registry.
    fn operation(&self, index: usize) -> Result<&GatedOperation, OperationError> {
        let entry = self.catalog.registry.entries.get(index);
        entry
            .map(|entry| &entry.operation)
            .ok_or_else(|| OperationError::internal("the operation is not in the registry"))
    }
}
