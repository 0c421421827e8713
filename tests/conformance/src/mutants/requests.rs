//! Mutants that accept invalid requests or misread valid ones.

use serde_json::{Value, json};

use super::{Mutant, fields, input, request};
use crate::faults::{arguments_of, calls, params_of};

/// Changes a field in every request that writes a task.
fn change(message: &mut Value, name: &str, change: impl FnOnce(&mut Value)) {
    if let Some(value) = fields(message).and_then(|fields| fields.get_mut(name)) {
        change(value);
    }
}

/// The parameters of `create_task`.
const CREATE: [&str; 7] =
    ["title", "description", "status", "priority", "tags", "metadata", "due_date"];

fn strip_nul(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.replace('\0', ""),
        Value::Array(entries) => entries.iter_mut().for_each(strip_nul),
        Value::Object(members) => members.values_mut().for_each(strip_nul),
        _ => {}
    }
}

pub(super) const MUTANTS: &[Mutant] = &[
    request("text-taken-for-an-integer", |message| {
        change(message, "priority", |priority| {
            if let Some(number) = priority.as_str().and_then(|text| text.parse::<i64>().ok()) {
                *priority = json!(number);
            }
        });
    }),
    request("fraction-taken-for-an-integer", |message| {
        change(message, "priority", |priority| {
            if let Some(number) = priority.as_f64() {
                *priority = json!(number.round());
            }
        });
    }),
    request("number-taken-for-text", |message| {
        change(message, "title", |title| {
            if title.is_number() || title.is_boolean() {
                *title = json!(title.to_string());
            }
        });
    }),
    request("text-taken-for-a-list", |message| {
        change(message, "tags", |tags| {
            if tags.is_string() {
                *tags = json!([tags]);
            }
        });
    }),
    request("text-taken-for-an-object", |message| {
        change(message, "metadata", |metadata| {
            if !metadata.is_object() && !metadata.is_null() {
                *metadata = json!({});
            }
        });
    }),
    request("integer-beyond-its-maximum-cut", |message| {
        change(message, "priority", |priority| {
            if let Some(number) = priority.as_i64() {
                *priority = json!(number.clamp(1, 5));
            }
        });
    }),
    request("long-title-cut", |message| {
        change(message, "title", |title| {
            if let Some(text) = title.as_str() {
                *title = json!(text.chars().take(200).collect::<String>());
            }
        });
    }),
    request("empty-title-replaced", |message| {
        change(message, "title", |title| {
            if *title == json!("") {
                *title = json!("Untitled");
            }
        });
    }),
    request("unknown-status-replaced", |message| {
        change(message, "status", |status| {
            if status.as_str().is_some_and(|name| !["todo", "doing", "done"].contains(&name)) {
                *status = json!("todo");
            }
        });
    }),
    request("wrong-date-ignored", |message| {
        let Some(fields) = fields(message) else { return };
        let is_date = |text: &str| text.parse::<chrono::NaiveDate>().is_ok();
        if fields.get("due_date").and_then(Value::as_str).is_some_and(|text| !is_date(text)) {
            fields.remove("due_date");
        }
    }),
    request("missing-title-replaced", |message| {
        if let Some(params) = params_of(message, "create_task") {
            params.entry("title").or_insert(json!("Untitled"));
        }
    }),
    request("null-title-replaced", |message| {
        change(message, "title", |title| {
            if title.is_null() {
                *title = json!("Untitled");
            }
        });
    }),
    request("unknown-parameter-of-create-ignored", |message| {
        if let Some(params) = params_of(message, "create_task") {
            params.retain(|name, _| CREATE.contains(&name.as_str()) || name.starts_with('_'));
        }
    }),
    request("unknown-parameter-of-get-ignored", |message| {
        if let Some(params) = params_of(message, "get_task") {
            params.retain(|name, _| ["task_id", "fields"].contains(&name.as_str()));
        }
    }),
    request("create-drops-the-description", |message| {
        if let Some(params) = params_of(message, "create_task") {
            params.remove("description");
        }
    }),
    request("create-drops-the-priority", |message| {
        if let Some(params) = params_of(message, "create_task")
            && params.get("priority").is_some_and(|it| (1..=5).any(|number| *it == number))
        {
            params.remove("priority");
        }
    }),
    request("create-keeps-the-first-tag-alone", |message| {
        if let Some(Value::Array(tags)) =
            params_of(message, "create_task").and_then(|it| it.get_mut("tags"))
        {
            tags.truncate(1);
        }
    }),
    request("create-cuts-long-titles-at-40", |message| {
        if let Some(Value::String(title)) =
            params_of(message, "create_task").and_then(|it| it.get_mut("title"))
            && title.chars().count() <= 200
        {
            *title = title.chars().take(40).collect();
        }
    }),
    request("update-ignores-null", |message| {
        if let Some(input) = input(message) {
            input.retain(|name, value| !value.is_null() || !CREATE.contains(&name.as_str()));
        }
    }),
    request("update-ignores-nested-null", |message| {
        fn strip(value: &mut Value) {
            if let Value::Object(members) = value {
                members.retain(|_, member| !member.is_null());
                members.values_mut().for_each(strip);
            }
        }
        if let Some(metadata) = input(message).and_then(|input| input.get_mut("metadata")) {
            strip(metadata);
        }
    }),
    request("update-ignores-the-title", |message| {
        if let Some(input) = input(message)
            && input.get("title").and_then(Value::as_str).is_some_and(|title| title.len() <= 200)
        {
            input.remove("title");
        }
    }),
    request("update-ignores-tags", |message| {
        if let Some(input) = input(message)
            && input.get("tags").is_some_and(Value::is_array)
        {
            input.remove("tags");
        }
    }),
    request("update-ignores-unknown-fields", |message| {
        if let Some(input) = input(message) {
            let read_only = ["created_at", "updated_at", "_version", "task_id"];
            input.retain(|name, _| {
                CREATE.contains(&name.as_str()) || read_only.contains(&name.as_str())
            });
        }
    }),
    request("update-ignores-read-only-fields", |message| {
        if let Some(input) = input(message) {
            input.retain(|name, _| {
                !["created_at", "updated_at", "_version"].contains(&name.as_str())
            });
        }
    }),
    request("update-ignores-an-id-in-its-input", |message| {
        if let Some(input) = input(message) {
            input.remove("task_id");
        }
    }),
    request("update-reads-fields-beside-its-input", |message| {
        let Some(params) = params_of(message, "update_task") else { return };
        for name in CREATE {
            if let Some(value) = params.remove(name) {
                params.entry("input").or_insert(json!({}))[name] = value;
            }
        }
    }),
    request("update-without-input-does-nothing", |message| {
        if let Some(params) = params_of(message, "update_task") {
            params.entry("input").or_insert(json!({}));
        }
    }),
    request("update-of-a-wrong-input-does-nothing", |message| {
        if let Some(input) = params_of(message, "update_task").and_then(|it| it.get_mut("input"))
            && !input.is_object()
        {
            *input = json!({});
        }
    }),
    request("update-resets-the-status", |message| {
        if let Some(input) = input(message)
            && !input.is_empty()
        {
            input.entry("status").or_insert(json!("todo"));
        }
    }),
    request("update-resets-the-description", |message| {
        if let Some(input) = input(message)
            && !input.is_empty()
        {
            input.entry("description").or_insert(Value::Null);
        }
    }),
    request("if-match-ignored", |message| {
        if let Some(params) = params_of(message, "update_task") {
            params.remove("if_match");
        }
    }),
    request("null-if-match-ignored", |message| {
        if let Some(params) = params_of(message, "update_task")
            && params.get("if_match") == Some(&Value::Null)
        {
            params.remove("if_match");
        }
    }),
    request("nul-characters-removed", |message| {
        if let Some(arguments) = arguments_of(message) {
            strip_nul(arguments);
        }
    }),
    request("operation-in-any-case", |message| {
        if let Some(Value::String(name)) =
            arguments_of(message).and_then(|arguments| arguments.get_mut("operation"))
        {
            *name = name.trim().to_lowercase();
        }
    }),
    request("operation-with-hyphens", |message| {
        if let Some(Value::String(name)) =
            arguments_of(message).and_then(|arguments| arguments.get_mut("operation"))
        {
            *name = name.replace('-', "_");
        }
    }),
    request("missing-operation-introspects", |message| {
        if let Some(Value::Object(arguments)) = arguments_of(message)
            && !arguments.contains_key("operation")
            && !arguments.contains_key("operations")
        {
            arguments.insert("operation".to_owned(), json!("introspect"));
        }
    }),
    request("any-tool-runs-any-operation", |message| {
        const FAMILIES: [(&str, &str); 5] = [
            ("create_task", "create"),
            ("get_task", "read"),
            ("list_tasks", "read"),
            ("update_task", "update"),
            ("delete_task", "delete"),
        ];
        let Some(arguments) = arguments_of(message) else { return };
        let family = FAMILIES.iter().find(|(operation, _)| calls(arguments, operation));
        if let Some((_, family)) = family {
            message["params"]["name"] = json!(format!("mcp_aql_{family}"));
        }
    }),
    request("params-of-a-wrong-type-ignored", |message| {
        if let Some(Value::Object(arguments)) = arguments_of(message)
            && arguments.get("params").is_some_and(|params| !params.is_object())
        {
            arguments.remove("params");
        }
    }),
    request("operation-beside-operations-ignored", |message| {
        if let Some(Value::Object(arguments)) = arguments_of(message)
            && arguments.contains_key("operations")
        {
            arguments.remove("operation");
        }
    }),
    request("batch-without-its-last-item", |message| {
        if let Some(Value::Array(operations)) =
            arguments_of(message).and_then(|arguments| arguments.get_mut("operations"))
            && operations.len() > 1
        {
            operations.pop();
        }
    }),
    request("batch-in-reverse", |message| {
        if let Some(Value::Array(operations)) =
            arguments_of(message).and_then(|arguments| arguments.get_mut("operations"))
        {
            operations.reverse();
        }
    }),
    request("large-batch-cut", |message| {
        if let Some(Value::Array(operations)) =
            arguments_of(message).and_then(|arguments| arguments.get_mut("operations"))
        {
            operations.truncate(100);
        }
    }),
    request("empty-batch-is-a-list", |message| {
        if let Some(Value::Object(arguments)) = arguments_of(message)
            && arguments.get("operations") == Some(&json!([]))
        {
            arguments.remove("operations");
            arguments.insert("operation".to_owned(), json!("list_tasks"));
        }
    }),
    request("wrong-format-exports-csv", |message| {
        if let Some(format) =
            params_of(message, "execute_export").and_then(|it| it.get_mut("format"))
            && *format != json!("json")
        {
            *format = json!("csv");
        }
    }),
    request("executions-listed-with-any-cursor", |message| {
        if let Some(params) = params_of(message, "list_executions") {
            params.remove("after");
        }
    }),
    request("executions-listed-in-any-number", |message| {
        if let Some(params) = params_of(message, "list_executions") {
            params.remove("first");
        }
    }),
];
