//! Starts executions, and restarts failed ones.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Pipeline;
use super::admit::AdmittedCall;
use super::observe::{PendingEvent, within_span};
use super::run::record_usage;
use super::validate::ValidCall;
use crate::error::OperationError;
use crate::execution::{Begin, ExecutionRecord, NewExecution, Work};
use crate::gatekeeper::GatedOperation;
use crate::observe::redact::redacted;
use crate::operation::{Call, Context, ExecutionContext, Outcome, Run};
use crate::schema::Argument;
use crate::schema::spec::LifecycleSpec;
use crate::vocab::ReplyLimits;

/// Bytes reserved for the execution's state, in addition to its result.
const ENVELOPE_BYTES: usize = 32 << 10;

impl Pipeline {
    /// Starts an execution and replies with its state (REQ-LIF-04).
    pub(super) async fn begin_execution(
        &self,
        operation: &GatedOperation,
        admitted: AdmittedCall,
        function: &Arc<dyn Run>,
        context: &Context,
        limits: ReplyLimits,
    ) -> Outcome {
        let AdmittedCall { mut call, permit, slot } = admitted;
        let arguments = &call.valid.arguments;
        let shown = redacted(&operation.parameters, arguments, &self.catalog.shapes);
        let whole = plain(arguments);
        let secret = operation.parameters.iter().any(|it| it.spec.sensitive)
            || shown.as_object() != Some(&whole);
        let params = call.sent.take().map(|sent| {
            let mut sent = *sent;
            // Validation has moved the parameters of composite arguments out of `arguments`, so take them from the sent
            // parameters.
            sent.retain(|name, _| operation.parameters.iter().any(|it| &*it.name == name.as_str()));
            sent.extend(whole);
            sent
        });
        let new = NewExecution {
            operation: operation.spec.name,
            session: context.session().cloned(),
            principal: context.principal().cloned(),
            slot: slot.ok_or_else(no_slot)?,
            params,
            secret,
            starts_immediately: self.concurrency.is_open(),
            audit_params: self.services.audit.is_read().then_some(shown),
        };
        let work = self.work(operation, call, function, context);
        let id = match self.executions.begin(new, work).await {
            Ok(id) => id,
            Err(error) => {
                permit.release().await;
                return Err(error.into());
            }
        };
        self.attend(operation.spec.lifecycle, &id, context).await?;
        self.execution_state(&id, context, limits).await
    }

    /// Restarts a failed execution. Returns `false` if a concurrent call has already restarted it.
    pub(super) async fn restart_execution(
        &self,
        (id, failed): (&str, &ExecutionRecord),
        operation: &GatedOperation,
        admitted: AdmittedCall,
        function: &Arc<dyn Run>,
        context: &Context,
    ) -> Result<bool, OperationError> {
        let AdmittedCall { call, permit, slot } = admitted;
        let lifecycle = operation.spec.lifecycle;
        let place = (context.session().cloned(), slot.ok_or_else(no_slot)?);
        let work = self.work(operation, call, function, context);
        let begun = self.executions.start_retry(id, failed, place, work).await;
        if !matches!(begun, Ok(true)) {
            permit.release().await;
        }
        if !begun? {
            return Ok(false);
        }
        self.attend(lifecycle, id, context).await?;
        Ok(true)
    }

    /// Creates the future for the task of an execution. It runs an ordinary call once the limit of concurrent calls
    /// permits it.
    fn work(
        &self,
        operation: &GatedOperation,
        call: ValidCall,
        function: &Arc<dyn Run>,
        context: &Context,
    ) -> Work {
        let valid = call.valid;
        let (category, timeout) = (operation.spec.category, operation.spec.timeout_seconds);
        // The result becomes a part of the execution's state, and the state may be a part of a batch reply.
        let limits = ReplyLimits::new(&self.settings.limits).of_execution(ENVELOPE_BYTES);
        let function = Arc::clone(function);
        let states = Arc::clone(&self.states);
        let envelope = operation.envelope.clone();
        let concurrency = Arc::clone(&self.concurrency);
        let usage = self.usage.clone();
        let (observers, spec) = (self.observers.clone(), operation.spec);
        let parent = observers.tracer().and_then(|tracer| tracer.active());
        let context = context.clone();
        Box::new(move |execution: ExecutionContext, begin: Begin| {
            let context = context.of_execution(execution.clone());
            let (id, parent) = (execution.id(), parent.as_ref());
            let observed = PendingEvent::begin_execution(&observers, spec, id, &context, parent);
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
                let run =
                    std::pin::pin!(concurrency.run_in_turn(category, timeout, &context, start));
                let outcome = within_span(observed.as_ref(), run).await;
                record_usage(usage.as_deref(), &context).await;
                if let Some(observed) = observed {
                    observed.ended(&outcome);
                }
                outcome
            })
        })
    }

    /// Waits for the execution if the caller requested progress. If the caller cancels its request, the execution is
    /// canceled too.
    async fn attend(
        &self,
        lifecycle: Option<LifecycleSpec>,
        id: &str,
        context: &Context,
    ) -> Result<(), OperationError> {
        let executions = &self.executions;
        if !context.wants_progress() {
            return Ok(());
        }
        executions.wait(id, context, executions.options().wait).await?;
        if context.is_cancelled() && lifecycle.is_some_and(|life| life.cancel) {
            executions.request_stop(id).await?;
        }
        Ok(())
    }
}

/// Creates the error for a missing slot. The stage admit prevents this case.
fn no_slot() -> OperationError {
    OperationError::internal("an admitted execution has no slot")
}

/// Returns the arguments with values, including defaults.
fn plain(arguments: &[Argument]) -> Map<String, Value> {
    arguments
        .iter()
        .filter_map(|argument| Some((argument.name.to_owned(), argument.value.clone()?)))
        .collect()
}
