//! Faults of the area `wire`.

use serde_json::{Value, json};

use super::{Fault, Tamper};
use crate::proxy::{Proxy, Wire};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "log-lines-in-between",
        check: "wire.only_messages",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Talkative)),
    },
    Fault {
        name: "two-text-items",
        check: "wire.one_text_item",
        neighbours: &[],
        tamper: Tamper::Answer(|_, answer| {
            if let Some(Value::Array(items)) = answer.pointer_mut("/result/content") {
                items.push(json!({ "type": "text", "text": "ok" }));
            }
        }),
    },
];

/// Tells the client what belongs into a log.
struct Talkative;

impl Proxy for Talkative {
    fn request(&mut self, _: Value, wire: &mut Wire) {
        wire.raw_to_client(b"INFO a request came in\n");
        wire.pass();
    }
}
