//! Broken adapters for the checks of the area `safety_loop`, in a garden with a safety loop.

use mcp_aql::operator::MemoryChannel;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::safety_loop::WithSafetyLoop as _;
use serde_json::{Value, json};

use super::{Fault, Tamper, asks_for, calls, entry, fails_with, succeeds};
use crate::garden::GardenOptions;

/// Adds a safety loop to the garden.
fn watched(options: &mut GardenOptions) {
    options.build =
        |builder| builder.safety_loop(SafetyLoop::new().channel(MemoryChannel::default()));
}

/// Returns `true` if these arguments request the list of operations.
fn lists(arguments: &Value) -> bool {
    calls(arguments, "introspect")
        && arguments["params"]["query"] == "operations"
        && arguments["params"]["name"].is_null()
}

/// Returns `true` if a code was rejected, possibly because of too many attempts.
fn is_untaken(body: &Value) -> bool {
    fails_with(body, "TOKEN_INVALID") || fails_with(body, "RATE_LIMIT_EXCEEDED")
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "loop-unstated",
        check: "safety_loop.stated",
        neighbours: &[],
        tamper: Tamper::Both(watched, |arguments, body| {
            if lists(arguments)
                && let Some(capabilities) = body.pointer_mut("/data/_protocol/capabilities")
                && let Some(capabilities) = capabilities.as_object_mut()
            {
                capabilities.remove("execution_safety_loop");
            }
        }),
    },
    Fault {
        name: "loop-without-a-way-out",
        check: "safety_loop.complete",
        neighbours: &["introspection.list_agrees_with_details", "introspection.list_complete"],
        tamper: Tamper::Both(watched, |arguments, body| {
            if lists(arguments)
                && let Some(list) =
                    body.pointer_mut("/data/operations").and_then(Value::as_array_mut)
            {
                list.retain(|entry| entry["name"] != "abort_execution");
            }
        }),
    },
    Fault {
        name: "hint-said-to-be-optional",
        check: "safety_loop.step_parameters",
        neighbours: &["parameters.required_agree"],
        tamper: Tamper::Both(watched, |arguments, body| {
            if asks_for(arguments, "record_execution_step")
                && let Some(hint) =
                    entry(body.pointer_mut("/data/operation/parameters"), "next_action_hint")
            {
                hint["required"] = json!(false);
            }
        }),
    },
    Fault {
        name: "agents-start-by-themselves",
        check: "safety_loop.approval",
        neighbours: &[],
        tamper: Tamper::Both(watched, |arguments, body| {
            if calls(arguments, "execute_agent") && succeeds(body) {
                body["data"]["status"] = json!("running");
            }
        }),
    },
    Fault {
        name: "agents-go-on-unapproved",
        check: "safety_loop.approval",
        neighbours: &[],
        tamper: Tamper::Both(watched, |arguments, body| {
            if calls(arguments, "record_execution_step") && succeeds(body) {
                body["data"]["autonomy"]["continue"] = json!(true);
            }
        }),
    },
    Fault {
        name: "directive-without-factors",
        check: "safety_loop.directive_form",
        neighbours: &[],
        tamper: Tamper::Both(watched, |arguments, body| {
            if calls(arguments, "record_execution_step")
                && let Some(directive) =
                    body.pointer_mut("/data/autonomy").and_then(Value::as_object_mut)
            {
                directive.remove("factors");
            }
        }),
    },
    Fault {
        name: "any-code-confirms",
        check: "safety_loop.wrong_code",
        neighbours: &[],
        tamper: Tamper::Both(watched, |arguments, body| {
            if calls(arguments, "confirm_operation") && is_untaken(body) {
                *body = json!({ "success": true, "data": { "confirmed": true } });
            }
        }),
    },
    Fault {
        name: "tried-code-repeated",
        check: "safety_loop.no_echo",
        neighbours: &["errors.echo"],
        tamper: Tamper::Both(watched, |arguments, body| {
            if calls(arguments, "confirm_operation") && is_untaken(body) {
                body["error"]["details"]["token"] =
                    arguments["params"]["confirmation_token"].clone();
            }
        }),
    },
];
