//! Broken adapters for the checks of the area `routing`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls};
use crate::proxy::{Proxy, Wire};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "unknown-operation-is-a-missing-thing",
        check: "routing.unknown_operation",
        neighbours: &["routing.case_sensitive"],
        tamper: Tamper::Body(|_, body| {
            if body["error"]["code"] == "NOT_FOUND_OPERATION" {
                let message = "Resource 'operation' not found: 'this'";
                body["error"] = json!({ "code": "NOT_FOUND_RESOURCE", "message": message });
            }
        }),
    },
    Fault {
        name: "introspects-if-not-told-what-to-do",
        check: "routing.missing_operation",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(Value::Object(arguments)) = message.pointer_mut("/params/arguments")
                && !arguments.contains_key("operation")
                && !arguments.contains_key("operations")
            {
                arguments.extend(introspection());
            }
        }),
    },
    Fault {
        name: "introspects-whatever-is-no-text",
        check: "routing.operation_not_string",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(Value::Object(arguments)) = message.pointer_mut("/params/arguments")
                && arguments.get("operation").is_some_and(|operation| !operation.is_string())
            {
                arguments.extend(introspection());
            }
        }),
    },
    Fault {
        name: "trims-names-of-operations",
        check: "routing.malformed_names",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            rename(message, |name| name.trim().to_owned());
        }),
    },
    Fault {
        name: "ignores-case-of-operations",
        check: "routing.case_sensitive",
        neighbours: &["errors.details"],
        tamper: Tamper::Request(|message| {
            rename(message, str::to_lowercase);
        }),
    },
    Fault {
        name: "hyphens-taken-for-underscores",
        check: "routing.case_sensitive",
        neighbours: &["errors.details"],
        tamper: Tamper::Request(|message| {
            rename(message, |name| name.replace('-', "_"));
        }),
    },
    Fault {
        name: "endpoint-in-capitals",
        check: "routing.families",
        neighbours: &["routing.wrong_endpoint_code"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect") {
                for path in ["/data/operation", "/data/operations"] {
                    each(body.pointer_mut(path), |entry| {
                        if let Some(family) = entry["endpoint"].as_str().map(str::to_uppercase) {
                            entry["endpoint"] = json!(family);
                        }
                    });
                }
            }
        }),
    },
    Fault {
        name: "creating-is-shown-as-destructive",
        check: "routing.permissions",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect")
                && let Some(details) = body.pointer_mut("/data/operation")
                && details["name"] == "link_beds"
            {
                details["permissions"]["destructive"] = json!(true);
            }
        }),
    },
    Fault {
        name: "reserved-name-for-something-else",
        check: "routing.reserved",
        neighbours: &["safety_loop.complete", "safety_loop.stated"],
        tamper: Tamper::Proxy(|| Box::new(Renamed("get_house", "verify_challenge"))),
    },
    Fault {
        name: "update-that-reads",
        check: "routing.verbs",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Renamed("get_house", "update_house"))),
    },
    Fault {
        name: "wrong-endpoint-without-the-right-one",
        check: "routing.wrong_endpoint",
        neighbours: &["routing.wrong_endpoint_code"],
        tamper: Tamper::Body(|_, body| {
            if body["error"]["code"] == "VALIDATION_ENDPOINT_MISMATCH" {
                body["error"]["message"] = json!("This operation is not available here");
                body["error"]["details"] =
                    json!({ "operation": body["error"]["details"]["operation"] });
            }
        }),
    },
    Fault {
        name: "wrong-endpoint-under-another-code",
        check: "routing.wrong_endpoint_code",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if body["error"]["code"] == "VALIDATION_ENDPOINT_MISMATCH" {
                body["error"]["code"] = json!("PERMISSION_DENIED");
            }
        }),
    },
];

fn introspection() -> serde_json::Map<String, Value> {
    let arguments = json!({ "operation": "introspect", "params": { "query": "types" } });
    arguments.as_object().cloned().unwrap_or_default()
}

/// Changes the name of the called operation.
fn rename(message: &mut Value, change: impl Fn(&str) -> String) {
    if let Some(operation) = message.pointer_mut("/params/arguments/operation")
        && let Some(name) = operation.as_str()
    {
        *operation = json!(change(name));
    }
}

/// Applies a change to an object or to each item of a list.
fn each(value: Option<&mut Value>, change: impl Fn(&mut Value)) {
    match value {
        Some(Value::Array(items)) => items.iter_mut().for_each(change),
        Some(value @ Value::Object(_)) => change(value),
        _ => {}
    }
}

/// Renames an operation or a parameter everywhere.
pub(super) struct Renamed(pub(super) &'static str, pub(super) &'static str);

impl Proxy for Renamed {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        wire.raw_to_adapter(message.to_string().replace(self.1, self.0).as_bytes());
    }

    fn answer(&mut self, message: Value, wire: &mut Wire) {
        let renamed = message.to_string().replace(self.0, self.1) + "\n";
        wire.raw_to_client(renamed.as_bytes());
    }
}
