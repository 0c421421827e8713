//! Broken adapters for the checks of the area `danger`.

use serde_json::{Value, json};

use super::shadow::Unasked;
use super::{Fault, Tamper, asks_for, calls, entry, fails_with};

/// Returns `true` if these arguments send this query to `introspect`.
pub(super) fn queries(arguments: &Value, query: &str) -> bool {
    calls(arguments, "introspect") && arguments["params"]["query"] == query
}

/// Adds a query to the documentation of `introspect`.
pub(super) fn publish(arguments: &Value, body: &mut Value, query: &str) {
    if asks_for(arguments, "introspect")
        && let Some(parameter) = entry(body.pointer_mut("/data/operation/parameters"), "query")
        && let Some(words) = parameter["enum"].as_array_mut()
        && !words.iter().any(|word| word == query)
    {
        words.push(json!(query));
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "danger-untold",
        check: "danger.stated",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if queries(arguments, "danger")
                && let Some(entries) =
                    body.pointer_mut("/data/operations").and_then(Value::as_array_mut)
            {
                entries.retain(|entry| entry["name"] != "create_bed");
            }
        }),
    },
    Fault {
        name: "danger-in-other-words",
        check: "danger.values",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if queries(arguments, "danger")
                && let Some(entry) = entry(body.pointer_mut("/data/operations"), "create_bed")
            {
                entry["level"] = json!("moderate");
            }
        }),
    },
    Fault {
        name: "confirmed-and-said-not-to-be",
        check: "danger.as_stated",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if queries(arguments, "danger")
                && let Some(entry) = entry(body.pointer_mut("/data/operations"), "delete_bed")
            {
                entry["requires_confirmation"] = json!(false);
            }
        }),
    },
    Fault {
        name: "overwriting-is-safe",
        check: "danger.levels",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if queries(arguments, "danger")
                && let Some(entry) = entry(body.pointer_mut("/data/operations"), "update_bed")
            {
                entry["level"] = json!("safe");
            }
        }),
    },
    Fault {
        name: "nobody-is-asked",
        check: "danger.gated",
        neighbours: &["batch.halts"],
        tamper: Tamper::Proxy(|| Box::new(Unasked::default())),
    },
    Fault {
        name: "denied-where-a-confirmation-is-missing",
        check: "danger.gated",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "delete_bed") && fails_with(body, "CONFIRMATION_REQUIRED") {
                *body = json!({ "success": false, "error": {
                    "code": "PERMISSION_DENIED",
                    "message": "Permission denied: the policy forbids it",
                    "details": { "operation": "delete_bed", "reason": "the policy forbids it" },
                } });
            }
        }),
    },
    Fault {
        name: "asked-for-another-danger",
        check: "danger.as_stated",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(level) = body.pointer_mut("/error/details/danger_level") {
                *level = json!("dangerous");
            }
        }),
    },
    Fault {
        name: "trust-in-other-words",
        check: "danger.trust_stated",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            publish(arguments, body, "adapter_info");
            if queries(arguments, "adapter_info") {
                *body = json!({ "success": true, "data": {
                    "name": "garden", "version": "1.0.0", "trust": { "level": "high" },
                } });
            }
        }),
    },
];
