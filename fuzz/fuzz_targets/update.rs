//! Parses bytes as an `input` and a resource, and merges them.
//!
//! A merge must never fail, must equal the merge patch of RFC 7396, and must be idempotent. The typed merge must equal
//! the merge of the JSON.
//!
//! An input has one line with the `input` and one with the resource:
//!
//! ```json
//! {"name":"b","note":null}
//! {"name":"a","note":"x"}
//! ```
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use mcp_aql::update::merge_json;
use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A resource with a field for every merge rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
#[serde(default)]
struct Thing {
    /// Replaced.
    name: String,
    /// Removed by null.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Replaced as a whole.
    tags: Vec<String>,
    /// Merged by key.
    counts: BTreeMap<String, i64>,
    /// Merged by field.
    inner: Inner,
    /// Merged by key at every depth.
    extra: Map<String, Value>,
}

/// The nested struct.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
#[serde(default)]
struct Inner {
    /// Replaced.
    text: String,
    /// Removed by null.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<i64>,
}

/// Implements RFC 7396, section 2, literally. Recursion is safe, because the parser limits the depth.
fn by_the_book(target: Value, patch: Value) -> Value {
    let Value::Object(patch) = patch else { return patch };
    let mut target = match target {
        Value::Object(target) => target,
        _ => Map::new(),
    };
    for (name, value) in patch {
        let stored = target.remove(&name);
        if !value.is_null() {
            target.insert(name, by_the_book(stored.unwrap_or_default(), value));
        }
    }
    Value::Object(target)
}

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let mut next = || serde_json::from_slice::<Value>(parts.next().unwrap_or_default()).ok();
    let Some(input) = next() else { return };
    let stored = next().unwrap_or_default();

    // Plain JSON: the result equals RFC 7396, and a second merge changes nothing.
    let mut once = stored.clone();
    merge_json(&mut once, input.clone());
    assert_eq!(once, by_the_book(stored.clone(), input.clone()));
    let mut twice = once.clone();
    merge_json(&mut twice, input.clone());
    assert_eq!(once, twice);

    // Typed: the result equals the merge of the resource's JSON. Other fields stay unchanged.
    let Ok(update) = Update::<Thing>::from_json(input.clone()) else { return };
    let before: Thing = serde_json::from_value(stored).unwrap_or_default();
    let mut typed = before.clone();
    update.clone().merge_into(&mut typed);
    let mut json = serde_json::to_value(&before).expect("a thing is JSON");
    update.clone().apply_to_json(&mut json);
    assert_eq!(serde_json::to_value(&typed).expect("a thing is JSON"), json);
    let changed: Vec<_> = update.changed_fields().collect();
    let (old, new) = (serde_json::to_value(&before).unwrap_or_default(), json);
    for (name, value) in old.as_object().into_iter().flatten() {
        if !changed.contains(&name.as_str()) {
            assert_eq!(&new[name], value);
        }
    }
    let mut again = typed.clone();
    update.merge_into(&mut again);
    assert_eq!(typed, again);
});
