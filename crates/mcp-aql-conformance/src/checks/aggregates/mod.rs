//! Checks of the parameter `aggregate`, compared with results computed from all items.

mod results;
mod sums;

use serde_json::{Value, json};

use super::{Check, checks};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::checks::calls::call_with;
use crate::run::Run;

/// Label of the requested summary.
const LABEL: &str = "conformance";

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "aggregates.stated" => Learned(results::stated), ["REQ-AGG-09"],
        "`aggregation_support` lists the functions and fields of operations with `aggregate`",
        expected: "`aggregation_support` with `supported: true`, `functions`, `groupable_fields` and \
         `numeric_fields`",
        fix: "list the functions and fields in the details: clients cannot guess them";
    Should 2 "aggregates.count" => Reads(sums::count), ["REQ-AGG-01", "REQ-AGG-02", "REQ-AGG-04"],
        "`count` is the number of items",
        fix: "accept `aggregate` as an object that maps labels to expressions, such as {\"total\": {\"count\": \
         true}}, and return the summaries under these labels";
    Should 2 "aggregates.group_by" => Reads(sums::group_by), ["REQ-AGG-03", "REQ-AGG-04"],
        "`group_by` returns the number of items per group",
        fix: "group all items of the request, and name groups after their values";
    Should 2 "aggregates.numbers" => Reads(sums::numbers), ["REQ-AGG-02", "REQ-AGG-04"],
        "`sum`, `avg`, `min` and `max` cover all items",
        fix: "list in `numeric_fields` the fields that hold numbers";
    Should 2 "aggregates.filtered" => Reads(sums::filtered), ["REQ-AGG-06"],
        "Summaries cover the items that the filter selects",
        fix: "apply the filter before the summary";
    Should 2 "aggregates.items_omitted" => Reads { calls: results::alone, rule: results::omits_items }, ["REQ-AGG-05"],
        "A summary omits the items unless `include_items` is true",
        expected: "`aggregations` without `items`, not even an empty list",
        fix: "omit the items unless `include_items` is true";
    Should 2 "aggregates.include_items" => Reads { calls: results::with_items, rule: results::has_items },
        ["REQ-AGG-05"],
        "`include_items` adds the items to the summary",
        expected: "`items` in addition to `aggregations`",
        fix: "return both if `include_items` is true";
    Should 2 "aggregates.labels_kept" => Reads { calls: results::with_fields, rule: results::has_label },
        ["REQ-AGG-07"],
        "`fields` does not rename or drop labels",
        expected: "`data.aggregations.conformance`",
        fix: "apply `fields` to items only, not to labels";
    Should 2 "aggregates.unsupported" => Reads { calls: results::unsupported, rule: results::is_rejected },
        ["REQ-AGG-08"],
        "Unsupported functions and fields are rejected",
        expected: "a VALIDATION failure that names `conformance_probe`",
        fix: "accept only the functions and fields of `aggregation_support`";
];

fn support(operation: &Operation) -> &Value {
    operation.details().get("aggregation_support").unwrap_or(&Value::Null)
}

/// Returns the functions or fields that `aggregation_support` lists under this name.
fn listed<'a>(operation: &'a Operation, name: &str) -> Vec<&'a str> {
    let list = support(operation).get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns `true` if the operation supports a function. An operation that lists none is assumed to support all.
fn offers(operation: &Operation, function: &str) -> bool {
    let functions = listed(operation, "functions");
    functions.is_empty() || functions.contains(&function)
}

fn aggregate(expression: Value) -> Value {
    json!({ LABEL: expression })
}

/// Returns `true` if a success has no summaries. The operation then ignores `aggregate`, or expects another form.
fn lacks_summary(exchange: &Exchange) -> bool {
    exchange.data().is_some_and(|data| data.get("aggregations").is_none())
}

/// Returns the summary under the runner's label.
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
