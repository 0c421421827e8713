//! Mutants of introspection: documentation that contradicts the adapter.

use serde_json::{Value, json};

use super::{Mutant, body, data, details, listed, parameter};
use crate::faults::{asks_for, calls, entry};

/// Returns the entry of an operation in the list of operations.
fn in_list<'v>(arguments: &Value, body: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    listed(arguments, body, "operations")?.iter_mut().find(|entry| entry["name"] == name)
}

/// Returns the definition of a type.
fn type_of<'v>(arguments: &Value, body: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    if !asks_for(arguments, name) {
        return None;
    }
    data(arguments, body, "introspect")?.get_mut("type")
}

/// Returns `_protocol` in the list of operations.
fn protocol<'v>(arguments: &Value, body: &'v mut Value) -> Option<&'v mut Value> {
    data(arguments, body, "introspect")?.get_mut("_protocol")
}

pub(super) const MUTANTS: &[Mutant] = &[
    body("link-tasks-not-listed", |arguments, body| {
        if let Some(list) = listed(arguments, body, "operations") {
            list.retain(|entry| entry["name"] != "link_tasks");
        }
    }),
    body("create-task-not-listed", |arguments, body| {
        if let Some(list) = listed(arguments, body, "operations") {
            list.retain(|entry| entry["name"] != "create_task");
        }
    }),
    body("introspect-not-listed", |arguments, body| {
        if let Some(list) = listed(arguments, body, "operations") {
            list.retain(|entry| entry["name"] != "introspect");
        }
    }),
    body("list-names-an-operation-that-is-not-there", |arguments, body| {
        if let Some(list) = listed(arguments, body, "operations") {
            list.push(json!({
                "name": "archive_task", "semantic_category": "UPDATE", "endpoint": "update",
                "description": "Archive a task.",
            }));
        }
    }),
    body("list-states-another-category", |arguments, body| {
        if let Some(entry) = in_list(arguments, body, "get_task") {
            entry["semantic_category"] = json!("UPDATE");
        }
    }),
    body("list-states-another-endpoint", |arguments, body| {
        if let Some(entry) = in_list(arguments, body, "delete_task") {
            entry["endpoint"] = json!("update");
        }
    }),
    body("list-without-descriptions", |arguments, body| {
        for entry in listed(arguments, body, "operations").into_iter().flatten() {
            entry["description"] = json!("");
        }
    }),
    body("details-lack-a-parameter", |arguments, body| {
        if let Some(details) = details(arguments, body, "create_task")
            && let Some(Value::Array(parameters)) = details.get_mut("parameters")
        {
            parameters.retain(|parameter| parameter["name"] != "priority");
        }
    }),
    body("details-lack-a-required-parameter", |arguments, body| {
        if let Some(details) = details(arguments, body, "get_task")
            && let Some(Value::Array(parameters)) = details.get_mut("parameters")
        {
            parameters.retain(|parameter| parameter["name"] != "task_id");
        }
    }),
    body("details-name-a-parameter-that-is-not-there", |arguments, body| {
        if let Some(details) = details(arguments, body, "create_task")
            && let Some(Value::Array(parameters)) = details.get_mut("parameters")
        {
            parameters.push(json!({
                "name": "colour", "type": "string", "required": false, "description": "A colour.",
            }));
        }
    }),
    body("required-parameter-said-to-be-optional", |arguments, body| {
        if let Some(title) = parameter(arguments, body, "create_task", "title") {
            title["required"] = json!(false);
        }
    }),
    body("optional-parameter-said-to-be-required", |arguments, body| {
        if let Some(description) = parameter(arguments, body, "create_task", "description") {
            description["required"] = json!(true);
        }
    }),
    body("integer-said-to-be-text", |arguments, body| {
        if let Some(priority) = parameter(arguments, body, "create_task", "priority") {
            priority["type"] = json!("string");
        }
    }),
    body("list-said-to-be-text", |arguments, body| {
        if let Some(tags) = parameter(arguments, body, "create_task", "tags") {
            tags["type"] = json!("string");
        }
    }),
    body("enum-lacks-a-value", |arguments, body| {
        if let Some(Value::Array(values)) =
            parameter(arguments, body, "create_task", "status").and_then(|it| it.get_mut("enum"))
        {
            values.pop();
        }
    }),
    body("enum-has-a-value-too-many", |arguments, body| {
        if let Some(Value::Array(values)) =
            parameter(arguments, body, "create_task", "status").and_then(|it| it.get_mut("enum"))
        {
            values.push(json!("late"));
        }
    }),
    body("maximum-said-to-be-higher", |arguments, body| {
        if let Some(priority) = parameter(arguments, body, "create_task", "priority") {
            priority["maximum"] = json!(9);
        }
    }),
    body("maximum-said-to-be-lower", |arguments, body| {
        if let Some(priority) = parameter(arguments, body, "create_task", "priority") {
            priority["maximum"] = json!(4);
        }
    }),
    body("length-said-to-be-shorter", |arguments, body| {
        if let Some(title) = parameter(arguments, body, "create_task", "title") {
            title["maxLength"] = json!(100);
        }
    }),
    body("default-said-to-be-another", |arguments, body| {
        if let Some(priority) = parameter(arguments, body, "create_task", "priority") {
            priority["default"] = json!(2);
        }
    }),
    body("default-said-to-be-another-status", |arguments, body| {
        if let Some(status) = parameter(arguments, body, "create_task", "status") {
            status["default"] = json!("done");
        }
    }),
    body("computed-field-said-to-be-filterable", |arguments, body| {
        if let Some(details) = details(arguments, body, "list_tasks")
            && let Some(field) = entry(details.get_mut("computed_fields"), "age_days")
        {
            field["filterable"] = json!(true);
        }
    }),
    body("computed-field-said-not-to-be-filterable", |arguments, body| {
        if let Some(details) = details(arguments, body, "list_tasks")
            && let Some(field) = entry(details.get_mut("computed_fields"), "is_overdue")
        {
            field["filterable"] = json!(false);
        }
    }),
    body("computed-field-said-to-be-sortable", |arguments, body| {
        if let Some(details) = details(arguments, body, "list_tasks")
            && let Some(field) = entry(details.get_mut("computed_fields"), "age_days")
        {
            field["sortable"] = json!(true);
        }
    }),
    body("computed-field-of-another-type", |arguments, body| {
        if let Some(details) = details(arguments, body, "list_tasks")
            && let Some(field) = entry(details.get_mut("computed_fields"), "is_overdue")
        {
            field["type"] = json!("string");
        }
    }),
    body("graph-said-to-be-deeper", |arguments, body| {
        if let Some(details) = details(arguments, body, "query_relationships")
            && let Some(depth) = details.pointer_mut("/relationship_capabilities/max_depth")
        {
            *depth = json!(depth.as_u64().unwrap_or_default() + 5);
        }
    }),
    body("graph-said-to-be-shallower", |arguments, body| {
        if let Some(details) = details(arguments, body, "query_relationships")
            && let Some(depth) = details.pointer_mut("/relationship_capabilities/max_depth")
        {
            *depth = json!(1);
        }
    }),
    body("graph-with-another-relationship", |arguments, body| {
        if let Some(details) = details(arguments, body, "query_relationships")
            && let Some(Value::Array(types)) =
                details.pointer_mut("/relationship_capabilities/relationship_types")
        {
            types.push(json!("extends"));
        }
    }),
    body("execution-said-not-to-be-cancelled", |arguments, body| {
        if let Some(details) = details(arguments, body, "execute_export") {
            details["lifecycle"]["supports_cancel"] = json!(false);
        }
    }),
    body("execution-said-to-report-nothing", |arguments, body| {
        if let Some(details) = details(arguments, body, "execute_export") {
            details["lifecycle"]["progress_reporting"] = json!(false);
        }
    }),
    body("execution-lacks-a-state", |arguments, body| {
        if let Some(details) = details(arguments, body, "execute_export")
            && let Some(Value::Array(states)) = details.pointer_mut("/lifecycle/states")
        {
            states.retain(|state| state != "completed");
        }
    }),
    body("another-operation-said-to-be-an-execution", |arguments, body| {
        if let Some(details) = details(arguments, body, "create_task") {
            details["lifecycle"] = json!({
                "states": ["pending", "running", "completed", "failed", "cancelled"],
                "supports_cancel": true, "supports_retry": true, "progress_reporting": true,
            });
        }
    }),
    body("summaries-with-another-function", |arguments, body| {
        if let Some(details) = details(arguments, body, "list_tasks")
            && let Some(Value::Array(functions)) =
                details.pointer_mut("/aggregation_support/functions")
        {
            functions.push(json!("median"));
        }
    }),
    body("summaries-of-another-field", |arguments, body| {
        if let Some(details) = details(arguments, body, "list_tasks")
            && let Some(Value::Array(fields)) =
                details.pointer_mut("/aggregation_support/numeric_fields")
        {
            fields.push(json!("title"));
        }
    }),
    body("details-under-another-tool", |arguments, body| {
        if let Some(details) = details(arguments, body, "get_task") {
            details["mcpTool"] = json!("mcp_aql_update");
        }
    }),
    body("details-with-other-permissions", |arguments, body| {
        if let Some(details) = details(arguments, body, "delete_task") {
            details["permissions"] = json!({ "readOnly": true, "destructive": false });
        }
    }),
    body("details-with-an-example-that-fails", |arguments, body| {
        if let Some(details) = details(arguments, body, "create_task")
            && let Some(params) = details.pointer_mut("/examples/0/request/params")
        {
            *params = json!({ "priority": 1 });
        }
    }),
    body("details-of-an-unknown-type", |arguments, body| {
        if let Some(details) = details(arguments, body, "get_task") {
            details["returns"] = json!({ "name": "Job", "kind": "object" });
        }
    }),
    body("type-not-listed", |arguments, body| {
        if let Some(list) = listed(arguments, body, "types") {
            list.retain(|entry| entry["name"] != "Task");
        }
    }),
    body("type-lacks-a-field", |arguments, body| {
        if let Some(Value::Array(fields)) =
            type_of(arguments, body, "Task").and_then(|it| it.get_mut("fields"))
        {
            fields.retain(|field| field["name"] != "priority");
        }
    }),
    body("type-has-a-field-too-many", |arguments, body| {
        if let Some(Value::Array(fields)) =
            type_of(arguments, body, "Task").and_then(|it| it.get_mut("fields"))
        {
            fields.push(json!({
                "name": "colour", "type": "string", "required": true, "description": "A colour.",
            }));
        }
    }),
    body("type-states-another-form", |arguments, body| {
        if let Some(field) =
            type_of(arguments, body, "Task").and_then(|it| entry(it.get_mut("fields"), "priority"))
        {
            field["type"] = json!("string");
        }
    }),
    body("protocol-of-another-version", |arguments, body| {
        if let Some(protocol) = protocol(arguments, body) {
            protocol["version"] = json!("0.9");
        }
    }),
    body("protocol-states-another-mode", |arguments, body| {
        if let Some(protocol) = protocol(arguments, body) {
            protocol["mode"] = json!("single");
        }
    }),
    body("protocol-states-a-larger-batch", |arguments, body| {
        if let Some(protocol) = protocol(arguments, body) {
            protocol["limits"]["max_batch_operations"] = json!(150);
        }
    }),
    body("protocol-states-a-smaller-batch", |arguments, body| {
        if let Some(protocol) = protocol(arguments, body) {
            protocol["limits"]["max_batch_operations"] = json!(20);
        }
    }),
    body("protocol-states-deeper-values", |arguments, body| {
        if let Some(protocol) = protocol(arguments, body) {
            protocol["limits"]["max_nesting_depth"] = json!(64);
        }
    }),
    body("protocol-states-no-batches", |arguments, body| {
        if let Some(protocol) = protocol(arguments, body) {
            protocol["capabilities"]["batch"] = json!(false);
        }
    }),
    body("danger-says-nothing-is-confirmed", |arguments, body| {
        for entry in listed(arguments, body, "operations").into_iter().flatten() {
            if entry.get("requires_confirmation").is_some() {
                entry["requires_confirmation"] = json!(false);
                entry["permission"] = json!("allow");
            }
        }
    }),
    body("unknown-name-is-null", |arguments, body| {
        if calls(arguments, "introspect")
            && arguments["params"].get("name").is_some()
            && body["success"] == false
        {
            *body = json!({ "success": true, "data": { "operation": null } });
        }
    }),
    body("details-have-an-empty-description", |arguments, body| {
        if let Some(title) = parameter(arguments, body, "create_task", "title") {
            title["description"] = json!("");
        }
    }),
];
