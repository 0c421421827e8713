//! Tests UPDATE operations: `input` at every depth with values, with null and with omitted fields, and rejected inputs.

use mcp_aql::Adapter;
use serde_json::{Value, json};

use crate::board::board;
use crate::support::{call, code, data, details, message};

/// Returns a board with one task. All of its fields have values.
fn with_task() -> Adapter {
    let board = board();
    let task = json!({
        "title": "Milk", "status": "doing", "priority": 2, "tags": ["shop", "food"],
        "due_date": "2031-05-06",
        "metadata": {
            "author": "ada", "note": "two", "origin": { "system": "mail", "number": 7 },
        },
        "extra": { "deep": { "x": 1, "y": { "z": 2 } }, "list": [1, { "a": 1 }], "gone": true },
    });
    data(call(&board, "create_task", task));
    board
}

fn update(board: &Adapter, input: Value) -> Value {
    call(board, "update_task", json!({ "task_id": "t-1", "input": input }))
}

fn stored(board: &Adapter) -> Value {
    data(call(board, "get_task", json!({ "task_id": "t-1" })))["task"].clone()
}

#[test]
fn objects_merge_and_everything_else_is_replaced() {
    // REQ-UPD-01, REQ-UPD-07 to REQ-UPD-11
    for (input, pointer, expected) in [
        (json!({ "title": "Bread" }), "/title", json!("Bread")),
        (json!({ "status": "done" }), "/status", json!("done")),
        (json!({ "priority": 5 }), "/priority", json!(5)),
        (json!({ "tags": ["new"] }), "/tags", json!(["new"])),
        (json!({ "tags": [] }), "/tags", json!([])),
        (json!({ "due_date": null }), "/due_date", json!(null)),
        (json!({ "due_date": "2032-01-01" }), "/due_date", json!("2032-01-01")),
        (json!({ "metadata": { "author": "bob" } }), "/metadata/author", json!("bob")),
        (json!({ "metadata": { "note": null } }), "/metadata/note", json!(null)),
        (json!({ "metadata": { "origin": { "number": 8 } } }), "/metadata/origin/number", json!(8)),
        (
            json!({ "metadata": { "origin": { "number": null } } }),
            "/metadata/origin/number",
            json!(null),
        ),
        (json!({ "extra": { "deep": { "x": 2 } } }), "/extra/deep/x", json!(2)),
        (json!({ "extra": { "deep": { "y": { "z": 3 } } } }), "/extra/deep/y/z", json!(3)),
        (json!({ "extra": { "deep": 1 } }), "/extra/deep", json!(1)),
        (json!({ "extra": { "list": [2] } }), "/extra/list", json!([2])),
        (
            json!({ "extra": { "new": { "a": { "b": 1 } } } }),
            "/extra/new",
            json!({ "a": { "b": 1 } }),
        ),
    ] {
        let board = with_task();
        let mut expected_task = stored(&board);
        let reply = data(update(&board, input.clone()));
        // Only this value and the version may change.
        match expected_task.pointer_mut(pointer) {
            Some(place) => *place = expected,
            None => expected_task["extra"]["new"] = expected,
        }
        expected_task["_version"] = json!(2);
        assert_eq!(stored(&board), expected_task, "{input}");
        assert_eq!(reply["task"], expected_task, "{input}");
    }
}

#[test]
fn null_removes_keys_of_open_objects_at_every_depth() {
    // REQ-UPD-10
    let board = with_task();
    data(update(&board, json!({ "extra": { "gone": null, "deep": { "y": { "z": null } } } })));
    assert_eq!(
        stored(&board)["extra"],
        json!({ "deep": { "x": 1, "y": {} }, "list": [1, { "a": 1 }] })
    );
}

#[test]
fn several_fields_change_in_one_call() {
    // REQ-UPD-08, REQ-UPD-11
    let board = with_task();
    let mut expected = stored(&board);
    data(update(
        &board,
        json!({ "title": "Bread", "due_date": null, "metadata": { "note": "three", "origin": { "system": "web" } } }),
    ));
    expected["title"] = json!("Bread");
    expected["due_date"] = json!(null);
    expected["metadata"]["note"] = json!("three");
    expected["metadata"]["origin"]["system"] = json!("web");
    expected["_version"] = json!(2);
    assert_eq!(stored(&board), expected);
}

#[test]
fn an_empty_input_changes_nothing() {
    // REQ-UPD-11
    let board = with_task();
    let mut before = stored(&board);
    data(update(&board, json!({})));
    before["_version"] = json!(2);
    assert_eq!(stored(&board), before);
}

#[test]
fn input_is_required_and_an_object() {
    // REQ-UPD-02, REQ-UPD-03
    let board = with_task();
    let reply = call(&board, "update_task", json!({ "task_id": "t-1", "title": "Bread" }));
    assert_eq!(code(&reply), Some("VALIDATION_MISSING_PARAM"));
    assert_eq!(details(&reply)["param_name"], "input");
    for input in [json!(null), json!("title=Bread"), json!(7), json!([{ "title": "Bread" }])] {
        let reply = update(&board, input.clone());
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"), "{input}");
        assert_eq!(details(&reply)["param_name"], "input");
        assert_eq!(details(&reply)["expected_type"], "object");
    }
    assert_eq!(stored(&board)["_version"], 1);
}

#[test]
fn fields_are_checked_against_the_resource() {
    // REQ-UPD-04, REQ-UPD-05, REQ-UPD-06, REQ-UPD-10, choices G-04, G-05
    let board = with_task();
    let before = stored(&board);
    for (input, expected, said) in [
        (json!({ "title": 7 }), "VALIDATION_INVALID_TYPE", "'input.title'"),
        (json!({ "priority": 1.5 }), "VALIDATION_INVALID_TYPE", "'input.priority'"),
        (json!({ "tags": "shop" }), "VALIDATION_INVALID_TYPE", "'input.tags'"),
        (json!({ "metadata": "ada" }), "VALIDATION_INVALID_TYPE", "'input.metadata'"),
        (
            json!({ "metadata": { "origin": { "number": "7" } } }),
            "VALIDATION_INVALID_TYPE",
            "number",
        ),
        (json!({ "title": "" }), "VALIDATION_INVALID_VALUE", "1 to 40"),
        (json!({ "priority": 6 }), "VALIDATION_INVALID_VALUE", "1 to 5"),
        (json!({ "status": "later" }), "VALIDATION_INVALID_VALUE", "todo"),
        (json!({ "tags": ["a", "b", "c", "d"] }), "VALIDATION_INVALID_VALUE", "3 items"),
        (json!({ "due_date": "tomorrow" }), "VALIDATION_INVALID_VALUE", "'date'"),
        (
            json!({ "metadata": { "author": "someone very long" } }),
            "VALIDATION_INVALID_VALUE",
            "author",
        ),
        (json!({ "title": null }), "VALIDATION_INVALID_VALUE", "null"),
        (json!({ "metadata": null }), "VALIDATION_INVALID_VALUE", "null"),
        (
            json!({ "metadata": { "origin": { "system": null } } }),
            "VALIDATION_INVALID_VALUE",
            "system",
        ),
        (json!({ "titel": "Bread" }), "VALIDATION_UNKNOWN_FIELD", "Did you mean 'title'"),
        (json!({ "metadata": { "auhtor": "b" } }), "VALIDATION_UNKNOWN_FIELD", "metadata.author"),
        (
            json!({ "metadata": { "origin": { "sytem": 1 } } }),
            "VALIDATION_UNKNOWN_FIELD",
            "metadata.origin.sytem",
        ),
        (json!({ "task_id": "t-2" }), "VALIDATION_UNKNOWN_FIELD", "'task_id'"),
        (json!({ "created_at": "now" }), "VALIDATION_READ_ONLY_FIELD", "'input.created_at'"),
        (json!({ "_version": 9 }), "VALIDATION_READ_ONLY_FIELD", "_version"),
        // One invalid field rejects the whole input.
        (json!({ "title": "Bread", "priority": 9 }), "VALIDATION_INVALID_VALUE", "priority"),
    ] {
        let reply = update(&board, input.clone());
        assert_eq!(code(&reply), Some(expected), "{input}: {reply}");
        assert!(message(&reply).contains(said), "{input}: {}", message(&reply));
    }
    assert_eq!(stored(&board), before, "nothing changed");
}

#[test]
fn unknown_fields_are_named_with_the_valid_ones() {
    // REQ-UPD-05
    let board = with_task();
    let reply = update(&board, json!({ "titel": "Bread", "colour": 1 }));
    let details = details(&reply);
    assert_eq!(details["operation"], "update_task");
    assert_eq!(details["unknown_fields"], json!(["colour", "titel"]));
    assert_eq!(
        details["valid_fields"],
        json!(["title", "status", "priority", "tags", "due_date", "metadata", "extra"])
    );
}

#[test]
fn an_update_of_a_missing_resource_is_not_found() {
    // REQ-ERR-02, REQ-UPD-01
    let reply =
        call(&board(), "update_task", json!({ "task_id": "t-9", "input": { "title": "a" } }));
    assert_eq!(code(&reply), Some("NOT_FOUND_RESOURCE"));
}

#[test]
fn introspection_lists_input_beside_the_identifiers() {
    // REQ-UPD-12, REQ-UPD-01, REQ-INT-32
    let board = board();
    let shown = call(&board, "introspect", json!({ "query": "operations", "name": "update_task" }));
    let parameters = data(shown)["operation"]["parameters"].clone();
    let shown: Vec<_> = parameters
        .as_array()
        .unwrap()
        .iter()
        .map(|each| {
            (
                each["name"].as_str().unwrap(),
                each["type"].as_str().unwrap(),
                each["required"] == true,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [("task_id", "string", true), ("input", "object", true), ("if_match", "integer", false)]
    );
    // A separate type lists the updatable fields, including nested ones.
    let description = parameters[1]["description"].as_str().unwrap();
    assert!(description.contains("(TaskUpdate)"), "{description}");
    let fields = call(&board, "introspect", json!({ "query": "types", "name": "TaskUpdate" }));
    let fields = data(fields)["type"]["fields"].clone();
    assert_eq!(
        crate::support::entry_names(&fields),
        ["title", "status", "priority", "tags", "due_date", "metadata", "extra"]
    );
    let nested = fields.as_array().unwrap().iter().find(|each| each["name"] == "metadata").unwrap();
    let nested = call(&board, "introspect", json!({ "query": "types", "name": nested["type"] }));
    assert_eq!(
        crate::support::entry_names(&data(nested)["type"]["fields"]),
        ["author", "note", "origin"]
    );
}
