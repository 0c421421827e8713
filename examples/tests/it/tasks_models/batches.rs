//! Models batches: items run in order and independently, and a batch stops at an item that requires a confirmation.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::random::{chance, generator, text};
use super::tasks::{Tasks, code, new_task};

pub(crate) const CASES: usize = 1_500;

/// Requests per adapter. An adapter issues at most 120 confirmation tokens in a minute, so each set gets a new one.
const PER_SET: usize = 300;

/// The tasks in the model, by number.
type Stored = BTreeMap<u64, Value>;

/// A batch item with the error code that the model expects.
struct Item {
    item: Value,
    expected: Option<&'static str>,
}

fn item(operation: &str, params: Value, expected: Option<&'static str>) -> Item {
    Item { item: json!({ "operation": operation, "params": params }), expected }
}

/// Returns a random item for the tool of a family, and applies it to the model.
fn random_item(random: &mut Rng, family: &str, stored: &mut Stored, last: &mut u64) -> Item {
    let number = random.u64(1..=*last + 1);
    let task_id = json!(format!("t-{number}"));
    let exists = stored.contains_key(&number);
    let missing = (!exists).then_some("NOT_FOUND_RESOURCE");
    match (random.u8(..8), family) {
        (0, _) => item("no_such_operation", json!({}), Some("NOT_FOUND_OPERATION")),
        (1, "create") => {
            item("create_task", json!({ "title": "" }), Some("VALIDATION_INVALID_VALUE"))
        }
        (1, "read") => item("get_task", json!({}), Some("VALIDATION_MISSING_PARAM")),
        (1, "update") => {
            item("update_task", json!({ "task_id": task_id }), Some("VALIDATION_MISSING_PARAM"))
        }
        (_, "create") => {
            let params = new_task(random);
            *last += 1;
            stored.insert(*last, params["title"].clone());
            item("create_task", params, None)
        }
        (_, "read") => item("get_task", json!({ "task_id": task_id }), missing),
        (_, "update") => {
            let title = text(random);
            if exists {
                stored.insert(number, json!(title));
            }
            item("update_task", json!({ "task_id": task_id, "input": { "title": title } }), missing)
        }
        (_, family) => panic!("{family} has no items here"),
    }
}

#[test]
fn a_batch_runs_its_items_in_order_and_independently() {
    // REQ-BAT-01 to REQ-BAT-05, REQ-BAT-08 to REQ-BAT-10
    let (mut random, seed) = generator("batches");
    for set in 0..CASES / PER_SET {
        run_set(&mut random, &format!("seed {seed}, set {set}"));
    }
}

/// Sends random batches to a new adapter. Compares the stored tasks with the model at the end.
fn run_set(random: &mut Rng, name: &str) {
    let mut tasks = Tasks::start();
    let (mut stored, mut last) = (Stored::new(), 0);
    for case in 0..PER_SET {
        // A DELETE requires a confirmation, so such a batch stops at its first valid item.
        let families = ["create", "read", "update", "delete"];
        let family = families[random.usize(..families.len())];
        let count = random.usize(1..=8);
        let items: Vec<Item> = if family == "delete" {
            let mut items = vec![item("no_such_operation", json!({}), Some("NOT_FOUND_OPERATION"))];
            if chance(random, 50) {
                items.push(item("delete_task", json!({}), Some("VALIDATION_MISSING_PARAM")));
            }
            items.extend((1..=8_u64).take(count).map(|number| {
                let expected = match stored.contains_key(&number) {
                    true => "CONFIRMATION_REQUIRED",
                    false => "NOT_FOUND_RESOURCE",
                };
                let params = json!({ "task_id": format!("t-{number}") });
                item("delete_task", params, Some(expected))
            }));
            items
        } else {
            (0..count).map(|_| random_item(random, family, &mut stored, &mut last)).collect()
        };
        let operations: Value = items.iter().map(|item| item.item.clone()).collect();
        let reply = tasks.batch(family, &operations);
        let context = format!("{name}, case {case}: {operations}: {reply}");
        compare(&items, &reply, &context);
    }
    for number in 1..=last {
        let reply = tasks.call("read", "get_task", json!({ "task_id": format!("t-{number}") }));
        assert_eq!(reply["data"]["task"]["title"], stored[&number], "{name}: {reply}");
    }
}

/// Compares the reply to a batch with the results that the model expects.
fn compare(items: &[Item], reply: &Value, context: &str) {
    let halt = items.iter().position(|item| item.expected == Some("CONFIRMATION_REQUIRED"));
    let ran = &items[..halt.unwrap_or(items.len())];
    let results = reply["results"].as_array().unwrap_or_else(|| panic!("no results: {context}"));
    assert_eq!((&reply["success"], &reply["data"]), (&json!(true), &Value::Null), "{context}");
    assert_eq!(results.len(), ran.len(), "{context}");
    for (index, (result, item)) in results.iter().zip(ran).enumerate() {
        assert_eq!(result["index"], index, "{context}");
        assert_eq!(result["operation"], item.item["operation"], "{context}");
        assert_eq!(code(&result["result"]), item.expected, "item {index}: {context}");
        assert_eq!(result["result"]["success"], item.expected.is_none(), "item {index}: {context}");
    }
    let failed = ran.iter().filter(|item| item.expected.is_some()).count();
    let mut summary = json!({
        "total": items.len(), "succeeded": ran.len() - failed, "failed": failed,
    });
    if let Some(index) = halt {
        let halted = &reply["halted_at"];
        assert_eq!(
            (&halted["index"], code(&halted["result"])),
            (&json!(index), items[index].expected),
            "{context}"
        );
        let pending: Vec<_> = (index + 1..items.len())
            .map(|index| {
                let mut pending = items[index].item.clone();
                pending["index"] = json!(index);
                pending
            })
            .collect();
        assert_eq!(reply["pending_operations"], json!(pending), "{context}");
        summary["halted"] = json!(1);
        summary["pending"] = json!(pending.len());
    } else {
        assert!(reply.get("halted_at").is_none(), "{context}");
    }
    assert_eq!(reply["summary"], summary, "{context}");
}
