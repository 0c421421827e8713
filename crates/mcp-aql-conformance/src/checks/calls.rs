//! Calls that checks of several areas make: with valid parameters, and with parameters that must be rejected.

use serde_json::{Map, Value};

use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::pages;
use crate::run::Run;

/// Returns the READ operations with this parameter. Without such operations, the adapter does not have the
/// feature.
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

/// Returns the parameters of a valid call with these added. Skips the case if no valid call is known.
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

/// Returns the parameters of a valid call, or of one that names missing items. Skips the case if neither is
/// known.
pub(super) fn valid_or_missing(
    run: &Run,
    operation: &Operation,
    cases: &Cases,
) -> Option<Map<String, Value>> {
    cases.ok_or_skip(run.valid(operation).or_else(|_| run.with_missing_ids(operation)))
}

/// Calls an operation with these parameters, which are added to valid ones.
pub(super) async fn call_with(
    run: &Run,
    operation: &Operation,
    more: impl IntoIterator<Item = (impl Into<String>, Value)>,
    cases: &Cases,
) -> Option<Exchange> {
    run.call(operation, valid_with(run, operation, more, cases)?, cases).await
}

/// Calls an operation that may have to reject these parameters, which are added to valid ones.
pub(super) async fn refused_with(
    run: &Run,
    operation: &Operation,
    more: impl IntoIterator<Item = (impl Into<String>, Value)>,
    cases: &Cases,
) -> Option<Exchange> {
    run.refused_call(operation, valid_with(run, operation, more, cases)?, cases).await
}

/// Whether a call was rejected for its parameters. A failure without a readable code counts as a rejection:
/// that form is the finding of another check.
pub(super) fn is_refused(exchange: &Exchange) -> bool {
    exchange.is_rejected() && exchange.code().is_none_or(|code| code.starts_with("VALIDATION_"))
}

/// Checks that an operation rejects these parameters, which are added to valid ones. Returns `None` if the
/// call could not be made.
pub(super) async fn expect_refused(
    run: &Run,
    operation: &Operation,
    more: impl IntoIterator<Item = (impl Into<String>, Value)>,
    (subject, expected, fix): (impl Into<String>, impl Into<String>, &str),
    cases: &Cases,
) -> Option<()> {
    let exchange = refused_with(run, operation, more, cases).await?;
    cases.expect(is_refused(&exchange), || Finding::of(&exchange, subject, expected, fix));
    Some(())
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
