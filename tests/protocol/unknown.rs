//! Tests that unknown parameters are rejected with a suggestion, and that the adapter never guesses.

use mcp_aql::Adapter;
use serde_json::json;

use crate::board::{board, builder};
use crate::support::{ask, call, code, data, details, message};

fn lenient() -> Adapter {
    builder().strict_mode(false).build().unwrap()
}

#[test]
fn unknown_names_are_refused_wherever_they_stand() {
    // REQ-UNK-01, REQ-UNK-02, REQ-UNK-03, REQ-UNK-04, REQ-UNK-08, REQ-RQ-17
    let board = board();
    for (arguments, unknown) in [
        (json!({ "params": { "task_id": "t-1", "colour": 1 } }), json!(["colour"])),
        (json!({ "task_id": "t-1", "colour": 1 }), json!(["colour"])),
        (
            json!({ "colour": 1, "params": { "task_id": "t-1", "shape": 2 } }),
            json!(["colour", "shape"]),
        ),
        // Other top-level members in the protocol's examples must be declared, and here they are not.
        (
            json!({ "element_type": "task", "params": { "task_id": "t-1" } }),
            json!(["element_type"]),
        ),
        (json!({ "Task_id": 1, "params": { "task_id": "t-1" } }), json!(["Task_id"])),
    ] {
        let mut asked = arguments.clone();
        asked["operation"] = json!("get_task");
        let reply = ask(&board, asked);
        assert_eq!(code(&reply), Some("VALIDATION_UNKNOWN_PARAM"), "{arguments}");
        let mut shown = details(&reply)["unknown_params"].clone();
        shown.as_array_mut().unwrap().sort_by_key(ToString::to_string);
        assert_eq!(shown, {
            let mut all = unknown.clone();
            all.as_array_mut().unwrap().sort_by_key(ToString::to_string);
            all
        });
        assert_eq!(details(&reply)["operation"], "get_task");
        assert_eq!(details(&reply)["valid_params"], json!(["task_id"]));
        for name in unknown.as_array().unwrap() {
            let name = name.as_str().unwrap();
            assert!(message(&reply).contains(&format!("'{name}'")), "{}", message(&reply));
        }
    }
}

#[test]
fn names_that_other_apis_use_lead_to_the_own_ones() {
    // REQ-UNK-03, REQ-ERR-10
    let board = board();
    let reply = call(&board, "get_task", json!({ "id": "t-1" }));
    assert!(
        message(&reply).contains("Parameter 'id' is unknown; did you mean 'task_id'?"),
        "{}",
        message(&reply)
    );
    let reply = call(&board, "get_task", json!({ "task_id": "t-1", "id": "t-1" }));
    assert!(
        message(&reply).contains("Did you mean 'task_id' instead of 'id'?"),
        "{}",
        message(&reply)
    );
    let reply = call(&board, "add_task", json!({ "title": "a" }));
    assert_eq!(details(&reply)["suggestion"], "create_task");
    // A name with another verb is another operation. The message suggests a search.
    let reply = call(&board, "complete_task", json!({ "task_id": "t-1" }));
    assert_eq!(
        message(&reply),
        "Unknown operation: 'complete_task'. Call introspect to list the operations, or to find \
         one: { query: 'operations', search: 'complete task' }"
    );
}

#[test]
fn names_at_the_wrong_level_say_where_they_belong() {
    // REQ-UNK-03, REQ-UPD-05, REQ-UPD-06, REQ-ERR-05
    let board = board();
    for (operation, params, said) in [
        (
            "update_task",
            json!({ "task_id": "t-1", "title": "a", "status": "done" }),
            "'status', 'title' belong inside 'input': { input: { status, title } }",
        ),
        (
            "update_task",
            json!({ "input": { "task_id": "t-1", "title": "a" } }),
            "'task_id' belongs next to 'input', not inside it",
        ),
        (
            "create_task",
            json!({ "title": "a", "author": "ada" }),
            "'author' belongs inside 'metadata': { metadata: { author } }",
        ),
        (
            "create_task",
            json!({ "title": "a", "metadata": { "author": "a", "system": "mail", "origin": {} } }),
            "'metadata.system' belongs inside 'metadata.origin': { metadata: { origin: { system } } }",
        ),
        ("create_task", json!({ "task": { "title": "a" } }), "Replace 'task' with its members"),
        // Other APIs write a path as the name of a member.
        (
            "create_task",
            json!({ "title": "a", "metadata.author": "ada" }),
            "Send 'metadata.author' as { metadata: { author } }",
        ),
        (
            "update_task",
            json!({ "task_id": "t-1", "input": { "metadata.author": "ada" } }),
            "Send 'metadata.author' as { metadata: { author } }",
        ),
    ] {
        let reply = call(&board, operation, params.clone());
        assert!(message(&reply).contains(said), "{params}: {}", message(&reply));
    }
}

#[test]
fn unions_and_keys_say_what_they_accept() {
    // REQ-ERR-05, REQ-RQ-07
    let board = board();
    for (params, said) in [
        (
            json!({ "figure": { "kind": "squar", "side": 1 } }),
            "'figure.kind' must be one of: circle, square. Did you mean 'square'?",
        ),
        (
            json!({ "figure": { "side": 1 } }),
            "Missing required parameter 'figure.kind'. Expected: string, one of: circle, square. \
             Did you mean 'square'?",
        ),
        (
            json!({ "figure": "round" }),
            "Send { kind: 'circle', radius: number } or { kind: 'square'",
        ),
        (
            json!({ "figure": { "kind": "circle", "radius": 1, "side": 1 } }),
            "Unknown parameter(s) for operation 'echo_values': 'figure.side'. Valid parameters",
        ),
        (json!({ "counts": [{ "op": "add" }] }), "got 'array'. Send { "),
        (json!({ "words": { "add": ["a"] } }), "Send [string]"),
        (json!({ "key": [] }), "Send integer or string"),
        (json!({ "words": "a" }), "Send a list: [string]"),
        (
            json!({ "counts": { "a": "1" } }),
            "'counts.a' expected 'integer', got 'string'. Send it as JSON",
        ),
    ] {
        let mut params = params;
        params["text"] = json!("a");
        let reply = call(&board, "echo_values", params.clone());
        assert!(message(&reply).contains(said), "{params}: {}", message(&reply));
    }
}

#[test]
fn the_message_names_the_operation_and_the_nearest_name() {
    // REQ-UNK-03, REQ-UNK-08, REQ-ERR-03, choice C-08
    let board = board();
    let reply = call(&board, "create_task", json!({ "title": "a", "priorty": 1, "zzz": 2 }));
    assert_eq!(
        message(&reply),
        "Unknown parameter(s) for operation 'create_task': 'priorty', 'zzz'. \
         Did you mean 'priority' instead of 'priorty'? \
         Valid parameters: title, status, priority, tags, due_date, metadata, extra"
    );
}

#[test]
fn many_unknown_names_are_counted() {
    // REQ-UNK-03
    let board = board();
    let mut params = json!({ "task_id": "t-1" });
    for number in 0..50 {
        params[format!("unknown_{number}")] = json!(1);
    }
    let reply = call(&board, "get_task", params);
    assert_eq!(details(&reply)["unknown_params"].as_array().unwrap().len(), 20);
    assert_eq!(details(&reply)["unknown_count"], 50);
    assert!(message(&reply).contains("and 30 more"), "{}", message(&reply));
}

#[test]
fn metadata_is_no_parameter() {
    // REQ-UNK-05, REQ-SES-05
    let board = board();
    let reply = ask(
        &board,
        json!({
            "operation": "echo_values", "_meta": { "user": "root" }, "_request_id": 7,
            "params": { "text": "a", "_request_id": 8, "_anything": [] },
        }),
    );
    assert_eq!(data(reply), json!({ "text": "a" }));
}

#[test]
fn lenient_mode_warns_instead() {
    // REQ-UNK-06, REQ-UNK-08, choice G-13
    let lenient = lenient();
    let reply = call(&lenient, "create_task", json!({ "title": "a", "colour": 1 }));
    assert_eq!(reply["warnings"][0]["code"], "VALIDATION_UNKNOWN_PARAM_WARNING");
    assert!(reply["warnings"][0]["message"].as_str().unwrap().contains("'colour'"));
    data(reply);
    for strict in [board(), builder().strict_mode(true).build().unwrap()] {
        let reply = call(&strict, "create_task", json!({ "title": "a", "colour": 1 }));
        assert_eq!(code(&reply), Some("VALIDATION_UNKNOWN_PARAM"));
    }
}

#[test]
fn strict_mode_is_not_published() {
    // REQ-UNK-07
    for query in [json!({ "query": "operations" }), json!({ "query": "types" })] {
        let strict = call(&board(), "introspect", query.clone());
        assert_eq!(strict, call(&lenient(), "introspect", query));
        assert!(!strict.to_string().contains("strict"));
    }
}
