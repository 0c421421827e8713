//! Tests of inputs that decoding rejects.

use mcp_aql::{ErrorCode, OperationError, Update};
use serde_json::{Value, json};

use super::resource::Task;

fn refused(input: Value) -> OperationError {
    let error = Update::<Task>::from_json(input.clone()).expect_err(&input.to_string());
    assert!(!mcp_aql::testing::leaks_internals(error.message()), "{}", error.message());
    error
}

#[test]
fn input_is_an_object() {
    // REQ-UPD-03
    for input in [json!([]), json!("x"), json!(null), json!(1)] {
        let error = refused(input);
        assert_eq!(error.code(), ErrorCode::ValidationInvalidType);
        assert_eq!(error.details()["param_name"], "input");
    }
}

#[test]
fn unknown_fields_are_named_with_the_valid_ones() {
    // REQ-UPD-04, REQ-UPD-05, REQ-UPD-06; choice G-04
    for (input, path, said) in [
        (json!({"titel": 1}), "titel", "Did you mean 'title'?"),
        (json!({"metadata": {"origin": {"numer": 1}}}), "metadata.origin.numer", "'number'"),
        (json!({"people": {"boss": {"auhtor": 1}}}), "people.boss.auhtor", "'author'"),
        (json!({"task_id": "t-2"}), "task_id", "identifies the resource"),
        (json!({"cached": true}), "cached", "Unknown field 'cached'"),
    ] {
        let error = refused(input);
        assert_eq!(error.code(), ErrorCode::ValidationUnknownField, "{path}");
        assert_eq!(error.details()["unknown_fields"], json!([path]));
        assert!(error.details()["valid_fields"].is_array());
        assert!(error.message().contains(said), "{}", error.message());
    }
}

#[test]
fn read_only_fields_are_refused() {
    for (input, path) in [
        (json!({"created_at": "x"}), "created_at"),
        (json!({"_version": 9}), "_version"),
        (json!({"metadata": {"score": 9}}), "metadata.score"),
    ] {
        let error = refused(input);
        assert_eq!(error.code(), ErrorCode::ValidationReadOnlyField, "{path}");
        assert!(error.message().contains(path), "{}", error.message());
    }
}

#[test]
fn null_is_refused_where_nothing_can_be_removed() {
    // REQ-UPD-10; choice G-05
    for (input, path) in [
        (json!({"title": null}), "input.title"),
        (json!({"status": null}), "input.status"),
        (json!({"tags": null}), "input.tags"),
        (json!({"metadata": null}), "input.metadata"),
        (json!({"metadata": {"origin": {"system": null}}}), "input.metadata.origin.system"),
        (json!({"review": {"author": null}}), "input.review.author"),
        (json!({"counts": null}), "input.counts"),
        (json!({"settings": null}), "input.settings"),
        (json!({"people": {"boss": {"author": null}}}), "input.people.boss.author"),
    ] {
        let error = refused(input);
        assert_eq!(error.code(), ErrorCode::ValidationInvalidValue, "{path}");
        assert_eq!(error.details()["param_name"], path);
        assert!(error.message().contains("cannot be removed"), "{}", error.message());
    }
}

#[test]
fn values_of_another_type_are_refused_by_path() {
    // REQ-UPD-04
    for (input, path) in [
        (json!({"priority": 300}), "input.priority"),
        (json!({"status": "lost"}), "input.status"),
        (json!({"counts": {"a": -1}}), "input.counts.a"),
        (json!({"rooms": {"cellar": {}}}), "input.rooms.cellar"),
        (json!({"metadata": {"origin": {"number": "x"}}}), "input.metadata.origin.number"),
        (json!({"place": {"x": 1}}), "input.place"),
        (json!({"metadata": 1}), "input.metadata"),
        (json!({"settings": [1]}), "input.settings"),
    ] {
        let error = refused(input);
        assert_eq!(error.details()["param_name"], path, "{}", error.message());
    }
}

#[test]
fn rejects_deeply_nested_json() {
    // REQ-ENC-12 limits requests to much less, but a program may build deeper values.
    let mut input = json!({"author": "x"});
    for _ in 0..500 {
        input = json!({"parent": input});
    }
    let error = refused(json!({"metadata": input}));
    assert_eq!(error.code(), ErrorCode::ValidationInvalidValue);
}
