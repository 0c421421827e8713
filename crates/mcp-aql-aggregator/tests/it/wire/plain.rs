//! The query tool on standard input and output.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::support::{Setup, TOOL, malformed, query, refused, scripted, started};

#[tokio::test]
async fn the_tool_is_listed_as_in_the_contract() {
    // REQ-AGR-01, REQ-AGR-02, REQ-AGR-03, REQ-AGR-05, REQ-AGR-06
    let setup = Setup::new(vec![scripted("docs", "")], &json!({ "maxResults": 20 }));
    let client = setup.connect(&[]).await;
    let tools = client.list_all_tools().await.unwrap();
    let [tool] = tools.as_slice() else { panic!("{tools:?}") };
    assert_eq!(tool.name, TOOL);
    assert!(tool.description.as_ref().unwrap().contains("docs"));
    let annotations = tool.annotations.as_ref().unwrap();
    assert_eq!((annotations.read_only_hint, annotations.open_world_hint), (Some(true), Some(true)));
    // Except for descriptions, these are the contract's schemas.
    let mut input = Value::Object((*tool.input_schema).clone());
    without_descriptions(&mut input);
    assert_eq!(
        input,
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 1, "maxLength": 10000 },
                "maxResults": { "type": "integer", "minimum": 10, "maximum": 100, "default": 20 },
                "servers": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["query"],
        })
    );
    let output = Value::Object((**tool.output_schema.as_ref().unwrap()).clone());
    assert_eq!(output["required"], json!(["results", "metadata"]));
    let result = &output["properties"]["results"]["items"];
    assert_eq!(result["required"], json!(["content", "server", "relevanceScore", "rank"]));
    assert_eq!(result["properties"]["timestamp"]["format"], "date-time");
    assert_eq!(result["properties"]["relevanceScore"]["maximum"], 1.0);
    let metadata = &output["properties"]["metadata"];
    let required = ["serversQueried", "serversSucceeded", "resultsReturned", "processingTimeMs"];
    assert_eq!(metadata["required"], json!(required));
    for optional in ["totalResultsRaw", "totalResultsDedup", "serverDiversity"] {
        assert!(metadata["properties"][optional].is_object(), "{optional}");
    }
    client.cancel().await.unwrap();
}

fn without_descriptions(schema: &mut Value) {
    if let Value::Object(members) = schema {
        if members.get("description").is_some_and(Value::is_string) {
            members.remove("description");
        }
        members.values_mut().for_each(without_descriptions);
    }
}

#[tokio::test]
async fn many_servers_one_ranked_answer() {
    // REQ-AGR-01, REQ-AGR-04, REQ-AGR-05, REQ-AGR-06, REQ-AGR-11, REQ-AGR-13
    let text = |text: &str| format!("--results 3 --text {}", text.replace(' ', "_"));
    let setup = Setup::new(
        vec![
            scripted("docs", &text("Pin a version {i} in the lock file of the project")),
            scripted("mail", &text("Lunch {i} is served in the large hall")),
            scripted("wiki", &format!("{} --format markdown", text("How to pin {i} a version"))),
            scripted("none", "--results 0"),
        ],
        &json!({}),
    );
    let client = setup.connect(&[]).await;
    started(&client).await;
    let arguments = json!({ "query": "pin a version", "maxResults": 10 });
    let answer = query(&client, arguments.clone()).await;
    let results = answer["results"].as_array().unwrap();
    let metadata = &answer["metadata"];
    assert_eq!(
        (&metadata["serversQueried"], &metadata["serversSucceeded"]),
        (&json!(4), &json!(4))
    );
    assert_eq!(metadata["totalResultsRaw"], 9);
    assert_eq!(metadata["resultsReturned"], results.len());
    assert!(metadata["totalResultsDedup"].as_u64().unwrap() <= 9);
    assert!(metadata["processingTimeMs"].is_u64());
    for (result, rank) in results.iter().zip(1..) {
        assert_eq!(result["rank"], rank);
        assert!((0.0..=1.0).contains(&result["relevanceScore"].as_f64().unwrap()), "{result}");
        let time = result["timestamp"].as_str().unwrap();
        assert!(chrono::DateTime::parse_from_rfc3339(time).is_ok(), "{time}");
        assert!(["docs", "mail", "wiki"].contains(&result["server"].as_str().unwrap()), "{result}");
    }
    // Relevant results come before others.
    assert_ne!(results[0]["server"], "mail");
    assert_eq!(results.last().unwrap()["server"], "mail");
    let mut servers: Vec<_> = results.iter().map(|result| result["server"].to_string()).collect();
    servers.sort();
    servers.dedup();
    #[expect(clippy::cast_precision_loss, reason = "there are four")]
    let diversity = servers.len() as f64 / 4.0;
    assert_eq!(metadata["serverDiversity"], diversity);
    // A repeated query returns the same answer.
    assert_eq!(plain(answer), plain(query(&client, arguments).await));
    client.cancel().await.unwrap();
}

/// Formats an answer without times.
fn plain(mut answer: Value) -> String {
    answer["metadata"]["processingTimeMs"] = Value::Null;
    for result in answer["results"].as_array_mut().unwrap() {
        result["timestamp"] = Value::Null;
    }
    for server in answer["metadata"]["servers"].as_array_mut().unwrap() {
        server["latencyMs"] = Value::Null;
    }
    answer.to_string()
}

#[tokio::test]
async fn malformed_calls_are_invalid_parameters() {
    // REQ-AGR-10
    let setup = Setup::new(vec![scripted("docs", "")], &json!({}));
    let mut child =
        setup.command(&["serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } });
    stdin.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
    lines.next_line().await.unwrap();
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    stdin.write_all(format!("{ready}\n").as_bytes()).await.unwrap();
    for (params, field, reason) in malformed() {
        let mut request = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call" });
        request["params"] = params;
        stdin.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        let line = lines.next_line().await.unwrap().unwrap();
        let error = serde_json::from_str::<Value>(&line).unwrap()["error"].take();
        assert_eq!(error["code"], -32602, "{request}: {line}");
        assert_eq!(error["data"], json!({ "field": field, "reason": reason }), "{request}");
    }
    // Calls without `params`, and other methods.
    for (request, code) in [
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call" }), -32602),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/cull" }), -32601),
    ] {
        stdin.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        let line = lines.next_line().await.unwrap().unwrap();
        let answer = serde_json::from_str::<Value>(&line).unwrap();
        assert_eq!(answer["error"]["code"], code, "{request}: {line}");
    }
}

#[tokio::test]
async fn secrets_repeated_by_a_server_are_masked() {
    let secret = "sk-wire-12345678";
    // The base64 form of the secret after `API_KEY=`.
    let encoded = "QVBJX0tFWT1zay13aXJlLTEyMzQ1Njc4";
    for format in ["json", "structured", "markdown", "lines"] {
        let text = format!("--results 2 --text found_{secret}_{encoded}_{{i}} --format {format}");
        let (name, mut how) = scripted("docs", &text);
        how["env"]["API_KEY"] = secret.into();
        let setup = Setup::new(vec![(name, how)], &json!({}));
        let client = setup.connect(&[]).await;
        started(&client).await;
        let answer = query(&client, json!({ "query": "found" })).await.to_string();
        assert!(answer.contains("found *** QVBJX0tFWT***"), "{format}: {answer}");
        assert!(!answer.contains(secret) && !answer.contains("zay13aXJlLTEyMzQ1Njc4"), "{answer}");
        client.cancel().await.unwrap();
        let (code, out, err) = setup.run(&["query", "found"]).await;
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("found ***") && !out.contains(secret), "{out}");
        let (_, out, _) = setup.run(&["check", "--query", "found"]).await;
        assert!(out.contains("found ***") && !out.contains(secret), "{out}");
    }
}

#[tokio::test]
async fn invalid_input_is_reported_by_field() {
    // REQ-AGR-02, REQ-AGR-03, REQ-AGR-10
    let off = ("off".to_owned(), json!({ "command": "x", "disabled": true }));
    let setup = Setup::new(vec![scripted("docs", ""), off], &json!({}));
    let client = setup.connect(&[]).await;
    for (arguments, field, reason) in [
        (json!({}), "query", "Is required"),
        (json!({ "query": "" }), "query", "Must have 1 to 10000 characters, got 0"),
        (
            json!({ "query": "a", "maxResults": 500 }),
            "maxResults",
            "Must be between 10 and 100, got 500",
        ),
        (
            json!({ "query": "a", "maxResults": 5 }),
            "maxResults",
            "Must be between 10 and 100, got 5",
        ),
        (
            json!({ "query": "a", "servers": ["doks"] }),
            "servers",
            "'doks' is not configured; the servers are: docs",
        ),
        (
            json!({ "query": "a", "servers": ["off"] }),
            "servers",
            "'off' is disabled; the servers are: docs",
        ),
    ] {
        let error = refused(&client, arguments).await;
        assert_eq!((error.code.0, error.message.as_ref()), (-32602, "Invalid query parameters"));
        assert_eq!(error.data.unwrap(), json!({ "field": field, "reason": reason }));
    }
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn total_failure_reports_causes_without_server_texts() {
    // REQ-AGR-09
    let missing = ("missing".to_owned(), json!({ "command": "/no/such/command" }));
    let refusing = ("refusing".to_owned(), json!({ "url": "http://127.0.0.1:1/mcp" }));
    let setup = Setup::new(
        vec![
            scripted("speaks", "--call error:password_s3cret"),
            scripted("tool", "--call tool-error:password_s3cret"),
            scripted("crashes", "--start crash"),
            scripted("hangs", "--call hang"),
            scripted("garbage", "--call garbage"),
            scripted("large", "--call huge:3000000"),
            missing,
            refusing,
        ],
        &json!({ "serverTimeoutMs": 1500, "startTimeoutMs": 20000, "breakerFailures": 1000 }),
    );
    let client = setup.connect(&[]).await;
    started(&client).await;
    let error = refused(&client, json!({ "query": "pin a version" })).await;
    assert_eq!(error.code.0, -32603);
    assert_eq!(error.message, "Aggregation failed: all servers unavailable");
    let data = error.data.unwrap();
    let names = ["speaks", "tool", "crashes", "hangs", "garbage", "large", "missing", "refusing"];
    assert_eq!(data["attemptedServers"], json!(names));
    assert!(!data.to_string().contains("s3cret"), "{data}");
    let errors: Vec<_> =
        data["errors"].as_array().unwrap().iter().map(|error| error.as_str().unwrap()).collect();
    assert_eq!(errors.len(), names.len());
    for expected in [
        "speaks: protocol error",
        "tool: tool error",
        "crashes: failed to start",
        "hangs: timeout after 1.5s",
        "large: response too large",
        "missing: failed to start",
        "refusing: connection refused",
    ] {
        assert!(errors.contains(&expected), "{expected} is not among {errors:?}");
    }
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_hung_server_delays_a_query_only_up_to_its_limit() {
    // REQ-AGR-07, REQ-AGR-08, REQ-AGR-12
    let setup = Setup::new(
        vec![
            scripted("docs", "--results 3"),
            scripted("hangs", "--call hang"),
            scripted("hangs too", "--call hang"),
            scripted("dies", "--call exit"),
            scripted("large", "--call huge:20000000"),
            scripted("slow", "--call slow:200"),
        ],
        // The time is enough for all servers concurrently, but not for the hanging ones one after
        // the other.
        &json!({ "serverTimeoutMs": 3000, "deadlineMs": 5000, "breakerFailures": 1000 }),
    );
    let client = setup.connect(&[]).await;
    let status = |answer: &Value, name: &str| {
        let servers = answer["metadata"]["servers"].as_array().unwrap();
        let server = servers.iter().find(|server| server["name"] == name);
        server.unwrap()["status"].as_str().unwrap().to_owned()
    };
    let mut seen = Vec::new();
    // Wait until the slowest server has started.
    let answer = loop {
        let answer = query(&client, json!({ "query": "result" })).await;
        let names = ["docs", "slow", "hangs", "hangs too", "large"];
        let all = names.map(|name| status(&answer, name));
        if all == ["ok", "ok", "timeout after 3s", "timeout after 3s", "response too large"] {
            break answer;
        }
        seen.push(all);
        assert!(seen.len() < 20, "{seen:?}");
    };
    let dead = status(&answer, "dies");
    assert!(["exited", "still starting", "failed to start"].contains(&dead.as_str()), "{dead}");
    assert_eq!(answer["metadata"]["serversSucceeded"], 2);
    assert!(!answer["results"].as_array().unwrap().is_empty());
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn hidden_text_of_servers_is_removed() {
    let text = "ship\u{1b}[2J\u{202e}\u{200b}\u{e0041}_it";
    let setup =
        Setup::new(vec![scripted("docs", &format!("--results 1 --text {text}"))], &json!({}));
    let client = setup.connect(&[]).await;
    started(&client).await;
    let answer = query(&client, json!({ "query": "ship it" })).await;
    let content = answer["results"][0]["content"].as_str().unwrap();
    assert!(content.contains("ship it"), "{content:?}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn the_log_has_neither_queries_nor_answers() {
    let setup = Setup::new(vec![scripted("docs", "--text answer-s3cret_{query}")], &json!({}));
    for level in ["debug", "trace", "info,rmcp=trace,mcp_aql=trace"] {
        for (face, tool, arguments) in [
            ("plain", TOOL, json!({ "query": "query-s3cret" })),
            (
                "mcp-aql",
                "mcp_aql_read",
                json!({ "operation": "search_servers", "params": { "query": "query-s3cret" } }),
            ),
        ] {
            let mut command = setup.command(&["serve", "--face", face]);
            command.env("MCP_AQL_LOG", level).stderr(Stdio::piped());
            let log = asked_by_hand(command, tool, &arguments).await;
            assert!(log.contains("INFO"), "{log}");
            assert_eq!(log.lines().find(|line| line.contains("s3cret")), None, "{level} {face}");
        }
    }
}

/// Runs the command with one query and returns its log.
async fn asked_by_hand(
    mut command: tokio::process::Command,
    tool: &str,
    arguments: &Value,
) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let client = json!({ "name": "by hand", "version": "1" });
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let call = json!({ "name": tool, "arguments": arguments });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ] {
        stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    drop(stdin);
    // Queries before the end of input are answered first.
    let output = child.wait_with_output().await.unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    assert!(answers.contains("answer-s3cret"), "{answers}");
    String::from_utf8(output.stderr).unwrap()
}
