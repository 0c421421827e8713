//! Tests requests: their form, the resolution of parameters, the order of checks, and defaults.

use mcp_aql::SemanticCategory;
use mcp_aql::prelude::*;
use mcp_aql::table::{
    DefaultSpec, Operation, OperationEntry, OperationSpec, ParameterEntry, ParameterSpec,
};
use mcp_aql::transport::Endpoint;
use serde_json::{Value, json};

use crate::board::{board, builder};
use crate::support::{ask, ask_through, call, code, data, details, family, message, names};

#[test]
fn a_request_is_an_operation_with_params() {
    // REQ-RQ-01, REQ-RQ-02, REQ-RQ-08
    let board = board();
    for (arguments, expected) in [
        (json!({ "operation": "list_tasks" }), None),
        (json!({ "operation": "list_tasks", "params": {} }), None),
        (json!({ "operation": "list_tasks", "params": null }), None),
        (json!({}), Some("VALIDATION_MISSING_PARAM")),
        (json!({ "params": {} }), Some("VALIDATION_MISSING_PARAM")),
        (json!({ "operation": null }), Some("VALIDATION_MISSING_PARAM")),
        (json!({ "operation": "list_tasks", "operations": null }), None),
        (json!({ "operations": null }), Some("VALIDATION_MISSING_PARAM")),
        (json!({ "operation": 7 }), Some("VALIDATION_INVALID_TYPE")),
        (json!({ "operation": ["list_tasks"] }), Some("VALIDATION_INVALID_TYPE")),
        (json!({ "operation": "" }), Some("VALIDATION_INVALID_VALUE")),
        (json!({ "operation": "list_tasks", "params": [] }), Some("VALIDATION_INVALID_TYPE")),
        (json!({ "operation": "list_tasks", "params": "{}" }), Some("VALIDATION_INVALID_TYPE")),
    ] {
        let reply = ask(&board, arguments.clone());
        assert_eq!(code(&reply), expected, "{arguments}");
    }
}

#[test]
fn operation_names_are_matched_exactly() {
    // REQ-RQ-02
    let board = board();
    for name in
        ["LIST_TASKS", "List_tasks", "list-tasks", " list_tasks", "list_tasks\n", "listTasks"]
    {
        assert_eq!(code(&call(&board, name, json!({}))), Some("NOT_FOUND_OPERATION"), "{name:?}");
    }
}

#[test]
fn params_come_before_the_top_level() {
    // REQ-RQ-03
    let board = board();
    for (arguments, expected) in [
        (json!({ "params": { "text": "inside" } }), json!({ "text": "inside" })),
        (json!({ "text": "top" }), json!({ "text": "top" })),
        (json!({ "text": "top", "params": { "text": "inside" } }), json!({ "text": "inside" })),
        (
            json!({ "text": "top", "flag": true, "params": { "text": "inside", "small": 1 } }),
            json!({ "text": "inside", "flag": true, "small": 1 }),
        ),
    ] {
        let mut arguments = arguments;
        arguments["operation"] = json!("echo_values");
        assert_eq!(data(ask(&board, arguments.clone())), expected, "{arguments}");
    }
    // `params` has precedence, even if only the other value is valid.
    let reply =
        ask(&board, json!({ "operation": "echo_values", "text": "fine", "params": { "text": 1 } }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"));
}

/// An operation with a handwritten table. Its name or its parameter is one that the macros would reject.
struct ByHand<const KIND: u8>;

const CAMEL_CASE: &[ParameterEntry] =
    &[ParameterEntry::One(ParameterSpec::required::<String>("taskId", "Which."))];
const TAKEN: &[ParameterEntry] =
    &[ParameterEntry::One(ParameterSpec::required::<String>("params", "Which."))];
const BAD_DEFAULT: &[ParameterEntry] = &[ParameterEntry::One(
    ParameterSpec::required::<u8>("count", "How many.").default(DefaultSpec::Json("900")),
)];

impl<const KIND: u8> ByHand<KIND> {
    const SPEC: OperationSpec = match KIND {
        0 => OperationSpec::new("get_it", SemanticCategory::Read, "Get it.").parameters(CAMEL_CASE),
        1 => OperationSpec::new("get_it", SemanticCategory::Read, "Get it.").parameters(TAKEN),
        2 => OperationSpec::new("getIt", SemanticCategory::Read, "Get it."),
        3 => OperationSpec::new("get_it", SemanticCategory::Read, "  "),
        4 => {
            OperationSpec::new("get_it", SemanticCategory::Read, "Get it.").parameters(BAD_DEFAULT)
        }
        _ => OperationSpec::new("update_it", SemanticCategory::Update, "Update it."),
    };
}

impl<const KIND: u8> Operation for ByHand<KIND> {
    const OPERATION: OperationEntry<()> =
        OperationEntry::new(Self::SPEC, |(), call| Box::pin(async move { call.reply(()) }));
}

#[test]
fn faulty_tables_do_not_start() {
    // REQ-RQ-04, REQ-RQ-10, REQ-RQ-09, REQ-UPD-01, REQ-CLS-06
    fn problem<const KIND: u8>() -> String {
        let built = Adapter::builder("by_hand").operation(ByHand::<KIND>).without_config().build();
        built.expect_err("the table is faulty").to_string()
    }
    for (problem, said) in [
        (problem::<0>(), "parameter name `taskId` is not allowed"),
        (problem::<1>(), "parameter name `params` is not allowed"),
        (problem::<2>(), "operation name `getIt` is not snake_case"),
        (problem::<3>(), "operation `get_it` has no description"),
        (problem::<4>(), "the default of `count` does not match"),
        (problem::<5>(), "takes no `input: Update<…>`"),
    ] {
        assert!(problem.contains(said), "{said}: {problem}");
    }
}

#[test]
fn published_parameter_names_are_snake_case() {
    // REQ-RQ-04
    for operation in board().operations() {
        for entry in operation.parameters {
            let specs: &[ParameterSpec] = match entry {
                ParameterEntry::One(one) => std::slice::from_ref(one),
                ParameterEntry::Group(group) => group,
                // Authors cannot use these reserved names.
                _ => continue,
            };
            for spec in specs {
                assert!(mcp_aql_protocol::is_public_name(spec.name), "{}", spec.name);
            }
        }
    }
}

#[test]
fn camel_case_is_an_alias_only_where_it_is_switched_on() {
    // REQ-RQ-05, choice C-67
    let strict = board();
    let reply = call(&strict, "list_tasks", json!({ "Page": 1 }));
    assert_eq!(code(&reply), Some("VALIDATION_UNKNOWN_PARAM"));
    let reply = call(&strict, "get_task", json!({ "taskId": "t-1" }));
    assert_eq!(code(&reply), Some("VALIDATION_MISSING_PARAM"));
    assert!(message(&reply).contains("did you mean 'task_id'?"), "{}", message(&reply));

    let lenient = builder().camel_case_aliases(true).build().unwrap();
    let reply = call(&lenient, "get_task", json!({ "taskId": "t-1" }));
    assert_eq!(code(&reply), Some("NOT_FOUND_RESOURCE"));
    // The original name has precedence. The published name stays the same.
    let reply = call(&lenient, "get_task", json!({ "taskId": "t-1", "task_id": "t-2" }));
    assert_eq!(details(&reply)["resource_id"], "t-2");
    let shown = call(&lenient, "introspect", json!({ "query": "operations", "name": "get_task" }));
    assert_eq!(data(shown)["operation"]["parameters"][0]["name"], "task_id");
}

#[test]
fn texts_with_json_are_read_on_request() {
    // REQ-RQ-02, REQ-ENC-05
    /// Note things.
    #[operation(category = "CREATE")]
    fn note_things(
        /// The things.
        things: Vec<String>,
        /// A text.
        text: String,
    ) -> Vec<String> {
        [things, vec![text]].concat()
    }
    let builder = || Adapter::builder("notes").operation(note_things {}).without_config();
    let strict = builder().build().unwrap();
    let lenient = builder().json_texts(true).build().unwrap();
    let things = json!({ "things": "[\"a\", \"b\"]", "text": "[\"c\"]" });
    let arguments =
        [json!({ "params": things.to_string() }), json!({ "params": things }), things.clone()];
    for mut arguments in arguments {
        arguments["operation"] = json!("note_things");
        let refused = ask(&strict, arguments.clone());
        assert_eq!(code(&refused), Some("VALIDATION_INVALID_TYPE"), "{arguments}");
        // A string parameter keeps its string, even if it contains JSON.
        let reply = ask(&lenient, arguments.clone());
        assert_eq!(data(reply)["items"], json!(["a", "b", "[\"c\"]"]), "{arguments}");
    }
    let items = json!([{ "operation": "note_things", "params": things.to_string() }]).to_string();
    let reply = ask(&lenient, json!({ "operations": items }));
    assert_eq!(
        reply["results"][0]["result"]["data"]["items"],
        json!(["a", "b", "[\"c\"]"]),
        "{reply}"
    );
    // The rules of JSON and the limits also apply inside such strings.
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    for things in ["[\"a\"", "{\"a\": 1, \"a\": 2}", &deep, "7"] {
        let params = json!({ "things": things, "text": "" });
        let reply = call(&lenient, "note_things", params);
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"), "{things}");
        assert_eq!(reply["error"]["details"]["actual_type"], "string", "{things}");
    }
    // An error inside the list is reported with its own path.
    let reply = call(&lenient, "note_things", json!({ "things": "[\"a\", 7]", "text": "" }));
    assert_eq!(reply["error"]["details"]["param_name"], "things[1]", "{reply}");
}

#[test]
fn an_alias_may_have_no_capital_letter() {
    // REQ-RQ-05
    /// Get the first line of an address.
    #[operation(category = "READ")]
    fn get_line(
        /// The line.
        line_1: String,
    ) -> String {
        line_1
    }
    let adapter =
        Adapter::builder("lines").operation(get_line {}).camel_case_aliases(true).build().unwrap();
    assert_eq!(data(call(&adapter, "get_line", json!({ "line1": "a" }))), "a");
}

#[test]
fn routing_comes_before_validation_and_validation_before_the_operation() {
    // REQ-RQ-06, REQ-EPT-16
    let board = board();
    let read = family(&board, "read");
    let create = family(&board, "create");
    // If the operation is unknown, the endpoint is not checked. If the endpoint is wrong, the parameters are not
    // checked.
    let faulty = json!({ "titel": 1, "priority": "high" });
    for (endpoint, operation, expected) in [
        (read, "make_task", "NOT_FOUND_OPERATION"),
        (read, "create_task", "VALIDATION_ENDPOINT_MISMATCH"),
        (create, "create_task", "VALIDATION_MISSING_PARAM"),
    ] {
        let arguments = json!({ "operation": operation, "params": faulty });
        assert_eq!(code(&ask_through(&board, endpoint, arguments)), Some(expected), "{operation}");
    }
    // None of the calls may have created a task.
    assert_eq!(data(call(&board, "list_tasks", json!({})))["items"], json!([]));
}

#[test]
fn checks_run_in_the_protocols_order() {
    // REQ-RQ-07, REQ-RQ-08, choice G-08
    let board = board();
    for (params, expected) in [
        (json!({ "priority": "high", "colour": 1, "status": "?" }), "VALIDATION_MISSING_PARAM"),
        (
            json!({ "title": "a", "priority": "high", "colour": 1, "due_date": "?" }),
            "VALIDATION_INVALID_TYPE",
        ),
        (json!({ "title": "a", "priority": 9, "colour": 1 }), "VALIDATION_UNKNOWN_PARAM"),
        (json!({ "title": "a", "priority": 9 }), "VALIDATION_INVALID_VALUE"),
        (json!({ "title": "a", "status": "later" }), "VALIDATION_INVALID_VALUE"),
    ] {
        let reply = call(&board, "create_task", params.clone());
        assert_eq!(code(&reply), Some(expected), "{params}");
    }
    let task = data(call(&board, "create_task", json!({ "title": "a" })));
    assert_eq!(task["task"]["task_id"], "t-1", "nothing ran before");
}

#[test]
fn all_errors_of_one_kind_are_reported_at_once() {
    // REQ-RQ-07, REQ-ERR-05
    let board = board();
    let reply = call(&board, "echo_values", json!({ "text": 1, "flag": "yes", "words": ["a", 2] }));
    for name in ["'text'", "'flag'", "'words[1]'"] {
        assert!(message(&reply).contains(name), "{}", message(&reply));
    }
    assert_eq!(details(&reply)["invalid_params"], json!(["text", "flag", "words[1]"]));
}

#[test]
fn types_are_json_types() {
    // REQ-RQ-07, REQ-INT-20
    let board = board();
    let type_fault = Some("VALIDATION_INVALID_TYPE");
    let value_fault = Some("VALIDATION_INVALID_VALUE");
    for (name, value, expected) in [
        ("small", json!(5), None),
        ("small", json!(-5), None),
        ("small", json!(6), value_fault),
        ("small", json!(1.5), type_fault),
        ("small", json!("1"), type_fault),
        ("large", json!(u64::MAX), None),
        ("large", json!(-1), value_fault),
        ("ratio", json!(1), None),
        ("ratio", json!(0.5), None),
        ("ratio", json!(0.25), value_fault),
        ("flag", json!(true), None),
        ("flag", json!("true"), type_fault),
        ("flag", json!(1), type_fault),
        ("word", json!("abc"), None),
        ("word", json!("ABC"), value_fault),
        ("word", json!("abcdefghi"), value_fault),
        ("colour", json!("red"), None),
        ("colour", json!("RED"), value_fault),
        ("status", json!("doing"), None),
        ("status", json!("Doing"), value_fault),
        ("words", json!(["a"]), None),
        ("words", json!([]), value_fault),
        ("words", json!(["a", "b", "c", "d"]), value_fault),
        ("words", json!("a"), type_fault),
        ("words", json!([null]), type_fault),
        ("counts", json!({ "a": 1 }), None),
        ("counts", json!({ "a": -1 }), value_fault),
        ("counts", json!({ "a": "1" }), type_fault),
        ("counts", json!([]), type_fault),
        ("pair", json!(["a", 1]), None),
        ("pair", json!(["a"]), value_fault),
        ("pair", json!([1, "a"]), type_fault),
        ("figure", json!({ "kind": "circle", "radius": 1 }), None),
        ("figure", json!({ "kind": "square", "side": "1" }), type_fault),
        ("figure", json!({ "kind": "oval" }), value_fault),
        ("figure", json!("circle"), type_fault),
        ("key", json!(1), None),
        ("key", json!("a"), None),
        ("key", json!(true), type_fault),
        ("place", json!({ "x": 1, "y": 2 }), None),
        ("place", json!({ "x": 1, "y": 2, "label": null }), None),
        ("place", json!({ "x": 1, "y": 2, "z": 3 }), Some("VALIDATION_UNKNOWN_PARAM")),
        ("place", json!({ "x": 1 }), Some("VALIDATION_MISSING_PARAM")),
        ("place", json!({ "x": 1, "y": "2" }), type_fault),
        ("anything", json!([1, { "a": null }]), None),
    ] {
        let mut params = json!({ "text": "a" });
        params[name] = value.clone();
        let reply = call(&board, "echo_values", params);
        assert_eq!(code(&reply), expected, "{name} = {value}: {reply}");
        match expected {
            // The reply contains these values normalized: without null members, and whole numbers without a fraction.
            None if name == "place" || value == json!(1) => {}
            None if name == "figure" => {}
            None => assert_eq!(reply["data"][name], value, "{name}"),
            Some(_) => assert!(message(&reply).contains(name), "{}", message(&reply)),
        }
    }
}

#[test]
fn defaults_are_applied_and_seen() {
    // REQ-RQ-09
    let board = board();
    let task = data(call(&board, "create_task", json!({ "title": "Milk" })));
    assert_eq!(task["task"]["priority"], 3);
    assert_eq!(task["task"]["status"], "todo");
    let task = data(call(
        &board,
        "create_task",
        json!({ "title": "Milk", "priority": 1, "status": "done" }),
    ));
    assert_eq!(task["task"]["priority"], 1);
    assert_eq!(task["task"]["status"], "done");
    let shown = call(&board, "introspect", json!({ "query": "operations", "name": "create_task" }));
    let parameters = data(shown)["operation"]["parameters"].clone();
    let default = |name: &str| {
        let list = parameters.as_array().unwrap();
        list.iter().find(|each| each["name"] == name).unwrap()["default"].clone()
    };
    assert_eq!((default("priority"), default("status")), (json!(3), json!("todo")));
}

#[test]
fn every_operation_has_a_category_and_a_description() {
    // REQ-RQ-10, REQ-EPT-02
    let adapter = board();
    for operation in adapter.operations() {
        assert!(!operation.description.trim().is_empty(), "{}", operation.name);
        let shown =
            call(&adapter, "introspect", json!({ "query": "operations", "name": operation.name }));
        let shown = data(shown)["operation"].clone();
        assert_eq!(shown["semantic_category"], operation.category.as_str());
        assert_eq!(shown["endpoint"], operation.category.crude_family());
    }
}

/// Returns values of the right types for the required parameters.
fn plain_values(parameters: &[Value]) -> Value {
    let required = parameters.iter().filter(|parameter| parameter["required"] == json!(true));
    let value = |parameter: &Value| match parameter["type"].as_str().unwrap() {
        "boolean" => json!(true),
        "integer" | "number" => json!(1),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("a"),
    };
    required.map(|it| (it["name"].as_str().unwrap().to_owned(), value(it))).collect()
}

#[test]
fn one_table_serves_validation_and_introspection() {
    // REQ-RQ-11, REQ-RQ-12, REQ-INT-20, REQ-INT-21
    let board = board();
    let list = data(call(&board, "introspect", json!({ "query": "operations" })));
    for operation in list["operations"].as_array().unwrap() {
        let name = operation["name"].as_str().unwrap();
        let shown = call(&board, "introspect", json!({ "query": "operations", "name": name }));
        let shown = data(shown)["operation"].clone();
        let parameters = shown["parameters"].as_array().unwrap();
        let example = shown.pointer("/examples/0/request/params");
        let valid = example.cloned().unwrap_or_else(|| plain_values(parameters));
        for parameter in parameters {
            let of = parameter["name"].as_str().unwrap();
            assert!(parameter["type"].is_string(), "{name}.{of}");
            let required = parameter["required"].as_bool().unwrap();
            // Leave the parameter out.
            let mut params = valid.clone();
            params.as_object_mut().unwrap().remove(of);
            let reply = call(&board, name, params);
            let missing = code(&reply) == Some("VALIDATION_MISSING_PARAM");
            assert_eq!(missing, required, "{name}.{of}: {reply}");
            if missing {
                assert!(message(&reply).contains(of), "{name}.{of}: {reply}");
            }
            // Send a value of another type.
            let wrong = match parameter["type"].as_str().unwrap() {
                "any" => continue,
                "boolean" => json!("a"),
                _ => json!(true),
            };
            let mut params = valid.clone();
            params[of] = wrong;
            let reply = call(&board, name, params);
            assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"), "{name}.{of}: {reply}");
        }
        let mut params = valid.clone();
        params["no_such_parameter"] = json!(1);
        let reply = call(&board, name, params);
        let expected = if name == "introspect" {
            Value::Null
        } else {
            parameters.iter().map(|each| each["name"].clone()).collect()
        };
        assert_eq!(code(&reply), Some("VALIDATION_UNKNOWN_PARAM"), "{name}");
        assert_eq!(details(&reply)["valid_params"], expected, "{name}");
    }
}

#[test]
fn a_group_is_one_definition_for_several_operations() {
    // REQ-RQ-13, REQ-RQ-14, REQ-INT-26
    let board = board();
    let paging = |operation: &str| -> Vec<Value> {
        let shown = call(&board, "introspect", json!({ "query": "operations", "name": operation }));
        let parameters = data(shown)["operation"]["parameters"].clone();
        let parameters = parameters.as_array().unwrap().iter();
        parameters
            .filter(|each| each["name"] == "first" || each["name"] == "after")
            .cloned()
            .collect()
    };
    let tasks = paging("list_tasks");
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks, paging("list_titles"));
    assert_eq!(
        names(&tasks[0]),
        ["default", "description", "maximum", "minimum", "name", "required", "type"]
    );
}

#[test]
fn the_unified_endpoint_accepts_every_operation() {
    // REQ-EPT-07
    let board = board();
    for operation in board.operations() {
        let arguments = json!({ "operation": operation.name, "params": { "nonsense": 1 } });
        let reply = ask_through(&board, Endpoint::Unified, arguments);
        assert_ne!(code(&reply), Some("VALIDATION_ENDPOINT_MISMATCH"), "{}", operation.name);
    }
}
