//! Broken adapters for the checks of the area `introspection`.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::routing::Renamed;
use super::{Fault, Tamper, asks_for, calls};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "list-entry-with-a-version",
        check: "introspection.list_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "operations") {
                list[0]["version"] = json!(3);
            }
        }),
    },
    Fault {
        name: "operation-left-off-the-list",
        check: "introspection.list_complete",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "operations") {
                list.retain(|entry| entry["name"] != "get_picture");
            }
        }),
    },
    Fault {
        name: "operation-left-out-of-introspection",
        check: "introspection.list_complete",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "operations") {
                list.retain(|entry| entry["name"] != "get_picture");
            } else if asks_for(arguments, "get_picture") {
                body["data"]["operation"] = Value::Null;
            }
        }),
    },
    Fault {
        name: "details-too-deep-to-show",
        check: "introspection.details_form",
        neighbours: &[
            "introspection.list_agrees_with_details",
            "introspection.success_form",
            "routing.case_sensitive",
            "routing.permissions",
            "tools.all_registered",
            "routing.families",
            "tools.description_current",
        ],
        tamper: Tamper::Body(|arguments, body| {
            if asks_for(arguments, "get_picture") {
                *body = failure(
                    "VALIDATION_PAYLOAD_TOO_LARGE",
                    "Payload exceeds nesting_depth limit of 8",
                );
            }
        }),
    },
    Fault {
        name: "one-operation-listed-twice",
        check: "introspection.unique_names",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "operations") {
                let again = list.last().cloned();
                list.extend(again);
            }
        }),
    },
    Fault {
        name: "introspect-with-meta",
        check: "introspection.success_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect") && body["success"] == true {
                body["_meta"] = json!({ "request_id": "r-1" });
            }
        }),
    },
    Fault {
        name: "version-with-a-v",
        check: "introspection.protocol_form",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(protocol) = protocol_in(body) {
                protocol["version"] = json!("v1.0.0-draft");
            }
        }),
    },
    Fault {
        name: "conformance-in-other-words",
        check: "introspection.protocol_values",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(protocol) = protocol_in(body) {
                protocol["conformance"] = json!("full");
            }
        }),
    },
    Fault {
        name: "conformance-unstated",
        check: "introspection.protocol_stated",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| drop_of_protocol(body, "conformance")),
    },
    Fault {
        name: "protocol-beside-types",
        check: "introspection.no_protocol_elsewhere",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if list_in(arguments, body, "types").is_some() {
                body["data"]["_protocol"] = json!({ "version": "1.0.0-draft" });
            }
        }),
    },
    Fault {
        name: "details-with-a-version",
        check: "introspection.details_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "get_house") {
                details["since"] = json!("2.0");
            }
        }),
    },
    Fault {
        name: "list-in-contradiction-to-details",
        check: "introspection.list_agrees_with_details",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "operations") {
                for entry in list.iter_mut().filter(|entry| entry["name"] == "link_beds") {
                    entry["semantic_category"] = json!("UPDATE");
                    entry["endpoint"] = json!("update");
                }
            }
        }),
    },
    Fault {
        name: "parameter-with-nullable",
        check: "introspection.parameter_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "get_forecast") {
                details["parameters"][0]["nullable"] = json!(true);
            }
        }),
    },
    Fault {
        name: "computed-field-with-its-prefix",
        check: "introspection.computed_fields_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "search_beds") {
                for field in details["computed_fields"].as_array_mut().into_iter().flatten() {
                    field["sql"] = json!("length * rows");
                }
            }
        }),
    },
    Fault {
        name: "aggregation-mode-of-its-own",
        check: "introspection.aggregation_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "list_beds") {
                details["aggregation_support"]["default_mode"] = json!("totals");
            }
        }),
    },
    Fault {
        name: "relationships-up-and-down",
        check: "introspection.relationship_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "query_relationships") {
                details["relationship_capabilities"]["cyclic"] = json!(true);
            }
        }),
    },
    Fault {
        name: "lifecycle-with-a-timeout",
        check: "introspection.lifecycle_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "execute_watering") {
                details["lifecycle"]["timeout_seconds"] = json!(60);
            }
        }),
    },
    Fault {
        name: "values-in-the-list-of-types",
        check: "introspection.types_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "types") {
                for entry in list.iter_mut().filter(|entry| entry["kind"] == "enum") {
                    entry["values"] = json!(["some"]);
                }
            }
        }),
    },
    Fault {
        name: "enum-with-fields",
        check: "introspection.type_details_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect")
                && let Some(details) = body.pointer_mut("/data/type")
                && details["kind"] == "enum"
            {
                details["fields"] = json!([]);
            }
        }),
    },
    Fault {
        name: "parameter-in-camel-case",
        check: "introspection.snake_case",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Renamed("detailed", "inDetail"))),
    },
    Fault {
        name: "introspect-not-listed",
        check: "introspection.introspect_listed",
        neighbours: &["danger.stated"],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "operations") {
                list.retain(|entry| entry["name"] != "introspect");
            }
        }),
    },
    Fault {
        name: "query-shown-as-optional",
        check: "introspection.introspect_itself",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "introspect") {
                details["parameters"][0]["required"] = json!(false);
            }
        }),
    },
    Fault {
        name: "unknown-name-is-an-error",
        check: "introspection.unknown_name",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            let is_null = |path: &str| body.pointer(path) == Some(&Value::Null);
            if calls(arguments, "introspect")
                && (is_null("/data/operation") || is_null("/data/type"))
            {
                *body = failure("NOT_FOUND_RESOURCE", "There is nothing of this name");
            }
        }),
    },
    Fault {
        name: "bad-query-lists-operations",
        check: "introspection.bad_query",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect") && body["error"]["code"] == "INVALID_QUERY_TYPE" {
                *body = json!({ "success": true, "data": { "operations": [] } });
            }
        }),
    },
    Fault {
        name: "missing-query-with-details",
        check: "introspection.missing_query",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect") && body["error"]["code"] == "VALIDATION_MISSING_PARAM"
            {
                body["error"]["details"] = json!({ "param_name": "query" });
            }
        }),
    },
    Fault {
        name: "introspection-with-the-time",
        check: "introspection.stable",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(protocol) = protocol_in(body) {
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                protocol["now"] = json!(format!("{:?}", since.unwrap_or_default()));
            }
        }),
    },
    Fault {
        name: "returns-a-type-that-is-not-listed",
        check: "introspection.types_resolve",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "get_house") {
                details["returns"]["name"] = json!("GreenHouse");
            }
        }),
    },
    Fault {
        name: "parameter-of-a-type-that-is-not-listed",
        check: "introspection.type_names",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "get_forecast") {
                for parameter in details["parameters"].as_array_mut().into_iter().flatten() {
                    if parameter["name"] == "altitude" {
                        parameter["type"] = json!("metres");
                    }
                }
            }
        }),
    },
    Fault {
        name: "object-without-members",
        check: "introspection.object_members",
        // The failure for a missing `input` explains its form in other words.
        neighbours: &["parameters.missing_description"],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "update_bed") {
                for example in details["examples"].as_array_mut().into_iter().flatten() {
                    example["request"]["params"]["input"] = json!({});
                }
                for parameter in details["parameters"].as_array_mut().into_iter().flatten() {
                    if parameter["name"] == "input" {
                        parameter["type"] = json!("object");
                        parameter["description"] = json!("The changes.");
                    }
                }
            }
        }),
    },
    Fault {
        name: "no-types-of-the-protocol",
        check: "introspection.standard_types",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "types") {
                list.retain(|entry| entry["name"] != "EndpointPermissions");
            }
        }),
    },
    Fault {
        name: "no-example",
        check: "introspection.examples",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(Value::Object(details)) = details_in(arguments, body, "query_relationships")
            {
                details.remove("examples");
            }
        }),
    },
    Fault {
        name: "example-with-an-unknown-parameter",
        check: "introspection.examples_fit",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "create_bed") {
                details["examples"][0]["request"]["params"]["colour"] = json!("green");
            }
        }),
    },
    Fault {
        name: "parameter-without-description",
        check: "introspection.descriptions",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "delete_bed") {
                for parameter in details["parameters"].as_array_mut().into_iter().flatten() {
                    if let Some(members) = parameter.as_object_mut() {
                        members.remove("description");
                    }
                }
            }
        }),
    },
    Fault {
        name: "listed-without-description",
        check: "introspection.descriptions",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(list) = list_in(arguments, body, "operations") {
                for entry in list.iter_mut().filter(|entry| entry["name"] == "get_house") {
                    entry["description"] = json!("");
                }
            }
        }),
    },
    Fault {
        name: "default-of-another-type",
        check: "introspection.defaults_fit",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if let Some(details) = details_in(arguments, body, "get_forecast") {
                for parameter in details["parameters"].as_array_mut().into_iter().flatten() {
                    if parameter["name"] == "detailed" {
                        parameter["default"] = json!("no");
                    }
                }
            }
        }),
    },
    Fault {
        name: "limits-unstated",
        check: "introspection.limits_stated",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| drop_of_protocol(body, "limits")),
    },
    Fault {
        name: "response-limit-out-of-range",
        check: "introspection.limits_in_range",
        neighbours: &["limits.response_size"],
        tamper: Tamper::Body(|_, body| {
            if let Some(protocol) = protocol_in(body) {
                protocol["limits"]["max_response_size"] = json!(1_000);
            }
        }),
    },
    Fault {
        name: "concurrency-unstated",
        check: "introspection.concurrency_stated",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| drop_of_protocol(body, "concurrency")),
    },
    Fault {
        name: "concurrency-in-other-words",
        check: "introspection.concurrency_value",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(protocol) = protocol_in(body) {
                protocol["concurrency"] = json!("parallel");
            }
        }),
    },
    Fault {
        name: "strict-mode-published",
        check: "introspection.strict_mode_hidden",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(protocol) = protocol_in(body) {
                protocol["strict_mode"] = json!(true);
            }
        }),
    },
];

/// Returns the list with this name in a reply of `introspect`.
fn list_in<'a>(arguments: &Value, body: &'a mut Value, name: &str) -> Option<&'a mut Vec<Value>> {
    if !calls(arguments, "introspect") {
        return None;
    }
    body.pointer_mut("/data")?.get_mut(name)?.as_array_mut()
}

/// Returns the details of an operation in a reply of `introspect`.
fn details_in<'a>(
    arguments: &Value,
    body: &'a mut Value,
    operation: &str,
) -> Option<&'a mut Value> {
    if !calls(arguments, "introspect") {
        return None;
    }
    body.pointer_mut("/data/operation").filter(|details| details["name"] == operation)
}

fn protocol_in(body: &mut Value) -> Option<&mut Value> {
    body.pointer_mut("/data/_protocol")
}

fn drop_of_protocol(body: &mut Value, name: &str) {
    if let Some(Value::Object(protocol)) = protocol_in(body) {
        protocol.remove(name);
    }
}

fn failure(code: &str, message: &str) -> Value {
    json!({ "success": false, "error": { "code": code, "message": message } })
}
