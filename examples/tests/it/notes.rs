//! End-to-end tests of `notes`.

use std::path::Path;

use crate::support::client::Client;
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
    let listed = client.data("read", "list_notes", json!({"filter": {"colour": "red"}}));
    assert_eq!(listed["items"], json!([note]));
    let found = client.data("read", "search_notes", json!({"query": "milk", "fields": "full"}));
    assert_eq!(found["items"], json!([note]));

    client.data("delete", "delete_note", json!({"note_id": 1}));
    let error = client.error("read", "get_note", json!({"note_id": 1}));
    assert_eq!(error["code"], "NOT_FOUND_RESOURCE");
    let note = client.data("create", "add_note", json!({"title": "Milk"}))["note"].take();
    assert_eq!(note["note_id"], 2, "an identifier is given once");
    client.close();
}

#[test]
fn a_secret_is_stored_and_never_returned() {
    // REQ-RQ-11
    let mut client = notes();
    let reply = client.call("create", "add_note", json!({"title": "Will", "pin": "246810"}));
    assert!(!reply.to_string().contains("246810"), "a secret comes back: {reply}");
    let change = json!({"note_id": 1, "input": {"pin": "1357"}});
    let reply = client.call("update", "update_note", change);
    assert!(!reply.to_string().contains("1357"), "a secret comes back: {reply}");
    let error = client.error("create", "add_note", json!({"title": "Will", "pin": "secret"}));
    assert_eq!(error["code"], "VALIDATION_INVALID_VALUE");
    assert!(!error.to_string().contains("secret"), "a secret comes back: {error}");
    client.close();
}
