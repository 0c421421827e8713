//! Mutants of single tasks: results of reads, creates and updates.

use serde_json::{Value, json};

use super::{Mutant, body, data, each_task, error};
use crate::faults::calls;

pub(super) const MUTANTS: &[Mutant] = &[
    body("read-shows-another-title", |arguments, body| {
        if let Some(data) = data(arguments, body, "get_task")
            && data["task"].get("title").is_some()
        {
            data["task"]["title"] = json!("Another");
        }
    }),
    body("missing-task-is-null", |arguments, body| {
        if calls(arguments, "get_task") && error(body, "NOT_FOUND_RESOURCE").is_some() {
            *body = json!({ "success": true, "data": { "task": null } });
        }
    }),
    body("missing-task-is-an-internal-error", |_, body| {
        if let Some(error) = error(body, "NOT_FOUND_RESOURCE") {
            error.insert("code".to_owned(), json!("INTERNAL_ERROR"));
        }
    }),
    body("missing-task-is-a-missing-operation", |_, body| {
        if let Some(error) = error(body, "NOT_FOUND_RESOURCE") {
            error.insert("code".to_owned(), json!("NOT_FOUND_OPERATION"));
        }
    }),
    body("missing-task-without-its-id", |_, body| {
        if let Some(error) = error(body, "NOT_FOUND_RESOURCE") {
            error.remove("details");
        }
    }),
    body("titles-in-lower-case", |_, body| {
        each_task(body, |task| {
            if let Some(Value::String(title)) = task.get_mut("title") {
                *title = title.to_lowercase();
            }
        });
    }),
    body("titles-without-signs-beyond-ascii", |_, body| {
        each_task(body, |task| {
            if let Some(Value::String(title)) = task.get_mut("title") {
                *title = title.replace(|sign: char| !sign.is_ascii(), "?");
            }
        });
    }),
    body("tags-sorted", |_, body| {
        each_task(body, |task| {
            if let Some(Value::Array(tags)) = task.get_mut("tags") {
                tags.sort_by_key(Value::to_string);
            }
        });
    }),
    body("tags-as-one-text", |_, body| {
        each_task(body, |task| {
            if let Some(Value::Array(tags)) = task.get("tags") {
                let text = tags.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
                task.insert("tags".to_owned(), json!(text));
            }
        });
    }),
    body("metadata-empty", |_, body| {
        each_task(body, |task| {
            if task.contains_key("metadata") {
                task.insert("metadata".to_owned(), json!({}));
            }
        });
    }),
    body("metadata-one-level-deep", |_, body| {
        each_task(body, |task| {
            if let Some(Value::Object(metadata)) = task.get_mut("metadata") {
                metadata.retain(|_, value| !value.is_object());
            }
        });
    }),
    body("metadata-as-text", |_, body| {
        each_task(body, |task| {
            if let Some(metadata) = task.get_mut("metadata") {
                *metadata = json!(metadata.to_string());
            }
        });
    }),
    body("priority-as-text", |_, body| {
        each_task(body, |task| {
            if let Some(priority) = task.get_mut("priority") {
                *priority = json!(priority.to_string());
            }
        });
    }),
    body("status-in-upper-case", |_, body| {
        each_task(body, |task| {
            if let Some(Value::String(status)) = task.get_mut("status") {
                *status = status.to_uppercase();
            }
        });
    }),
    body("description-missing", |_, body| {
        each_task(body, |task| {
            task.remove("description");
        });
    }),
    body("version-missing", |_, body| {
        each_task(body, |task| {
            task.remove("_version");
        });
    }),
    body("version-always-one", |_, body| {
        each_task(body, |task| {
            if task.contains_key("_version") {
                task.insert("_version".to_owned(), json!(1));
            }
        });
    }),
    body("instants-without-a-time-zone", |_, body| {
        each_task(body, |task| {
            if let Some(Value::String(instant)) = task.get_mut("created_at") {
                *instant = instant.trim_end_matches('Z').to_owned();
            }
        });
    }),
    body("due-date-with-a-time", |_, body| {
        each_task(body, |task| {
            if let Some(Value::String(day)) = task.get_mut("due_date") {
                day.push_str("T00:00:00Z");
            }
        });
    }),
    body("required-field-missing", |_, body| {
        each_task(body, |task| {
            if task.contains_key("updated_at") {
                task.remove("status");
            }
        });
    }),
    body("unknown-field-shown", |_, body| {
        each_task(body, |task| {
            task.insert("internal_row_id".to_owned(), json!(7));
        });
    }),
    body("single-result-under-another-name", |arguments, body| {
        if let Some(data) = data(arguments, body, "get_task") {
            *data = json!({ "result": data["task"].take() });
        }
    }),
    body("created-task-without-its-id", |arguments, body| {
        if let Some(data) = data(arguments, body, "create_task")
            && let Some(Value::Object(task)) = data.get_mut("task")
        {
            task.remove("task_id");
        }
    }),
    body("created-task-echoes-other-defaults", |arguments, body| {
        if let Some(data) = data(arguments, body, "create_task")
            && arguments["params"].get("priority").is_none()
        {
            data["task"]["priority"] = json!(5);
        }
    }),
    body("created-task-shows-a-wrong-id", |arguments, body| {
        if let Some(data) = data(arguments, body, "create_task")
            && let Some(Value::String(id)) = data.pointer_mut("/task/task_id")
        {
            id.push_str("00");
        }
    }),
    body("updated-task-not-shown", |arguments, body| {
        if let Some(data) = data(arguments, body, "update_task") {
            *data = json!({ "task": { "updated": true } });
        }
    }),
    body("delete-answers-null", |arguments, body| {
        if let Some(data) = data(arguments, body, "delete_task") {
            *data = Value::Null;
        }
    }),
    body("second-delete-succeeds", |arguments, body| {
        if calls(arguments, "delete_task") && error(body, "NOT_FOUND_RESOURCE").is_some() {
            let id = &arguments["params"]["task_id"];
            *body = json!({ "success": true, "data": { "deleted": { "task_id": id } } });
        }
    }),
    body("update-of-a-missing-task-succeeds", |arguments, body| {
        if calls(arguments, "update_task") && error(body, "NOT_FOUND_RESOURCE").is_some() {
            let id = &arguments["params"]["task_id"];
            *body = json!({ "success": true, "data": { "task": { "task_id": id } } });
        }
    }),
    body("conflict-under-another-code", |_, body| {
        if let Some(error) = error(body, "CONFLICT_VERSION_MISMATCH") {
            error.insert("code".to_owned(), json!("VALIDATION_INVALID_VALUE"));
        }
    }),
];
