//! Faults of the area `introspection`.

use serde_json::Value;

use super::{Fault, Tamper};

pub(super) const FAULTS: &[Fault] = &[Fault {
    name: "introspect-not-listed",
    check: "introspection.introspect_listed",
    neighbours: &[],
    tamper: Tamper::Body(|_, body| {
        if let Some(Value::Array(operations)) = body.pointer_mut("/data/operations") {
            operations.retain(|operation| operation["name"] != "introspect");
        }
    }),
}];
