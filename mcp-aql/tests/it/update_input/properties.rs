//! Properties of the merge that hold for every input.

use mcp_aql::Update;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::resource::{Task, task};

/// Generates JSON of a few levels. Some names match those of the resource.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..400_i32).prop_map(Value::from),
        "[xy1]{0,2}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        "[a-c1]",
        Just("author".to_owned()),
        Just("note".into()),
        Just("origin".into()),
        Just("system".into()),
        Just("parent".into()),
        Just("title".into()),
        Just("extra".into()),
        Just("metadata".into()),
        Just("counts".into()),
        Just("rooms".into()),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..4).prop_map(object),
        ]
    })
}

fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Object(Map::from_iter(members))
}

fn text() -> impl Strategy<Value = Value> {
    "[a-z]{0,3}".prop_map(Value::from)
}

fn maybe(value: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    prop_oneof![1 => Just(Value::Null), 3 => value]
}

fn members(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            prop::option::of(value.prop_map(move |value| (name.to_owned(), value)))
        })
        .collect();
    fields.prop_map(|fields| object(fields.into_iter().flatten())).boxed()
}

fn metadata(depth: u32) -> BoxedStrategy<Value> {
    let origin = members(vec![
        ("system", text().boxed()),
        ("number", maybe((0..9_i64).prop_map(Value::from)).boxed()),
    ]);
    let mut fields =
        vec![("author", text().boxed()), ("note", maybe(text()).boxed()), ("origin", origin)];
    if depth > 0 {
        fields.push(("parent", maybe(metadata(depth - 1)).boxed()));
    }
    members(fields)
}

fn map_of(keys: &'static str, values: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop::collection::btree_map(keys, maybe(values), 0..3).prop_map(object).boxed()
}

/// Generates an input that can be decoded.
fn valid_input() -> BoxedStrategy<Value> {
    let number = (0..9_u32).prop_map(Value::from).boxed();
    let floors =
        map_of("[a-c]", prop::collection::vec(number.clone(), 0..2).prop_map(Value::from).boxed());
    let any_object = prop::collection::btree_map("[a-d]", any_json(), 0..4).prop_map(object);
    let kind = prop_oneof![
        number.clone().prop_map(|it| json!({"chore": {"minutes": it}})),
        text().prop_map(|it| json!({"errand": {"shop": it}})),
    ];
    members(vec![
        ("title", text().boxed()),
        ("status", prop_oneof![Just(json!("todo")), Just(json!("done"))].boxed()),
        ("priority", number.clone()),
        ("due_date", maybe(text()).boxed()),
        ("tags", prop::collection::vec(text(), 0..3).prop_map(Value::from).boxed()),
        ("metadata", metadata(2)),
        ("review", maybe(metadata(1)).boxed()),
        ("counts", map_of("[a-c]", number.clone())),
        ("people", map_of("(boss|clerk)", metadata(1))),
        ("rooms", maybe(map_of("-?[1-3]", floors)).boxed()),
        ("extra", any_json().boxed()),
        ("settings", any_object.boxed()),
        ("place", Just(json!({"x": 7, "y": 8})).boxed()),
        ("kind", kind.boxed()),
        ("secret", maybe(text()).boxed()),
    ])
}

fn update(input: &Value) -> Update<Task> {
    Update::from_json(input.clone()).expect("a valid input")
}

fn stored(task: &Task) -> Value {
    serde_json::to_value(task).expect("a task is JSON")
}

/// Removes members with the value `null`, because `null` and absent mean the same in a resource.
///
/// ```json
/// { "a": null, "b": { "c": null }, "d": [null] }
/// { "b": {}, "d": [null] }
/// ```
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => object(
            members
                .into_iter()
                .filter(|(_, member)| !member.is_null())
                .map(|(name, member)| (name, without_nulls(member))),
        ),
        other => other,
    }
}

proptest! {
    /// REQ-UPD-08, REQ-UPD-10
    #[test]
    fn merging_twice_equals_merging_once(first in valid_input(), input in valid_input()) {
        let mut once = task();
        update(&first).merge_into(&mut once);
        update(&input).merge_into(&mut once);
        let mut twice = once.clone();
        update(&input).merge_into(&mut twice);
        prop_assert_eq!(once, twice);
    }

    /// REQ-UPD-11
    #[test]
    fn fields_absent_from_the_input_are_unchanged(input in valid_input()) {
        let mut merged = task();
        let input = update(&input);
        let changed: Vec<_> = input.changed_fields().collect();
        input.merge_into(&mut merged);
        let (before, after) = (stored(&task()), stored(&merged));
        for (name, value) in before.as_object().unwrap() {
            if !changed.contains(&name.as_str()) {
                prop_assert_eq!(&after[name], value, "{}", name);
            }
        }
    }

    /// REQ-UPD-08: deserializing the JSON merge results in the same resource. The typed merge only adds the defaults of
    /// structs that were absent before.
    #[test]
    fn typed_and_json_merges_agree(first in valid_input(), input in valid_input()) {
        let mut typed = task();
        update(&first).merge_into(&mut typed);
        let mut json = stored(&typed);
        update(&input).merge_into(&mut typed);
        update(&input).apply_to_json(&mut json);
        let (typed, json) = (without_nulls(stored(&typed)), without_nulls(json));
        prop_assert!(agrees(&typed, &json), "typed {typed}\n json {json}");
    }

    /// An API that merges by RFC 7396 produces the same resource as this crate's merge.
    #[test]
    fn the_merge_patch_is_the_input(input in valid_input()) {
        prop_assert_eq!(update(&input).to_merge_patch(), input);
    }

    /// REQ-UPD-03, REQ-UPD-04: any JSON is rejected or merged, without a panic.
    #[test]
    fn no_json_makes_it_panic(input in any_json()) {
        if let Ok(input) = Update::from_json(input) {
            let mut merged = task();
            let _ = input.changed_paths();
            input.clone().apply_to_json(&mut Value::Null);
            input.merge_into(&mut merged);
        }
    }
}

/// Compares two values. Empty strings, zeros and empty objects of the typed side count as absent.
fn agrees(typed: &Value, json: &Value) -> bool {
    match (typed, json) {
        (Value::Object(typed), Value::Object(json)) => {
            json.keys().all(|name| typed.contains_key(name))
                && typed.iter().all(|(name, value)| match json.get(name) {
                    Some(other) => agrees(value, other),
                    None => is_default(value),
                })
        }
        (typed, json) => typed == json,
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.values().all(is_default),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        _ => false,
    }
}
