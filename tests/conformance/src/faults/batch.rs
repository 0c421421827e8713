//! Broken adapters for the checks of the area `batch`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls};

/// Defines a mistake that only this check detects.
const fn fault(name: &'static str, check: &'static str, tamper: Tamper) -> Fault {
    Fault { name, check, neighbours: &[], tamper }
}

fn results(body: &mut Value) -> Option<&mut Vec<Value>> {
    body.get_mut("results")?.as_array_mut()
}

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "no-batches",
        "batch.offered",
        Tamper::Body(|_, body| {
            if let Some(batch) = body.pointer_mut("/data/_protocol/capabilities/batch") {
                *batch = json!(false);
            } else if results(body).is_some() {
                *body = json!({ "success": false, "error": {
                    "code": "VALIDATION_MISSING_PARAM",
                    "message": "Missing required parameter 'operation'. Expected: string",
                    "details": { "param_name": "operation", "expected_type": "string" },
                } });
            }
        }),
    ),
    Fault {
        neighbours: &["tools.input_schema", "batch.offered"],
        ..fault(
            "batch-denied",
            "batch.claimed",
            Tamper::Body(|arguments, body| {
                if calls(arguments, "introspect")
                    && let Some(batch) = body.pointer_mut("/data/_protocol/capabilities/batch")
                {
                    *batch = json!(false);
                }
            }),
        )
    },
    Fault {
        neighbours: &["shapes.success"],
        ..fault(
            "batch-with-data",
            "batch.form",
            Tamper::Body(|_, body| {
                if results(body).is_some() {
                    body["data"] = json!({});
                }
            }),
        )
    },
    Fault {
        neighbours: &["batch.mixed"],
        ..fault(
            "results-in-another-order",
            "batch.order",
            Tamper::Body(|_, body| {
                if let Some(results) = results(body) {
                    results.reverse();
                }
            }),
        )
    },
    fault(
        "item-with-metadata",
        "batch.inner_form",
        Tamper::Body(|_, body| {
            for result in results(body).into_iter().flatten() {
                if result["result"]["success"] == true {
                    result["result"]["_meta"] = json!({ "request_id": "r-1" });
                }
            }
        }),
    ),
    fault(
        "failures-not-counted",
        "batch.failure_inside",
        Tamper::Body(|_, body| {
            if body["summary"]["failed"] == 1 && body["summary"]["total"] == 3 {
                body["summary"]["failed"] = json!(0);
                body["summary"]["succeeded"] = json!(3);
            }
        }),
    ),
    fault(
        "empty-batch-taken",
        "batch.empty",
        Tamper::Body(|arguments, body| {
            if arguments.get("operations") == Some(&json!([])) {
                *body = json!({
                    "success": true, "data": null, "results": [],
                    "summary": { "total": 0, "succeeded": 0, "failed": 0 },
                });
            }
        }),
    ),
    Fault {
        neighbours: &["errors.names_parameter", "errors.template"],
        ..fault(
            "item-that-is-a-name",
            "batch.item_form",
            Tamper::Body(|arguments, body| {
                let message = json!("Parameter 'operations' expected 'object', got 'string'");
                if arguments["operations"][0].is_string() {
                    if let Some(inner) = body.pointer_mut("/results/0/result/error/message") {
                        *inner = message;
                    } else {
                        body["error"]["message"] = message;
                    }
                }
            }),
        )
    },
    fault(
        "one-bad-text-for-all",
        "batch.invalid_text",
        Tamper::Body(|arguments, body| {
            let items = arguments["operations"].as_array();
            if items.is_some_and(|items| json!(items).to_string().contains("\\u0000")) {
                *body = json!({ "success": false, "error": {
                    "code": "VALIDATION_INVALID_ENCODING",
                    "message": "Invalid character encoding in request",
                } });
            }
        }),
    ),
    fault(
        "batch-with-anything-beside",
        "batch.extra_member",
        Tamper::Request(|request| {
            if let Some(Value::Object(arguments)) = request.pointer_mut("/params/arguments")
                && arguments.contains_key("operations")
            {
                arguments.remove("conformance_probe");
            }
        }),
    ),
    fault(
        "operation-beside-a-batch-ignored",
        "batch.extra_member",
        Tamper::Request(|request| {
            if let Some(Value::Object(arguments)) = request.pointer_mut("/params/arguments")
                && arguments.contains_key("operations")
            {
                arguments.remove("operation");
            }
        }),
    ),
    fault(
        "batch-said-to-be-larger",
        "batch.max_operations",
        Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect")
                && let Some(most) = body.pointer_mut("/data/_protocol/limits/max_batch_operations")
            {
                *most = json!(150);
            }
        }),
    ),
    fault(
        "batch-cut",
        "batch.max_operations",
        Tamper::Request(|request| {
            if let Some(Value::Array(items)) = request.pointer_mut("/params/arguments/operations") {
                items.truncate(100);
            }
        }),
    ),
    fault(
        "family-of-items-not-looked-at",
        "batch.mixed",
        Tamper::Body(|_, body| {
            for result in results(body).into_iter().flatten() {
                if result["result"]["error"]["code"] == "VALIDATION_ENDPOINT_MISMATCH" {
                    result["result"] = json!({ "success": true, "data": null });
                }
            }
        }),
    ),
    fault(
        "halted-and-the-rest-forgotten",
        "batch.halts",
        Tamper::Body(|_, body| {
            if let Value::Object(body) = body
                && body.contains_key("halted_at")
            {
                body.remove("pending_operations");
            }
        }),
    ),
    fault(
        "confirmation-lost-with-the-rest",
        "batch.pending_whole",
        Tamper::Body(|_, body| {
            let pending = body.get_mut("pending_operations").and_then(Value::as_array_mut);
            for item in pending.into_iter().flatten() {
                if let Some(Value::Object(params)) = item.get_mut("params") {
                    params.remove("_confirmation");
                }
            }
        }),
    ),
    Fault {
        neighbours: &["batch.pending_whole"],
        ..fault(
            "token-not-taken-in-batches",
            "batch.continues",
            Tamper::Request(|request| {
                if let Some(Value::Array(items)) =
                    request.pointer_mut("/params/arguments/operations")
                {
                    for item in items {
                        if let Some(Value::Object(params)) = item.get_mut("params") {
                            params.remove("_confirmation");
                        }
                    }
                }
            }),
        )
    },
];
