//! Limits the size of caller-provided values in audit entries.

use serde::{Serialize as _, Serializer};
use serde_json::Value;

/// Maximum size of one string, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 10;
/// Maximum size of all parameters, in bytes.
const MAX_BYTES: usize = 8 << 10;
/// Bytes charged for each value in addition to its string, so that many small values are limited too.
const VALUE_BYTES: usize = 8;

pub(super) fn text<S: Serializer>(text: &Option<&str>, serializer: S) -> Result<S::Ok, S::Error> {
    text.map(|text| shortened(text, MAX_TEXT_BYTES)).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "the signature is that of serde")]
pub(super) fn value<S: Serializer>(
    value: &Option<Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().map(|value| bounded(value, &mut { MAX_BYTES })).serialize(serializer)
}

/// Cuts a string to at most this many bytes, and appends its original length:
///
/// ```text
/// aaaa… (2048 bytes)
/// ```
fn shortened(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len())
}

/// Copies a value until the remaining budget `room` is used up. Elements beyond it are replaced by their count. The
/// depth of the recursion is limited, because requests have a limited depth.
fn bounded(value: &Value, room: &mut usize) -> Value {
    let mut take = |bytes: usize| *room = room.saturating_sub(bytes.saturating_add(VALUE_BYTES));
    match value {
        Value::String(text) => {
            let text = shortened(text, MAX_TEXT_BYTES.min(*room));
            *room = room.saturating_sub(text.len() + VALUE_BYTES);
            text.into()
        }
        Value::Array(items) => {
            take(0);
            let mut kept = Vec::new();
            for item in items {
                if *room == 0 {
                    kept.push(rest(items.len() - kept.len()).into());
                    break;
                }
                kept.push(bounded(item, room));
            }
            kept.into()
        }
        Value::Object(members) => {
            take(0);
            let mut kept = serde_json::Map::new();
            for (name, member) in members {
                if *room == 0 {
                    kept.insert("…".to_owned(), rest(members.len() - kept.len()).into());
                    break;
                }
                let name = shortened(name, MAX_TEXT_BYTES.min(*room));
                *room = room.saturating_sub(name.len());
                kept.insert(name, bounded(member, room));
            }
            kept.into()
        }
        // Numbers, `true`, `false` and `null` have a bounded length.
        other => {
            take(VALUE_BYTES);
            other.clone()
        }
    }
}

fn rest(count: usize) -> String {
    format!("… ({count} more)")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Generates a string of up to `most` repetitions of a few letters. Repetition is faster than generating as many
    /// different letters.
    fn texts(letters: &'static str, most: usize) -> impl Strategy<Value = String> {
        (letters, 0..most).prop_map(|(letters, times)| letters.repeat(times))
    }

    fn values() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            texts("\\PC{1,3}", 700).prop_map(Value::from),
        ];
        scalar.prop_recursive(5, 400, 40, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..40).prop_map(Value::from),
                prop::collection::btree_map(texts("[a-z]{1,3}", 1_000), inner, 0..40)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_entry_is_large_and_a_small_one_is_whole(value in values()) {
            let bounded = bounded(&value, &mut { MAX_BYTES });
            prop_assert!(bounded.to_string().len() <= 8 * MAX_BYTES);
            if value.to_string().len() < MAX_TEXT_BYTES / 4 {
                prop_assert_eq!(bounded, value);
            }
        }
    }

    #[test]
    fn the_rest_is_counted() {
        let long = "é".repeat(MAX_TEXT_BYTES);
        let found = bounded(&json!({ "a": long, "b": vec![1; 9_000] }), &mut { MAX_BYTES });
        assert_eq!(found["a"], format!("{}… (2048 bytes)", "é".repeat(MAX_TEXT_BYTES / 2)));
        let list = found["b"].as_array().unwrap();
        assert!(list.len() < 1_000);
        assert_eq!(list.last().unwrap(), &json!(format!("… ({} more)", 9_000 - list.len() + 1)));
    }
}
