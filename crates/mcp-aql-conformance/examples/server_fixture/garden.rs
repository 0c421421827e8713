//! A small adapter on standard input and output, with deliberate mistakes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

/// Serves until standard input ends. `faults` contains the names of the mistakes to make.
pub(crate) fn serve(faults: &[String]) {
    let is_single = std::env::var("MCP_AQL_ENDPOINT_MODE").as_deref() == Ok("single");
    let has = |name: &str| faults.iter().any(|fault| fault == name);
    let (beds, removals) = (RefCell::default(), Cell::new(0));
    let adapter = Adapter { is_single, has: &has, beds, removals };
    let mut received = std::env::var_os("GARDEN_RECEIVED")
        .and_then(|file| std::fs::OpenOptions::new().append(true).create(true).open(file).ok());
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Some(file) = &mut received {
            writeln!(file, "{line}").expect("the file is writable");
        }
        let Ok(request) = serde_json::from_str::<Value>(&line) else {
            println!(
                r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32700,"message":"no JSON"}}}}"#
            );
            continue;
        };
        let Some(id) = request.get("id") else { continue };
        if has("no-answer") {
            return;
        }
        if has("slow") && request["method"] == "tools/call" {
            std::thread::sleep(Duration::from_millis(3));
        }
        if has("stubborn") && request["params"]["arguments"]["operation"] == "delete_bed" {
            continue;
        }
        let reply = match adapter.result(&request) {
            Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            None => json!({ "jsonrpc": "2.0", "id": id, "error": {
                "code": -32601, "message": "there is no such method",
            } }),
        };
        let mut stdout = std::io::stdout().lock();
        if writeln!(stdout, "{reply}").and_then(|()| stdout.flush()).is_err() {
            return;
        }
    }
}

struct Adapter<'a> {
    is_single: bool,
    has: &'a dyn Fn(&str) -> bool,
    /// The labels of the beds created by this process, by their identifiers.
    beds: RefCell<BTreeMap<String, Value>>,
    /// Number of calls of `delete_bed`.
    removals: Cell<usize>,
}

impl Adapter<'_> {
    /// Returns the tool for operations of a category. Without `garden`, all operations are in one tool.
    fn tool(&self, category: &str) -> String {
        match (self.is_single, (self.has)("garden")) {
            (true, _) => "mcp_aql".to_owned(),
            (false, false) => "mcp_aql_read".to_owned(),
            (false, true) => format!("mcp_aql_{}", category.to_lowercase()),
        }
    }

    fn tools(&self) -> Vec<Value> {
        let is_crude = (self.has)("garden") && !self.is_single;
        let categories = ["READ", "CREATE", "DELETE", "EXECUTE"];
        let count = match (self.has)("no-tools") {
            true => 0,
            false if is_crude => categories.len(),
            false => 1,
        };
        let tools = categories.iter().take(count).map(|category| {
            json!({
                "name": self.tool(category),
                "description": "Reads beds.",
                "inputSchema": { "type": "object", "properties": {
                    "operation": { "type": "string" }, "params": { "type": "object" },
                }, "required": ["operation"] },
            })
        });
        tools.collect()
    }

    fn result(&self, request: &Value) -> Option<Value> {
        match request["method"].as_str()? {
            "initialize" => Some(json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "garden", "version": "1.0.0" },
            })),
            "tools/list" => Some(json!({ "tools": self.tools() })),
            "tools/call" => {
                let body = self.call(&request["params"]);
                if body["success"] == true {
                    log_success(&request["params"]["arguments"]);
                }
                let is_error = body["success"] == false;
                Some(json!({
                    "content": [{ "type": "text", "text": body.to_string() }], "isError": is_error,
                }))
            }
            _ => None,
        }
    }

    fn call(&self, request: &Value) -> Value {
        let arguments = &request["arguments"];
        let params = &arguments["params"];
        if let Some(items) = arguments["operations"].as_array().filter(|_| (self.has)("batch")) {
            let call = |item| self.call(&json!({ "name": request["name"], "arguments": item }));
            let results = items.iter().map(|item| json!({ "result": call(item) }));
            return json!({ "success": true, "results": results.collect::<Vec<_>>() });
        }
        let name = match arguments["operation"].as_str() {
            Some(name) if self.names().contains(&name) => name,
            Some(name) => {
                return failure("NOT_FOUND_OPERATION", &format!("there is no operation '{name}'"));
            }
            None => {
                return failure("VALIDATION_MISSING_PARAM", "the parameter 'operation' is missing");
            }
        };
        let operation = self.operation(name);
        if operation["mcpTool"] != request["name"] {
            let tool = &operation["mcpTool"];
            return failure("VALIDATION_WRONG_ENDPOINT", &format!("call {tool} instead"));
        }
        let required = operation["parameters"].as_array().into_iter().flatten();
        for parameter in required.filter(|parameter| parameter["required"] == true) {
            let name = parameter["name"].as_str().unwrap_or_default();
            if !params[name].is_string() {
                return failure("VALIDATION_MISSING_PARAM", &format!("'{name}' is missing"));
            }
        }
        match name {
            "introspect" => self.introspect(params),
            "list_beds" if (self.has)("garden") => {
                let beds = self.beds.borrow();
                let bed = |(id, label): (&String, &Value)| match (self.has)("unlabelled-list") {
                    true => json!({ "bed_id": id }),
                    false => json!({ "bed_id": id, "label": label }),
                };
                let items: Vec<_> = beds.iter().map(bed).collect();
                success(&json!({ "items": items }))
            }
            "list_beds" => success(&json!([{ "bed_id": "b1" }])),
            "create_bed" => self.create(params),
            "delete_bed" => self.delete(params),
            "measure_bed" => failure("NOT_FOUND_RESOURCE", "Resource 'bed' not found"),
            _ => success(&json!({ "watered": true })),
        }
    }

    /// Returns the file of a bed. It makes the bed visible to a test.
    fn file(id: &str) -> Option<PathBuf> {
        Some(PathBuf::from(std::env::var_os("GARDEN_BEDS")?).join(id))
    }

    fn create(&self, params: &Value) -> Value {
        let mut beds = self.beds.borrow_mut();
        let id = format!("b{}-{}", std::process::id(), beds.len());
        if let Some(file) = Self::file(&id) {
            std::fs::write(file, "").expect("the folder is writable");
        }
        beds.insert(id.clone(), params["label"].clone());
        success(&json!({ "bed_id": id, "label": params["label"] }))
    }

    fn delete(&self, params: &Value) -> Value {
        let id = params["bed_id"].as_str().unwrap_or_default();
        self.removals.set(self.removals.get() + 1);
        if (self.has)("limited-removals") && self.removals.get() <= 2 {
            return failure("RATE_LIMIT_EXCEEDED", "too many beds are deleted at once");
        }
        if self.beds.borrow_mut().remove(id).is_none() {
            return failure("NOT_FOUND_RESOURCE", &format!("there is no bed '{id}'"));
        }
        if let Some(file) = Self::file(id) {
            std::fs::remove_file(file).expect("the file exists");
        }
        success(&json!({ "bed_id": id }))
    }

    /// Returns the names of the operations.
    fn names(&self) -> &'static [&'static str] {
        if (self.has)("verb") {
            return &["introspect", "list_beds", "measure_bed"];
        }
        let names =
            &["introspect", "list_beds", "create_bed", "delete_bed", "water_all", "get_weather"];
        let count = match ((self.has)("batch"), (self.has)("garden"), (self.has)("create")) {
            (true, ..) => names.len(),
            (false, true, _) => 5,
            (false, false, true) => 3,
            (false, false, false) => 2,
        };
        names.get(..count).unwrap_or_default()
    }

    fn introspect(&self, params: &Value) -> Value {
        let operations: Vec<_> = self.names().iter().map(|name| self.operation(name)).collect();
        match (params["query"].as_str(), params["name"].as_str()) {
            (Some("operations"), None) => {
                let brief = operations.iter().map(|operation| {
                    let mut brief = json!({
                        "name": operation["name"], "semantic_category": operation["semantic_category"],
                        "endpoint": operation["endpoint"], "description": operation["description"],
                    });
                    if (self.has)("deceptive") && operation["name"] == "get_weather" {
                        brief["semantic_category"] = json!("DELETE");
                    }
                    if (self.has)("entries") {
                        brief["extra"] = json!("x".repeat(400));
                    }
                    brief
                });
                let brief: Vec<_> = brief.collect();
                success(&json!({ "operations": brief, "_protocol": { "version": "1.0.0-draft" } }))
            }
            (Some("operations"), Some(name)) => {
                let found = operations.iter().find(|operation| operation["name"] == name);
                success(&json!({ "operation": found }))
            }
            (Some("types"), None) if (self.has)("nested") => {
                success(&json!({ "types": [{ "name": "Options", "kind": "object" }] }))
            }
            (Some("types"), Some("Options")) => success(&json!({ "type": {
                "name": "Options", "kind": "object", "description": "Options.", "fields": [
                    { "name": "overwrite", "type": "boolean", "required": true,
                      "description": "Whether to replace a bed." },
                ],
            } })),
            (Some("types"), None) => success(&json!({ "types": [] })),
            (Some("types"), Some(_)) => success(&json!({ "type": null })),
            _ if (self.has)("bad-query") => success(&json!({ "operations": [] })),
            _ => failure("VALIDATION_INVALID_VALUE", "the query 'x' is unknown: operations, types"),
        }
    }

    fn operation(&self, name: &str) -> Value {
        let parameters = match name {
            "introspect" => json!([
                { "name": "query", "type": "string", "required": true,
                  "description": "What to show.", "enum": ["operations", "types"] },
                { "name": "name", "type": "string", "required": false,
                  "description": "The name of one." },
            ]),
            "create_bed" if (self.has)("nested") => json!([
                { "name": "label", "type": "string", "required": true, "description": "A label." },
                { "name": "options", "type": "Options", "required": false, "description": "Options.",
                  "default": { "overwrite": true } },
            ]),
            "create_bed" if (self.has)("garden") => {
                let label = json!({ "name": "label", "type": "string", "required": true,
                    "description": "A label." });
                let notify = json!({ "name": "notify", "type": "string", "required": false,
                    "description": "The address that gets a mail." });
                let count = if (self.has)("notify") { 2 } else { 1 };
                [label, notify].into_iter().take(count).collect()
            }
            "delete_bed" | "measure_bed" => json!([
                { "name": "bed_id", "type": "string", "required": true, "description": "The bed." },
            ]),
            _ => json!([]),
        };
        let category = match name {
            "create_bed" => "CREATE",
            "delete_bed" => "DELETE",
            "water_all" => "EXECUTE",
            _ => "READ",
        };
        // Without `garden`, CREATE operations belong to the READ tool, too.
        let is_destructive = ["DELETE", "EXECUTE"].contains(&category);
        json!({
            "name": name, "semantic_category": category,
            "endpoint": if (self.has)("garden") { category.to_lowercase() } else { category.to_owned() },
            "mcpTool": self.tool(category),
            "description": format!("Reads with `{name}`."), "parameters": parameters,
            "permissions": { "readOnly": category == "READ", "destructive": is_destructive },
            "returns": { "name": "object", "kind": "object", "description": "The result." },
            "examples": if (self.has)("nested") && name == "create_bed" {
                json!([{ "request": { "operation": name, "params": {
                    "label": "north", "options": { "overwrite": true },
                } } }])
            } else {
                json!([])
            },
        })
    }
}

/// Appends the name of an operation that succeeded to the log of received requests.
fn log_success(arguments: &Value) {
    let (Some(log), Some(name)) =
        (std::env::var_os("GARDEN_RECEIVED"), arguments["operation"].as_str())
    else {
        return;
    };
    let mut log = std::fs::File::options().append(true).open(log).expect("the file exists");
    writeln!(log, "{}", json!({ "method": format!("success of {name}") }))
        .expect("the file is writable");
}

fn success(data: &Value) -> Value {
    json!({ "success": true, "data": data })
}

fn failure(code: &str, message: &str) -> Value {
    json!({ "success": false, "error": { "code": code, "message": message } })
}
