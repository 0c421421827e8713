//! Tests introspection: the members of its replies, and their agreement with the behavior of the adapter.

use mcp_aql::{Adapter, Concurrency, EndpointMode, Session, operation};
use serde_json::{Value, json};

use crate::board::{board, builder};
use crate::support::{
    ask, ask_through, ask_with_session, call, code, data, entry_names, family, message, names,
};

fn introspect(adapter: &Adapter, params: Value) -> Value {
    call(adapter, "introspect", params)
}

fn list(adapter: &Adapter) -> Value {
    data(introspect(adapter, json!({ "query": "operations" })))
}

fn details_of(adapter: &Adapter, name: &str) -> Value {
    data(introspect(adapter, json!({ "query": "operations", "name": name })))["operation"].clone()
}

fn type_of(adapter: &Adapter, name: &str) -> Value {
    data(introspect(adapter, json!({ "query": "types", "name": name })))["type"].clone()
}

fn operation_names(adapter: &Adapter) -> Vec<String> {
    adapter.operations().map(|operation| operation.name.to_owned()).collect()
}

fn type_names(adapter: &Adapter) -> Vec<String> {
    let types = data(introspect(adapter, json!({ "query": "types" })))["types"].clone();
    entry_names(&types).into_iter().map(str::to_owned).collect()
}

/// Checks that an object has all required members, and no others than the allowed ones.
#[track_caller]
fn members(of: &str, object: &Value, must: &[&str], may: &[&str]) {
    let found = names(object);
    for name in must {
        assert!(found.contains(name), "{of} lacks {name}: {object}");
    }
    for name in found {
        assert!(must.contains(&name) || may.contains(&name), "{of} has {name}: {object}");
    }
}

const PARAMETER_MAY: &[&str] = &[
    "description",
    "default",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "items",
    "sensitive",
];

fn check_parameter(of: &str, parameter: &Value) {
    members(of, parameter, &["name", "type", "required"], PARAMETER_MAY);
    assert!(parameter["type"].is_string() && parameter["required"].is_boolean(), "{of}");
    for (name, right) in [
        ("description", Value::is_string as fn(&Value) -> bool),
        ("enum", Value::is_array),
        ("minimum", Value::is_number),
        ("maximum", Value::is_number),
        ("minLength", Value::is_u64),
        ("maxLength", Value::is_u64),
        ("pattern", Value::is_string),
        ("format", Value::is_string),
        ("items", Value::is_object),
        ("sensitive", Value::is_boolean),
    ] {
        if let Some(value) = parameter.get(name) {
            assert!(right(value), "{of}: {name} is {value}");
        }
    }
}

fn check_type_entry(entry: &Value) {
    members("a type", entry, &["name", "kind"], &["description"]);
    let kind = entry["kind"].as_str().unwrap();
    assert!(["enum", "object", "scalar", "union"].contains(&kind), "{kind}");
}

#[test]
fn the_query_is_required_and_known() {
    // REQ-INT-01, REQ-INT-28, choices C-33, C-34
    let board = board();
    let reply = introspect(&board, json!({}));
    assert_eq!(code(&reply), Some("VALIDATION_MISSING_PARAM"));
    assert_eq!(names(&reply["error"]), ["code", "message"]);
    assert!(message(&reply).contains("'query'"));
    for query in ["operation", "beds", "", "OPERATIONS"] {
        let reply = introspect(&board, json!({ "query": query }));
        assert_eq!(code(&reply), Some("INVALID_QUERY_TYPE"), "{query}");
        assert_eq!(names(&reply["error"]), ["code", "message"], "{query}");
        assert!(message(&reply).contains("operations, types"), "{}", message(&reply));
    }
    let details = details_of(&board, "introspect");
    assert_eq!(details["semantic_category"], "READ");
    let parameters = details["parameters"].as_array().unwrap();
    assert_eq!(parameters[0]["name"], "query");
    assert_eq!(parameters[0]["required"], true);
    assert_eq!(parameters[0]["enum"], json!(["operations", "types", "danger"]));
    assert_eq!(
        (&parameters[1]["name"], &parameters[1]["required"]),
        (&json!("name"), &json!(false))
    );
}

#[test]
fn failures_have_no_details_not_even_with_a_session() {
    // REQ-INT-28
    let board = board();
    let session = Session::new();
    for params in [
        json!({}),
        json!({ "query": "beds" }),
        json!({ "query": 7 }),
        json!({ "query": "operations", "nmae": 1 }),
        json!({ "query": "operations", "name": "get_task", "prefix": "a" }),
        json!({ "query": "types", "category": "READ" }),
        json!({ "query": "operations", "first": -1 }),
        json!({ "query": "operations", "first": 1, "last": 1 }),
        json!({ "query": "operations", "last": 1, "before": "get_task" }),
        json!({ "query": "operations", "after": "get_task" }),
        json!({ "query": "operations", "first": 1, "after": "no_such" }),
        json!({ "query": "operations", "category": "read" }),
        json!({ "query": "operations", "names": ["no_such"] }),
        json!({ "query": "types", "parameters": true }),
    ] {
        let asked = json!({ "operation": "introspect", "params": params });
        let reply = ask_with_session(&board, &session, asked);
        assert_eq!(names(&reply), ["error", "success"], "{params}");
        assert_eq!(names(&reply["error"]), ["code", "message"], "{params}");
    }
    let asked = json!({ "operation": "introspect", "params": { "query": "types" } });
    let reply = ask_through(&board, family(&board, "create"), asked);
    assert_eq!(code(&reply), Some("VALIDATION_ENDPOINT_MISMATCH"));
    assert_eq!(names(&reply["error"]), ["code", "message"]);
    assert!(message(&reply).contains("'mcp_aql_read'"), "{}", message(&reply));
}

#[test]
fn the_list_has_an_entry_for_every_operation() {
    // REQ-INT-02, REQ-INT-03, REQ-INT-24, REQ-INT-28, REQ-INT-31
    let board = board();
    let reply = introspect(&board, json!({ "query": "operations" }));
    assert_eq!(names(&reply), ["data", "success"]);
    let list = data(reply);
    members("the list", &list, &["operations", "_protocol"], &[]);
    assert_eq!(entry_names(&list["operations"]), operation_names(&board));
    assert_eq!(list["operations"][0]["name"], "introspect");
    for entry in list["operations"].as_array().unwrap() {
        members("an entry", entry, &["name", "semantic_category", "endpoint", "description"], &[]);
        assert!(!entry["description"].as_str().unwrap().is_empty());
    }
}

#[test]
fn the_list_describes_the_protocol() {
    // REQ-INT-04 to REQ-INT-08, REQ-INT-30, REQ-CNF-01, choices C-31, C-32
    let adapter = builder()
        .mode(EndpointMode::All)
        .concurrency(Concurrency::ReadConcurrent)
        .max_concurrent_requests(16)
        .build()
        .unwrap();
    let protocol = list(&adapter)["_protocol"].clone();
    assert_eq!(protocol["version"], "1.0.0-draft");
    assert!(["level-1", "level-2"].contains(&protocol["conformance"].as_str().unwrap()));
    assert_eq!(protocol["mode"], "all");
    assert_eq!(protocol["concurrency"], "read-concurrent");
    assert_eq!(protocol["max_concurrent_requests"], 16);
    assert_eq!(protocol["supports_etag"], true);
    let capabilities = protocol["capabilities"].as_object().unwrap();
    // A disabled capability is absent, not `false`.
    assert_eq!(capabilities["batch"], true);
    assert_eq!(capabilities["warnings"], true);
    assert!(capabilities.values().all(|offered| *offered == json!(true)), "{capabilities:?}");
    assert_eq!(protocol.get("profile"), None, "the standard profile is not named");
    // `_protocol` is only part of the list of operations.
    for params in [
        json!({ "query": "operations", "name": "get_task" }),
        json!({ "query": "types" }),
        json!({ "query": "types", "name": "Task" }),
    ] {
        assert_eq!(names(&data(introspect(&adapter, params))).len(), 1);
    }
    let without = builder().batch(false).build().unwrap();
    assert_eq!(list(&without)["_protocol"]["capabilities"].get("batch"), None);
    // A part of the list has the required members, too.
    let part = introspect(&adapter, json!({ "query": "operations", "category": "CREATE" }));
    assert_eq!(data(part)["_protocol"], json!({ "version": "1.0.0-draft" }));
}

#[test]
fn details_have_the_protocols_members() {
    // REQ-INT-09 to REQ-INT-15, REQ-INT-25, REQ-CNF-10
    let board = board();
    for name in operation_names(&board) {
        let reply = introspect(&board, json!({ "query": "operations", "name": name }));
        assert_eq!(names(&data(reply)), ["operation"]);
        let details = details_of(&board, &name);
        members(
            &name,
            &details,
            &[
                "name",
                "semantic_category",
                "endpoint",
                "mcpTool",
                "description",
                "permissions",
                "parameters",
                "returns",
            ],
            &["examples"],
        );
        let category = details["semantic_category"].as_str().unwrap();
        assert_eq!(details["endpoint"], category.to_ascii_lowercase());
        assert_eq!(details["mcpTool"], format!("mcp_aql_{}", category.to_ascii_lowercase()));
        members(&name, &details["permissions"], &["readOnly", "destructive"], &[]);
        members(&name, &details["returns"], &["name", "kind"], &["description"]);
        check_type_entry(&details["returns"]);
        for parameter in details["parameters"].as_array().unwrap() {
            check_parameter(&name, parameter);
            let of = parameter["name"].as_str().unwrap();
            assert!(mcp_aql_protocol::is_public_name(of), "{of}");
            assert!(!parameter["description"].as_str().unwrap().is_empty(), "{name}.{of}");
        }
        let examples = details.get("examples").map(|examples| examples.as_array().unwrap());
        assert!(examples.is_none_or(|examples| !examples.is_empty()), "{name}");
        for example in examples.into_iter().flatten() {
            members(&name, example, &["request"], &["description"]);
            assert_eq!(example["request"]["operation"], name);
        }
    }
}

#[test]
fn examples_are_calls_that_pass_validation() {
    // REQ-INT-15, REQ-INT-20, REQ-INT-25
    let board = board();
    for name in operation_names(&board) {
        for example in details_of(&board, &name)["examples"].as_array().into_iter().flatten() {
            let reply = ask(&board, example["request"].clone());
            let refused = code(&reply).is_some_and(|code| code.starts_with("VALIDATION_"));
            assert!(!refused, "{example}: {reply}");
        }
    }
}

#[test]
fn constraints_are_shown_as_they_are_enforced() {
    // REQ-INT-13, REQ-INT-21, REQ-RQ-11
    let board = board();
    let details = details_of(&board, "echo_values");
    let shown = |name: &str| {
        let parameters = details["parameters"].as_array().unwrap();
        let mut found = parameters.iter().find(|each| each["name"] == name).unwrap().clone();
        let members = found.as_object_mut().unwrap();
        for known in ["name", "required", "description"] {
            members.remove(known);
        }
        found
    };
    for (name, expected) in [
        ("text", json!({ "type": "string" })),
        ("small", json!({ "type": "integer", "minimum": -5, "maximum": 5 })),
        ("ratio", json!({ "type": "number", "minimum": 0.5 })),
        ("flag", json!({ "type": "boolean" })),
        ("word", json!({ "type": "string", "pattern": "^[a-z]+$", "maxLength": 8 })),
        ("colour", json!({ "type": "string", "enum": ["red", "green", "blue"] })),
        ("status", json!({ "type": "string", "enum": ["todo", "doing", "done"] })),
        ("words", json!({ "type": "array", "items": { "type": "string" } })),
        ("day", json!({ "type": "string", "format": "date" })),
        ("instant", json!({ "type": "string", "format": "date-time" })),
        ("anything", json!({ "type": "any" })),
        ("figure", json!({ "type": "Figure" })),
        ("place", json!({ "type": "Place" })),
        ("key", json!({ "type": "Key" })),
    ] {
        assert_eq!(shown(name), expected, "{name}");
    }
    // If the protocol has no member for a constraint, the description states it.
    let words = details["parameters"].as_array().unwrap();
    let words = words.iter().find(|each| each["name"] == "words").unwrap();
    assert!(words["description"].as_str().unwrap().contains("1 to 3 items"), "{words}");
    let open_door = details_of(&board, "open_door");
    assert_eq!(open_door["parameters"][0]["sensitive"], true);
}

#[test]
fn maps_show_the_form_of_their_values() {
    // REQ-INT-13, REQ-INT-22
    use std::collections::BTreeMap;

    use mcp_aql::prelude::*;

    /// A step of a plan.
    #[derive(
        Debug, Clone, Default, serde::Serialize, serde::Deserialize, JsonSchema, UpdateInput,
    )]
    struct Step {
        /// Text of the step.
        text: String,
    }

    /// A plan.
    #[derive(Debug, Clone, serde::Serialize, serde::Deserialize, JsonSchema, UpdateInput)]
    struct Plan {
        /// Number of the plan.
        #[resource(id)]
        plan_id: u32,
        /// Steps by their name.
        steps: BTreeMap<String, Step>,
        /// Hours by the names of people.
        hours: BTreeMap<String, u32>,
        /// Anything.
        notes: BTreeMap<String, Value>,
    }

    /// Create a plan.
    #[operation(category = "CREATE")]
    fn create_plan(
        /// Steps by their name.
        steps: BTreeMap<String, Step>,
        /// Lists of days by the names of people.
        #[param(default = {})]
        days: BTreeMap<String, Vec<u8>>,
    ) -> Plan {
        let hours = days.into_iter().map(|(name, days)| (name, days.len() as u32)).collect();
        Plan { plan_id: 1, steps, hours, notes: BTreeMap::new() }
    }

    /// Change a plan.
    #[operation(category = "UPDATE")]
    fn update_plan(
        /// Number of the plan.
        plan_id: u32,
        input: Update<Plan>,
    ) -> Plan {
        let (steps, hours, notes) = Default::default();
        let mut plan = Plan { plan_id, steps, hours, notes };
        input.merge_into(&mut plan);
        plan
    }

    let adapter = Adapter::builder("plans").operation(create_plan {}).operation(update_plan {});
    let adapter = adapter.without_config().build().unwrap();
    let create = details_of(&adapter, "create_plan");
    let (plan, update) = (type_of(&adapter, "Plan"), type_of(&adapter, "PlanUpdate"));
    let values = |list: &Value, name: &str| {
        let found = list.as_array().unwrap().iter().find(|each| each["name"] == name).unwrap();
        assert_eq!(found["type"], "object", "{found}");
        found["items"].clone()
    };
    assert_eq!(values(&create["parameters"], "steps"), json!({ "type": "Step" }));
    let days = values(&create["parameters"], "days");
    assert_eq!((&days["type"], &days["items"]["type"]), (&json!("array"), &json!("integer")));
    assert_eq!(values(&plan["fields"], "steps"), json!({ "type": "Step" }));
    assert_eq!(values(&plan["fields"], "hours")["type"], "integer");
    assert_eq!(values(&plan["fields"], "notes"), Value::Null);
    assert_eq!(values(&update["fields"], "steps"), json!({ "type": "StepUpdate" }));
}

#[test]
fn the_list_of_types_has_names_and_kinds() {
    // REQ-INT-16, REQ-INT-17, REQ-INT-22, REQ-INT-23, choice C-30
    let board = board();
    let reply = data(introspect(&board, json!({ "query": "types" })));
    assert_eq!(names(&reply), ["types"]);
    for entry in reply["types"].as_array().unwrap() {
        check_type_entry(entry);
    }
    let found = type_names(&board);
    for name in [
        "SemanticCategory",
        "OperationInput",
        "OperationResult",
        "OperationSuccess",
        "OperationFailure",
        "EndpointPermissions",
        "Task",
        "Status",
        "Metadata",
        "Origin",
        "Figure",
        "Place",
        "TaskPage",
        "PageInfo",
        "TaskUpdate",
    ] {
        assert!(found.iter().any(|known| known == name), "{name}: {found:?}");
    }
    let mut unique = found.clone();
    unique.dedup();
    assert_eq!(unique, found);
}

#[test]
fn types_in_full_have_the_members_of_their_kind() {
    // REQ-INT-16, REQ-INT-17, REQ-INT-18
    let board = board();
    let mut kinds = std::collections::BTreeSet::new();
    for name in type_names(&board) {
        let reply = data(introspect(&board, json!({ "query": "types", "name": name })));
        assert_eq!(names(&reply), ["type"]);
        let details = &reply["type"];
        assert_eq!(details["name"], name);
        let kind = details["kind"].as_str().unwrap();
        kinds.insert(kind.to_owned());
        let must: &[&str] = match kind {
            "enum" => &["name", "kind", "values"],
            "object" => &["name", "kind", "fields"],
            "union" => &["name", "kind", "members"],
            _ => &["name", "kind"],
        };
        members(&name, details, must, &["description"]);
        for field in details["fields"].as_array().into_iter().flatten() {
            check_parameter(&name, field);
        }
        for list in [details.get("values"), details.get("members")].into_iter().flatten() {
            let list = list.as_array().unwrap();
            assert!(!list.is_empty() && list.iter().all(Value::is_string), "{name}: {list:?}");
        }
    }
    assert!(kinds.is_superset(&["enum", "object", "union"].map(str::to_owned).into()), "{kinds:?}");
    assert_eq!(type_of(&board, "Status")["values"], json!(["todo", "doing", "done"]));
    assert_eq!(type_of(&board, "Status")["description"], "Status of the work.");
    assert_eq!(
        type_of(&board, "SemanticCategory")["values"],
        json!(["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"])
    );
    assert_eq!(
        type_of(&board, "OperationResult")["members"],
        json!(["OperationSuccess", "OperationFailure"])
    );
}

#[test]
fn every_type_that_is_named_is_described() {
    // REQ-INT-22
    let board = board();
    let known = type_names(&board);
    let json_types = ["any", "null", "boolean", "integer", "number", "string", "array", "object"];
    let check = |of: &str, name: &str| {
        for part in name.split(" or ") {
            let part = part.trim_matches('\'');
            let found =
                json_types.contains(&part) || known.iter().any(|type_name| type_name == part);
            assert!(found, "{of} names {part:?}, and no such type is listed");
        }
    };
    fn check_field(of: &str, field: &Value, check: &dyn Fn(&str, &str)) {
        check(of, field["type"].as_str().unwrap_or("any"));
        if let Some(items) = field.get("items") {
            check_field(of, items, check);
        }
    }
    for name in operation_names(&board) {
        let details = details_of(&board, &name);
        for parameter in details["parameters"].as_array().unwrap() {
            check_field(&name, parameter, &check);
        }
        check(&name, details["returns"]["name"].as_str().unwrap());
    }
    for name in &known {
        let details = type_of(&board, name);
        for field in details["fields"].as_array().into_iter().flatten() {
            check_field(name, field, &check);
        }
        for member in details["members"].as_array().into_iter().flatten() {
            check(name, member.as_str().unwrap());
        }
    }
}

#[test]
fn results_match_their_declared_type() {
    // REQ-INT-14, REQ-INT-22, REQ-RSP-11
    let board = board();
    let returns = details_of(&board, "create_task")["returns"].clone();
    assert_eq!((&returns["name"], &returns["kind"]), (&json!("Task"), &json!("object")));
    let task = data(call(&board, "create_task", json!({ "title": "Milk" })))["task"].clone();
    let fields = type_of(&board, "Task")["fields"].clone();
    let mut described = entry_names(&fields);
    described.sort_unstable();
    assert_eq!(names(&task), described);
}

#[test]
fn an_unknown_name_is_null() {
    // REQ-INT-19
    let board = board();
    for (query, key) in [("operations", "operation"), ("types", "type")] {
        for name in ["no_such", "", "Get_Task", "task\u{7}", "a b"] {
            let reply = introspect(&board, json!({ "query": query, "name": name }));
            assert_eq!(reply, json!({ "success": true, "data": { key: null } }), "{name}");
        }
    }
}

#[test]
fn answers_are_stable() {
    // REQ-INT-27, REQ-CLS-03
    let board = board();
    for params in [
        json!({ "query": "operations" }),
        json!({ "query": "operations", "name": "echo_values" }),
        json!({ "query": "types" }),
        json!({ "query": "types", "name": "Task" }),
    ] {
        let before = introspect(&board, params.clone());
        data(call(&board, "create_task", json!({ "title": "Milk" })));
        assert_eq!(introspect(&board, params.clone()), before);
        // Another adapter built in the same way must return the same list.
        assert_eq!(introspect(&crate::board::board(), params), before);
    }
}

#[test]
fn long_lists_can_be_narrowed_and_paged() {
    // REQ-INT-29
    let board = board();
    let narrowed = |params: Value| -> Vec<String> {
        let list = data(introspect(&board, params))["operations"].clone();
        entry_names(&list).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(
        narrowed(json!({ "query": "operations", "category": "UPDATE" })),
        ["update_task", "update_account"]
    );
    assert_eq!(
        narrowed(json!({ "query": "operations", "prefix": "list_" })),
        ["list_tasks", "list_titles"]
    );
    let mut paged = Vec::new();
    let mut after = Value::Null;
    loop {
        let page = introspect(&board, json!({ "query": "operations", "first": 4, "after": after }));
        let page = data(page);
        paged.extend(entry_names(&page["operations"]).into_iter().map(str::to_owned));
        let info = page["_protocol"]["pageInfo"].clone();
        assert_eq!(info["totalCount"], operation_names(&board).len());
        if info["hasNextPage"] == false {
            break;
        }
        after = info["endCursor"].clone();
    }
    assert_eq!(paged, operation_names(&board));
    let mut paged = Vec::new();
    let mut before = Value::Null;
    loop {
        let page = json!({ "query": "operations", "last": 4, "before": before });
        let page = data(introspect(&board, page));
        let names = entry_names(&page["operations"]).into_iter().map(str::to_owned);
        paged.splice(0..0, names);
        let info = page["_protocol"]["pageInfo"].clone();
        if info["hasPreviousPage"] == false {
            break;
        }
        before = info["startCursor"].clone();
    }
    assert_eq!(paged, operation_names(&board));
    // Every page size is accepted.
    for (size, len) in [(0, 0), (101, paged.len()), (1_000_000, paged.len())] {
        for control in ["first", "last"] {
            let page = data(introspect(&board, json!({ "query": "operations", control: size })));
            assert_eq!(entry_names(&page["operations"]).len(), len, "{control} {size}");
        }
    }
    // A cursor is only valid for the same list. Neither a name nor a cursor of another list is accepted.
    let page = json!({ "query": "operations", "first": 1 });
    let cursor = data(introspect(&board, page))["_protocol"]["pageInfo"]["endCursor"].clone();
    for (after, category) in [(json!("introspect"), Value::Null), (cursor, json!("READ"))] {
        let page =
            json!({ "query": "operations", "first": 1, "after": after, "category": category });
        let reply = introspect(&board, page);
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{reply}");
        assert!(message(&reply).contains("this list has no such cursor"), "{reply}");
    }
    let types = data(introspect(&board, json!({ "query": "types", "prefix": "Operation" })));
    assert!(entry_names(&types["types"]).iter().all(|name| name.starts_with("Operation")));
    // Introspection publishes its own parameters like any others.
    let parameters = details_of(&board, "introspect")["parameters"].clone();
    assert_eq!(
        entry_names(&parameters),
        [
            "query",
            "name",
            "search",
            "category",
            "prefix",
            "names",
            "parameters",
            "first",
            "after",
            "last",
            "before"
        ]
    );
}

#[test]
fn operations_are_found_by_the_words_of_a_task() {
    // REQ-INT-29
    let board = board();
    let found = |params: Value| {
        let mut query = json!({ "query": "operations" });
        query.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        introspect(&board, query)
    };
    let names_of = |params: Value| -> Vec<String> {
        let list = data(found(params))["operations"].clone();
        entry_names(&list).into_iter().map(str::to_owned).collect()
    };
    // A search finds names, everyday synonyms, and words of fields and allowed values.
    for (searched, expected) in [
        ("create a task", "create_task"),
        ("Please remove the second of my tasks!", "delete_task"),
        ("change the due date of a task", "update_task"),
        ("which account has this balance", "update_account"),
    ] {
        let names = names_of(json!({ "search": searched }));
        assert!(names.len() <= 5, "{names:?}");
        assert_eq!(names.first().map(String::as_str), Some(expected), "{searched}: {names:?}");
    }
    // The entries contain the parameters, unless the call asks for entries without them.
    let entry = |params: Value| data(found(params))["operations"][0].clone();
    for (parameters, listed) in [(json!(null), true), (json!(true), true), (json!(false), false)] {
        let one = json!({ "names": ["create_task"], "parameters": listed });
        let searched = json!({ "search": "create a task", "first": 1, "parameters": parameters });
        assert_eq!(entry(searched), entry(one), "{parameters}");
    }
    let answer = data(found(json!({ "search": "create a task" })));
    assert_eq!(names(&answer["_protocol"]), ["version"]);
    // Other conditions apply before the number of results is limited.
    let deleting = names_of(json!({ "search": "create a task", "category": "DELETE", "first": 1 }));
    assert_eq!(deleting, ["delete_task"]);
    let listing = names_of(json!({ "search": "create a task", "prefix": "list_", "first": 50 }));
    assert_eq!(listing, ["list_tasks"]);
    assert!(
        !names_of(json!({ "search": "list operations", "first": 50 }))
            .contains(&"introspect".to_owned())
    );
    // If a search is impossible, the error suggests the next step.
    for (params, expected, part) in [
        (
            json!({ "search": "zebra" }),
            "INTROSPECTION_ERROR",
            "No operation matches 'zebra'. Describe",
        ),
        (json!({ "search": "the of" }), "INTROSPECTION_ERROR", "list the operations"),
        (json!({ "search": "\u{202e}\n" }), "INTROSPECTION_ERROR", "No operation matches"),
        (json!({ "search": "" }), "VALIDATION_INVALID_VALUE", "'search'"),
        (json!({ "search": "a task", "first": 51 }), "VALIDATION_INVALID_VALUE", "1 to 50"),
        (json!({ "search": "a task", "first": 0 }), "VALIDATION_INVALID_VALUE", "1 to 50"),
        (json!({ "search": "a task", "names": ["get_task"] }), "INTROSPECTION_ERROR", "'names'"),
        (json!({ "search": "a task", "last": 2 }), "INTROSPECTION_ERROR", "'last'"),
        (json!({ "search": "a task", "first": 2, "after": "x" }), "INTROSPECTION_ERROR", "'after'"),
        (json!({ "search": "a task", "name": "get_task" }), "INTROSPECTION_ERROR", "'search'"),
    ] {
        let reply = found(params.clone());
        assert_eq!(code(&reply), Some(expected), "{params}: {reply}");
        assert!(message(&reply).contains(part), "{reply}");
        assert_eq!(reply["error"].get("details"), None, "{reply}");
    }
    let reply = introspect(&board, json!({ "query": "types", "search": "a task" }));
    assert!(message(&reply).contains("'search' is not accepted by query 'types'"), "{reply}");
}

#[test]
fn lists_can_include_parameters() {
    // REQ-INT-03, REQ-INT-20, REQ-INT-21, REQ-INT-29
    let board = board();
    let listed = |params: Value| data(introspect(&board, params))["operations"].clone();
    let chosen = json!({ "query": "operations", "names": ["create_task", "echo_values"] });
    assert_eq!(entry_names(&listed(chosen)), ["create_task", "echo_values"]);
    let entries = listed(json!({ "query": "operations", "parameters": true }));
    assert_eq!(entry_names(&entries), operation_names(&board));
    for entry in entries.as_array().unwrap() {
        members("an entry", entry, &["name", "semantic_category", "endpoint", "description"], &[]);
        let name = entry["name"].as_str().unwrap();
        let details = details_of(&board, name);
        let lines = entry["description"].as_str().unwrap();
        let lines = lines.strip_prefix(details["description"].as_str().unwrap()).unwrap();
        let parameters = details["parameters"].as_array().unwrap();
        assert_eq!(lines.lines().skip(1).count(), parameters.len(), "{lines}");
        for (line, parameter) in lines.lines().skip(1).zip(parameters) {
            let optional = if parameter["required"] == json!(true) { "" } else { "?" };
            let start = format!("{}{optional} ", parameter["name"].as_str().unwrap());
            assert!(line.starts_with(&start), "{line}");
            let description = parameter["description"].as_str().unwrap();
            if parameter["name"] != json!("input") {
                assert!(line.ends_with(description), "{line}");
                continue;
            }
            // In this line, fields with their types replace the list of field names.
            let (_, names) = description.split_once(": ").unwrap();
            let (names, rest) = names.split_once('.').unwrap();
            assert_eq!(rest.trim(), "Null removes an optional one.");
            let fields = line.strip_prefix("input { ").unwrap().strip_suffix(" }").unwrap();
            assert_eq!(fields.contains(" or null"), name == "update_task", "{line}");
            for name in names.split(", ") {
                assert!(fields.contains(&format!("{name}? ")), "{name}: {line}");
            }
        }
    }
    // An unknown name is an error with a suggestion.
    let wrong = json!({ "query": "operations", "names": ["create_task", "creat_task"] });
    let reply = introspect(&board, wrong);
    assert_eq!(code(&reply), Some("INTROSPECTION_ERROR"));
    assert!(message(&reply).contains("'creat_task'"), "{}", message(&reply));
    assert!(message(&reply).contains("'create_task'"), "{}", message(&reply));
}

/// A place on the map.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Spot {
    /// Degrees north.
    north: f64,
    /// Kilometres around it.
    #[serde(default = "nearby")]
    radius: u8,
    /// How to enter.
    #[serde(default)]
    door: Door,
    /// Other ways to enter.
    #[serde(default = "former_codes")]
    former_codes: Vec<Code>,
}

/// A code that opens a door.
#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(extend("sensitive" = true))]
struct Code(String);

fn former_codes() -> Vec<Code> {
    vec![Code("hunter1".to_owned())]
}

/// A door with a code.
#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Door {
    /// Opens the door.
    #[schemars(extend("sensitive" = true))]
    code: String,
}

impl Default for Door {
    fn default() -> Self {
        Self { code: "hunter2".to_owned() }
    }
}

fn nearby() -> u8 {
    5
}

/// Go to a place.
#[operation(category = "EXECUTE")]
fn execute_trip(
    /// Where to.
    to: Spot,
) -> f64 {
    let ways =
        to.former_codes.iter().filter(|code| !code.0.is_empty()).count() + to.door.code.len();
    to.north * f64::from(to.radius) * ways as f64
}

#[test]
fn fields_show_their_defaults() {
    // REQ-INT-13, REQ-INT-18, REQ-INT-25
    let board = builder().operation(execute_trip {}).build().unwrap();
    let query = json!({ "query": "operations", "names": ["execute_trip"], "parameters": true });
    let listed = data(introspect(&board, query));
    let description = listed["operations"][0]["description"].as_str().unwrap();
    assert!(description.contains("north number, radius? integer 0..255 = 5 }"), "{description}");
    let spot = type_of(&board, "Spot");
    assert_eq!(spot["fields"][3]["default"], 5);
    // A secret is hidden in the defaults of objects and lists, too.
    for shown in [description.to_owned(), spot.to_string()] {
        assert!(shown.contains("former_codes") && !shown.contains("hunter"), "{shown}");
    }
}

#[test]
fn empty_members_are_omitted() {
    // REQ-INT-13, REQ-INT-14, REQ-INT-15, REQ-INT-25
    let board = builder().operation(execute_trip {}).build().unwrap();
    let member = |name: &str, path: &str| details_of(&board, name).pointer(path).cloned();
    // An example with only plain values would repeat the parameters, so it is omitted. One with objects shows their
    // form.
    assert_eq!(member("get_task", "/examples"), None);
    assert_eq!(member("update_task", "/examples"), None);
    assert_eq!(
        member("execute_trip", "/examples/0/request/params"),
        Some(json!({ "to": { "north": 1.5 } }))
    );
    // By default, the result is in a member named after its type, so introspection does not mention it.
    assert_eq!(member("create_task", "/returns/description"), None);
}

#[test]
fn deprecation_is_part_of_the_description() {
    // REQ-INT-32
    let board = board();
    let details = details_of(&board, "find_by_number");
    let description = details["description"].as_str().unwrap();
    assert!(
        description.contains("Deprecated, to be removed on 2099-01-01: use 'get_task' instead")
    );
    let parameter = details["parameters"][0]["description"].as_str().unwrap();
    assert!(parameter.contains("Deprecated: use 'task_id' instead"), "{parameter}");
    let entry = list(&board)["operations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|each| each["name"] == "find_by_number")
        .unwrap()
        .clone();
    assert!(entry["description"].as_str().unwrap().contains("Deprecated"));
}
