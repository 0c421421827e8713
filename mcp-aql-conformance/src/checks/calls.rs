//! Calls that checks of several areas make: with valid parameters, and with parameters that must be rejected.

use serde_json::{Map, Value};

use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::run::{Run, arguments};

/// Returns the READ operations with this parameter. Without such operations, the adapter does not have the
/// feature.
pub(super) fn having<'a>(run: &'a Run, parameter: &str, cases: &Cases) -> Vec<&'a Operation> {
    let having: Vec<_> =
        run.adapter.reads().filter(|operation| operation.parameter(parameter).is_some()).collect();
    if having.is_empty() {
        cases.not_applicable(format!("no READ operation documents `{parameter}`"));
    }
    having
}

/// Whether a call was rejected for its parameters.
pub(super) fn is_refused(exchange: &Exchange) -> bool {
    exchange.code().is_some_and(|code| code.starts_with("VALIDATION_"))
}

/// Returns the parameters of a valid call with these added. Skips the case if no valid call is known.
pub(super) fn params_with<const N: usize>(
    run: &Run,
    operation: &Operation,
    more: [(&str, Value); N],
    cases: &Cases,
) -> Option<Map<String, Value>> {
    let mut params = cases.ok_or_skip(run.valid(operation))?;
    params.extend(more.map(|(name, value)| (name.to_owned(), value)));
    Some(params)
}

/// Calls an operation that may have to reject these parameters, which are added to valid ones.
pub(super) async fn refused_with<const N: usize>(
    run: &Run,
    operation: &Operation,
    more: [(&str, Value); N],
    cases: &Cases,
) -> Option<Exchange> {
    let params = params_with(run, operation, more, cases)?;
    run.refused(&operation.tool, arguments(&operation.name, params), cases).await
}
