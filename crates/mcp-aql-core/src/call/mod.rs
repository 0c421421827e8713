//! The call pipeline: decode → route → permit → validate → admit → run → reply.
//!
//! The arguments of a call are often borrowed from the buffer of a connection. The stages that read them therefore run
//! first, without waiting: [`Pipeline::receive`] decodes the arguments, and [`Pipeline::read`] routes, permits and
//! validates the call. They return owned values for the future that runs the call ([`Pipeline::answer`]). Single calls,
//! items of a batch and `introspect` all pass through [`Pipeline::read`] and [`Pipeline::admit_and_run`].

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
pub(crate) mod validate;

use std::sync::Arc;

use mcp_aql_protocol::SizeLimits;

use crate::config::access::AccessRules;
use crate::error::OperationError;
use crate::execution::Executions;
use crate::execution::concurrency::ConcurrencyLimit;
use crate::gatekeeper::{GatedOperation, Gatekeeper};
use crate::introspection::catalog::{Catalog, Views};
use crate::observe::observers::Observers;
use crate::operation::{
    CallScope, Context, ExecutionCall, Handler, Outcome, StateMap, UpstreamMemory, UsageRecorder,
};
use crate::paging::CursorKey;
use crate::request::{Content, Credentials, Decoded, InvalidRequest, Params, Request};
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
use validate::ValidCall;

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
    /// The operation that the endpoint offers, or the error if it offers none with this name.
    routed: Result<RoutedCall, OperationError>,
}

/// A call of an operation that the endpoint offers.
struct RoutedCall {
    /// Index of the operation among the entries of the registry.
    index: usize,
    arguments: CheckedArguments,
}

/// The arguments of a routed call after the checks that precede the gates.
enum CheckedArguments {
    /// The caller lacks the permission.
    Denied(OperationError),
    /// The parameters are invalid.
    Invalid(OperationError),
    Valid(ValidCall),
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
            Self::One(ReadCall { routed: Ok(call), .. }) => Some(call.index),
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
    pub(crate) async fn answer(
        &self,
        received: ReadRequest,
        endpoint: Endpoint,
        context: Context,
        form: ReplyForm,
    ) -> Reply {
        match received {
            ReadRequest::One(call) => {
                let limits = ReplyLimits::new(&self.settings.limits).in_form(form);
                let called = self.admit_and_run(call, &context, limits).await;
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
        let Request { operation: name, params, credentials } = request;
        let routed = self.route(&name, endpoint, scope).and_then(|index| {
            let operation = self.operation(index)?;
            let arguments = self.permit_and_validate(operation, params, credentials, scope);
            Ok(RoutedCall { index, arguments })
        });
        let operation = match &routed {
            Ok(call) => Some(call.index),
            Err(_) => self.catalog.registry.index_of(&name),
        };
        ReadCall { operation, introspects: introspects(&name), routed }
    }

    /// Checks the caller and the arguments of a routed call.
    fn permit_and_validate(
        &self,
        operation: &GatedOperation,
        mut params: Params<'_>,
        mut credentials: Credentials,
        scope: &CallScope,
    ) -> CheckedArguments {
        resolve_names(operation, &mut params, &mut credentials);
        if let Err(error) = self.permit(operation, scope) {
            return CheckedArguments::Denied(error);
        }
        match self.validate(operation, params, credentials, scope) {
            Ok(call) => CheckedArguments::Valid(call),
            Err(error) => CheckedArguments::Invalid(error),
        }
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
    async fn admit_and_run<'a>(
        &'a self,
        call: ReadCall,
        context: &Context,
        limits: ReplyLimits,
    ) -> FinishedCall<'a> {
        let ReadCall { operation, introspects, routed } = call;
        let spec = operation.and_then(|index| Some(&self.operation(index).ok()?.spec));
        let observation = Observation::begin(&self.observers, spec, || context.clone());
        let stages = std::pin::pin!(async {
            let RoutedCall { index, arguments } = routed?;
            let operation = self.operation(index)?;
            let span = log_span(operation, context.scope());
            let stages = std::pin::pin!(async {
                let valid = match arguments {
                    CheckedArguments::Valid(valid) => valid,
                    CheckedArguments::Invalid(error) => return Err(error),
                    CheckedArguments::Denied(error) => {
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

/// Replaces the aliases that an operation declares, and that of the confirmation token, by the canonical names.
///
/// A retry repeats the call with these names and skips this function. The aliases in camel case follow in [`validate`],
/// because they only apply to names that are not in the operation's table.
fn resolve_names(
    operation: &GatedOperation,
    params: &mut Params<'_>,
    credentials: &mut Credentials,
) {
    take_confirmation(operation, params, credentials);
    if let Some(rename) = operation.rename_params {
        let mut renamed = std::mem::take(params).into_map();
        rename(&mut renamed);
        *params = renamed.into();
    }
}

/// Accepts `confirmation_token` as an alias of `_confirmation` if the operation may require a confirmation. A parameter
/// of the operation with this name takes precedence (choice C-18).
fn take_confirmation(
    operation: &GatedOperation,
    params: &mut Params<'_>,
    credentials: &mut Credentials,
) {
    const ALIAS: &str = "confirmation_token";
    let own = || operation.parameters.iter().any(|parameter| &*parameter.name == ALIAS);
    let retries = matches!(operation.handler, Handler::Execution(ExecutionCall::Retry));
    if (retries || operation.permission.may_ask())
        && !own()
        && let Some(token) = params.take(ALIAS)
    {
        let token = token.as_str().unwrap_or_default().to_owned();
        credentials.add_confirmation(token);
    }
}
