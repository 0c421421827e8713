//! Broken adapters for the checks of the area `wire`.

use std::sync::PoisonError;

use serde_json::{Value, json};

use super::{Fault, Tamper, calls};
use crate::proxy::{Proxy, Shared, Wire};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "unreadable-lines-are-dropped",
        check: "wire.unreadable_requests",
        neighbours: &["robustness.deep_json"],
        tamper: Tamper::Proxy(|| Box::new(Dropping)),
    },
    Fault {
        name: "logs-on-standard-output",
        check: "wire.only_messages",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Chatty)),
    },
    Fault {
        name: "no-json-rpc-version",
        check: "wire.json_rpc_form",
        neighbours: &[],
        tamper: Tamper::Answer(|_, answer| {
            if let Some(members) = answer.as_object_mut() {
                members.remove("jsonrpc");
            }
        }),
    },
    Fault {
        name: "result-beside-an-error",
        check: "wire.json_rpc_form",
        neighbours: &[],
        tamper: Tamper::Answer(|_, answer| {
            if answer.get("result").is_some() {
                answer["error"] = Value::Null;
            }
        }),
    },
    Fault {
        name: "every-answer-twice",
        check: "wire.unexpected_response",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Twice(3))),
    },
    Fault {
        name: "silent-about-the-house",
        check: "wire.answers",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Silent)),
    },
    Fault {
        name: "hangs-up-on-unknown-operations",
        check: "wire.stays_open",
        neighbours: &["wire.answers", "robustness.duplicate_keys"],
        tamper: Tamper::Shared(|hung_up| Box::new(Touchy(hung_up))),
    },
    Fault {
        name: "two-text-items",
        check: "wire.one_text_item",
        neighbours: &[],
        tamper: Tamper::Answer(|_, answer| {
            if let Some(Value::Array(items)) = answer.pointer_mut("/result/content") {
                items.push(json!({ "type": "text", "text": "Done." }));
            }
        }),
    },
    Fault {
        name: "missing-things-are-json-rpc-errors",
        check: "wire.protocol_errors",
        neighbours: &["errors.not_found"],
        tamper: Tamper::Answer(|request, answer| {
            let params = arguments(request).get("params").unwrap_or(&Value::Null);
            if calls(arguments(request), "get_execution")
                && *params == json!({ "execution_id": "conformance-nobody" })
                && code(answer).as_deref() == Some("NOT_FOUND_RESOURCE")
            {
                let error = json!({ "code": -32602, "message": "No such thing" });
                let id = answer["id"].clone();
                *answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            }
        }),
    },
    Fault {
        name: "is-error-for-what-another-call-can-mend",
        check: "wire.is_error",
        neighbours: &[],
        tamper: Tamper::Answer(|_, answer| {
            if code(answer).is_some() {
                answer["result"]["isError"] = json!(true);
            }
        }),
    },
];

/// Returns the error code of a failure.
fn code(answer: &Value) -> Option<String> {
    let text = answer.pointer("/result/content/0/text")?.as_str()?;
    let body: Value = serde_json::from_str(text).ok()?;
    Some(body.pointer("/error/code")?.as_str()?.to_owned())
}

/// Returns the arguments of a call.
fn arguments(message: &Value) -> &Value {
    message.pointer("/params/arguments").unwrap_or(&Value::Null)
}

/// Writes a log line before every response.
struct Chatty;

impl Proxy for Chatty {
    fn answer(&mut self, _: Value, wire: &mut Wire) {
        wire.raw_to_client(b"[info] answering\n");
        wire.pass();
    }
}

/// Sends responses twice, at most this many.
struct Twice(usize);

impl Proxy for Twice {
    fn answer(&mut self, _: Value, wire: &mut Wire) {
        wire.pass();
        if self.0 > 0 {
            self.0 -= 1;
            wire.pass();
        }
    }
}

/// Never responds to requests for the house.
struct Silent;

impl Proxy for Silent {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        if !calls(arguments(&message), "get_house") {
            wire.pass();
        }
    }
}

/// Closes the connection on the first requests for missing items.
struct Touchy(Shared);

impl Touchy {
    fn is_patient(&self) -> bool {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = shared["times"].as_u64().unwrap_or_default();
        shared["times"] = json!(times + 1);
        times >= 2
    }
}

impl Proxy for Touchy {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        if calls(arguments(&message), "get_conformance_probe") && !self.is_patient() {
            wire.close();
        } else {
            wire.pass();
        }
    }
}

/// Drops lines that its parser rejects, like the SDKs of MCP.
struct Dropping;

impl Proxy for Dropping {
    fn nonsense(&mut self, _line: &[u8], _wire: &mut Wire) {}
}
