//! Broken adapters for the checks of the area `errors`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls, fails_with};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "status-beside-code",
        check: "errors.form",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_RESOURCE") {
                body["error"]["status"] = json!(404);
            }
        }),
    },
    Fault {
        name: "lower-case-code",
        check: "errors.form",
        neighbours: &["errors.registry", "errors.not_found", "deletes.not_found"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_bed") && fails_with(body, "NOT_FOUND_RESOURCE") {
                body["error"]["code"] = json!("not_found_resource");
            }
        }),
    },
    Fault {
        name: "code-of-its-own",
        check: "errors.registry",
        neighbours: &["errors.not_found", "deletes.not_found"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_bed") && fails_with(body, "NOT_FOUND_RESOURCE") {
                body["error"]["code"] = json!("NO_SUCH_BED");
            }
        }),
    },
    Fault {
        name: "no-operation-in-details",
        check: "errors.details",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_OPERATION") {
                without(body, "operation");
            }
        }),
    },
    Fault {
        name: "message-without-template",
        check: "errors.template",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_OPERATION") {
                let name = body["error"]["details"]["operation"].as_str().unwrap_or_default();
                body["error"]["message"] = json!(format!("There is nothing called '{name}' here"));
            }
        }),
    },
    Fault {
        name: "nothing-quoted",
        check: "errors.quoted",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_OPERATION")
                && let Some(Value::String(message)) = body.pointer_mut("/error/message")
            {
                *message = message.replace('\'', "");
            }
        }),
    },
    Fault {
        name: "message-says-nothing",
        check: "errors.names_parameter",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "VALIDATION_INVALID_VALUE") {
                body["error"]["message"] = json!("This is wrong");
            }
        }),
    },
    Fault {
        name: "trace-in-message",
        check: "errors.no_internals",
        neighbours: &["errors.official_patterns"],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_RESOURCE")
                && let Some(Value::String(message)) = body.pointer_mut("/error/message")
            {
                message.push_str("\n    at find (/app/src/beds.ts:41:7)");
            }
        }),
    },
    Fault {
        name: "file-in-message",
        check: "errors.no_internals",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_RESOURCE")
                && let Some(Value::String(message)) = body.pointer_mut("/error/message")
            {
                message.push_str("; open /var/lib/garden/beds.json: no such file");
            }
        }),
    },
    Fault {
        name: "harmless-at",
        check: "errors.official_patterns",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_RESOURCE")
                && let Some(Value::String(message)) = body.pointer_mut("/error/message")
            {
                message.push_str(". Look at the list");
            }
        }),
    },
    Fault {
        name: "nothing-found-is-a-success",
        check: "errors.not_found",
        neighbours: &["deletes.not_found"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_bed") && fails_with(body, "NOT_FOUND_RESOURCE") {
                *body = json!({ "success": true, "data": null });
            }
        }),
    },
    Fault {
        name: "nothing-found-without-its-name",
        check: "errors.not_found",
        neighbours: &["errors.details"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_bed") && fails_with(body, "NOT_FOUND_RESOURCE") {
                without(body, "resource_id");
            }
        }),
    },
    Fault {
        name: "secret-in-details",
        check: "errors.echo",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            let secret = &arguments["params"]["access_code"];
            if body["error"]["details"]["param_name"] == "access_code" && !secret.is_null() {
                body["error"]["details"]["value"] = secret.clone();
            }
        }),
    },
];

/// Removes a member from the details of a failure.
fn without(body: &mut Value, member: &str) {
    if let Some(Value::Object(details)) = body.pointer_mut("/error/details") {
        details.remove(member);
    }
}
