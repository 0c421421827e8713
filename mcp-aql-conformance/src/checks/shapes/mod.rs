//! Checks of the form of results of all operations.

mod data;
mod envelope;
mod values;

use serde_json::Value;

use super::{Body, Check, of_level_1 as check, should};
use crate::call::Exchange;

pub(super) const CHECKS: &[Check] = &[
    check(
        "shapes.union",
        "Every result has the boolean `success`",
        &["REQ-RSP-01"],
        Body::Every(envelope::union),
    ),
    check(
        "shapes.success",
        "A success has `data`, no `error` and no unknown members",
        &["REQ-RSP-02", "REQ-RSP-05"],
        Body::Every(envelope::success),
    ),
    check(
        "shapes.failure",
        "A failure has `error`, no `data` and no unknown members",
        &["REQ-RSP-03", "REQ-RSP-06", "REQ-RSP-07"],
        Body::Every(envelope::failure),
    ),
    check(
        "shapes.meta",
        "`_meta` of a success, if present, has the form of the protocol",
        &["REQ-RSP-08", "REQ-RSP-09"],
        Body::Every(envelope::meta),
    ),
    check(
        "shapes.warnings",
        "`warnings` of a success, if present, have the form of the protocol",
        &["REQ-WRN-01", "REQ-WRN-02"],
        Body::Every(envelope::warnings),
    ),
    should(check(
        "shapes.warnings_order",
        "A result has at most 10 unique warnings, ordered by severity",
        &["REQ-WRN-04", "REQ-WRN-10", "REQ-WRN-11"],
        Body::Every(envelope::warnings_order),
    )),
    should(check(
        "shapes.collection_items",
        "A list is in `data.items`",
        &["REQ-RSP-11"],
        Body::Every(data::collection_items),
    )),
    should(check(
        "shapes.single_wrapped",
        "A single item is in `data` under the name of its resource",
        &["REQ-RSP-11"],
        Body::Every(data::single_wrapped),
    )),
    should(check(
        "shapes.as_typed",
        "Results have the fields of the documented type, and created items have no others",
        &["REQ-INT-22", "REQ-INT-20"],
        Body::Every(data::as_typed),
    )),
    check(
        "shapes.dates",
        "Dates and instants in results have the format of ISO 8601",
        &["REQ-ENC-03"],
        Body::Every(values::dates),
    ),
    should(check(
        "shapes.instants",
        "Instants in results are in UTC and end with Z",
        &["REQ-ENC-04"],
        Body::Every(values::instants),
    )),
    should(check(
        "shapes.big_numbers",
        "Numbers beyond 9007199254740991 are sent as text",
        &["REQ-ENC-05"],
        Body::Every(values::big_numbers),
    )),
    check(
        "shapes.confirmation_mirror",
        "`confirmation` of a failure, if present, agrees with its details",
        &["REQ-RSP-10"],
        Body::Every(envelope::confirmation_mirror),
    ),
];

/// Whether a call is a batch.
pub(super) fn is_batch(exchange: &Exchange) -> bool {
    exchange.arguments.get("operations").is_some()
}

/// The operation results in a reply with their operations: the reply's own one, and those of the items of a
/// batch.
pub(super) fn results(exchange: &Exchange) -> Vec<(&str, &Value)> {
    let Some(body) = exchange.body() else { return Vec::new() };
    let items = body.get("results").filter(|_| is_batch(exchange)).and_then(Value::as_array);
    let halted = body.get("halted_at").filter(|_| is_batch(exchange));
    let items = items.into_iter().flatten().chain(halted).filter_map(|item| {
        let operation = item.get("operation").and_then(Value::as_str).unwrap_or_default();
        Some((operation, item.get("result")?))
    });
    std::iter::once((exchange.operation(), body)).chain(items).collect()
}

/// The subject of a finding: the operation, or the tool if the call names none.
pub(super) fn subject(exchange: &Exchange) -> &str {
    match exchange.operation() {
        "" if is_batch(exchange) => "a batch",
        "" => &exchange.tool,
        operation => operation,
    }
}

/// The result of a success.
fn of_success(exchange: &Exchange) -> Option<&Value> {
    exchange.body().filter(|_| exchange.succeeded())
}
