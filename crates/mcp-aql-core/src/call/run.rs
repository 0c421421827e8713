//! Run: calls the author's function, begins an execution, or answers `introspect`.

use std::sync::Arc;

use super::Pipeline;
use super::admit::AdmittedCall;
use super::validate::ValidCall;
use crate::error::OperationError;
use crate::future::erased;
use crate::log_targets::CALLS;
use crate::operation::{
    Call, Context, Handler, Outcome, RegisteredOperation, Run, Usage, UsageRecorder,
};
use crate::redact::redacted;
use crate::validate::ValidParams;
use crate::vocab::ReplyLimits;
use crate::warning::{Severity, Warning};

impl Pipeline {
    /// Runs an admitted call.
    pub(super) async fn run(
        &self,
        admitted: AdmittedCall<'_>,
        context: &Context,
        limits: ReplyLimits,
    ) -> Outcome {
        let operation = admitted.call.operation;
        let context = context.of(operation.spec.name).remembering(self.upstream.clone());
        add_warnings(operation, &admitted.call.valid, &context);
        match &operation.handler {
            Handler::Function(function) if operation.spec.lifecycle.is_some() => {
                erased(self.begin_execution(admitted, function, &context, limits)).await
            }
            Handler::Function(function) => {
                self.run_function(admitted.call, function, context, limits).await
            }
            Handler::Execution(which) => {
                erased(self.call_on_execution(*which, admitted, &context, limits)).await
            }
            Handler::Introspect => self.introspect(admitted.call, &context).await,
        }
    }

    async fn run_function(
        &self,
        call: ValidCall<'_>,
        function: &Arc<dyn Run>,
        context: Context,
        limits: ReplyLimits,
    ) -> Outcome {
        let ValidCall { operation, valid, .. } = call;
        let call = Call {
            arguments: valid.arguments.into_iter(),
            context: context.clone(),
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
        let category = operation.spec.category;
        let outcome = self.concurrency.run(category, &context, || function.run(call)).await;
        record_usage(self.usage.as_deref(), &context).await;
        outcome
    }

    async fn introspect(&self, call: ValidCall<'_>, context: &Context) -> Outcome {
        let catalog = &self.catalog;
        let session = context.session();
        let answer = catalog.introspection.answer(call.valid.arguments, session, catalog);
        // Failures of `introspect` have no details (REQ-INT-28).
        answer.await.map_err(OperationError::without_details)
    }
}

/// Counts the usage that an operation has reported so far.
pub(super) async fn record_usage(recorder: Option<&dyn UsageRecorder>, context: &Context) {
    let Some(recorder) = recorder else { return };
    let usage = context.take_usage();
    if usage != Usage::default() {
        // Boxed, so that the future of a call without reports stays small.
        Box::pin(recorder.record(usage)).await;
    }
}

/// Adds warnings about deprecated names, and about names that lenient mode ignored (REQ-WRN-07,
/// REQ-UNK-08).
fn add_warnings(operation: &RegisteredOperation, valid: &ValidParams, context: &Context) {
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
        tracing::warn!(target: CALLS, operation = &*operation.name, parameter = name, "unknown parameter ignored");
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
