//! Models updates: the deep merge, versions, and the rejection of invalid inputs.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::random::{chance, day, generator, object, one, text};
use super::tasks::{Tasks, code};

pub(crate) const CASES: usize = 4_000;

/// Merges as the specification says: objects merge member by member, `null` removes, and any other value replaces.
fn merge(stored: &mut Value, input: &Value) {
    let Value::Object(members) = input else {
        *stored = input.clone();
        return;
    };
    if !stored.is_object() {
        *stored = json!({});
    }
    for (name, value) in members {
        if value.is_null() {
            stored.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut stored[name], value);
        }
    }
}

/// Returns a valid input. It may be empty.
fn input(random: &mut Rng) -> Map<String, Value> {
    let mut input = Map::new();
    for _ in 0..random.usize(..4) {
        let (name, value) = match random.u8(..7) {
            0 => ("title", json!(text(random))),
            1 if random.bool() => ("description", Value::Null),
            1 => ("description", json!(text(random))),
            2 => ("status", json!(one(random, &["todo", "doing", "done"]))),
            3 => ("priority", json!(random.u8(1..=5))),
            4 => ("tags", (0..random.usize(..4)).map(|_| text(random)).collect()),
            5 if random.bool() => ("due_date", Value::Null),
            5 => ("due_date", json!(day(random))),
            _ => ("metadata", object(random, 3)),
        };
        input.insert(name.to_owned(), value);
    }
    input
}

/// Returns an invalid member of `input` with the error code that it causes.
fn fault(random: &mut Rng) -> (&'static str, Value, &'static str) {
    let faults = [
        ("title", json!(""), "VALIDATION_INVALID_VALUE"),
        ("title", Value::Null, "VALIDATION_INVALID_VALUE"),
        ("title", json!(7), "VALIDATION_INVALID_TYPE"),
        ("priority", json!(0), "VALIDATION_INVALID_VALUE"),
        ("priority", json!(6), "VALIDATION_INVALID_VALUE"),
        ("priority", json!("3"), "VALIDATION_INVALID_TYPE"),
        ("priority", json!(2.5), "VALIDATION_INVALID_TYPE"),
        ("status", json!("late"), "VALIDATION_INVALID_VALUE"),
        ("status", Value::Null, "VALIDATION_INVALID_VALUE"),
        ("tags", json!("red"), "VALIDATION_INVALID_TYPE"),
        ("tags", json!([1]), "VALIDATION_INVALID_TYPE"),
        ("metadata", json!([]), "VALIDATION_INVALID_TYPE"),
        ("metadata", Value::Null, "VALIDATION_INVALID_VALUE"),
        ("due_date", json!("2031-02-30"), "VALIDATION_INVALID_VALUE"),
        ("titel", json!("a"), "VALIDATION_UNKNOWN_FIELD"),
        ("task_id", json!("t-1"), "VALIDATION_UNKNOWN_FIELD"),
        ("created_at", json!("2031-05-06T00:00:00Z"), "VALIDATION_READ_ONLY_FIELD"),
        ("_version", json!(9), "VALIDATION_READ_ONLY_FIELD"),
    ];
    one(random, &faults).clone()
}

#[test]
fn a_stored_task_equals_the_model_after_merges() {
    // REQ-UPD-03 to REQ-UPD-11
    let (mut random, seed) = generator("merges");
    let mut tasks = Tasks::start();
    let mut stored = tasks.fill(&mut random, 6);
    for case in 0..CASES {
        let task = random.usize(..stored.len());
        let task = &mut stored[task];
        let version = task["_version"].as_u64().unwrap();
        let mut members = input(&mut random);
        let mut expected = None;
        if chance(&mut random, 25) {
            let (name, value, code) = fault(&mut random);
            members.insert(name.to_owned(), value);
            expected = Some(code);
        }
        let mut params = json!({ "task_id": task["task_id"], "input": members });
        if chance(&mut random, 40) {
            let stale = chance(&mut random, 40);
            params["if_match"] = json!(if stale { version + random.u64(1..3) } else { version });
            if stale && expected.is_none() {
                expected = Some("CONFLICT_VERSION_MISMATCH");
            }
        }
        let reply = tasks.call("update", "update_task", params.clone());
        let context = format!("seed {seed}, case {case}: {params}: {reply}");
        assert_eq!(code(&reply), expected, "{context}");
        if expected.is_none() {
            let before = task.clone();
            merge(task, &params["input"]);
            let changed = &reply["data"]["task"];
            // An update without effect changes neither the version nor the time.
            if *task != before {
                task["_version"] = json!(version + 1);
                task["updated_at"] = changed["updated_at"].clone();
            }
            assert_eq!(changed, task, "{context}");
        }
        // A rejected update must leave the task as it was.
        if expected.is_some() || chance(&mut random, 10) {
            let read = tasks.call("read", "get_task", json!({ "task_id": task["task_id"] }));
            assert_eq!(read["data"]["task"], *task, "{context}");
        }
    }
}
