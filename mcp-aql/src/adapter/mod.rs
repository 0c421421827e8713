//! The adapter: all operations, called in the same process or through a transport.

mod assemble;
mod build_error;
mod builder;
mod config;
mod descriptions;
mod executions;
mod internals;
mod parts;
#[cfg(feature = "safety")]
mod safety;
#[cfg(not(feature = "safety"))]
#[path = "without_safety.rs"]
mod safety;
mod settings;

use std::sync::{Arc, Once};
use std::time::Instant;

use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value};
use tracing::Instrument as _;

pub use build_error::BuildError;
pub use builder::AdapterBuilder;
pub(crate) use parts::Parts;
pub(crate) use settings::Settings;

use crate::call_limits::CallLimits;
use crate::concurrency::ConcurrencyLimit;
use crate::error::OperationError;
use crate::execution::{ExecutionSlot, Executions, LimitReached};
use crate::future::BoxFuture;
use crate::future::erased;
use crate::gatekeeper::{GateRequest, Gatekeeper};
use crate::introspection::{self, Introspection};
use crate::operation::OperationSpec;
use crate::operation::{
    Call, CallScope, Context, ExecutionCall, Handler, Payload, RegisteredOperation, UpstreamMemory,
    Usage,
};
use crate::redact::redacted;
use crate::request::{
    Arguments, Credentials, OperationInput, Refused, Request, decode, parse, too_large,
};
use crate::response::{BatchReply, OperationResult, Reply};
use crate::router::{Endpoint, EndpointMode, EndpointProfile, Entry, Registry};
use crate::services::Services;
use crate::shape::Shapes;
use crate::validate::{Rules, ValidParams, validate};
use crate::vocab::ReplyLimits;
use crate::warning::{Severity, Warning, Warnings};
use executions::{Admitted, Asked};
use mcp_aql_protocol::Limits;

/// An MCP-AQL adapter: operations with everything that the protocol requires around them.
///
/// It is cheap to clone. Clones share operations and state.
///
/// ```
/// use mcp_aql::prelude::*;
/// use serde_json::json;
///
/// /// Double a number.
/// #[operation(category = "READ", rationale = "it computes and stores nothing")]
/// fn double(
///     /// The number.
///     #[param(maximum = 1000)]
///     number: i64,
/// ) -> i64 {
///     number * 2
/// }
///
/// # fn main() -> mcp_aql::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let adapter = Adapter::builder("numbers").operation(double {}).build()?;
/// let result = adapter.call("double", json!({ "number": 21 })).await;
/// assert_eq!(result.data(), 42);
///
/// let result = adapter.call("double", json!({ "nubmer": 21 })).await;
/// assert_eq!(result.code(), Some("VALIDATION_MISSING_PARAM"));
/// # Ok(()) }) }
/// ```
#[derive(Clone)]
pub struct Adapter {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) parts: Arc<Parts>,
    pub(crate) settings: Settings,
    pub(crate) registry: Registry,
    pub(crate) shapes: Shapes,
    pub(crate) shown: Vec<descriptions::Shown>,
    pub(crate) introspection: Introspection,
    pub(crate) concurrency: Arc<ConcurrencyLimit>,
    pub(crate) services: Arc<Services>,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) executions: Executions,
    /// Completed once the notices of the settings are in the log.
    pub(crate) notices_logged: Once,
    #[cfg_attr(not(feature = "safety"), expect(dead_code, reason = "it holds nothing"))]
    pub(crate) safety: safety::Safety,
    pub(crate) limiter: Option<Arc<dyn CallLimits>>,
    /// Stores the limits that wrapped APIs reported.
    pub(crate) upstream: Option<Arc<dyn UpstreamMemory>>,
}

impl Inner {
    /// Whether a stage between validation and the function reads the arguments: a gate, a quota token, or
    /// an execution.
    fn looks_at_arguments(&self, entry: &Entry) -> bool {
        if self.limiter.as_ref().is_some_and(|limiter| limiter.may_pause()) {
            return true;
        }
        !entry.gate.is_open() || entry.operation.spec.lifecycle.is_some()
    }
}

impl Adapter {
    /// Starts a builder of an adapter with this name, which clients see as the server's name.
    pub fn builder(name: impl Into<String>) -> AdapterBuilder {
        AdapterBuilder::new(name.into())
    }

    /// Calls an operation in this process with all checks of a client's call. There is no session, and any
    /// endpoint is right.
    ///
    /// `params` is the `params` object of a request. Other values are refused.
    pub async fn call(&self, operation: &str, params: Value) -> OperationResult {
        let mut arguments = Map::new();
        arguments.insert("operation".to_owned(), operation.into());
        arguments.insert("params".to_owned(), params);
        let reply = self.handle(Endpoint::Unified, arguments, CallScope::default()).await;
        OperationResult::from_json(&reply.text)
    }

    /// Handles a whole request from a transport: the unchanged tool arguments, the endpoint that received
    /// them, and the caller.
    ///
    /// It never fails: the reply contains every error (REQ-RQ-08).
    pub fn handle(
        &self,
        endpoint: Endpoint,
        arguments: Map<String, Value>,
        scope: CallScope,
    ) -> impl Future<Output = Reply> + Send + '_ {
        self.handle_arguments(endpoint, arguments.into(), scope)
    }

    /// Like [`handle`](Self::handle), with the faults that were found when the arguments were read.
    pub(crate) fn handle_arguments(
        &self,
        endpoint: Endpoint,
        arguments: Arguments,
        scope: CallScope,
    ) -> BoxFuture<'_, Reply> {
        erased(self.handle_decoded(endpoint, arguments, scope))
    }

    async fn handle_decoded(
        &self,
        endpoint: Endpoint,
        arguments: Arguments,
        scope: CallScope,
    ) -> Reply {
        let limits = &self.inner.settings.limits;
        match decode(arguments, self.inner.settings.batch, limits) {
            Ok(Request::One(input)) => {
                let introspects = input.operation == introspection::SPEC.name;
                let context = Context::new(scope);
                match self.run_one(input, endpoint, &context, ReplyLimits::new(limits)).await {
                    Ok(payload) => {
                        let reply = Reply::success(payload, &context.take_warnings().into_vec());
                        self.bounded(reply, context.scope(), introspects)
                    }
                    Err(error) => self.failure(error),
                }
            }
            // Boxed, so that the future of a single call stays small.
            Ok(Request::Batch(items)) => erased(self.run_batch(items, endpoint, scope)).await,
            // The failure of a whole batch has only a code and a message (REQ-BAT-06). The numbers of an
            // exceeded limit take precedence (REQ-ENC-13).
            Err(Refused { error, batch: true, .. })
                if error.code() != ErrorCode::ValidationPayloadTooLarge =>
            {
                self.failure(error.without_details())
            }
            Err(Refused { operation, error, .. }) => {
                let introspects = operation == introspection::SPEC.name;
                self.failure(self.labelled(error, &scope, introspects))
            }
        }
    }

    /// Like [`handle`](Self::handle), for a transport that has the tool arguments as bytes. Invalid UTF-8
    /// and lone surrogates fail with `VALIDATION_INVALID_ENCODING` and their position (REQ-ENC-01).
    /// Requests beyond the size limit are not parsed. Repeated members and numbers beyond 64 bits, which a
    /// map could not represent, are refused as well.
    ///
    /// ```
    /// # use mcp_aql::{Adapter, CallScope, Endpoint, ErrorCode};
    /// # fn main() -> mcp_aql::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let adapter = Adapter::builder("empty").build()?;
    /// let arguments = br#"{"operation":"introspect","params":{"query":"\ud800"}}"#;
    /// let reply = adapter.handle_bytes(Endpoint::Unified, arguments, CallScope::default()).await;
    /// assert_eq!(reply.code, Some(ErrorCode::ValidationInvalidEncoding));
    /// # Ok(()) }) }
    /// ```
    pub async fn handle_bytes(
        &self,
        endpoint: Endpoint,
        arguments: &[u8],
        scope: CallScope,
    ) -> Reply {
        // White space counts as part of the request.
        let limit = self.inner.settings.limits.max_request_size;
        let parsed = if arguments.len() > limit {
            Err(too_large("request_size", limit, arguments.len(), "bytes"))
        } else {
            parse(arguments, &self.inner.settings.limits)
        };
        match parsed {
            Ok(arguments) => self.handle_arguments(endpoint, arguments, scope).await,
            Err(error) => self.refuse(error, &scope),
        }
    }

    /// The reply to a request that could not be read.
    pub(crate) fn refuse(&self, error: OperationError, scope: &CallScope) -> Reply {
        self.failure(self.labelled(error, scope, false))
    }

    /// Runs the items of a batch in order, each independently (REQ-BAT-02, REQ-BAT-05), up to one that
    /// requires confirmation (REQ-BAT-08).
    async fn run_batch(
        &self,
        items: Vec<Result<OperationInput, Refused>>,
        endpoint: Endpoint,
        scope: CallScope,
    ) -> Reply {
        let limits = &self.inner.settings.limits;
        let alone = ReplyLimits::new(limits);
        let mut batch = BatchReply::new(limits.max_response_size, items.len());
        let mut warnings = Warnings::default();
        let mut items = items.into_iter();
        while let Some(item) = items.next() {
            let operation = match &item {
                Ok(input) => &input.operation,
                Err(refused) => &refused.operation,
            };
            let introspects = operation == introspection::SPEC.name;
            let operation = crate::text::shorten(operation);
            if batch.is_full() {
                batch.push_not_run(&operation);
                continue;
            }
            let context = Context::new(scope.clone());
            let outcome = match item {
                Ok(input) => {
                    let inner = alone.of_item(batch.room());
                    self.run_one(input, endpoint, &context, inner).await
                }
                Err(refused) => Err(self.labelled(refused.error, &scope, introspects)),
            };
            let reply = match outcome {
                Ok(payload) => {
                    warnings.extend(context.take_warnings());
                    self.bounded(Reply::success(payload, &[]), &scope, introspects)
                }
                Err(error) => self.failure(error),
            };
            // Nothing failed: a person must agree first, and later items may depend on this one. A quota
            // pause is the same case.
            let asks = [ErrorCode::ConfirmationRequired, ErrorCode::RateLimitQuotaPause];
            if reply.code.is_some_and(|code| asks.contains(&code)) {
                return batch.halt(&operation, &reply, items);
            }
            batch.push(&operation, &reply);
        }
        batch.finish(&warnings.into_vec())
    }

    /// Routes, validates and runs one operation.
    async fn run_one(
        &self,
        input: OperationInput,
        endpoint: Endpoint,
        context: &Context,
        limits: ReplyLimits,
    ) -> Result<Payload, OperationError> {
        let scope = context.scope();
        let entry = match self.inner.registry.route(&input.operation, endpoint) {
            Ok(entry) => entry,
            Err(error) => {
                tracing::info!(code = error.code().as_str(), "operation refused");
                let introspects = input.operation == introspection::SPEC.name;
                return Err(self.labelled(error, scope, introspects));
            }
        };
        let operation = &entry.operation;
        let span = tracing::info_span!(
            "operation",
            name = &*operation.name,
            category = operation.spec.category.as_str(),
            session = scope.session.as_ref().map(|session| session.id().to_owned()),
            label = scope.label.as_deref(),
        );
        // The time is only read if it is logged.
        let started = tracing::enabled!(tracing::Level::ERROR).then(Instant::now);
        let run = self.run_routed(entry, input, context, limits);
        let outcome =
            if span.is_disabled() { run.await } else { run.instrument(span.clone()).await };
        let _entered = span.enter();
        let duration_ms = started.map(|started| started.elapsed().as_secs_f64() * 1_000.0);
        match &outcome {
            Ok(_) => tracing::info!(duration_ms, "operation done"),
            Err(_) if scope.is_cancelled() => {
                tracing::info!(duration_ms, "operation given up by its caller");
            }
            Err(error) if error.code() == ErrorCode::InternalError => tracing::error!(
                duration_ms,
                code = error.code().as_str(),
                correlation_id =
                    error.details().get("correlation_id").and_then(serde_json::Value::as_str),
                cause = error.cause().map(|cause| chain(cause)),
                "operation failed"
            ),
            Err(error) => {
                tracing::info!(duration_ms, code = error.code().as_str(), "operation failed");
            }
        }
        outcome.map_err(|error| match operation.handler {
            Handler::Introspect => error,
            _ => self.labelled(error, scope, false),
        })
    }

    async fn run_routed(
        &self,
        entry: &Entry,
        mut input: OperationInput,
        context: &Context,
        limits: ReplyLimits,
    ) -> Result<Payload, OperationError> {
        let operation = &entry.operation;
        take_confirmation(entry, &mut input);
        let rules = Rules {
            // Introspection refuses unknown parameters, because its result has no warnings (REQ-INT-28).
            strict: self.inner.settings.strict || matches!(operation.handler, Handler::Introspect),
            camel_case_aliases: self.inner.settings.camel_case_aliases,
            whole: self.inner.looks_at_arguments(entry),
        };
        safety::accept_literal_names(&operation.name, &mut input.params);
        let query = match operation.handler {
            Handler::Introspect => input.params.get("query").cloned(),
            _ => None,
        };
        // A retry runs another operation, whose gate needs the tokens.
        let credentials = match operation.handler {
            Handler::Execution(ExecutionCall::Retry) => &Credentials::default(),
            _ => &input.credentials,
        };
        let kept = executions::kept_params(operation, &input.params);
        let valid = validate(operation, input.params, &self.inner.shapes, rules);
        let handler = match &operation.handler {
            Handler::Introspect => {
                let introspection = &self.inner.introspection;
                let outcome = match valid {
                    Ok(valid) => {
                        let session = context.session();
                        introspection.answer(valid.arguments, session, &*self.inner).await
                    }
                    Err(error) => Err(error),
                };
                return outcome.map_err(|error| introspection.failure(error, query.as_ref()));
            }
            handler => handler,
        };
        let valid = valid?;
        // A missing place for the execution must be found before tokens or quotas are used up.
        let slot = operation.spec.lifecycle.map(|_| self.inner.executions.slot(context.session()));
        let (slot, full) = split(slot);
        let permit = self
            .inner
            .gatekeeper
            .admit(GateRequest {
                operation,
                plan: &entry.gate,
                arguments: &valid.arguments,
                shapes: &self.inner.shapes,
                credentials,
                context,
                retry: None,
                full,
            })
            .await?;
        let context = context.of(operation.spec.name);
        let context = context.remembering(self.inner.upstream.clone());
        warn_of_names(operation, &valid, &context);
        let function = match handler {
            Handler::Function(function) => function,
            Handler::Execution(which) => {
                let asked =
                    Asked { entry, arguments: &valid.arguments, credentials: &input.credentials };
                return erased(self.steer(*which, asked, permit, &context, limits)).await;
            }
            Handler::Introspect => return Err(OperationError::internal("answered above")),
        };
        if let Some(slot) = slot {
            let admitted = Admitted { operation, function, valid, permit };
            return erased(self.begin(admitted, slot, kept, &context, limits)).await;
        }
        let call = Call {
            arguments: valid.arguments.into_iter(),
            context: context.clone(),
            states: Arc::clone(&self.inner.parts.states),
            envelope: operation.envelope.clone(),
            limits,
            execution: None,
            composites: valid.composites,
        };
        if tracing::enabled!(tracing::Level::DEBUG) {
            let params =
                redacted(&operation.parameters, call.arguments.as_slice(), &self.inner.shapes);
            tracing::debug!(%params, "operation called");
        }
        let category = operation.spec.category;
        let outcome = self.inner.concurrency.run(category, &context, || function.run(call)).await;
        settle(self.inner.limiter.as_deref(), &context).await;
        outcome
    }

    /// Limits the size of a reply including its warnings (REQ-ENC-09). The error states that the operation
    /// has already run.
    fn bounded(&self, reply: Reply, scope: &CallScope, introspects: bool) -> Reply {
        let limit = self.inner.settings.limits.max_response_size;
        if reply.text.len() <= limit {
            return reply;
        }
        let error = too_large("response_size", limit, reply.text.len(), "bytes")
            .with_detail("operation_ran", true);
        self.failure(self.labelled(error, scope, introspects))
    }

    /// A failure within the response limit (REQ-ENC-09).
    fn failure(&self, error: OperationError) -> Reply {
        let reply = Reply::failure(&error);
        if reply.text.len() > self.inner.settings.limits.max_response_size {
            return Reply::failure(&error.shortened());
        }
        reply
    }

    /// Adds the session's id to an error, so that it can be found in the log (REQ-SES-06, choice C-36).
    /// Failures of `introspect` have no details, whichever stage refuses the call (REQ-INT-28).
    fn labelled(
        &self,
        error: OperationError,
        scope: &CallScope,
        introspects: bool,
    ) -> OperationError {
        match &scope.session {
            _ if introspects => error.without_details(),
            Some(session) if self.inner.settings.session_id_in_errors => {
                error.with_detail("session_id", session.id())
            }
            _ => error,
        }
    }

    /// Revokes an unused confirmation token. Returns whether it existed (REQ-TOK-12).
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the store fails.
    pub async fn revoke_confirmation(&self, token: &str) -> Result<bool, OperationError> {
        self.inner.gatekeeper.revoke(token).await
    }

    /// Revokes all confirmation tokens of this adapter, for example after a change of its configuration,
    /// and what was [confirmed for a session](crate::Policy::for_session) with this adapter and its clones
    /// (REQ-TOK-12).
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the store fails.
    pub async fn revoke_confirmations(&self) -> Result<(), OperationError> {
        self.inner.gatekeeper.revoke_all().await
    }

    /// The adapter's name.
    pub fn name(&self) -> &str {
        &self.inner.parts.name
    }

    /// The adapter's own version.
    pub fn version(&self) -> &str {
        &self.inner.parts.version
    }

    /// The offered tools.
    pub fn mode(&self) -> EndpointMode {
        self.inner.settings.mode
    }

    /// The profile of endpoint families in use.
    pub fn profile(&self) -> &EndpointProfile {
        &self.inner.registry.profile
    }

    /// Logs the notices of the settings once, when the log exists. The command line sets up its log after
    /// the adapter is built.
    pub(crate) fn log_notices(&self) {
        if !tracing::enabled!(tracing::Level::WARN) {
            return;
        }
        self.inner.notices_logged.call_once(|| {
            for notice in &self.inner.settings.notices {
                tracing::warn!("{notice}");
            }
        });
    }

    /// The limits in use.
    pub fn limits(&self) -> &Limits {
        &self.inner.settings.limits
    }

    /// The tables of all operations, starting with `introspect`.
    pub fn operations(&self) -> impl Iterator<Item = &OperationSpec> {
        self.inner.registry.entries.iter().map(|entry| &entry.operation.spec)
    }
}

impl std::fmt::Debug for Adapter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Adapter")
            .field("name", &self.name())
            .field("operations", &self.inner.registry.entries.len())
            .finish_non_exhaustive()
    }
}

/// Separates the place for an execution from the error that there is none.
fn split(
    slot: Option<Result<ExecutionSlot, LimitReached>>,
) -> (Option<ExecutionSlot>, Option<LimitReached>) {
    match slot {
        Some(Ok(slot)) => (Some(slot), None),
        Some(Err(full)) => (None, Some(full)),
        None => (None, None),
    }
}

/// Counts the usage that an operation has reported so far.
async fn settle(limiter: Option<&dyn CallLimits>, context: &Context) {
    let Some(limiter) = limiter else { return };
    let usage = context.take_usage();
    if usage != Usage::default() {
        // Boxed, so that the future of a call without reports stays small.
        Box::pin(limiter.settle(usage)).await;
    }
}

/// An error and its sources, for the log.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        // Many messages include the message of their source.
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}

/// Accepts `confirmation_token` as `_confirmation` if calls of the operation may require confirmation,
/// unless the operation has such a parameter of its own (choice C-18).
fn take_confirmation(entry: &Entry, input: &mut OperationInput) {
    const ALIAS: &str = "confirmation_token";
    let operation = &entry.operation;
    let own = || operation.parameters.iter().any(|parameter| &*parameter.name == ALIAS);
    let retries = matches!(operation.handler, Handler::Execution(ExecutionCall::Retry));
    if (retries || entry.gate.may_ask())
        && !own()
        && let Some(token) = input.params.remove(ALIAS)
    {
        let token = token.as_str().unwrap_or_default().to_owned();
        input.credentials.confirmation.get_or_insert(token);
    }
}

/// Adds warnings about deprecated names, and about names that lenient mode ignored (REQ-WRN-07,
/// REQ-UNK-08).
fn warn_of_names(operation: &RegisteredOperation, valid: &ValidParams, context: &Context) {
    let today = || chrono::Utc::now().date_naive();
    if let Some(deprecation) = &operation.spec.deprecated {
        context.warn(Warning::deprecated("operation", &operation.name, deprecation, today()));
    }
    for (name, deprecation) in &valid.deprecated {
        context.warn(Warning::deprecated("parameter", name, deprecation, today()));
    }
    for warning in &valid.composites.warnings {
        context.warn(warning.clone());
    }
    for name in &valid.ignored {
        let name = crate::text::clean(name);
        tracing::warn!(operation = &*operation.name, parameter = name, "unknown parameter ignored");
        context.warn(
            Warning::new(
                "VALIDATION_UNKNOWN_PARAM_WARNING",
                format!("Unknown parameter '{name}' was ignored"),
            )
            .severity(Severity::Medium)
            .detail("param_name", name),
        );
    }
}
