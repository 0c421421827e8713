//! Tests batches: order, isolation of items, form and limits.

use mcp_aql::prelude::*;
use mcp_aql::{EndpointMode, SizeLimits};
use serde_json::{Value, json};

use crate::board::{board, builder};
use crate::support::{ask, ask_through, call, code, data, family, message, names};

fn item(operation: &str, params: Value) -> Value {
    json!({ "operation": operation, "params": params })
}

fn item_code(reply: &Value, index: usize) -> Option<&str> {
    code(&reply["results"][index]["result"])
}

#[test]
fn items_run_in_order_and_independently() {
    // REQ-BAT-01 to REQ-BAT-05, REQ-CON-05
    let board = board();
    let reply = ask(
        &board,
        json!({ "operations": [
            item("create_task", json!({ "title": "Milk" })),
            item("create_task", json!({ "title": "" })),
            item("get_task", json!({ "task_id": "t-1" })),
            item("no_such_operation", json!({})),
            item("fail", json!({ "how": "panic" })),
            item("delete_task", json!({ "task_id": "t-1" })),
            item("get_task", json!({ "task_id": "t-1" })),
            { "operation": "list_tasks" },
        ] }),
    );
    assert_eq!(reply["success"], true);
    assert_eq!(reply["data"], Value::Null);
    let codes: Vec<_> = (0..8).map(|index| item_code(&reply, index)).collect();
    assert_eq!(
        codes,
        [
            None,
            Some("VALIDATION_INVALID_VALUE"),
            None,
            Some("NOT_FOUND_OPERATION"),
            Some("INTERNAL_ERROR"),
            None,
            Some("NOT_FOUND_RESOURCE"),
            None,
        ]
    );
    assert_eq!(reply["summary"], json!({ "total": 8, "succeeded": 4, "failed": 4 }));
    assert_eq!(reply["results"][2]["result"]["data"]["task"]["title"], "Milk");
    assert_eq!(names(&reply["results"][0]), ["index", "operation", "result"]);
    assert_eq!(reply["results"][3]["operation"], "no_such_operation");
}

#[test]
fn a_batch_of_failures_is_still_a_success() {
    // REQ-BAT-05, choice C-41
    let reply =
        ask(&board(), json!({ "operations": [item("nope", json!({})), 7, { "params": {} }] }));
    assert_eq!(reply["success"], true);
    assert_eq!(reply["summary"]["failed"], 3);
    assert_eq!(item_code(&reply, 1), Some("VALIDATION_INVALID_TYPE"));
    assert_eq!(item_code(&reply, 2), Some("VALIDATION_MISSING_PARAM"));
}

#[test]
fn a_malformed_batch_fails_as_a_whole() {
    // REQ-BAT-01, REQ-BAT-05, REQ-BAT-06
    let board = board();
    for (arguments, said) in [
        (json!({ "operations": [] }), "one or more"),
        (json!({ "operations": {} }), "array"),
        (
            json!({ "operations": [item("list_tasks", json!({}))], "operation": "list_tasks" }),
            "'operation'",
        ),
        (json!({ "operations": [item("list_tasks", json!({}))], "params": {} }), "'params'"),
        (json!({ "operations": vec![item("list_tasks", json!({})); 101] }), "up to 100"),
    ] {
        let reply = ask(&board, arguments.clone());
        assert_eq!(code(&reply), Some("BATCH_VALIDATION_ERROR"), "{arguments}");
        assert_eq!(names(&reply["error"]), ["code", "message"], "{arguments}");
        assert!(message(&reply).contains(said), "{}", message(&reply));
    }
}

#[test]
fn metadata_beside_a_batch_is_no_member_of_it() {
    // REQ-UNK-05, REQ-BAT-01
    let reply = ask(
        &board(),
        json!({ "operations": [item("list_tasks", json!({}))], "_meta": { "a": 1 } }),
    );
    assert_eq!(reply["summary"]["succeeded"], 1);
}

#[test]
fn items_know_params_and_top_level_names_like_single_requests() {
    // REQ-RQ-03, REQ-UNK-04, REQ-BAT-02
    let reply = ask(
        &board(),
        json!({ "operations": [
            { "operation": "echo_values", "text": "top", "params": { "text": "inside" } },
            { "operation": "echo_values", "params": { "text": "a" }, "colours": 1 },
            { "operation": "echo_values", "operations": [] , "text": "a" },
        ] }),
    );
    assert_eq!(reply["results"][0]["result"]["data"]["text"], "inside");
    assert_eq!(item_code(&reply, 1), Some("VALIDATION_UNKNOWN_PARAM"));
    assert_eq!(item_code(&reply, 2), Some("VALIDATION_UNKNOWN_PARAM"), "a batch does not nest");
}

#[test]
fn every_endpoint_accepts_batches_and_checks_each_item() {
    // REQ-BAT-07, REQ-EPT-15
    let operations = json!({ "operations": [
        item("create_task", json!({ "title": "Milk" })),
        item("list_tasks", json!({})),
    ] });
    let board = builder().mode(EndpointMode::All).build().unwrap();
    let reply = ask_through(&board, family(&board, "create"), operations.clone());
    assert_eq!(
        (item_code(&reply, 0), item_code(&reply, 1)),
        (None, Some("VALIDATION_ENDPOINT_MISMATCH"))
    );
    let reply = ask_through(&board, family(&board, "read"), operations.clone());
    assert_eq!(
        (item_code(&reply, 0), item_code(&reply, 1)),
        (Some("VALIDATION_ENDPOINT_MISMATCH"), None)
    );
    let reply = ask(&board, operations);
    assert_eq!((item_code(&reply, 0), item_code(&reply, 1)), (None, None));
}

#[test]
fn the_size_of_a_batch_is_published_and_can_be_set() {
    // REQ-BAT-01, REQ-ENC-14
    let limits = SizeLimits { max_batch_operations: 2, ..SizeLimits::default() };
    let board = builder().limits(limits).build().unwrap();
    let list = data(call(&board, "introspect", json!({ "query": "operations" })));
    assert_eq!(list["_protocol"]["limits"]["max_batch_operations"], 2);
    let batch = |count: usize| {
        ask(&board, json!({ "operations": vec![item("list_tasks", json!({})); count] }))
    };
    assert_eq!(code(&batch(2)), None);
    assert_eq!(code(&batch(3)), Some("BATCH_VALIDATION_ERROR"));
}

#[test]
fn batches_can_be_switched_off() {
    // REQ-BAT-01
    let board = builder().batch(false).build().unwrap();
    let reply = ask(&board, json!({ "operations": [item("list_tasks", json!({}))] }));
    assert_eq!(code(&reply), Some("BATCH_VALIDATION_ERROR"));
    data(ask(&board, item("list_tasks", json!({}))));
}

#[test]
fn a_batch_respects_the_response_limit_and_reports_what_ran() {
    // REQ-ENC-09, REQ-BAT-02
    let limits = SizeLimits { max_response_size: 1 << 20, ..SizeLimits::default() };
    let board = builder().limits(limits).build().unwrap();
    let big = item("repeat_text", json!({ "length": 10_000, "times": 40 }));
    let made = item("create_task", json!({ "title": "Milk" }));
    let reply = ask(&board, json!({ "operations": [big, big, big, made] }));
    assert_eq!(reply["success"], true);
    assert_eq!((item_code(&reply, 0), item_code(&reply, 1)), (None, None));
    for (index, ran) in [(2, true), (3, false)] {
        assert_eq!(item_code(&reply, index), Some("VALIDATION_PAYLOAD_TOO_LARGE"));
        let details = &reply["results"][index]["result"]["error"]["details"];
        assert_eq!(details["operation_ran"], ran, "{index}");
    }
    assert!(reply.to_string().len() <= 1 << 20);
    assert_eq!(data(call(&board, "list_tasks", json!({})))["items"], json!([]));
}

#[test]
fn encoding_rules_apply_to_each_item_and_to_the_batch() {
    // REQ-ENC-02, REQ-BAT-02, REQ-BAT-06
    let board = board();
    let reply = ask(
        &board,
        json!({ "operations": [
        item("create_task", json!({ "title": "Milk" })),
        item("create_task", json!({ "title": "a\u{0}" })),
    ] }),
    );
    assert_eq!(
        (item_code(&reply, 0), item_code(&reply, 1)),
        (None, Some("VALIDATION_INVALID_ENCODING"))
    );
    let failed = &reply["results"][1]["result"];
    assert!(message(failed).contains("'operations[1].params.title'"), "{}", message(failed));
    let reply = ask(
        &board,
        json!({ "operations": [item("create_task", json!({ "title": "Tea" }))], "a\u{0}": 1 }),
    );
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_ENCODING"));
    assert_eq!(names(&reply["error"]), ["code", "message"]);
    let listed = data(call(&board, "list_tasks", json!({})));
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn introspection_runs_in_batches() {
    // REQ-BAT-04, REQ-INT-28
    let adapter: Adapter = board();
    let reply = ask(
        &adapter,
        json!({ "operations": [
        item("introspect", json!({ "query": "operations", "name": "get_task" })),
        item("introspect", json!({ "query": "beds" })),
    ] }),
    );
    assert_eq!(reply["results"][0]["result"]["data"]["operation"]["name"], "get_task");
    assert_eq!(item_code(&reply, 1), Some("INVALID_QUERY_TYPE"));
    assert_eq!(names(&reply["results"][1]["result"]["error"]), ["code", "message"]);
}
