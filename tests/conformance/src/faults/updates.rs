//! Broken adapters for the checks of the area `updates`.

use serde_json::{Value, json};

use super::parameters::failure;
use super::shadow::{Behind, Forgetful, Mindful};
use super::{Fault, Tamper, asks_for, calls, entry, fails_with, input_of, params_of, succeeds};

/// The fields of a bed.
const FIELDS: [&str; 10] =
    ["name", "crop", "rows", "length", "tags", "note", "keeper", "climate", "labels", "planted"];

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "input-said-to-be-optional",
        check: "updates.input_documented",
        neighbours: &["introspection.list_agrees_with_details", "parameters.required_agree"],
        tamper: Tamper::Body(|arguments, body| {
            if asks_for(arguments, "update_bed")
                && let Some(input) = entry(body.pointer_mut("/data/operation/parameters"), "input")
            {
                input["required"] = json!(false);
            }
        }),
    },
    Fault {
        name: "missing-input-unnamed",
        check: "updates.input_required",
        neighbours: &[
            "errors.names_parameter",
            "errors.template",
            "parameters.missing_required",
            "parameters.details_names",
        ],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "update_bed")
                && fails_with(body, "VALIDATION_MISSING_PARAM")
                && body["error"]["details"]["param_name"] == "input"
            {
                body["error"]["details"]["param_name"] = json!("inputs");
            }
        }),
    },
    Fault {
        name: "any-input-taken",
        check: "updates.input_type",
        neighbours: &["parameters.wrong_type", "parameters.null_required"],
        tamper: Tamper::Request(|message| {
            if let Some(params) = params_of(message, "update_bed")
                && params.get("input").is_some_and(|input| !input.is_object())
            {
                params.insert("input".to_owned(), json!({}));
            }
        }),
    },
    Fault {
        name: "flat-fields-not-explained",
        check: "updates.flat_explained",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "update_bed")
                && fails_with(body, "VALIDATION_MISSING_PARAM")
                && arguments["params"].get("name").is_some()
            {
                *body = failure(
                    "VALIDATION_UNKNOWN_PARAM",
                    "Unknown parameter(s) for operation 'update_bed': 'name'",
                    json!({
                        "operation": "update_bed",
                        "unknown_params": ["name"],
                        "valid_params": ["bed_id", "if_match"],
                    }),
                );
            }
        }),
    },
    Fault {
        name: "valid-fields-not-listed",
        check: "updates.field_explained",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "VALIDATION_UNKNOWN_FIELD") {
                let name = body["error"]["details"]["unknown_fields"][0].clone();
                let name = name.as_str().unwrap_or_default();
                *body = failure(
                    "VALIDATION_UNKNOWN_FIELD",
                    &format!("Unknown field(s) for operation 'update_bed': '{name}'"),
                    json!({ "operation": "update_bed", "unknown_fields": [name] }),
                );
            }
        }),
    },
    Fault {
        name: "allowed-values-of-a-field-not-listed",
        check: "updates.field_explained",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if body["error"]["details"]["param_name"] == "input.crop" {
                *body = failure(
                    "VALIDATION_INVALID_VALUE",
                    "Parameter 'input.crop' has none of the allowed values",
                    json!({ "param_name": "input.crop" }),
                );
            }
        }),
    },
    Fault {
        name: "texts-trimmed-by-updates",
        check: "updates.overwrites",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(Value::String(note)) = input_of(message).and_then(|it| it.get_mut("note")) {
                *note = note.trim().to_owned();
            }
        }),
    },
    Fault {
        name: "texts-in-ascii-by-updates",
        check: "updates.overwrites",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(Value::String(name)) = input_of(message).and_then(|it| it.get_mut("name")) {
                *name = name.replace(|letter: char| !letter.is_ascii(), "?");
            }
        }),
    },
    Fault {
        name: "null-removes-another-field-too",
        check: "updates.null_removes",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message)
                && input.get("note") == Some(&Value::Null)
            {
                input.insert("keeper".to_owned(), Value::Null);
            }
        }),
    },
    Fault {
        name: "fields-beside-input-taken",
        check: "updates.flat_refused",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            let Some(params) = params_of(message, "update_bed") else { return };
            for name in FIELDS {
                let Some(value) = params.remove(name) else { continue };
                let input = params.entry("input").or_insert(json!({}));
                input[name] = value;
            }
        }),
    },
    Fault {
        name: "identifier-inside-unheard",
        check: "updates.identifier_inside",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message) {
                input.remove("bed_id");
            }
        }),
    },
    Fault {
        name: "unknown-field-unheard",
        check: "updates.unknown_field",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message) {
                input.remove("conformance_probe");
            }
        }),
    },
    Fault {
        name: "unknown-field-under-another-code",
        check: "updates.unknown_field",
        neighbours: &["errors.details", "errors.template"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "update_bed") && fails_with(body, "VALIDATION_UNKNOWN_FIELD") {
                body["error"]["code"] = json!("VALIDATION_UNKNOWN_PARAM");
            }
        }),
    },
    Fault {
        name: "wrong-crop-unheard",
        check: "updates.values_checked",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message)
                && input.get("crop") == Some(&json!("conformance_probe"))
            {
                input.remove("crop");
            }
        }),
    },
    Fault {
        name: "changed-in-part",
        check: "updates.nothing_on_failure",
        neighbours: &["updates.if_match", "updates.if_match_null"],
        tamper: Tamper::Proxy(|| {
            Behind::boxed(|arguments, body| {
                let name = arguments["params"]["input"].get("name")?;
                let is_refused = calls(arguments, "update_bed") && !succeeds(body);
                is_refused.then(|| {
                    let part = json!({
                        "operation": "update_bed",
                        "params": { "bed_id": arguments["params"]["bed_id"], "input": { "name": name } },
                    });
                    ("mcp_aql_update", part)
                })
            })
        }),
    },
    Fault {
        name: "length-never-changes",
        check: "updates.overwrites",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message)
                && let Some(length) = input.get("length").and_then(Value::as_f64)
                && (0.5..=100.0).contains(&length)
            {
                input.remove("length");
            }
        }),
    },
    Fault {
        name: "tags-lost",
        check: "updates.preserves",
        neighbours: &["updates.null_removes", "updates.overwrites"],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message)
                && input.contains_key("note")
            {
                input.entry("tags").or_insert(json!([]));
            }
        }),
    },
    Fault {
        name: "objects-replaced",
        check: "updates.deep_merge",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message)
                && let Some(climate) = input.get_mut("climate").and_then(Value::as_object_mut)
                && climate.contains_key("humidity")
            {
                for name in ["temperature", "lamp"] {
                    climate.entry(name).or_insert(Value::Null);
                }
            }
        }),
    },
    Fault {
        name: "objects-replaced-far-inside",
        check: "updates.deep_merge",
        neighbours: &["updates.null_removes"],
        tamper: Tamper::Request(|message| {
            // Replaces values below the first level instead of merging them.
            if let Some(input) = input_of(message)
                && let Some(probe) =
                    input.get_mut("labels").and_then(|labels| labels.get_mut("probe"))
                && let Some(deep) = probe.get_mut("deep").and_then(Value::as_object_mut)
            {
                deep.entry("kept").or_insert(Value::Null);
            }
        }),
    },
    Fault {
        name: "lists-added-up",
        check: "updates.arrays_whole",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Forgetful::boxed(|memory, message| {
                let Some(params) = params_of(message, "update_bed") else { return };
                let bed = params.get("bed_id").map(Value::to_string).unwrap_or_default();
                let tags = params.get_mut("input").and_then(|input| input.get_mut("tags"));
                let Some(tags) = tags.and_then(Value::as_array_mut) else { return };
                let before = memory.get(&bed).and_then(Value::as_array).cloned();
                for tag in before.into_iter().flatten() {
                    if !tags.contains(&tag) {
                        tags.push(tag);
                    }
                }
                memory.insert(bed, tags.clone().into());
            })
        }),
    },
    Fault {
        name: "null-unheard",
        check: "updates.null_removes",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message)
                && input.get("note").is_some_and(Value::is_null)
            {
                input.remove("note");
            }
        }),
    },
    Fault {
        name: "null-inside-unheard",
        check: "updates.null_removes",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message)
                && let Some(climate) = input.get_mut("climate").and_then(Value::as_object_mut)
            {
                climate.retain(|_, value| !value.is_null());
            }
        }),
    },
    Fault {
        name: "null-stored-inside",
        check: "updates.null_removes",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                let bed = arguments["params"]["bed_id"].to_string();
                let gone = arguments["params"]["input"]["labels"].get("gone");
                if calls(arguments, "update_bed") && gone.is_some_and(Value::is_null) {
                    memory.insert(bed, json!(true));
                } else if calls(arguments, "get_bed") && memory.contains_key(&bed) && succeeds(body)
                {
                    body["data"]["bed"]["labels"]["gone"] = Value::Null;
                }
            })
        }),
    },
    Fault {
        name: "creation-told-anew",
        check: "updates.read_only",
        neighbours: &["updates.read_only_refused"],
        tamper: Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                let bed = arguments["params"]["bed_id"].to_string();
                let told = &arguments["params"]["input"]["created_at"];
                if calls(arguments, "update_bed") && told.is_string() {
                    memory.insert(bed, told.clone());
                    *body = json!({ "success": true, "data": { "bed": { "created_at": told } } });
                } else if calls(arguments, "get_bed")
                    && succeeds(body)
                    && let Some(told) = memory.get(&bed)
                {
                    body["data"]["bed"]["created_at"] = told.clone();
                }
            })
        }),
    },
    Fault {
        name: "update-answers-with-what-was-before",
        check: "updates.result_matches",
        neighbours: &[],
        tamper: Tamper::Proxy(|| {
            Mindful::boxed(|memory, arguments, body| {
                let Some(id) = arguments["params"]["bed_id"].as_str() else { return };
                if !succeeds(body) || !body["data"]["bed"].is_object() {
                    return;
                }
                let before = memory.insert(id.to_owned(), body["data"]["bed"].clone());
                if let Some(before) = before.filter(|_| calls(arguments, "update_bed")) {
                    body["data"]["bed"] = before;
                }
            })
        }),
    },
    Fault {
        name: "read-only-fields-unheard",
        check: "updates.read_only_refused",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(input) = input_of(message) {
                for name in ["created_at", "updated_at", "_version"] {
                    input.remove(name);
                }
            }
        }),
    },
    Fault {
        name: "append-only-in-name",
        check: "updates.append_only",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if asks_for(arguments, "Bed")
                && let Some(tags) = entry(body.pointer_mut("/data/type/fields"), "tags")
            {
                tags["description"] = json!("Free-form labels. Append-only.");
            }
        }),
    },
    Fault {
        name: "any-version-matches",
        check: "updates.if_match",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(params) = params_of(message, "update_bed")
                && params.get("if_match").and_then(Value::as_u64).is_some_and(|it| it > 1000)
            {
                params.remove("if_match");
            }
        }),
    },
    Fault {
        name: "null-matches-any-version",
        check: "updates.if_match_null",
        neighbours: &[],
        tamper: Tamper::Request(|message| {
            if let Some(params) = params_of(message, "update_bed")
                && params.get("if_match").is_some_and(Value::is_null)
            {
                params.remove("if_match");
            }
        }),
    },
    Fault {
        name: "version-stands-still",
        check: "updates.version_shown",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_bed") && body["data"]["bed"]["_version"].is_u64() {
                body["data"]["bed"]["_version"] = json!(1);
            }
        }),
    },
];
