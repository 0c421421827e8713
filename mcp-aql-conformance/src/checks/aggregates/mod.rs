//! Checks of `aggregate`, compared with sums over all items.

mod results;
mod sums;

use serde_json::{Value, json};

use super::{Body, Check, later, should_of_level_2 as check};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::checks::calls::call_with;
use crate::run::Run;

/// The label of the requested summary.
const LABEL: &str = "conformance";

pub(super) const CHECKS: &[Check] = &[
    check(
        "aggregates.stated",
        "`aggregation_support` lists the functions and fields of operations with `aggregate`",
        &["REQ-AGG-09"],
        Body::Learned(results::stated),
    ),
    check(
        "aggregates.count",
        "`count` is the number of items",
        &["REQ-AGG-01", "REQ-AGG-02", "REQ-AGG-04"],
        Body::Reads(later!(sums::count)),
    ),
    check(
        "aggregates.group_by",
        "`group_by` returns the number of items per group",
        &["REQ-AGG-03", "REQ-AGG-04"],
        Body::Reads(later!(sums::group_by)),
    ),
    check(
        "aggregates.numbers",
        "`sum`, `avg`, `min` and `max` cover all items",
        &["REQ-AGG-02", "REQ-AGG-04"],
        Body::Reads(later!(sums::numbers)),
    ),
    check(
        "aggregates.filtered",
        "Summaries cover the items that the filter selects",
        &["REQ-AGG-06"],
        Body::Reads(later!(sums::filtered)),
    ),
    check(
        "aggregates.items_omitted",
        "A summary omits the items unless `include_items` is true",
        &["REQ-AGG-05"],
        Body::Reads(later!(results::items_omitted)),
    ),
    check(
        "aggregates.include_items",
        "`include_items` adds the items to the summary",
        &["REQ-AGG-05"],
        Body::Reads(later!(results::include_items)),
    ),
    check(
        "aggregates.labels_kept",
        "`fields` does not rename or drop labels",
        &["REQ-AGG-07"],
        Body::Reads(later!(results::labels_kept)),
    ),
    check(
        "aggregates.unsupported",
        "Unsupported functions and fields are rejected",
        &["REQ-AGG-08"],
        Body::Reads(later!(results::unsupported)),
    ),
];

fn support(operation: &Operation) -> &Value {
    operation.details().get("aggregation_support").unwrap_or(&Value::Null)
}

/// The functions or fields that `aggregation_support` lists.
fn listed<'a>(operation: &'a Operation, name: &str) -> Vec<&'a str> {
    let list = support(operation).get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether the operation supports a function. An operation that lists none is assumed to support all.
fn offers(operation: &Operation, function: &str) -> bool {
    let functions = listed(operation, "functions");
    functions.is_empty() || functions.contains(&function)
}

fn aggregate(expression: Value) -> Value {
    json!({ LABEL: expression })
}

/// The summary under the runner's label.
fn summary(exchange: &Exchange) -> Option<&Value> {
    exchange.data()?.get("aggregations")?.get(LABEL)
}

/// Requests one summary.
async fn ask(
    run: &Run,
    operation: &Operation,
    expression: Value,
    cases: &Cases,
) -> Option<Exchange> {
    call_with(run, operation, [("aggregate", aggregate(expression))], cases).await
}

fn about(operation: &Operation, what: &str) -> String {
    format!("{}: {what}", operation.name)
}
