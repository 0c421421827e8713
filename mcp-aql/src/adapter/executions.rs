//! Calls that begin executions, and the operations on executions.

use std::ops::ControlFlow;
use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value};

use super::{Adapter, Rules, redacted, validate};
use crate::argument::Argument;
use crate::error::OperationError;
use crate::execution::{
    Begin, EndScope, ExecutionRecord, ExecutionSlot, ExecutionState, LimitReached, NewExecution,
    PAGE_SIZES, Status, Work,
};
use crate::gatekeeper::{GateRequest, Permit};
use crate::operation::{
    Call, Context, Envelope, ExecutionCall, ExecutionContext, Handler, OperationReturn, Payload,
    RegisteredOperation, Run,
};
use crate::paging::{Page, PageRequest};
use crate::request::Credentials;
use crate::router::Entry;
use crate::session::Session;
use crate::spec::LifecycleSpec;
use crate::validate::ValidParams;
use crate::vocab::ReplyLimits;

/// A call that passed validation and gates.
pub(super) struct Admitted<'a> {
    pub(super) operation: &'a RegisteredOperation,
    pub(super) function: &'a Arc<dyn Run>,
    pub(super) valid: ValidParams,
    pub(super) permit: Permit,
}

/// The arguments of an operation on an execution.
pub(super) struct Asked<'a> {
    pub(super) entry: &'a Entry,
    pub(super) arguments: &'a [Argument],
    pub(super) credentials: &'a Credentials,
}

impl<'a> Asked<'a> {
    fn value(&self, name: &str) -> Option<&'a Value> {
        self.arguments.iter().find(|it| it.name == name)?.value.as_ref()
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.value(name)?.as_str()
    }

    fn number(&self, name: &str) -> u64 {
        self.value(name).and_then(Value::as_u64).unwrap_or_default()
    }

    fn id(&self) -> &'a str {
        self.text("execution_id").unwrap_or_default()
    }
}

/// The parameters as they were sent, if the operation can be retried with them.
pub(super) fn kept_params(
    operation: &RegisteredOperation,
    params: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    operation.spec.lifecycle.filter(|life| life.retry).map(|_| params.clone())
}

/// The size of the state around a result, in bytes.
const ENVELOPE_BYTES: usize = 32 << 10;

impl Adapter {
    /// Begins an execution and answers with its state (REQ-LIF-04).
    pub(super) async fn begin(
        &self,
        admitted: Admitted<'_>,
        slot: ExecutionSlot,
        kept: Option<Map<String, Value>>,
        context: &Context,
        limits: ReplyLimits,
    ) -> Result<Payload, OperationError> {
        let inner = &*self.inner;
        let operation = admitted.operation;
        let arguments = &admitted.valid.arguments;
        let shown = redacted(&operation.parameters, arguments, &inner.shapes);
        let whole = plain(arguments);
        let secret = operation.parameters.iter().any(|it| it.spec.sensitive)
            || shown.as_object() != Some(&whole);
        let kept = kept.map(|mut kept| {
            // The parameters of composite arguments were removed from the arguments.
            kept.retain(|name, _| operation.parameters.iter().any(|it| &*it.name == name.as_str()));
            kept.extend(whole);
            kept
        });
        let limit_use = admitted.permit.limit_use();
        let work = self.work(admitted, context);
        let new = NewExecution {
            operation: operation.spec.name,
            session: context.session().cloned(),
            slot,
            params: kept,
            secret,
            starts_immediately: inner.concurrency.is_open(),
            audit_params: inner.services.audit.is_read().then_some(shown),
        };
        let id = match inner.executions.begin(new, work).await {
            Ok(id) => id,
            Err(error) => {
                inner.gatekeeper.release_limits(limit_use).await;
                return Err(error.into());
            }
        };
        self.attend(operation.spec.lifecycle, &id, context).await?;
        self.state(&id, limits).await
    }

    /// The future that the task of an execution runs: an ordinary call, once the limit of concurrent calls
    /// permits it.
    fn work(&self, admitted: Admitted<'_>, context: &Context) -> Work {
        let inner = &*self.inner;
        let Admitted { operation, function, valid, permit: _ } = admitted;
        let name = operation.spec.name;
        let category = operation.spec.category;
        let session = context.session().cloned();
        let label = context.label().map(str::to_owned);
        // The result is part of the state, which may be part of a batch.
        let limits = ReplyLimits::new(&inner.settings.limits).of_execution(ENVELOPE_BYTES);
        let function = Arc::clone(function);
        let states = Arc::clone(&inner.parts.states);
        let envelope: Envelope = operation.envelope.clone();
        let concurrency = Arc::clone(&inner.concurrency);
        let (limiter, upstream) = (inner.limiter.clone(), inner.upstream.clone());
        Box::new(move |execution: ExecutionContext, begin: Begin| {
            let context = Context::of_execution(name, session, label, execution.clone());
            let context = context.remembering(upstream);
            let call = Call {
                arguments: valid.arguments.into_iter(),
                context: context.clone(),
                states,
                envelope,
                limits,
                execution: Some(execution),
                composites: valid.composites,
            };
            Box::pin(async move {
                let start = || {
                    let work = async move {
                        begin.mark_started().await?;
                        function.run(call).await
                    };
                    Box::pin(work) as _
                };
                let outcome = concurrency.run(category, &context, start).await;
                super::settle(limiter.as_deref(), &context).await;
                outcome
            })
        })
    }

    /// Waits for the execution if its caller requested progress. A caller that gives up cancels the
    /// execution.
    async fn attend(
        &self,
        lifecycle: Option<LifecycleSpec>,
        id: &str,
        context: &Context,
    ) -> Result<(), OperationError> {
        let executions = &self.inner.executions;
        if !context.wants_progress() {
            return Ok(());
        }
        executions.wait(id, context, executions.options().wait).await?;
        if context.is_cancelled() && lifecycle.is_some_and(|life| life.cancel) {
            executions.request_stop(id).await?;
        }
        Ok(())
    }

    /// Runs an operation on an execution.
    pub(super) async fn steer(
        &self,
        which: ExecutionCall,
        asked: Asked<'_>,
        _permit: Permit,
        context: &Context,
        limits: ReplyLimits,
    ) -> Result<Payload, OperationError> {
        let executions = &self.inner.executions;
        let id = asked.id();
        match which {
            ExecutionCall::Get => {
                let seconds = asked.number("wait_seconds");
                if seconds > 0 {
                    let most = std::time::Duration::from_secs(seconds);
                    executions.wait(id, context, most).await?;
                }
                self.state(id, limits).await
            }
            ExecutionCall::List => self.list(&asked, context, limits).await,
            ExecutionCall::Cancel => {
                self.cancel(id, context).await?;
                self.state(id, limits).await
            }
            ExecutionCall::Retry => {
                self.retry(&asked, context).await?;
                self.state(id, limits).await
            }
        }
    }

    async fn found(&self, id: &str) -> Result<ExecutionRecord, OperationError> {
        let found = self.inner.executions.get(id).await?;
        found.ok_or_else(|| OperationError::not_found("execution", id))
    }

    async fn state(&self, id: &str, limits: ReplyLimits) -> Result<Payload, OperationError> {
        let state = ExecutionState::new(id, self.found(id).await?, true);
        state.write(Payload::new(Envelope::Bare, limits))
    }

    async fn list(
        &self,
        asked: &Asked<'_>,
        context: &Context,
        limits: ReplyLimits,
    ) -> Result<Payload, OperationError> {
        let (status, operation) = (asked.text("status"), asked.text("operation_name"));
        let session = context.session();
        // Sessions have different lists.
        let owner = Some(session.map_or("-", Session::id));
        let name = asked.entry.operation.spec.name;
        let key = &self.inner.settings.cursor_key;
        let mut warnings = Vec::new();
        let request =
            PageRequest::read(name, owner, asked.arguments, PAGE_SIZES, key, &mut warnings)?;
        warnings.into_iter().for_each(|warning| context.warn(warning));
        let after = request.after().map(str::to_owned);
        let before = request.before().map(str::to_owned);
        let mut page = request.page();
        let visit = |id: String, record: ExecutionRecord| {
            if before.as_ref().is_some_and(|before| id >= *before) {
                return ControlFlow::Break(());
            }
            let wanted = status.is_none_or(|status| record.status.as_str() == status)
                && operation.is_none_or(|operation| record.operation == operation);
            if wanted { page.push((id, record)) } else { ControlFlow::Continue(()) }
        };
        self.inner.executions.visit(session, after.as_deref(), visit).await?;
        let cursors = page.cursors(|(id, _)| id);
        let (listed, info) = page.finish(|(id, _)| id);
        let items = listed.into_iter().map(|(id, record)| ExecutionState::new(&id, record, false));
        let page = Page { cursors: Some(Arc::new(cursors)), ..Page::new(items.collect(), info) };
        let payload = Payload::new(Envelope::Bare, limits).beside(context.clone());
        let mut written = page.write(payload)?;
        written.take_warning().into_iter().for_each(|warning| context.warn(warning));
        Ok(written)
    }

    /// Cancels an execution and waits for its end. Repeated calls have no further effect.
    async fn cancel(&self, id: &str, context: &Context) -> Result<(), OperationError> {
        let record = self.found(id).await?;
        let executions = &self.inner.executions;
        match record.status {
            Status::Cancelled => return Ok(()),
            Status::Completed | Status::Failed => return Err(not_in(id, &record, CANCELLABLE)),
            Status::Pending | Status::Running => {}
        }
        if !self.lifecycle_of(&record).is_some_and(|life| life.cancel) {
            return Err(unsupported(&record, "cancel"));
        }
        if executions.request_stop(id).await? {
            executions.wait(id, context, executions.stop_timeout()).await?;
            return Ok(());
        }
        // The execution ended in the meantime.
        let record = self.found(id).await?;
        if record.status == Status::Cancelled {
            return Ok(());
        }
        Err(not_in(id, &record, CANCELLABLE))
    }

    /// Runs a failed execution again, after the gates of its operation.
    async fn retry(&self, asked: &Asked<'_>, context: &Context) -> Result<(), OperationError> {
        let inner = &*self.inner;
        let id = asked.id();
        let record = self.found(id).await?;
        let lifecycle = self.lifecycle_of(&record);
        if !lifecycle.is_some_and(|life| life.retry) {
            return Err(unsupported(&record, "retry"));
        }
        if record.status != Status::Failed {
            return Err(not_in(id, &record, RETRYABLE));
        }
        let params = inner.executions.params(id, &record).ok_or_else(|| {
            OperationError::invalid_value(
                "execution_id",
                "names an execution whose parameters are secret, and were known only to the process \
                 it ran in: call its operation anew",
            )
            .with_detail("operation", record.operation.clone())
        })?;
        let entry = inner.registry.get(&record.operation);
        let Some((entry, Handler::Function(function))) =
            entry.map(|entry| (entry, &entry.operation.handler))
        else {
            return Err(unsupported(&record, "retry"));
        };
        let rules = Rules { strict: inner.settings.strict, camel_case_aliases: false, whole: true };
        let operation = &entry.operation;
        let valid = validate(operation, params, &inner.shapes, rules)?;
        let context = context.of(operation.spec.name);
        let slot = inner.executions.slot(context.session());
        let request = GateRequest {
            operation,
            plan: &entry.gate,
            arguments: &valid.arguments,
            shapes: &inner.shapes,
            credentials: asked.credentials,
            context: &context,
            retry: Some((&asked.entry.gate, asked.arguments)),
            full: slot.as_ref().err().copied(),
        };
        let permit = inner.gatekeeper.admit(request).await?;
        let slot = slot.map_err(LimitReached::error)?;
        let limit_use = permit.limit_use();
        let work = self.work(Admitted { operation, function, valid, permit }, &context);
        let session = context.session().cloned();
        let begun = inner.executions.start_retry(id, record.attempt, (session, slot), work).await;
        if !matches!(begun, Ok(true)) {
            inner.gatekeeper.release_limits(limit_use).await;
        }
        if !begun? {
            // A concurrent retry came first.
            let record = self.found(id).await?;
            return Err(not_in(id, &record, RETRYABLE));
        }
        self.attend(lifecycle, id, &context).await
    }

    fn lifecycle_of(&self, record: &ExecutionRecord) -> Option<LifecycleSpec> {
        self.inner.registry.get(&record.operation)?.operation.spec.lifecycle
    }

    /// Whether the adapter has operations that run as executions.
    pub(crate) fn has_executions(&self) -> bool {
        self.operations().any(|spec| spec.lifecycle.is_some())
    }

    /// Called when serving begins: logs warnings about ineffective settings, and ends executions of an
    /// earlier process that crashed.
    pub(crate) fn begin_to_serve(&self) {
        self.log_notices();
        if let Some(warning) = self.forgotten_limits() {
            tracing::warn!("{warning}");
        }
        if self.has_executions() {
            self.inner.executions.recover();
        }
    }

    /// Reports limits per day or month in a store that does not outlive the process.
    fn forgotten_limits(&self) -> Option<String> {
        let inner = &*self.inner;
        let lasting = inner.limiter.as_ref()?.lasting();
        let forgets = inner.services.store.is_fleeting() && !lasting.is_empty();
        forgets.then(|| {
            format!(
                "what is counted for {} is kept in memory, and begins anew with every start: give the \
                 adapter a lasting `.store(…)`, such as a SqliteStore",
                lasting.join(", ")
            )
        })
    }

    pub(crate) async fn end_executions_of(&self, which: EndScope) {
        self.inner.executions.end(which).await;
        self.inner.services.session_ends.completed().await;
    }

    /// Stops all executions and waits until they have ended, at most for the grace period of
    /// [`ExecutionOptions`](crate::ExecutionOptions) and a short time for the store.
    ///
    /// It also ends sessions with confirmation tokens or agents: their tokens are revoked, their agents are
    /// stopped, and the audit log has both when this function returns. It waits at most ten seconds for
    /// that.
    ///
    /// The serving functions call it for their clients when they end. Call it before the process ends if
    /// you only use [`call`](Self::call), or if you embed `Adapter::router`.
    ///
    /// Source: REQ-LIF-10, REQ-SES-02, REQ-TOK-12.
    pub async fn end_executions(&self) {
        self.inner.services.session_ends.end_sessions();
        self.end_executions_of(EndScope::All).await;
    }
}

const CANCELLABLE: &str = "must name an execution in state 'pending' or 'running'";
const RETRYABLE: &str = "must name an execution in state 'failed'";

/// The arguments that were given or have defaults.
fn plain(arguments: &[Argument]) -> Map<String, Value> {
    arguments
        .iter()
        .filter_map(|argument| Some((argument.name.to_owned(), argument.value.clone()?)))
        .collect()
}

/// The error for an execution whose state does not allow the operation (`VALIDATION_INVALID_VALUE`).
fn not_in(id: &str, record: &ExecutionRecord, expected: &str) -> OperationError {
    OperationError::new(
        ErrorCode::ValidationInvalidValue,
        format!("Parameter 'execution_id' {expected}; its status is '{}'", record.status.as_str()),
    )
    .with_detail("param_name", "execution_id")
    .with_detail("expected", expected)
    .with_detail("execution_id", id)
    .with_detail("status", record.status.as_str())
}

/// The error for an operation that does not support this (`PERMISSION_DENIED`).
fn unsupported(record: &ExecutionRecord, what: &str) -> OperationError {
    let operation = &record.operation;
    OperationError::permission_denied(format!("operation {operation} does not support {what}"))
        .with_detail("operation", operation.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::leaks_internals;

    #[cfg(feature = "limits")]
    #[test]
    fn limits_that_a_start_forgets_are_warned_of() {
        use crate::limits::{ApiLimit, Metric, Quota, RateLimits};
        use crate::store::MemoryStore;
        use crate::store::hooked::Hooked;

        let builder = |limits| Adapter::builder("hotel").without_config().rate_limits(limits);
        let monthly = || RateLimits::new().quota(Quota::new(Metric::CostPerMonth).hard_stop(5));
        let warning = builder(monthly()).build().unwrap().forgotten_limits().unwrap();
        assert!(warning.contains("for cost_per_month is kept in memory"), "{warning}");
        let shared = std::sync::Arc::new(MemoryStore::default());
        assert!(builder(monthly()).store(shared).build().unwrap().forgotten_limits().is_some());
        let lasting = builder(monthly()).store(Hooked::new(())).build().unwrap();
        assert_eq!(lasting.forgotten_limits(), None);
        let short = builder(RateLimits::new().limit(ApiLimit::global(5))).build().unwrap();
        assert_eq!(short.forgotten_limits(), None);
    }

    #[test]
    fn refusals_are_free_of_leak_patterns() {
        for expected in [CANCELLABLE, RETRYABLE] {
            assert!(!leaks_internals(expected), "{expected}");
        }
        let denied = "Permission denied: 'operation execute_export does not support cancel'";
        assert!(!leaks_internals(denied));
        let secret = "names an execution whose parameters are secret, and were known only to the \
                      process it ran in: call its operation anew";
        assert!(!leaks_internals(secret));
    }
}
