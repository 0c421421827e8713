//! Checks that both programs give the same results, and that each measurement runs. Times do not matter here.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use mcp_aql_bench::rows::{Setup, measure};
use mcp_aql_bench::{Programs, Scale};
use serde_json::{Value, json};

use crate::check_rows;

const OURS: &str = env!("CARGO_BIN_EXE_records_aql");
const PEER: &str = env!("CARGO_BIN_EXE_records_rmcp");

/// Returns each kind with the required parameters of `create_…` and a field to update.
fn kinds() -> Value {
    json!([
        ["task", { "title": "a", "status": "todo", "priority": 1 }, { "due_date": "2031-05-06" }],
        ["note", { "title": "a", "text": "b", "notebook": "c", "tags": ["d"] }, { "tags": ["e"] }],
        ["project", { "name": "a", "owner": "b", "budget": 1.5 }, { "budget": 2.5 }],
        ["contact", { "name": "a", "email": "b", "company": "c" }, { "phone": "d" }],
        ["event", { "title": "a", "calendar": "b", "starts_at": "c", "guests": [] }, { "guests": ["d"], "place": "e" }],
        ["invoice", { "number": "a", "customer": "b", "amount": 3, "currency": "c" }, { "remark": "d" }],
        ["product", { "name": "a", "category": "b", "price": 1, "stock": 5 }, { "stock": 4 }],
        ["order", { "customer": "a", "articles": [1, 2], "ship_to": "b" }, { "express": true }],
        ["ticket", { "subject": "a", "reporter": "b", "queue": "c" }, { "severity": 1 }],
        ["comment", { "author": "a", "text": "b", "subject": "c" }, { "reply_to": 7 }],
    ])
}

/// Sends all calls to a program. Returns its replies by id.
fn replies(program: &str, requests: &[Value]) -> BTreeMap<u64, Value> {
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut replies = BTreeMap::new();
    for request in requests {
        writeln!(input, "{request}").unwrap();
        if let Some(id) = request["id"].as_u64() {
            let reply: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
            assert_eq!(reply["id"], id);
            replies.insert(id, reply);
        }
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    replies
}

/// Returns the result in a reply, without the framework's envelope. Returns `None` if the call failed.
fn result(reply: &Value) -> Option<Value> {
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    if reply["result"]["isError"] == true {
        return None;
    }
    let text: Value = serde_json::from_str(text).unwrap();
    match text["success"].as_bool() {
        None => Some(text),
        Some(true) => text["data"].as_object().unwrap().values().next().cloned(),
        Some(false) => None,
    }
}

/// Returns pairs of calls for the adapter and for the tool server, with `true` if the call must succeed.
fn calls() -> Vec<(Value, Value, bool)> {
    let mut calls = Vec::new();
    let mut add = |family: &str, operation: String, params: Value, good| {
        let mut arguments = params.clone();
        if let Some(change) = params["input"].as_object() {
            let members = arguments.as_object_mut().unwrap();
            members.remove("input");
            members.extend(change.clone());
        }
        let ours = json!({
            "name": format!("mcp_aql_{family}"),
            "arguments": { "operation": operation, "params": params },
        });
        calls.push((ours, json!({ "name": operation, "arguments": arguments }), good));
    };
    for each in kinds().as_array().unwrap() {
        let (kind, record, change) = (each[0].as_str().unwrap(), &each[1], &each[2]);
        let id = format!("{kind}_id");
        let with = |extra: Value| {
            let mut all = json!({ id.as_str(): 1 });
            all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            all
        };
        add("create", format!("create_{kind}"), record.clone(), true);
        add("create", format!("create_{kind}"), record.clone(), true);
        add("create", format!("create_{kind}"), with(record.clone()), false); // the number is unknown here
        add("read", format!("get_{kind}"), with(json!({ "newer_than": 0 })), true);
        add("read", format!("get_{kind}"), with(json!({ "newer_than": 1 })), false);
        add("read", format!("list_{kind}s"), json!({ "limit": 1 }), true);
        let input = json!({ "input": change, "if_match": 1 });
        add("update", format!("update_{kind}"), with(input), true);
        add("delete", format!("delete_{kind}"), with(json!({ "if_match": 1 })), false);
        add("delete", format!("delete_{kind}"), with(json!({ "archive": true })), true);
        add("read", format!("get_{kind}"), with(json!({})), false);
        add("read", format!("list_{kind}s"), json!({ "archived": true }), true);
        add("delete", format!("delete_{kind}"), json!({ id.as_str(): 2, "if_match": 1 }), true);
        add("read", format!("list_{kind}s"), json!({}), true);
    }
    calls
}

#[test]
fn both_programs_give_the_same_answers() {
    let calls = calls();
    let open = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "smoke", "version": "1" },
        } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    let session = |program, pick: fn(&(Value, Value, bool)) -> &Value| {
        let mut requests = open.to_vec();
        requests.extend(calls.iter().zip(1..).map(|(call, id)| {
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": pick(call) })
        }));
        replies(program, &requests)
    };
    let ours = session(OURS, |(ours, _, _)| ours);
    let peer = session(PEER, |(_, peer, _)| peer);
    assert_eq!((ours.len(), peer.len()), (calls.len() + 1, calls.len() + 1));
    for ((call, id), good) in calls.iter().zip(1..).map(|(call, id)| ((call, id), call.2)) {
        let (our, their) = (result(&ours[&id]), result(&peer[&id]));
        assert_eq!(our, their, "{call:?}");
        assert_eq!(our.is_some(), good, "{call:?}: {}", ours[&id]);
    }
}

#[test]
fn every_row_can_be_measured() {
    let programs = Programs { ours: OURS.into(), peer: PEER.into() };
    let setup = Setup { programs, scale: Scale::SMOKE };
    let table = measure(&setup, "", &|_| ()).unwrap();
    let mut expected = vec![
        "dispatch",
        "dispatch-unknown",
        "routing",
        "routing-build",
        "introspect",
        "tools-list",
        "merge-1024-few",
        "merge-1024-many",
        "merge-4096-few",
        "merge-4096-many",
        "merge-16384-few",
        "merge-16384-many",
        "typed-update",
        "typed-update-decode",
        "stdio-latency",
        "stdio-processor",
        "stdio-throughput",
        "http-session",
        "http-session-processor",
        "http-session-longest",
        "http-stateless",
        "http-stateless-processor",
        "http-stateless-longest",
        "start",
        "memory",
        "size",
    ];
    if !cfg!(target_os = "linux") {
        expected.retain(|name| *name != "memory" && !name.ends_with("-processor"));
    }
    check_rows(&table, &expected);
    for row in &table.rows {
        assert_eq!(row.turns.peer.is_empty(), row.name == "routing-build", "{}", row.name);
    }

    let text = table.text();
    for row in &table.rows {
        assert!(text.lines().any(|line| line.starts_with(&row.what)), "{}", row.what);
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    table.write(&folder, "performance").unwrap();
    let json = std::fs::read_to_string(folder.join("performance.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(table.rows.len()));
    let svg = std::fs::read_to_string(folder.join("performance.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
}
