//! Merges JSON values (RFC 7396).

use serde_json::map::Entry;
use serde_json::{Map, Value};

/// Merges `patch` into `target` according to RFC 7396. Objects are merged key by key at every depth, `null` removes a
/// key, and any other value replaces the old one.
///
/// The patch is moved, never copied. Deeply nested objects cannot overflow the stack.
///
/// ```
/// use serde_json::json;
///
/// let mut task = json!({"title": "Old", "metadata": {"author": "alice", "draft": true}});
/// mcp_aql::update::merge_json(&mut task, json!({"metadata": {"draft": null, "tags": ["x"]}}));
/// assert_eq!(task, json!({"title": "Old", "metadata": {"author": "alice", "tags": ["x"]}}));
/// ```
///
/// Source: MCP-AQL §4.5.1 (REQ-UPD-07 to REQ-UPD-10, choice C-26).
pub fn merge_json(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => merge_map(target, patch),
        (target, patch) => *target = without_nulls(patch),
    }
}

/// Maximum depth to which nested objects are merged recursively. Below this depth, an explicit stack is used, so that
/// the program's stack cannot overflow.
const MAX_RECURSION_DEPTH: usize = 64;

/// Merges one object into another.
pub(super) fn merge_map(target: &mut Map<String, Value>, patch: Map<String, Value>) {
    merge_within(target, patch, MAX_RECURSION_DEPTH);
}

fn merge_within(target: &mut Map<String, Value>, patch: Map<String, Value>, levels: usize) {
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(&key);
            }
            Value::Object(patch) => match target.get_mut(&key) {
                Some(Value::Object(child)) if levels > 0 => merge_within(child, patch, levels - 1),
                Some(Value::Object(child)) => merge_deep(child, patch),
                Some(other) => *other = without_nulls(Value::Object(patch)),
                None => {
                    target.insert(key, without_nulls(Value::Object(patch)));
                }
            },
            value => {
                target.insert(key, value);
            }
        }
    }
}

/// An object during its merge. It was moved out of its parent.
struct MergeFrame {
    key: String,
    target: Map<String, Value>,
    patch: serde_json::map::IntoIter,
}

/// Merges one object into another at any depth. Instead of recursing, it moves nested objects out of their parents
/// and keeps them on an explicit stack.
fn merge_deep(root: &mut Map<String, Value>, patch: Map<String, Value>) {
    let mut above = Vec::new();
    let mut key = String::new();
    let mut target = std::mem::take(root);
    let mut patch = patch.into_iter();
    loop {
        let nested = patch.by_ref().find_map(|(key, value)| merge_member(&mut target, key, value));
        if let Some((child_key, child, child_patch)) = nested {
            above.push(MergeFrame {
                key: std::mem::replace(&mut key, child_key),
                target: std::mem::replace(&mut target, child),
                patch: std::mem::replace(&mut patch, child_patch.into_iter()),
            });
        } else if let Some(parent) = above.pop() {
            let child_key = std::mem::replace(&mut key, parent.key);
            let child = std::mem::replace(&mut target, parent.target);
            target.insert(child_key, Value::Object(child));
            patch = parent.patch;
        } else {
            *root = target;
            return;
        }
    }
}

type PendingMerge = (String, Map<String, Value>, Map<String, Value>);

/// Merges one member. If two objects must be merged, returns them instead.
fn merge_member(
    target: &mut Map<String, Value>,
    key: String,
    value: Value,
) -> Option<PendingMerge> {
    match value {
        Value::Null => {
            target.remove(&key);
        }
        Value::Object(patch) => match target.get_mut(&key) {
            Some(Value::Object(child)) => return Some((key, std::mem::take(child), patch)),
            Some(other) => *other = without_nulls(Value::Object(patch)),
            None => {
                target.insert(key, without_nulls(Value::Object(patch)));
            }
        },
        value => match target.entry(key) {
            Entry::Occupied(mut slot) => {
                slot.insert(value);
            }
            Entry::Vacant(slot) => {
                slot.insert(value);
            }
        },
    }
    None
}

/// Applies a patch to a missing value: its objects lose their `null` members, and arrays are unchanged.
pub(super) fn without_nulls(mut patch: Value) -> Value {
    let mut open = vec![&mut patch];
    while let Some(value) = open.pop() {
        if let Value::Object(members) = value {
            members.retain(|_, member| !member.is_null());
            open.extend(members.values_mut().filter(|member| member.is_object()));
        }
    }
    patch
}

/// Returns the object in `target`. Replaces any other value with an empty object.
pub(super) fn object_in(target: &mut Value) -> Option<&mut Map<String, Value>> {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    target.as_object_mut()
}

/// Returns the members of a value. Decoding has already checked that it is an object.
pub(super) fn into_members(mut value: Value) -> Map<String, Value> {
    object_in(&mut value).map(std::mem::take).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Generates JSON of a few levels. Its keys often collide.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3_i32).prop_map(Value::from),
            "[xy]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|members| Value::Object(Map::from_iter(members))),
            ]
        })
    }

    #[test]
    fn merges_as_the_rfcs_examples() {
        // RFC 7396, appendix A; REQ-UPD-07, REQ-UPD-08, REQ-UPD-09, REQ-UPD-10
        for (original, patch, expected) in [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
            (json!({"a":"b"}), json!({"a":null}), json!({})),
            (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
            (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
            (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a":"b"}), json!(["c"]), json!(["c"])),
            (json!({"a":"foo"}), json!(null), json!(null)),
            (json!({"a":"foo"}), json!("bar"), json!("bar")),
            (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
            (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
            (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
        ] {
            let mut merged = original.clone();
            merge_json(&mut merged, patch.clone());
            assert_eq!(merged, expected, "{original} with {patch}");
        }
    }

    #[test]
    fn merges_the_protocols_example() {
        // REQ-UPD-08, REQ-UPD-09, REQ-UPD-11; choice C-26
        let mut stored = json!({
            "title": "Old Title",
            "metadata": {"priority": "low", "tags": ["draft"], "author": "alice"}
        });
        merge_json(
            &mut stored,
            json!({
                "title": "New Title",
                "metadata": {"priority": "high", "tags": ["published", "reviewed"]}
            }),
        );
        assert_eq!(
            stored,
            json!({
                "title": "New Title",
                "metadata": {
                    "priority": "high", "tags": ["published", "reviewed"], "author": "alice"
                }
            })
        );
    }

    #[test]
    fn deep_nesting_does_not_exhaust_the_stack() {
        let deep = |leaf: Value| {
            (0..50_000)
                .fold(leaf, |inside, _| Value::Object(Map::from_iter([("a".to_owned(), inside)])))
        };
        let mut target = deep(json!({"b": 1}));
        merge_json(&mut target, deep(json!({"c": 2})));
        let mut fresh = json!({});
        merge_json(&mut fresh, deep(json!({"c": 2, "d": null})));

        let mut depth = 0;
        let mut inside = target;
        while let Some(next) = inside.as_object_mut().and_then(|members| members.remove("a")) {
            inside = next;
            depth += 1;
        }
        assert_eq!((depth, inside), (50_000, json!({"b": 1, "c": 2})));
        // Dropping a deep value would recurse, and this is not under test here.
        while let Some(next) = fresh.as_object_mut().and_then(|members| members.remove("a")) {
            fresh = next;
        }
        assert_eq!(fresh, json!({"c": 2}));
    }

    proptest! {
        /// REQ-UPD-08, REQ-UPD-10
        #[test]
        fn merging_twice_equals_merging_once(target in any_json(), patch in any_json()) {
            let mut once = target;
            merge_json(&mut once, patch.clone());
            let mut twice = once.clone();
            merge_json(&mut twice, patch);
            prop_assert_eq!(once, twice);
        }

        /// REQ-UPD-11
        #[test]
        fn absent_members_are_unchanged(target in any_json(), patch in any_json()) {
            let mut merged = target.clone();
            merge_json(&mut merged, patch.clone());
            if let (Value::Object(before), Value::Object(patch)) = (&target, &patch) {
                for (key, value) in before.iter().filter(|(key, _)| !patch.contains_key(*key)) {
                    prop_assert_eq!(merged.get(key), Some(value));
                }
            }
        }

        #[test]
        fn agrees_with_the_rfcs_own_wording(target in any_json(), patch in any_json()) {
            let expected = by_the_book(target.clone(), patch.clone());
            let mut merged = target;
            merge_json(&mut merged, patch);
            prop_assert_eq!(merged, expected);
        }
    }

    /// Implements the pseudocode of RFC 7396, section 2, literally.
    fn by_the_book(target: Value, patch: Value) -> Value {
        let Value::Object(patch) = patch else { return patch };
        let mut target = match target {
            Value::Object(target) => target,
            _ => Map::new(),
        };
        for (name, value) in patch {
            if value.is_null() {
                target.remove(&name);
            } else {
                let stored = target.remove(&name).unwrap_or_default();
                target.insert(name, by_the_book(stored, value));
            }
        }
        Value::Object(target)
    }
}
