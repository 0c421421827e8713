//! Calls shared by several areas of checks, with valid parameters or with parameters to reject.

use serde_json::{Map, Value};

use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::pages;
use crate::run::Run;

/// Returns the READ operations with this parameter. If there are none, the adapter lacks the feature, and the check is
/// not applicable.
pub(super) fn having<'a>(run: &'a Run, parameter: &str, cases: &Cases) -> Vec<&'a Operation> {
    cases.some_or_not_applicable(
        run.adapter.reads().filter(|operation| operation.parameter(parameter).is_some()),
        format!("no READ operation documents `{parameter}`"),
    )
}

/// Returns the parameters of a valid call. Skips the case if no valid call is known.
pub(super) fn valid(run: &Run, operation: &Operation, cases: &Cases) -> Option<Map<String, Value>> {
    cases.ok_or_skip(run.valid(operation))
}

/// Returns the parameters of a valid call extended by `more`. Skips the case if no valid call is known.
pub(super) fn valid_with(
    run: &Run,
    operation: &Operation,
    more: impl IntoIterator<Item = (impl Into<String>, Value)>,
    cases: &Cases,
) -> Option<Map<String, Value>> {
    let mut params = valid(run, operation, cases)?;
    params.extend(more.into_iter().map(|(name, value)| (name.into(), value)));
    Some(params)
}

/// Returns the parameters of a valid call, or of a call for items that do not exist. Skips the case if neither is
/// known.
///
/// Use this if your check only needs a reply, and not a success.
pub(super) fn valid_or_missing(
    run: &Run,
    operation: &Operation,
    cases: &Cases,
) -> Option<Map<String, Value>> {
    cases.ok_or_skip(run.valid(operation).or_else(|_| run.with_missing_ids(operation)))
}

/// Calls an operation with valid parameters extended by `more`.
pub(super) async fn call_with(
    run: &Run,
    operation: &Operation,
    more: impl IntoIterator<Item = (impl Into<String>, Value)>,
    cases: &Cases,
) -> Option<Exchange> {
    run.call(operation, valid_with(run, operation, more, cases)?, cases).await
}

/// Calls an operation with valid parameters extended by `more`, expecting that the adapter may reject `more`.
///
/// Use this instead of `call_with` for mistakes in `more`. It skips the case if an adapter that wrongly accepts the
/// call could change data without permission.
pub(super) async fn refused_with(
    run: &Run,
    operation: &Operation,
    more: impl IntoIterator<Item = (impl Into<String>, Value)>,
    cases: &Cases,
) -> Option<Exchange> {
    run.refused_call(operation, valid_with(run, operation, more, cases)?, cases).await
}

/// Returns `true` if a call was rejected for its parameters.
///
/// A failure without a readable code counts as a rejection, because another check reports the malformed error.
pub(super) fn is_refused(exchange: &Exchange) -> bool {
    exchange.is_rejected() && exchange.code().is_none_or(|code| code.starts_with("VALIDATION_"))
}

/// Reads all items of a list. Returns them with the parameters of the call.
pub(super) async fn all_items<'r>(
    run: &'r Run,
    operation: &Operation,
    cases: &Cases,
) -> Option<(Map<String, Value>, pages::Items<'r>)> {
    let params = valid(run, operation, cases)?;
    let items = pages::all_shared(run, operation, params.clone(), cases).await?;
    Some((params, items))
}
