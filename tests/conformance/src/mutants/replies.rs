//! Mutants of replies: errors, batches, executions, confirmation, routing and the wire.

use serde_json::{Value, json};

use super::{Mutant, answer, body, data, error};
use crate::faults::calls;

/// Returns the error of a result.
fn any_error(body: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    body.get_mut("error")?.as_object_mut()
}

/// Removes a member from the details of errors with this code.
fn drop_detail(body: &mut Value, code: &str, name: &str) {
    if let Some(Value::Object(details)) = error(body, code).and_then(|it| it.get_mut("details")) {
        details.remove(name);
    }
}

fn replace_code(body: &mut Value, code: &str, other: &str) {
    if let Some(error) = error(body, code) {
        error.insert("code".to_owned(), json!(other));
    }
}

/// Returns the state of an execution in a result.
fn state<'v>(arguments: &Value, body: &'v mut Value) -> Option<&'v mut Value> {
    for operation in ["execute_export", "get_execution", "cancel_execution", "retry_execution"] {
        if calls(arguments, operation) {
            return data(arguments, body, operation);
        }
    }
    None
}

pub(super) const MUTANTS: &[Mutant] = &[
    body("errors-as-text", |_, body| {
        if let Some(error) = body.get_mut("error") {
            *error = error["message"].take();
        }
    }),
    body("error-codes-in-lower-case", |_, body| {
        if let Some(Value::String(code)) = any_error(body).and_then(|it| it.get_mut("code")) {
            *code = code.to_lowercase();
        }
    }),
    body("errors-without-details", |_, body| {
        if let Some(error) = any_error(body) {
            error.remove("details");
        }
    }),
    body("errors-without-a-message", |_, body| {
        if let Some(error) = any_error(body) {
            error.insert("message".to_owned(), json!(""));
        }
    }),
    body("errors-with-a-path-of-the-server", |_, body| {
        if let Some(Value::String(message)) = any_error(body).and_then(|it| it.get_mut("message")) {
            message.push_str(" at /srv/app/src/store.rs:42");
        }
    }),
    body("errors-with-a-type-of-the-server", |_, body| {
        if let Some(Value::String(message)) = any_error(body).and_then(|it| it.get_mut("message")) {
            message.push_str(": alloc::string::String");
        }
    }),
    body("errors-beside-data", |_, body| {
        if let Some(Value::Object(body)) = Some(body).filter(|body| body["success"] == false) {
            body.insert("data".to_owned(), json!({}));
        }
    }),
    body("failures-claim-success", |_, body| {
        if body["success"] == false {
            body["success"] = json!(true);
        }
    }),
    body("success-left-out", |_, body| {
        if let Value::Object(body) = body {
            body.remove("success");
        }
    }),
    body("success-with-a-null-error", |_, body| {
        if body["success"] == true {
            body["error"] = Value::Null;
        }
    }),
    body("missing-parameter-without-its-name", |_, body| {
        drop_detail(body, "VALIDATION_MISSING_PARAM", "param_name");
    }),
    body("missing-parameter-is-an-invalid-value", |_, body| {
        replace_code(body, "VALIDATION_MISSING_PARAM", "VALIDATION_INVALID_VALUE");
    }),
    body("invalid-type-is-an-invalid-value", |_, body| {
        replace_code(body, "VALIDATION_INVALID_TYPE", "VALIDATION_INVALID_VALUE");
    }),
    body("invalid-value-is-an-internal-error", |_, body| {
        replace_code(body, "VALIDATION_INVALID_VALUE", "INTERNAL_ERROR");
    }),
    body("unknown-parameter-is-a-missing-one", |_, body| {
        replace_code(body, "VALIDATION_UNKNOWN_PARAM", "VALIDATION_MISSING_PARAM");
    }),
    body("unknown-field-is-an-invalid-value", |_, body| {
        replace_code(body, "VALIDATION_UNKNOWN_FIELD", "VALIDATION_INVALID_VALUE");
    }),
    body("unknown-operation-is-an-internal-error", |_, body| {
        replace_code(body, "NOT_FOUND_OPERATION", "INTERNAL_ERROR");
    }),
    body("wrong-endpoint-is-an-unknown-operation", |_, body| {
        replace_code(body, "VALIDATION_ENDPOINT_MISMATCH", "NOT_FOUND_OPERATION");
    }),
    body("unknown-parameter-without-the-valid-ones", |_, body| {
        drop_detail(body, "VALIDATION_UNKNOWN_PARAM", "valid_params");
        drop_detail(body, "VALIDATION_UNKNOWN_PARAM", "valid_parameters");
        if let Some(error) = error(body, "VALIDATION_UNKNOWN_PARAM") {
            error.insert("message".to_owned(), json!("Unknown parameter"));
        }
    }),
    answer("validation-errors-as-tool-errors", |_, answer| {
        let Some(text) = answer.pointer("/result/content/0/text").and_then(Value::as_str) else {
            return;
        };
        if text.contains("VALIDATION_") && text.contains("\"success\":false") {
            answer["result"]["isError"] = json!(true);
        }
    }),
    answer("results-in-two-parts", |_, answer| {
        if let Some(Value::Array(content)) = answer.pointer_mut("/result/content") {
            content.push(json!({ "type": "text", "text": "Done." }));
        }
    }),
    answer("results-in-a-code-block", |_, answer| {
        if let Some(Value::String(text)) = answer.pointer_mut("/result/content/0/text") {
            *text = format!("```json\n{text}\n```");
        }
    }),
    answer("ids-as-text", |_, answer| {
        if answer["id"].is_number() {
            answer["id"] = json!(answer["id"].to_string());
        }
    }),
    answer("unknown-methods-succeed", |_, answer| {
        if answer["error"]["code"] == -32601 {
            *answer = json!({ "jsonrpc": "2.0", "id": answer["id"], "result": {} });
        }
    }),
    answer("reading-tool-said-to-destroy", |request, answer| {
        if request["method"] == "tools/list" {
            for tool in answer["result"]["tools"].as_array_mut().into_iter().flatten() {
                if tool["name"] == "mcp_aql_read" {
                    tool["annotations"] = json!({ "readOnlyHint": false, "destructiveHint": true });
                }
            }
        }
    }),
    answer("deleting-tool-said-to-read", |request, answer| {
        if request["method"] == "tools/list" {
            for tool in answer["result"]["tools"].as_array_mut().into_iter().flatten() {
                if tool["name"] == "mcp_aql_delete" {
                    tool["annotations"] = json!({ "readOnlyHint": true, "destructiveHint": false });
                }
            }
        }
    }),
    answer("tools-without-their-operations", |request, answer| {
        if request["method"] == "tools/list" {
            for tool in answer["result"]["tools"].as_array_mut().into_iter().flatten() {
                tool["description"] = json!("Runs operations.");
            }
        }
    }),
    answer("tool-names-an-operation-that-is-not-there", |request, answer| {
        if request["method"] == "tools/list" {
            for tool in answer["result"]["tools"].as_array_mut().into_iter().flatten() {
                if let Some(Value::String(text)) = tool.get_mut("description") {
                    *text = text.replace("get_task,", "get_task, archive_task,");
                }
            }
        }
    }),
    answer("tool-without-an-input-schema", |request, answer| {
        if request["method"] == "tools/list" {
            for tool in answer["result"]["tools"].as_array_mut().into_iter().flatten() {
                tool["inputSchema"] = json!({ "type": "object" });
            }
        }
    }),
    answer("one-tool-missing", |request, answer| {
        if request["method"] == "tools/list"
            && let Some(Value::Array(tools)) = answer.pointer_mut("/result/tools")
        {
            tools.retain(|tool| tool["name"] != "mcp_aql_update");
        }
    }),
    body("batch-stops-at-the-first-failure", |_, body| {
        if let Some(Value::Array(results)) = body.get_mut("results")
            && let Some(failed) = results.iter().position(|it| it["result"]["success"] == false)
        {
            results.truncate(failed + 1);
        }
    }),
    body("batch-counts-from-one", |_, body| {
        for result in body.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten() {
            result["index"] = json!(result["index"].as_u64().unwrap_or_default() + 1);
        }
    }),
    body("batch-without-a-summary", |_, body| {
        if let Value::Object(body) = body {
            body.remove("summary");
        }
    }),
    body("batch-summary-counts-no-failures", |_, body| {
        if let Some(summary) = body.get_mut("summary") {
            summary["succeeded"] = summary["total"].clone();
            summary["failed"] = json!(0);
        }
    }),
    body("batch-with-a-failure-fails", |_, body| {
        if body["summary"]["failed"].as_u64().is_some_and(|failed| failed > 0) {
            body["success"] = json!(false);
        }
    }),
    body("batch-results-without-their-operation", |_, body| {
        for result in body.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::Object(result) = result {
                result.remove("operation");
            }
        }
    }),
    body("batch-forgets-what-is-pending", |_, body| {
        if body.get("pending_operations").is_some() {
            body["pending_operations"] = json!([]);
        }
    }),
    body("batch-hides-its-halt", |_, body| {
        if let Value::Object(body) = body {
            body.remove("halted_at");
        }
    }),
    body("confirmation-is-a-missing-permission", |_, body| {
        replace_code(body, "CONFIRMATION_REQUIRED", "PERMISSION_DENIED");
    }),
    body("confirmation-without-an-expiry", |_, body| {
        drop_detail(body, "CONFIRMATION_REQUIRED", "expires_at");
    }),
    body("confirmation-without-a-token", |_, body| {
        drop_detail(body, "CONFIRMATION_REQUIRED", "confirmation_token");
    }),
    body("confirmation-without-a-danger-level", |_, body| {
        drop_detail(body, "CONFIRMATION_REQUIRED", "danger_level");
    }),
    body("confirmation-token-expired-long-ago", |_, body| {
        if let Some(error) = error(body, "CONFIRMATION_REQUIRED") {
            error["details"]["expires_at"] = json!("2020-05-06T07:08:09Z");
        }
    }),
    body("used-token-accepted", |arguments, body| {
        if error(body, "TOKEN_ALREADY_USED").is_some() {
            let id = &arguments["params"]["task_id"];
            *body = json!({ "success": true, "data": { "deleted": { "task_id": id } } });
        }
    }),
    body("unknown-token-accepted", |arguments, body| {
        if error(body, "TOKEN_INVALID").is_some() || error(body, "TOKEN_NOT_FOUND").is_some() {
            let id = &arguments["params"]["task_id"];
            *body = json!({ "success": true, "data": { "deleted": { "task_id": id } } });
        }
    }),
    body("token-accepted-for-other-params", |arguments, body| {
        if error(body, "TOKEN_SCOPE_MISMATCH").is_some() {
            let id = &arguments["params"]["task_id"];
            *body = json!({ "success": true, "data": { "deleted": { "task_id": id } } });
        }
    }),
    body("execution-status-in-other-words", |arguments, body| {
        if let Some(state) = state(arguments, body)
            && state["status"] == "completed"
        {
            state["status"] = json!("done");
        }
    }),
    body("execution-never-completes", |arguments, body| {
        if let Some(state) = state(arguments, body)
            && state["status"] == "completed"
        {
            state["status"] = json!("running");
        }
    }),
    body("execution-without-its-id", |arguments, body| {
        if calls(arguments, "execute_export")
            && let Some(Value::Object(state)) = state(arguments, body)
        {
            state.remove("execution_id");
        }
    }),
    body("execution-progress-beyond-its-total", |arguments, body| {
        if let Some(state) = state(arguments, body)
            && let Some(progress) = state.get_mut("progress")
        {
            progress["current"] = json!(progress["total"].as_f64().unwrap_or(1.0) * 2.0);
        }
    }),
    body("execution-for-another-operation", |arguments, body| {
        if let Some(state) = state(arguments, body) {
            state["operation"] = json!("execute_import");
        }
    }),
    body("no-executions-listed", |arguments, body| {
        if let Some(data) = data(arguments, body, "list_executions") {
            data["items"] = json!([]);
        }
    }),
    body("missing-execution-is-null", |arguments, body| {
        if calls(arguments, "get_execution") && body["success"] == false {
            *body = json!({ "success": true, "data": null });
        }
    }),
    body("ended-execution-can-be-retried", |arguments, body| {
        if calls(arguments, "retry_execution") && error(body, "VALIDATION_INVALID_VALUE").is_some()
        {
            let id = &arguments["params"]["execution_id"];
            *body = json!({ "success": true, "data": {
                "execution_id": id, "status": "running", "operation": "execute_export", "attempt": 2,
                "started_at": "2026-05-06T07:08:09Z",
            }});
        }
    }),
];
