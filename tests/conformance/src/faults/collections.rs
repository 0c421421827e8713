//! Faults of the area `collections`.

use serde_json::{Value, json};

use super::parameters::{change, details, drop_if, shown};
use super::{Fault, Tamper, calls};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "unknown-filter-ignored",
        check: "collections.filter_unknown",
        neighbours: &[],
        tamper: Tamper::Request(|request| {
            change(request, "list_beds", "filter", |filter| {
                if let Value::Object(filter) = filter {
                    filter.remove("conformance_probe");
                }
            });
        }),
    },
    Fault {
        name: "filter-ignored",
        check: "collections.filter_applied",
        neighbours: &["aggregates.filtered"],
        tamper: Tamper::Request(|request| {
            change(request, "list_beds", "filter", |filter| {
                if let Value::Object(filter) = filter {
                    filter.remove("crop");
                }
            });
        }),
    },
    Fault {
        name: "unknown-sort-ignored",
        check: "collections.sort_unknown",
        neighbours: &[],
        tamper: Tamper::Request(|request| {
            drop_if(request, "search_beds", "sort", |sort| {
                sort.get("field").is_some_and(|field| field == "conformance_probe")
            });
        }),
    },
    Fault {
        name: "always-ascending",
        check: "collections.sort_applied",
        neighbours: &[],
        tamper: Tamper::Request(|request| {
            change(request, "list_beds", "sort", |sort| {
                if sort.get("order").is_some_and(|order| order == "desc") {
                    sort["order"] = json!("asc");
                }
            });
        }),
    },
    Fault {
        name: "search-without-text",
        check: "collections.search_query",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            shown(arguments, body, "search_beds", "query", |query| {
                query["type"] = json!("string or null");
            });
        }),
    },
    Fault {
        name: "structured-query-untold",
        check: "collections.query_shape",
        neighbours: &[
            "parameters.documented_accepted",
            "parameters.shared_agree",
            "parameters.wrong_type",
        ],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details(arguments, body, "query_relationships")
                && let Some(Value::Array(parameters)) = details.get_mut("parameters")
            {
                parameters.push(json!({
                    "name": "query", "type": "object", "required": false, "description": "Query.",
                }));
            }
        }),
    },
    Fault {
        name: "two-ways-of-paging-at-once",
        check: "collections.styles_mixed",
        neighbours: &[],
        tamper: Tamper::Request(|request| {
            let arguments = &request["params"]["arguments"];
            if calls(arguments, "list_beds") && arguments["params"].get("limit").is_some() {
                drop_if(request, "list_beds", "first", |_| true);
            }
        }),
    },
];
