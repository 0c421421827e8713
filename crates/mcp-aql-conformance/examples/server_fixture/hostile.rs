//! Servers that exit, hang, flood, lie or send garbage, on standard input and output.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

fn hello() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "hostile", "version": "6.6.6" },
    })
}

/// The result of a write. An error means that the other side no longer reads.
type Heard = std::io::Result<()>;

fn write(bytes: &[u8]) -> Heard {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

fn line(message: &Value) -> Heard {
    write(format!("{message}\n").as_bytes())
}

fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// Acts as this server until the other side stops reading.
pub(crate) fn serve(name: &str) {
    match name {
        "dies_at_start" => {
            let _ = writeln!(std::io::stderr(), "cannot open the database");
            std::process::exit(7);
        }
        "hangs_and_does_not_read" => hang(),
        "floods_standard_error" => {
            std::thread::spawn(|| {
                while writeln!(std::io::stderr(), "{}", "x".repeat(9_999)).is_ok() {}
            });
            hang();
        }
        "floods_with_one_line" => while write(&[b'x'; 1 << 16]).is_ok() {},
        "floods_with_empty_lines" => while write(&[b'\n'; 1 << 16]).is_ok() {},
        _ => {}
    }
    let (mut calls, mut hello) = (0, Value::Null);
    for text in std::io::stdin().lines() {
        let Ok(text) = text else { break };
        let Ok(mut request) = serde_json::from_str::<Value>(&text) else {
            // JSON-RPC requires this response to a request with an unreadable id.
            let error = json!({ "code": -32700, "message": "no JSON" });
            let _ = line(&json!({ "jsonrpc": "2.0", "id": null, "error": error }));
            continue;
        };
        if name == "asks_first" {
            match (&request["id"], request["method"].as_str()) {
                (_, Some("initialize")) => {
                    hello = request;
                    let _ = line(&json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" }));
                    continue;
                }
                (id, None) if id == "a" && request["result"] == json!({}) => {
                    let asked = json!({ "jsonrpc": "2.0", "id": "b", "method": "roots/list" });
                    let _ = line(&asked);
                    continue;
                }
                (id, None) if id == "b" && request["error"]["code"] == -32601 => {
                    request = hello.take();
                }
                _ => {}
            }
        }
        let Some(id) = request.get("id").filter(|id| !id.is_null()) else { continue };
        calls += 1;
        if answer(name, &request, id, calls).is_err() {
            break;
        }
    }
    if name == "does_not_leave" {
        hang();
    }
}

fn answer(name: &str, request: &Value, id: &Value, calls: usize) -> Heard {
    let method = request["method"].as_str().unwrap_or_default();
    let arguments = &request["params"]["arguments"];
    let introspects = arguments["operation"] == "introspect";
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let text = |body: Value| {
        result(
            json!({ "content": [{ "type": "text", "text": body.to_string() }], "isError": false }),
        )
    };
    match (name, method) {
        ("hangs_at_initialize", _) => return Ok(()),
        ("hangs_at_the_list_of_tools", "tools/list") => return Ok(()),
        ("hangs_at_introspect", "tools/call") => return Ok(()),
        ("hangs_at_calls", "tools/call") if !introspects => return Ok(()),
        ("dies_after_initialize", "tools/list") => std::process::exit(1),
        ("dies_while_it_is_learned", "tools/call") => std::process::exit(1),
        ("dies_in_the_midst", "tools/call") if !introspects && calls > 7 => std::process::exit(1),
        ("floods_with_notifications", _) => loop {
            line(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} }))?;
        },
        ("floods_with_long_notifications", _) => {
            let params = json!({ "data": "x".repeat(1 << 20) });
            loop {
                line(
                    &json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }),
                )?;
            }
        }
        ("floods_in_the_midst", "tools/call") if !introspects => loop {
            line(&json!({ "jsonrpc": "2.0", "id": 666_666, "result": {} }))?;
        },
        ("floods_with_values", _) => {
            let values = "0,".repeat(10 << 20);
            let begin = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":[{values}0]}}"#);
            return write(format!("{begin}\n").as_bytes());
        }
        ("floods_with_tools", "tools/list") => {
            let tools = r#"{"name":"tool"},"#.repeat(100_000);
            let begin =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tools}{{}}]}}}}"#);
            return write(format!("{begin}\n").as_bytes());
        }
        ("lists_too_much", "tools/list") => {
            let tools: Vec<_> =
                (0..1_000).map(|at| json!({ "name": format!("tool_{at}") })).collect();
            return line(&result(json!({ "tools": tools, "nextCursor": "more" })));
        }
        ("gives_pages_without_an_end", "tools/list") => {
            let cursor = format!("{calls}");
            return line(&result(json!({ "tools": [{ "name": "more" }], "nextCursor": cursor })));
        }
        ("tells_much_of_its_tools", "tools/list") => {
            let tools =
                json!([{ "name": format!("tool_{calls}"), "description": "x".repeat(1 << 20) }]);
            return line(&result(json!({ "tools": tools, "nextCursor": "more" })));
        }
        ("tells_much_of_its_operations", "tools/call") if introspects => {
            let name = arguments["params"]["name"].as_str();
            let mut body = introspected(&arguments["params"]);
            match name {
                Some(_) => body["data"]["operation"]["description"] = json!("x".repeat(1 << 20)),
                None => {
                    let listed = body["data"]["operations"][1].clone();
                    let many = (0..1_000).map(|at| {
                        let mut listed = listed.clone();
                        listed["name"] = json!(format!("get_{at}"));
                        listed
                    });
                    body["data"]["operations"] = many.collect();
                }
            }
            return line(&text(body));
        }
        ("shows_ever_new_names", "tools/call") if !introspects => {
            let members = (0..4).map(|at| (format!("n{calls}_{at}"), json!("x".repeat(100_000))));
            let data = Value::Object(members.collect());
            return line(&text(json!({ "success": true, "data": data })));
        }
        ("lists_long_items", "tools/call") if introspects => {
            let mut body = introspected(&arguments["params"]);
            if !arguments["params"]["name"].is_null() {
                body["data"]["operation"]["parameters"] = json!([
                    { "name": "first", "type": "integer", "required": false, "description": "So many." },
                    { "name": "after", "type": "string", "required": false, "description": "From there." },
                ]);
            }
            return line(&text(body));
        }
        ("lists_long_items", "tools/call") => {
            let at = format!("c{calls}");
            let data = json!({
                "items": [{ "thing_id": at, "text": "" }],
                "pageInfo": { "hasNextPage": true, "endCursor": at },
            });
            let message = text(json!({ "success": true, "data": data })).to_string();
            // Insert the long string into the message, because serializing it twice would be slow.
            let long = format!(r#"\"text\":\"{}\""#, "x".repeat(128 << 10));
            return write((message.replace(r#"\"text\":\"\""#, &long) + "\n").as_bytes());
        }
        ("has_heavy_patterns", "tools/call") if introspects => {
            let mut body = introspected(&arguments["params"]);
            if !arguments["params"]["name"].is_null() {
                let parameters = (0..20).map(|at| {
                    json!({
                        "name": format!("a{at}"), "type": "string", "required": false,
                        "description": "A text.", "pattern": r"^(\w{3}|\pL\d{2,60}){1,60}$",
                    })
                });
                body["data"]["operation"]["parameters"] = parameters.collect();
            }
            return line(&text(body));
        }
        ("talks_no_json", _) => return write(b"Hello! {I} am [not] \"JSON\n<html>\n"),
        ("talks_no_utf8", _) => {
            return write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\xfe\"}\n");
        }
        ("nests_without_an_end", _) => {
            let nested = "[".repeat(400_000) + &"]".repeat(400_000);
            return write(
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{nested}}}{}"#, "\n").as_bytes(),
            );
        }
        ("answers_others", _) => {
            let other = id.as_u64().unwrap_or_default() + 1_000;
            return line(&json!({ "jsonrpc": "2.0", "id": other, "result": {} }));
        }
        ("refuses_everything", _) => {
            let error = json!({ "code": -32603, "message": "no" });
            return line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        ("gives_numbers_for_everything", _) => return line(&result(json!(7))),
        ("obeys_no_terminal", _) => {
            let error = json!({ "code": -1, "message": "\u{1b}]0;owned\u{7}\u{1b}[2J" });
            return line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        ("has_no_tools", "tools/list") => return line(&result(json!({ "tools": [] }))),
        ("is_a_plain_server", "tools/list") => {
            let tools = ["echo", "add"]
                .map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }));
            return line(&result(json!({ "tools": tools })));
        }
        ("gives_nonsense_for_operations", "tools/call") => return line(&text(nonsense(arguments))),
        _ => {}
    }
    match method {
        "initialize" => line(&result(hello())),
        "tools/list" => {
            let schema =
                json!({ "type": "object", "properties": { "operation": { "type": "string" } } });
            let tool =
                json!({ "name": "mcp_aql_read", "description": "Reads.", "inputSchema": schema });
            line(&result(json!({ "tools": [tool] })))
        }
        "tools/call" if introspects => line(&text(introspected(&arguments["params"]))),
        "tools/call" => line(&text(json!({ "success": true, "data": {} }))),
        _ => line(
            &json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }),
        ),
    }
}

/// Returns introspection of an adapter with one operation in addition to `introspect`.
fn introspected(params: &Value) -> Value {
    let operation = |name: &str| {
        json!({
            "name": name,
            "semantic_category": "READ",
            "endpoint": "read",
            "mcpTool": "mcp_aql_read",
            "description": "Reads.",
            "permissions": { "readOnly": true, "destructive": false },
            "parameters": [{ "name": "first", "type": "integer", "required": false, "description": "So many." }],
        })
    };
    let data = match (params["query"].as_str(), params["name"].as_str()) {
        (Some("operations"), Some(name)) => json!({ "operation": operation(name) }),
        (Some("operations"), None) => {
            json!({ "operations": [operation("introspect"), operation("list_things")] })
        }
        _ => json!({ "types": [] }),
    };
    json!({ "success": true, "data": data })
}

/// Returns introspection with a value of the wrong type for every member.
fn nonsense(arguments: &Value) -> Value {
    let params = &arguments["params"];
    let odd = json!([
        1, null, "x", [[]], {}, { "name": 7 },
        { "name": "list_things", "semantic_category": ["READ"], "mcpTool": {}, "parameters": "none" },
        { "name": "list_things", "semantic_category": "READ", "mcpTool": "mcp_aql_read", "parameters": [1, {}] },
        { "name": "", "parameters": { "name": "x" } },
    ]);
    match (arguments["operation"].as_str(), params["query"].as_str(), params["name"].as_str()) {
        (Some("introspect"), Some("operations"), None) => {
            json!({ "success": true, "data": { "operations": odd, "_protocol": [{ "version": 1 }] } })
        }
        (Some("introspect"), Some("operations"), Some(_)) => {
            let parameters = json!([
                { "name": "first", "type": "integer", "minimum": "a lot", "maximum": [], "default": {} },
                { "name": "text", "type": "string", "required": true, "pattern": "((", "minLength": 1e300 },
                { "name": "when", "type": "string", "required": true, "format": 7, "enum": {} },
                { "name": "deep", "type": { "type": [] }, "items": null },
            ]);
            json!({ "success": true, "data": { "operation": {
                "name": 9, "parameters": parameters, "examples": { "request": [] }, "returns": [[]],
                "permissions": { "readOnly": true, "destructive": false },
            } } })
        }
        (Some("introspect"), Some(_), _) => {
            json!({ "success": true, "data": { "types": odd, "type": 7 } })
        }
        _ => json!({ "success": "yes", "data": null, "error": { "code": 7 } }),
    }
}
