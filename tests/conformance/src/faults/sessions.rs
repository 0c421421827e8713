//! Broken adapters for the checks of the area `sessions`.

use serde_json::{Value, json};

use super::{Fault, Tamper};
use crate::proxy::{Proxy, Shared, Wire};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "no-session-id",
        check: "sessions.own_id",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(Value::Object(protocol)) = body.pointer_mut("/data/_protocol") {
                protocol.remove("session_id");
            }
        }),
    },
    Fault {
        name: "one-session-for-everybody",
        check: "sessions.fresh",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(protocol) = body.pointer_mut("/data/_protocol") {
                protocol["session_id"] = json!("s-1");
            }
        }),
    },
    Fault {
        name: "tokens-outlive-their-session",
        check: "sessions.tokens_end",
        neighbours: &["sessions.meta_identity"],
        tamper: Tamper::Shared(|shared| {
            Box::new(Lenient { shared, own: Vec::new(), needs_label: false })
        }),
    },
    Fault {
        name: "a-label-makes-somebody-else",
        check: "sessions.meta_identity",
        neighbours: &[],
        tamper: Tamper::Shared(|shared| {
            Box::new(Lenient { shared, own: Vec::new(), needs_label: true })
        }),
    },
    Fault {
        name: "progress-for-everybody",
        check: "sessions.no_progress_across",
        neighbours: &[],
        tamper: Tamper::Shared(|shared| Box::new(Loud { shared, heard: 0, said: Vec::new() })),
    },
];

/// Accepts tokens of other sessions: all of them, or only those of sessions named in `_meta`.
struct Lenient {
    shared: Shared,
    own: Vec<String>,
    needs_label: bool,
}

impl Lenient {
    fn with_shared<R>(&self, look: impl FnOnce(&mut Value) -> R) -> R {
        look(&mut self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Proxy for Lenient {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        let token = message.pointer("/params/arguments/params/_confirmation");
        let token = token.and_then(Value::as_str).unwrap_or_default();
        let is_known = self.with_shared(|tokens| tokens.get(token).is_some());
        let has_label = message.pointer("/params/arguments/_meta/session_id").is_some();
        let is_others = is_known && !self.own.iter().any(|own| own == token);
        if is_others && (has_label || !self.needs_label) {
            let body = json!({ "success": true, "data": { "bed_id": "bed-0" } });
            let result = json!({ "content": [{ "type": "text", "text": body.to_string() }] });
            wire.to_client(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        } else {
            wire.pass();
        }
    }

    fn answer(&mut self, message: Value, wire: &mut Wire) {
        let text = message.pointer("/result/content/0/text").and_then(Value::as_str);
        let body: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        if let Some(token) = body.pointer("/error/details/confirmation_token")
            && let Some(token) = token.as_str()
        {
            self.own.push(token.to_owned());
            self.with_shared(|tokens| tokens[token] = json!(true));
        }
        wire.pass();
    }
}

/// Sends the progress of every session to all sessions.
struct Loud {
    shared: Shared,
    heard: usize,
    said: Vec<Value>,
}

impl Proxy for Loud {
    fn answer(&mut self, message: Value, wire: &mut Wire) {
        let mut shared = self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if shared.get("progress").is_none() {
            shared["progress"] = json!([]);
        }
        if message["method"] == "notifications/progress" {
            self.said.push(message.clone());
            if let Some(all) = shared["progress"].as_array_mut() {
                all.push(message);
            }
        } else if let Some(all) = shared["progress"].as_array() {
            for other in all.iter().skip(self.heard) {
                if !self.said.contains(other) {
                    wire.to_client(other);
                }
            }
            self.heard = all.len();
        }
        wire.pass();
    }
}
