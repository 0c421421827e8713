//! Tests replies: success and failure, the member with the result, and metadata.

use mcp_aql::Session;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint};
use serde_json::{Value, json};

use crate::board::board;
use crate::support::{ask, ask_with_session, block_on, call, code, data, names};

/// Return nothing.
#[operation(category = "READ")]
fn get_nothing() {}

/// Return an optional number.
#[operation(category = "READ")]
fn get_maybe() -> Option<u32> {
    None
}

/// A thing.
#[derive(serde::Serialize, JsonSchema)]
struct BigThing {
    /// Its number.
    number: u32,
    /// Optional further number.
    more: Option<u32>,
}

/// A thing under its own key.
#[operation(category = "READ")]
fn get_thing() -> BigThing {
    BigThing { number: 1, more: None }
}

/// A thing under another key.
#[operation(category = "READ", wrap = "found")]
fn get_found() -> BigThing {
    BigThing { number: 1, more: None }
}

/// A thing without a key.
#[operation(category = "READ", wrap = false)]
fn get_bare() -> BigThing {
    BigThing { number: 1, more: None }
}

/// Several things.
#[operation(category = "READ")]
fn list_things() -> Result<Vec<BigThing>, OperationError> {
    Ok(vec![BigThing { number: 1, more: Some(2) }])
}

/// A thing with a list of parts, which is not a page.
#[derive(serde::Serialize, JsonSchema)]
struct Basket {
    /// Its parts.
    items: Vec<u32>,
    /// Its price.
    total: u32,
}

/// A thing with entries.
#[derive(serde::Serialize, JsonSchema)]
struct Receipt {
    /// Its entries.
    entries: Vec<u32>,
    /// Its price.
    total: u32,
}

/// A thing with a field named like the one of a page.
#[derive(serde::Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Sheet {
    /// Its size.
    page_info: String,
}

/// A page behind a type alias.
type Numbers = Page<u32>;

/// A basket.
#[operation(category = "READ")]
fn get_basket() -> Basket {
    Basket { items: vec![1], total: 2 }
}

/// Return an optional basket.
#[operation(category = "READ")]
fn get_perhaps() -> Option<std::sync::Arc<Basket>> {
    Some(std::sync::Arc::new(get_basket()))
}

/// A receipt.
#[operation(category = "READ")]
fn get_receipt() -> Receipt {
    Receipt { entries: vec![1], total: 2 }
}

/// A sheet.
#[operation(category = "READ")]
fn get_sheet() -> Sheet {
    Sheet { page_info: "A4".to_owned() }
}

/// A basket as `data` itself.
#[operation(category = "READ", wrap = false)]
fn get_open_basket() -> Basket {
    get_basket()
}

/// A page of numbers.
#[operation(category = "READ")]
fn list_numbers() -> Result<Numbers, OperationError> {
    Ok(Page::new(vec![1], PageInfo::new(false, false)))
}

/// Return an optional page of numbers.
#[operation(category = "READ")]
fn list_perhaps() -> Option<Box<Numbers>> {
    list_numbers().ok().map(Box::new)
}

#[test]
fn the_place_of_a_result_follows_from_its_type_and_not_from_its_fields() {
    // REQ-RSP-11
    let adapter = Adapter::builder("baskets")
        .operation(get_basket {})
        .operation(get_perhaps {})
        .operation(get_receipt {})
        .operation(get_sheet {})
        .operation(get_open_basket {})
        .operation(list_numbers {})
        .operation(list_perhaps {})
        .without_config()
        .build()
        .unwrap();
    let page = json!({
        "items": [1], "pageInfo": { "hasNextPage": false, "hasPreviousPage": false },
    });
    for (operation, expected) in [
        ("get_basket", json!({ "basket": { "items": [1], "total": 2 } })),
        ("get_perhaps", json!({ "basket": { "items": [1], "total": 2 } })),
        ("get_receipt", json!({ "receipt": { "entries": [1], "total": 2 } })),
        ("get_sheet", json!({ "sheet": { "pageInfo": "A4" } })),
        ("get_open_basket", json!({ "items": [1], "total": 2 })),
        ("list_numbers", page.clone()),
        ("list_perhaps", page),
    ] {
        assert_eq!(data(call(&adapter, operation, json!({}))), expected, "{operation}");
    }
}

/// An error type that could be data: it implements `Serialize` and `JsonSchema`.
#[derive(Debug, serde::Serialize, JsonSchema, OperationError)]
#[operation_error(code = "CONFLICT_ALREADY_EXISTS", message = "The shelf is full")]
struct ShelfFull {
    /// How many books it holds.
    books: u32,
}

/// A `Result` behind a type alias.
type Shelved<T> = Result<T, ShelfFull>;

/// Put a book on the shelf.
#[operation(category = "CREATE")]
fn add_written(
    /// Whether there is room.
    room: bool,
) -> Result<u32, ShelfFull> {
    if room { Ok(7) } else { Err(ShelfFull { books: 7 }) }
}

/// Put a book on the shelf.
#[operation(category = "CREATE")]
async fn add_by_alias(
    /// Whether there is room.
    room: bool,
) -> Shelved<u32> {
    add_written(room)
}

/// Put a book on the shelf.
#[operation(category = "CREATE")]
fn add_by_path(
    /// Whether there is room.
    room: bool,
) -> ::std::result::Result<u32, ShelfFull> {
    add_written(room)
}

/// Put a book on the shelf.
#[operation(category = "CREATE")]
async fn add_by_alias_of_the_crate(
    /// Whether there is room.
    room: bool,
) -> mcp_aql::Result<u32, ShelfFull> {
    add_written(room)
}

/// Put a book on the shelf.
#[operation(category = "EXECUTE", lifecycle)]
async fn execute_adding(
    /// Whether there is room.
    room: bool,
) -> Shelved<u32> {
    add_written(room)
}

/// Shelves with operations for any type.
struct Shelves<T>(T);

#[operations]
impl<T: Send + Sync + 'static> Shelves<T> {
    /// Put a book on the shelf.
    #[operation(category = "CREATE")]
    fn add_by_method(
        &self,
        /// Whether there is room.
        room: bool,
    ) -> Shelved<u32> {
        add_written(room)
    }

    /// Put a book on the shelf.
    #[operation(category = "CREATE")]
    async fn add_by_async_method(
        &self,
        /// Whether there is room.
        room: bool,
    ) -> Result<u32, ShelfFull> {
        let _ = &self.0;
        add_written(room)
    }

    /// Count the books, which cannot fail.
    #[operation(category = "READ")]
    fn count_books() -> u32 {
        7
    }
}

#[test]
fn an_err_is_a_failure_whatever_its_type_is() {
    // REQ-RSP-01, REQ-RSP-03
    let adapter = Adapter::builder("shelves")
        .operation(add_written {})
        .operation(add_by_alias {})
        .operation(add_by_path {})
        .operation(add_by_alias_of_the_crate {})
        .operation(execute_adding {})
        .operations(Shelves(()))
        .without_config()
        .build()
        .unwrap();
    for operation in [
        "add_written",
        "add_by_alias",
        "add_by_path",
        "add_by_alias_of_the_crate",
        "add_by_method",
        "add_by_async_method",
    ] {
        assert_eq!(data(call(&adapter, operation, json!({ "room": true }))), 7, "{operation}");
        let failed = call(&adapter, operation, json!({ "room": false }));
        assert_eq!(
            failed["error"],
            json!({ "code": "CONFLICT_ALREADY_EXISTS", "message": "The shelf is full" }),
            "{operation}"
        );
        let asked = json!({ "query": "operations", "name": operation });
        let returns = &data(call(&adapter, "introspect", asked))["operation"]["returns"];
        assert_eq!(returns["name"], "integer", "{operation}");
    }
    assert_eq!(data(call(&adapter, "count_books", json!({}))), 7);
}

#[test]
fn an_err_in_the_background_is_a_failure_whatever_its_type_is() {
    // REQ-RSP-03, REQ-LIF-01
    let adapter =
        Adapter::builder("shelves").operation(execute_adding {}).without_config().build().unwrap();
    block_on(async {
        for (room, expected) in [(true, "completed"), (false, "failed")] {
            let begun = adapter.call("execute_adding", json!({ "room": room })).await;
            let id = begun.data()["execution_id"].clone();
            let state = loop {
                let asked = json!({ "execution_id": id });
                let state = adapter.call("get_execution", asked).await.data().clone();
                if !matches!(state["status"].as_str(), Some("pending" | "running")) {
                    break state;
                }
                tokio::task::yield_now().await;
            };
            assert_eq!(state["status"], expected, "{state}");
        }
    });
}

fn things() -> Adapter {
    Adapter::builder("things")
        .operation(get_nothing {})
        .operation(get_maybe {})
        .operation(get_thing {})
        .operation(get_found {})
        .operation(get_bare {})
        .operation(list_things {})
        .without_config()
        .build()
        .unwrap()
}

#[test]
fn a_success_has_data_and_a_failure_has_an_error() {
    // REQ-RSP-01 to REQ-RSP-04
    let board = board();
    let success = call(&board, "create_task", json!({ "title": "Milk" }));
    assert_eq!(names(&success), ["data", "success"]);
    let failure = call(&board, "get_task", json!({ "task_id": "t-9" }));
    assert_eq!(
        failure,
        json!({
            "success": false,
            "error": {
                "code": "NOT_FOUND_RESOURCE",
                "message": "Resource 'task' not found: 't-9'",
                "details": { "resource_type": "task", "resource_id": "t-9" },
            },
        })
    );
}

#[test]
fn data_is_present_even_without_a_result() {
    // REQ-RSP-02, REQ-ENC-15
    for operation in ["get_nothing", "get_maybe"] {
        let reply = call(&things(), operation, json!({}));
        assert_eq!(reply, json!({ "success": true, "data": null }), "{operation}");
    }
}

#[test]
fn replies_have_no_member_but_the_protocols() {
    // REQ-RSP-05 to REQ-RSP-07, REQ-WRN-01. The form itself is checked in every test, see `shape`.
    let board = board();
    let warned = call(&board, "warn", json!({}));
    assert_eq!(names(&warned), ["data", "success", "warnings"]);
    let failed = call(&board, "warn", json!({ "different": 3, "fail": true }));
    assert_eq!(names(&failed), ["error", "success"]);
    let batch = ask(&board, json!({ "operations": [{ "operation": "warn" }] }));
    assert_eq!(names(&batch), ["data", "results", "success", "summary", "warnings"]);
    // On failure, such information is in the error's details.
    let session = Session::new();
    let asked = json!({ "operation": "get_task", "params": { "task_id": "t-9" } });
    let failed = ask_with_session(&board, &session, asked);
    assert_eq!(failed["error"]["details"]["session_id"], session.id());
}

#[test]
fn a_resource_sits_under_its_key_and_a_collection_in_items() {
    // REQ-RSP-11
    let things = things();
    let thing = json!({ "number": 1, "more": null });
    for (operation, expected) in [
        ("get_thing", json!({ "big_thing": thing })),
        ("get_found", json!({ "found": thing })),
        ("get_bare", thing.clone()),
        ("list_things", json!({ "items": [{ "number": 1, "more": 2 }] })),
    ] {
        assert_eq!(data(call(&things, operation, json!({}))), expected, "{operation}");
    }
    let board = board();
    let page = data(call(&board, "list_tasks", json!({})));
    assert_eq!(page["items"], json!([]));
    assert_eq!(page["pageInfo"]["hasNextPage"], false);
}

#[test]
fn members_of_the_protocol_start_with_an_underscore() {
    // REQ-RSP-09
    let list = data(call(&things(), "introspect", json!({ "query": "operations" })));
    assert_eq!(names(&list), ["_protocol", "operations"]);
    let board = board();
    let task = data(call(&board, "create_task", json!({ "title": "Milk" })));
    assert_eq!(task["task"]["_version"], 1);
}

#[test]
fn replies_are_compact_json() {
    // REQ-RSP-01
    let board = board();
    for (operation, params) in [
        ("introspect", json!({ "query": "operations" })),
        ("introspect", json!({ "query": "types", "name": "Task" })),
        ("get_task", json!({ "task_id": "t-9" })),
        ("warn", json!({ "different": 2 })),
    ] {
        let Value::Object(arguments) = json!({ "operation": operation, "params": params }) else {
            panic!("no object")
        };
        let handled = board.handle(Endpoint::Unified, arguments, CallScope::default());
        let text = block_on(handled).text;
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(text.len(), value.to_string().len(), "{text}");
    }
}

#[test]
fn a_result_in_process_is_the_clients_reply() {
    // REQ-RSP-01, REQ-RSP-02, REQ-RSP-03
    let board = board();
    let result = block_on(board.call("warn", json!({ "different": 2 })));
    assert!(result.is_success());
    assert_eq!((result.data(), result.code()), (&json!(2), None));
    assert_eq!(result.warnings().len(), 2);
    let result = block_on(board.call("get_task", json!({ "task_id": "t-9" })));
    assert_eq!((result.data(), result.code()), (&Value::Null, Some("NOT_FOUND_RESOURCE")));
    let result = block_on(board.call("get_task", json!("t-9")));
    assert_eq!(result.code(), Some("VALIDATION_INVALID_TYPE"));
    let reply = call(&board, "get_task", json!({ "task_id": "t-9" }));
    assert_eq!(code(&reply), Some("NOT_FOUND_RESOURCE"));
}
