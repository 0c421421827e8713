//! A small scripted adapter in this process. It has a list of beds in memory, and tests change its replies.

use std::sync::{Arc, Mutex};

use mcp_aql_conformance::MemoryTarget;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// Changes a response. The arguments are the request and the response.
pub(crate) type Change = fn(&Value, &mut Value);

/// The names of the called tools.
pub(crate) type Called = Arc<Mutex<Vec<String>>>;

/// Returns a target for the adapter in one mode, and the tools that a run calls.
pub(crate) fn target(change: Change) -> (MemoryTarget, Called) {
    let called = Called::default();
    let calls = Arc::clone(&called);
    let target = MemoryTarget::new("beds", move |_, stream| {
        tokio::spawn(serve(stream, change, Arc::clone(&calls)));
    });
    (target.as_it_is(), called)
}

async fn serve(stream: DuplexStream, change: Change, called: Called) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let Ok(request) = serde_json::from_slice::<Value>(&line) else {
            let error = json!({ "code": -32700, "message": "parse error" });
            let response = json!({ "jsonrpc": "2.0", "id": null, "error": error });
            if write.write_all(format!("{response}\n").as_bytes()).await.is_err() {
                break;
            }
            continue;
        };
        if request.get("id").is_none_or(Value::is_null) {
            continue;
        }
        if request["method"] == "tools/call" {
            let tool = request["params"]["name"].as_str().unwrap_or_default().to_owned();
            called.lock().expect("no test panics with the lock").push(tool);
        }
        let mut response = json!({ "jsonrpc": "2.0", "id": request["id"] });
        match answer(&request) {
            Ok(result) => response["result"] = result,
            Err((code, message)) => {
                response["error"] = json!({ "code": code, "message": message });
            }
        }
        change(&request, &mut response);
        if write.write_all(format!("{response}\n").as_bytes()).await.is_err() {
            break;
        }
    }
}

/// Changes the operation result inside a tool result.
pub(crate) fn change_body(response: &mut Value, change: impl FnOnce(&mut Value)) {
    let Some(Value::String(text)) = response.pointer_mut("/result/content/0/text") else { return };
    let mut body = serde_json::from_str(text).expect("the adapter sends JSON");
    change(&mut body);
    *text = body.to_string();
}

/// Returns `true` if the request calls this operation.
pub(crate) fn calls(request: &Value, operation: &str) -> bool {
    request["params"]["arguments"]["operation"] == operation
}

fn answer(request: &Value) -> Result<Value, (i64, &'static str)> {
    match request["method"].as_str() {
        Some("initialize") => Ok(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "beds", "version": "1.0.0" },
        })),
        Some("ping") => Ok(json!({})),
        Some("tools/list") => Ok(json!({ "tools": tools() })),
        Some("tools/call") => call(&request["params"]),
        _ => Err((-32601, "unknown method")),
    }
}

const OPERATIONS: [(&str, &str, &str); 3] = [
    ("introspect", "READ", "read"),
    ("list_beds", "READ", "read"),
    ("update_bed", "UPDATE", "update"),
];

fn tools() -> Value {
    let tool = |family: &str| {
        let own = OPERATIONS.iter().filter(|(_, _, of)| *of == family);
        let names: Vec<_> = own.map(|(name, ..)| *name).collect();
        let list = if names.is_empty() { "none.".to_owned() } else { names.join(", ") };
        json!({
            "name": format!("mcp_aql_{family}"),
            "description": format!(
                "Garden beds.\n\nSupported operations: {list}\n\nQuick start examples:\n\
                 {{ operation: \"introspect\", params: {{ query: \"operations\" }} }}\n\n\
                 Discover required parameters:\n\
                 {{ operation: \"introspect\", params: {{ query: \"operations\", name: \"list_beds\" }} }}"
            ),
            "annotations": {
                "readOnlyHint": family == "read", "destructiveHint": !matches!(family, "read" | "create"),
            },
            "inputSchema": {
                "type": "object",
                "properties": {
                    "operation": { "type": "string" },
                    "params": { "type": "object", "additionalProperties": true },
                },
                "required": ["operation"],
            },
        })
    };
    ["create", "read", "update", "delete", "execute"].map(tool).into()
}

fn parameters(operation: &str) -> Value {
    let parameter = |name: &str, is_required: bool, description: &str| json!({ "name": name, "type": "string", "required": is_required, "description": description });
    match operation {
        "introspect" => json!([
            {
                "name": "query", "type": "string", "required": true, "description": "The list.",
                "enum": ["operations", "types"],
            },
            parameter("name", false, "The operation or type."),
        ]),
        "update_bed" => json!([
            parameter("bed_id", true, "The bed."),
            { "name": "input", "type": "object", "required": true, "description": "The new note." },
        ]),
        _ => json!([{
            "name": "zone", "type": "string", "required": false, "description": "The zone.",
            "enum": ["north", "south"],
        }]),
    }
}

fn entry(index: usize) -> Value {
    let (name, category, endpoint) = OPERATIONS[index];
    json!({
        "name": name, "semantic_category": category, "endpoint": endpoint,
        "description": format!("Calls {name}."),
    })
}

fn details(name: &str) -> Value {
    let Some(index) = OPERATIONS.iter().position(|(known, ..)| *known == name) else {
        return Value::Null;
    };
    let mut details = entry(index);
    let is_read = OPERATIONS[index].1 == "READ";
    details["mcpTool"] = json!(format!("mcp_aql_{}", OPERATIONS[index].2));
    details["permissions"] = json!({ "readOnly": is_read, "destructive": !is_read });
    details["parameters"] = parameters(name);
    details["returns"] = json!({ "name": "OperationResult", "kind": "union" });
    details
}

fn introspected(params: &Value) -> Value {
    let types = [("Bed", "object"), ("OperationResult", "union")];
    let of_type = |(name, kind): (&str, &str)| json!({ "name": name, "kind": kind });
    match (params["query"].as_str(), params["name"].as_str()) {
        (Some("operations"), None) => success(json!({
            "operations": (0..OPERATIONS.len()).map(entry).collect::<Vec<_>>(),
            "_protocol": { "version": "1.0.0-draft", "conformance": "level-1", "mode": "semantic" },
        })),
        (Some("operations"), Some(name)) => success(json!({ "operation": details(name) })),
        (Some("types"), None) => success(json!({ "types": types.map(of_type) })),
        (Some("types"), Some("Bed")) => success(json!({ "type": {
            "name": "Bed", "kind": "object",
            "fields": [{ "name": "bed_id", "type": "string", "required": true }],
        } })),
        (Some("types"), Some("OperationResult")) => success(json!({ "type": {
            "name": "OperationResult", "kind": "union", "members": ["Bed"],
        } })),
        (Some("types"), Some(_)) => success(json!({ "type": null })),
        _ => failure("VALIDATION_INVALID_VALUE", "query: operations or types".to_owned(), None),
    }
}

fn success(data: Value) -> Value {
    json!({ "success": true, "data": data })
}

fn failure(code: &str, message: String, details: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(details) = details {
        error["details"] = details;
    }
    json!({ "success": false, "error": error })
}

fn call(params: &Value) -> Result<Value, (i64, &'static str)> {
    let family = params["name"].as_str().and_then(|name| name.strip_prefix("mcp_aql_"));
    let family = family.ok_or((-32602, "unknown tool"))?;
    let body = operate(family, &params["arguments"]);
    Ok(json!({ "content": [{ "type": "text", "text": body.to_string() }], "isError": false }))
}

fn operate(family: &str, arguments: &Value) -> Value {
    let Some(name) = arguments["operation"].as_str() else {
        let message = "Missing required parameter 'operation'".to_owned();
        let details = json!({ "param_name": "operation" });
        return failure("VALIDATION_MISSING_PARAM", message, Some(details));
    };
    let Some((_, _, own)) = OPERATIONS.iter().find(|(known, ..)| *known == name) else {
        let details = json!({ "operation": name });
        return failure(
            "NOT_FOUND_OPERATION",
            format!("Unknown operation '{name}'"),
            Some(details),
        );
    };
    if *own != family {
        return failure(
            "VALIDATION_ENDPOINT_MISMATCH",
            format!("Operation '{name}' must be called through mcp_aql_{own}"),
            Some(json!({ "operation": name, "expected_endpoint": own, "actual_endpoint": family })),
        );
    }
    let Some(params) = params_of(arguments) else {
        let message = "Parameter 'params' must be an object".to_owned();
        return failure(
            "VALIDATION_INVALID_TYPE",
            message,
            Some(json!({ "param_name": "params" })),
        );
    };
    let documented = parameters(name);
    let documented: Vec<_> = documented.as_array().into_iter().flatten().collect();
    if let Some(mut wrong) = rejection(name, &params, &documented) {
        // Failures of `introspect` have no details (REQ-INT-28).
        if name == "introspect" {
            wrong["error"].as_object_mut().and_then(|error| error.remove("details"));
        }
        return wrong;
    }
    match name {
        "introspect" => introspected(&params),
        "list_beds" => success(json!({ "items": [{ "bed_id": "north 1" }] })),
        _ => failure(
            "NOT_FOUND_RESOURCE",
            format!("Bed '{}' not found", params["bed_id"].as_str().unwrap_or_default()),
            Some(json!({ "resource_type": "bed", "resource_id": params["bed_id"] })),
        ),
    }
}

/// Returns the parameters in `params` and next to `operation`.
fn params_of(arguments: &Value) -> Option<Value> {
    let mut params = arguments.get("params").cloned().unwrap_or_else(|| json!({}));
    let inside = params.as_object_mut()?;
    for (name, value) in arguments.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "operation" | "params") {
            inside.entry(name).or_insert_with(|| value.clone());
        }
    }
    inside.retain(|name, value| !name.starts_with('_') && !value.is_null());
    Some(params)
}

/// Returns the failure of a call with wrong parameters.
fn rejection(operation: &str, params: &Value, documented: &[&Value]) -> Option<Value> {
    for parameter in documented {
        let name = parameter["name"].as_str().unwrap_or_default();
        let about = |code, message: String| {
            Some(failure(code, message, Some(json!({ "param_name": name }))))
        };
        let Some(value) = params.get(name) else {
            if parameter["required"] == true {
                let message = format!("Missing required parameter '{name}'. Expected: string");
                return about("VALIDATION_MISSING_PARAM", message);
            }
            continue;
        };
        let is_typed = match parameter["type"].as_str() {
            Some("object") => value.is_object(),
            _ => value.is_string(),
        };
        if !is_typed {
            return about(
                "VALIDATION_INVALID_TYPE",
                format!("Parameter '{name}' has a wrong type"),
            );
        }
    }
    let is_known = |name: &&String| documented.iter().any(|parameter| parameter["name"] == ***name);
    let unknown: Vec<_> = params.as_object()?.keys().filter(|name| !is_known(name)).collect();
    if !unknown.is_empty() {
        let valid: Vec<_> = documented.iter().map(|parameter| &parameter["name"]).collect();
        let details =
            json!({ "operation": operation, "unknown_params": unknown, "valid_params": valid });
        let message = format!("Unknown parameters: {unknown:?}");
        return Some(failure("VALIDATION_UNKNOWN_PARAM", message, Some(details)));
    }
    for parameter in documented {
        let name = parameter["name"].as_str().unwrap_or_default();
        if let (Some(value), Some(allowed)) = (params.get(name), parameter["enum"].as_array())
            && !allowed.contains(value)
        {
            let message = format!("Parameter '{name}' must be one of {allowed:?}");
            let details = json!({ "param_name": name });
            return Some(failure("VALIDATION_INVALID_VALUE", message, Some(details)));
        }
    }
    None
}
