//! Broken adapters for the checks of the area `confirmation`.

use mcp_aql::Policy;
use serde_json::{Value, json};

use super::shadow::{Mindful, Renaming};
use super::{Fault, Tamper, calls, fails_with, succeeds};

/// Returns the token in a call.
fn token(arguments: &Value) -> Option<&str> {
    arguments["params"]["_confirmation"].as_str()
}

/// Returns the result of a deletion that ran.
fn done(arguments: &Value) -> Value {
    json!({ "success": true, "data": { "removed": { "bed_id": arguments["params"]["bed_id"] } } })
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "asked-without-an-end",
        check: "confirmation.issued",
        neighbours: &["errors.details", "shapes.confirmation_mirror"],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "CONFIRMATION_REQUIRED")
                && let Some(details) =
                    body.pointer_mut("/error/details").and_then(Value::as_object_mut)
            {
                details.remove("expires_at");
            }
        }),
    },
    Fault {
        name: "asked-about-another-operation",
        check: "confirmation.issued",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "CONFIRMATION_REQUIRED") {
                body["error"]["details"]["operation"] = json!("get_bed");
            }
        }),
    },
    Fault {
        name: "tokens-with-colons",
        check: "confirmation.token_form",
        neighbours: &["errors.details"],
        tamper: Tamper::Proxy(|| Renaming::boxed(|_, token| token.replace("conf_", "confirm:"))),
    },
    Fault {
        name: "tokens-counted-up",
        check: "confirmation.fresh",
        neighbours: &[],
        tamper: Tamper::Proxy(|| Renaming::boxed(|count, _| format!("conf_{count:08}"))),
    },
    Fault {
        name: "tokens-of-the-hour",
        check: "confirmation.fresh",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Renaming::boxed(|count, _| format!("conf_2031050607000000000000{count:08}"))
        }),
    },
    Fault {
        name: "tokens-for-ever",
        check: "confirmation.expiry",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "CONFIRMATION_REQUIRED") {
                body["error"]["details"]["expires_at"] = json!("2099-01-01T00:00:00Z");
            }
        }),
    },
    Fault {
        name: "done-before-confirmed",
        check: "confirmation.nothing_before",
        neighbours: &[
            "confirmation.other_params",
            "confirmation.unknown_token",
            "danger.gated",
            "batch.halts",
        ],
        tamper: Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                let bed = arguments["params"]["bed_id"].as_str().unwrap_or_default();
                // Many checks request a bed that never existed.
                let was_there = !bed.ends_with("987654321");
                if calls(arguments, "delete_bed")
                    && was_there
                    && fails_with(body, "CONFIRMATION_REQUIRED")
                {
                    memory.insert(bed.to_owned(), json!(true));
                } else if calls(arguments, "get_bed") && memory.contains_key(bed) {
                    *body = json!({ "success": false, "error": {
                        "code": "NOT_FOUND_RESOURCE",
                        "message": format!("Resource 'bed' not found: '{bed}'"),
                        "details": { "resource_type": "bed", "resource_id": bed },
                    } });
                }
            })
        }),
    },
    Fault {
        name: "confirmed-in-vain",
        check: "confirmation.accepted",
        neighbours: &["batch.continues"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "delete_bed")
                && succeeds(body)
                && let Some(token) = token(arguments)
            {
                *body = json!({ "success": false, "error": {
                    "code": "TOKEN_INVALID", "message": "Invalid confirmation token",
                    "details": { "token": token },
                } });
            }
        }),
    },
    Fault {
        name: "one-token-for-many-calls",
        check: "confirmation.single_use",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                let Some(token) = token(arguments) else { return };
                if succeeds(body) {
                    memory.insert(token.to_owned(), body.clone());
                } else if let Some(before) = memory.get(token)
                    && fails_with(body, "TOKEN_ALREADY_USED")
                {
                    *body = before.clone();
                }
            })
        }),
    },
    Fault {
        name: "one-token-for-all-beds",
        check: "confirmation.other_params",
        // Right after a session ended, its token is rejected because of the session. Later it is revoked.
        neighbours: &["sessions.meta_identity", "sessions.tokens_end"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "delete_bed") && fails_with(body, "TOKEN_SCOPE_MISMATCH") {
                *body = done(arguments);
            }
        }),
    },
    Fault {
        name: "one-token-for-all-operations",
        check: "confirmation.other_operation",
        neighbours: &[],
        tamper: Tamper::Both(
            |options| options.build = |builder| builder.policy(Policy::confirm("execute_watering")),
            |arguments, body| {
                if calls(arguments, "execute_watering") && fails_with(body, "TOKEN_SCOPE_MISMATCH")
                {
                    *body = json!({ "success": true, "data": {
                        "execution_id": "exec_1", "status": "running",
                    } });
                }
            },
        ),
    },
    Fault {
        name: "yes-is-a-token",
        check: "confirmation.unknown_token",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if token(arguments) == Some("yes") && fails_with(body, "TOKEN_INVALID") {
                *body = done(arguments);
            }
        }),
    },
    Fault {
        name: "form-of-tokens-told",
        check: "confirmation.same_error",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            let is_malformed = token(arguments).is_some_and(|token| token.len() < 20);
            if is_malformed && fails_with(body, "TOKEN_INVALID") {
                body["error"]["message"] =
                    json!("Invalid confirmation token: 'conf_' and 43 letters are expected");
            }
        }),
    },
    Fault {
        name: "token-beside-params-unheard",
        check: "confirmation.misplaced",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(Value::Object(arguments)) = message.pointer_mut("/params/arguments") {
                arguments.remove("_confirmation");
            }
        }),
    },
    Fault {
        name: "codes-of-its-own-for-tokens",
        check: "confirmation.codes",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "TOKEN_ALREADY_USED") {
                body["error"]["code"] = json!("TOKEN_CONSUMED");
            }
        }),
    },
    Fault {
        name: "asked-before-reading",
        check: "confirmation.not_needed",
        neighbours: &[
            "errors.not_found",
            "parameters.documented_accepted",
            "parameters.order",
            "parameters.reserved_prefix",
        ],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && succeeds(body) {
                *body = json!({ "success": false, "error": {
                    "code": "CONFIRMATION_REQUIRED",
                    "message": "This operation requires confirmation",
                    "details": {
                        "operation": "get_house", "danger_level": "safe",
                        "confirmation_token": "conf_Zk3pQ0vT9mYxAbCdEfGhIjKlMnOpQrSt",
                        "expires_at": "2031-05-06T07:13:00Z",
                    },
                } });
            }
        }),
    },
];
