//! Broken adapters for the checks of the area `pagination`.

use serde_json::{Value, json};

use super::parameters::{change, details, drop_if, failure, shown};
use super::shadow::Mindful;
use super::{Fault, Tamper, calls};

/// Defines a mistake that only this check detects.
const fn fault(name: &'static str, check: &'static str, tamper: Tamper) -> Fault {
    Fault { name, check, neighbours: &[], tamper }
}

/// Returns the result of `list_beds` if the condition holds for the parameters.
fn page<'a>(
    arguments: &Value,
    body: &'a mut Value,
    is_meant: impl FnOnce(&Value) -> bool,
) -> Option<&'a mut Value> {
    let is_page = calls(arguments, "list_beds") && is_meant(&arguments["params"]);
    body.get_mut("data").filter(|data| is_page && data.get("items").is_some())
}

/// Returns an empty page after the last item.
fn last_page() -> Value {
    json!({ "items": [], "pageInfo": { "hasNextPage": false, "hasPreviousPage": true } })
}

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "more-and-no-way-to-it",
        "pagination.documented",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                body["data"]["pageInfo"] = json!({ "hasNextPage": true, "hasPreviousPage": false });
            }
        }),
    ),
    Fault {
        neighbours: &["parameters.undocumented"],
        ..fault(
            "forward-only",
            "pagination.both_ways",
            Tamper::Body(|arguments, body| {
                if let Some(details) = details(arguments, body, "search_beds")
                    && let Some(Value::Array(parameters)) = details.get_mut("parameters")
                {
                    parameters.retain(|one| one["name"] != "last" && one["name"] != "before");
                }
            }),
        )
    },
    fault(
        "page-without-a-switch",
        "pagination.form",
        Tamper::Body(|arguments, body| {
            if let Some(data) = page(arguments, body, |_| true)
                && let Some(Value::Object(info)) = data.get_mut("pageInfo")
                && info.get("hasPreviousPage") == Some(&json!(false))
            {
                info.remove("hasPreviousPage");
            }
        }),
    ),
    fault(
        "items-and-edges",
        "pagination.items_or_edges",
        Tamper::Body(|arguments, body| {
            if let Some(data) = page(arguments, body, |params| params["first"] == 2) {
                data["edges"] = json!([]);
            }
        }),
    ),
    fault(
        "an-item-lost-between-pages",
        "pagination.forward",
        Tamper::Body(|arguments, body| {
            let is_small = |params: &Value| params["first"] == 2 && params.get("after").is_some();
            if let Some(data) = page(arguments, body, is_small)
                && let Some(Value::Array(items)) = data.get_mut("items")
            {
                items.pop();
            }
        }),
    ),
    fault(
        "backward-in-the-other-order",
        "pagination.backward",
        Tamper::Body(|arguments, body| {
            if let Some(data) = page(arguments, body, |params| params.get("last").is_some())
                && let Some(Value::Array(items)) = data.get_mut("items")
            {
                items.reverse();
            }
        }),
    ),
    fault(
        "first-and-last",
        "pagination.combinations",
        Tamper::Request(|request| {
            if request["params"]["arguments"]["params"].get("first").is_some() {
                drop_if(request, "list_beds", "last", |_| true);
            }
        }),
    ),
    fault(
        "contradiction-without-a-hint",
        "pagination.combination_details",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "list_beds")
                && let Some(Value::Object(details)) = body.pointer_mut("/error/details")
                && details.get("param_name").is_some_and(|name| name == "pagination")
            {
                details.remove("hint");
            }
        }),
    ),
    fault(
        "any-text-is-a-cursor",
        "pagination.bad_cursor",
        Tamper::Request(|request| drop_if(request, "list_beds", "after", |after| after == "%%%%")),
    ),
    Fault {
        neighbours: &["pagination.forged_cursor"],
        ..fault(
            "changed-cursor-taken",
            "pagination.tampered_cursor",
            Tamper::Body(|arguments, body| {
                let after = arguments["params"]["after"].as_str().unwrap_or_default();
                if calls(arguments, "list_beds")
                    && body["error"]["details"]["param_name"] == "after"
                    && body["error"]["code"] == "VALIDATION_INVALID_VALUE"
                    && after.len() > 12
                {
                    *body = json!({ "success": true, "data": last_page() });
                }
            }),
        )
    },
    fault(
        "forged-cursor-is-the-end",
        "pagination.forged_cursor",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "list_beds") && arguments["params"]["after"] == "MQ" {
                *body = json!({ "success": true, "data": last_page() });
            }
        }),
    ),
    fault(
        "cursor-of-another-list-is-the-end",
        "pagination.forged_cursor",
        Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                let after = arguments["params"]["after"].as_str().unwrap_or_default();
                let end = body["data"]["pageInfo"]["endCursor"].as_str().map(str::to_owned);
                if calls(arguments, "list_executions") {
                    memory.extend(end.map(|end| (end, json!(true))));
                } else if calls(arguments, "list_beds") && memory.contains_key(after) {
                    *body = json!({ "success": true, "data": last_page() });
                }
            })
        }),
    ),
    fault(
        "cursor-not-for-urls",
        "pagination.cursor_form",
        Tamper::Body(|arguments, body| {
            if let Some(data) = page(arguments, body, |params| params["first"] == 1)
                && let Some(Value::String(cursor)) = data.pointer_mut("/pageInfo/endCursor")
            {
                cursor.push_str("+/");
            }
        }),
    ),
    fault(
        "big-page-refused",
        "pagination.clamp",
        Tamper::Body(|arguments, body| {
            if page(arguments, body, |params| params["first"] == 1_000_000).is_some() {
                *body = failure(
                    "VALIDATION_INVALID_VALUE",
                    "Parameter 'first' must be 100 or less",
                    json!({ "param_name": "first" }),
                );
            }
        }),
    ),
    fault(
        "size-of-a-page-with-a-maximum",
        "pagination.clamp",
        Tamper::Body(|arguments, body| {
            shown(arguments, body, "search_beds", "first", |first| first["maximum"] = json!(100));
            let first = arguments["params"]["first"].as_u64().unwrap_or_default();
            if calls(arguments, "search_beds") && first > 100 && body["success"] == true {
                *body = failure(
                    "VALIDATION_INVALID_VALUE",
                    "Parameter 'first' must be 100 or less",
                    json!({ "param_name": "first" }),
                );
            }
        }),
    ),
    fault(
        "zero-is-the-default",
        "pagination.zero",
        Tamper::Request(|request| drop_if(request, "list_beds", "first", |first| *first == 0)),
    ),
    fault(
        "negative-is-one",
        "pagination.negative",
        Tamper::Request(|request| {
            change(request, "list_beds", "first", |first| {
                if *first == -1 {
                    *first = json!(1);
                }
            });
        }),
    ),
    fault(
        "total-of-the-page",
        "pagination.total",
        Tamper::Body(|arguments, body| {
            if let Some(data) = page(arguments, body, |params| params["first"] == 100) {
                let count = data["items"].as_array().map_or(0, Vec::len);
                data["pageInfo"]["totalCount"] = json!(count + 1);
            }
        }),
    ),
    fault(
        "total-of-a-short-page",
        "pagination.total",
        Tamper::Body(|arguments, body| {
            if let Some(data) = page(arguments, body, |params| params["first"] == 1) {
                data["pageInfo"]["totalCount"] = json!(1);
            }
        }),
    ),
    fault(
        "numbered-page-untold",
        "pagination.numbered_form",
        Tamper::Body(|arguments, body| {
            if let Some(data) = page(arguments, body, |_| true)
                && let Some(Value::Object(pagination)) = data.get_mut("pagination")
            {
                pagination.remove("page_size");
            }
        }),
    ),
];
