//! Broken adapters for the checks of the area `lifecycle`.

use serde_json::{Value, json};

use super::shadow::Mindful;
use super::{Fault, Tamper, asks_for, calls, params_of, succeeds};
use crate::proxy::{Proxy, Wire};

/// Returns `true` if a result is the final state of an execution.
fn is_over(body: &Value) -> bool {
    body["data"]["status"].as_str().is_some_and(|status| status == "completed")
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "lifecycle-untold",
        check: "lifecycle.stated",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if asks_for(arguments, "execute_watering")
                && let Some(details) =
                    body.pointer_mut("/data/operation").and_then(Value::as_object_mut)
            {
                details.remove("lifecycle");
            }
        }),
    },
    Fault {
        name: "execution-of-another-operation",
        check: "lifecycle.readable",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_execution") && body["data"]["operation"].is_string() {
                body["data"]["operation"] = json!("execute_weeding");
            }
        }),
    },
    Fault {
        name: "progress-denied",
        check: "lifecycle.claims",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if asks_for(arguments, "execute_watering")
                && let Some(claim) =
                    body.pointer_mut("/data/operation/lifecycle/progress_reporting")
            {
                *claim = json!(false);
            }
        }),
    },
    Fault {
        name: "begun-yesterday",
        check: "lifecycle.state_form",
        neighbours: &["shapes.dates", "shapes.instants"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_execution") && body["data"]["started_at"].is_string() {
                body["data"]["started_at"] = json!("yesterday");
            }
        }),
    },
    Fault {
        name: "more-than-all-of-it",
        check: "lifecycle.progress_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_execution") && succeeds(body) {
                body["data"]["progress"] = json!({ "current": 9, "total": 5 });
            }
        }),
    },
    Fault {
        name: "failed-in-one-word",
        check: "lifecycle.error_form",
        neighbours: &["lifecycle.retry", "lifecycle.terminal"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_execution") && is_over(body) {
                body["data"]["status"] = json!("failed");
                body["data"]["error"] = json!("dry");
            }
        }),
    },
    Fault {
        name: "states-left-out",
        check: "lifecycle.core_states",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if asks_for(arguments, "execute_watering") && succeeds(body) {
                body["data"]["operation"]["lifecycle"]["states"] =
                    json!(["pending", "running", "completed", "failed"]);
            }
        }),
    },
    Fault {
        name: "state-of-its-own",
        check: "lifecycle.states",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            let is_state =
                calls(arguments, "get_execution") || calls(arguments, "execute_watering");
            if is_state && body["data"]["status"] == "running" {
                body["data"]["status"] = json!("soaking");
            }
        }),
    },
    Fault {
        name: "the-state-of-another",
        check: "lifecycle.readable",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_execution") && succeeds(body) {
                body["data"]["execution_id"] = json!("exec_of_somebody_else");
            }
        }),
    },
    Fault {
        name: "executions-unlisted",
        check: "lifecycle.listed",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "list_executions")
                && let Some(items) = body.pointer_mut("/data/items").and_then(Value::as_array_mut)
            {
                items.clear();
            }
        }),
    },
    Fault {
        name: "back-from-the-end",
        check: "lifecycle.transitions",
        neighbours: &["lifecycle.terminal", "lifecycle.retry"],
        tamper: Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                let id =
                    arguments["params"]["execution_id"].as_str().unwrap_or_default().to_owned();
                if calls(arguments, "get_execution")
                    && is_over(body)
                    && memory.insert(id, json!(true)).is_some()
                {
                    body["data"]["status"] = json!("running");
                }
            })
        }),
    },
    Fault {
        name: "cancelled-after-the-end",
        check: "lifecycle.terminal",
        neighbours: &["lifecycle.cancel"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "cancel_execution") && body["error"]["code"] != "NOT_FOUND_RESOURCE"
            {
                let id = arguments["params"]["execution_id"].clone();
                if id.as_str().is_some_and(|id| id.starts_with("exec_")) && !succeeds(body) {
                    *body = json!({ "success": true, "data": {
                        "execution_id": id, "status": "cancelled", "operation": "execute_watering",
                        "attempt": 1,
                    } });
                }
            }
        }),
    },
    Fault {
        name: "cannot-be-cancelled",
        check: "lifecycle.cancel",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            let id = params_of(message, "cancel_execution");
            let id = id.and_then(|params| params.get("execution_id")?.as_str());
            if id.is_some_and(|id| id.starts_with("exec_"))
                && message["params"]["name"] == "mcp_aql_execute"
            {
                message["params"]["name"] = json!("mcp_aql_read");
                message["params"]["arguments"]["operation"] = json!("get_execution");
            }
        }),
    },
    Fault {
        name: "cancelling-denied-and-done",
        check: "lifecycle.claims",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if asks_for(arguments, "execute_watering") && succeeds(body) {
                body["data"]["operation"]["lifecycle"]["supports_cancel"] = json!(false);
            }
        }),
    },
    Fault {
        name: "cancelling-claimed-and-refused",
        check: "lifecycle.claims",
        neighbours: &["lifecycle.cancel", "lifecycle.terminal"],
        tamper: Tamper::Request(|message| {
            if let Some(params) = params_of(message, "cancel_execution")
                && params.get("execution_id").is_some_and(Value::is_string)
            {
                params.insert("execution_id".to_owned(), json!("exec_nobody"));
            }
        }),
    },
    Fault {
        name: "completed-is-retried",
        check: "lifecycle.retry",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            let id = arguments["params"]["execution_id"].clone();
            if calls(arguments, "retry_execution")
                && !succeeds(body)
                && id.as_str().is_some_and(|id| id.starts_with("exec_"))
                && body["error"]["code"] != "NOT_FOUND_RESOURCE"
            {
                *body = json!({ "success": true, "data": {
                    "execution_id": id, "status": "running", "operation": "execute_watering",
                    "attempt": 2,
                } });
            }
        }),
    },
    Fault {
        name: "progress-in-words",
        check: "lifecycle.progress",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Box::new(Wordy)),
    },
];

/// Reports progress as words instead of a number.
struct Wordy;

impl Proxy for Wordy {
    fn answer(&mut self, mut message: Value, wire: &mut Wire) {
        if message["method"] == "notifications/progress" {
            message["params"]["progress"] = json!("half");
            return wire.to_client(&message);
        }
        wire.pass();
    }
}
