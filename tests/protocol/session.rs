//! Sessions as operations see them. Opening and closing them is tested with the transports.

use mcp_aql::Session;
use mcp_aql::transport::{CallScope, Endpoint};
use serde_json::json;

use crate::board::{board, builder};
use crate::support::{ask, ask_in, ask_with_session, call, code, data, details, message};

#[test]
fn state_belongs_to_one_session() {
    // REQ-SES-01
    let board = board();
    let (first, second) = (Session::new(), Session::new());
    let count = |session: &Session| {
        data(ask_with_session(&board, session, json!({ "operation": "count_calls" })))
    };
    assert_eq!((count(&first), count(&first), count(&second)), (json!(1), json!(2), json!(1)));
    assert_ne!(first.id(), second.id());
}

#[test]
fn the_absence_of_a_session_is_reported() {
    // REQ-SES-01
    let reply = call(&board(), "count_calls", json!({}));
    assert_eq!(code(&reply), Some("PERMISSION_DENIED"));
    assert!(message(&reply).contains("needs a session"), "{}", message(&reply));
}

#[test]
fn the_id_is_in_protocol_and_in_errors() {
    // REQ-SES-06, choice C-36
    let board = board();
    let session = Session::new();
    let asked = json!({ "operation": "introspect", "params": { "query": "operations" } });
    let list = data(ask_with_session(&board, &session, asked.clone()));
    assert_eq!(list["_protocol"]["session_id"], session.id());
    let list = data(ask(&board, asked));
    assert_eq!(list["_protocol"].get("session_id"), None);
    for asked in [
        json!({ "operation": "get_task", "params": { "task_id": "t-9" } }),
        json!({ "operation": "get_task", "params": { "task_id": 9 } }),
        json!({ "operation": "no_such_operation" }),
        json!({ "operation": 7 }),
        json!({ "operation": "echo_values", "params": { "text": "\u{0}" } }),
    ] {
        let reply = ask_with_session(&board, &session, asked.clone());
        assert_eq!(details(&reply)["session_id"], session.id(), "{asked}");
    }
    let quiet = builder().session_id_in_errors(false).build().unwrap();
    let reply = ask_with_session(&quiet, &session, json!({ "operation": "no_such_operation" }));
    assert_eq!(details(&reply).get("session_id"), None);
}

#[test]
fn client_info_is_only_a_label() {
    // REQ-SES-05
    let board = board();
    let session = Session::new();
    let as_other = |label: &str| {
        let scope = CallScope {
            session: Some(session.clone()),
            label: Some(label.to_owned()),
            ..CallScope::default()
        };
        let asked = json!({
            "operation": "count_calls", "_meta": { "session_id": "s-other", "user": label },
        });
        data(ask_in(&board, Endpoint::Unified, asked, scope))
    };
    // The session does not depend on the arguments of the call.
    assert_eq!((as_other("ada"), as_other("root")), (json!(1), json!(2)));
    // A call without a session stays without one.
    let reply =
        ask(&board, json!({ "operation": "count_calls", "_meta": { "session_id": session.id() } }));
    assert_eq!(code(&reply), Some("PERMISSION_DENIED"));
}

#[test]
fn stored_data_outlives_a_session() {
    // REQ-SES-04
    let board = board();
    let made = json!({ "operation": "create_task", "params": { "title": "Milk" } });
    data(ask_with_session(&board, &Session::new(), made));
    let asked = json!({ "operation": "get_task", "params": { "task_id": "t-1" } });
    data(ask_with_session(&board, &Session::new(), asked));
}
