//! Faults of the area `routing`.

use serde_json::json;

use super::{Fault, Tamper};

pub(super) const FAULTS: &[Fault] = &[Fault {
    name: "unknown-operation-unnamed",
    check: "routing.unknown_operation",
    neighbours: &[],
    tamper: Tamper::Body(|_, body| {
        if body["error"]["code"] == "NOT_FOUND_OPERATION" {
            body["error"]["message"] = json!("No such operation");
        }
    }),
}];
