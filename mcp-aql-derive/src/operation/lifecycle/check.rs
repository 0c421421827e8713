//! The rules of background operations, one function per rule.

use darling::error::Accumulator;
use mcp_aql_protocol::SemanticCategory;

use super::super::OperationModel;
use super::Lifecycle;
use crate::support::fault;

/// Checks every rule of `lifecycle(…)` and `ExecutionContext`.
pub(in crate::operation) fn run(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    match &operation.lifecycle {
        Some(lifecycle) => {
            only_execute_has_one(lifecycle, operation, errors);
            function_is_async(operation, errors);
            progress_needs_execution_context(lifecycle, operation, errors);
        }
        None => executions_have_one(operation, errors),
    }
}

/// Rejects `lifecycle` on operations other than EXECUTE (MCP-AQL §8.4).
fn only_execute_has_one(
    lifecycle: &Lifecycle,
    operation: &OperationModel<'_>,
    errors: &mut Accumulator,
) {
    if let Some(category) = operation.category.as_deref()
        && *category != SemanticCategory::Execute
    {
        errors.push(fault(
            lifecycle.span,
            format_args!(
                "`lifecycle` is for EXECUTE operations, and `{}` is {}: write `category = \"EXECUTE\"`, or leave `lifecycle` out (MCP-AQL §8.4)",
                operation.name.text,
                category.as_str()
            ),
        ));
    }
}

/// Requires an async function. A blocking function would occupy a worker thread for the whole execution.
fn function_is_async(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let signature = operation.signature;
    if signature.asyncness.is_none() {
        errors.push(fault(
            signature.fn_token.span,
            "an operation with a `lifecycle` runs in the background, where a function that is not `async` would block a worker: write `async fn`",
        ));
    }
}

/// Requires an `ExecutionContext` for `progress`, because only its methods report progress.
///
/// `cancel` does not need one: a function that does not watch for cancellation is dropped at its next await point,
/// after a grace period.
fn progress_needs_execution_context(
    lifecycle: &Lifecycle,
    operation: &OperationModel<'_>,
    errors: &mut Accumulator,
) {
    if let Some(progress) = lifecycle.progress
        && operation.executions().next().is_none()
    {
        errors.push(fault(
            progress,
            format_args!(
                "`{}` has no `ExecutionContext`, so it cannot report progress: write an argument `execution: ExecutionContext`, or leave `progress` out",
                operation.name.text
            ),
        ));
    }
}

/// Rejects an `ExecutionContext` without a lifecycle, because a foreground call has no execution.
fn executions_have_one(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    for span in operation.executions() {
        let remedy = if operation.is(SemanticCategory::Execute) {
            "write `lifecycle(…)` in `#[operation(…)]`, or use the call's `Context`"
        } else {
            "write `category = \"EXECUTE\"` and `lifecycle(…)`, or use the call's `Context`"
        };
        errors.push(fault(
            span,
            format_args!(
                "`{}` has no `lifecycle`, so there is no `ExecutionContext` for it: {remedy}",
                operation.name.text
            ),
        ));
    }
}
