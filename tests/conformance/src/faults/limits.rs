//! Broken adapters for the checks of the area `limits`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls, fails_with};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "request-larger-than-stated",
        check: "limits.request_size",
        neighbours: &["limits.details"],
        tamper: Tamper::Body(|_, body| states(body, "max_request_size", 64 << 10)),
    },
    Fault {
        name: "request-smaller-than-stated",
        check: "limits.request_size",
        neighbours: &["limits.details", "limits.string_length"],
        tamper: Tamper::Body(|_, body| states(body, "max_request_size", 200 << 10)),
    },
    Fault {
        name: "text-longer-than-stated",
        check: "limits.string_length",
        neighbours: &["limits.details"],
        tamper: Tamper::Body(|_, body| states(body, "max_string_length", 64 << 10)),
    },
    Fault {
        name: "list-longer-than-stated",
        check: "limits.array_elements",
        neighbours: &["limits.details"],
        tamper: Tamper::Body(|_, body| states(body, "max_array_elements", 300)),
    },
    Fault {
        name: "deeper-than-stated",
        check: "limits.nesting_depth",
        neighbours: &["limits.details"],
        tamper: Tamper::Body(|_, body| states(body, "max_nesting_depth", 16)),
    },
    Fault {
        name: "response-larger-than-stated",
        check: "limits.response_size",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                body["data"]["house"]["name"] = json!("x".repeat(1 << 20));
            }
        }),
    },
    Fault {
        name: "limit-in-another-unit",
        check: "limits.details",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "VALIDATION_PAYLOAD_TOO_LARGE") {
                body["error"]["details"]["unit"] = json!("KB");
            }
        }),
    },
];

/// Makes introspection state a wrong limit.
fn states(body: &mut Value, limit: &str, value: usize) {
    if let Some(Value::Object(limits)) = body.pointer_mut("/data/_protocol/limits") {
        limits.insert(limit.to_owned(), json!(value));
    }
}
