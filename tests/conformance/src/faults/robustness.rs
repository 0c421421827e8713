//! Broken adapters for the checks of the area `robustness`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls};
use crate::proxy::{Calls, Proxy, Wire};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "garbage-ends-the-connection",
        check: "robustness.invalid_lines",
        neighbours: &["robustness.deep_json", "encoding.invalid_utf8"],
        tamper: Tamper::Proxy(|| Box::new(Fragile { what: |line| !line.contains(&b'{') })),
    },
    Fault {
        name: "unknown-methods-succeed",
        check: "robustness.unknown_method",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Yes)),
    },
    Fault {
        name: "unknown-tools-read",
        check: "robustness.unknown_tool",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(name) = message.pointer_mut("/params/name")
                && name.as_str().is_some_and(|name| !name.starts_with("mcp_aql"))
            {
                *name = json!("mcp_aql_read");
            }
        }),
    },
    Fault {
        name: "arguments-in-a-list-introspect",
        check: "robustness.arguments_not_object",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(arguments) = message.pointer_mut("/params/arguments")
                && !arguments.is_object()
            {
                *arguments = json!({ "operation": "introspect", "params": { "query": "types" } });
            }
        }),
    },
    Fault {
        name: "last-of-two-names-counts",
        check: "robustness.duplicate_keys",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(LastName)),
    },
    Fault {
        name: "ids-become-numbers",
        check: "robustness.request_ids",
        neighbours: &["wire.unexpected_response"],
        tamper: Tamper::Answer(|_, answer| {
            if answer["id"].is_string() {
                answer["id"] = json!(0);
            }
        }),
    },
    Fault {
        name: "mixes-answers-up-under-load",
        check: "robustness.pipelined",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Confused::default())),
    },
    Fault {
        name: "small-limit-that-nobody-states",
        check: "robustness.large_request",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            let size = arguments.to_string().len();
            if calls(arguments, "introspect") && (50_000..65_536).contains(&size) {
                let message = "Payload exceeds request_size limit of 50000";
                let error = json!({ "code": "VALIDATION_PAYLOAD_TOO_LARGE", "message": message });
                *body = json!({ "success": false, "error": error });
            }
        }),
    },
    Fault {
        name: "depth-ends-the-connection",
        check: "robustness.deep_json",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Box::new(Fragile { what: |line| line.ends_with(b"}}}}") || line.ends_with(b"]}}}}") })
        }),
    },
    Fault {
        name: "cancellation-ends-the-connection",
        check: "robustness.cancelled_request",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Offended)),
    },
];

/// Closes the connection on some invalid lines.
struct Fragile {
    what: fn(&[u8]) -> bool,
}

impl Proxy for Fragile {
    fn nonsense(&mut self, line: &[u8], wire: &mut Wire) {
        if (self.what)(line) {
            wire.close();
        } else {
            wire.pass();
        }
    }
}

/// Returns a success for every unknown request.
struct Yes;

impl Proxy for Yes {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        let is_strange = message["method"].as_str().is_some_and(|it| it.starts_with("conformance"));
        if is_strange {
            wire.to_client(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} }));
        } else {
            wire.pass();
        }
    }
}

/// Returns the first reply to all concurrent requests for details.
#[derive(Default)]
struct Confused {
    calls: Calls,
    waiting: usize,
    first: Option<Value>,
}

fn asks_for_details(message: &Value) -> bool {
    let arguments = message.pointer("/params/arguments").unwrap_or(&Value::Null);
    calls(arguments, "introspect") && arguments.pointer("/params/name").is_some()
}

impl Proxy for Confused {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        self.calls.asked(&message);
        self.waiting += usize::from(asks_for_details(&message));
        wire.pass();
    }

    fn answer(&mut self, mut message: Value, wire: &mut Wire) {
        let asked = self.calls.answered(&message);
        if !asked.is_some_and(|request| asks_for_details(&request)) {
            return wire.pass();
        }
        self.waiting -= 1;
        if self.waiting > 12
            && let Some(first) = &self.first
        {
            message["result"] = first.clone();
            return wire.to_client(&message);
        }
        self.first = Some(message["result"].clone());
        wire.pass();
    }
}

/// Closes the connection on a cancellation.
struct Offended;

impl Proxy for Offended {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        if message["method"] == "notifications/cancelled" {
            wire.close();
        } else {
            wire.pass();
        }
    }
}

/// Re-encodes every message. This drops the first of two members with the same name.
struct LastName;

impl Proxy for LastName {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        wire.to_adapter(&message);
    }
}
