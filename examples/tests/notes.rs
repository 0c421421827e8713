//! End-to-end tests of `notes`: a process that speaks MCP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "each test uses some of it")]
#[path = "support/client.rs"]
mod client;
#[path = "support/program.rs"]
mod program;

use std::path::Path;

use client::Client;
use serde_json::json;

fn notes() -> Client {
    Client::start("notes", Path::new(env!("CARGO_MANIFEST_DIR")), &[])
}

#[test]
fn notes_are_added_changed_and_deleted() {
    // REQ-RQ-09, REQ-RSP-11, REQ-UPD-10
    let mut client = notes();
    let params = json!({"title": "Milk", "text": "Two"});
    let note = client.data("create", "add_note", params)["note"].take();
    assert_eq!(note, json!({"note_id": 1, "title": "Milk", "text": "Two", "colour": "white"}));

    let params = json!({"note_id": 1, "input": {"colour": "red", "text": null}});
    let note = client.data("update", "update_note", params)["note"].take();
    assert_eq!(note, json!({"note_id": 1, "title": "Milk", "text": null, "colour": "red"}));
    assert_eq!(client.data("read", "list_notes", json!({})), json!({"items": [note]}));

    client.data("delete", "delete_note", json!({"note_id": 1}));
    let error = client.error("read", "get_note", json!({"note_id": 1}));
    assert_eq!(error["code"], "NOT_FOUND_RESOURCE");
    let note = client.data("create", "add_note", json!({"title": "Milk"}))["note"].take();
    assert_eq!(note["note_id"], 2, "an identifier is given once");
    client.close();
}

#[test]
fn a_locked_note_changes_with_its_pin_alone() {
    let mut client = notes();
    let params = json!({"title": "Will", "pin": "246810"});
    let reply = client.call("create", "add_note", params);
    assert!(!reply.to_string().contains("246810"), "a secret comes back: {reply}");
    let change = |pin| json!({"note_id": 1, "pin": pin, "input": {"text": "All to the cat"}});
    for pin in [json!(null), json!("1357")] {
        let error = client.error("update", "update_note", change(pin));
        assert_eq!(error["code"], "PERMISSION_DENIED");
    }
    assert_eq!(
        client.error("delete", "delete_note", json!({"note_id": 1}))["code"],
        "PERMISSION_DENIED"
    );
    let data = client.data("update", "update_note", change(json!("246810")));
    assert_eq!(data["note"]["text"], "All to the cat");
}

#[test]
fn callers_are_warned() {
    // REQ-WRN-01, REQ-WRN-07
    let mut client = notes();
    let reply = client.call("create", "add_note", json!({"title": "Milk"}));
    assert!(reply.get("warnings").is_none(), "{reply}");
    let reply = client.call("create", "add_note", json!({"title": "Milk"}));
    assert_eq!(reply["warnings"][0]["code"], "VALIDATION_TWIN_TITLE_WARNING");
    assert_eq!(reply["warnings"][0]["details"]["note_id"], 1);

    let reply = client.call("read", "show_note", json!({"note_id": 1}));
    assert_eq!(reply["data"]["note"]["title"], "Milk");
    assert_eq!(reply["warnings"][0]["code"], "DEPRECATION_WARNING");
    assert_eq!(reply["warnings"][0]["details"]["replacement"], "get_note");
}
