//! Broken adapters for the checks of the area `deletes`.

use serde_json::{Value, json};

use super::shadow::{Behind, Mindful};
use super::{Fault, Tamper, calls, fails_with, succeeds};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "ghosts",
        check: "deletes.removed",
        neighbours: &["deletes.not_found"],
        tamper: Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                let bed = arguments["params"]["bed_id"].as_str().unwrap_or_default().to_owned();
                if calls(arguments, "create_bed") && succeeds(body) {
                    let made = body["data"]["bed"]["bed_id"].as_str().unwrap_or_default();
                    memory.insert(made.to_owned(), body.clone());
                } else if calls(arguments, "delete_bed") && succeeds(body) {
                    memory.insert(format!("gone {bed}"), json!(true));
                } else if calls(arguments, "get_bed")
                    && memory.contains_key(&format!("gone {bed}"))
                    && let Some(ghost) = memory.get(&bed)
                {
                    *body = ghost.clone();
                }
            })
        }),
    },
    Fault {
        name: "gone-under-another-code",
        check: "deletes.not_found",
        neighbours: &["errors.not_found", "errors.details", "errors.template"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "update_bed") && fails_with(body, "NOT_FOUND_RESOURCE") {
                body["error"]["code"] = json!("VALIDATION_INVALID_VALUE");
            }
        }),
    },
    Fault {
        name: "deleted-and-deleted",
        check: "deletes.twice",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "delete_bed") && fails_with(body, "NOT_FOUND_RESOURCE") {
                let bed = &arguments["params"]["bed_id"];
                *body = json!({ "success": true, "data": { "removed": { "bed_id": bed } } });
            }
        }),
    },
    Fault {
        name: "the-neighbour-too",
        check: "deletes.only_named",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                // The second deletion of this sequence also deletes the first bed.
                const STEPS: [&str; 5] =
                    ["create_bed", "get_bed", "create_bed", "delete_bed", "delete_bed"];
                let operation = arguments["operation"].as_str().unwrap_or_default();
                let made = body["data"]["bed"]["bed_id"].clone();
                let last = memory.entry("last".to_owned()).or_insert(json!([]));
                if let Some(last) = last.as_array_mut() {
                    last.push(json!([operation, made]));
                    let keep = last.len().saturating_sub(STEPS.len());
                    last.drain(..keep);
                    let is_it = last.iter().map(|step| step[0].as_str()).eq(STEPS.map(Some));
                    let first = last.first().and_then(|step| step[1].as_str()).map(str::to_owned);
                    if is_it && let Some(first) = first {
                        memory.insert(first, json!(true));
                    }
                }
                let bed = arguments["params"]["bed_id"].as_str().unwrap_or_default();
                if operation == "get_bed" && memory.contains_key(bed) {
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
        name: "looking-leaves-traces",
        check: "deletes.reads_change_nothing",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Behind::boxed(|arguments, body: &Value| {
                (calls(arguments, "get_house") && succeeds(body)).then(|| {
                    let trace = json!({
                        "operation": "update_bed",
                        "params": { "bed_id": "bed-1", "input": { "labels": { "seen": true } } },
                    });
                    ("mcp_aql_update", trace)
                })
            })
        }),
    },
];
