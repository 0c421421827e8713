//! Broken adapters for the checks of the area `encoding`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls};
use crate::proxy::{Proxy, Wire};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "nul-is-left-out",
        check: "encoding.nul",
        neighbours: &[],
        tamper: Tamper::Request(|request| {
            each_text(request, &|text| *text = text.replace('\0', ""))
        }),
    },
    Fault {
        name: "bad-bytes-are-replaced",
        check: "encoding.invalid_utf8",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Lossy)),
    },
    Fault {
        name: "bad-bytes-end-it",
        check: "encoding.invalid_utf8",
        neighbours: &["wire.answers", "wire.stays_open"],
        tamper: Tamper::Proxy(|| Box::new(Strict)),
    },
    Fault {
        name: "half-pairs-are-replaced",
        check: "encoding.lone_surrogate",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Pairless)),
    },
    Fault {
        name: "ascii-only",
        check: "encoding.unicode",
        neighbours: &["encoding.round_trip", "wire.is_error"],
        tamper: Tamper::Body(|arguments, body| {
            if !arguments.to_string().is_ascii() {
                *body = json!({ "success": false, "error": {
                    "code": "VALIDATION_INVALID_ENCODING",
                    "message": "Invalid character encoding in request",
                }});
            }
        }),
    },
    Fault {
        name: "text-is-put-right",
        check: "encoding.round_trip",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "create_bed")
                && let Some(Value::String(name)) = body.pointer_mut("/data/bed/name")
            {
                *name = name.replace("e\u{301}", "\u{e9}");
            }
        }),
    },
    Fault {
        // The check compares every string of a bed. `note` is not the first one.
        name: "notes-are-put-right",
        check: "encoding.round_trip",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "create_bed")
                && let Some(Value::String(note)) = body.pointer_mut("/data/bed/note")
            {
                *note = note.replace('\u{a0}', " ");
            }
        }),
    },
    Fault {
        name: "base64-without-padding",
        check: "encoding.binary",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(Value::String(image)) = body.pointer_mut("/data/picture/image/content") {
                *image = format!("{}A", image.trim_end_matches('='));
            }
        }),
    },
];

/// Applies a change to every string in a message.
fn each_text(message: &mut Value, change: &impl Fn(&mut String)) {
    match message {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| each_text(member, change));
        }
        _ => {}
    }
}

/// Replaces invalid bytes instead of rejecting them.
struct Lossy;

impl Proxy for Lossy {
    fn nonsense(&mut self, line: &[u8], wire: &mut Wire) {
        wire.raw_to_adapter(String::from_utf8_lossy(line).as_bytes());
    }
}

/// Closes the connection on invalid bytes.
struct Strict;

impl Proxy for Strict {
    fn nonsense(&mut self, line: &[u8], wire: &mut Wire) {
        match std::str::from_utf8(line) {
            Ok(_) => wire.pass(),
            Err(_) => wire.close(),
        }
    }
}

/// Replaces lone surrogates instead of rejecting them.
struct Pairless;

impl Proxy for Pairless {
    fn nonsense(&mut self, line: &[u8], wire: &mut Wire) {
        let Ok(text) = std::str::from_utf8(line) else { return wire.pass() };
        let text = ["\\ud800", "\\udc00"]
            .iter()
            .fold(text.to_owned(), |text, half| text.replace(half, "\u{fffd}"));
        wire.raw_to_adapter(text.as_bytes());
    }
}
