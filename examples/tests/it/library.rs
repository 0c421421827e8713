//! End-to-end tests of `library`: an adapter with its own endpoint families.

use std::time::Duration;

use crate::support::mcp::Mcp;
use serde_json::{Value, json};

const DISCOVER: &str = "mcp_aql_discover";
const QUERY: &str = "mcp_aql_query";
const MANAGE: &str = "mcp_aql_manage";
const OPERATE: &str = "mcp_aql_operate";

async fn library() -> Mcp {
    Mcp::start("library", &[], &[]).await
}

async fn tools(library: &Mcp) -> Vec<String> {
    library.tools().await.into_iter().map(|tool| tool.name.into_owned()).collect()
}

#[tokio::test]
async fn a_client_sees_four_families_of_different_risk() {
    // REQ-EPT-08, REQ-EPT-09, REQ-MCP-06
    let library = library().await;
    let tools = library.tools().await;
    let seen: Vec<_> = tools
        .iter()
        .map(|tool| {
            let annotations = tool.annotations.as_ref().unwrap();
            (&*tool.name, annotations.read_only_hint, annotations.destructive_hint)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (DISCOVER, Some(true), Some(false)),
            (QUERY, Some(true), Some(false)),
            (MANAGE, Some(false), Some(true)),
            (OPERATE, Some(false), Some(true)),
        ]
    );
    let description = tools[3].description.as_deref().unwrap();
    for part in ["loans and the stock", "lend_book", "create_member"] {
        assert!(description.contains(part), "{part}: {description}");
    }
    library.close().await;
}

#[tokio::test]
async fn operations_are_in_their_named_family_or_that_of_their_category() {
    // REQ-EPT-02, REQ-EPT-08, REQ-EPT-14
    let library = library().await;
    let data = library.data(DISCOVER, "introspect", json!({"query": "operations"})).await;
    assert_eq!(data["_protocol"]["profile"], "library");
    let operations: Vec<_> = data["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| ["name", "endpoint", "semantic_category"].map(|key| it[key].as_str().unwrap()))
        .collect();
    assert_eq!(
        operations,
        [
            ["introspect", "discover", "READ"],
            ["find_books", "discover", "READ"],
            ["list_subjects", "discover", "READ"],
            ["get_book", "query", "READ"],
            ["get_member", "query", "READ"],
            ["list_loans", "query", "READ"],
            ["create_book", "manage", "CREATE"],
            ["update_book", "manage", "UPDATE"],
            ["delete_book", "manage", "DELETE"],
            ["create_member", "operate", "CREATE"],
            ["lend_book", "operate", "EXECUTE"],
            ["return_book", "operate", "EXECUTE"],
            ["check_stock", "operate", "EXECUTE"],
        ]
    );
    library.close().await;
}

#[tokio::test]
async fn the_wrong_family_is_refused_and_the_right_one_named() {
    // REQ-EPT-03, REQ-EPT-04
    let library = library().await;
    for (tool, operation, params, expected) in [
        (QUERY, "find_books", json!({}), "discover"),
        (DISCOVER, "get_book", json!({"book_id": 1}), "query"),
        (QUERY, "introspect", json!({"query": "operations"}), "discover"),
        (MANAGE, "create_member", json!({"name": "Ada"}), "operate"),
        (OPERATE, "delete_book", json!({"book_id": 1}), "manage"),
        (QUERY, "lend_book", json!({"book_id": 1, "member_id": 1}), "operate"),
    ] {
        let error = library.error(tool, operation, params).await;
        assert_eq!(error["code"], "VALIDATION_ENDPOINT_MISMATCH", "{operation}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&format!("mcp_aql_{expected}")), "{operation}: {message}");
    }
    library.data(QUERY, "get_book", json!({"book_id": 1})).await;
    let loans = library.data(QUERY, "list_loans", json!({})).await;
    assert_eq!(loans["items"], json!([]), "what was refused did not run");
    library.close().await;
}

#[tokio::test]
async fn the_operator_chooses_mode_and_profile() {
    // REQ-EPT-10, REQ-EPT-11, REQ-EPT-13, REQ-EPT-15
    let all = Mcp::start("library", &[], &[("MCP_AQL_ENDPOINT_MODE", "all")]).await;
    assert_eq!(tools(&all).await, [DISCOVER, QUERY, MANAGE, OPERATE, "mcp_aql"]);
    let params = json!({"book_id": 1, "member_id": 1});
    let loan = all.data("mcp_aql", "lend_book", params.clone()).await;
    assert_eq!(loan["loan"]["loan_id"], 1);
    let again = all.error(OPERATE, "lend_book", params).await;
    assert_eq!(again["code"], "CONFLICT_ALREADY_EXISTS", "both doors lead to one library");
    let error = all.error(MANAGE, "return_book", json!({"loan_id": 1})).await;
    assert_eq!(error["code"], "VALIDATION_ENDPOINT_MISMATCH", "a family stays one");
    all.close().await;

    let crude = Mcp::start("library", &[], &[("MCP_AQL_ENDPOINT_PROFILE", "crude")]).await;
    let families = ["create", "read", "update", "delete", "execute"];
    assert_eq!(tools(&crude).await, families.map(|family| format!("mcp_aql_{family}")));
    crude.data("mcp_aql_read", "find_books", json!({})).await;
    crude.data("mcp_aql_create", "create_member", json!({"name": "Ada"})).await;
    crude.close().await;
}

#[tokio::test]
async fn books_are_found_page_by_page() {
    // REQ-PAG-04, REQ-PAG-05
    let library = library().await;
    let page = library.data(DISCOVER, "find_books", json!({"word": "WHALE"})).await;
    assert_eq!(page["items"][0]["title"], "Moby-Dick; or, The Whale");
    assert_eq!(page["items"].as_array().unwrap().len(), 1);

    let page = library.data(DISCOVER, "find_books", json!({"first": 3})).await;
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    let after = page["pageInfo"]["endCursor"].clone();
    let page = library.data(DISCOVER, "find_books", json!({"first": 3, "after": after})).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert_eq!(page["items"][0]["book_id"], 4);
    assert_eq!(page["pageInfo"]["hasNextPage"], false);
    assert_eq!(page["pageInfo"]["hasPreviousPage"], true);
    let before = page["pageInfo"]["startCursor"].clone();
    let page = library.data(DISCOVER, "find_books", json!({"last": 2, "before": before})).await;
    assert_eq!(
        (&page["items"][0]["book_id"], &page["items"][1]["book_id"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(page["pageInfo"]["hasPreviousPage"], true);
    // Every page size is accepted, but only cursors of the same list.
    for (first, books) in [(0, 0), (101, 4)] {
        let page = library.data(DISCOVER, "find_books", json!({"first": first})).await;
        assert_eq!(page["items"].as_array().unwrap().len(), books);
    }
    for after in ["x", "2", &u64::MAX.to_string()] {
        let params = json!({"first": 1, "after": after});
        let error = library.error(DISCOVER, "find_books", params).await;
        assert_eq!(error["details"]["param_name"], "after");
    }
    let after = page["pageInfo"]["endCursor"].clone();
    let error = library.error(QUERY, "list_loans", json!({"first": 1, "after": after})).await;
    assert_eq!(error["details"]["param_name"], "after");
    let error = library.error(DISCOVER, "find_books", json!({"after": after})).await;
    assert_eq!(error["details"]["param_name"], "pagination");

    let data = library.data(DISCOVER, "list_subjects", json!({})).await;
    let fiction = json!({"subject": "fiction", "books": 2});
    assert_eq!(data["items"][0], fiction);
    library.close().await;
}

#[tokio::test]
async fn an_update_of_a_nested_field_keeps_the_others() {
    // REQ-UPD-08, REQ-UPD-10, REQ-CON-03, REQ-UPD-05
    let library = library().await;
    let change = |input: Value| json!({"book_id": 1, "input": input});
    let input = json!({"place": {"shelf": "F4"}});
    let book = library.data(MANAGE, "update_book", change(input)).await["book"].take();
    assert_eq!(book["place"], json!({"floor": 0, "shelf": "F4", "hint": "by the stairs"}));
    assert_eq!(book["_version"], 2);
    let input = json!({"place": {"hint": null}});
    let book = library.data(MANAGE, "update_book", change(input)).await["book"].take();
    assert_eq!(book["place"], json!({"floor": 0, "shelf": "F4", "hint": null}));

    library.data(OPERATE, "lend_book", json!({"book_id": 1, "member_id": 1})).await;
    library.data(OPERATE, "lend_book", json!({"book_id": 1, "member_id": 2})).await;
    for (params, code, name) in [
        (change(json!({"place": {"shelf": "4F"}})), "VALIDATION_INVALID_VALUE", "place.shelf"),
        (change(json!({"place": {"shelv": "F4"}})), "VALIDATION_UNKNOWN_FIELD", "place.shelv"),
        (change(json!({"checked_at": null})), "VALIDATION_READ_ONLY_FIELD", "checked_at"),
        (change(json!({"title": "x", "copies": 1})), "VALIDATION_INVALID_VALUE", "input.copies"),
        (
            json!({"book_id": 1, "input": {"copies": 9}, "if_match": 1}),
            "CONFLICT_VERSION_MISMATCH",
            "if_match",
        ),
        (json!({"book_id": 9, "input": {}}), "NOT_FOUND_RESOURCE", "'9'"),
    ] {
        let error = library.error(MANAGE, "update_book", params).await;
        assert_eq!(error["code"], code, "{error}");
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
    let now = library.data(QUERY, "get_book", json!({"book_id": 1})).await["book"].take();
    assert_eq!(now, book, "what was refused changed nothing");
    let params = json!({"book_id": 1, "input": {"copies": 9}, "if_match": 3});
    assert_eq!(library.data(MANAGE, "update_book", params).await["book"]["copies"], 9);
    library.close().await;
}

#[tokio::test]
async fn the_lending_rules_have_codes() {
    // REQ-ERR-01, REQ-ERR-02
    let library = library().await;
    let member = library.data(OPERATE, "create_member", json!({"name": "Grace"})).await;
    assert_eq!(member["member"], json!({"member_id": 3, "name": "Grace"}));
    assert_eq!(library.data(QUERY, "get_member", json!({"member_id": 3})).await, member);
    let book = library
        .data(
            MANAGE,
            "create_book",
            json!({
                "title": "Cosmos", "author": "Carl Sagan", "subject": "science",
                "place": {"floor": 1, "shelf": "S7"},
            }),
        )
        .await;
    assert_eq!((&book["book"]["book_id"], &book["book"]["copies"]), (&json!(5), &json!(1)));

    let lend = |book_id, member_id| json!({"book_id": book_id, "member_id": member_id});
    for book_id in [1, 2, 3] {
        library.data(OPERATE, "lend_book", lend(book_id, 3)).await;
    }
    for (tool, operation, params, code, says) in [
        (OPERATE, "lend_book", lend(9, 1), "NOT_FOUND_RESOURCE", "'book' not found: '9'"),
        (OPERATE, "lend_book", lend(1, 9), "NOT_FOUND_RESOURCE", "'member' not found: '9'"),
        (OPERATE, "lend_book", lend(1, 3), "CONFLICT_ALREADY_EXISTS", "already exists: '1'"),
        (OPERATE, "lend_book", lend(5, 3), "PERMISSION_DENIED", "'3' books"),
        (OPERATE, "lend_book", lend(2, 1), "PERMISSION_DENIED", "All '1' copies"),
        (MANAGE, "delete_book", json!({"book_id": 2}), "PERMISSION_DENIED", "'1' copies"),
        (MANAGE, "delete_book", json!({"book_id": 9}), "NOT_FOUND_RESOURCE", "'9'"),
        (OPERATE, "return_book", json!({"loan_id": 9}), "NOT_FOUND_RESOURCE", "'9'"),
        (QUERY, "get_member", json!({"member_id": 9}), "NOT_FOUND_RESOURCE", "'9'"),
    ] {
        let error = library.error(tool, operation, params).await;
        assert_eq!(error["code"], code, "{operation}: {error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{says}: {error}");
    }

    let loan = library.data(OPERATE, "return_book", json!({"loan_id": 2})).await;
    assert!(loan["loan"]["returned_at"].as_str().unwrap().ends_with('Z'), "{loan}");
    let error = library.error(OPERATE, "return_book", json!({"loan_id": 2})).await;
    assert_eq!(error["code"], "NOT_FOUND_RESOURCE", "a loan ends once");
    library.data(MANAGE, "delete_book", json!({"book_id": 2})).await;
    let error = library.error(QUERY, "get_book", json!({"book_id": 2})).await;
    assert_eq!(error["code"], "NOT_FOUND_RESOURCE");
    library.close().await;
}

#[tokio::test]
async fn the_old_name_of_a_parameter_works_and_warns() {
    // REQ-WRN-07, REQ-INT-32
    let library = library().await;
    for member_id in [1, 2] {
        let params = json!({"book_id": 1, "member_id": member_id});
        library.data(OPERATE, "lend_book", params).await;
    }
    let (new, _) = library.call(QUERY, "list_loans", json!({"member_id": 2})).await;
    assert_eq!(new["data"]["items"].as_array().unwrap().len(), 1);
    assert!(new.get("warnings").is_none(), "{new}");
    let (old, _) = library.call(QUERY, "list_loans", json!({"borrower": 2})).await;
    assert_eq!(old["data"], new["data"]);
    assert_eq!(old["warnings"][0]["code"], "DEPRECATION_WARNING");
    assert_eq!(old["warnings"][0]["details"]["replacement"], "member_id");

    library.data(OPERATE, "return_book", json!({"loan_id": 2})).await;
    for (returned, loans) in [(false, 0), (true, 1)] {
        let params = json!({"member_id": 2, "returned": returned});
        let page = library.data(QUERY, "list_loans", params).await;
        assert_eq!(page["items"].as_array().unwrap().len(), loans);
    }
    library.close().await;
}

#[tokio::test]
async fn a_stocktaking_reports_progress_and_its_rationale() {
    // REQ-CLS-09, REQ-MCP-13, REQ-MCP-14
    let library = library().await;
    let query = json!({"query": "operations", "name": "check_stock"});
    let data = library.data(DISCOVER, "introspect", query).await;
    let description = data["operation"]["description"].as_str().unwrap();
    assert!(description.contains("If cancelled, it stops between"), "{description}");

    library.data(OPERATE, "lend_book", json!({"book_id": 1, "member_id": 1})).await;
    // At most twenty reports per second are sent, so each book must take longer than that.
    let data = library.data(OPERATE, "check_stock", json!({"pace_ms": 150})).await;
    assert_eq!(data["stock_check"], json!({"books": 4, "on_shelf": 4, "lent": 1}));
    let reports = library.progress();
    assert!(!reports.is_empty());
    assert!(reports.windows(2).all(|pair| pair[0].progress < pair[1].progress));
    let last = reports.last().unwrap();
    assert_eq!((last.progress, last.total), (4.0, Some(4.0)));
    assert_eq!(last.message.as_deref(), Some("Checked book '4'"));
    let book = library.data(QUERY, "get_book", json!({"book_id": 4})).await;
    assert!(book["book"]["checked_at"].is_string(), "{book}");
    library.close().await;
}

#[tokio::test]
async fn a_stocktaking_that_is_cancelled_stops_between_two_books() {
    let library = library().await;
    let handle = library.begin(OPERATE, "check_stock", json!({"pace_ms": 1000})).await;
    while library.progress().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.cancel(None).await.unwrap();
    // Wait as long as the whole stocktaking would take if it had not been canceled.
    tokio::time::sleep(Duration::from_millis(4500)).await;
    let page = library.data(DISCOVER, "find_books", json!({})).await;
    let checked: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|book| book["checked_at"].is_string())
        .collect();
    assert_eq!(checked, [true, false, false, false]);
    library.close().await;
}
