//! Tests errors: codes, message templates, details, and information that clients must not receive.

use std::collections::BTreeSet;

use mcp_aql::ErrorCode;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint};
use serde_json::{Value, json};

use crate::board::board;
use crate::support::{block_on, call, code, data, details, message};

#[test]
fn codes_are_those_of_the_registry() {
    // REQ-ERR-01, REQ-ERR-02, REQ-RSP-04
    let prefixes = [
        "VALIDATION_",
        "NOT_FOUND_",
        "PERMISSION_",
        "CONFLICT_",
        "RATE_LIMIT_",
        "TOKEN_",
        "CONFIRMATION_",
        "INTERNAL_",
        // These codes of introspection and batches are defined outside of the registry.
        "INVALID_QUERY_TYPE",
        "INTROSPECTION_ERROR",
        "BATCH_VALIDATION_ERROR",
    ];
    let mut seen = BTreeSet::new();
    for code in ErrorCode::ALL {
        let text = code.as_str();
        assert!(prefixes.iter().any(|prefix| text.starts_with(prefix)), "{text}");
        assert!(text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{text}");
        assert!(seen.insert(text), "{text} twice");
    }
    // The protocol reserves or has removed these codes.
    for text in [
        "VALIDATION_INVALID_ENUM",
        "VALIDATION_OUT_OF_RANGE",
        "VALIDATION_PATTERN_MISMATCH",
        "BATCH_PARTIAL_FAILURE",
        "VALIDATION_UNKNOWN_OPERATION",
        "VALIDATION_ERROR",
    ] {
        assert!(!seen.contains(text), "{text}");
    }
}

#[test]
fn messages_follow_their_templates() {
    // REQ-ERR-03, REQ-ERR-05, REQ-ERR-06, REQ-UPD-02, choices C-08, C-09
    let board = board();
    data(call(&board, "create_task", json!({ "title": "Milk" })));
    for (operation, params, expected) in [
        (
            "get_task",
            json!({}),
            "Missing required parameter 'task_id'. Expected: string (The task's identifier)",
        ),
        (
            "create_task",
            json!({ "titel": "Milk" }),
            "Missing required parameter 'title'. Expected: string (Short title). \
             Parameter 'titel' is unknown; did you mean 'title'?",
        ),
        (
            "fail",
            json!({}),
            "Missing required parameter 'how'. Expected: string, one of: disk, panic, missing, exists, denied, \
             limited, http (The way to fail)",
        ),
        (
            "get_task",
            json!({ "task_id": 7 }),
            "Parameter 'task_id' expected 'string', got 'number'. Send it as a string, in quotation marks",
        ),
        ("run_report", json!({ "steps": 101 }), "Parameter 'steps' must be 0 to 100"),
        ("get_task", json!({ "task_id": "t-9" }), "Resource 'task' not found: 't-9'"),
        ("fail", json!({ "how": "exists" }), "Resource 'task' already exists: 't-1'"),
        ("fail", json!({ "how": "denied" }), "Permission denied: 'the board is locked'"),
        ("fail", json!({ "how": "limited" }), "API rate limit exceeded"),
        (
            "update_task",
            json!({ "task_id": "t-1", "if_match": 7, "input": {} }),
            "Version mismatch: 'if_match' is '7', but the resource has version '1'. \
             Read the resource again, then send the change with its new version",
        ),
    ] {
        assert_eq!(message(&call(&board, operation, params)), expected);
    }
    let reply = call(&board, "creat_task", json!({}));
    assert!(message(&reply).starts_with("Unknown operation: 'creat_task'"), "{}", message(&reply));
    assert!(message(&reply).contains("introspect"));
}

#[test]
fn all_missing_parameters_are_reported_at_once() {
    // REQ-ERR-05, REQ-ERR-06
    let reply = call(&board(), "update_task", json!({}));
    assert_eq!(code(&reply), Some("VALIDATION_MISSING_PARAM"));
    assert_eq!(details(&reply)["param_name"], "task_id");
    let missing = &details(&reply)["missing_params"];
    assert_eq!(missing[0]["name"], "task_id");
    assert_eq!(missing[1]["name"], "input");
    for name in ["'task_id'", "'input'"] {
        assert!(message(&reply).contains(name), "{}", message(&reply));
    }
}

#[test]
fn details_have_the_members_that_the_registry_requires() {
    // REQ-ERR-03, REQ-ERR-07, REQ-ERR-10, REQ-UNK-02, REQ-ENC-13
    let board = board();
    data(call(&board, "create_task", json!({ "title": "Milk" })));
    for (operation, params, expected) in [
        (
            "get_task",
            json!({}),
            json!({
                "param_name": "task_id", "operation": "get_task",
                "missing_params": [{
                    "name": "task_id", "type": "string", "description": "The task's identifier.",
                }],
            }),
        ),
        (
            "get_task",
            json!({ "task_id": [] }),
            json!({
                "param_name": "task_id", "expected_type": "string", "actual_type": "array",
                "operation": "get_task",
            }),
        ),
        (
            "get_task",
            json!({ "task_id": "t-1", "x": 1 }),
            json!({ "operation": "get_task", "unknown_params": ["x"], "valid_params": ["task_id"] }),
        ),
        ("zzz", json!({}), json!({ "operation": "zzz" })),
        (
            "fail",
            json!({ "how": "exists" }),
            json!({ "resource_type": "task", "resource_id": "t-1" }),
        ),
        ("fail", json!({ "how": "denied" }), json!({ "reason": "the board is locked" })),
        (
            "update_task",
            json!({ "task_id": "t-1", "if_match": 7, "input": {} }),
            json!({ "expected_version": "7", "actual_version": "1" }),
        ),
        (
            "run_report",
            json!({ "steps": 101 }),
            json!({ "param_name": "steps", "expected": "must be 0 to 100", "operation": "run_report" }),
        ),
    ] {
        assert_eq!(*details(&call(&board, operation, params)), expected, "{operation}");
    }
    let reply = call(&board, "fail", json!({ "how": "limited" }));
    assert_eq!(details(&reply)["retry_after_seconds"], 30);
}

#[test]
fn internal_errors_reveal_no_details() {
    // REQ-ERR-04, REQ-ERR-05, REQ-RQ-08
    let board = board();
    for how in ["disk", "panic"] {
        let reply = call(&board, "fail", json!({ "how": how }));
        assert_eq!(code(&reply), Some("INTERNAL_ERROR"), "{how}");
        let text = reply.to_string();
        for secret in ["fire", "/var", "panic", "secret", "src", ".rs"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        let id = details(&reply)["correlation_id"].as_str().unwrap();
        assert!(message(&reply).contains(id), "the log has the rest under this id");
    }
    // The adapter must still work.
    data(call(&board, "list_tasks", json!({})));
}

#[test]
fn statuses_of_a_wrapped_api_map_to_codes() {
    // REQ-ERR-08, REQ-ERR-07, REQ-ERR-09, choice C-13
    for (status, expected) in [
        (400, ErrorCode::ValidationInvalidType),
        (401, ErrorCode::PermissionDenied),
        (403, ErrorCode::PermissionDenied),
        (404, ErrorCode::NotFoundResource),
        (409, ErrorCode::ConflictAlreadyExists),
        (418, ErrorCode::ValidationInvalidType),
        (422, ErrorCode::ValidationInvalidType),
        (429, ErrorCode::RateLimitExceeded),
        (500, ErrorCode::InternalError),
        (503, ErrorCode::InternalError),
    ] {
        let error = OperationError::from_http_status(status, "said upstream");
        assert_eq!(error.code(), expected, "{status}");
        assert_eq!(error.details()["http_status"], status);
        assert!(error.message().contains("'said upstream'"), "{}", error.message());
    }
    assert_eq!(ErrorCode::from_http_status(204), None);
}

#[test]
fn only_errors_that_a_client_cannot_correct_are_tool_errors() {
    // REQ-MCP-10, REQ-MCP-11, REQ-ERR-02, choices C-11, C-12
    for code in ErrorCode::ALL {
        assert_eq!(code.is_recoverable(), code.as_str() != "INTERNAL_ERROR", "{code}");
    }
    let board = board();
    for (asked, is_error) in [
        (json!({ "operation": "list_tasks" }), false),
        (json!({ "operation": "nope" }), false),
        (json!({ "operation": "get_task" }), false),
        (json!({ "operations": [] }), false),
        (json!({ "operation": "fail", "how": "denied" }), false),
        (json!({ "operation": "fail", "how": "limited" }), false),
        (json!({ "operation": "fail", "how": "panic" }), true),
        (json!({ "operation": "fail", "how": "disk" }), true),
    ] {
        let Value::Object(arguments) = asked.clone() else { panic!("no object") };
        let reply = block_on(board.handle(Endpoint::Unified, arguments, CallScope::default()));
        assert_eq!(reply.is_error(), is_error, "{asked}");
    }
}

/// An error type of the author.
#[derive(Debug, thiserror::Error, OperationError)]
enum ShopError {
    #[error("no shop '{0}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "shop", resource_id = 0)
    )]
    Missing(String),
    #[error("'{field}' takes additions only")]
    #[operation_error(code = "VALIDATION_APPEND_ONLY", details(field = field))]
    AppendOnly { field: String },
    #[error("the pipe burst in the cellar")]
    Burst,
}

/// Open a shop.
#[operation(category = "EXECUTE", rationale = "It is a shop")]
fn open_shop(
    /// Which one.
    name: String,
) -> Result<(), ShopError> {
    Err(match name.as_str() {
        "log" => ShopError::AppendOnly { field: "entries".to_owned() },
        "cellar" => ShopError::Burst,
        _ => ShopError::Missing(name),
    })
}

#[test]
fn errors_of_the_authors_own_become_codes() {
    // REQ-ERR-01, REQ-ERR-02, REQ-ERR-04, REQ-CNF-13
    let adapter =
        Adapter::builder("shops").operation(open_shop {}).without_config().build().unwrap();
    for (name, expected, said) in [
        ("bakery", "NOT_FOUND_RESOURCE", "Resource 'shop' not found: 'bakery'"),
        ("log", "VALIDATION_APPEND_ONLY", "'entries' takes additions only"),
        ("cellar", "INTERNAL_ERROR", "Internal error"),
    ] {
        let reply = call(&adapter, "open_shop", json!({ "name": name }));
        assert_eq!(code(&reply), Some(expected), "{name}");
        assert!(message(&reply).contains(said), "{}", message(&reply));
        assert!(!message(&reply).contains("pipe"));
    }
}
