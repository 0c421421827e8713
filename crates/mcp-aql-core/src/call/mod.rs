//! The call pipeline: decode → route → permit → validate → admit → run → reply.
//!
//! The arguments of a call are often borrowed from the buffer of a connection. The stages that read them therefore run
//! first, without waiting: [`Pipeline::receive`] decodes the arguments, and [`Pipeline::read`] routes, permits and
//! validates the call. They return owned values for the future that runs the call ([`Pipeline::handle`]). Single calls,
//! items of a batch and `introspect` all pass through [`Pipeline::read`] and [`Pipeline::call`].

mod admit;
mod batch;
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
use crate::request::{Content, Decoded, InvalidRequest, Request};
use crate::response::Reply;
use crate::router::Endpoint;
use crate::services::Services;
use crate::util::erased;
use crate::vocab::{ReplyForm, ReplyLimits};
use decode::DecodeError;
use observe::{Observation, log_span, within_span};
use reply::introspects;
use run::record_usage;
use tracing::Instrument as _;
use validate::{ValidCall, resolve_names};

/// The stages of a call, with all they use. It does not change after the adapter is built.
pub(crate) struct Pipeline {
    pub(crate) settings: CallSettings,
    pub(crate) catalog: Arc<Catalog>,
    /// The descriptions of operations for each set of scopes.
    pub(crate) views: Views,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) executions: Executions,
    pub(crate) concurrency: Arc<ConcurrencyLimit>,
    pub(crate) states: Arc<StateMap>,
    pub(crate) services: Arc<Services>,
    /// Observers of calls: the author's functions, the tracer and the recorder.
    pub(crate) observers: Observers,
    /// Counts the usage reported by operations.
    pub(crate) usage: Option<Arc<dyn UsageRecorder>>,
    /// Stores the limits reported by wrapped APIs.
    pub(crate) upstream: Option<Arc<dyn UpstreamMemory>>,
}

/// Settings used by the stages.
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

/// The arguments of a tool call after the stages that read them.
pub(crate) enum ReadRequest {
    One(ReadCall),
    Batch(Vec<Result<Request<'static>, InvalidRequest>>),
    Undecoded(DecodeError),
}

/// A call after the stages that read its arguments.
pub(crate) struct ReadCall {
    /// Index of the operation with the requested name, even if the endpoint does not offer it.
    operation: Option<usize>,
    introspects: bool,
    /// Index of the routed operation and its arguments. The inner error rejects the call, the outer error its routing.
    routed: Result<(usize, Result<ValidCall, Rejection>), OperationError>,
}

/// Why a routed call is rejected before the gates.
enum Rejection {
    /// The caller lacks the permission.
    Denied(OperationError),
    /// The parameters are invalid.
    Invalid(OperationError),
}

/// The outcome of a call before its reply is built.
struct FinishedCall<'a> {
    outcome: Outcome,
    introspects: bool,
    observation: Observation<'a>,
}

impl ReadRequest {
    /// Returns the index of the operation among the entries of the registry. Returns `None` for a batch, and for a call
    /// rejected by decoding or routing.
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
    ) -> ReadRequest {
        match self.decode(arguments) {
            Ok(Decoded::One(request)) => ReadRequest::One(self.read(request, endpoint, scope)),
            Ok(Decoded::Batch(items)) => ReadRequest::Batch(items),
            Err(error) => ReadRequest::Undecoded(error),
        }
    }

    /// Runs a received call or batch, and builds the reply.
    pub(crate) async fn handle(
        &self,
        received: ReadRequest,
        endpoint: Endpoint,
        context: Context,
        form: ReplyForm,
    ) -> Reply {
        match received {
            ReadRequest::One(call) => {
                let limits = ReplyLimits::new(&self.settings.limits).in_form(form);
                let called = self.call(call, &context, limits).await;
                self.reply(called, &context, form)
            }
            // Boxed to keep the future of a single call small.
            ReadRequest::Batch(items) => {
                erased(self.call_batch(items, endpoint, context.scope().clone())).await
            }
            ReadRequest::Undecoded(DecodeError::Invalid(request)) => {
                self.reply_to_invalid(request, context.scope())
            }
            ReadRequest::Undecoded(DecodeError::Unreadable(error)) => {
                self.reply_to_unreadable(error, context.scope())
            }
        }
    }

    /// Runs the stages that read the arguments: route → permit → validate.
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
            Err(_) => self.catalog.registry.index_of(&name),
        };
        ReadCall { operation, introspects: introspects(&name), routed }
    }

    /// Turns an invalid item of a batch into a rejected call, so that it takes the same path as the other items.
    fn refused(&self, refused: InvalidRequest) -> ReadCall {
        let InvalidRequest { operation, error, .. } = refused;
        ReadCall {
            operation: self.catalog.registry.index_of(&operation),
            introspects: introspects(&operation),
            routed: Err(error),
        }
    }

    /// Runs the remaining stages: admit → run. A denied call is recorded in the audit log.
    async fn call<'a>(
        &'a self,
        call: ReadCall,
        context: &Context,
        limits: ReplyLimits,
    ) -> FinishedCall<'a> {
        let ReadCall { operation, introspects, routed } = call;
        let spec = operation.and_then(|index| Some(&self.operation(index).ok()?.spec));
        let observation = Observation::begin(&self.observers, spec, || context.clone());
        let stages = std::pin::pin!(async {
            let (index, valid) = routed?;
            let operation = self.operation(index)?;
            let span = log_span(operation, context.scope());
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
        FinishedCall { outcome, introspects, observation }
    }

    /// Returns the operation at an index among the entries of the registry.
    fn operation(&self, index: usize) -> Result<&GatedOperation, OperationError> {
        let entry = self.catalog.registry.entries.get(index);
        entry
            .map(|entry| &entry.operation)
            .ok_or_else(|| OperationError::internal("the operation is not in the registry"))
    }
}
