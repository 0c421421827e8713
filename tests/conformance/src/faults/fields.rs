//! Broken adapters for the checks of the area `fields`.

use serde_json::{Map, Value, json};

use super::parameters::{change, details, failure};
use super::{Fault, Tamper, arguments_of, calls};

/// Defines a mistake that only this check detects.
const fn fault(name: &'static str, check: &'static str, tamper: Tamper) -> Fault {
    Fault { name, check, neighbours: &[], tamper }
}

/// Returns the requested field, if a call of this operation selects exactly one.
fn only<'a>(arguments: &'a Value, operation: &str) -> Option<&'a str> {
    let fields = arguments.get("params")?.get("fields")?.as_array()?;
    match fields.as_slice() {
        [Value::String(field)] if calls(arguments, operation) => Some(field),
        _ => None,
    }
}

/// Returns the bed in a reply of `get_bed`.
fn bed(body: &mut Value) -> Option<&mut Map<String, Value>> {
    body.pointer_mut("/data/bed")?.as_object_mut()
}

/// Returns the first segment of a path that continues beyond a field of a bed.
fn beyond(arguments: &Value) -> Option<&str> {
    let path = only(arguments, "get_bed")?.strip_suffix(".conformance_probe")?;
    path.split('.').next()
}

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "no-field-selection",
        "fields.offered",
        Tamper::Body(|arguments, body| {
            const NAMES: [&str; 2] = ["fields", "preset"];
            let parameters = body.pointer_mut("/data/operation/parameters");
            if let Some(Value::Array(parameters)) = parameters {
                parameters.retain(|it| NAMES.iter().all(|name| it["name"] != *name));
            }
            let params = arguments.get("params").and_then(Value::as_object);
            let given = params.and_then(|it| NAMES.into_iter().find(|name| it.contains_key(*name)));
            if let Some(name) = given
                .filter(|_| super::succeeds(body) || super::fails_with(body, "NOT_FOUND_RESOURCE"))
            {
                let operation = arguments["operation"].as_str().unwrap_or_default();
                *body = failure(
                    "VALIDATION_UNKNOWN_PARAM",
                    &format!("Unknown parameter(s) for operation '{operation}': '{name}'"),
                    json!({ "operation": operation, "unknown_params": [name], "valid_params": [] }),
                );
            }
        }),
    ),
    Fault {
        neighbours: &["fields.absent_skipped"],
        ..fault(
            "full-is-not-full",
            "fields.presets",
            Tamper::Body(|arguments, body| {
                if calls(arguments, "search_beds")
                    && arguments["params"]["fields"] == "full"
                    && let Some(Value::Array(items)) = body.pointer_mut("/data/items")
                {
                    for item in items.iter_mut().filter_map(Value::as_object_mut) {
                        item.remove("rows");
                    }
                }
            }),
        )
    },
    fault(
        "more-fields-than-asked-for",
        "fields.subset",
        Tamper::Body(|arguments, body| {
            if only(arguments, "get_bed") == Some("bed_id")
                && let Some(bed) = bed(body)
            {
                bed.insert("name".to_owned(), json!("Bed"));
            }
        }),
    ),
    fault(
        "nesting-lost",
        "fields.nested",
        Tamper::Body(|arguments, body| {
            if let Some(path) = only(arguments, "get_bed")
                && !path.starts_with('_')
                && path.contains('.')
                && let Some(bed) = bed(body)
            {
                *bed = [(path.to_owned(), json!(1))].into_iter().collect();
            }
        }),
    ),
    Fault {
        neighbours: &["fields.path_reported"],
        ..fault(
            "path-cut-at-a-scalar",
            "fields.path_stops",
            Tamper::Body(|arguments, body| {
                if let Some(path) = beyond(arguments) {
                    *body = json!({ "success": true, "data": { "bed": { path: 1 } } });
                }
            }),
        )
    },
    fault(
        "path-beyond-a-scalar-untold",
        "fields.path_reported",
        Tamper::Body(|arguments, body| {
            if beyond(arguments).is_some() {
                *body = json!({ "success": true, "data": { "bed": {} } });
            }
        }),
    ),
    fault(
        "unknown-field-ignored",
        "fields.unknown",
        Tamper::Request(|request| {
            change(request, "list_beds", "fields", |fields| {
                if *fields == json!(["conformance_probe"]) {
                    *fields = json!(["name"]);
                }
            });
        }),
    ),
    fault(
        "absent-field-is-an-error",
        "fields.absent_skipped",
        Tamper::Body(|arguments, body| {
            if let Some(field) = only(arguments, "get_bed")
                && bed(body).is_some_and(|bed| bed.is_empty())
            {
                *body = failure(
                    "VALIDATION_INVALID_VALUE",
                    "Parameter 'fields' names a field without a value",
                    json!({ "param_name": "fields", "field": field }),
                );
            }
        }),
    ),
    fault(
        "page-cut-with-the-items",
        "fields.page_untouched",
        Tamper::Body(|arguments, body| {
            if only(arguments, "list_beds").is_some()
                && let Some(Value::Object(info)) = body.pointer_mut("/data/pageInfo")
            {
                info.remove("totalCount");
            }
        }),
    ),
    fault(
        "computed-field-not-computed",
        "fields.computed",
        Tamper::Body(|arguments, body| {
            if only(arguments, "get_bed") == Some("_computed.metres")
                && let Some(bed) = bed(body)
            {
                bed.clear();
            }
        }),
    ),
    fault(
        "computed-field-of-another-type",
        "fields.computed_form",
        Tamper::Body(|arguments, body| {
            if let Some(details) = details(arguments, body, "get_bed")
                && let Some(Value::Array(computed)) = details.get_mut("computed_fields")
            {
                for field in computed.iter_mut().filter(|field| field["name"] == "metres") {
                    field["type"] = json!("string");
                }
            }
        }),
    ),
    fault(
        "computed-field-said-to-be-sortable",
        "fields.computed_claims",
        Tamper::Body(|arguments, body| {
            if let Some(details) = details(arguments, body, "list_beds")
                && let Some(Value::Array(computed)) = details.get_mut("computed_fields")
            {
                for field in computed.iter_mut().filter(|field| field["name"] == "is_dry") {
                    field["sortable"] = json!(true);
                }
            }
        }),
    ),
    fault(
        "field-selection-not-listed",
        "fields.type_listed",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect")
                && let Some(Value::Array(types)) = body.pointer_mut("/data/types")
            {
                types.retain(|known| known["name"] != "FieldSelection");
            }
        }),
    ),
    fault(
        "search-shows-everything",
        "fields.default_preset",
        Tamper::Request(|request| {
            if let Some(arguments) = arguments_of(request)
                && calls(arguments, "search_beds")
                && let Some(Value::Object(params)) = arguments.get_mut("params")
                && params.keys().all(|name| name == "query")
            {
                params.insert("fields".to_owned(), json!("full"));
            }
        }),
    ),
];
