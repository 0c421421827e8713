//! Tests warnings: their form, order, limit and duplicates, and the warnings that the framework itself adds.

use mcp_aql::{Severity, Warning};
use serde_json::{Value, json};

use crate::board::board;
use crate::support::{ask, call, data, names};

fn severities(warnings: &Value) -> Vec<&str> {
    let rank = |each: &'_ Value| each["severity"].as_str().map(str::to_owned);
    let found: Vec<_> = warnings.as_array().unwrap().iter().map(rank).collect();
    found
        .iter()
        .map(|severity| match severity.as_deref() {
            Some("high") => "high",
            Some("low") => "low",
            _ => "medium",
        })
        .collect()
}

#[test]
fn warnings_come_with_successes_only() {
    // REQ-WRN-01, REQ-WRN-02, REQ-RSP-07
    let board = board();
    let reply = call(&board, "warn", json!({}));
    assert_eq!(
        reply["warnings"],
        json!([{
            "code": "PERFORMANCE_TEST_WARNING", "message": "Number 0", "severity": "low",
            "details": { "number": 0 },
        }])
    );
    let reply = call(&board, "warn", json!({ "fail": true }));
    assert_eq!(names(&reply), ["error", "success"]);
    let reply = call(&board, "warn", json!({ "different": 0 }));
    assert_eq!(names(&reply), ["data", "success"]);
}

#[test]
fn the_most_urgent_come_first() {
    // REQ-WRN-03, REQ-WRN-04
    let reply = call(&board(), "warn", json!({ "different": 9 }));
    assert_eq!(
        severities(&reply["warnings"]),
        ["high", "high", "high", "medium", "medium", "medium", "low", "low", "low"]
    );
    // A warning without a severity ranks as medium. `warning/mod.rs` tests the order in detail.
    assert!(Severity::High < Severity::Medium && Severity::Medium < Severity::Low);
}

#[test]
fn at_most_ten_warnings_are_returned_and_the_rest_is_counted() {
    // REQ-WRN-10, REQ-WRN-08
    let reply = call(&board(), "warn", json!({ "different": 30 }));
    let warnings = reply["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 10);
    assert!(warnings[..9].iter().all(|each| each["severity"] == "high"));
    let note = &warnings[9];
    assert_eq!(note["code"], "VALIDATION_TRUNCATED_WARNING");
    assert_eq!(
        note["details"],
        json!({ "field": "warnings", "original_count": 30, "truncated_count": 9, "limit": 10 })
    );
}

#[test]
fn equal_warnings_become_one() {
    // REQ-WRN-11
    let reply = call(&board(), "warn", json!({ "times": 500 }));
    assert_eq!(reply["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(reply["warnings"][0]["details"]["occurrence_count"], 500);
}

#[test]
fn a_batch_folds_the_warnings_of_its_items() {
    // REQ-WRN-11
    let board = board();
    let items: Vec<_> = (0..5)
        .map(|_| json!({ "operation": "warn", "params": { "different": 2 } }))
        .chain([json!({ "operation": "warn", "params": { "different": 7, "fail": true } })])
        .collect();
    let reply = ask(&board, json!({ "operations": items }));
    let warnings = reply["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 2);
    assert!(warnings.iter().all(|each| each["details"]["occurrence_count"] == 5), "{warnings:?}");
}

#[test]
fn deprecated_names_warn_by_themselves() {
    // REQ-WRN-05, REQ-WRN-07, REQ-INT-32, choice C-60
    let board = board();
    let reply = call(&board, "find_by_number", json!({ "number": 7 }));
    assert_eq!(
        reply["warnings"],
        json!([
            {
                "code": "DEPRECATION_WARNING",
                "message": "Operation 'find_by_number' is deprecated; use 'get_task' instead",
                "severity": "medium",
                "details": {
                    "type": "operation", "deprecated_item": "find_by_number",
                    "replacement": "get_task", "removal_date": "2099-01-01",
                },
            },
            {
                "code": "DEPRECATION_WARNING",
                "message": "Parameter 'number' is deprecated; use 'task_id' instead",
                "severity": "low",
                "details": {
                    "type": "parameter", "deprecated_item": "number", "replacement": "task_id",
                },
            },
        ])
    );
    let reply = call(&board, "find_by_number", json!({}));
    assert_eq!(reply["warnings"].as_array().unwrap().len(), 1, "the parameter is not used");
    data(reply);
}

#[test]
fn warnings_of_the_protocol_have_their_severity() {
    // REQ-WRN-05, REQ-WRN-08, REQ-WRN-09
    let shown = |warning: &Warning| serde_json::to_value(warning).unwrap();
    for (found, kept, severity) in
        [(10, 4, "medium"), (10, 5, "low"), (10, 9, "low"), (3, 0, "medium")]
    {
        let warning = shown(&Warning::truncated("items", found, kept, kept));
        assert_eq!(warning["code"], "VALIDATION_TRUNCATED_WARNING");
        assert_eq!(warning["severity"], severity, "{kept} of {found}");
        assert_eq!(
            names(&warning["details"]),
            ["field", "limit", "original_count", "truncated_count"]
        );
    }
    for (duration, severity) in [(1_001, "high"), (1_000, "medium"), (200, "medium"), (199, "low")]
    {
        let warning = shown(&Warning::slow("list_tasks", duration, 100));
        assert_eq!(warning["code"], "PERFORMANCE_SLOW_QUERY_WARNING");
        assert_eq!(warning["severity"], severity, "{duration}");
        assert_eq!(names(&warning["details"]), ["duration_ms", "operation", "threshold_ms"]);
    }
}

#[test]
fn a_code_is_always_a_code() {
    // REQ-WRN-02, REQ-WRN-05
    for (code, shown) in [
        ("RATE_LIMIT_X", "RATE_LIMIT_X"),
        ("slow query", "SLOW_QUERY"),
        ("1", "WARNING_1"),
        ("", "WARNING_"),
    ] {
        assert_eq!(Warning::new(code.to_owned(), "m").code(), shown);
    }
}
