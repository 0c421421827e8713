//! Broken adapters for the checks of the area `creates`.

use serde_json::{Map, Value, json};

use super::shadow::Behind;
use super::{Fault, Tamper, calls, params_of, succeeds};

/// Calls a function with every bed of a list.
fn each_listed(arguments: &Value, body: &mut Value, change: fn(&mut Map<String, Value>)) {
    if calls(arguments, "list_beds")
        && let Some(Value::Array(items)) = body.pointer_mut("/data/items")
    {
        items.iter_mut().filter_map(Value::as_object_mut).for_each(change);
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "created-without-a-name",
        check: "creates.form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "create_bed")
                && succeeds(body)
                && let Some(bed) = body.pointer_mut("/data/bed").and_then(|bed| bed.as_object_mut())
            {
                bed.remove("bed_id");
            }
        }),
    },
    Fault {
        name: "keeper-not-kept",
        check: "creates.read_back",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(params) = params_of(message, "create_bed")
                && params.get("keeper").and_then(Value::as_str).is_some_and(|it| it.contains('@'))
            {
                params.insert("keeper".to_owned(), json!("somebody@example.com"));
            }
        }),
    },
    Fault {
        name: "blanks-in-names-removed",
        check: "creates.values_kept",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(Value::String(name)) =
                params_of(message, "create_bed").and_then(|params| params.get_mut("name"))
                && name.contains("  ")
            {
                *name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            }
        }),
    },
    Fault {
        name: "notes-in-ascii",
        check: "creates.values_kept",
        neighbours: &["encoding.round_trip"],
        tamper: Tamper::Request(|message| {
            if let Some(Value::String(note)) =
                params_of(message, "create_bed").and_then(|params| params.get_mut("note"))
            {
                *note = note.replace(|letter: char| !letter.is_ascii(), "?");
            }
        }),
    },
    Fault {
        name: "notes-missing-in-lists",
        check: "creates.listed",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            each_listed(arguments, body, |bed| drop(bed.remove("note")));
        }),
    },
    Fault {
        name: "others-keepers-in-lists",
        check: "creates.listed",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            each_listed(arguments, body, |bed| {
                if bed.contains_key("keeper") {
                    bed.insert("keeper".to_owned(), json!("somebody@example.org"));
                }
            });
        }),
    },
    Fault {
        name: "tags-sorted",
        check: "creates.values_kept",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(Value::Array(tags)) = body.pointer_mut("/data/bed/tags") {
                tags.sort_by_key(Value::to_string);
            }
        }),
    },
    Fault {
        name: "answer-with-another-default",
        check: "creates.result_matches",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "create_bed")
                && succeeds(body)
                && arguments["params"].get("rows").is_none()
            {
                body["data"]["bed"]["rows"] = json!(7);
            }
        }),
    },
    Fault {
        name: "two-beds-for-one",
        check: "creates.created_once",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Behind::boxed(|arguments, body| {
                (calls(arguments, "create_bed") && succeeds(body))
                    .then(|| ("mcp_aql_create", arguments.clone()))
            })
        }),
    },
    Fault {
        name: "another-default",
        check: "creates.defaults_shown",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(params) = params_of(message, "create_bed") {
                params.entry("rows").or_insert(json!(5));
            }
        }),
    },
    Fault {
        name: "half-a-bed-remains",
        check: "creates.rejected_whole",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Behind::boxed(|arguments, body| {
                let is_full = arguments["params"].as_object().is_some_and(|it| it.len() > 5);
                let is_refused = calls(arguments, "create_bed") && !succeeds(body);
                (is_full && is_refused).then(|| {
                    let half = json!({ "operation": "create_bed", "params": { "name": "Half" } });
                    ("mcp_aql_create", half)
                })
            })
        }),
    },
];
