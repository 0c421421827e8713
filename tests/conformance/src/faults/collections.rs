//! Broken adapters for the checks of the area `collections`.

use serde_json::{Map, Value, json};

use super::parameters::{change, details, drop_if, shown};
use super::{Fault, Tamper, asks_for, calls, params_of};

/// Returns the fields of the filter's type in a reply of introspection.
fn filter_fields<'a>(arguments: &Value, body: &'a mut Value) -> Option<&'a mut Vec<Value>> {
    if !asks_for(arguments, "BedFilter") {
        return None;
    }
    body.pointer_mut("/data/type/fields")?.as_array_mut()
}

/// Returns the parameters of a call of `list_beds`, if it has all of these parameters.
fn list_params<'a>(request: &'a mut Value, names: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let params = params_of(request, "list_beds")?;
    names.iter().all(|name| params.contains_key(*name)).then_some(params)
}

/// Drops one of the parameters when the client requests a second page of two items.
fn lose_on_page_2(request: &mut Value, name: &str) {
    let params = list_params(request, &["after", name]);
    if let Some(params) = params.filter(|params| params.get("first") == Some(&json!(2))) {
        params.retain(|other, _| !["after", "first", name].contains(&other.as_str()));
        params.insert("limit".to_owned(), json!(2));
        params.insert("offset".to_owned(), json!(2));
    }
}

/// Defines a mistake in how several parameters apply together.
const fn together(name: &'static str, tamper: Tamper) -> Fault {
    Fault { name, check: "collections.combined_controls", neighbours: &[], tamper }
}

pub(super) const FAULTS: &[Fault] = &[
    together(
        "first-of-two-conditions-lost",
        Tamper::Request(|request| {
            if let Some(params) = list_params(request, &["filter"])
                && let Some(Value::Object(filter)) = params.get_mut("filter")
                && filter.len() > 1
            {
                let first = filter.keys().next().cloned();
                first.map(|first| filter.remove(&first));
            }
        }),
    ),
    together(
        "last-of-two-conditions-lost",
        Tamper::Request(|request| {
            if let Some(params) = list_params(request, &["filter"])
                && let Some(Value::Object(filter)) = params.get_mut("filter")
                && filter.len() > 1
            {
                let last = filter.keys().next_back().cloned();
                last.map(|last| filter.remove(&last));
            }
        }),
    ),
    together(
        "order-lost-under-a-filter",
        Tamper::Request(|request| {
            if let Some(params) = list_params(request, &["filter", "sort"]) {
                params.remove("sort");
            }
        }),
    ),
    together(
        "filter-lost-under-an-order",
        Tamper::Request(|request| {
            if let Some(params) = list_params(request, &["filter", "sort"]) {
                params.remove("filter");
            }
        }),
    ),
    together("filter-lost-on-page-2", Tamper::Request(|request| lose_on_page_2(request, "filter"))),
    together("order-lost-on-page-2", Tamper::Request(|request| lose_on_page_2(request, "sort"))),
    together("fields-lost-on-page-2", Tamper::Request(|request| lose_on_page_2(request, "fields"))),
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
        neighbours: &[
            "aggregates.filtered",
            "collections.combined_controls",
            "collections.filter_operators",
        ],
        tamper: Tamper::Request(|request| {
            change(request, "list_beds", "filter", |filter| {
                if let Value::Object(filter) = filter {
                    filter.remove("crop");
                }
            });
        }),
    },
    Fault {
        name: "above-taken-for-at-least",
        check: "collections.filter_operators",
        neighbours: &[],
        tamper: Tamper::Request(|request| {
            change(request, "list_beds", "filter", |filter| {
                for condition in filter.as_object_mut().into_iter().flat_map(|it| it.values_mut()) {
                    if let Value::Object(operators) = condition
                        && let Some(least) = operators.remove("gt")
                    {
                        operators.insert("gte".to_owned(), least);
                    }
                }
            });
        }),
    },
    Fault {
        name: "one-of-several-values-read",
        check: "collections.filter_operators",
        neighbours: &[],
        tamper: Tamper::Request(|request| {
            change(request, "search_beds", "filter", |filter| {
                if let Some(Value::Array(rows)) = filter.get_mut("rows") {
                    rows.truncate(1);
                }
                if let Some(Value::Array(names)) = filter.get_mut("name") {
                    names.truncate(1);
                }
            });
        }),
    },
    Fault {
        name: "applied-order-untold",
        check: "collections.applied_controls",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "list_beds")
                && let Some(Value::Object(page)) = body.get_mut("data")
            {
                page.remove("applied");
            }
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
        neighbours: &["collections.applied_controls", "collections.combined_controls"],
        tamper: Tamper::Request(|request| {
            change(request, "list_beds", "sort", |sort| {
                if sort.get("order").is_some_and(|order| order == "desc") {
                    sort["order"] = json!("asc");
                }
            });
        }),
    },
    Fault {
        name: "filter-key-listed-and-refused",
        check: "collections.filter_keys",
        neighbours: &["collections.filter_applied"],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(fields) = filter_fields(arguments, body) {
                fields.push(json!({
                    "name": "note", "type": "string", "required": false, "description": "The note.",
                }));
            }
        }),
    },
    Fault {
        name: "filter-key-taken-and-unlisted",
        check: "collections.filter_keys",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(fields) = filter_fields(arguments, body) {
                fields.retain(|field| field["name"] != "rows");
            }
        }),
    },
    Fault {
        name: "sort-field-listed-and-refused",
        check: "collections.sort_fields",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            shown(arguments, body, "list_beds", "sort", |sort| {
                let told = sort["description"].as_str().unwrap_or_default();
                sort["description"] = json!(told.replace("Fields: ", "Fields: tags, "));
            });
        }),
    },
    Fault {
        name: "sort-field-taken-and-unlisted",
        check: "collections.sort_fields",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            shown(arguments, body, "search_beds", "sort", |sort| {
                let told = sort["description"].as_str().unwrap_or_default();
                sort["description"] = json!(told.replace(", rows", ""));
            });
        }),
    },
    Fault {
        name: "words-taken-for-a-phrase",
        check: "collections.search_words",
        neighbours: &[],
        tamper: Tamper::Request(|request| {
            change(request, "search_beds", "query", |query| {
                if let Some(words) = query.as_str().filter(|words| words.contains(' ')) {
                    *query = json!(format!("\"{}\"", words.replace('"', " ")));
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
            "parameters.misspelt_name",
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
