//! Run: calls the author's function, begins an execution, or answers `introspect`.

use std::sync::Arc;

use futures_util::future::Either;

use super::Pipeline;
use super::admit::AdmittedCall;
use super::validate::{ValidCall, log_ignored_parameters};
use crate::error::OperationError;
use crate::error::warning::Warning;
use crate::gatekeeper::GatedOperation;
use crate::observe::logging::CALLS;
use crate::observe::redact::redacted;
use crate::operation::{Call, Context, Handler, Outcome, Run, Usage, UsageRecorder};
use crate::util::erased;
use crate::vocab::ReplyLimits;

impl Pipeline {
    /// Runs an admitted call. A function that need not wait for other calls starts before the returned future is
    /// polled.
    pub(super) fn run<'a>(
        &'a self,
        operation: &'a GatedOperation,
        mut admitted: AdmittedCall,
        context: &'a Context,
        limits: ReplyLimits,
    ) -> impl Future<Output = Outcome> + Send + 'a {
        if operation.spec.deprecated.is_some() {
            let view = self.views.of(context.principal(), &self.catalog);
            let today = chrono::Utc::now().date_naive();
            if let Some(deprecation) = view.registry.deprecation(&operation.spec) {
                context.warn(Warning::deprecated(
                    "operation",
                    &operation.name,
                    &deprecation,
                    today,
                ));
            }
        }
        let warnings = std::mem::take(&mut admitted.call.valid.warnings);
        log_ignored_parameters(operation, &warnings);
        warnings.into_iter().for_each(|warning| context.warn(warning));
        match &operation.handler {
            Handler::Function(function) if operation.spec.lifecycle.is_none() => {
                Either::Left(self.run_function(operation, admitted.call, function, context, limits))
            }
            // Boxed to keep the future of an ordinary call small.
            _ => Either::Right(erased(
                self.run_execution_or_introspection(operation, admitted, context, limits),
            )),
        }
    }

    fn run_function<'a>(
        &'a self,
        operation: &'a GatedOperation,
        call: ValidCall,
        function: &'a Arc<dyn Run>,
        context: &'a Context,
        limits: ReplyLimits,
    ) -> impl Future<Output = Outcome> + Send + 'a {
        let valid = call.valid;
        let call = Call {
            arguments: valid.arguments.into_iter(),
            context: context.of(operation.spec.name),
            states: Arc::clone(&self.states),
            envelope: operation.envelope.clone(),
            limits,
            execution: None,
            composites: valid.composites,
        };
        if tracing::enabled!(tracing::Level::DEBUG) {
            let arguments = call.arguments.as_slice();
            let params = redacted(&operation.parameters, arguments, &self.catalog.shapes);
            tracing::debug!(target: CALLS, %params, "operation called");
        }
        let (category, timeout) = (operation.spec.category, operation.spec.timeout_seconds);
        self.concurrency.run_in_turn(category, timeout, context, || function.run(call))
    }

    /// Starts an execution, runs an operation on executions, or answers `introspect`.
    async fn run_execution_or_introspection(
        &self,
        operation: &GatedOperation,
        admitted: AdmittedCall,
        context: &Context,
        limits: ReplyLimits,
    ) -> Outcome {
        let context = context.of(operation.spec.name);
        match &operation.handler {
            Handler::Function(function) => {
                self.begin_execution(operation, admitted, function, &context, limits).await
            }
            Handler::Execution(which) => {
                self.call_on_execution(*which, operation, admitted, &context, limits).await
            }
            Handler::Introspect => self.introspect(admitted.call, &context).await,
        }
    }

    async fn introspect(&self, call: ValidCall, context: &Context) -> Outcome {
        let catalog = self.views.of(context.principal(), &self.catalog);
        let session = context.session();
        let answer = catalog.introspection.answer(call.valid.arguments, session, &*catalog);
        // Errors of `introspect` have no details (REQ-INT-28).
        answer.await.map_err(OperationError::without_details)
    }
}

/// Records the usage reported by an operation since the last record.
pub(super) async fn record_usage(recorder: Option<&dyn UsageRecorder>, context: &Context) {
    let Some(recorder) = recorder else { return };
    let usage = context.take_usage();
    if usage != Usage::default() {
        // Boxed to keep the future of a call without reported usage small.
        Box::pin(recorder.record(usage)).await;
    }
}
