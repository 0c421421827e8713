//! Faults of the area `wire`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls};
use crate::proxy::{Proxy, Wire};

pub(super) const FAULTS: &[Fault] = &[
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
        check: "wire.nobody_asked",
        neighbours: &["wire.stays_open"],
        tamper: Tamper::Proxy(|| Box::new(Twice)),
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
        neighbours: &["wire.answers", "danger.levels", "danger.stated", "danger.words"],
        tamper: Tamper::Proxy(|| Box::new(Touchy)),
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
        neighbours: &[
            "errors.not_found",
            "encoding.unicode",
            "limits.request_size",
            "limits.string_length",
            "deletes.not_found",
            "deletes.twice",
            "parameters.null_optional",
            "relationships.missing",
        ],
        tamper: Tamper::Answer(|_, answer| {
            if code(answer).as_deref() == Some("NOT_FOUND_RESOURCE") {
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

/// The code of a failure.
fn code(answer: &Value) -> Option<String> {
    let text = answer.pointer("/result/content/0/text")?.as_str()?;
    let body: Value = serde_json::from_str(text).ok()?;
    Some(body.pointer("/error/code")?.as_str()?.to_owned())
}

/// The arguments of a call.
fn arguments(message: &Value) -> &Value {
    message.pointer("/params/arguments").unwrap_or(&Value::Null)
}

/// Writes a line of its log before every answer.
struct Chatty;

impl Proxy for Chatty {
    fn answer(&mut self, _: Value, wire: &mut Wire) {
        wire.raw_to_client(b"[info] answering\n");
        wire.pass();
    }
}

/// Answers everything twice.
struct Twice;

impl Proxy for Twice {
    fn answer(&mut self, _: Value, wire: &mut Wire) {
        wire.pass();
        wire.pass();
    }
}

/// Says nothing about the house.
struct Silent;

impl Proxy for Silent {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        if !calls(arguments(&message), "get_house") {
            wire.pass();
        }
    }
}

/// Hangs up on whoever asks for what is not there.
struct Touchy;

impl Proxy for Touchy {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        if calls(arguments(&message), "get_conformance_probe") {
            wire.close();
        } else {
            wire.pass();
        }
    }
}
