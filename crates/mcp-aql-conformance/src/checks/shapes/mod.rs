//! Checks of the form of results, for all operations.

mod data;
mod envelope;
mod values;

use serde_json::Value;

use super::{Check, checks};
use crate::call::Exchange;

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "shapes.union" => Every(envelope::union), ["REQ-RSP-01"],
        "Every result has the boolean `success`",
        expected: "an object with `success`: true or false",
        fix: "return {\"success\": true, \"data\": …} or {\"success\": false, \"error\": …}";
    Must 1 "shapes.success" => Every(envelope::success), ["REQ-RSP-02", "REQ-RSP-05"],
        "A success has `data`, no `error` and no unknown members",
        fix: "return `data`, which may be null, in a success, and put other members into `data` or `_meta`";
    Must 1 "shapes.failure" => Every(envelope::failure), ["REQ-RSP-03", "REQ-RSP-06", "REQ-RSP-07"],
        "A failure has `error`, no `data` and no unknown members",
        fix: "return {\"success\": false, \"error\": {\"code\": …, \"message\": …}}, and put other members into \
         `error.details`";
    Must 1 "shapes.meta" => Every(envelope::meta), ["REQ-RSP-08", "REQ-RSP-09"],
        "`_meta` of a success, if present, has the form of the protocol",
        expected: "`_meta` as an object: {faults}",
        fix: "make `_meta.request_id` a string and `_meta.duration_ms` a number that is not negative";
    Must 1 "shapes.warnings" => Every(envelope::warnings), ["REQ-WRN-01", "REQ-WRN-02"],
        "`warnings` of a success, if present, have the form of the protocol",
        expected: "`warnings` as a list: {faults}",
        fix: "return `code` and `message` in each warning, and optionally `details` and `severity`: low, medium or \
         high";
    Should 1 "shapes.warnings_order" => Every(envelope::warnings_order),
        ["REQ-WRN-04", "REQ-WRN-10", "REQ-WRN-11"],
        "A result has at most 10 unique warnings, ordered by severity",
        fix: "sort warnings by `severity`, remove duplicates, and keep the first ten";
    Should 1 "shapes.collection_items" => Every(data::collection_items), ["REQ-RSP-11"],
        "A list is in `data.items`",
        expected: "a list in `data.items`",
        fix: "put the items of every list into `data.items`";
    Should 1 "shapes.single_wrapped" => Every(data::single_wrapped), ["REQ-RSP-11"],
        "A single item is in `data`, directly or under the name of its resource";
    Should 1 "shapes.as_typed" => Every(data::as_typed), ["REQ-INT-22", "REQ-INT-20"],
        "Results have the fields of the documented type, and created items have no others",
        fix: "generate the documented type from the returned one";
    Must 1 "shapes.dates" => Every(values::dates), ["REQ-ENC-03"],
        "Dates and instants in results have the format of ISO 8601",
        fix: "send dates and instants as ISO 8601 strings";
    Should 1 "shapes.instants" => Every(values::instants), ["REQ-ENC-04"],
        "Instants in results are in UTC and end with Z",
        fix: "convert instants to UTC before sending them";
    Should 1 "shapes.big_numbers" => Every(values::big_numbers), ["REQ-ENC-05"],
        "Numbers beyond 9007199254740991 are sent as strings",
        fix: "send such numbers as strings, and document that in the type's description: many parsers round them";
    Must 1 "shapes.confirmation_mirror" => Every(envelope::confirmation_mirror), ["REQ-RSP-10"],
        "`confirmation` of a failure, if present, agrees with its details",
        expected: "`confirmation` with `token` and `expires_at` as in `error.details`, with only `message` and \
         `reasons` as further members",
        fix: "copy `confirmation_token` and `expires_at` of the details, or omit `confirmation`";
];

/// Returns `true` if a call is a batch.
pub(super) fn is_batch(exchange: &Exchange) -> bool {
    exchange.arguments.get("operations").is_some()
}

/// Returns the operation results in a reply, each with the name of its operation.
///
/// The result of the call itself comes first. The results of batch items follow, including the item at which the batch
/// halted:
///
/// ```json
/// {
///   "success": true,
///   "results": [{ "operation": "get_task", "result": { "success": true, "data": {} } }],
///   "halted_at": { "operation": "delete_task", "result": { "success": false, "error": {} } }
/// }
/// ```
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

/// Returns the subject of a finding: the operation, or the tool if the call names no operation.
pub(super) fn subject(exchange: &Exchange) -> &str {
    match exchange.operation() {
        "" if is_batch(exchange) => "a batch",
        "" => &exchange.tool,
        operation => operation,
    }
}

/// Returns the result of a successful call.
fn of_success(exchange: &Exchange) -> Option<&Value> {
    exchange.body().filter(|_| exchange.succeeded())
}
