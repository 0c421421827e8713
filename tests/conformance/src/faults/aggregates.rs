//! Broken adapters for the checks of the area `aggregates`.

use serde_json::{Value, json};

use super::parameters::{change, details, drop_if};
use super::{Fault, Tamper, calls};

/// Defines a mistake that only this check detects.
const fn fault(name: &'static str, check: &'static str, tamper: Tamper) -> Fault {
    Fault { name, check, neighbours: &[], tamper }
}

/// Returns the requested expression and the returned summary.
fn summary<'a, 'b>(
    arguments: &'a Value,
    body: &'b mut Value,
) -> Option<(&'a Value, &'b mut Value)> {
    let asked = arguments.pointer("/params/aggregate/conformance")?;
    let told = body.pointer_mut("/data/aggregations/conformance")?;
    calls(arguments, "list_beds").then_some((asked, told))
}

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "summaries-not-stated",
        "aggregates.stated",
        Tamper::Body(|arguments, body| {
            if let Some(details) = details(arguments, body, "search_beds")
                && let Some(Value::Object(support)) = details.get_mut("aggregation_support")
            {
                support.remove("numeric_fields");
            }
        }),
    ),
    fault(
        "count-of-the-page",
        "aggregates.count",
        Tamper::Body(|arguments, body| {
            if arguments["params"].as_object().is_some_and(|params| params.len() == 1)
                && let Some((asked, told)) = summary(arguments, body)
                && *asked == json!({ "count": true })
            {
                *told = json!(20);
            }
        }),
    ),
    fault(
        "a-group-forgotten",
        "aggregates.group_by",
        Tamper::Body(|arguments, body| {
            if let Some((asked, Value::Object(groups))) = summary(arguments, body)
                && asked.get("group_by").is_some()
            {
                let name = groups.keys().next().cloned().unwrap_or_default();
                groups.remove(&name);
            }
        }),
    ),
    fault(
        "average-by-the-wrong-number",
        "aggregates.numbers",
        Tamper::Body(|arguments, body| {
            if let Some((asked, told)) = summary(arguments, body)
                && asked.get("avg").is_some()
            {
                *told = json!(told.as_f64().unwrap_or_default() * 1.5 + 1.0);
            }
        }),
    ),
    fault(
        "text-said-to-be-numeric",
        "aggregates.numbers",
        Tamper::Body(|arguments, body| {
            if let Some(details) = details(arguments, body, "search_beds")
                && let Some(Value::Array(fields)) =
                    details.pointer_mut("/aggregation_support/numeric_fields")
            {
                fields.push(json!("name"));
            }
        }),
    ),
    fault(
        "summary-before-the-filter",
        "aggregates.filtered",
        Tamper::Request(|request| {
            if request["params"]["arguments"]["params"].get("aggregate").is_some() {
                drop_if(request, "list_beds", "filter", |_| true);
            }
        }),
    ),
    fault(
        "items-beside-summaries",
        "aggregates.items_omitted",
        Tamper::Body(|arguments, body| {
            if arguments["params"].get("include_items").is_none()
                && summary(arguments, body).is_some()
            {
                body["data"]["items"] = json!([{ "bed_id": "bed-1" }]);
            }
        }),
    ),
    fault(
        "empty-list-beside-summaries",
        "aggregates.items_omitted",
        Tamper::Body(|arguments, body| {
            if arguments["params"].get("include_items").is_none()
                && summary(arguments, body).is_some()
            {
                body["data"]["items"] = json!([]);
            }
        }),
    ),
    fault(
        "items-never-included",
        "aggregates.include_items",
        Tamper::Request(|request| {
            if request["params"]["arguments"]["params"].get("aggregate").is_some() {
                drop_if(request, "list_beds", "include_items", |include| *include == true);
            }
        }),
    ),
    fault(
        "fields-drop-labels",
        "aggregates.labels_kept",
        Tamper::Body(|arguments, body| {
            if arguments["params"].get("fields").is_some() && summary(arguments, body).is_some() {
                body["data"]["aggregations"] = json!({});
            }
        }),
    ),
    fault(
        "unknown-function-ignored",
        "aggregates.unsupported",
        Tamper::Request(|request| {
            change(request, "list_beds", "aggregate", |aggregate| {
                if *aggregate == json!({ "conformance": { "conformance_probe": true } }) {
                    *aggregate = json!({ "conformance": { "count": true } });
                }
            });
        }),
    ),
];
