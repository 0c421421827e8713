//! Tests sessions as operations see them. The tests of the transports open and close sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint, Extensions};
use serde_json::{Value, json};

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
            client_request_id: Some(label.to_owned()),
            ..CallScope::default()
        };
        let asked = json!({
            "operation": "count_calls", "_meta": { "session_id": "s-other", "user": label },
        });
        data(ask_in(&board, Endpoint::Unified, asked, scope))
    };
    // The arguments of a call cannot change its session.
    assert_eq!((as_other("ada"), as_other("root")), (json!(1), json!(2)));
    // The arguments cannot add a session, either.
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

/// The caller, as determined by a transport.
#[derive(Clone)]
struct User(&'static str);

/// Return the name of the caller.
#[operation(category = "READ")]
fn get_user(context: Context) -> Option<&'static str> {
    context.extension::<User>().map(|user| user.0)
}

/// Record the name of the caller in the background, at the second attempt.
#[operation(category = "EXECUTE", lifecycle(retry))]
async fn execute_record(
    context: Context,
    State(attempts): State<Arc<AtomicU32>>,
) -> Result<String, OperationError> {
    if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
        return Err(OperationError::internal("the first attempt fails"));
    }
    Ok(context.extension::<User>().map_or("nobody", |user| user.0).to_owned())
}

#[tokio::test]
async fn extensions_of_the_scope_reach_every_operation() {
    let adapter = Adapter::builder("users")
        .operation(get_user {})
        .operation(execute_record {})
        .state(Arc::new(AtomicU32::new(0)))
        .without_config()
        .build()
        .unwrap();
    let ask = |name: Option<&'static str>, arguments: Value| {
        let mut extensions = Extensions::default();
        if let Some(name) = name {
            extensions.insert(User(name));
        }
        let scope = CallScope { extensions, ..CallScope::default() };
        let arguments = arguments.as_object().cloned().unwrap();
        let adapter = adapter.clone();
        async move {
            let reply = adapter.handle(Endpoint::Unified, arguments, scope).await;
            serde_json::from_str::<Value>(&reply.text).unwrap()
        }
    };
    let get = json!({ "operation": "get_user" });
    assert_eq!(ask(Some("Ada"), get.clone()).await["data"], "Ada");
    assert_eq!(ask(None, get.clone()).await["data"], Value::Null);
    // A client cannot send an extension.
    let meta = json!({ "operation": "get_user", "_meta": { "User": "Eve" } });
    assert_eq!(ask(None, meta).await["data"], Value::Null);
    let batch = ask(Some("Ada"), json!({ "operations": [get] })).await;
    assert_eq!(batch["results"][0]["result"]["data"], "Ada");

    let begun = ask(Some("Ada"), json!({ "operation": "execute_record" })).await;
    let id = begun["data"]["execution_id"].clone();
    let on = |operation: &str| json!({ "operation": operation, "params": { "execution_id": id.clone() } });
    let mut wait = on("get_execution");
    wait["params"]["wait_seconds"] = json!(5);
    assert_eq!(ask(None, wait.clone()).await["data"]["status"], "failed");
    // A retry belongs to the caller who requests it.
    ask(Some("Grace"), on("retry_execution")).await;
    let ended = ask(None, wait).await;
    assert_eq!(
        (&ended["data"]["status"], &ended["data"]["result"]),
        (&json!("completed"), &json!("Grace"))
    );
}
