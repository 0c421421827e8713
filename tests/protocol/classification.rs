//! Tests categories, names and reserved names of operations.

use mcp_aql::SemanticCategory;
use mcp_aql::prelude::*;
use mcp_aql::protocol::RESERVED_OPERATIONS;
use mcp_aql::table::{Operation, OperationEntry, OperationSpec};
use serde_json::json;

use crate::board::{board, builder};
use crate::support::{call, code, data};

/// An operation with one of the names reserved by the protocol.
struct Reserved<const INDEX: usize>;

impl<const INDEX: usize> Operation for Reserved<INDEX> {
    const OPERATION: OperationEntry<()> = OperationEntry::new(
        OperationSpec::new(RESERVED_OPERATIONS[INDEX], SemanticCategory::Read, "Take the name."),
        |(), call| Box::pin(async move { call.reply(()) }),
    );
}

#[test]
fn reserved_names_are_refused() {
    // REQ-CLS-10, REQ-CLS-11
    let built = builder()
        .operation(Reserved::<0>)
        .operation(Reserved::<1>)
        .operation(Reserved::<2>)
        .operation(Reserved::<3>)
        .operation(Reserved::<4>)
        .operation(Reserved::<5>)
        .operation(Reserved::<6>)
        .build();
    let error = built.expect_err("the names are taken").to_string();
    for name in [
        "introspect",
        "execute_agent",
        "record_execution_step",
        "complete_execution",
        "abort_execution",
        "confirm_operation",
        "verify_challenge",
    ] {
        assert!(error.contains(&format!("`{name}` is reserved")), "{name}: {error}");
    }
}

#[test]
fn the_only_reserved_operation_on_offer_is_introspect_and_it_reads() {
    // REQ-CLS-11, REQ-INT-01, REQ-CLS-01
    let board = board();
    for name in RESERVED_OPERATIONS {
        let found = board.operations().find(|operation| operation.name == name);
        match name {
            "introspect" => assert_eq!(found.unwrap().category, SemanticCategory::Read),
            _ => assert!(found.is_none(), "{name}"),
        }
    }
}

#[test]
fn two_operations_of_one_name_do_not_start() {
    // REQ-CLS-06, REQ-EPT-02
    let error = builder().operation(crate::board::echo_values {}).build().unwrap_err();
    assert!(error.to_string().contains("two operations are called `echo_values`"), "{error}");
}

#[test]
fn operation_names_are_snake_case() {
    // REQ-CLS-06, REQ-CLS-07, REQ-CLS-08
    let board = board();
    for operation in board.operations() {
        assert!(mcp_aql_protocol::is_public_name(operation.name), "{}", operation.name);
    }
}

/// Remove duplicates from an answer.
#[operation(
    category = "READ",
    rationale = "It looks at a copy and removes nothing that is stored."
)]
fn remove_duplicates(
    /// The words.
    words: Vec<String>,
) -> Vec<String> {
    let mut words = words;
    words.dedup();
    words
}

#[test]
fn a_verb_that_does_not_fit_needs_a_reason_and_shows_it() {
    // REQ-CLS-02, REQ-CLS-04, REQ-CLS-08, REQ-CLS-09
    let adapter = builder().operation(remove_duplicates {}).build().unwrap();
    let asked = json!({ "query": "operations", "name": "remove_duplicates" });
    let shown = data(call(&adapter, "introspect", asked));
    let description = shown["operation"]["description"].as_str().unwrap();
    assert!(description.contains("It looks at a copy"), "{description}");
}

#[test]
fn reading_is_safe_to_repeat() {
    // REQ-CLS-03
    let board = board();
    data(call(&board, "create_task", json!({ "title": "Milk" })));
    let read = || call(&board, "get_task", json!({ "task_id": "t-1" }));
    let first = read();
    assert_eq!(code(&first), None);
    for _ in 0..3 {
        assert_eq!(read(), first);
    }
}
