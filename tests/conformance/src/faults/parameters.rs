//! Broken adapters for the checks of the area `parameters`.

use serde_json::{Value, json};

use super::{Fault, Tamper, arguments_of, calls};

/// Defines a mistake that only this check detects.
const fn fault(name: &'static str, check: &'static str, tamper: Tamper) -> Fault {
    Fault { name, check, neighbours: &[], tamper }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        neighbours: &["parameters.documented_accepted", "parameters.unknown_top_level"],
        ..fault(
            "params-not-read",
            "parameters.nested",
            Tamper::Body(|arguments, body| {
                if calls(arguments, "get_forecast")
                    && arguments["params"] == json!({ "place": "Home" })
                {
                    *body = failure(
                        "VALIDATION_MISSING_PARAM",
                        "Missing required parameter 'place'. Expected: string (Where)",
                        json!({ "param_name": "place" }),
                    );
                }
            }),
        )
    },
    Fault {
        neighbours: &["parameters.unknown_top_level"],
        ..fault(
            "top-level-not-read",
            "parameters.top_level",
            Tamper::Request(|request| {
                if let Some(Value::Object(arguments)) = arguments_of(request)
                    && arguments.contains_key("operation")
                    && !arguments.contains_key("operations")
                {
                    arguments.retain(|name, _| {
                        name == "operation" || name == "params" || name.starts_with('_')
                    });
                }
            }),
        )
    },
    fault(
        "top-level-before-params",
        "parameters.nested_wins",
        Tamper::Request(|request| {
            let Some(Value::Object(arguments)) = arguments_of(request) else { return };
            let outside = arguments.clone();
            if let Some(Value::Object(params)) = arguments.get_mut("params") {
                for (name, value) in params.iter_mut() {
                    if let Some(outer) = outside.get(name) {
                        *value = outer.clone();
                    }
                }
            }
        }),
    ),
    fault(
        "params-of-any-type",
        "parameters.params_not_object",
        Tamper::Request(|request| {
            if let Some(Value::Object(arguments)) = arguments_of(request)
                && arguments.get("operation").is_some_and(|operation| operation == "get_house")
                && arguments.get("params").is_some_and(|params| params.is_string())
            {
                arguments.remove("params");
            }
        }),
    ),
    Fault {
        // Other checks notice that the message and the details contradict each other.
        neighbours: &["errors.names_parameter", "errors.template", "parameters.order"],
        ..fault(
            "missing-parameter-not-in-details",
            "parameters.missing_required",
            Tamper::Body(|_, body| {
                if body["error"]["code"] == "VALIDATION_MISSING_PARAM"
                    && body["error"]["details"]["param_name"] == "place"
                {
                    body["error"]["details"]["param_name"] = json!("params");
                }
            }),
        )
    },
    Fault {
        neighbours: &["parameters.missing_description"],
        ..fault(
            "missing-parameter-without-its-form",
            "parameters.missing_text",
            Tamper::Body(|_, body| {
                if body["error"]["code"] == "VALIDATION_MISSING_PARAM"
                    && body["error"]["details"]["param_name"] == "place"
                {
                    body["error"]["message"] = json!("Missing required parameter 'place'");
                }
            }),
        )
    },
    fault(
        "missing-parameter-without-its-description",
        "parameters.missing_description",
        Tamper::Body(|_, body| {
            if body["error"]["code"] == "VALIDATION_MISSING_PARAM"
                && body["error"]["details"]["param_name"] == "place"
            {
                body["error"]["message"] =
                    json!("Missing required parameter 'place'. Expected: string");
                body["error"]["details"]["missing_params"] = json!(["place"]);
            }
        }),
    ),
    fault(
        "null-for-a-required-parameter",
        "parameters.null_required",
        Tamper::Request(|request| {
            change(request, "get_forecast", "place", |place| {
                if place.is_null() {
                    *place = json!("Home");
                }
            });
        }),
    ),
    Fault {
        neighbours: &["wire.is_error"],
        ..fault(
            "null-breaks",
            "parameters.null_optional",
            Tamper::Body(|arguments, body| {
                if calls(arguments, "get_forecast")
                    && arguments["params"].get("days") == Some(&Value::Null)
                {
                    *body = failure("INTERNAL_ERROR", "Internal error: 'no number'", json!({}));
                }
            }),
        )
    },
    fault(
        "unknown-before-missing",
        "parameters.order",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_forecast")
                && body["error"]["code"] == "VALIDATION_MISSING_PARAM"
                && arguments["params"].get("conformance_probe").is_some()
            {
                *body = unknown("get_forecast", "conformance_probe");
            }
        }),
    ),
    Fault {
        neighbours: &["introspection.list_agrees_with_details", "parameters.nested"],
        ..fault(
            "place-said-to-be-optional",
            "parameters.required_agree",
            Tamper::Body(|arguments, body| {
                shown(arguments, body, "get_forecast", "place", |place| {
                    place["required"] = json!(false);
                });
            }),
        )
    },
    fault(
        "type-not-looked-at",
        "parameters.wrong_type",
        Tamper::Request(|request| {
            drop_if(request, "get_forecast", "altitude", |altitude| !altitude.is_number());
        }),
    ),
    fault(
        "digits-taken-for-a-number",
        "parameters.wrong_type",
        Tamper::Request(|request| {
            change(request, "get_forecast", "days", |days| {
                if let Some(number) = days.as_str().and_then(|text| text.parse::<u32>().ok()) {
                    *days = json!(number);
                }
            });
        }),
    ),
    fault(
        "enum-not-looked-at",
        "parameters.enum",
        Tamper::Request(|request| {
            drop_if(request, "get_forecast", "unit", |unit| unit == "conformance_probe");
        }),
    ),
    fault(
        "value-missing-in-enum",
        "parameters.enum",
        Tamper::Body(|arguments, body| {
            shown(arguments, body, "get_forecast", "side", |side| {
                side["type"] = json!("string");
                side["enum"] = json!(["south"]);
            });
        }),
    ),
    fault(
        "minimum-not-looked-at",
        "parameters.minimum",
        Tamper::Request(|request| {
            drop_if(request, "get_forecast", "days", |days| days == 0);
        }),
    ),
    fault(
        "maximum-not-looked-at",
        "parameters.maximum",
        Tamper::Request(|request| {
            drop_if(request, "get_forecast", "days", |days| days == 15);
        }),
    ),
    fault(
        "length-not-looked-at",
        "parameters.length",
        Tamper::Request(|request| {
            change(request, "get_forecast", "place", |place| {
                if place.as_str().is_some_and(|place| place.chars().count() == 41) {
                    *place = json!("Home");
                }
            });
        }),
    ),
    fault(
        "pattern-not-looked-at",
        "parameters.pattern",
        Tamper::Request(|request| {
            drop_if(request, "get_forecast", "code", |code| code == "!");
        }),
    ),
    fault(
        "format-not-looked-at",
        "parameters.format",
        Tamper::Request(|request| {
            drop_if(request, "get_forecast", "from", |from| from == "2031-02-30");
        }),
    ),
    fault(
        "items-not-looked-at",
        "parameters.items",
        Tamper::Request(|request| {
            drop_if(request, "get_forecast", "sensors", |sensors| {
                sensors.as_array().is_some_and(|sensors| sensors.iter().any(|one| !one.is_number()))
            });
        }),
    ),
    fault(
        "fields-of-an-object-not-looked-at",
        "parameters.members",
        Tamper::Request(|request| {
            change(request, "query_relationships", "root", |root| {
                if let Value::Object(root) = root {
                    root.entry("element_type").or_insert_with(|| json!("bed"));
                }
            });
        }),
    ),
    fault(
        "details-without-the-parameter",
        "parameters.details_names",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_forecast")
                && body["error"]["code"] == "VALIDATION_INVALID_VALUE"
                && let Value::Object(details) = &mut body["error"]["details"]
            {
                details.remove("param_name");
            }
        }),
    ),
    fault(
        "valid-names-not-listed",
        "parameters.misspelt_name",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_forecast")
                && let Some([Value::String(name)]) = body
                    .pointer("/error/details/unknown_params")
                    .and_then(Value::as_array)
                    .map(Vec::as_slice)
            {
                *body = unknown("get_forecast", name);
            }
        }),
    ),
    fault(
        "allowed-values-not-listed",
        "parameters.allowed_values",
        Tamper::Body(|_, body| {
            if body["error"]["code"] == "VALIDATION_INVALID_VALUE"
                && body["error"]["details"]["param_name"] == "unit"
            {
                *body = failure(
                    "VALIDATION_INVALID_VALUE",
                    "Parameter 'unit' has none of the allowed values",
                    json!({ "param_name": "unit" }),
                );
            }
        }),
    ),
    fault(
        "another-type-expected",
        "parameters.expected_type",
        Tamper::Body(|_, body| {
            let details = &body["error"]["details"];
            if details["param_name"] == "days" && details["expected_type"] == "integer" {
                let actual = details["actual_type"].as_str().unwrap_or_default();
                *body = failure(
                    "VALIDATION_INVALID_TYPE",
                    &format!("Parameter 'days' expected 'array', got '{actual}'"),
                    json!({ "param_name": "days", "expected_type": "array", "actual_type": actual }),
                );
            }
        }),
    ),
    fault(
        "json-text-not-explained",
        "parameters.json_text",
        Tamper::Body(|arguments, body| {
            let is_text =
                |points: &Value| points.as_str().is_some_and(|text| text.starts_with('['));
            if calls(arguments, "get_forecast")
                && arguments["params"].get("points").is_some_and(is_text)
            {
                *body = failure(
                    "VALIDATION_INVALID_VALUE",
                    "Parameter 'points' has another form than documented",
                    json!({ "param_name": "points" }),
                );
            }
        }),
    ),
    fault(
        "params-as-json-text-not-explained",
        "parameters.json_text",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_bed") && arguments["params"].is_string() {
                let is_json =
                    arguments["params"].as_str().is_some_and(|text| text.starts_with('{'));
                if is_json {
                    *body = failure(
                        "VALIDATION_MISSING_PARAM",
                        "Missing required parameter 'bed_id'. Expected: string (The bed)",
                        json!({ "param_name": "bed_id" }),
                    );
                }
            }
        }),
    ),
    fault(
        "values-only-in-the-failure",
        "parameters.unlisted_values",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_forecast")
                && arguments["params"]["place"] == "conformance_probe"
            {
                *body = failure(
                    "VALIDATION_INVALID_VALUE",
                    "Parameter 'place' must be one of: home, office",
                    json!({ "param_name": "place" }),
                );
            }
        }),
    ),
    fault(
        "maximum-itself-refused",
        "parameters.boundaries",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_forecast") && arguments["params"]["days"] == 14 {
                *body = failure(
                    "VALIDATION_INVALID_VALUE",
                    "Parameter 'days' must be 13 or less",
                    json!({ "param_name": "days" }),
                );
            }
        }),
    ),
    fault(
        "documented-and-not-taken",
        "parameters.documented_accepted",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_forecast")
                && arguments["params"].get("source").is_some_and(|source| source.is_string())
                && body["success"] == true
            {
                *body = unknown("get_forecast", "source");
            }
        }),
    ),
    fault(
        "another-default-than-documented",
        "parameters.default_effect",
        Tamper::Request(|request| {
            if let Some(arguments) = arguments_of(request)
                && calls(arguments, "get_forecast")
                && let Some(Value::Object(params)) = arguments.get_mut("params")
                && params.contains_key("place")
            {
                params.entry("days").or_insert_with(|| json!(5));
            }
        }),
    ),
    fault(
        "one-name-for-two-types",
        "parameters.shared_agree",
        Tamper::Body(|arguments, body| {
            shown(arguments, body, "search_beds", "first", |first| first["type"] = json!("number"));
        }),
    ),
    Fault {
        neighbours: &["parameters.unknown_all_named"],
        ..fault(
            "unknown-parameter-ignored",
            "parameters.unknown_nested",
            Tamper::Request(|request| drop_if(request, "get_house", "conformance_probe", |_| true)),
        )
    },
    fault(
        "unknown-top-level-ignored",
        "parameters.unknown_top_level",
        Tamper::Request(|request| {
            if let Some(arguments) = arguments_of(request)
                && calls(arguments, "get_house")
                && let Value::Object(arguments) = arguments
            {
                arguments.remove("conformance_probe");
            }
        }),
    ),
    fault(
        "one-unknown-parameter-told",
        "parameters.unknown_all_named",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house")
                && let Some(Value::Array(names)) = body.pointer("/error/details/unknown_params")
                && names.len() == 2
            {
                *body = unknown("get_house", "conformance_probe");
            }
        }),
    ),
    fault(
        "metadata-refused",
        "parameters.reserved_prefix",
        Tamper::Request(|request| {
            if let Some(Value::Object(arguments)) = arguments_of(request)
                && let Some(label) = arguments.remove("_conformance_probe")
            {
                arguments.insert("conformance_label".to_owned(), label);
            }
        }),
    ),
    fault(
        "standard-parameter-ignored",
        "parameters.undocumented",
        Tamper::Request(|request| drop_if(request, "get_house", "limit", |_| true)),
    ),
    fault(
        "camel-case-ignored",
        "parameters.camel_case",
        Tamper::Request(|request| drop_if(request, "get_forecast", "knownAt", |_| true)),
    ),
];

/// Builds a failure.
pub(super) fn failure(code: &str, message: &str, details: Value) -> Value {
    json!({ "success": false, "error": { "code": code, "message": message, "details": details } })
}

/// Builds the failure for an unknown parameter.
fn unknown(operation: &str, name: &str) -> Value {
    failure(
        "VALIDATION_UNKNOWN_PARAM",
        &format!("Unknown parameter(s) for operation '{operation}': '{name}'"),
        json!({ "operation": operation, "unknown_params": [name], "valid_params": [] }),
    )
}

/// Changes a parameter of a request if it is present.
pub(super) fn change(
    request: &mut Value,
    operation: &str,
    parameter: &str,
    change: impl FnOnce(&mut Value),
) {
    let Some(arguments) = arguments_of(request) else { return };
    if calls(arguments, operation)
        && let Some(value) =
            arguments.get_mut("params").and_then(|params| params.get_mut(parameter))
    {
        change(value);
    }
}

/// Removes a parameter of a request if the condition holds.
pub(super) fn drop_if(
    request: &mut Value,
    operation: &str,
    parameter: &str,
    is_dropped: impl FnOnce(&Value) -> bool,
) {
    let Some(arguments) = arguments_of(request) else { return };
    if calls(arguments, operation)
        && let Some(Value::Object(params)) = arguments.get_mut("params")
        && params.get(parameter).is_some_and(is_dropped)
    {
        params.remove(parameter);
    }
}

/// Changes the documentation of a parameter.
pub(super) fn shown(
    arguments: &Value,
    body: &mut Value,
    operation: &str,
    parameter: &str,
    change: impl FnOnce(&mut Value),
) {
    if let Some(details) = details(arguments, body, operation)
        && let Some(Value::Array(parameters)) = details.get_mut("parameters")
        && let Some(found) = parameters.iter_mut().find(|found| found["name"] == parameter)
    {
        change(found);
    }
}

/// Returns the details of an operation in a reply of introspection.
pub(super) fn details<'a>(
    arguments: &Value,
    body: &'a mut Value,
    operation: &str,
) -> Option<&'a mut Value> {
    let details = body.pointer_mut("/data/operation")?;
    (calls(arguments, "introspect") && details.get("name")? == operation).then_some(details)
}
