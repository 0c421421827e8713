//! Tests endpoint modes, families and routing.

use mcp_aql::SemanticCategory::{Create, Delete, Execute, Read, Update};
use mcp_aql::prelude::*;
use mcp_aql::transport::Endpoint;
use mcp_aql::{EndpointMode, EndpointProfile, SemanticCategory};
use serde_json::{Value, json};

use crate::board::{board, builder};
use crate::support::{ask, ask_through, call, code, data, details, family, message};

fn library() -> EndpointProfile {
    EndpointProfile::custom("library")
        .family("discover", "Find out what there is.", [])
        .family("query", "Look up tasks.", [Read])
        .family("manage", "Change tasks.", [Create, Update, Delete])
        .family("operate", "Run jobs.", [Execute])
        .introspect_in("discover")
}

#[test]
fn every_mode_is_offered_and_semantic_is_the_default() {
    // REQ-EPT-01, REQ-EPT-12, REQ-EPT-13, REQ-INT-06, choice C-28
    assert_eq!(board().mode(), EndpointMode::Semantic);
    assert_eq!(board().profile().name(), "crude");
    for (mode, word, tool) in [
        (EndpointMode::Semantic, "semantic", "mcp_aql_create"),
        (EndpointMode::Single, "single", "mcp_aql"),
        (EndpointMode::All, "all", "mcp_aql_create"),
    ] {
        let adapter = builder().mode(mode).build().unwrap();
        let list = data(call(&adapter, "introspect", json!({ "query": "operations" })));
        assert_eq!(list["_protocol"]["mode"], word);
        let shown =
            call(&adapter, "introspect", json!({ "query": "operations", "name": "create_task" }));
        assert_eq!(data(shown)["operation"]["mcpTool"], tool);
    }
}

#[test]
fn configuration_chooses_mode_and_profile() {
    // REQ-EPT-10, REQ-EPT-11, REQ-MCP-17. The environment is read in `adapter/config/tests.rs`.
    let file = std::env::temp_dir().join(format!("mcp-aql-{}.toml", std::process::id()));
    std::fs::write(
        &file,
        "endpoint_mode = 'single'\nendpoint_profile = 'crude'\ntool_prefix = 'a_'\n",
    )
    .unwrap();
    let adapter = Adapter::builder("board")
        .operations(crate::board::Board::default())
        .profile(library())
        .config_file(&file)
        .build();
    std::fs::remove_file(&file).unwrap();
    let adapter = adapter.unwrap();
    assert_eq!(adapter.mode(), EndpointMode::Single);
    assert!(adapter.profile().is_crude());
}

#[test]
fn every_operation_has_one_category_and_one_family() {
    // REQ-EPT-02, REQ-EPT-05, REQ-CLS-01
    let board = board();
    let families: Vec<_> = board.profile().families().iter().map(|family| family.name()).collect();
    assert_eq!(families, ["create", "read", "update", "delete", "execute"]);
    let list = data(call(&board, "introspect", json!({ "query": "operations" })));
    for operation in list["operations"].as_array().unwrap() {
        let category = operation["semantic_category"].as_str().unwrap();
        assert_eq!(operation["endpoint"], category.to_ascii_lowercase());
        // Exactly one of the five endpoints must accept the operation.
        let opened = families.iter().filter(|name| {
            let door = family(&board, name);
            let asked = json!({ "operation": operation["name"], "params": { "nonsense": 1 } });
            code(&ask_through(&board, door, asked)) != Some("VALIDATION_ENDPOINT_MISMATCH")
        });
        assert_eq!(opened.collect::<Vec<_>>(), [&category.to_ascii_lowercase()]);
    }
}

#[test]
fn the_wrong_endpoint_is_refused_and_the_right_one_named() {
    // REQ-EPT-03, REQ-EPT-04, choice C-05
    let board = builder().tool_prefix("acme_").build().unwrap();
    let asked = json!({ "operation": "delete_task", "params": { "task_id": "t-1" } });
    let reply = ask_through(&board, family(&board, "read"), asked);
    assert_eq!(code(&reply), Some("VALIDATION_ENDPOINT_MISMATCH"));
    assert_eq!(
        *details(&reply),
        json!({ "operation": "delete_task", "expected_endpoint": "delete", "actual_endpoint": "read" })
    );
    assert!(message(&reply).contains("'acme_mcp_aql_delete'"), "{}", message(&reply));
    assert!(message(&reply).contains("'acme_mcp_aql_read'"), "{}", message(&reply));
}

#[test]
fn permissions_follow_the_category() {
    // REQ-EPT-06, REQ-INT-12, choice C-29
    let board = board();
    for (operation, read_only, destructive) in [
        ("create_task", false, false),
        ("get_task", true, false),
        ("update_task", false, true),
        ("delete_task", false, true),
        ("run_report", false, true),
    ] {
        let shown = call(&board, "introspect", json!({ "query": "operations", "name": operation }));
        assert_eq!(
            data(shown)["operation"]["permissions"],
            json!({ "readOnly": read_only, "destructive": destructive }),
            "{operation}"
        );
    }
    assert_eq!(SemanticCategory::ALL.len(), 5);
}

#[test]
fn all_endpoints_apply_the_same_checks() {
    // REQ-EPT-07, REQ-EPT-15
    let calls = [
        ("create", json!({ "operation": "create_task", "params": { "title": "Milk" } })),
        ("create", json!({ "operation": "create_task", "params": { "title": "" } })),
        ("create", json!({ "operation": "create_task", "params": { "titel": "Milk" } })),
        ("read", json!({ "operation": "get_task", "params": { "task_id": "t-1" } })),
        ("read", json!({ "operation": "get_task", "params": { "task_id": 1 } })),
        (
            "update",
            json!({ "operation": "update_task", "params": { "task_id": "t-1", "input": { "a": 1 } } }),
        ),
        (
            "delete",
            json!({ "operation": "delete_task", "params": { "task_id": "t-1", "force": true } }),
        ),
        ("execute", json!({ "operation": "run_report", "params": { "steps": 101 } })),
        (
            "read",
            json!({ "operation": "introspect", "params": { "query": "operations", "name": "get_task" } }),
        ),
        ("read", json!({ "operation": "no_such_operation" })),
    ];
    let semantic = builder().mode(EndpointMode::All).build().unwrap();
    let unified = builder().mode(EndpointMode::All).build().unwrap();
    for (door, asked) in calls {
        let by_family = ask_through(&semantic, family(&semantic, door), asked.clone());
        assert_eq!(by_family, ask(&unified, asked.clone()), "{asked}");
    }
    // The category must not depend on the mode.
    let single = builder().mode(EndpointMode::Single).build().unwrap();
    for operation in ["create_task", "get_task", "update_task", "delete_task", "run_report"] {
        let shown = |adapter: &Adapter| {
            let asked = json!({ "query": "operations", "name": operation });
            let shown = data(call(adapter, "introspect", asked))["operation"].clone();
            (
                shown["semantic_category"].clone(),
                shown["permissions"].clone(),
                shown["endpoint"].clone(),
            )
        };
        assert_eq!(shown(&single), shown(&semantic));
    }
}

#[test]
fn unknown_operations_are_never_guessed() {
    // REQ-EPT-16, REQ-ERR-10, choice C-06
    let board = board();
    for endpoint in [Endpoint::Unified, family(&board, "create"), family(&board, "read")] {
        for name in ["creat_task", "create_tasks", "CREATE_TASK", "create", "*", "introspect; drop"]
        {
            let reply = ask_through(
                &board,
                endpoint,
                json!({ "operation": name, "params": { "title": "a" } }),
            );
            assert_eq!(code(&reply), Some("NOT_FOUND_OPERATION"), "{name}");
            assert!(details(&reply)["operation"].is_string());
        }
    }
    let reply = call(&board, "creat_task", json!({}));
    assert_eq!(details(&reply)["suggestion"], "create_task");
    assert_eq!(data(call(&board, "list_tasks", json!({})))["items"], json!([]));
}

/// Get help, in a family of its own.
#[operation(category = "READ", endpoint = "discover")]
fn get_help() -> String {
    "Read the book".to_owned()
}

#[test]
fn a_profile_of_ones_own_spreads_the_operations() {
    // REQ-EPT-08, REQ-EPT-09, REQ-EPT-14, REQ-INT-11
    let adapter = builder().operation(get_help {}).profile(library()).build().unwrap();
    let list = data(call(&adapter, "introspect", json!({ "query": "operations" })));
    assert_eq!(list["_protocol"]["profile"], "library");
    let endpoint = |name: &str| {
        let list = list["operations"].as_array().unwrap();
        list.iter().find(|each| each["name"] == name).unwrap()["endpoint"].clone()
    };
    for (operation, expected) in [
        ("introspect", "discover"),
        ("get_help", "discover"),
        ("get_task", "query"),
        ("create_task", "manage"),
        ("update_task", "manage"),
        ("delete_task", "manage"),
        ("run_report", "operate"),
    ] {
        assert_eq!(endpoint(operation), expected, "{operation}");
        let asked = json!({ "operation": operation, "params": { "nonsense": 1 } });
        let right = ask_through(&adapter, family(&adapter, expected), asked.clone());
        assert_ne!(code(&right), Some("VALIDATION_ENDPOINT_MISMATCH"), "{operation}");
        let wrong = if expected == "query" { "manage" } else { "query" };
        let wrong = ask_through(&adapter, family(&adapter, wrong), asked);
        assert_eq!(code(&wrong), Some("VALIDATION_ENDPOINT_MISMATCH"), "{operation}");
    }
    let shown =
        call(&adapter, "introspect", json!({ "query": "operations", "name": "delete_task" }));
    let shown = data(shown)["operation"].clone();
    assert_eq!(shown["mcpTool"], "mcp_aql_manage");
    // The permissions follow the operation, even if its family has several categories.
    assert_eq!(shown["permissions"], json!({ "readOnly": false, "destructive": true }));
}

#[test]
fn faulty_profiles_and_prefixes_do_not_start() {
    // REQ-EPT-02, REQ-EPT-08, REQ-MCP-18
    for (built, said) in [
        (
            builder().profile(EndpointProfile::custom("half").family("query", "", [Read])).build(),
            "no family for CREATE operations",
        ),
        (builder().profile(EndpointProfile::custom("empty")).build(), "has no family"),
        (builder().tool_prefix("Acme_").build(), "tool prefix `Acme_`"),
        (builder().tool_prefix("acme").build(), "tool prefix `acme`"),
        (builder().tool_prefix("a-b_").build(), "tool prefix `a-b_`"),
        (builder().tool_prefix("_").build(), "tool prefix `_`"),
    ] {
        let error = built.expect_err(said).to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    let prefixed = builder().tool_prefix("acme_2_").build().unwrap();
    let shown = call(&prefixed, "introspect", json!({ "query": "operations", "name": "get_task" }));
    assert_eq!(data(shown)["operation"]["mcpTool"], "acme_2_mcp_aql_read");
}

#[test]
fn rejects_unknown_endpoint() {
    // REQ-EPT-03
    let board = board();
    let reply = ask_through(&board, Endpoint::Family(99), json!({ "operation": "list_tasks" }));
    assert_eq!(code(&reply), Some("VALIDATION_ENDPOINT_MISMATCH"));
    assert_eq!(reply["data"], Value::Null);
}
