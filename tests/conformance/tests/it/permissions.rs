//! Tests that a run without permissions only calls operations that read, even if the adapter validates nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_aql_conformance::{Category, File, MemoryTarget, Mode, Runner, Settings, TimeLimits};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// The calls received by an adapter, each with its tool and its arguments.
type Calls = Arc<Mutex<Vec<(String, Value)>>>;

/// A parameter: its name, its type, and `true` if it is required.
type Parameter = (&'static str, &'static str, bool);

/// An operation: its name, its category and its parameters.
type Operation = (&'static str, &'static str, &'static [Parameter]);

const OPERATIONS: &[Operation] = &[
    ("introspect", "READ", &[("query", "string", true), ("name", "string", false)]),
    ("get_page", "READ", &[("page_id", "string", true)]),
    ("list_pages", "READ", &[]),
    ("open_report", "READ", &[]),
    ("get_or_create_tag", "READ", &[("text", "string", true)]),
    ("create_page", "CREATE", &[("text", "string", true), ("overwrite", "boolean", false)]),
    ("update_page", "UPDATE", &[("page_id", "string", true), ("input", "object", true)]),
    ("delete_page", "DELETE", &[("page_id", "string", true), ("force", "boolean", true)]),
    ("purge_all", "DELETE", &[]),
    ("execute_export", "EXECUTE", &[("path", "string", true)]),
];

fn entry((name, category, parameters): &Operation, single: bool) -> Value {
    let family = category.to_lowercase();
    let tool = if single { "mcp_aql".to_owned() } else { format!("mcp_aql_{family}") };
    let parameters: Vec<_> = parameters
        .iter()
        .map(|(name, kind, required)| {
            json!({ "name": name, "type": kind, "required": required, "description": "It." })
        })
        .collect();
    json!({
        "name": name, "semantic_category": category, "endpoint": family, "mcpTool": tool,
        "description": "It.", "parameters": parameters,
        "permissions": { "readOnly": *category == "READ", "destructive": *category == "DELETE" },
    })
}

/// Returns the reply of an adapter that validates nothing.
fn reply(message: &Value, single: bool, calls: &Calls) -> Value {
    let families = ["create", "read", "update", "delete", "execute"];
    match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "careless", "version": "1.0.0" },
        }),
        Some("tools/list") => {
            let names: Vec<_> = match single {
                true => vec!["mcp_aql".to_owned()],
                false => families.map(|family| format!("mcp_aql_{family}")).to_vec(),
            };
            let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
            json!({ "tools": names.into_iter().map(tool).collect::<Vec<_>>() })
        }
        _ => {
            let arguments = &message["params"]["arguments"];
            let params = &arguments["params"];
            let data = if arguments["operation"] == "introspect" {
                let found = OPERATIONS.iter().find(|it| params["name"] == it.0);
                match (params["query"].as_str(), found) {
                    (Some("operations"), Some(found)) => {
                        json!({ "operation": entry(found, single) })
                    }
                    (Some("operations"), None) => {
                        let all = OPERATIONS.iter().map(|it| entry(it, single));
                        json!({ "operations": all.collect::<Vec<_>>() })
                    }
                    _ => json!({ "types": [] }),
                }
            } else {
                let tool = message["params"]["name"].as_str().unwrap_or_default().to_owned();
                calls.lock().expect("nobody panics with it").push((tool, arguments.clone()));
                json!({ "page": { "page_id": "p-1", "text": "It" } })
            };
            let text = json!({ "success": true, "data": data }).to_string();
            json!({ "content": [{ "type": "text", "text": text }] })
        }
    }
}

async fn serve(stream: DuplexStream, single: bool, calls: Calls) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        let Some(id) = message.get("id") else { continue };
        let result = reply(&message, single, &calls);
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Returns the calls of a run as the tool and the arguments of each single operation.
async fn calls_of(settings: Settings) -> Vec<(String, Value)> {
    let calls = Calls::default();
    let shared = Arc::clone(&calls);
    let target = MemoryTarget::new("careless", move |mode, stream| {
        tokio::spawn(serve(stream, mode == Some(Mode::Single), Arc::clone(&shared)));
    });
    // The time limit is short, because the adapter does not answer invalid lines.
    let limits = TimeLimits { request: Duration::from_secs(1), run: Duration::from_secs(120) };
    Runner::new(target, settings.time_limits(limits)).run().await;
    let calls = calls.lock().expect("nobody panics with it").clone();
    let each = calls.into_iter().flat_map(|(tool, arguments)| {
        let items = arguments["operations"].as_array().cloned();
        let items = items.unwrap_or_else(|| vec![arguments]);
        items.into_iter().map(move |item| (tool.clone(), item)).collect::<Vec<_>>()
    });
    each.collect()
}

/// Returns the operation that a careless adapter would run for a name.
fn meant(arguments: &Value) -> Option<&'static Operation> {
    let name = arguments["operation"].as_str()?.trim().to_lowercase().replace('-', "_");
    OPERATIONS.iter().find(|operation| operation.0 == name)
}

#[tokio::test(start_paused = true)]
async fn without_permission_only_operations_that_read_are_called() {
    let calls = calls_of(Settings::default()).await;
    assert!(calls.iter().any(|(_, call)| call["operation"] == "list_pages"), "{calls:?}");
    for (tool, call) in &calls {
        let Some((name, category, parameters)) = meant(call) else { continue };
        if ["introspect", "get_page", "list_pages"].contains(name) {
            continue;
        }
        // The call goes to the tool of another endpoint, without the required parameters.
        let is_elsewhere =
            tool != "mcp_aql" && *tool != format!("mcp_aql_{}", category.to_lowercase());
        let required = parameters.iter().filter(|parameter| parameter.2);
        let mut given = required.clone().filter(|parameter| !call["params"][parameter.0].is_null());
        let lacks = required.count() > 0 && given.next().is_none();
        assert!(is_elsewhere && lacks, "{tool}: {call}");
    }
}

#[tokio::test(start_paused = true)]
async fn operations_that_the_configuration_names_are_called() {
    for text in ["reading_verbs = ['open']", "reading_operations = ['open_report']"] {
        let file = File::parse(text, |_| None).expect("it is right");
        let calls = calls_of(Settings::default().file(file)).await;
        assert!(calls.iter().any(|(_, call)| call["operation"] == "open_report"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn flags_that_widen_an_effect_are_never_true() {
    let calls = calls_of(Settings::default().allow_all()).await;
    assert!(calls.iter().any(|(_, call)| call["operation"] == "create_page"), "{calls:?}");
    for (_, call) in &calls {
        for flag in ["overwrite", "force"] {
            let is_off = |value: &Value| value.is_null() || *value == false;
            assert!(is_off(&call["params"][flag]) && is_off(&call[flag]), "{call}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_cannot_be_undone_are_limited() {
    let file = File::parse("[limits]\nirreversible_calls = 3", |_| None).expect("it is right");
    let settings = Settings::default().level(1).allow(Category::Create).file(file);
    let calls = calls_of(settings).await;
    let valid = calls.iter().filter(|(tool, call)| {
        tool == "mcp_aql_create"
            && call["operation"] == "create_page"
            && call["params"].as_object().is_some_and(|params| {
                params.len() == 1 && params.get("text").is_some_and(Value::is_string)
            })
    });
    let valid = valid.count();
    assert!((1..=3).contains(&valid), "{valid}");
}
