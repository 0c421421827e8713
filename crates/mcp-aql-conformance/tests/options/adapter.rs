//! A small adapter on standard input and output, with deliberate faults.

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};

/// Serves until standard input ends. `faults` are the names of faults.
pub(crate) fn serve(faults: &[String]) {
    let is_single = std::env::var("MCP_AQL_ENDPOINT_MODE").as_deref() == Ok("single");
    let has = |name: &str| faults.iter().any(|fault| fault == name);
    let adapter = Adapter { is_single, has: &has };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = request.get("id") else { continue };
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
}

impl Adapter<'_> {
    fn tool(&self) -> &'static str {
        if self.is_single { "mcp_aql" } else { "mcp_aql_read" }
    }

    fn result(&self, request: &Value) -> Option<Value> {
        match request["method"].as_str()? {
            "initialize" => Some(json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "garden", "version": "1.0.0" },
            })),
            "tools/list" => Some(json!({ "tools": [{
                "name": self.tool(),
                "description": "Reads beds.",
                "inputSchema": { "type": "object", "properties": {
                    "operation": { "type": "string" }, "params": { "type": "object" },
                }, "required": ["operation"] },
            }] })),
            "tools/call" => {
                let body = self.call(&request["params"]["arguments"]);
                let is_error = body["success"] == false;
                Some(json!({
                    "content": [{ "type": "text", "text": body.to_string() }], "isError": is_error,
                }))
            }
            _ => None,
        }
    }

    fn call(&self, arguments: &Value) -> Value {
        let params = &arguments["params"];
        match arguments["operation"].as_str() {
            Some("introspect") => self.introspect(params),
            Some("list_beds") => json!({ "success": true, "data": [{ "bed_id": "b1" }] }),
            Some("measure_bed") if (self.has)("verb") => match params["bed_id"].as_str() {
                Some(_) => failure("NOT_FOUND_RESOURCE", "Resource 'bed' not found"),
                None => failure("VALIDATION_MISSING_PARAM", "the parameter 'bed_id' is missing"),
            },
            Some(name) => {
                failure("NOT_FOUND_OPERATION", &format!("there is no operation '{name}'"))
            }
            None => failure("VALIDATION_MISSING_PARAM", "the parameter 'operation' is missing"),
        }
    }

    fn introspect(&self, params: &Value) -> Value {
        let last = if (self.has)("verb") { "measure_bed" } else { "create_bed" };
        let names = ["introspect", "list_beds", last];
        let count = if (self.has)("create") || (self.has)("verb") { 3 } else { 2 };
        let operations: Vec<_> =
            names.iter().take(count).map(|name| self.operation(name)).collect();
        match (params["query"].as_str(), params["name"].as_str()) {
            (Some("operations"), None) => {
                let brief = operations.iter().map(|operation| {
                    let mut brief = json!({
                        "name": operation["name"], "semantic_category": operation["semantic_category"],
                        "endpoint": operation["endpoint"], "description": operation["description"],
                    });
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
            "measure_bed" => json!([
                { "name": "bed_id", "type": "string", "required": true, "description": "The bed." },
            ]),
            _ => json!([]),
        };
        let category = if name == "create_bed" { "CREATE" } else { "READ" };
        json!({
            "name": name, "semantic_category": category, "endpoint": category,
            "mcpTool": self.tool(),
            "description": format!("Reads with `{name}`."), "parameters": parameters,
            "permissions": { "readOnly": category == "READ", "destructive": false },
            "returns": { "name": "object", "kind": "object", "description": "The result." },
        })
    }
}

fn success(data: &Value) -> Value {
    json!({ "success": true, "data": data })
}

fn failure(code: &str, message: &str) -> Value {
    json!({ "success": false, "error": { "code": code, "message": message } })
}
