//! Broken adapters for the checks of the area `relationships`.

use serde_json::{Value, json};

use super::parameters::{change, details, drop_if, shown};
use super::{Fault, Tamper, calls};

/// The operation that follows relationships.
const QUERY: &str = "query_relationships";

/// Defines a mistake that only this check detects.
const fn fault(name: &'static str, check: &'static str, tamper: Tamper) -> Fault {
    Fault { name, check, neighbours: &[], tamper }
}

/// Returns a list in the result, by JSON pointer.
fn list<'a>(arguments: &Value, body: &'a mut Value, path: &str) -> Option<&'a mut Vec<Value>> {
    if !calls(arguments, QUERY) {
        return None;
    }
    body.pointer_mut(path)?.as_array_mut()
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        neighbours: &[
            "introspection.defaults_fit",
            "introspection.examples_fit",
            "parameters.missing_required",
            "parameters.null_required",
            "parameters.order",
        ],
        ..fault(
            "depth-said-to-be-required",
            "relationships.parameters",
            Tamper::Body(|arguments, body| {
                shown(arguments, body, QUERY, "depth", |depth| depth["required"] = json!(true));
            }),
        )
    },
    fault(
        "greatest-depth-not-told",
        "relationships.capabilities",
        Tamper::Body(|arguments, body| {
            if let Some(details) = details(arguments, body, QUERY)
                && let Some(Value::Object(told)) = details.get_mut("relationship_capabilities")
            {
                told.remove("max_depth");
            }
        }),
    ),
    fault(
        "record-without-a-target",
        "relationships.form",
        Tamper::Body(|arguments, body| {
            for record in list(arguments, body, "/data/relationships").into_iter().flatten() {
                if let Some(Value::Object(target)) = record.get_mut("target") {
                    target.remove("element_type");
                }
            }
        }),
    ),
    fault(
        "both-ways-always",
        "relationships.directions",
        Tamper::Request(|request| {
            change(request, QUERY, "direction", |direction| {
                if *direction == "incoming" {
                    *direction = json!("both");
                }
            });
        }),
    ),
    Fault {
        neighbours: &["parameters.default_effect"],
        ..fault(
            "depth-ignored",
            "relationships.depth",
            Tamper::Request(|request| {
                change(request, QUERY, "depth", |depth| {
                    if *depth == 1 {
                        *depth = json!(3);
                    }
                });
            }),
        )
    },
    fault(
        "greater-depth-than-is-taken",
        "relationships.max_depth",
        Tamper::Body(|arguments, body| {
            if let Some(details) = details(arguments, body, QUERY) {
                details["relationship_capabilities"]["max_depth"] = json!(9);
            }
        }),
    ),
    fault(
        "relationship-ignored",
        "relationships.narrowed",
        Tamper::Request(|request| {
            drop_if(request, QUERY, "relationship", |kind| {
                ["shades", "waters"].iter().any(|known| kind == known)
            });
        }),
    ),
    fault(
        "last-edge-lost",
        "relationships.form",
        Tamper::Body(|arguments, body| {
            if let Some(edges) = list(arguments, body, "/data/graph/edges") {
                edges.pop();
            }
        }),
    ),
    fault(
        "include-ignored",
        "relationships.include",
        Tamper::Request(|request| {
            drop_if(request, QUERY, "include", |include| {
                *include == json!(["root", "relationships"])
            });
        }),
    ),
    fault(
        "node-shown-twice",
        "relationships.cycle_end",
        Tamper::Body(|arguments, body| {
            if let Some(nodes) = list(arguments, body, "/data/graph/nodes") {
                nodes.extend(nodes.first().cloned());
            }
        }),
    ),
    fault(
        "second-page-of-relationships-lost",
        "relationships.pages",
        Tamper::Body(|arguments, body| {
            if arguments["params"].get("after").is_some()
                && let Some(records) = list(arguments, body, "/data/relationships")
            {
                records.clear();
            }
        }),
    ),
    Fault {
        neighbours: &["errors.not_found"],
        ..fault(
            "relationships-of-nobody",
            "relationships.missing",
            Tamper::Body(|arguments, body| {
                let root = arguments["params"]["root"].clone();
                if calls(arguments, QUERY)
                    && root["element_name"] == "conformance-nobody"
                    && body["error"]["code"] == "NOT_FOUND_RESOURCE"
                {
                    *body = json!({ "success": true, "data": {
                        "root": root,
                        "relationships": [{ "type": "shades", "direction": "outgoing", "target": root }],
                    }});
                }
            }),
        )
    },
];
