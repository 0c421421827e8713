//! The operations on executions: get, list, cancel and retry.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value};

use super::Pipeline;
use super::admit::AdmittedCall;
use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::execution::{ExecutionRecord, ExecutionState, PAGE_SIZES, Status};
use crate::gatekeeper::{GatedOperation, RetryCall};
use crate::operation::{
    Context, Envelope, ExecutionCall, Handler, OperationReturn, Outcome, ReplyWriter,
};
use crate::paging::{Page, PageRequest};
use crate::request::Credentials;
use crate::schema::Argument;
use crate::schema::spec::LifecycleSpec;
use crate::vocab::ReplyLimits;

/// A call of an operation on an execution.
struct ExecutionRequest<'a> {
    operation: &'a GatedOperation,
    arguments: &'a [Argument],
    credentials: &'a Credentials,
}

impl<'a> ExecutionRequest<'a> {
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

impl Pipeline {
    /// Runs an operation on an execution.
    pub(super) async fn call_on_execution(
        &self,
        which: ExecutionCall,
        operation: &GatedOperation,
        admitted: AdmittedCall,
        context: &Context,
        limits: ReplyLimits,
    ) -> Outcome {
        let call = &admitted.call;
        let request = ExecutionRequest {
            operation,
            arguments: &call.valid.arguments,
            credentials: &call.credentials,
        };
        let id = request.id();
        match which {
            ExecutionCall::Get => {
                let seconds = request.number("wait_seconds");
                if seconds > 0 {
                    self.find_execution(id, context).await?;
                    self.executions.wait(id, context, Duration::from_secs(seconds)).await?;
                }
            }
            ExecutionCall::List => return self.list_executions(&request, context, limits).await,
            ExecutionCall::Cancel => self.cancel_execution(id, context).await?,
            ExecutionCall::Retry => self.retry_execution(&request, context).await?,
        }
        self.execution_state(id, context, limits).await
    }

    /// Returns `true` if the caller has started this execution.
    fn is_own(record: &ExecutionRecord, context: &Context) -> bool {
        record.account.as_deref() == context.principal().map(Principal::account)
    }

    /// Returns an execution visible to the caller. Callers see their own executions, and callers with the administrator
    /// scope see all of them.
    async fn find_execution(
        &self,
        id: &str,
        context: &Context,
    ) -> Result<ExecutionRecord, OperationError> {
        let principal = context.principal();
        let is_shown = |record: &ExecutionRecord| {
            Self::is_own(record, context)
                || principal.is_some_and(|it| it.has_scope(&self.settings.access.administrator))
        };
        let found = self.executions.get(id).await?.filter(is_shown);
        found.ok_or_else(|| OperationError::not_found("execution", id))
    }

    pub(super) async fn execution_state(
        &self,
        id: &str,
        context: &Context,
        limits: ReplyLimits,
    ) -> Outcome {
        let mut record = self.find_execution(id, context).await?;
        if record.status == Status::Completed {
            self.executions.read_output(id, &mut record).await?;
        }
        let state = ExecutionState::new(id, record, true);
        state.write(ReplyWriter::new(&Envelope::Bare, limits).with_context(context))
    }

    async fn list_executions(
        &self,
        request: &ExecutionRequest<'_>,
        context: &Context,
        limits: ReplyLimits,
    ) -> Outcome {
        let (status, operation) = (request.text("status"), request.text("operation_name"));
        // Each principal, and each session without a principal, has its own list.
        let owner = context.execution_account();
        let name = request.operation.spec.name;
        let key = &self.settings.cursor_key;
        let mut warnings = Vec::new();
        let request = PageRequest::read(
            name,
            Some(owner.unwrap_or("-")),
            request.arguments,
            PAGE_SIZES,
            key,
            &mut warnings,
        )?;
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
        self.executions.visit(owner, after.as_deref(), visit).await?;
        let cursors = page.cursors(|(id, _)| id);
        let (listed, info) = page.finish(|(id, _)| id);
        let items = listed.into_iter().map(|(id, record)| ExecutionState::new(&id, record, false));
        let page = Page { cursors: Some(Arc::new(cursors)), ..Page::new(items.collect(), info) };
        page.write(ReplyWriter::new(&Envelope::Bare, limits).with_context(context))
    }

    /// Cancels an execution and waits for its end. Repeated calls have no further effect.
    async fn cancel_execution(&self, id: &str, context: &Context) -> Result<(), OperationError> {
        let record = self.find_execution(id, context).await?;
        let executions = &self.executions;
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
        // The execution has ended in the meantime.
        let record = self.find_execution(id, context).await?;
        if record.status == Status::Cancelled {
            return Ok(());
        }
        Err(not_in(id, &record, CANCELLABLE))
    }

    /// Runs a failed execution again, after its operation's gates have admitted the call.
    async fn retry_execution(
        &self,
        request: &ExecutionRequest<'_>,
        context: &Context,
    ) -> Result<(), OperationError> {
        let id = request.id();
        let mut record = self.find_execution(id, context).await?;
        if !Self::is_own(&record, context) {
            // The function would run with the identity of the administrator, but its result would belong to another
            // principal.
            return Err(OperationError::permission_denied(
                "only the principal of an execution can retry it",
            ));
        }
        if !self.lifecycle_of(&record).is_some_and(|life| life.retry) {
            return Err(unsupported(&record, "retry"));
        }
        if record.status != Status::Failed {
            return Err(not_in(id, &record, RETRYABLE));
        }
        let params = self.retry_params(id, &mut record).await?;
        let entry = self.catalog.registry.get(&record.operation);
        let Some((operation, Handler::Function(function))) =
            entry.map(|entry| (&entry.operation, &entry.operation.handler))
        else {
            return Err(unsupported(&record, "retry"));
        };
        if let Err(error) = self.permit(operation, context.scope()) {
            self.audit_denial(operation, context.scope(), &error).await;
            return Err(error);
        }
        let (params, credentials) = (params.into(), request.credentials.clone());
        let valid = self.validate(operation, params, credentials, context.scope())?;
        let context = context.of(operation.spec.name);
        let retry =
            RetryCall { permission: &request.operation.permission, arguments: request.arguments };
        let admitted = self.admit(operation, valid, &context, Some(retry)).await?;
        if !self.restart_execution((id, &record), operation, admitted, function, &context).await? {
            // A concurrent retry was faster.
            let record = self.find_execution(id, &context).await?;
            return Err(not_in(id, &record, RETRYABLE));
        }
        Ok(())
    }

    /// Returns the parameters for a retry. Parameters from the store are also added to the record.
    async fn retry_params(
        &self,
        id: &str,
        record: &mut ExecutionRecord,
    ) -> Result<Map<String, Value>, OperationError> {
        let executions = &self.executions;
        executions.read_output(id, record).await?;
        let params = record.params.clone().or_else(|| executions.sensitive_params(id));
        params.ok_or_else(|| {
            // The process that ran the execution keeps its sensitive parameters in memory, until they are dropped.
            let is_dropped = record.output_dropped || executions.has_run(record);
            let problem = if is_dropped { DROPPED } else { SECRET };
            OperationError::invalid_value("execution_id", problem)
                .with_detail("operation", record.operation.clone())
        })
    }

    fn lifecycle_of(&self, record: &ExecutionRecord) -> Option<LifecycleSpec> {
        self.catalog.registry.get(&record.operation)?.operation.spec.lifecycle
    }
}

const CANCELLABLE: &str = "must name an execution in state 'pending' or 'running'";
const RETRYABLE: &str = "must name an execution in state 'failed'";
const SECRET: &str = "names an execution with secret parameters, and only the process of this execution had \
                      them: call the operation again";
const DROPPED: &str = "names an execution whose parameters are no longer stored, because newer executions \
                       use the space: call the operation again";

/// Creates the error for an execution whose status does not allow the operation (`VALIDATION_INVALID_VALUE`).
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

/// Creates the error for an operation without support for cancel or retry (`PERMISSION_DENIED`).
fn unsupported(record: &ExecutionRecord, what: &str) -> OperationError {
    let operation = &record.operation;
    OperationError::permission_denied(format!("operation {operation} does not support {what}"))
        .with_detail("operation", operation.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::leaks_internals;

    #[test]
    fn refusals_are_free_of_leak_patterns() {
        for expected in [CANCELLABLE, RETRYABLE, SECRET, DROPPED] {
            assert!(!leaks_internals(expected), "{expected}");
        }
        let denied = "Permission denied: 'operation execute_export does not support cancel'";
        assert!(!leaks_internals(denied));
    }
}
