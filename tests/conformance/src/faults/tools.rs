//! Broken adapters for the checks of the area `tools`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "tools-of-a-plain-server",
        check: "tools.endpoint",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            with_tools(request, answer, |tools| {
                for (at, tool) in tools.iter_mut().enumerate() {
                    tool["name"] = json!(format!("garden_{at}"));
                }
            });
        }),
    },
    Fault {
        name: "prefix-with-a-hyphen",
        check: "tools.prefix",
        neighbours: &["tools.names"],
        tamper: Tamper::Answer(|request, answer| {
            with_tools(request, answer, |tools| {
                let another = tools.first().cloned().map(|tool| named(tool, "My-mcp_aql_read"));
                tools.extend(another);
            });
        }),
    },
    Fault {
        name: "one-tool-twice",
        check: "tools.unique",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            with_tools(request, answer, |tools| {
                let again = tools.first().cloned();
                tools.extend(again);
            });
        }),
    },
    Fault {
        name: "family-after-a-hyphen",
        check: "tools.names",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            with_tools(request, answer, |tools| {
                let another = tools.first().cloned().map(|tool| named(tool, "mcp_aql-authorize"));
                tools.extend(another);
            });
        }),
    },
    Fault {
        name: "no-tool-for-execute",
        check: "tools.crude_complete",
        neighbours: &["tools.all_registered"],
        tamper: Tamper::Answer(|request, answer| {
            with_tools(request, answer, |tools| {
                tools.retain(|tool| tool["name"] != "mcp_aql_execute");
            });
        }),
    },
    Fault {
        name: "introspect-is-a-secret",
        check: "tools.introspect_named",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            rewrite(request, answer, "mcp_aql_create", "introspect", "explore");
        }),
    },
    Fault {
        name: "description-without-its-list",
        check: "tools.description_parts",
        neighbours: &["tools.description_labels", "tools.description_current"],
        tamper: Tamper::Answer(|request, answer| {
            with_tools(request, answer, |tools| {
                for tool in tools.iter_mut().filter(|tool| tool["name"] == "mcp_aql_create") {
                    tool["description"] = json!(
                        "Operations that add data.\n\nQuick start example:\n\
                         { operation: \"create_bed\", params: { name: \"By the door\" } }\n\n\
                         Discover all operations and parameters, with the tool mcp_aql_read:\n\
                         { operation: \"introspect\", params: { query: \"operations\" } }"
                    );
                }
            });
        }),
    },
    Fault {
        // The description has the list, but under another label.
        name: "list-under-another-label",
        check: "tools.description_labels",
        neighbours: &["tools.description_current"],
        tamper: Tamper::Answer(|request, answer| {
            rewrite(request, answer, "mcp_aql_create", "Supported operations", "CRUDE Operations");
        }),
    },
    Fault {
        name: "label-in-other-words",
        check: "tools.description_labels",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            rewrite(request, answer, "mcp_aql_update", "Quick start", "For instance");
        }),
    },
    Fault {
        name: "description-of-last-week",
        check: "tools.description_current",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            rewrite(request, answer, "mcp_aql_create", "\n- link_beds:", "\n- create_bed:");
        }),
    },
    Fault {
        name: "description-names-what-is-not-there",
        check: "tools.description_current",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            let (from, to) = ("\n- create_bed", "\n- create_bed, create_pot");
            rewrite(request, answer, "mcp_aql_create", from, to);
        }),
    },
    Fault {
        name: "empty-family-says-nothing",
        check: "tools.empty_families",
        neighbours: &["tools.description_current"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect")
                && let Some(Value::Array(listed)) = body.pointer_mut("/data/operations")
            {
                listed.retain(|entry| entry["semantic_category"] != "EXECUTE");
            }
        }),
    },
    Fault {
        name: "reading-tool-with-hints-of-a-deleting-one",
        check: "tools.annotations",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            with_tool(request, answer, "mcp_aql_read", |tool| {
                tool["annotations"] = json!({ "readOnlyHint": false, "destructiveHint": true });
            });
        }),
    },
    Fault {
        name: "schema-without-params",
        check: "tools.input_schema",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            with_tool(request, answer, "mcp_aql_delete", |tool| {
                tool["inputSchema"]["properties"]["params"] = json!({ "type": "string" });
            });
        }),
    },
    Fault {
        name: "schema-enumerates-half",
        check: "tools.operation_enum",
        neighbours: &[],
        tamper: Tamper::Answer(|request, answer| {
            with_tool(request, answer, "mcp_aql_read", |tool| {
                tool["inputSchema"]["properties"]["operation"]["enum"] =
                    json!(["introspect", "get_bed"]);
            });
        }),
    },
    Fault {
        name: "tool-named-without-its-prefix",
        check: "tools.all_registered",
        neighbours: &["tools.own_only", "tools.description_current", "routing.case_sensitive"],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect")
                && let Some(tool) = body.pointer_mut("/data/operation/mcpTool")
                && arguments.pointer("/params/name") == Some(&json!("get_house"))
            {
                *tool = json!("garden_mcp_aql_read");
            }
        }),
    },
    Fault {
        name: "lists-what-another-adapter-has",
        check: "tools.own_only",
        neighbours: &[
            "tools.description_current",
            "routing.wrong_endpoint",
            "routing.wrong_endpoint_code",
            "danger.levels",
            "danger.stated",
            "danger.values",
        ],
        tamper: Tamper::Body(|arguments, body| {
            let name = "list_orders";
            if !calls(arguments, "introspect") {
                return;
            }
            let of_it = json!({
                "name": name,
                "semantic_category": "READ",
                "endpoint": "read",
                "description": "List orders.",
            });
            if let Some(Value::Array(listed)) = body.pointer_mut("/data/operations") {
                listed.push(of_it);
            } else if arguments.pointer("/params/name") == Some(&json!(name)) {
                let mut details = of_it;
                details["mcpTool"] = json!("mcp_aql_read");
                details["permissions"] = json!({ "readOnly": true, "destructive": false });
                details["parameters"] = json!([]);
                details["returns"] = json!({ "name": "House", "kind": "object" });
                body["data"]["operation"] = details;
            }
        }),
    },
];

fn with_tools(request: &Value, answer: &mut Value, change: impl FnOnce(&mut Vec<Value>)) {
    if request["method"] == "tools/list"
        && let Some(Value::Array(tools)) = answer.pointer_mut("/result/tools")
    {
        change(tools);
    }
}

fn with_tool(request: &Value, answer: &mut Value, name: &str, change: impl FnOnce(&mut Value)) {
    with_tools(request, answer, |tools| {
        tools.iter_mut().find(|tool| tool["name"] == name).map(change);
    });
}

/// Replaces words in the description of a tool.
fn rewrite(request: &Value, answer: &mut Value, name: &str, from: &str, to: &str) {
    with_tool(request, answer, name, |tool| {
        let text = tool["description"].as_str().unwrap_or_default().replace(from, to);
        tool["description"] = json!(text);
    });
}

fn named(mut tool: Value, name: &str) -> Value {
    tool["name"] = json!(name);
    tool
}
